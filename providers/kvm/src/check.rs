//! The check: what an admin should know of each host before a proxy is wanted there. It has connections of its own, takes
//! nobody's turn, and is over by its deadline.

use std::collections::BTreeMap;

use futures::future::join_all;
use libvirt_model::{Host, Way};
use provider_api::{CallKind, Deadline, Reason, TargetStatus, reasons};

use crate::{
    backend::{
        CONNECT_GET_CAPABILITIES, CONNECT_GET_HOSTNAME, CONNECT_GET_LIB_VERSION, NODE_GET_MEMORY_STATS,
        STORAGE_POOL_GET_INFO, STORAGE_POOL_LOOKUP_BY_NAME,
    },
    client::Lease,
    error::Refused,
    provider::Kvm,
};

/// The rights that the access driver asks for, by call. Where it is not in use, whoever may write to the socket has all.
const RIGHTS: [(CallKind, &str); 6] = [
    (CONNECT_GET_LIB_VERSION, "connect:getattr"),
    (CONNECT_GET_HOSTNAME, "connect:getattr"),
    (CONNECT_GET_CAPABILITIES, "connect:read"),
    (NODE_GET_MEMORY_STATS, "connect:read"),
    (STORAGE_POOL_LOOKUP_BY_NAME, "storage_pool:getattr"),
    (STORAGE_POOL_GET_INFO, "storage_pool:read"),
];

/// As much of a detail is shown: host names are no longer.
const LONGEST: usize = 255;

impl Kvm {
    /// Every host, beside one another, in the order of the config (`check.every-target-stable-order`).
    pub(crate) async fn check_all(&self, by: Deadline) -> Vec<TargetStatus> {
        join_all(self.config.hosts.iter().map(|host| self.check_host(host, by))).await
    }

    async fn check_host(&self, host: &Host, by: Deadline) -> TargetStatus {
        let clock = self.seam.clock();
        let began = clock.monotonic();
        let mut details = BTreeMap::new();
        let asked = self.seam.bounded(by.remaining(clock), self.ask_host(host, by, &mut details)).await;
        let reason = match asked {
            _ if by.remaining(clock).is_zero() => timed_out(),
            Err(_) => timed_out(),
            Ok(Err(refused)) => Reason::new(refused.reason, refused.error.message().to_owned()),
            Ok(Ok(reason)) => reason,
        };
        let ready = reason.code == reasons::REACHABLE;
        let mut status = TargetStatus::new(host.name.clone(), host.way.address(), ready, reason);
        status.latency = clock.monotonic().saturating_sub(began);
        status.details = details;
        status
    }

    /// Asks a host, and fills in what it says as far as it comes.
    async fn ask_host(
        &self,
        host: &Host,
        by: Deadline,
        details: &mut BTreeMap<String, String>,
    ) -> Result<Reason, Refused> {
        let mut note = |name: &str, value: String| {
            // Some of it is a host's own word.
            let shown = value.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST).collect();
            drop(details.insert(name.to_owned(), shown));
        };
        if let Way::Ssh { user, .. } = &host.way {
            note("user", user.clone());
        }
        note("pool", host.pool.clone());
        if by.remaining(self.seam.clock()).is_zero() {
            return Ok(timed_out());
        }
        let mut lease = self.hosts.fresh(&self.seam, host, by).await?;
        let found = ask(&mut lease, self.config.allow_emulation, &mut note).await;
        if !lease.is_broken() {
            lease.close().await;
        }
        found
    }
}

/// The questions.
async fn ask(
    lease: &mut Lease,
    allow_emulation: bool,
    note: &mut impl FnMut(&str, String),
) -> Result<Reason, Refused> {
    let version = lease.lib_version().await.map_err(|refused| named(refused, CONNECT_GET_LIB_VERSION))?;
    let (major, minor, release) = (version / 1_000_000, version / 1_000 % 1_000, version % 1_000);
    note("libvirtVersion", format!("{major}.{minor}.{release}"));
    note("hostname", lease.hostname().await.map_err(|refused| named(refused, CONNECT_GET_HOSTNAME))?);
    let acceleration =
        lease.acceleration().await.map_err(|refused| named(refused, CONNECT_GET_CAPABILITIES))?;
    note("acceleration", acceleration.as_str().to_owned());
    let memory = lease.memory_available().await.map_err(|refused| named(refused, NODE_GET_MEMORY_STATS))?;
    note("memoryAvailableMiB", memory.to_string());
    lease.find_pool().await.map_err(|refused| named(refused, STORAGE_POOL_LOOKUP_BY_NAME))?;
    let room = lease.pool_room().await.map_err(|refused| named(refused, STORAGE_POOL_GET_INFO))?;
    note("poolState", room.state_name().to_owned());
    note("poolCapacityGiB", (room.capacity >> 30).to_string());
    note("poolAvailableGiB", (room.available >> 30).to_string());
    if !room.is_active() {
        let text = format!("the pool {} is {}: start it", lease.host.pool, room.state_name());
        return Ok(Reason::new("PoolNotActive", text));
    }
    if !acceleration.accelerated && !allow_emulation {
        let text = "the host cannot accelerate domains: mend /dev/kvm, or set allowEmulation";
        return Ok(Reason::new("NoAcceleration", text));
    }
    Ok(Reason::new(reasons::REACHABLE, "the host answers, and its pool can be used"))
}

/// Names the right that a refusal is about (`check.missing-right-named`).
fn named(mut refused: Refused, kind: CallKind) -> Refused {
    if refused.reason == reasons::FORBIDDEN
        && let Some((_, right)) = RIGHTS.iter().find(|(asked, _)| *asked == kind)
    {
        let text = format!("the user lacks the right {right}: {}", refused.error.message());
        refused.error = provider_api::Error::new(refused.error.class(), text);
    }
    refused
}

fn timed_out() -> Reason {
    Reason::new(reasons::TIMEOUT, "the host did not answer in time")
}
