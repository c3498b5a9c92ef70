//! A cloud that shows its instances otherwise than they are, for saboteurs that misread what a backend says.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use provider_api::{Name, Uid, mark};

use crate::memory::{
    At, Cloud,
    cloud::{Accepted, Answer, CloudError, Content, Described, Page, Part, Row},
};

/// How an instance is shown; `None` hides it.
pub(super) trait View: Send + Sync + 'static {
    /// Changes what is shown of one instance, in a listing or by itself.
    fn show(&self, described: Described) -> Option<Described>;

    /// What is shown in the place of an instance that is not there.
    fn absent(&self, key: &str) -> Option<Described> {
        let _ = key;
        None
    }

    /// Hears that an instance is about to be removed.
    fn removed(&self, key: &str) {
        let _ = key;
    }
}

/// Puts a view over a cloud.
pub(super) fn seen_through(below: Arc<dyn Cloud>, view: impl View) -> Arc<dyn Cloud> {
    Arc::new(Seen { below, view })
}

struct Seen<V> {
    below: Arc<dyn Cloud>,
    view: V,
}

#[async_trait]
impl<V: View> Cloud for Seen<V> {
    fn below(&self) -> &dyn Cloud {
        &*self.below
    }

    async fn describe(&self, at: At, key: &str) -> Answer<Described> {
        match self.below.describe(at, key).await {
            Ok(described) => self.view.show(described).ok_or_else(no_such_instance),
            Err(error) if is_absent(&error) => self.view.absent(key).ok_or(error),
            Err(error) => Err(error),
        }
    }

    async fn list(&self, at: At, page: Option<&str>) -> Answer<Page<Row>> {
        let Page { items, next, total } = self.below.list(at, page).await?;
        let show = |row: Row| match row.content {
            Content::Whole(described) => self.view.show(*described).map(|described| Row {
                key: described.key.clone(),
                name: described.name.clone(),
                content: Content::Whole(Box::new(described)),
            }),
            _ => Some(row),
        };
        Ok(Page { items: items.into_iter().filter_map(show).collect(), next, total })
    }

    async fn remove(&self, at: At, key: &str, only: Option<u64>) -> Answer<Accepted> {
        self.view.removed(key);
        self.below.remove(at, key, only).await
    }
}

fn no_such_instance() -> CloudError {
    let text = "there is no such instance".to_owned();
    CloudError { status: Some(404), code: "notFound".into(), text, retry_after: None }
}

/// Whether the cloud says that there is no such instance, in either style.
pub(super) fn is_absent(error: &CloudError) -> bool {
    matches!(&*error.code, "notFound" | "E_NO_SUCH_INSTANCE")
}

/// A cloud whose listings of parts end after one page.
pub(super) struct OnePageOfParts(pub(super) Arc<dyn Cloud>);

#[async_trait]
impl Cloud for OnePageOfParts {
    fn below(&self) -> &dyn Cloud {
        &*self.0
    }

    async fn list_parts(&self, at: At, page: Option<&str>) -> Answer<Page<Part>> {
        Ok(Page { next: None, ..self.0.list_parts(at, page).await? })
    }
}

/// Something remembered for each key.
pub(super) struct Memory<T>(Mutex<BTreeMap<String, T>>);

impl<T> Default for Memory<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> Memory<T> {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers what came last.
    pub(super) fn put(&self, key: &str, value: T) {
        self.lock().insert(key.to_owned(), value);
    }

    /// Remembers what came first, and answers with it.
    pub(super) fn first(&self, key: &str, value: T) -> T {
        self.lock().entry(key.to_owned()).or_insert(value).clone()
    }

    /// What is remembered.
    pub(super) fn get(&self, key: &str) -> Option<T> {
        self.lock().get(key).cloned()
    }

    /// Everything that is remembered.
    pub(super) fn all(&self) -> Vec<T> {
        self.lock().values().cloned().collect()
    }

    /// Remembers nothing more.
    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    /// Remembers no longer.
    pub(super) fn forget(&self, key: &str) {
        self.lock().remove(key);
    }
}

/// Shows every identity in small letters, which those of the kit are in.
pub(super) struct NoCapitals;

impl View for NoCapitals {
    fn show(&self, mut described: Described) -> Option<Described> {
        if let Some(installation) = described.marks.get_mut(mark::INSTALLATION) {
            *installation = installation.to_ascii_lowercase();
        }
        Some(described)
    }
}

/// Whether the uid in a mark is another name's.
pub(super) fn is_inherited(described: &Described) -> bool {
    let uid = described.marks.get(mark::UID).and_then(|uid| Uid::parse(uid).ok());
    uid.is_some_and(|uid| Name::from_uid(&uid).as_str() != described.name)
}
