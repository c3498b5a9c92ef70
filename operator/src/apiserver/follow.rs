//! A collection, followed for ever: listed, watched from there, and begun anew where that cannot go on.
//!
//! # Guarantees
//! What is given is in the order of its versions. A change is given once it was read, or undone before. Nothing runs but while
//! the stream is polled. However the server ends its watches, there is a pause between two requests, and it grows unless watches
//! last.
//!
//! # Caveats
//! An object that cannot be read is left out; the others are not.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures::{
    StreamExt,
    future::{Either, select},
    stream::{self, BoxStream},
};
use http_body_util::BodyExt;
use provider_api::Wait;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    call::{Caller, Collection},
    failure::{Failure, Wire},
};
use crate::resource::ResourceVersion;

/// A watch that lasted so long is no sign of trouble, however it ended.
const STEADY: Duration = Duration::from_secs(10);
/// No event of ours is near that long.
const MAX_EVENT: usize = 16 << 20;

/// What is seen of a collection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Seen<T> {
    /// All there is. What is not in it is gone.
    All(Vec<T>),
    /// One that is new or has changed.
    Changed(T),
    /// One that is gone.
    Gone(T),
}

/// How long watches of a collection last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// After how long the server is to end a watch; up to half as much again.
    pub(super) period: Duration,
    /// After how long without a word it is taken for dead.
    pub(super) silence: Duration,
}

/// How one object is read.
pub(super) type Read<T> = fn(&RawValue) -> Option<T>;

struct Follow<T> {
    caller: Arc<Caller>,
    of: Collection,
    pace: Pace,
    read: Read<T>,
    /// From where to go on; `None` to list.
    version: Option<ResourceVersion>,
    watch: Option<Watch>,
    failures: u32,
}

/// A watch that is open.
struct Watch {
    chunks: BoxStream<'static, Result<Bytes, String>>,
    buffer: Vec<u8>,
    /// How much of the buffer was looked through for the end of a line.
    looked: usize,
    since: Duration,
    until: Duration,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize)]
struct Versioned {
    metadata: VersionedMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VersionedMeta {
    resource_version: String,
}

/// Why a watch does not go on.
enum Broken {
    /// It ended; the next goes on from where it was.
    Ended(Option<Failure>),
    /// It cannot be gone on with.
    TooOld(Failure),
}

/// Follows a collection, from a version if it was listed before.
pub(super) fn follow<T: Send + 'static>(
    caller: Arc<Caller>,
    of: Collection,
    pace: Pace,
    read: Read<T>,
    version: Option<ResourceVersion>,
) -> BoxStream<'static, Seen<T>> {
    let follow = Follow { caller, of, pace, read, version, watch: None, failures: 0 };
    Box::pin(stream::unfold(follow, |mut follow| async move {
        let seen = follow.next().await;
        Some((seen, follow))
    }))
}

impl<T> Follow<T> {
    async fn next(&mut self) -> Seen<T> {
        loop {
            let Some(version) = self.version.clone() else {
                match self.caller.list(&self.of, self.read).await {
                    Ok((all, version)) => {
                        self.version = Some(version);
                        return Seen::All(all);
                    }
                    Err(failure) => self.failed(Some(&failure)).await,
                }
                continue;
            };
            let Some(watch) = &mut self.watch else {
                match self.open(&version).await {
                    Ok(watch) => self.watch = Some(watch),
                    Err(failure) => {
                        if failure.is_too_old() {
                            self.version = None;
                        }
                        self.failed(Some(&failure)).await;
                    }
                }
                continue;
            };
            let broken = match watch.line(&self.caller, self.pace.silence).await {
                Ok(line) => match self.take(&line) {
                    Ok(Some(seen)) => return seen,
                    Ok(None) => continue,
                    Err(broken) => broken,
                },
                Err(broken) => broken,
            };
            let lasted = self
                .watch
                .take()
                .map_or(Duration::ZERO, |watch| self.caller.clock.monotonic().saturating_sub(watch.since));
            if lasted >= STEADY {
                self.failures = 0;
            }
            let failure = match broken {
                Broken::Ended(failure) => failure,
                Broken::TooOld(failure) => {
                    self.version = None;
                    Some(failure)
                }
            };
            if lasted < STEADY || failure.as_ref().is_some_and(|failure| !failure.is_too_old()) {
                self.failed(failure.as_ref()).await;
            }
        }
    }

    /// Takes one line in; `None` where it tells nothing but how far the watch is.
    fn take(&mut self, line: &[u8]) -> Result<Option<Seen<T>>, Broken> {
        // What cannot be read here could not be read the next time either: a list leaves out no more than one object.
        let unreadable = |error: &serde_json::Error| {
            Broken::TooOld(Failure::Unusable(format!("an event cannot be read: {error}")))
        };
        let event: Event<'_> = serde_json::from_slice(line).map_err(|error| unreadable(&error))?;
        if event.kind == "ERROR" {
            let wire =
                serde_json::from_str::<Wire>(event.object.get()).map_err(|error| unreadable(&error))?;
            let failure = Failure::event(wire);
            return Err(match failure.is_too_old() {
                true => Broken::TooOld(failure),
                false => Broken::Ended(Some(failure)),
            });
        }
        let versioned = serde_json::from_str::<Versioned>(event.object.get());
        let version = versioned.map_err(|error| unreadable(&error))?.metadata.resource_version;
        self.version = Some(ResourceVersion(version));
        let read = |object| (self.read)(object);
        Ok(match event.kind {
            "ADDED" | "MODIFIED" => read(event.object).map(Seen::Changed),
            "DELETED" => read(event.object).map(Seen::Gone),
            _ => None,
        })
    }

    async fn open(&mut self, version: &ResourceVersion) -> Result<Watch, Failure> {
        let Caller { clock, settings, .. } = &*self.caller;
        let period = self.pace.period.mul_f64(1.0 + self.caller.chance() / 2.0);
        let request = self.of.request().accept(self.of.form.of_one());
        let request = request
            .query("watch", "true")
            .query("allowWatchBookmarks", "true")
            .query("timeoutSeconds", period.as_secs().to_string())
            .query("resourceVersion", version.0.clone());
        let guard = clock.sleep(settings.request, Wait::Guard);
        let response = match select(Box::pin(self.caller.open(&request)), guard).await {
            Either::Left((response, _)) => response?,
            Either::Right(((), _)) => return Err(Failure::Overlong(settings.request)),
        };
        let chunks =
            response.into_body().into_data_stream().map(|chunk| chunk.map_err(|error| error.to_string()));
        let since = clock.monotonic();
        Ok(Watch {
            chunks: chunks.boxed(),
            buffer: Vec::new(),
            looked: 0,
            since,
            // The server ends it; this is for one that forgets to.
            until: since + period + settings.request,
        })
    }

    /// Pauses before the next request.
    async fn failed(&mut self, failure: Option<&Failure>) {
        self.failures = self.failures.saturating_add(1);
        let pause = self.caller.settings.pause.after(self.failures, self.caller.chance());
        let pause = pause.max(failure.and_then(Failure::hint).unwrap_or_default());
        if let Some(failure) = failure {
            let error = crate::cluster::ClusterError::from(failure.clone());
            match self.failures {
                // One that is slow to come back is no news each time.
                4 | 32 | 256 => {
                    tracing::warn!(path = self.of.path, %error, failures = self.failures, "a watch does not come back");
                }
                _ => tracing::debug!(path = self.of.path, %error, ?pause, "a watch cannot go on yet"),
            }
        }
        self.caller.clock.sleep(pause, Wait::Idle).await;
    }
}

impl Watch {
    /// The next line, without its end.
    async fn line(&mut self, caller: &Caller, silence: Duration) -> Result<Vec<u8>, Broken> {
        loop {
            if let Some(end) = self.buffer[self.looked..].iter().position(|byte| *byte == b'\n') {
                let rest = self.buffer.split_off(self.looked + end + 1);
                let mut line = std::mem::replace(&mut self.buffer, rest);
                self.looked = 0;
                line.pop();
                if !line.is_empty() {
                    return Ok(line);
                }
                continue;
            }
            self.looked = self.buffer.len();
            if self.buffer.len() > MAX_EVENT {
                return Err(Broken::TooOld(Failure::Unusable("an event has no end".to_owned())));
            }
            let left = self.until.saturating_sub(caller.clock.monotonic());
            let guard = caller.clock.sleep(left.min(silence), Wait::Guard);
            match select(self.chunks.next(), guard).await {
                Either::Left((Some(Ok(chunk)), _)) => self.buffer.extend_from_slice(&chunk),
                Either::Left((Some(Err(error)), _)) => {
                    return Err(Broken::Ended(Some(Failure::Unreachable(error))));
                }
                Either::Left((None, _)) => return Err(Broken::Ended(None)),
                Either::Right(((), _)) => return Err(Broken::Ended(None)),
            }
        }
    }
}
