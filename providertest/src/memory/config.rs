//! The provider's own block of the config: zones, images, machine types, credentials.

use std::{collections::BTreeMap, path::PathBuf};

use provider_api::{CredentialFile, config::Fields};

use super::id;

/// The block, read.
#[derive(Clone, Debug)]
pub(super) struct Config {
    /// Where the token is.
    pub(super) credentials: CredentialFile,
    /// The zones, in the order of the file.
    pub(super) zones: Vec<Zone>,
    /// The base image of each image that a request may name.
    pub(super) images: BTreeMap<String, String>,
    /// The machine types that a request may name.
    pub(super) machine_types: Vec<String>,
}

/// A zone.
#[derive(Clone, Debug)]
pub(super) struct Zone {
    /// Its name.
    pub(super) name: String,
    /// The region that it is in.
    pub(super) region: String,
    /// Nothing new is made in it; all else goes on (`delete.decommissioned-target`).
    pub(super) decommissioned: bool,
}

impl Config {
    /// Reads the block and reports everything that is wrong with it (`runtime.all-config-errors-at-once`).
    pub(super) fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let credentials = fields.required::<PathBuf>("credentialsFile").map(CredentialFile::new);
        let zones: Vec<_> = fields.each("zones").into_iter().map(|mut zone| Zone::read(&mut zone)).collect();
        if zones.is_empty() {
            fields.problem("zones", "has no zone; at least one is needed");
        }
        let zones: Option<Vec<_>> = zones.into_iter().collect();
        let images = fields.required("images");
        let machine_types = fields.required("machineTypes");
        let zones = zones.filter(|zones| are_distinct(zones, fields));
        Some(Self {
            credentials: credentials?,
            zones: zones?,
            images: images?,
            machine_types: machine_types?,
        })
    }

    /// The zone of that name.
    pub(super) fn zone(&self, name: &str) -> Option<&Zone> {
        self.zones.iter().find(|zone| zone.name == name)
    }
}

impl Zone {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let name = fields.required::<String>("name");
        let region = fields.required("region");
        let decommissioned = fields.or("decommissioned", false);
        // Names of zones end up in ids.
        let name = name
            .and_then(|name| id::zone_name(&name).map_err(|e| fields.problem("name", e.to_string())).ok());
        Some(Self { name: name?, region: region?, decommissioned })
    }
}

fn are_distinct(zones: &[Zone], fields: &Fields<'_>) -> bool {
    let twice = zones.iter().enumerate().find(|(i, zone)| zones[..*i].iter().any(|z| z.name == zone.name));
    if let Some((_, zone)) = twice {
        fields.problem("zones", format!("two zones are called {}", zone.name));
    }
    twice.is_none()
}
