//! Reads a listing page after page (`list.all-pages`).

use super::{
    cloud::Page,
    error::{Meaning, Refused},
};

/// How often a listing is begun anew when its page token goes bad.
const RESTARTS: usize = 3;

/// What has been read of a listing so far.
pub(super) struct Pages<T> {
    items: Vec<T>,
    token: Option<String>,
    restarts: usize,
}

impl<T> Pages<T> {
    pub(super) fn new() -> Self {
        Self { items: Vec::new(), token: None, restarts: 0 }
    }

    /// The token of the page to read next; none for the first.
    pub(super) fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Takes a page and says whether there are more. With a token that is no longer good the listing begins anew,
    /// but not for ever.
    pub(super) fn add(&mut self, page: Result<Page<T>, Refused>) -> Result<bool, Refused> {
        match page {
            Ok(page) => {
                self.items.extend(page.items);
                self.token = page.next;
                Ok(self.token.is_some())
            }
            Err(refused) if refused.meaning == Meaning::BadPage && self.restarts < RESTARTS => {
                *self = Self { restarts: self.restarts + 1, ..Self::new() };
                Ok(true)
            }
            Err(refused) => Err(refused),
        }
    }

    /// Everything that was read.
    pub(super) fn items(self) -> Vec<T> {
        self.items
    }
}
