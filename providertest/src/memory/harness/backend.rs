//! One cloud of one case: how a provider is wired to it, what can be asked of it, and what stands in it.

use std::{collections::BTreeMap, num::NonZeroU16, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use provider_api::{
    Access, CreateRequest, Credentials, Owner, Placement, Profile, ProviderType, Secret, Uid,
    profile::{Delivery, PlacementField, Targets},
};
use serde_json::{Value, json};

use crate::{
    fake::{hand::StoreHand, store::life},
    harness::{Backend, Case, Hand, HarnessError, Shape, Thing, Unable},
    memory::{
        cloud::{Cloud, MemoryCloud, Own, empty},
        profile::zone_count,
        provider_type,
    },
};

/// The zones and the regions they are in; one-zone profiles have the first. What has more than these has them in the south.
const ZONES: [(&str, &str); 3] = [("z1", "north"), ("z2", "north"), ("z3", "south")];
/// The base image that every disk is a copy of.
const BASE: &str = "base-image";

/// A cloud in memory, for one case.
pub struct MemoryBackend {
    pub(super) profile: Arc<Profile>,
    /// Its zones, each with its region.
    zones: Vec<(String, &'static str)>,
    /// The cloud itself.
    pub(super) cloud: MemoryCloud,
    /// What the provider sees of it.
    seen: Arc<dyn Cloud>,
    /// Where the provider reads its token.
    token_file: PathBuf,
    /// The powers that the store gives.
    pub(super) hand: StoreHand<Own>,
}

/// An instance or placeholder as an observer sees it, where it stands: nothing is copied.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'c> {
    /// Which life of its key this is; no two have the same.
    pub life: u64,
    /// Its zone.
    pub zone: &'c str,
    /// Its name.
    pub name: &'c str,
    /// Labels, or metadata.
    pub marks: &'c BTreeMap<String, String>,
    /// Its native state.
    pub native_state: &'c str,
    /// Whether its removal has begun.
    pub deleting: bool,
}

impl MemoryBackend {
    pub(super) fn new(
        profile: &Profile,
        case: &Case,
        see: fn(Arc<dyn Cloud>) -> Arc<dyn Cloud>,
    ) -> Result<Self, HarnessError> {
        Self::with_zones(profile, zone_count(profile), case, see)
    }

    /// A cloud with so many zones, of a profile that is [complete](crate::memory::complete); `see` makes what the provider
    /// sees of it.
    ///
    /// # Errors
    /// When there is no room for its token file.
    pub fn with_zones(
        profile: &Profile,
        count: usize,
        case: &Case,
        see: impl FnOnce(Arc<dyn Cloud>) -> Arc<dyn Cloud>,
    ) -> Result<Self, HarnessError> {
        let profile = Arc::new(profile.clone());
        let more = (ZONES.len()..count).map(|zone| (format!("z{}", zone + 1), "south"));
        let zones: Vec<_> = ZONES
            .iter()
            .take(count)
            .map(|(zone, region)| ((*zone).to_owned(), *region))
            .chain(more)
            .collect();
        let token_file = case.folder.path()?.join("token");
        let places = zones.iter().map(|(zone, _)| zone.clone()).collect();
        let store = empty(&profile, places, StoreHand::<Own>::token(case, 0));
        let cloud = MemoryCloud::new(store, Arc::clone(&profile), Arc::clone(&case.clock), case.wire.clone());
        let hand = StoreHand::new(cloud.shared(), case).with_token_file(token_file.clone())?;
        let seen = see(Arc::new(cloud.clone()));
        Ok(Self { profile, zones, cloud, seen, token_file, hand })
    }

    /// Shows every instance and placeholder.
    pub fn each_instance(&self, mut see: impl FnMut(Standing<'_>)) {
        let store = self.cloud.store();
        for record in &store.instances {
            see(Standing {
                life: record.incarnation,
                zone: &record.place,
                name: &record.name,
                marks: &record.marks,
                native_state: store.state_of(record),
                deleting: record.gone_at.is_some(),
            });
        }
    }

    /// How often something about an instance has changed, other than by the clock alone. What the clock has brought to its end
    /// counts when somebody looks.
    pub fn changes(&self) -> u64 {
        self.cloud.shared().changes()
    }

    fn placement(&self, zone: usize) -> Placement {
        let (zone, region) = &self.zones[zone];
        Placement {
            region: Some((*region).to_owned()),
            zone: Some(zone.clone()),
            machine_type: Some("small".to_owned()),
            image: Some("squid".to_owned()),
        }
    }
}

#[async_trait]
impl Backend for MemoryBackend {
    fn provider_type(&self) -> ProviderType {
        provider_type(Arc::clone(&self.seen), Profile::clone(&self.profile))
    }

    fn block(&self, shape: &[Shape]) -> Result<Value, Unable> {
        let is_about_one = |shape: &Shape| matches!(shape, Shape::Without(_) | Shape::Decommissioned(_));
        if self.profile.targets == Targets::One && shape.iter().any(is_about_one) {
            return Err(Unable("leave the one zone out, or decommission it"));
        }
        let without = |zone: &str| shape.iter().any(|s| matches!(s, Shape::Without(other) if other == zone));
        let retired = |zone: &str| shape.iter().any(|s| matches!(s, Shape::Decommissioned(z) if z == zone));
        let mut zones: Vec<_> = self
            .zones
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
        Ok(self.cloud.store().things())
    }

    fn admits(&self, instance: &Thing, credentials: &Credentials) -> Option<bool> {
        if self.profile.access == Delivery::Ignored {
            return None;
        }
        let store = self.cloud.store();
        let record = store.instances.iter().find(|record| life(record.incarnation) == instance.key)?;
        Some(
            record.own.access.as_ref().is_some_and(|access| access.credentials.as_ref() == Some(credentials)),
        )
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
        (0..self.zones.len()).map(|zone| self.placement(zone)).collect()
    }

    fn targets(&self) -> Vec<String> {
        self.zones.iter().map(|(zone, _)| zone.clone()).collect()
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
