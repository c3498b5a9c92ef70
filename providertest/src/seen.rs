//! What checks compare: the backend before and after, the calls of one operation, the time that went by. The verbs that
//! act are in `world.rs`.

use std::{collections::BTreeMap, time::Duration};

use provider_api::OperationId;

use crate::{
    faults::Call,
    harness::Thing,
    rule::{Checked, Stop},
    world::World,
};

/// Everything on a backend but what is shared, at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture(BTreeMap<String, Thing>);

impl Picture {
    /// Takes these things, by their keys.
    pub fn of(things: Vec<Thing>) -> Self {
        Self(things.into_iter().map(|thing| (thing.key.clone(), thing)).collect())
    }

    /// What was made since an earlier picture.
    pub fn made_since<'p>(&'p self, earlier: &'p Self) -> impl Iterator<Item = &'p Thing> {
        self.0.values().filter(|thing| !earlier.0.contains_key(&thing.key))
    }

    /// How it differs from an earlier picture, in words; `None` when nothing was made, removed or changed.
    pub fn change_since(&self, earlier: &Self) -> Option<String> {
        let made = self.made_since(earlier).next();
        let made = made.map(|thing| format!("{} was made", word(thing)));
        made.or_else(|| earlier.0.values().find_map(|thing| self.change_of(thing)))
    }

    /// What became of one thing of an earlier picture; `None` when it stands as it stood.
    pub fn change_of(&self, earlier: &Thing) -> Option<String> {
        let what = word(earlier);
        let Some(now) = self.0.get(&earlier.key) else { return Some(format!("{what} was removed")) };
        if now == earlier {
            return None;
        }
        Some(if now.deleting != earlier.deleting {
            format!("the deletion of {what} was begun")
        } else if now.native_state != earlier.native_state {
            format!("{what} was {}, and is {}", earlier.native_state, now.native_state)
        } else if now.marks != earlier.marks {
            format!("{what} had the marks {:?}, and has {:?}", earlier.marks, now.marks)
        } else {
            format!("{what} was changed")
        })
    }
}

impl World {
    /// A picture of the backend.
    ///
    /// # Errors
    /// When the backend cannot be looked at.
    pub async fn picture(&self) -> Checked<Picture> {
        Ok(Picture::of(self.left().await?))
    }

    /// A picture of the backend once it has come to rest by itself: what was planted has booted.
    ///
    /// # Errors
    /// When the backend cannot be looked at, or does not come to rest.
    pub async fn picture_at_rest(&self) -> Checked<Picture> {
        if self.is_fake() {
            self.pass(Duration::from_secs(600)).await;
            return self.picture().await;
        }
        let mut before = self.picture().await?;
        // What a real backend does by itself shows within its declared settling, or a moment.
        let moment = self.profile().settle.max(Duration::from_secs(1));
        for _ in 0..300 {
            self.pass(moment).await;
            let now = self.picture().await?;
            if now == before {
                return Ok(now);
            }
            before = now;
        }
        Err(Stop::Error("the backend does not come to rest".into()))
    }

    /// The calls since there were `first` of them.
    pub fn calls_since(&self, first: usize) -> Vec<Call> {
        self.wire().calls_since(first)
    }

    /// The calls of one operation.
    pub fn calls_of(&self, operation: u64) -> Vec<Call> {
        let mut calls = self.calls();
        calls.retain(|call| call.operation == Some(OperationId(operation)));
        calls
    }

    /// The time on the case's clock.
    pub fn elapsed(&self) -> Duration {
        self.case().clock.monotonic()
    }
}

fn word(thing: &Thing) -> String {
    format!("{:?} {}", thing.kind, thing.name)
}
