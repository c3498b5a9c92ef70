//! Proxy health: the endpoints that are up are probed, and the shell is told when a verdict changes. One scheduler drives all
//! of them; when which one is due is `schedule`, how a probe is made is `prober`.

mod prober;
mod schedule;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use futures::{
    FutureExt, StreamExt,
    channel::mpsc::{UnboundedReceiver, UnboundedSender},
    future::{BoxFuture, Either, select},
    select_biased,
    stream::FuturesUnordered,
};
use provider_api::{Clock, Wait};

pub use prober::{BadUrl, HttpProber, ProbeUrl};
pub use schedule::{Ended, Probe, Schedule, Settings, Verdict};

use crate::shell::{Tells, Told};

/// Probes one endpoint.
#[async_trait]
pub trait Prober: Send + Sync + 'static {
    /// Sends one request through the proxy at `endpoint`, an address and a port. Dropping it ends it; how long it may take is
    /// the caller's to say.
    ///
    /// # Errors
    /// What happened instead of an answer.
    async fn probe(&self, endpoint: &str) -> Result<(), Fault>;
}

/// Why a probe did not pass.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Requests do not go through.
    #[error("{0}")]
    Proxy(String),
    /// The prober has no means to try, file descriptors or ports of its own. That says nothing of the proxy, and counts
    /// neither for nor against it.
    #[error("{0}")]
    Here(String),
}

/// The health of all proxies that are up, for one term of leadership.
///
/// # Guarantees
/// A proxy that stops serving is told of within the interval and a timeout for each of [`Settings::threshold`]; one that
/// serves is never told to be unhealthy for fewer failed probes in a row than that.
pub struct ProxiesHealth {
    prober: Arc<dyn Prober>,
    clock: Arc<dyn Clock>,
    timeout: Duration,
    schedule: Schedule,
    tells: UnboundedReceiver<Tells>,
    told: UnboundedSender<Told>,
}

impl ProxiesHealth {
    /// One that hears by `tells` and speaks by `told`.
    pub fn new(
        prober: Arc<dyn Prober>,
        clock: Arc<dyn Clock>,
        settings: Settings,
        tells: UnboundedReceiver<Tells>,
        told: UnboundedSender<Told>,
    ) -> Self {
        let timeout = settings.timeout;
        Self { prober, clock, timeout, schedule: Schedule::new(settings), tells, told }
    }

    /// Runs for as long as it is polled, or until nobody tells it anything any more.
    pub async fn run(mut self) {
        let mut probing = FuturesUnordered::new();
        loop {
            let tick = self.clock.monotonic();
            while let Some(probe) = self.schedule.due(tick) {
                probing.push(self.probe(probe));
            }
            let sleep: BoxFuture<'static, ()> = match self.schedule.next() {
                Some(next) => self.clock.sleep(next.saturating_sub(tick), Wait::Idle),
                None => Box::pin(std::future::pending()),
            };
            let mut sleep = sleep.fuse();
            select_biased! {
                tells = self.tells.next() => match tells {
                    Some(tells) => self.hear(tells),
                    None => return,
                },
                (probe, ended) = probing.select_next_some() => {
                    let verdict = self.schedule.ended(&probe, ended, self.clock.monotonic());
                    self.say(verdict);
                }
                () = sleep => {}
            }
        }
    }

    fn hear(&mut self, tells: Tells) {
        let verdict = match tells {
            Tells::Up(key, endpoint) => self.schedule.up(key, &endpoint, self.clock.monotonic()),
            Tells::Down(key) => self.schedule.down(&key),
        };
        self.say(verdict);
    }

    fn say(&self, verdict: Option<Verdict>) {
        if let Some((key, health)) = verdict {
            // Whoever would hear it may be gone, and with it every Proxy that this could be about.
            let _ = self.told.unbounded_send(Told::Health(key, health));
        }
    }

    fn probe(&self, probe: Probe) -> BoxFuture<'static, (Probe, Ended)> {
        let (prober, timeout) = (Arc::clone(&self.prober), self.timeout);
        let guard = self.clock.sleep(timeout, Wait::Guard);
        Box::pin(async move {
            let ended = match select(prober.probe(&probe.endpoint), guard).await {
                Either::Left((Ok(()), _)) => Ended::Passed,
                Either::Left((Err(Fault::Proxy(why)), _)) => Ended::Failed(why),
                Either::Left((Err(Fault::Here(why)), _)) => {
                    tracing::warn!(endpoint = &*probe.endpoint, why, "a probe could not be made");
                    Ended::Unknown
                }
                Either::Right(((), _)) => Ended::Failed(format!("no answer within {timeout:?}")),
            };
            (probe, ended)
        })
    }
}
