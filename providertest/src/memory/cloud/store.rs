//! What stands in the cloud: the kit's own store for fakes, with the ways that a profile gives it and in this cloud's
//! shapes.
//!
//! Calls are in `in_memory.rs`, the hand of others in the harness.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
    time::Duration,
};

use provider_api::{
    Access, Profile, Secret,
    profile::{
        AsyncOp, DeleteBinding, IpSource, Mobility, PrimaryKey, ProvisioningState, Quota, Readiness,
        SecondaryResources,
    },
};

use super::{Accepted, CloudError, NewInstance, NewPart, Outcome, Part, RIGHTS, Task, look::LOCKING, native};
use crate::{
    fake::{
        Refused,
        store::{self, Failure, Parts, Source, States, Ways, leases},
    },
    harness::Delivered,
};

/// Everything that a cloud holds.
pub(crate) type Store = store::Store<Own>;
/// An instance or placeholder.
pub(crate) type Record = store::Record<Own>;

/// What the cloud keeps of an instance beside the usual.
#[derive(Clone, Default)]
pub(crate) struct Own {
    pub(crate) access: Option<Access>,
}

/// An empty cloud of that profile.
pub(crate) fn empty(profile: &Profile, zones: Vec<String>, token: Vec<u8>) -> Store {
    Store::new(ways(profile), zones).with_token(token).with_shared(["base-image"])
}

/// How a cloud of that profile behaves.
fn ways(profile: &Profile) -> Ways {
    let shows_provisioning = profile.provisioning_state == ProvisioningState::Native;
    let while_provisioning = |state| if shows_provisioning { state } else { "running" };
    let numbered = profile.primary_key == PrimaryKey::AllocatedId;
    let moves = profile.mobility == Mobility::Moves;
    Ways {
        work: if profile.async_ops.is_empty() { Duration::ZERO } else { Duration::from_secs(2) },
        boot: match profile.readiness {
            Readiness::Immediate => Duration::from_secs(1),
            Readiness::ProvisioningWindow => Duration::from_secs(20),
        },
        made_off: false,
        removal: Duration::from_secs(3),
        tasks: profile.async_ops.contains(&AsyncOp::TaskHandle),
        locks: profile.async_ops.contains(&AsyncOp::BackendLock),
        locking: LOCKING,
        parts: match profile.secondary_resources {
            SecondaryResources::None => Parts::None,
            SecondaryResources::Cascade => Parts::Cascade,
            SecondaryResources::Explicit => Parts::Explicit,
        },
        // As where a disk is a file: it is locked by the machine that runs from it, and not by those that build on it.
        guards_borrowed: profile.delete_binding == DeleteBinding::Name,
        numbered,
        key_of: |number| number.to_string(),
        wide_keys: numbered || moves,
        lag: Duration::ZERO,
        numbered_pages: profile.numbered_pages,
        one_address: false,
        parts_need_room: false,
        moves,
        rights: RIGHTS,
        states: States {
            making: while_provisioning("pending"),
            booting: while_provisioning("staging"),
            ..States::default()
        },
        addresses: match profile.ip_source {
            IpSource::AssignedAtCreate => leases,
            IpSource::Discovered => discovered,
        },
    }
}

/// What is seen of an instance whose addresses are found out: what the guest makes of itself, and the leases.
fn discovered(place: usize, number: u16) -> Vec<(Source, IpAddr)> {
    let [_, low] = number.to_be_bytes();
    let loopback = (Source::Agent, Ipv4Addr::LOCALHOST.into());
    let link_local = (Source::Neighbour, Ipv4Addr::new(169, 254, 7, low).into());
    [loopback, link_local].into_iter().chain(leases(place, number)).collect()
}

impl NewInstance {
    /// What of it must not be shown.
    pub(super) fn payload(&self) -> Option<Secret> {
        let password =
            self.access.as_ref().and_then(|access| access.credentials.as_ref()).map(|c| &c.password);
        let secrets = [self.cloud_init.as_ref(), password].into_iter().flatten();
        let text: Vec<_> = secrets.map(|secret| secret.reveal()).collect();
        (!text.is_empty()).then(|| Secret::new(text.join(&b'\n')))
    }

    fn into_new(self, bare: bool) -> store::New<Own> {
        let delivered = Delivered {
            cloud_init: self.cloud_init.map(|secret| secret.reveal().to_vec()),
            port: self.port,
            allowed_sources: self.access.as_ref().map(|access| access.allowed_sources.clone()),
        };
        store::New {
            key: self.key,
            name: self.name,
            marks: self.marks,
            bare,
            parts: self.parts,
            shared: vec![self.image],
            delivered,
            own: Own { access: self.access },
        }
    }
}

impl Store {
    /// Whether an image can be had: a base image, or one that is fetched from elsewhere.
    fn has_image(&self, image: &str) -> bool {
        self.has_shared(image) || image.contains('/')
    }

    pub(super) fn begin(&mut self, zone: &str, new: NewInstance, bare: bool) -> Result<Accepted, Refused> {
        if !self.has_image(&new.image) {
            return Err(Refused("invalid"));
        }
        Ok(Accepted { task: self.make(zone, new.into_new(bare))?.task })
    }

    pub(super) fn fill_in(&mut self, zone: &str, new: NewInstance) -> Result<(), Refused> {
        Ok(self.configure(zone, new.into_new(false))?)
    }

    pub(super) fn put(&mut self, zone: &str, new: NewPart) -> Result<(), Refused> {
        if new.image.as_ref().is_some_and(|image| !self.has_image(image)) {
            return Err(Refused("invalid"));
        }
        let NewPart { name, image, payload } = new;
        let new = store::NewPart { name, shared: image.into_iter().collect(), payload, own: () };
        self.put_part(zone, new)?;
        Ok(())
    }

    pub(super) fn shown_part(&self, part: &store::Part<()>) -> Part {
        Part {
            name: part.name.clone(),
            incarnation: part.incarnation,
            created: part.created.to_string(),
            used: self.is_used(&part.place, &part.name),
        }
    }

    pub(super) fn shown_task(&self, task: &store::Task, profile: &Profile) -> Task {
        let outcome = match self.outcome(task) {
            store::Outcome::Running => Outcome::Running,
            store::Outcome::Done => Outcome::Done,
            store::Outcome::Failed(Failure { id, text }) => {
                let error = native(id, profile, &task.name);
                let text = text.clone().unwrap_or_else(|| error.text.clone());
                Outcome::Failed(CloudError { text, ..error })
            }
        };
        Task { id: task.id, marks: task.marks.clone(), outcome }
    }

    /// Refuses in the profile's own words.
    pub(super) fn refuse(
        &self,
        Refused(id): Refused,
        profile: &Arc<Profile>,
        target: &str,
        payload: Option<&Secret>,
    ) -> CloudError {
        let detected = profile.quota == Quota::Detected;
        let id = if id == "quota" && !detected { "no-room" } else { id };
        let mut error = native(id, profile, target);
        if let Some(right) = self.revoked.filter(|_| id == "forbidden") {
            error.text = format!("the token lacks the right {right}");
        }
        self.quote(&mut error, payload);
        error
    }

    /// Quotes what was sent, where somebody made the cloud do so.
    pub(super) fn quote(&self, error: &mut CloudError, payload: Option<&Secret>) {
        if let Some(payload) = payload.filter(|_| self.quotes) {
            error.text =
                format!("{}; it was asked for {:?}", error.text, String::from_utf8_lossy(payload.reveal()));
        }
    }
}
