//! The shell around the step: it keeps what is known of every Proxy, hears of changes, and lets each Proxy that needs it be
//! reconciled, all at once and none waiting for another. What bounds them is in the providers, for each target.

mod facts;
mod inputs;
mod provider;
mod reconcile;
#[cfg(test)]
mod tests;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap, btree_map},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::{
    FutureExt, StreamExt,
    channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded},
    future::BoxFuture,
    select_biased,
    stream::FuturesUnordered,
};
use ipnet::IpNet;
use provider_api::{Clock, Live, ProviderName, Uid, Wait};
use rand::{SeedableRng, rngs::StdRng};

use self::{
    facts::Standing,
    reconcile::{Ended, Known, News, Reconciled, reconcile},
};
use crate::{
    cluster::{Change, Cluster},
    election::Term,
    resource::{Digest, Key, Proxy, Spec},
    step::{Decide, Health, Settings},
};

pub use facts::Brakes;

/// What every reconcile shares.
pub struct Shell {
    cluster: Arc<dyn Cluster>,
    providers: Arc<Live>,
    clock: Arc<dyn Clock>,
    term: Term,
    settings: Settings,
    step: Decide,
    brakes: Brakes,
    default_sources: Vec<IpNet>,
    random: Mutex<StdRng>,
    standing: Mutex<Standing>,
}

/// What a shell is made from.
pub struct Parts {
    /// The cluster.
    pub cluster: Arc<dyn Cluster>,
    /// The configured providers, and their replacement.
    pub providers: Arc<Live>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// For as long as this operator leads.
    pub term: Term,
    /// How long things may take.
    pub settings: Settings,
    /// How a step is decided: [`step::step`](fn@crate::step::step).
    pub step: Decide,
    /// How many instances are replaced for their health.
    pub brakes: Brakes,
    /// Who may use proxies whose spec does not say so.
    pub default_sources: Vec<IpNet>,
    /// Where chances come from.
    pub seed: u64,
}

/// Something that others tell the shell.
#[derive(Clone, Debug)]
pub enum Told {
    /// What probes say of a Proxy.
    Health(Key, Health),
    /// The digest of a provider's config and credentials; `None` when it is no longer configured.
    Config(ProviderName, Option<Digest>),
    /// A provider's health turned ready.
    Ready(ProviderName),
    /// A backend says that something of a provider changed: one instance by its id, or everything.
    Hint(ProviderName, Option<String>),
}

/// What the shell tells others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tells {
    /// A Proxy is up at this endpoint, and its provider has its proxies probed.
    Up(Key, String),
    /// It is not up any more.
    Down(Key),
}

/// One Proxy between reconciles, and how to reach it within one.
struct Slot {
    /// `None` while it is being reconciled.
    known: Option<Box<Known>>,
    news: Option<UnboundedSender<News>>,
    /// When it is due; what stands in the heap for another time is void.
    due: Option<Duration>,
    /// What is counted of it.
    counted: facts::Counted,
    /// The endpoint that others were told of.
    up: Option<String>,
}

impl Shell {
    fn random(&self) -> MutexGuard<'_, StdRng> {
        self.random.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sources<'s>(&'s self, spec: &'s Spec) -> &'s [IpNet] {
        if spec.allowed_sources.is_empty() { &self.default_sources } else { &spec.allowed_sources }
    }
}

/// Everything that goes on for one term of leadership. Dropping it ends all of that at once.
pub struct Reconciler {
    shell: Arc<Shell>,
    slots: BTreeMap<Key, Slot>,
    due: BinaryHeap<Reverse<(Duration, Key)>>,
    active: FuturesUnordered<BoxFuture<'static, Reconciled>>,
    told: UnboundedReceiver<Told>,
    tells: UnboundedSender<Tells>,
}

impl Reconciler {
    /// A reconciler that hears by `told` and speaks by `tells`.
    pub fn new(parts: Parts, told: UnboundedReceiver<Told>, tells: UnboundedSender<Tells>) -> Self {
        let Parts { cluster, providers, clock, term, settings, step, brakes, default_sources, seed } = parts;
        let shell = Shell {
            cluster,
            providers,
            clock,
            term,
            settings,
            step,
            brakes,
            default_sources,
            random: Mutex::new(StdRng::seed_from_u64(seed)),
            standing: Mutex::default(),
        };
        Self {
            shell: Arc::new(shell),
            slots: BTreeMap::new(),
            due: BinaryHeap::new(),
            active: FuturesUnordered::new(),
            told,
            tells,
        }
    }

    /// Runs for as long as it is polled.
    pub async fn run(mut self) {
        let mut changes = self.shell.cluster.watch().fuse();
        loop {
            self.start_what_is_due();
            let sleep = self.until_the_next();
            let mut sleep = sleep.fuse();
            select_biased! {
                told = self.told.select_next_some() => self.take_told(told),
                change = changes.select_next_some() => self.changed(change),
                reconciled = self.active.select_next_some() => self.ended(reconciled),
                () = sleep => {}
            }
        }
    }

    fn until_the_next(&self) -> BoxFuture<'static, ()> {
        match self.due.peek() {
            None => Box::pin(std::future::pending()),
            Some(Reverse((due, _))) => {
                let wait = due.saturating_sub(self.shell.clock.monotonic());
                self.shell.clock.sleep(wait, Wait::Idle)
            }
        }
    }

    fn start_what_is_due(&mut self) {
        let tick = self.shell.clock.monotonic();
        while let Some(Reverse((due, _))) = self.due.peek() {
            if *due > tick {
                return;
            }
            let Some(Reverse((due, key))) = self.due.pop() else { return };
            let Some(slot) = self.slots.get_mut(&key) else { continue };
            if slot.due != Some(due) {
                continue;
            }
            slot.due = None;
            if let Some(known) = slot.known.take() {
                let (sender, receiver) = unbounded();
                slot.news = Some(sender);
                self.active.push(Box::pin(reconcile(Arc::clone(&self.shell), *known, receiver)));
            }
        }
    }

    fn changed(&mut self, change: Change) {
        match change {
            Change::All(proxies) => {
                let mut gone: BTreeSet<_> = self.slots.keys().cloned().collect();
                for proxy in proxies {
                    gone.remove(&proxy.key);
                    self.seen(&proxy);
                }
                for key in gone {
                    self.gone(&key, None);
                }
                self.secrets_may_have_changed();
            }
            Change::Changed(proxy) => self.seen(&proxy),
            Change::Gone(key, uid) => self.gone(&key, Some(&uid)),
            Change::Secret(secret) => self.secret_changed(&secret),
        }
    }

    fn seen(&mut self, proxy: &Arc<Proxy>) {
        let tick = self.shell.clock.monotonic();
        // User data is not kept: what needs it reads the Proxy anew.
        let kept = if proxy.has_text() { Arc::new(proxy.to_keep()) } else { Arc::clone(proxy) };
        match self.slots.entry(proxy.key.clone()) {
            btree_map::Entry::Vacant(place) => {
                place.insert(Slot::new(self.shell.first_look(kept)));
                self.is_due(&proxy.key, tick);
            }
            btree_map::Entry::Occupied(mut place) => {
                let slot = place.get_mut();
                match (&mut slot.known, &slot.news) {
                    (Some(known), _) if known.proxy.uid != proxy.uid => {
                        **known = self.shell.first_look(kept);
                        self.is_due(&proxy.key, tick);
                    }
                    (Some(known), _) => {
                        // What brings nothing new, our own writes above all, wakes nobody.
                        if known.proxy.version != proxy.version
                            && !proxy.version.older_than(&known.proxy.version)
                        {
                            known.proxy = kept;
                            self.is_due(&proxy.key, tick);
                        }
                    }
                    (None, Some(news)) => drop(news.unbounded_send(News::Changed(kept))),
                    (None, None) => {}
                }
            }
        }
    }

    fn gone(&mut self, key: &Key, uid: Option<&Uid>) {
        let Some(slot) = self.slots.get_mut(key) else { return };
        match (&slot.known, &slot.news) {
            (Some(known), _) => {
                if uid.is_none_or(|uid| *uid == known.proxy.uid) {
                    let slot = self.slots.remove(key);
                    self.forget(key, slot);
                }
            }
            (None, Some(news)) => drop(news.unbounded_send(News::Gone(uid.cloned()))),
            (None, None) => {}
        }
    }

    fn forget(&mut self, key: &Key, slot: Option<Slot>) {
        let Some(slot) = slot else { return };
        self.shell.standing().uncount(&slot.counted);
        if slot.up.is_some() {
            drop(self.tells.unbounded_send(Tells::Down(key.clone())));
        }
    }

    fn secret_changed(&mut self, secret: &Key) {
        let tick = self.shell.clock.monotonic();
        let mut due = Vec::new();
        for (key, slot) in self.slots.range_mut(namespace(&secret.namespace)..) {
            if key.namespace != secret.namespace {
                break;
            }
            match (&mut slot.known, &slot.news) {
                (Some(known), _) => {
                    if known.proxy.watched_secrets().any(|name| name == secret.name) {
                        known.inputs = None;
                        known.memory.publish_again();
                        due.push(key.clone());
                    }
                }
                (None, Some(news)) => drop(news.unbounded_send(News::Secret)),
                (None, None) => {}
            }
        }
        for key in due {
            self.is_due(&key, tick);
        }
    }

    /// A watch that began anew has missed what happened meanwhile, also to Secrets: what was read of them is read again.
    fn secrets_may_have_changed(&mut self) {
        let tick = self.shell.clock.monotonic();
        let mut due = Vec::new();
        for (key, slot) in &mut self.slots {
            match (&mut slot.known, &slot.news) {
                (Some(known), _)
                    if known.inputs.is_some() && known.proxy.watched_secrets().next().is_some() =>
                {
                    known.inputs = None;
                    known.memory.publish_again();
                    due.push(key.clone());
                }
                (None, Some(news)) => drop(news.unbounded_send(News::Secret)),
                _ => {}
            }
        }
        for key in due {
            self.is_due(&key, tick);
        }
    }

    fn take_told(&mut self, told: Told) {
        match told {
            Told::Health(key, health) => {
                let tick = self.shell.clock.monotonic();
                let Some(slot) = self.slots.get_mut(&key) else { return };
                match (&mut slot.known, &slot.news) {
                    (Some(known), _) => {
                        known.health = health;
                        self.recount(&key);
                        self.is_due(&key, tick);
                    }
                    (None, Some(news)) => drop(news.unbounded_send(News::Health(health))),
                    (None, None) => {}
                }
            }
            Told::Config(name, digest) => {
                self.shell.standing().configured(&name, digest);
                self.nudge(|proxy| proxy.uses(&name), false);
            }
            Told::Ready(name) => {
                let tick = self.shell.clock.monotonic();
                self.shell.standing().ready_again(&name, tick);
                self.nudge(|proxy| proxy.uses(&name) && proxy.status.last_failure.is_some(), false);
            }
            Told::Hint(name, id) => {
                let is_it = |proxy: &Proxy| {
                    let instance = proxy.status.instance.as_ref();
                    instance
                        .is_some_and(|it| it.provider == name && id.as_ref().is_none_or(|id| *id == it.id))
                };
                self.nudge(is_it, true);
            }
        }
    }

    /// Lets every Proxy that this is about be looked at; with `polls` its instance too.
    fn nudge(&mut self, is_about: impl Fn(&Proxy) -> bool, polls: bool) {
        let tick = self.shell.clock.monotonic();
        let mut due = Vec::new();
        for (key, slot) in &mut self.slots {
            match (&mut slot.known, &slot.news) {
                (Some(known), _) if is_about(&known.proxy) => {
                    if polls {
                        known.memory.look_again();
                    }
                    due.push(key.clone());
                }
                (None, Some(news)) => drop(news.unbounded_send(News::Nudge)),
                _ => {}
            }
        }
        for key in due {
            self.is_due(&key, tick);
        }
    }

    fn ended(&mut self, reconciled: Reconciled) {
        let Reconciled { mut known, ended, mut unread } = reconciled;
        let key = known.proxy.key.clone();
        let Some(slot) = self.slots.get_mut(&key) else { return };
        slot.news = None;
        let mut heard = false;
        while let Some(Some(news)) = unread.next().now_or_never() {
            known.take(news);
            heard = true;
        }
        let successor = known.successor.take();
        let is_gone = known.gone || matches!(ended, Ended::Forget);
        slot.known = Some(Box::new(known));
        if is_gone {
            let slot = self.slots.remove(&key);
            self.forget(&key, slot);
            if let Some(successor) = successor {
                self.seen(&successor);
            }
            return;
        }
        self.recount(&key);
        let tick = self.shell.clock.monotonic();
        match ended {
            _ if heard => self.is_due(&key, tick),
            Ended::Wait(Some(how_long)) => self.is_due(&key, tick + how_long),
            Ended::Wait(None) | Ended::Forget => {}
        }
    }

    /// Lets a Proxy be reconciled at a point in time, if it is not due before.
    fn is_due(&mut self, key: &Key, tick: Duration) {
        let Some(slot) = self.slots.get_mut(key) else { return };
        if slot.due.is_none_or(|due| tick < due) {
            slot.due = Some(tick);
            self.due.push(Reverse((tick, key.clone())));
        }
    }

    /// Counts a Proxy anew, and tells others whether it is up.
    fn recount(&mut self, key: &Key) {
        let Some(slot) = self.slots.get_mut(key) else { return };
        let Some(known) = &slot.known else { return };
        let counted = facts::Counted::of(known);
        self.shell.standing().recount(&slot.counted, &counted);
        slot.counted = counted;
        let up = self.shell.probed_endpoint(known);
        if up != slot.up {
            let tells = match &up {
                Some(endpoint) => Tells::Up(key.clone(), endpoint.clone()),
                None => Tells::Down(key.clone()),
            };
            drop(self.tells.unbounded_send(tells));
            slot.up = up;
        }
    }
}

impl Slot {
    fn new(known: Known) -> Self {
        Self {
            known: Some(Box::new(known)),
            news: None,
            due: None,
            counted: facts::Counted::default(),
            up: None,
        }
    }
}

fn namespace(namespace: &str) -> Key {
    Key { namespace: namespace.to_owned(), name: String::new() }
}
