//! The powers over a fake that stands on a store, ready made: what people, other programs and the backend itself do
//! beside the provider follows from the store alone.
//!
//! A backend puts a [`StoreHand`] below its own hand and overrides what is different on it; that may be nothing but
//! [`Hand::send_nonsense`], which goes past the store.
//!
//! ```
//! use async_trait::async_trait;
//! use providertest::fake::{hand::StoreHand, store::{Shared, Store, Ways}};
//! use providertest::harness::{Case, Hand, HarnessError, Thing, Unable};
//!
//! struct MachinesBackend { store: Shared<()>, hand: StoreHand<()> }
//!
//! impl MachinesBackend {
//!     fn new(case: &Case) -> Result<Self, HarnessError> {
//!         let store = Store::new(Ways::default(), ["north", "south"]).with_token(StoreHand::<()>::token(case, 0));
//!         let store = Shared::new(store, case.clock.clone());
//!         let file = case.folder.path()?.join("token");
//!         Ok(Self { hand: StoreHand::new(store.clone(), case).with_token_file(file)?, store })
//!     }
//!
//!     // `Backend::everything`
//!     fn everything(&self) -> Vec<Thing> {
//!         self.store.open().things()
//!     }
//! }
//!
//! // `Backend::hand` answers with `self`.
//! #[async_trait]
//! impl Hand for MachinesBackend {
//!     fn below(&self) -> Option<&dyn Hand> {
//!         Some(&self.hand)
//!     }
//!     async fn send_nonsense(&self) -> Result<bool, Unable> {
//!         Ok(self.store.open().make("nowhere", Default::default()).is_err())
//!     }
//! }
//!
//! # let case = Case {
//! #     clock: std::sync::Arc::new(providertest::clock::CaseClock::new(Default::default())),
//! #     wire: providertest::wire::Wire::new(Default::default()),
//! #     seed: 1, tag: "t".into(), folder: Default::default(),
//! # };
//! let backend = MachinesBackend::new(&case)?;
//! let planted = providertest::harness::Planted {
//!     name: "somebody-elses".into(), marks: Default::default(), placement: Default::default(),
//! };
//! futures::executor::block_on(backend.plant(&planted)).unwrap();
//! assert_eq!(backend.everything()[0].native_state, "running");
//! # Ok::<(), HarnessError>(())
//! ```

use std::{collections::BTreeMap, net::IpAddr, path::PathBuf, time::Duration};

use async_trait::async_trait;
use provider_api::{Name, mark, reasons};

use super::store::{BETWEEN_EMPTY_PAGES, HELD, New, Parts, Record, Shared, Source, Store, life};
use crate::{
    harness::{Case, Hand, HarnessError, Planted, Successor, Unable},
    wire::{Condition, Wire},
};

type Done = Result<(), Unable>;

/// Where the numbers of instances begin that others plant: beyond those that a provider would choose.
const OTHERS: u64 = 1_000_000_000;

/// What cannot be read as a time.
const NO_TIME: &str = "the day before yesterday";

/// The hand of others on a store. What a store's [`Ways`](super::store::Ways) leave out is [`Unable`].
///
/// One power it has over any store, pages ([`Hand::set_page_size`]); a backend without pages takes it away by overriding
/// the method with [`Unable`].
///
/// A state that somebody set counts as up, so that the instance's addresses show.
#[derive(Clone, Debug)]
pub struct StoreHand<I, P = ()> {
    store: Shared<I, P>,
    wire: Wire,
    seed: u64,
    targets: Option<Vec<String>>,
    token_file: Option<PathBuf>,
}

impl<I, P> StoreHand<I, P>
where
    I: Clone + Default + Send + 'static,
    P: Clone + Default + Send + 'static,
{
    /// A hand on the store of that case.
    pub fn new(store: Shared<I, P>, case: &Case) -> Self {
        Self { store, wire: case.wire.clone(), seed: case.seed, targets: None, token_file: None }
    }

    /// With the targets that requests name, as `Backend::targets` does, where they are not the places of the store: one API
    /// for which a place is only a field of the creating call.
    #[must_use]
    pub fn with_targets(self, targets: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { targets: Some(targets.into_iter().map(Into::into).collect()), ..self }
    }

    /// With the file that the provider reads its token from; it is written now, and again at each rotation. Where the
    /// token is part of a larger file, the backend overrides [`Hand::rotate_credentials`].
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn with_token_file(self, file: PathBuf) -> Result<Self, HarnessError> {
        let written = std::fs::write(&file, &self.store.open().token);
        written.map_err(|error| HarnessError(format!("cannot write {}: {error}", file.display())))?;
        Ok(Self { token_file: Some(file), ..self })
    }

    /// A token that no other case has; the number tells rotations apart.
    pub fn token(case: &Case, number: u64) -> Vec<u8> {
        token(case.seed, number)
    }

    fn change(&self, name: &Name, change: impl FnOnce(&mut Record<I>, Duration)) -> Done {
        let mut store = self.store.open();
        let (place, key) = at(&store, name)?;
        store.change(&place, &key, change).map_err(|_| Unable("change an instance that is not there"))
    }

    /// Makes an instance that nobody asked for, running.
    fn put(store: &mut Store<I, P>, place: &str, key: &str, planted: &Planted, parts: Vec<String>) -> Done {
        let new = New {
            key: key.to_owned(),
            name: planted.name.clone(),
            marks: planted.marks.clone(),
            ..New::default()
        };
        let (quota, fails) = (store.quota.take(), store.next_fails.take());
        let made = store.make(place, new);
        (store.quota, store.next_fails) = (quota, fails);
        let made = made.map_err(|_| Unable("make an instance where one stands"))?;
        store.tasks.retain(|task| task.incarnation != made.incarnation);
        let up = |record: &mut Record<I>, now| {
            (record.up_at, record.made_at, record.locked_until) = (Some(now), now, None);
            record.parts = parts;
        };
        store.change(place, key, up).map_err(|_| Unable("start what was just made"))
    }

    /// The key of something of somebody else's.
    fn key(store: &mut Store<I, P>, name: &str) -> String {
        if store.ways.numbered { (store.ways.key_of)(OTHERS + store.count()) } else { name.to_owned() }
    }

    fn write_token(&self) -> Done {
        let file = self.token_file.as_ref().ok_or(Unable("write a token: no file is known"))?;
        std::fs::write(file, &self.store.open().token).map_err(|_| Unable("write the token file"))
    }
}

#[async_trait]
impl<I, P> Hand for StoreHand<I, P>
where
    I: Clone + Default + Send + 'static,
    P: Clone + Default + Send + 'static,
{
    async fn plant(&self, planted: &Planted) -> Done {
        let mut store = self.store.open();
        let place = planted.placement.zone.clone().filter(|zone| store.places.contains(zone));
        let place = place.or_else(|| store.places.first().cloned()).ok_or(Unable("plant in no place"))?;
        let key = Self::key(&mut store, &planted.name);
        Self::put(&mut store, &place, &key, planted, Vec::new())
    }

    async fn remove(&self, name: &Name) -> Done {
        let mut store = self.store.open();
        let record = named(&store, name)?.clone();
        store.erase(record.incarnation);
        store.drop_parts(&record);
        Ok(())
    }

    async fn remove_instance_only(&self, name: &Name) -> Done {
        let mut store = self.store.open();
        let record = named(&store, name)?.clone();
        store.instances.retain(|other| other.incarnation != record.incarnation);
        store.tell(&record);
        Ok(())
    }

    async fn remove_part(&self, key: &str) -> Done {
        let mut store = self.store.open();
        let before = store.parts.len();
        store.parts.retain(|part| life(part.incarnation) != key);
        if store.parts.len() < before { Ok(()) } else { Err(Unable("remove a part that is not there")) }
    }

    async fn replace(&self, name: &Name, by: Successor) -> Done {
        let mut store = self.store.open();
        let old = named(&store, name)?.clone();
        store.instances.retain(|other| other.incarnation != old.incarnation);
        let marks = match by {
            Successor::Foreign => BTreeMap::new(),
            Successor::SameMarks => old.marks,
        };
        let planted = Planted { name: old.name, marks, placement: Default::default() };
        Self::put(&mut store, &old.place, &old.key, &planted, Vec::new())
    }

    async fn begin_deletion(&self, name: &Name) -> Done {
        self.change(name, |record, _| record.gone_at = Some(HELD))
    }

    async fn finish_deletion(&self, name: &Name) -> Done {
        self.change(name, |record, now| record.gone_at = Some(now))
    }

    async fn set_native_state(&self, name: &Name, native: &str) -> Done {
        self.change(name, |record, now| {
            record.pinned = Some(native.to_owned());
            record.up_at = Some(record.up_at.map_or(now, |at| at.min(now)));
            record.locked_until = None;
        })
    }

    async fn set_addresses(&self, name: &Name, addresses: &[IpAddr]) -> Done {
        if addresses.len() > 1 && self.store.open().ways.one_address {
            return Err(Unable("give an instance several addresses: it has one"));
        }
        let sources = [Source::Lease, Source::Agent].into_iter().chain(std::iter::repeat(Source::Neighbour));
        let addresses: Vec<_> = sources.zip(addresses.iter().copied()).collect();
        self.change(name, |record, _| record.addresses = addresses)
    }

    async fn set_marks(&self, name: &Name, marks: &BTreeMap<String, String>) -> Done {
        self.change(name, |record, _| record.marks = marks.clone())
    }

    async fn bring_up(&self, name: &Name) -> Done {
        self.change(name, |record, now| {
            (record.pinned, record.locked_until) = (None, None);
            (record.made_at, record.up_at) = (record.made_at.min(now), Some(now));
        })
    }

    async fn relocate(&self, name: &Name) -> Done {
        let mut store = self.store.open();
        if !store.ways.moves || store.places.len() < 2 {
            return Err(Unable("move an instance: they stay where they are"));
        }
        let record = named(&store, name)?.clone();
        let from = store.places.iter().position(|place| *place == record.place).unwrap_or(0);
        let to = store.places[(from + 1) % store.places.len()].clone();
        let own = store.parts.iter_mut();
        for part in own.filter(|part| part.place == record.place && record.parts.contains(&part.name)) {
            part.place.clone_from(&to);
        }
        let moved = store.change(&record.place, &record.key, |record, _| record.place = to);
        moved.map_err(|_| Unable("move an instance that is not there"))
    }

    async fn spoil_created_at(&self, name: &Name) -> Done {
        self.change(name, |record, _| {
            record.created = NO_TIME.to_owned();
            if let Some(at) = record.marks.get_mut(mark::CREATED_AT) {
                *at = NO_TIME.to_owned();
            }
        })
    }

    async fn set_unreadable(&self, name: &Name, unreadable: bool) -> Done {
        self.change(name, |record, _| record.unreadable = unreadable)
    }

    async fn vanish_during_list(&self, name: &Name) -> Done {
        self.store.open().vanishing = Some(name.to_string());
        Ok(())
    }

    async fn reference_parts(&self, name: &Name) -> Done {
        let mut store = self.store.open();
        if store.ways.parts == Parts::None {
            return Err(Unable("reference parts: instances have none"));
        }
        let record = named(&store, name)?.clone();
        let other = format!("somebody-elses-{}", store.count());
        let key = Self::key(&mut store, &other);
        let planted = Planted { name: other, marks: BTreeMap::new(), placement: Default::default() };
        if store.ways.guards_borrowed {
            return Self::put(&mut store, &record.place, &key, &planted, record.parts);
        }
        Self::put(&mut store, &record.place, &key, &planted, Vec::new())?;
        let borrows = |other: &mut Record<I>, _| other.borrowed = record.parts;
        let borrowed = store.change(&record.place, &key, borrows);
        borrowed.map_err(|_| Unable("change an instance that was just made"))
    }

    async fn set_quota(&self, quota: Option<usize>) -> Done {
        self.store.open().quota = quota;
        Ok(())
    }

    async fn fail_late(&self, native: Option<&str>) -> Done {
        let mut store = self.store.open();
        if !store.ways.tasks {
            return Err(Unable("let a create fail late: there are no tasks to fail"));
        }
        store.next_fails = native.map(str::to_owned);
        Ok(())
    }

    async fn set_page_size(&self, size: usize) -> Done {
        self.store.open().page_size = size.max(1);
        Ok(())
    }

    async fn serve_empty_pages(&self) -> Done {
        let mut store = self.store.open();
        if store.ways.numbered_pages {
            return Err(Unable("serve empty pages: with nothing on it the page of a number is the last"));
        }
        store.page_size = BETWEEN_EMPTY_PAGES;
        Ok(())
    }

    async fn quote_payloads(&self, quote: bool) -> Done {
        self.store.open().quotes = quote;
        Ok(())
    }

    async fn rotate_credentials(&self) -> Done {
        {
            let mut store = self.store.open();
            let number = store.count();
            store.token = token(self.seed, number);
        }
        self.write_token()
    }

    async fn spoil_credentials(&self, spoil: bool) -> Done {
        self.store.open().spoiled = spoil;
        Ok(())
    }

    fn rights(&self) -> Vec<&'static str> {
        self.store.open().ways.rights.to_vec()
    }

    async fn revoke(&self, right: Option<&str>) -> Done {
        let mut store = self.store.open();
        let known = right.map(|right| store.ways.rights.iter().copied().find(|known| *known == right));
        if known == Some(None) {
            return Err(Unable("take away a right that nobody has"));
        }
        store.revoked = known.flatten();
        Ok(())
    }

    /// Every shared reason that follows from the store: Forbidden where there are rights, CredentialsUnavailable where a
    /// token file is known, and APIError, which asks the fake to honour [`Store::ailing`].
    fn check_faults(&self) -> Vec<&'static str> {
        let mut reasons =
            vec![reasons::TIMEOUT, reasons::UNREACHABLE, reasons::UNAUTHORIZED, reasons::API_ERROR];
        reasons.extend((!self.rights().is_empty()).then_some(reasons::FORBIDDEN));
        reasons.extend(self.token_file.is_some().then_some(reasons::CREDENTIALS_UNAVAILABLE));
        reasons
    }

    async fn set_check_fault(&self, reason: Option<&str>) -> Done {
        if reason.is_some_and(|reason| !self.check_faults().contains(&reason)) {
            return Err(Unable("provoke that check reason"));
        }
        let condition = match reason {
            Some(reasons::TIMEOUT) => Some(Condition::Hangs),
            Some(reasons::UNREACHABLE) => Some(Condition::Cut),
            _ => None,
        };
        {
            let mut store = self.store.open();
            let targets = self.targets.as_ref().unwrap_or(&store.places);
            targets.iter().for_each(|target| self.wire.set_condition(target, condition));
            store.spoiled = reason == Some(reasons::UNAUTHORIZED);
            let first = store.ways.rights.first().copied();
            store.revoked = first.filter(|_| reason == Some(reasons::FORBIDDEN));
            store.ailing = reason == Some(reasons::API_ERROR);
        }
        match &self.token_file {
            Some(file) if reason == Some(reasons::CREDENTIALS_UNAVAILABLE) => {
                std::fs::remove_file(file).map_err(|_| Unable("take the token file away"))
            }
            Some(_) => self.write_token(),
            None => Ok(()),
        }
    }

    async fn break_watch(&self) -> Done {
        self.store.open().break_watches();
        Ok(())
    }
}

fn token(seed: u64, number: u64) -> Vec<u8> {
    format!("token-{seed:016x}-{number}").into_bytes()
}

/// The instance or placeholder of that name.
fn named<'s, I, P>(store: &'s Store<I, P>, name: &Name) -> Result<&'s Record<I>, Unable> {
    store.named(name.as_str()).ok_or(Unable("find an instance of that name"))
}

fn at<I, P>(store: &Store<I, P>, name: &Name) -> Result<(String, String), Unable> {
    named(store, name).map(|record| (record.place.clone(), record.key.clone()))
}
