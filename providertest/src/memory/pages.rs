//! Reads a listing page after page (`list.all-pages`).

use provider_api::Error;

use super::{
    cloud::Page,
    error::{Meaning, Refused},
};

/// How often a listing is begun anew when its page token goes bad, or its pages shift.
const RESTARTS: usize = 3;

/// What has been read of a listing so far.
pub(super) struct Pages<T> {
    items: Vec<T>,
    token: Option<String>,
    /// How many rows there were when it began, where pages go by number.
    total: Option<usize>,
    restarts: usize,
}

impl<T> Pages<T> {
    pub(super) fn new() -> Self {
        Self { items: Vec::new(), token: None, total: None, restarts: 0 }
    }

    /// The token of the page to read next; none for the first.
    pub(super) fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Takes a page and says whether there are more. With a token that is no longer good the listing begins anew, and so
    /// it does when a total that is another says that rows have come to stand on other pages; but not for ever.
    pub(super) fn add(&mut self, page: Result<Page<T>, Refused>) -> Result<bool, Refused> {
        let page = match page {
            Err(refused) if refused.meaning == Meaning::BadPage => return self.begin_anew(refused),
            page => page?,
        };
        if self.token.is_some() && page.total != self.total {
            return self.begin_anew(Refused::shifted());
        }
        self.items.extend(page.items);
        (self.token, self.total) = (page.next, page.total);
        Ok(self.token.is_some())
    }

    fn begin_anew(&mut self, why: Refused) -> Result<bool, Refused> {
        if self.restarts == RESTARTS {
            return Err(why);
        }
        *self = Self { restarts: self.restarts + 1, ..Self::new() };
        Ok(true)
    }

    /// Everything that was read.
    pub(super) fn items(self) -> Vec<T> {
        self.items
    }
}

impl Refused {
    /// Numbered pages that came to be others at each reading.
    fn shifted() -> Self {
        let error = Error::transient("the listing changed while its pages were read").coded("PagesShifted");
        Self { meaning: Meaning::BadPage, error }
    }
}
