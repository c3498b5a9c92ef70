//! Parts of instances, which is what a backend calls disks, seeds, rules.

use provider_api::Timestamp;

use super::{NewPart, Page, Part, Parts, Record, Refusal, Store};

impl<I: Clone, P: Clone + Default> Store<I, P> {
    /// Makes a part, or makes it anew over an unused one of that name; one that is in use stays as it is. The answer is its
    /// life.
    ///
    /// # Errors
    /// Invalid without a name or in an unknown place; InUse; Quota where parts need room.
    pub fn put_part(&mut self, place: &str, new: NewPart<P>) -> Result<u64, Refusal> {
        if new.name.is_empty() || !self.places.iter().any(|known| known == place) {
            return Err(Refusal::Invalid);
        }
        if self.is_used(place, &new.name) {
            return Err(Refusal::InUse);
        }
        if self.is_full() && self.ways.parts_need_room {
            return Err(Refusal::Quota);
        }
        self.parts.retain(|part| part.place != place || part.name != new.name);
        let (incarnation, created, place) = (self.count(), self.stamp, place.to_owned());
        let NewPart { name, shared, payload, own } = new;
        self.parts.push(Part { place, name, incarnation, created, shared, payload, own });
        Ok(incarnation)
    }

    /// Removes a part that nothing uses, of that life only where one is given.
    ///
    /// # Errors
    /// PartNotFound, InUse; Changed where it is another life.
    pub fn remove_part(&mut self, place: &str, name: &str, only: Option<u64>) -> Result<(), Refusal> {
        let part = self.part(place, name).ok_or(Refusal::PartNotFound)?;
        if only.is_some_and(|only| only != part.incarnation) {
            return Err(Refusal::Changed);
        }
        let guarded =
            if self.ways.guards_borrowed { self.is_used(place, name) } else { self.is_held(place, name) };
        if guarded {
            return Err(Refusal::InUse);
        }
        self.parts.retain(|part| part.place != place || part.name != name);
        Ok(())
    }

    /// Gives an instance its parts: they come with it, or have to be there.
    pub(super) fn take_parts(
        &mut self,
        place: &str,
        names: &[String],
        shared: &[String],
    ) -> Result<(), Refusal> {
        for name in names {
            if self.ways.parts == Parts::Cascade {
                let new = NewPart { name: name.clone(), shared: shared.to_vec(), ..NewPart::default() };
                self.put_part(place, new)?;
            } else if self.part(place, name).is_none() {
                return Err(Refusal::PartsMissing);
            } else if self.is_held(place, name) {
                return Err(Refusal::InUse);
            }
        }
        Ok(())
    }

    /// Takes the parts of what is gone away, but for those that something else uses.
    pub(crate) fn drop_parts(&mut self, gone: &Record<I>) {
        let goes = |store: &Self, part: &Part<P>| {
            part.place == gone.place
                && gone.parts.contains(&part.name)
                && !store.is_used(&part.place, &part.name)
        };
        let parts = std::mem::take(&mut self.parts);
        self.parts = parts.into_iter().filter(|part| !goes(self, part)).collect();
    }
}

impl<I: Clone, P: Clone + Default> Store<I, P> {
    /// One page of the parts in a place, in the order of their names, as they were when the listing was last brought up to
    /// date. The shared things are among them, as parts of no life that are older than everything: a listing of disks shows
    /// base disks too.
    ///
    /// # Errors
    /// BadPage for a token that no page gave.
    pub fn list_parts(&mut self, place: &str, from: Option<&str>) -> Result<Page<Part<P>>, Refusal> {
        self.list_parts_by(place, from, |_| true)
    }

    /// The same of those alone that a selector wants.
    ///
    /// # Errors
    /// As for [`Store::list_parts`].
    pub fn list_parts_by(
        &mut self,
        place: &str,
        from: Option<&str>,
        wanted: impl Fn(&Part<P>) -> bool,
    ) -> Result<Page<Part<P>>, Refusal> {
        self.bring_listings_up_to_date();
        let shared = self.shared.iter().map(|name| Part {
            place: place.to_owned(),
            name: name.clone(),
            incarnation: 0,
            created: Timestamp::UNIX_EPOCH,
            shared: Vec::new(),
            payload: None,
            own: P::default(),
        });
        let here = self.listed.parts.iter().filter(|part| part.place == place).cloned();
        let rows = here.chain(shared).filter(wanted).collect();
        self.page_of(rows, |part: &Part<P>| part.name.clone(), from)
    }
}

impl<I, P> Store<I, P> {
    /// The instance that uses a part.
    pub fn user_of(&self, part: &Part<P>) -> Option<&Record<I>> {
        self.instances.iter().find(|record| record.place == part.place && record.parts.contains(&part.name))
    }

    /// Whether the quota is used up.
    pub fn is_full(&self) -> bool {
        self.quota.is_some_and(|quota| self.instances.len() >= quota)
    }

    /// The part of that name in a place, if there is one.
    pub fn part(&self, place: &str, name: &str) -> Option<&Part<P>> {
        self.parts.iter().find(|part| part.place == place && part.name == name)
    }

    /// Whether an instance uses a part, its own or another's.
    pub fn is_used(&self, place: &str, part: &str) -> bool {
        let borrows = |record: &Record<I>| record.borrowed.iter().any(|used| used == part);
        self.is_held(place, part)
            || self.instances.iter().any(|record| record.place == place && borrows(record))
    }

    /// Whether an instance has a part among its own.
    fn is_held(&self, place: &str, part: &str) -> bool {
        self.instances
            .iter()
            .any(|record| record.place == place && record.parts.iter().any(|used| used == part))
    }

    /// Whether there is a shared thing of that name.
    pub fn has_shared(&self, name: &str) -> bool {
        self.shared.contains(name)
    }
}
