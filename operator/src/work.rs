//! Everything that an operator does while it leads, as one future: Proxies are reconciled and probed, orphans collected,
//! providers checked, inputs watched. Dropping it ends all of that at once.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::{
    FutureExt, StreamExt,
    channel::mpsc::{UnboundedSender, unbounded},
    join,
    stream::{BoxStream, SelectAll},
};
use ipnet::IpNet;
use provider_api::{Clock, Entry, Hint, Live, ProviderName, Spawner, Wait};

use crate::{
    cluster::Cluster,
    collector::{self, Collector},
    election::Term,
    health::{
        inputs::{self, Inputs},
        provider::{self, ProvidersHealth},
        proxy::{self, Prober, ProxiesHealth},
    },
    shell::{self, Brakes, Reconciler, Told},
    step::{self, Decide},
};

/// What an operator is made of, beside its term.
#[derive(Clone)]
pub struct Operator {
    /// The cluster.
    pub cluster: Arc<dyn Cluster>,
    /// The configured providers, and their replacement.
    pub providers: Arc<Live>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Where files are read.
    pub spawner: Arc<dyn Spawner>,
    /// Probes proxies.
    pub prober: Arc<dyn Prober>,
    /// How long things may take.
    pub reconcile: step::Settings,
    /// How many instances are replaced for their health.
    pub brakes: Brakes,
    /// How orphans are collected.
    pub collector: collector::Settings,
    /// How providers are checked.
    pub provider_health: provider::Settings,
    /// How proxies are probed.
    pub probe: proxy::Settings,
    /// What lies between looks at config and credential files.
    pub inputs_every: Duration,
    /// Who may use proxies whose spec does not say so.
    pub default_sources: Vec<IpNet>,
    /// How a step is decided: [`step::step`](fn@step::step).
    pub step: Decide,
    /// Where chances come from.
    pub seed: u64,
}

impl Operator {
    /// Works for one term, for as long as it is polled.
    pub async fn work(self, term: Term) {
        let (told_by_others, told) = unbounded();
        let (tells, heard) = unbounded();
        let Self { cluster, providers, clock, spawner, .. } = &self;
        let mut inputs = Inputs::new(inputs::Parts {
            providers: Arc::clone(providers),
            clock: Arc::clone(clock),
            spawner: Arc::clone(spawner),
            told: told_by_others.clone(),
            every: self.inputs_every,
        });
        // Before anything is decided: whether a failure may be over is told by what it rested on.
        inputs.round().await;
        let reconciler = Reconciler::new(
            shell::Parts {
                cluster: Arc::clone(cluster),
                providers: Arc::clone(providers),
                clock: Arc::clone(clock),
                term: term.clone(),
                settings: self.reconcile.clone(),
                step: self.step,
                brakes: self.brakes.clone(),
                default_sources: self.default_sources.clone(),
                seed: self.seed,
            },
            told,
            tells,
        );
        let collector = Collector {
            cluster: Arc::clone(cluster),
            providers: Arc::clone(providers),
            clock: Arc::clone(clock),
            term: term.clone(),
            settings: self.collector.clone(),
        };
        let checks = ProvidersHealth::new(provider::Parts {
            cluster: Arc::clone(cluster),
            providers: Arc::clone(providers),
            clock: Arc::clone(clock),
            term,
            told: told_by_others.clone(),
            settings: self.provider_health.clone(),
        });
        let prober = Arc::clone(&self.prober);
        let probes =
            ProxiesHealth::new(prober, Arc::clone(clock), self.probe.clone(), heard, told_by_others.clone());
        let hints = hints(Arc::clone(providers), Arc::clone(clock), told_by_others, self.inputs_every);
        join!(reconciler.run(), collector.run(), checks.run(), probes.run(), inputs.run(), hints);
    }
}

/// Passes the hints of all providers on, also of those that a new config brings.
async fn hints(providers: Arc<Live>, clock: Arc<dyn Clock>, told: UnboundedSender<Told>, every: Duration) {
    let mut streams: SelectAll<BoxStream<'static, Told>> = SelectAll::new();
    let mut known: BTreeMap<ProviderName, Arc<Entry>> = BTreeMap::new();
    loop {
        let current = providers.current();
        let is_changed = current.iter().count() != known.len()
            || current.iter().any(|(name, entry)| known.get(name).is_none_or(|old| !Arc::ptr_eq(old, entry)));
        if is_changed {
            // Streams of entries that did not change are begun anew too: what they miss meanwhile, a look finds.
            streams = current.iter().filter_map(|(name, entry)| stream(name, entry)).collect();
            known = current.iter().map(|(name, entry)| (name.clone(), Arc::clone(entry))).collect();
        }
        let mut sleep = clock.sleep(every, Wait::Idle).fuse();
        loop {
            let mut next = async {
                match streams.next().await {
                    Some(hint) => hint,
                    None => std::future::pending().await,
                }
            }
            .boxed()
            .fuse();
            futures::select_biased! {
                // Whoever would hear it is gone with the whole of this.
                hint = next => drop(told.unbounded_send(hint)),
                () = sleep => break,
            }
        }
    }
}

fn stream(name: &ProviderName, entry: &Entry) -> Option<BoxStream<'static, Told>> {
    let name = name.clone();
    let hints = entry.built.watch.as_ref()?.hints();
    let told = move |hint| match hint {
        Hint::Changed(id) => Told::Hint(name.clone(), Some(id.to_string())),
        Hint::Resync => Told::Hint(name.clone(), None),
    };
    Some(Box::pin(hints.map(told)))
}
