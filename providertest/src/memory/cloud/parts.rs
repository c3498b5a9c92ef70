//! Parts of instances: disks and seeds.

use provider_api::profile::SecondaryResources;

use super::{
    NewInstance, NewPart, Part,
    store::{PartRecord, Refused, Store},
};

impl Store {
    /// Makes a part, or makes it anew; one that is in use stays as it is.
    pub(crate) fn put_part(&mut self, zone: &str, new: NewPart) -> Result<(), Refused> {
        if new.name.is_empty() || new.image.as_ref().is_some_and(|image| !self.has_image(image)) {
            return Err("invalid");
        }
        if self.is_used(zone, &new.name) {
            return Err("in-use");
        }
        self.parts.retain(|part| part.zone != zone || part.name != new.name);
        let (incarnation, created) = (self.count(), self.stamp);
        let NewPart { name, image, payload } = new;
        self.parts.push(PartRecord { zone: zone.to_owned(), name, incarnation, created, image, payload });
        Ok(())
    }

    /// Gives an instance its parts: they come with it, or have to be there.
    pub(crate) fn take_parts(&mut self, zone: &str, new: &NewInstance) -> Result<(), Refused> {
        for name in &new.parts {
            match self.profile.secondary_resources {
                SecondaryResources::Cascade => {
                    let image = Some(new.image.clone());
                    self.put_part(zone, NewPart { name: name.clone(), image, payload: None })?;
                }
                _ if self.part(zone, name).is_none() => return Err("parts-missing"),
                _ => {}
            }
        }
        Ok(())
    }

    pub(crate) fn remove_part(&mut self, zone: &str, name: &str, only: Option<u64>) -> Result<(), Refused> {
        let part = self.part(zone, name).ok_or("part-not-found")?;
        if only.is_some_and(|only| only != part.incarnation) {
            return Err("changed");
        }
        if self.is_used(zone, name) {
            return Err("in-use");
        }
        self.parts.retain(|part| part.zone != zone || part.name != name);
        Ok(())
    }

    pub(crate) fn part(&self, zone: &str, name: &str) -> Option<&PartRecord> {
        self.parts.iter().find(|part| part.zone == zone && part.name == name)
    }

    pub(crate) fn shown_part(&self, part: &PartRecord) -> Part {
        Part {
            name: part.name.clone(),
            incarnation: part.incarnation,
            created: part.created.to_string(),
            used: self.is_used(&part.zone, &part.name),
        }
    }
}
