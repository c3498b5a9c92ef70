//! Events: what people are told. They are queued, and sent by whoever polls [`Events::run`]; none is worth holding anything up
//! for, so a full queue drops the newest, and an object that is told of too often is told of less.
//!
//! What is told again within [`WINDOW`] is counted on the event that is there, at most once in [`HEARTBEAT`].

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
    task::Poll,
    time::Duration,
};

use futures::{future::poll_fn, task::AtomicWaker};
use http::Method;
use provider_api::Timestamp;
use serde_json::json;

use super::{
    call::{Caller, JSON, MERGE, Request},
    lease::micros,
};
use crate::{
    cluster::ClusterError,
    resource::{GROUP, VERSION},
    step::Note,
};

/// How many wait to be sent.
const QUEUE: usize = 1_000;
/// How many events of one object are new ones at a time; another one each [`REFILL`].
const BURST: u32 = 10;
/// See [`BURST`].
const REFILL: Duration = Duration::from_secs(60);
/// For how long a repetition is counted on the first one.
const WINDOW: Duration = Duration::from_secs(10 * 60);
/// What lies between two writes of a count.
const HEARTBEAT: Duration = Duration::from_secs(60);
/// How many events, and how many objects, are remembered.
const REMEMBERED: usize = 1_000;
/// How often an event is sent that may not have arrived.
const TRIES: u32 = 3;
/// The longest sentence that the API takes, in bytes.
const LONGEST: usize = 1_024;

/// The component, as it stands in events.
const REPORTER: &str = "crawl.example.com/proxy-operator";

/// What an event is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct About {
    pub(super) kind: &'static str,
    /// Empty for what is in none.
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) uid: Option<String>,
}

/// The events of one operator.
pub(super) struct Events {
    /// Who tells, as a name of this process.
    instance: String,
    state: Mutex<State>,
    waker: AtomicWaker,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Send>,
    dropped: u64,
    recent: BTreeMap<(About, Said), Recent>,
    buckets: BTreeMap<About, Bucket>,
}

/// What is said, as it is compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Said {
    warning: bool,
    reason: &'static str,
    message: String,
}

/// An event that was told not long ago.
struct Recent {
    name: String,
    first: Duration,
    sent: Duration,
    count: u32,
}

/// How many more events of an object are told.
struct Bucket {
    left: u32,
    since: Duration,
}

/// What is to be sent.
#[derive(Debug, PartialEq, Eq)]
enum Send {
    New { name: String, about: About, said: Said, at: Timestamp },
    Again { name: String, namespace: String, count: u32, at: Timestamp },
}

impl Events {
    pub(super) fn new(instance: &str) -> Self {
        // The API takes no more.
        let instance: String = instance.chars().take(128).collect();
        Self { instance, state: Mutex::default(), waker: AtomicWaker::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues an event.
    pub(super) fn tell(&self, caller: &Caller, about: About, note: &Note) {
        let said = Said { warning: note.warning, reason: note.reason, message: cut(&note.message) };
        let (tick, now) = (caller.clock.monotonic(), caller.clock.now());
        self.state().tell(about, said, tick, now, || caller.suffix());
        self.waker.wake();
    }

    /// Sends what is queued, for as long as it is polled.
    pub(super) async fn run(&self, caller: &Caller) {
        loop {
            let next = poll_fn(|context| {
                self.waker.register(context.waker());
                match self.state().queue.pop_front() {
                    Some(next) => Poll::Ready(next),
                    None => Poll::Pending,
                }
            })
            .await;
            self.send(caller, &next).await;
        }
    }

    async fn send(&self, caller: &Caller, send: &Send) {
        let request = self.request(send);
        for attempt in 1..=TRIES {
            let error = match caller.send(&request).await {
                Ok(_) => return,
                Err(failure) => ClusterError::from(failure),
            };
            match error {
                ClusterError::Doubtful(_) if attempt < TRIES => {
                    let pause = caller.settings.pause.after(attempt, caller.chance());
                    caller.clock.sleep(pause, provider_api::Wait::Idle).await;
                }
                // The first of several attempts has arrived.
                ClusterError::Conflict => return,
                error => {
                    tracing::debug!(%error, ?send, "an event is lost");
                    return;
                }
            }
        }
    }

    fn request(&self, send: &Send) -> Request {
        const API: &str = "events.k8s.io/v1";
        let path = |namespace: &str| format!("/apis/{API}/namespaces/{namespace}/events");
        match send {
            Send::New { name, about, said, at } => {
                let mut regarding = json!({
                    "apiVersion": format!("{GROUP}/{VERSION}"), "kind": about.kind, "name": about.name
                });
                if !about.namespace.is_empty() {
                    regarding["namespace"] = json!(about.namespace);
                }
                if let Some(uid) = &about.uid {
                    regarding["uid"] = json!(uid);
                }
                let body = json!({
                    "apiVersion": API,
                    "kind": "Event",
                    "metadata": {"name": name, "namespace": about.home()},
                    "eventTime": micros(*at),
                    "reportingController": REPORTER,
                    "reportingInstance": self.instance,
                    "action": said.reason,
                    "reason": said.reason,
                    "type": if said.warning { "Warning" } else { "Normal" },
                    "note": said.message,
                    "regarding": regarding,
                });
                Request::new(Method::POST, path(about.home())).body(JSON, &body)
            }
            Send::Again { name, namespace, count, at } => {
                let body = json!({"series": {"count": count, "lastObservedTime": micros(*at)}});
                Request::new(Method::PATCH, format!("{}/{name}", path(namespace))).body(MERGE, &body)
            }
        }
    }
}

impl About {
    /// Where events about it are.
    fn home(&self) -> &str {
        if self.namespace.is_empty() { "default" } else { &self.namespace }
    }
}

impl State {
    fn tell(
        &mut self,
        about: About,
        said: Said,
        tick: Duration,
        now: Timestamp,
        suffix: impl FnOnce() -> String,
    ) {
        self.recent.retain(|_, recent| tick < recent.first + WINDOW);
        let key = (about, said);
        if let Some(recent) = self.recent.get_mut(&key) {
            recent.count += 1;
            if tick < recent.sent + HEARTBEAT {
                return;
            }
            recent.sent = tick;
            let (name, count) = (recent.name.clone(), recent.count);
            let namespace = key.0.home().to_owned();
            return self.push(Send::Again { name, namespace, count, at: now });
        }
        let (about, said) = &key;
        if !self.has_one_left(about, tick) {
            self.dropped += 1;
            return;
        }
        // A name of 253 characters and a suffix that tells it from all others.
        let start: String = about.name.chars().take(253 - 17).collect();
        let name = format!("{}.{}", start.trim_end_matches(['.', '-']), suffix());
        self.push(Send::New { name: name.clone(), about: about.clone(), said: said.clone(), at: now });
        if self.recent.len() < REMEMBERED {
            self.recent.insert(key, Recent { name, first: tick, sent: tick, count: 1 });
        }
    }

    fn has_one_left(&mut self, about: &About, tick: Duration) -> bool {
        if self.buckets.len() >= REMEMBERED && !self.buckets.contains_key(about) {
            // Those that are full again say nothing; where there are none, nobody is held back.
            self.buckets.retain(|_, bucket| bucket.now(tick) < BURST);
            if self.buckets.len() >= REMEMBERED {
                return true;
            }
        }
        let bucket = self.buckets.entry(about.clone()).or_insert(Bucket { left: BURST, since: tick });
        let left = bucket.now(tick);
        if left == BURST {
            bucket.since = tick;
        } else {
            let refilled = left - bucket.left;
            bucket.since += REFILL * refilled;
        }
        bucket.left = left.saturating_sub(1);
        left > 0
    }

    fn push(&mut self, send: Send) {
        if self.queue.len() >= QUEUE {
            self.dropped += 1;
            if self.dropped.is_power_of_two() {
                tracing::warn!(
                    dropped = self.dropped,
                    "events are lost: the API server takes them too slowly"
                );
            }
            return;
        }
        self.queue.push_back(send);
    }
}

impl Bucket {
    fn now(&self, tick: Duration) -> u32 {
        let refilled = tick.saturating_sub(self.since).as_secs() / REFILL.as_secs();
        self.left.saturating_add(u32::try_from(refilled).unwrap_or(BURST)).min(BURST)
    }
}

/// A sentence as long as the API takes it.
fn cut(message: &str) -> String {
    if message.len() <= LONGEST {
        return message.to_owned();
    }
    let end = message.floor_char_boundary(LONGEST - '…'.len_utf8());
    format!("{}…", &message[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(name: &str) -> About {
        About { kind: "Proxy", namespace: "n".to_owned(), name: name.to_owned(), uid: None }
    }

    fn said(message: &str) -> Said {
        Said { warning: false, reason: "Created", message: message.to_owned() }
    }

    fn tell(state: &mut State, name: &str, message: &str, seconds: u64) {
        let (tick, now) = (Duration::from_secs(seconds), Timestamp::from_unix(0));
        state.tell(about(name), said(message), tick, now, || "x".to_owned());
    }

    #[test]
    fn what_is_told_again_is_counted_and_written_now_and_then() {
        let mut state = State::default();
        for second in 0..130 {
            tell(&mut state, "a", "m", second);
        }
        let counts: Vec<_> = state
            .queue
            .iter()
            .map(|send| match send {
                Send::New { .. } => 1,
                Send::Again { count, .. } => *count,
            })
            .collect();
        assert_eq!(counts, [1, 61, 121]);
        tell(&mut state, "a", "m", 600);
        assert!(matches!(state.queue.back(), Some(Send::New { .. })), "after the window it is a new one");
    }

    #[test]
    fn an_object_that_is_told_of_too_often_is_told_of_less_and_others_are_not() {
        let mut state = State::default();
        for each in 0..100 {
            tell(&mut state, "a", &format!("m{each}"), 1);
        }
        assert_eq!(state.queue.len(), 10);
        tell(&mut state, "b", "m", 1);
        assert_eq!(state.queue.len(), 11);
        for second in [30, 61, 62, 121, 122] {
            tell(&mut state, "a", &format!("at {second}"), second);
        }
        assert_eq!(state.queue.len(), 13, "one more for each minute");
    }

    #[test]
    fn neither_the_queue_nor_what_is_remembered_grows_for_ever() {
        let mut state = State::default();
        for each in 0..5_000 {
            tell(&mut state, &format!("p{each}"), "m", 1);
        }
        assert_eq!(state.queue.len(), QUEUE);
        assert!(state.recent.len() <= REMEMBERED && state.buckets.len() <= REMEMBERED);
    }

    #[test]
    fn a_sentence_is_cut_at_a_character() {
        let long = "ä".repeat(600);
        let cut = cut(&long);
        assert!(cut.len() <= LONGEST && cut.ends_with("ä…"), "{}", cut.len());
    }
}
