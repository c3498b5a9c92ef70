//! Saboteurs that do not look, or look too early.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use provider_api::mark;

use super::super::view::{Memory, View};
use crate::memory::{
    At, Cloud,
    cloud::{Accepted, Answer, Described, NewInstance},
};

/// Takes an empty uid for that of the instance which it saw last under the name.
#[derive(Default)]
pub(super) struct EmptyIsAny(Memory<String>);

impl View for EmptyIsAny {
    fn show(&self, mut described: Described) -> Option<Described> {
        if let Some(uid) = described.marks.get_mut(mark::UID) {
            match self.0.get(&described.name) {
                Some(known) if uid.is_empty() => *uid = known,
                _ => self.0.put(&described.name, uid.clone()),
            }
        }
        Some(described)
    }
}

type Marks = BTreeMap<String, String>;

/// Believes that what stands under a key is what it made there.
pub(super) struct RemembersMarks {
    below: Arc<dyn Cloud>,
    made: Mutex<BTreeMap<String, (String, Marks)>>,
}

impl RemembersMarks {
    pub(super) fn new(below: Arc<dyn Cloud>) -> Self {
        Self { below, made: Mutex::default() }
    }

    fn remember(&self, new: &NewInstance) {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.insert(new.key.clone(), (new.name.clone(), new.marks.clone()));
    }
}

#[async_trait]
impl Cloud for RemembersMarks {
    fn below(&self) -> &dyn Cloud {
        &*self.below
    }

    async fn insert(&self, at: At, new: NewInstance) -> Answer<Accepted> {
        self.remember(&new);
        self.below.insert(at, new).await
    }

    async fn configure(&self, at: At, new: NewInstance) -> Answer<()> {
        self.remember(&new);
        self.below.configure(at, new).await
    }

    async fn describe(&self, at: At, key: &str) -> Answer<Described> {
        let mut described = self.below.describe(at, key).await?;
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((name, marks)) = made.get(key).filter(|_| !described.bare) {
            (described.name, described.marks) = (name.clone(), marks.clone());
        }
        Ok(described)
    }
}

/// Asks for no life in particular.
pub(super) struct AnyLife(pub(super) Arc<dyn Cloud>);

#[async_trait]
impl Cloud for AnyLife {
    fn below(&self) -> &dyn Cloud {
        &*self.0
    }

    async fn remove(&self, at: At, key: &str, _: Option<u64>) -> Answer<Accepted> {
        self.0.remove(at, key, None).await
    }
}

/// Takes what is being removed for alive.
pub(super) struct SeesNoDeletion(pub(super) Arc<dyn Cloud>);

#[async_trait]
impl Cloud for SeesNoDeletion {
    fn below(&self) -> &dyn Cloud {
        &*self.0
    }

    async fn describe(&self, at: At, key: &str) -> Answer<Described> {
        Ok(Described { deleting: false, ..self.0.describe(at, key).await? })
    }
}
