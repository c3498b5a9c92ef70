//! One cloud of one case: how a provider is wired to it, what can be asked of it, and what stands in it.

use std::{num::NonZeroU16, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use provider_api::{
    Access, CreateRequest, Credentials, Owner, Placement, Profile, ProviderType, Secret, Uid,
    profile::{Delivery, PlacementField},
};
use serde_json::{Value, json};

use crate::{
    harness::{Backend, Case, Delivered, Hand, HarnessError, Shape, Thing, ThingKind, Unable},
    memory::{
        cloud::{Cloud, MemoryCloud, Store},
        profile::zone_count,
        provider_type,
    },
};

/// The zones and the regions they are in; one-zone profiles have the first.
const ZONES: [(&str, &str); 3] = [("z1", "north"), ("z2", "north"), ("z3", "south")];
/// The base image that every disk is a copy of.
const BASE: &str = "base-image";

/// A cloud in memory, for one case.
pub struct MemoryBackend {
    pub(super) profile: Arc<Profile>,
    pub(super) case: Case,
    /// The cloud itself.
    pub(super) cloud: MemoryCloud,
    /// What the provider sees of it.
    seen: Arc<dyn Cloud>,
    /// Where the provider reads its token.
    pub(super) token_file: PathBuf,
}

impl MemoryBackend {
    pub(super) fn new(
        profile: &Profile,
        case: &Case,
        see: fn(Arc<dyn Cloud>) -> Arc<dyn Cloud>,
    ) -> Result<Self, HarnessError> {
        let profile = Arc::new(profile.clone());
        let zones = ZONES[..zone_count(&profile)].iter().map(|(zone, _)| (*zone).to_owned()).collect();
        let token = token(case, 1);
        let token_file = case.folder.path()?.join("token");
        std::fs::write(&token_file, &token).map_err(|error| HarnessError(error.to_string()))?;
        let store = Store::new(Arc::clone(&profile), zones, token);
        let cloud = MemoryCloud::new(store, Arc::clone(&case.clock), case.wire.clone());
        let seen = see(Arc::new(cloud.clone()));
        Ok(Self { profile, case: case.clone(), cloud, seen, token_file })
    }

    pub(super) fn zones(&self) -> &'static [(&'static str, &'static str)] {
        &ZONES[..zone_count(&self.profile)]
    }

    fn placement(&self, zone: usize) -> Placement {
        let (zone, region) = ZONES[zone];
        Placement {
            region: Some(region.to_owned()),
            zone: Some(zone.to_owned()),
            machine_type: Some("small".to_owned()),
            image: Some("squid".to_owned()),
        }
    }
}

/// The token of a case, by how often it was rotated.
pub(super) fn token(case: &Case, number: usize) -> Vec<u8> {
    format!("token-{:016x}-{number}", case.seed).into_bytes()
}

#[async_trait]
impl Backend for MemoryBackend {
    fn provider_type(&self) -> ProviderType {
        provider_type(Arc::clone(&self.seen), Profile::clone(&self.profile))
    }

    fn block(&self, shape: &[Shape]) -> Result<Value, Unable> {
        let without = |zone: &str| shape.iter().any(|s| matches!(s, Shape::Without(other) if other == zone));
        let retired = |zone: &str| shape.iter().any(|s| matches!(s, Shape::Decommissioned(z) if z == zone));
        let mut zones: Vec<_> = self
            .zones()
            .iter()
            .filter(|(zone, _)| !without(zone))
            .map(|(zone, region)| json!({ "name": zone, "region": region, "decommissioned": retired(zone) }))
            .collect();
        if zones.is_empty() {
            zones.push(json!({ "name": "spare", "region": "north" }));
        }
        let mut block = json!({
            "credentialsFile": self.token_file,
            "zones": zones,
            "images": { "squid": BASE },
            "machineTypes": ["small", "large"],
        });
        if shape.contains(&Shape::Broken) {
            block["colour"] = json!("red");
            block["machineTypes"] = json!(7);
        }
        Ok(block)
    }

    async fn everything(&self) -> Result<Vec<Thing>, HarnessError> {
        let store = self.cloud.store();
        Ok(store.things())
    }

    fn admits(&self, instance: &Thing, credentials: &Credentials) -> Option<bool> {
        if self.profile.access == Delivery::Ignored {
            return None;
        }
        let store = self.cloud.store();
        let record = store.instances.iter().find(|record| key_of(record.incarnation) == instance.key)?;
        Some(record.access.as_ref().is_some_and(|access| access.credentials.as_ref() == Some(credentials)))
    }

    fn secrets(&self) -> Vec<Secret> {
        vec![Secret::new(self.cloud.store().token.clone())]
    }

    fn uncatalogued_image(&self) -> Option<String> {
        Some("elsewhere.example/squid:6".to_owned())
    }

    fn request(&self, uid: &Uid) -> CreateRequest {
        let owner = Owner {
            namespace: "team-a".to_owned(),
            name: format!("proxy-of-{uid}"),
            api_version: "proxies.example/v1".to_owned(),
            kind: "Proxy".to_owned(),
        };
        // Not even text, so that it is clear whether it arrives byte for byte.
        let mut cloud_init = format!("#cloud-config\nfinal_message: this is for {uid} alone\n").into_bytes();
        cloud_init.extend([0, 0xfe, 0xff, b'\n']);
        let mut request = CreateRequest::new(uid.clone(), owner, Secret::new(cloud_init));
        request.placement = self.placement(0);
        request.port = NonZeroU16::new(3129).expect("it is not zero");
        request.access = Access {
            allowed_sources: vec!["192.0.2.0/24".parse().expect("a network")],
            credentials: Some(Credentials {
                username: "user".to_owned(),
                password: Secret::new(format!("password-of-{uid}").into_bytes()),
            }),
        };
        request
    }

    fn placements(&self) -> Vec<Placement> {
        (0..self.zones().len()).map(|zone| self.placement(zone)).collect()
    }

    fn targets(&self) -> Vec<String> {
        self.zones().iter().map(|(zone, _)| (*zone).to_owned()).collect()
    }

    fn unsatisfiable(&self) -> Vec<(Placement, &'static str)> {
        use PlacementField::{Image, MachineType, Region, Zone};
        let good = self.placement(0);
        let nowhere = Some("nowhere".to_owned());
        let rows = [
            (Region, Placement { region: None, ..good.clone() }, "placement.region"),
            (Region, Placement { region: nowhere.clone(), ..good.clone() }, "placement.region"),
            (Zone, Placement { zone: None, ..good.clone() }, "placement.zone"),
            (Zone, Placement { zone: nowhere.clone(), ..good.clone() }, "placement.zone"),
            (MachineType, Placement { machine_type: None, ..good.clone() }, "placement.machineType"),
            (
                MachineType,
                Placement { machine_type: nowhere.clone(), ..good.clone() },
                "placement.machineType",
            ),
            (Image, Placement { image: None, ..good.clone() }, "placement.image"),
            (Image, Placement { image: nowhere, ..good }, "placement.image"),
        ];
        let used = |field| self.profile.placement.contains(&field);
        rows.into_iter()
            .filter(|(field, _, _)| used(*field))
            .map(|(_, placement, says)| (placement, says))
            .collect()
    }

    fn hand(&self) -> &dyn Hand {
        self
    }
}

/// The key under which the observer shows an instance or a part.
pub(super) fn key_of(incarnation: u64) -> String {
    format!("life/{incarnation}")
}

impl Store {
    /// Everything that stands in the cloud.
    fn things(&self) -> Vec<Thing> {
        let instances = self.instances.iter().map(|record| self.instance_thing(record));
        let parts = self.parts.iter().map(|part| {
            let image = part.image.iter().map(|image| format!("image/{image}"));
            Thing {
                key: key_of(part.incarnation),
                kind: ThingKind::Secondary,
                name: part.name.clone(),
                target: part.zone.clone(),
                marks: Default::default(),
                native_state: "there".to_owned(),
                deleting: false,
                references: image.collect(),
                delivered: Delivered::default(),
            }
        });
        let images = self.images.iter().map(|image| Thing {
            key: format!("image/{image}"),
            kind: ThingKind::Shared,
            name: image.clone(),
            target: self.zones.first().cloned().unwrap_or_default(),
            marks: Default::default(),
            native_state: "there".to_owned(),
            deleting: false,
            references: Vec::new(),
            delivered: Delivered::default(),
        });
        instances.chain(parts).chain(images).collect()
    }

    fn instance_thing(&self, record: &super::super::cloud::Record) -> Thing {
        let parts: Vec<_> = record.parts.iter().filter_map(|part| self.part(&record.zone, part)).collect();
        let seed = parts.iter().find_map(|part| part.payload.clone());
        let cloud_init = record.cloud_init.clone().or(seed);
        Thing {
            key: key_of(record.incarnation),
            kind: if record.bare { ThingKind::Placeholder } else { ThingKind::Instance },
            name: record.name.clone(),
            target: record.zone.clone(),
            marks: record.marks.clone(),
            native_state: self.state_of(record).0,
            deleting: record.gone_at.is_some(),
            references: parts
                .iter()
                .map(|part| key_of(part.incarnation))
                .chain([format!("image/{}", record.image)])
                .collect(),
            delivered: Delivered {
                cloud_init: cloud_init.map(|secret| secret.reveal().to_vec()),
                port: record.port,
                allowed_sources: record.access.as_ref().map(|access| access.allowed_sources.clone()),
            },
        }
    }
}
