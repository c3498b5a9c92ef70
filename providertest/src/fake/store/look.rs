//! How a store looks at this moment: single instances, native states, pages, and what an observer sees.

use std::net::IpAddr;

use super::{Listed, Record, Refusal, Source, Store};
use crate::harness::{Delivered, Thing, ThingKind};

/// What the clock says about an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It is a placeholder.
    Bare,
    /// It is being made.
    Making,
    /// It boots.
    Booting,
    /// It is up.
    Up,
    /// It was not started.
    Stopped,
    /// Its removal has begun.
    Going,
}

/// One page of a listing, of instances or of anything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// What is on it, in the order of keys.
    pub items: Vec<T>,
    /// The token of the next one; `None` on the last.
    pub next: Option<String>,
    /// How many rows there were on all pages when this one was asked for.
    pub total: usize,
}

/// The page size that stands for pages of five with an empty page before each: no page but the last one says that a
/// listing is at its end.
pub const BETWEEN_EMPTY_PAGES: usize = 0;

/// How many rows a page has then.
const BETWEEN_EMPTY: usize = 5;

/// One page of `items` in the order of their keys: for what is no instance, parts say, or for rows that are older than the
/// store. `from` is the token that the page before gave, `size` the store's
/// [`page_size`](Store::page_size).
///
/// ```
/// use providertest::fake::store::page;
/// let first = page(vec!["c", "a", "b"], |row| (*row).to_owned(), None, 2).unwrap();
/// assert_eq!(first.items, ["a", "b"]);
/// let last = page(vec!["c", "a", "b"], |row| (*row).to_owned(), first.next.as_deref(), 2).unwrap();
/// assert_eq!((last.items, last.next), (vec!["c"], None));
/// ```
///
/// # Errors
/// BadPage for a token that no page gave.
pub fn page<T, K: AsRef<str> + Ord>(
    mut items: Vec<T>,
    key: impl Fn(&T) -> K,
    from: Option<&str>,
    size: usize,
) -> Result<Page<T>, Refusal> {
    let size = match size {
        BETWEEN_EMPTY_PAGES if from.is_none_or(|from| !from.starts_with(BEGUN)) => {
            let next = Some(format!("{BEGUN}{}", from.unwrap_or_default()));
            return Ok(Page { items: Vec::new(), next, total: items.len() });
        }
        BETWEEN_EMPTY_PAGES => BETWEEN_EMPTY,
        size => size,
    };
    let total = items.len();
    let from = from.map(|from| from.strip_prefix(BEGUN).unwrap_or(from)).filter(|from| !from.is_empty());
    if let Some(from) = from {
        let from = from.strip_prefix("after:").ok_or(Refusal::BadPage)?;
        items.retain(|item| key(item).as_ref() > from);
    }
    items.sort_by_cached_key(&key);
    let more = items.len() > size;
    items.truncate(size);
    let next = items.last().filter(|_| more).map(|last| format!("after:{}", key(last).as_ref()));
    Ok(Page { items, next, total })
}

/// The page of that number, counted from 1, of what stands in `items` now: the first one without a number. Its token is
/// the number of the next.
///
/// Such pages shift. When a row of a page that was read goes, the first row of the next one moves to it, and whoever reads
/// on by the number never sees that row; a row that comes shows one of the others twice. Only the total tells.
///
/// ```
/// use providertest::fake::store::numbered_page;
/// let key = |row: &&str| (*row).to_owned();
/// let first = numbered_page(vec!["c", "a", "b"], key, None, 2).unwrap();
/// assert_eq!((first.items, first.next.as_deref(), first.total), (vec!["a", "b"], Some("2"), 3));
/// // Without "a" the row "b" is on the first page, and so is "c".
/// let second = numbered_page(vec!["c", "b"], key, Some("2"), 2).unwrap();
/// assert_eq!((second.items, second.next, second.total), (vec![], None, 2));
/// ```
///
/// # Errors
/// BadPage for what is no number from 1 on. A page after the last has nothing on it.
pub fn numbered_page<T, K: AsRef<str> + Ord>(
    mut items: Vec<T>,
    key: impl Fn(&T) -> K,
    number: Option<&str>,
    size: usize,
) -> Result<Page<T>, Refusal> {
    let size = if size == BETWEEN_EMPTY_PAGES { BETWEEN_EMPTY } else { size };
    let number = number.map_or(Ok(1), str::parse).map_err(|_| Refusal::BadPage)?;
    let before = usize::checked_sub(number, 1).ok_or(Refusal::BadPage)?.saturating_mul(size);
    let total = items.len();
    items.sort_by_cached_key(&key);
    let items: Vec<_> = items.into_iter().skip(before).take(size).collect();
    let more = before.saturating_add(size) < total;
    Ok(Page { items, next: more.then(|| (number + 1).to_string()), total })
}

/// What a token begins with whose page had nothing on it yet.
const BEGUN: &str = "begun:";

impl<I, P> Store<I, P> {
    /// The instance or placeholder with that key in a place, whatever somebody did to it.
    pub fn find(&self, place: &str, key: &str) -> Option<&Record<I>> {
        self.instances.iter().find(|record| record.place == place && record.key == key)
    }

    /// An instance or placeholder in a place by its life, which is what ids of a backend's own tell apart.
    ///
    /// # Errors
    /// NotFound.
    pub fn of_life(&self, place: &str, incarnation: u64) -> Result<&Record<I>, Refusal> {
        let mut here = self.instances.iter().filter(|record| record.place == place);
        here.find(|record| record.incarnation == incarnation).ok_or(Refusal::NotFound)
    }

    /// An instance or placeholder by its name, wherever it stands.
    pub fn named(&self, name: &str) -> Option<&Record<I>> {
        self.instances.iter().find(|record| record.name == name)
    }

    /// One instance or placeholder, as a call that reads it finds it.
    ///
    /// # Errors
    /// NotFound; Unreadable where somebody made it so.
    pub fn read(&self, place: &str, key: &str) -> Result<&Record<I>, Refusal> {
        let record = self.find(place, key).ok_or(Refusal::NotFound)?;
        if record.unreadable { Err(Refusal::Unreadable) } else { Ok(record) }
    }

    /// What the clock says about it, whatever state somebody set.
    pub fn phase(&self, record: &Record<I>) -> Phase {
        match record.up_at {
            _ if record.gone_at.is_some() => Phase::Going,
            _ if record.bare => Phase::Bare,
            None => Phase::Stopped,
            Some(_) if self.now < record.made_at => Phase::Making,
            Some(up_at) if self.now < up_at => Phase::Booting,
            Some(_) => Phase::Up,
        }
    }

    /// Its native state: the one that somebody set, otherwise what the backend calls the one that the clock says.
    pub fn state_of<'r>(&self, record: &'r Record<I>) -> &'r str {
        let states = &self.ways.states;
        let standing = || match record.up_at {
            _ if record.bare => states.bare,
            None => states.stopped,
            Some(_) if self.now < record.made_at => states.making,
            Some(up_at) if self.now < up_at => states.booting,
            Some(_) => states.up,
        };
        match (&record.pinned, states.going) {
            (_, Some(going)) if record.gone_at.is_some() => going,
            (Some(pinned), _) => pinned,
            (None, _) => standing(),
        }
    }

    /// Whether it is up, whatever its native state is called.
    pub fn is_up(&self, record: &Record<I>) -> bool {
        record.up_at.is_some_and(|at| at <= self.now)
    }

    /// Whether somebody's work keeps others off it: its making, or a state that locks.
    pub fn is_locked(&self, record: &Record<I>) -> bool {
        let pinned = record.pinned.as_deref().is_some_and(|state| self.ways.locking.contains(&state));
        pinned || record.locked_until.is_some_and(|until| self.now < until)
    }

    /// The addresses that can be found out about it, in its own order; none before it is up.
    pub fn addresses_of(&self, record: &Record<I>) -> Vec<(Source, IpAddr)> {
        let most = if self.ways.one_address { 1 } else { usize::MAX };
        if self.is_up(record) { record.addresses.iter().take(most).copied().collect() } else { Vec::new() }
    }

    /// Everything that stands here, as an observer sees it: `Backend::everything` of a fake.
    pub fn things(&self) -> Vec<Thing> {
        let parts = self.parts.iter().map(|part| Thing {
            key: life(part.incarnation),
            kind: ThingKind::Secondary,
            name: part.name.clone(),
            target: part.place.clone(),
            marks: Default::default(),
            native_state: "there".to_owned(),
            deleting: false,
            references: part.shared.iter().map(|name| shared(name)).collect(),
            delivered: Delivered::default(),
        });
        let shared_things = self.shared.iter().map(|name| Thing {
            key: shared(name),
            kind: ThingKind::Shared,
            name: name.clone(),
            target: self.places.first().cloned().unwrap_or_default(),
            marks: Default::default(),
            native_state: "there".to_owned(),
            deleting: false,
            references: Vec::new(),
            delivered: Delivered::default(),
        });
        self.instances.iter().map(|record| self.thing(record)).chain(parts).chain(shared_things).collect()
    }

    fn thing(&self, record: &Record<I>) -> Thing {
        let parts: Vec<_> = record.parts.iter().filter_map(|name| self.part(&record.place, name)).collect();
        let mut delivered = record.delivered.clone();
        if delivered.cloud_init.is_none() {
            let seed = parts.iter().find_map(|part| part.payload.as_ref());
            delivered.cloud_init = seed.map(|payload| payload.reveal().to_vec());
        }
        let borrowed = record.borrowed.iter().filter_map(|name| self.part(&record.place, name));
        let needed = parts.iter().copied().chain(borrowed).map(|part| life(part.incarnation));
        Thing {
            key: life(record.incarnation),
            kind: if record.bare { ThingKind::Placeholder } else { ThingKind::Instance },
            name: record.name.clone(),
            target: record.place.clone(),
            marks: record.marks.clone(),
            native_state: self.state_of(record).to_owned(),
            deleting: record.gone_at.is_some(),
            references: needed.chain(record.shared.iter().map(|name| shared(name))).collect(),
            delivered,
        }
    }
}

impl<I: Clone, P: Clone + Default> Store<I, P> {
    /// One page of the instances and placeholders in a place, or in all of them, in the order of their keys, as they were
    /// when the listing was last brought up to date. An unreadable one is among them, and its reader sees that by its
    /// field. What was to vanish once a listing had named it is gone after this.
    ///
    /// `from` is the token that the page before gave, or the page's number where they are
    /// [numbered](super::Ways::numbered_pages).
    ///
    /// # Errors
    /// BadPage for a token that no page gave, and for what is no number.
    pub fn list(&mut self, place: Option<&str>, from: Option<&str>) -> Result<Page<Record<I>>, Refusal> {
        self.list_by(place, from, |_| true)
    }

    /// The same of those alone that a selector wants: a name, a label. Pages and totals are of these.
    ///
    /// # Errors
    /// As for [`Store::list`].
    pub fn list_by(
        &mut self,
        place: Option<&str>,
        from: Option<&str>,
        wanted: impl Fn(&Record<I>) -> bool,
    ) -> Result<Page<Record<I>>, Refusal> {
        // What is never behind is read where it stands: a copy of everything for each page is what large worlds die of.
        let listed = if self.ways.lag.is_zero() {
            &self.instances
        } else {
            self.bring_listings_up_to_date();
            &self.listed.instances
        };
        let here = |record: &&Record<I>| place.is_none_or(|place| record.place == place) && wanted(record);
        let records: Vec<_> = listed.iter().filter(here).collect();
        let page = match place {
            Some(_) => self.page_of(records, |record| record.key.as_str(), from)?,
            // Two places may have the same key.
            None => self.page_of(records, |record| format!("{}/{}", record.place, record.key), from)?,
        };
        let Page { items, next, total } = page;
        let page = Page { items: items.into_iter().cloned().collect::<Vec<_>>(), next, total };
        let named = |name: &mut String| page.items.iter().any(|record| record.name == *name);
        if let Some(name) = self.vanishing.take_if(named) {
            let incarnation = self.named(&name).map(|record| record.incarnation);
            incarnation.and_then(|incarnation| self.erase(incarnation));
        }
        Ok(page)
    }

    pub(super) fn bring_listings_up_to_date(&mut self) {
        if self.now >= self.listed.at + self.ways.lag {
            let (instances, parts) = (self.instances.clone(), self.parts.clone());
            self.listed = Listed { at: self.now, instances, parts };
        }
    }
}

impl<I, P> Store<I, P> {
    /// One page of rows, as this backend serves pages.
    pub(crate) fn page_of<T, K: AsRef<str> + Ord>(
        &self,
        items: Vec<T>,
        key: impl Fn(&T) -> K,
        from: Option<&str>,
    ) -> Result<Page<T>, Refusal> {
        match self.ways.numbered_pages {
            true => numbered_page(items, key, from, self.page_size),
            false => page(items, key, from, self.page_size),
        }
    }
}

/// The key under which an observer sees an instance or a part.
pub(crate) fn life(incarnation: u64) -> String {
    format!("life/{incarnation}")
}

fn shared(name: &str) -> String {
    format!("shared/{name}")
}
