//! Hints: what the cloud says has changed. The stream never ends; when it breaks it is taken up again, and callers
//! are told that they may have missed something (`watch.reconnects-and-resyncs`).

use std::{sync::Arc, time::Duration};

use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use provider_api::{Hint, Name, Ownership, Watch};

use super::{cloud::Event, mark, provider::MemoryProvider};

/// The ability to give hints.
pub(super) struct MemoryWatch(pub(super) Arc<MemoryProvider>);

/// How long to wait before a broken stream is taken up again.
const PAUSE: Duration = Duration::from_secs(5);

impl Watch for MemoryWatch {
    fn hints(&self) -> BoxStream<'static, Hint> {
        let begin = (Arc::clone(&self.0), None);
        stream::unfold(begin, |(provider, events)| async move {
            let (hint, events) = next(&provider, events).await;
            Some((hint, (provider, Some(events))))
        })
        .boxed()
    }
}

type Events = BoxStream<'static, Event>;

async fn next(provider: &MemoryProvider, events: Option<Events>) -> (Hint, Events) {
    if let Some(mut events) = events {
        while let Some(event) = events.next().await {
            if let Some(hint) = changed(provider, &event) {
                return (hint, events);
            }
        }
    }
    loop {
        match provider.backend.watch().await {
            Ok(events) => return (Hint::Resync, events),
            Err(refused) => {
                tracing::debug!(provider = %provider.name, error = %refused.error, "no hints for now");
                provider.seam.pause(PAUSE).await;
            }
        }
    }
}

fn changed(provider: &MemoryProvider, event: &Event) -> Option<Hint> {
    let owner = mark::owner_of(&event.name, &event.marks, &provider.identity);
    let Ownership::Ours(mark) = owner else { return None };
    let name = Name::from_uid(&mark.uid);
    Some(Hint::Changed(provider.id(&event.zone, &event.key, &name)))
}
