//! What a request asks for, checked against config and catalogue before any call is made
//! (`create.rejects-unsatisfiable-before-any-call`).

use provider_api::{
    CreateRequest, Error, LeftBehind, Name,
    profile::{Delivery, PlacementField, SecondaryResources},
};

use super::{
    cloud::NewInstance,
    config::Zone,
    mark::{self, DISK, SEED},
    provider::MemoryProvider,
};

/// A request that can be satisfied as far as can be told.
pub(super) struct Order<'r> {
    pub(super) request: &'r CreateRequest,
    pub(super) zone: String,
    /// The base image.
    pub(super) image: String,
    pub(super) machine_type: String,
}

impl MemoryProvider {
    pub(super) fn order<'r>(&self, request: &'r CreateRequest) -> Result<Order<'r>, Error> {
        if request.name != Name::from_uid(&request.uid) {
            return Err(unsatisfiable("name", &request.name, "it is not the name that belongs to the uid"));
        }
        let image = self.image(request)?;
        let machine_type = self.machine_type(request)?;
        let zone = self.zone(request)?;
        if zone.decommissioned {
            let why = "it is decommissioned, and nothing new is made there";
            return Err(unsatisfiable("placement.zone", &zone.name, why));
        }
        Ok(Order { request, zone: zone.name.clone(), image, machine_type })
    }

    /// The zone: the one that is named; without a say in it, the first that takes creates in the region, or of all
    /// (`create.ignored-placement-has-no-effect`).
    fn zone(&self, request: &CreateRequest) -> Result<&Zone, Error> {
        let placement = &request.placement;
        let region = self.used(PlacementField::Region, placement.region.as_ref())?;
        let zone = self.used(PlacementField::Zone, placement.zone.as_ref())?;
        let in_region = |zone: &&Zone| region.is_none_or(|region| zone.region == *region);
        if let Some(region) = region.filter(|_| !self.config.zones.iter().any(|zone| in_region(&zone))) {
            let regions = self.config.zones.iter().map(|zone| zone.region.as_str());
            return Err(unknown("placement.region", region, regions));
        }
        let mut zones = self.config.zones.iter().filter(in_region);
        let Some(zone) = zone else {
            let open = zones.clone().find(|zone| !zone.decommissioned);
            let zone = open.or_else(|| zones.next());
            return zone.ok_or_else(|| unsatisfiable("placement.zone", "", "there is no zone"));
        };
        zones.find(|known| known.name == *zone).ok_or_else(|| {
            let known = self.config.zones.iter().filter(in_region).map(|zone| zone.name.as_str());
            unknown("placement.zone", zone, known)
        })
    }

    fn machine_type(&self, request: &CreateRequest) -> Result<String, Error> {
        let asked = self.used(PlacementField::MachineType, request.placement.machine_type.as_ref())?;
        let Some(asked) = asked else {
            return Ok(self.config.machine_types.first().cloned().unwrap_or_default());
        };
        if !self.config.machine_types.contains(asked) {
            return Err(unknown(
                "placement.machineType",
                asked,
                self.config.machine_types.iter().map(String::as_str),
            ));
        }
        Ok(asked.clone())
    }

    /// The base image: of the catalogue, or one that `allowedImagePrefixes` lets through (`create.image-allow-list`).
    fn image(&self, request: &CreateRequest) -> Result<String, Error> {
        let asked = self.used(PlacementField::Image, request.placement.image.as_ref())?;
        let Some(asked) = asked else {
            return Ok(self.config.images.values().next().cloned().unwrap_or_default());
        };
        match self.config.images.get(asked) {
            Some(base) => Ok(base.clone()),
            None => {
                self.images.allow(asked).map_err(|error| error.leaving(LeftBehind::Nothing))?;
                Ok(asked.clone())
            }
        }
    }

    /// A field of the placement, where the profile says that it counts; it must then be given.
    fn used<'p>(
        &self,
        field: PlacementField,
        given: Option<&'p String>,
    ) -> Result<Option<&'p String>, Error> {
        if !self.profile.placement.contains(&field) {
            return Ok(None);
        }
        let missing = || {
            let text = format!("placement.{} is missing", field.as_str());
            Error::permanent(text).leaving(LeftBehind::Nothing)
        };
        given.map(Some).ok_or_else(missing)
    }

    /// What the cloud is asked to make: marks in the same call, and of the request what the profile delivers
    /// (`create.marks-from-first-moment`, `create.delivers-cloud-init`, `create.delivers-access-and-port`).
    pub(super) fn new_instance(&self, order: &Order<'_>, key: String) -> NewInstance {
        let Order { request, image, machine_type, .. } = order;
        let delivered = |delivery| delivery == Delivery::Delivered;
        let seeded = self.part_kinds().contains(&SEED);
        let part = |kind: &&str| mark::part_name(&request.name, &self.identity.installation, kind);
        NewInstance {
            key,
            name: request.name.to_string(),
            marks: mark::written(&self.profile, &self.identity, &request.uid, self.seam.clock().now()),
            image: image.clone(),
            machine_type: machine_type.clone(),
            cloud_init: (delivered(self.profile.cloud_init) && !seeded).then(|| request.cloud_init.clone()),
            port: delivered(self.profile.port).then_some(request.port.get()),
            access: delivered(self.profile.access).then(|| request.access.clone()),
            parts: self.part_kinds().iter().map(part).collect(),
        }
    }

    /// The parts that an instance has.
    pub(super) fn part_kinds(&self) -> &'static [&'static str] {
        match self.profile.secondary_resources {
            SecondaryResources::None => &[],
            SecondaryResources::Cascade => &[DISK],
            SecondaryResources::Explicit => &[DISK, SEED],
        }
    }
}

fn unsatisfiable(field: &str, given: impl std::fmt::Display, why: &str) -> Error {
    Error::permanent(format!("{field} {given} cannot be had: {why}")).leaving(LeftBehind::Nothing)
}

fn unknown<'k>(field: &str, given: &str, known: impl Iterator<Item = &'k str>) -> Error {
    let known: std::collections::BTreeSet<_> = known.collect();
    let known = known.into_iter().collect::<Vec<_>>().join(", ");
    unsatisfiable(field, format_args!("{given:?}"), &format!("known are: {known}"))
}
