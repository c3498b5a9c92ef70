//! Saboteurs whose listings are short.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use provider_api::{Error, FailureClass, Listing, Provider};

use crate::{
    memory::{
        self, At, Cloud,
        cloud::{Answer, Page, Part, Row},
    },
    saboteur::{HONEST, Meddler, Saboteur, meddle},
};

pub(super) const SABOTEURS: &[Saboteur] = &[
    Saboteur {
        name: "forgets-the-last-zone",
        does: "lists all zones but the last",
        breaks: "list.whole-scope",
        provider: |built, _| meddle(built, NotTheLastZone),
        ..HONEST
    },
    Saboteur {
        name: "reads-one-page",
        does: "takes the first page for the whole listing",
        breaks: "list.all-pages",
        cloud: |below| Arc::new(OnePage { below }),
        ..HONEST
    },
    Saboteur {
        name: "stops-after-twenty-pages",
        does: "takes a listing of twenty pages for whole, whatever comes after them",
        breaks: "list.all-pages",
        cloud: |below| Arc::new(TwentyPages { below, read: AtomicUsize::new(0) }),
        ..HONEST
    },
    Saboteur {
        name: "stops-at-an-empty-page",
        does: "takes a listing for whole at a page with nothing on it, though the token of the next comes with it",
        breaks: "list.all-pages",
        cloud: |below| Arc::new(StopsAtEmpty(below)),
        ..HONEST
    },
    Saboteur {
        name: "reads-on-over-shifted-pages",
        does: "reads numbered pages one after the other, whatever comes or goes between two of them",
        breaks: "list.all-pages",
        profile: memory::plain,
        cloud: |below| Arc::new(SeesNoTotals(below)),
        ..HONEST
    },
    Saboteur {
        name: "leaves-out-zones-silently",
        does: "lists what it could read and does not say what it could not",
        breaks: "list.partial-as-declared",
        provider: |built, _| meddle(built, SaysNothing),
        ..HONEST
    },
    Saboteur {
        name: "takes-unreachable-for-empty",
        does: "answers with an empty listing when a part cannot be read, where an error is declared",
        breaks: "list.partial-as-declared",
        profile: memory::blocking,
        provider: |built, _| meddle(built, NothingOnFailure),
        ..HONEST
    },
];

struct NotTheLastZone;

#[async_trait]
impl Meddler for NotTheLastZone {
    async fn list_by_tag(&self, honest: &dyn Provider) -> Result<Listing, Error> {
        let mut listing = honest.list_by_tag().await?;
        listing.items.retain(|listed| !listed.id.as_str().starts_with("zones/z3/"));
        Ok(listing)
    }
}

struct OnePage {
    below: Arc<dyn Cloud>,
}

#[async_trait]
impl Cloud for OnePage {
    fn below(&self) -> &dyn Cloud {
        &*self.below
    }

    async fn list(&self, at: At, page: Option<&str>) -> Answer<Page<Row>> {
        let page = self.below.list(at, page).await?;
        Ok(Page { next: None, ..page })
    }
}

/// How many rows there are is all that tells of pages that have shifted.
struct SeesNoTotals(Arc<dyn Cloud>);

#[async_trait]
impl Cloud for SeesNoTotals {
    fn below(&self) -> &dyn Cloud {
        &*self.0
    }

    async fn list(&self, at: At, page: Option<&str>) -> Answer<Page<Row>> {
        Ok(Page { total: None, ..self.0.list(at, page).await? })
    }
}

/// Nothing on a page is nothing more.
pub(super) struct StopsAtEmpty(pub(super) Arc<dyn Cloud>);

#[async_trait]
impl Cloud for StopsAtEmpty {
    fn below(&self) -> &dyn Cloud {
        &*self.0
    }

    async fn list(&self, at: At, page: Option<&str>) -> Answer<Page<Row>> {
        let page = self.0.list(at, page).await?;
        let next = page.next.filter(|_| !page.items.is_empty());
        Ok(Page { next, ..page })
    }

    async fn list_parts(&self, at: At, page: Option<&str>) -> Answer<Page<Part>> {
        let page = self.0.list_parts(at, page).await?;
        let next = page.next.filter(|_| !page.items.is_empty());
        Ok(Page { next, ..page })
    }
}

struct TwentyPages {
    below: Arc<dyn Cloud>,
    read: AtomicUsize,
}

#[async_trait]
impl Cloud for TwentyPages {
    fn below(&self) -> &dyn Cloud {
        &*self.below
    }

    async fn list(&self, at: At, page: Option<&str>) -> Answer<Page<Row>> {
        if page.is_none() {
            self.read.store(0, Ordering::SeqCst);
        }
        let mut answer = self.below.list(at, page).await?;
        // The zones are read at once, and their pages are counted together: only one has many.
        if self.read.fetch_add(1, Ordering::SeqCst) >= 20 {
            answer.next = None;
        }
        Ok(answer)
    }
}

struct SaysNothing;

#[async_trait]
impl Meddler for SaysNothing {
    async fn list_by_tag(&self, honest: &dyn Provider) -> Result<Listing, Error> {
        let mut listing = honest.list_by_tag().await?;
        listing.unreachable.retain(|part| part.reason.code == "Unreadable");
        Ok(listing)
    }
}

struct NothingOnFailure;

#[async_trait]
impl Meddler for NothingOnFailure {
    async fn list_by_tag(&self, honest: &dyn Provider) -> Result<Listing, Error> {
        match honest.list_by_tag().await {
            Err(error) if error.class() == FailureClass::Transient => Ok(Listing::default()),
            other => other,
        }
    }
}
