//! The saboteurs of the group `watch`.

use std::{
    future,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use futures::StreamExt;
use provider_api::{GetError, Hint, Instance, Provider, ProviderId};

use super::view::Memory;
use crate::saboteur::{HONEST, Meddler, Saboteur, meddle, meddle_watch};

/// The group's saboteurs.
pub const SABOTEURS: &[Saboteur] = &[
    Saboteur {
        name: "believes-in-hints",
        does: "answers from memory until a hint says that an instance has changed",
        breaks: "watch.hints-are-not-truth",
        provider: |built, _| {
            let seen = Arc::new(Believes::default());
            let heard = Arc::clone(&seen);
            let built = meddle(built, seen);
            meddle_watch(built, move |hints| {
                heard.watched.store(true, Ordering::SeqCst);
                let heard = Arc::clone(&heard);
                hints.inspect(move |hint| heard.hear(hint)).boxed()
            })
        },
        ..HONEST
    },
    Saboteur {
        name: "does-not-say-resync",
        does: "connects again after a break and does not say that it may have missed something",
        breaks: "watch.reconnects-and-resyncs",
        provider: |built, _| {
            meddle_watch(built, |hints| hints.filter(|hint| future::ready(*hint != Hint::Resync)).boxed())
        },
        ..HONEST
    },
    Saboteur {
        name: "falls-silent-after-a-break",
        does: "says Resync after a break, and nothing ever after",
        breaks: "watch.reconnects-and-resyncs",
        provider: |built, _| {
            meddle_watch(built, |hints| {
                let mut resyncs = 0;
                let until_the_second = hints.take_while(move |hint| {
                    resyncs += usize::from(*hint == Hint::Resync);
                    future::ready(resyncs <= 2)
                });
                until_the_second.chain(futures::stream::pending()).boxed()
            })
        },
        ..HONEST
    },
    Saboteur {
        name: "gives-up-after-four-breaks",
        does: "ends the stream of hints when it has had to connect for the fifth time",
        breaks: "watch.never-ends",
        provider: |built, _| {
            meddle_watch(built, |hints| {
                let mut resyncs = 0;
                let until_the_fifth = hints.take_while(move |hint| {
                    resyncs += usize::from(*hint == Hint::Resync);
                    future::ready(resyncs < 5)
                });
                until_the_fifth.boxed()
            })
        },
        ..HONEST
    },
];

/// Keeps each answer until a hint comes; before anybody watches it keeps none.
#[derive(Default)]
struct Believes {
    watched: AtomicBool,
    kept: Memory<Instance>,
}

impl Believes {
    fn hear(&self, hint: &Hint) {
        match hint {
            Hint::Changed(id) => self.kept.forget(id.as_str()),
            Hint::Resync => self.kept.clear(),
        }
    }
}

#[async_trait]
impl Meddler for Arc<Believes> {
    async fn get(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Instance, GetError> {
        if let Some(kept) = self.kept.get(id.as_str()) {
            return Ok(kept);
        }
        let instance = honest.get(id).await?;
        if self.watched.load(Ordering::SeqCst) {
            self.kept.put(id.as_str(), instance.clone());
        }
        Ok(instance)
    }
}
