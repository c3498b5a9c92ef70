//! Parts of instances, which is what a backend calls disks, seeds, rules.

use super::{NewPart, Part, Parts, Record, Refusal, Store};

impl<I: Clone, P: Clone + Default> Store<I, P> {
    /// Makes a part, or makes it anew over an unused one of that name; one that is in use stays as it is. The answer is its
    /// life.
    ///
    /// # Errors
    /// Invalid without a name or in an unknown place; InUse.
    pub fn put_part(&mut self, place: &str, new: NewPart<P>) -> Result<u64, Refusal> {
        if new.name.is_empty() || !self.places.iter().any(|known| known == place) {
            return Err(Refusal::Invalid);
        }
        if self.is_used(place, &new.name) {
            return Err(Refusal::InUse);
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
        if self.is_used(place, name) {
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

impl<I, P> Store<I, P> {
    /// The part of that name in a place, if there is one.
    pub fn part(&self, place: &str, name: &str) -> Option<&Part<P>> {
        self.parts.iter().find(|part| part.place == place && part.name == name)
    }

    /// Whether an instance uses a part.
    pub fn is_used(&self, place: &str, part: &str) -> bool {
        self.instances
            .iter()
            .any(|record| record.place == place && record.parts.iter().any(|used| used == part))
    }

    /// Whether there is a shared thing of that name.
    pub fn has_shared(&self, name: &str) -> bool {
        self.shared.contains(name)
    }
}
