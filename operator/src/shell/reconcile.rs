//! One Proxy until there is nothing to do about it: steps are decided, carried out, and what came of them is given to the
//! next. It ends with a time to wait, and holds nothing while waiting.

use std::{sync::Arc, time::Duration};

use futures::{
    FutureExt, StreamExt,
    channel::mpsc::UnboundedReceiver,
    future::{BoxFuture, Either, select},
};
use provider_api::Uid;
use rand::Rng;

use super::{
    Shell,
    inputs::{self, Resolved, UNKNOWN},
    provider,
};
use crate::{
    cluster::ClusterError,
    resource::{Digest, Proxy},
    step::{Action, Answer, Call, Health, Memory, Note, Situation, Step},
};

/// What is known of a Proxy between reconciles.
pub(super) struct Known {
    pub(super) proxy: Arc<Proxy>,
    pub(super) memory: Memory,
    pub(super) inputs: Option<Resolved>,
    pub(super) health: Health,
    /// Requests in a row that the API server did not answer.
    pub(super) doubts: u32,
    /// Nobody sees it any more, by what the watch said last.
    pub(super) gone: bool,
    /// Another Proxy that has its name by now.
    pub(super) successor: Option<Arc<Proxy>>,
}

/// Something that happened while a reconcile is under way.
pub(super) enum News {
    Changed(Arc<Proxy>),
    /// Nobody sees it any more; without a UID whatever has that name.
    Gone(Option<Uid>),
    Health(Health),
    Secret,
    /// Look again: a hint, another config.
    Nudge,
}

/// How a reconcile ended.
pub(super) enum Ended {
    /// Nothing is to be done until something changes, or this much time has passed.
    Wait(Option<Duration>),
    /// The Proxy is gone.
    Forget,
}

/// What came of an action.
enum Did {
    Goes(Box<Proxy>),
    Again,
    Ends(Ended),
}

/// A reconcile that has ended, with the news that it did not hear of any more.
pub(super) struct Reconciled {
    pub(super) known: Known,
    pub(super) ended: Ended,
    pub(super) unread: UnboundedReceiver<News>,
}

pub(super) async fn reconcile(
    shell: Arc<Shell>,
    mut known: Known,
    mut news: UnboundedReceiver<News>,
) -> Reconciled {
    let ended = until_it_waits(&shell, &mut known, &mut news).await;
    // The answers to reads and writes have the user data in them.
    if known.proxy.has_text() {
        known.proxy = Arc::new(known.proxy.to_keep());
    }
    Reconciled { known, ended, unread: news }
}

async fn until_it_waits(shell: &Arc<Shell>, known: &mut Known, news: &mut UnboundedReceiver<News>) -> Ended {
    let (mut fresh, mut has_resolved) = (false, false);
    loop {
        while let Some(Some(one)) = news.next().now_or_never() {
            known.take(one);
        }
        // Whether it stays so, what is still unread says.
        if known.gone {
            return Ended::Wait(None);
        }
        // What could not be read is read again with the next reconcile, and not with each step.
        let is_first = !std::mem::replace(&mut has_resolved, true);
        if known.inputs.as_ref().is_none_or(|inputs| !inputs.are_of(&known.proxy, is_first)) {
            known.inputs = Some(Resolved::of(shell, &known.proxy).await);
        }
        let decided = decide(shell, known, fresh, None);
        // Whoever leads no more starts nothing.
        if !shell.term.holds(&*shell.clock) {
            return Ended::Wait(None);
        }
        let did = match decided.action {
            Action::Wait(how_long) => Did::Ends(Ended::Wait(how_long)),
            Action::Forget => Did::Ends(Ended::Forget),
            Action::Drop => unreachable!("nothing is under way between steps"),
            Action::Call(call) => {
                ask(shell, known, news, call).await;
                fresh = false;
                Did::Again
            }
            Action::Publish { secret, digest } => publish(shell, known, &secret, digest).await,
            Action::Withdraw(secret) => withdraw(shell, known, secret).await,
            action => write(shell, known, action).await,
        };
        match did {
            Did::Goes(proxy) => {
                known.proxy = Arc::new(*proxy);
                known.doubts = 0;
                fresh = true;
            }
            Did::Again => {}
            Did::Ends(ended) => return ended,
        }
    }
}

impl Known {
    pub(super) fn take(&mut self, news: News) {
        match news {
            // A UID never returns: whoever has the name now has it because ours is gone.
            News::Changed(proxy) if proxy.uid != self.proxy.uid => {
                self.gone = true;
                self.successor = Some(proxy);
            }
            // Our own write may be newer than what the watch brings. Where it is the same, its answer has the user data too,
            // which a create would otherwise be read anew for.
            News::Changed(proxy) => {
                // A watch that begins anew may begin with an old list: what it said was gone is not.
                (self.gone, self.successor) = (false, None);
                let is_known = proxy.version == self.proxy.version;
                if !is_known && !proxy.version.older_than(&self.proxy.version) {
                    self.proxy = proxy;
                }
            }
            News::Gone(uid) => {
                self.gone |= uid.as_ref().is_none_or(|uid| *uid == self.proxy.uid);
                self.successor = self.successor.take().filter(|it| uid.is_some_and(|uid| uid != it.uid));
            }
            News::Health(health) => self.health = health,
            News::Secret => {
                self.inputs = None;
                self.memory.publish_again();
            }
            News::Nudge => self.memory.look_again(),
        }
    }
}

fn decide(shell: &Shell, known: &mut Known, fresh: bool, in_flight: Option<&Call>) -> Step {
    let facts = shell.facts();
    let inputs = known.inputs.as_ref().map_or(Err(&UNKNOWN), Resolved::as_ref);
    let situation = Situation {
        proxy: &known.proxy,
        fresh,
        inputs,
        providers: &facts,
        health: facts.health(known),
        in_flight,
        now: shell.clock.now(),
        tick: shell.clock.monotonic(),
        chance: shell.random().random(),
        settings: &shell.settings,
    };
    let mut decided = (shell.step)(&situation, std::mem::take(&mut known.memory));
    known.memory = std::mem::take(&mut decided.memory);
    for note in decided.notes.drain(..) {
        shell.cluster.tell(&known.proxy.key, &known.proxy.uid, &note);
    }
    decided
}

/// Carries out what concerns the cluster alone.
async fn write(shell: &Shell, known: &mut Known, action: Action) -> Did {
    let proxy = &*known.proxy;
    let cluster = &shell.cluster;
    let result = match &action {
        Action::Hold => cluster.hold(proxy, true).await,
        Action::Release => cluster.hold(proxy, false).await,
        Action::Write(status) => cluster.write_status(proxy, status).await.map(Some),
        _ => cluster.read(&proxy.key).await,
    };
    match result {
        Ok(Some(now)) if now.uid == proxy.uid => Did::Goes(Box::new(now)),
        // The name may be another's by now: ours is gone.
        Ok(_) | Err(ClusterError::NotFound) => Did::Ends(Ended::Forget),
        Err(ClusterError::Conflict) => match cluster.read(&proxy.key).await {
            Ok(Some(now)) if now.uid == proxy.uid => Did::Goes(Box::new(now)),
            Ok(_) => Did::Ends(Ended::Forget),
            Err(error) => Did::Ends(doubtful(shell, known, &error)),
        },
        Err(error) => Did::Ends(doubtful(shell, known, &error)),
    }
}

/// Publishes how to reach a proxy.
async fn publish(shell: &Shell, known: &mut Known, secret: &str, digest: Digest) -> Did {
    let proxy = Arc::clone(&known.proxy);
    let connection = match inputs::connection(shell, &proxy, secret, &digest).await {
        Ok(Some(connection)) => connection,
        // What it was decided on is no longer so.
        Ok(None) => {
            known.inputs = None;
            return Did::Again;
        }
        Err(error) => return Did::Ends(doubtful(shell, known, &error)),
    };
    match shell.cluster.publish(&proxy, secret, &connection.to_data()).await {
        Ok(came) => {
            known.memory.published(digest, came);
            Did::Again
        }
        Err(error) => Did::Ends(doubtful(shell, known, &error)),
    }
}

async fn withdraw(shell: &Shell, known: &mut Known, secret: String) -> Did {
    let proxy = Arc::clone(&known.proxy);
    match shell.cluster.withdraw(&proxy, &secret).await {
        Ok(()) => {
            known.memory.withdrawn(secret);
            Did::Again
        }
        Err(error) => Did::Ends(doubtful(shell, known, &error)),
    }
}

/// The API server did not do it: it is asked again later, and the memory keeps what it was about.
fn doubtful(shell: &Shell, known: &mut Known, error: &ClusterError) -> Ended {
    known.doubts = known.doubts.saturating_add(1);
    tracing::debug!(proxy = %known.proxy.key, %error, "the cluster did not do it");
    if let ClusterError::Refused(_) = error {
        // It may go on for as long as nobody does anything about it, and no status can say so.
        let note = Note { warning: true, reason: "WriteRefused", message: error.to_string() };
        shell.cluster.tell(&known.proxy.key, &known.proxy.uid, &note);
    }
    Ended::Wait(Some(shell.settings.backoff.after(known.doubts, shell.random().random())))
}

/// Asks a provider, and drops the call as soon as nobody wants it any more.
async fn ask(shell: &Arc<Shell>, known: &mut Known, news: &mut UnboundedReceiver<News>, call: Call) {
    let mut answer: BoxFuture<'static, Option<Answer>> =
        provider::ask(Arc::clone(shell), Arc::clone(&known.proxy), call.clone());
    loop {
        match select(answer, news.next()).await {
            Either::Left((answer, _)) => {
                if answer.is_none() {
                    known.inputs = None;
                }
                known.memory.answer = answer;
                return;
            }
            Either::Right((Some(one), rest)) => {
                known.take(one);
                if known.gone {
                    return;
                }
                if known.inputs.is_none() {
                    known.inputs = Some(Resolved::of(shell, &known.proxy).await);
                }
                let decided = decide(shell, known, false, Some(&call));
                if decided.action == Action::Drop {
                    return;
                }
                answer = rest;
            }
            // Whoever sent the news is gone, and with it everything that was to be done.
            Either::Right((None, _)) => return,
        }
    }
}
