//! `create`: looks for what is there, and makes what is missing. The request is placed already, the turn at the name is
//! taken, and there is room under `maxInstances`.
//!
//! What is looked for on the host first is `survey.rs`, how an image comes there `image.rs`, the volumes of an instance are
//! `parts.rs`.

use std::time::Duration;

use libvirt_model::{
    DomainId, Family, KVM, Meaning, NewDomain, Part, Placed, domain_state, ownership, part_of, runs,
};
use provider_api::{
    BoundedWait, CreateRequest, Error, FailureClass, LeftBehind, Mark, ProviderId, StateKind,
};

use crate::{
    client::{DomainUuid, Lease},
    error::{Refused, tolerate},
    parts::Made,
    provider::Kvm,
    seed,
    survey::Surveyed,
};

/// The wait for a domain that was started.
pub(crate) const RUNNING: BoundedWait =
    BoundedWait { for_what: "running", every: Duration::from_millis(500), at_most: Duration::from_secs(15) };

const FAMILY: Family = KVM;
/// `VIR_DOMAIN_PMSUSPENDED`.
const ASLEEP: i32 = 7;
/// `VIR_DOMAIN_PAUSED`.
const PAUSED: i32 = 3;
/// `VIR_DOMAIN_SHUTOFF`.
const OFF: i32 = 5;
/// `VIR_DOMAIN_SHUTDOWN`: on its way out.
const ENDING: i32 = 4;

impl Kvm {
    /// Makes the domain, or adopts the one that is there.
    pub(crate) async fn create_domain(
        &self,
        request: &CreateRequest,
        placed: &Placed,
    ) -> Result<ProviderId, Error> {
        let host =
            self.host(&placed.id.host).ok_or_else(|| Error::permanent("the host is not configured"))?;
        let seam = self.seam.hiding(request.scrubber());
        // Once more when the image had to be brought first.
        let mut surveyed = None;
        for _ in 0..2 {
            let room = self.gate.target(&host.name).await;
            let mut lease = self.hosts.lease(&seam, host).await?;
            if let Some(uuid) = self.own(&mut lease, &placed.id).await?
                && self.runs_again(&mut lease, &placed.id, uuid).await?
            {
                return Ok(placed.id.to_id());
            }
            let seen = self.survey(&mut lease, placed, surveyed.take()).await?;
            if let Some(image) = seen.image.clone() {
                return self.make(&mut lease, request, placed, &seen, &image).await;
            }
            // Whoever waits for an image takes nobody's place.
            let acceleration = seen.acceleration;
            drop((lease, room));
            self.bring(&seam, host, &placed.image).await?;
            surveyed = Some(acceleration);
        }
        Err(Error::transient("the image went as soon as it had come").coded("ImageGone"))
    }

    /// The domain of that name, if it is ours.
    async fn own(&self, lease: &mut Lease, id: &DomainId) -> Result<Option<DomainUuid>, Error> {
        let name = id.name.as_str();
        let Some(uuid) = lease.domain(name).await? else { return Ok(None) };
        let marks = lease.marks(name, uuid).await?;
        let whose = ownership(name, &marks, &self.identity);
        if whose.clone().ours().is_none() {
            let text = format!("the domain {name} on host {} {}", id.host, whose.why_not());
            return Err(Error::permanent(text).coded("NotOurs"));
        }
        Ok(Some(uuid))
    }

    /// Brings a domain of ours to running, from whatever state. `false` says that it lacked its volumes and was taken
    /// away, so that it can be made anew.
    async fn runs_again(&self, lease: &mut Lease, id: &DomainId, uuid: DomainUuid) -> Result<bool, Error> {
        let name = id.name.as_str();
        let (state, reason) = lease.state(name, uuid).await?;
        let row = domain_state(state, reason);
        let kind = row.and_then(|row| row.native.state());
        match kind {
            Some(StateKind::Running | StateKind::Provisioning) => return Ok(true),
            Some(StateKind::Stopped | StateKind::Terminated) | None => {}
        }
        let native = row.map_or_else(|| format!("state {state}"), |row| row.native.native.to_owned());
        if state == ENDING {
            // create.not-while-deleting
            return Err(
                Error::transient(format!("the domain {name} is being shut down")).coded("ShuttingDown")
            );
        }
        if !row.is_some_and(|row| row.native.started) {
            let text = format!("the domain {name} is {native}, and create does not mend that");
            return Err(Error::permanent(text).coded("BeyondRecovery"));
        }
        let begun = match state {
            PAUSED => lease.resume(name, uuid, false).await,
            ASLEEP => lease.resume(name, uuid, true).await,
            OFF if !self.has_parts(lease, id).await? => {
                tracing::info!(host = id.host, domain = name, "it lacks its volumes, and is made anew");
                lease.undefine(name, uuid).await?;
                return Ok(false);
            }
            _ => lease.start(name, uuid).await,
        };
        // Somebody else was faster: whether it runs, its state tells.
        tolerate(begun, &[Meaning::NotNow])?;
        self.until_running(lease, name, uuid).await?;
        Ok(true)
    }

    /// Whether the volumes of a domain are there.
    async fn has_parts(&self, lease: &mut Lease, id: &DomainId) -> Result<bool, Error> {
        lease.find_pool().await?;
        let volumes = lease.volumes().await?;
        let is =
            |volume: &String, part| part_of(FAMILY, volume, &self.identity) == Some((id.name.clone(), part));
        Ok(Part::ALL.iter().all(|part| volumes.iter().any(|volume| is(volume, *part))))
    }

    /// Waits until a domain that was started runs.
    async fn until_running(&self, lease: &mut Lease, name: &str, uuid: DomainUuid) -> Result<(), Error> {
        let seam = lease.seam.clone();
        let running = async {
            loop {
                let (state, reason) = lease.state(name, uuid).await?;
                if runs(state, reason) {
                    return Ok(());
                }
                if state == OFF {
                    let native = domain_state(state, reason).map_or("off", |row| row.native.native);
                    let text = format!("the domain {name} was started and is {native}");
                    return Err(Error::transient(text).coded("NotRunning"));
                }
                seam.pause(RUNNING.every).await;
            }
        };
        seam.bounded(RUNNING.at_most, running).await.unwrap_or_else(|late| {
            Err(Error::transient(format!("the domain {name} was started and does not run: {late}"))
                .coded("NotRunning"))
        })
    }

    /// Makes volumes and domain; what was begun and refused for good is taken away again.
    async fn make(
        &self,
        lease: &mut Lease,
        request: &CreateRequest,
        placed: &Placed,
        surveyed: &Surveyed,
        image: &str,
    ) -> Result<ProviderId, Error> {
        let mut made = Made::default();
        let making = self.make_all(lease, request, placed, surveyed, image, &mut made).await;
        let error = match making {
            Ok(()) => return Ok(placed.id.to_id()),
            Err(Refused { meaning: Meaning::Exists, error, .. }) => {
                // Another process came in between: look again, once.
                return match self.own(lease, &placed.id).await? {
                    Some(uuid) if self.runs_again(lease, &placed.id, uuid).await? => Ok(placed.id.to_id()),
                    _ => Err(error),
                };
            }
            Err(refused) => refused.error,
        };
        if error.class() == FailureClass::Transient {
            return Err(error);
        }
        // create.nothing-left-on-permanent-failure
        match self.take_back(lease, placed.id.name.as_str(), made).await {
            Ok(()) => Err(error.leaving(LeftBehind::Nothing)),
            // A repetition can tidy up, and nobody repeats what is Permanent.
            Err(why) => Err(Error::transient(format!(
                "{}; and what was made before could not be taken back: {}",
                error.message(),
                why.message()
            ))),
        }
    }

    async fn make_all(
        &self,
        lease: &mut Lease,
        request: &CreateRequest,
        placed: &Placed,
        surveyed: &Surveyed,
        image: &str,
        made: &mut Made,
    ) -> Result<(), Refused> {
        let now = self.seam.clock().now();
        let seed = seed::seed(request, &self.config, now).image();
        let seed = seed.map_err(|error| Refused::before_the_call(error.into()))?;
        let parts = self.make_parts(lease, request, placed, surveyed, image, seed, made).await?;
        let mark = Mark {
            uid: request.uid.clone(),
            installation: self.identity.installation.clone(),
            created_at: Some(now),
        };
        let xml = NewDomain {
            family: FAMILY,
            name: &request.name,
            mark: &mark,
            vcpus: placed.machine.vcpus,
            memory_mib: placed.machine.memory_mib,
            acceleration: &surveyed.acceleration,
            firmware: placed.image.firmware,
            disk: &parts.disk,
            seed: &parts.seed,
            uplink: &lease.host.uplink.clone(),
        }
        .to_xml();
        tracing::trace!(host = lease.host.name, domain = %request.name, xml, "defining");
        let name = request.name.as_str();
        let uuid = lease.define(name, xml).await?;
        made.domain = Some(uuid);
        tolerate(lease.start(name, uuid).await, &[Meaning::NotNow])?;
        self.until_running(lease, name, uuid).await.map_err(Refused::before_the_call)
    }

    /// Takes away what this create has made.
    async fn take_back(&self, lease: &mut Lease, name: &str, made: Made) -> Result<(), Error> {
        if let Some(uuid) = made.domain {
            lease.destroy(name, uuid).await?;
            lease.undefine(name, uuid).await?;
        }
        for volume in made.volumes {
            lease.delete_volume(&volume).await?;
        }
        Ok(())
    }
}
