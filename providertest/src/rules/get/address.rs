//! Which address get reports.

use std::net::IpAddr;

use futures::FutureExt;
use provider_api::{Instance, Name, ProviderId, State, StateKind};
use serde_json::json;

use crate::{
    broken, hold,
    rule::{Caller, Check, Checked, Level, Rule, always},
    world::{Tweaks, World},
};

pub(super) const RUNNING_HAS_ADDRESS: Rule = Rule {
    id: "get.running-has-address",
    level: Level::Must,
    says: "Running always comes with an address: the type holds one.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::ByType("provider_api::State"),
    absent: None,
    why: "Callers dial what is Running. Without an address they would publish an empty one to users, and \
          count as ready a proxy that nobody can reach.",
    tested: "The compiler holds it: `State::Running` has an address as its field. A doctest that leaves it \
             out must not compile, beside a twin that must.",
    mend: "Answer `State::Provisioning` until `AddressPolicy::pick` finds an address, and build \
           `State::Running` only from what it picked.",
};

pub(super) const OWN_ADDRESS_ONLY: Rule = Rule {
    id: "get.own-address-only",
    level: Level::Must,
    says: "The address is of the instance's own NIC: never loopback, link-local, unspecified, multicast, or of a \
           bridge inside the guest.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Case(|w| own_address(w).boxed()),
    absent: None,
    why: "Guests list loopback, link-local and the bridge of their containers, lease tables hold leases of \
          machines long gone. Tools have taken each of these for the address, down to 127.0.0.1, and users \
          were sent there.",
    tested: "A running instance has, one after another, only an address that is nobody's own (loopback, \
             link-local, unspecified, multicast, broadcast): Provisioning is due. Among all these, its own \
             and a container bridge, most trusted first, its own must be answered; when that changes get \
             must follow.",
    mend: "Keep only addresses seen on the instance's own MAC, sort them by trust (the lease before the \
           agent), and let `AddressPolicy::pick` take the first that counts. Read them anew in each get, and \
           remember none.",
};

/// Addresses that are nobody's own.
const NOISE: [&str; 8] =
    ["127.0.0.1", "169.254.7.7", "0.0.0.0", "224.0.0.9", "255.255.255.255", "::1", "fe80::7", "ff02::1"];
/// The bridge that container programs make inside their guest.
const BRIDGE: &str = "172.17.0.1";

async fn own_address(w: &mut World) -> Checked {
    let (request, id, instance) = w.running().await?;
    let own = address(&instance)?;
    hold!(
        !NOISE.iter().map(|noise| parsed(noise)).any(|noise| noise == own),
        "get {id} answered the address {own}, which is no instance's own"
    );
    for noise in NOISE.map(parsed) {
        let state = with(w, &request.name, &id, &[noise]).await?;
        hold!(
            state.kind() == StateKind::Provisioning,
            "{} has no address but {noise}, and get {id} answered {state:?}; Provisioning was due",
            request.name
        );
    }
    let mut all: Vec<IpAddr> = NOISE.map(parsed).into();
    all.extend([own, parsed(BRIDGE)]);
    for among in had(w, &request.name, all, own).await? {
        let state = with(w, &request.name, &id, &among).await?;
        hold!(
            state == State::Running { address: own },
            "among {among:?}, most trusted first, {own} is the instance's own, but get {id} answered {state:?}"
        );
    }
    // An address may change while the instance lives, after a reboot say.
    let new = parsed("203.0.113.9");
    w.restart(&Tweaks::common("addressRanges", json!([format!("{own}/32"), "203.0.113.0/24"])))?;
    for (now, before) in [(own, "others"), (new, "its first one")] {
        let state = with(w, &request.name, &id, &[now]).await?;
        hold!(
            state == State::Running { address: now },
            "{} has the address {now} alone, before it had {before}, but get {id} answered {state:?}; {now} was due",
            request.name
        );
    }
    Ok(())
}

pub(super) const ADDRESS_FAMILY_AND_RANGES: Rule = Rule {
    id: "get.address-family-and-ranges",
    level: Level::Must,
    says: "The address is of the configured family and, where they are set, inside the entry's addressRanges.",
    caller: Caller::Reconciler,
    applies: always,
    check: Check::Case(|w| family_and_ranges(w).boxed()),
    absent: None,
    why: "On a dual-stack network the first address may be IPv6, and a guest in two networks may show first \
          the one that the operator cannot reach. Probes then fail on a proxy that is well.",
    tested: "Sets `addressRanges`, then `addressFamily`, and gives the instance addresses that fit and that \
             do not, in this order and that. Get must answer Running with the one that fits, and \
             Provisioning where none does.",
    mend: "Give the entry's `AddressPolicy` (`Shared::addresses`, which holds `addressFamily` and \
           `addressRanges`) to the one place that picks, and use `AddressPolicy::pick`. Ask the backend for \
           both families, drop none before that, and fall back to none that it passes over.",
};

async fn family_and_ranges(w: &mut World) -> Checked {
    let (request, id, instance) = w.running().await?;
    let own = address(&instance)?;
    let name = &request.name;
    // Documentation ranges, which no backend gives out.
    let (other, six) = (parsed("203.0.113.9"), parsed("2001:db8::9"));

    w.restart(&Tweaks::common("addressRanges", json!([format!("{own}/32")])))?;
    for among in had(w, name, vec![other, own], own).await? {
        let state = with(w, name, &id, &among).await?;
        hold!(
            state == State::Running { address: own },
            "addressRanges has {own} alone; of {among:?}, get {id} answered {state:?}; {own} was due"
        );
    }
    w.restart(&Tweaks::common("addressRanges", json!(["203.0.113.0/24"])))?;
    let state = with(w, name, &id, &[own]).await?;
    hold!(
        state.kind() == StateKind::Provisioning,
        "{own} lies outside of addressRanges, but get {id} answered {state:?}; Provisioning was due"
    );
    for among in had(w, name, vec![own, other], other).await? {
        let state = with(w, name, &id, &among).await?;
        hold!(
            state == State::Running { address: other },
            "of {among:?} only {other} lies in addressRanges, but get {id} answered {state:?}"
        );
    }

    w.restart(&Tweaks::common("addressFamily", "ipv6"))?;
    // Which of both tells who never heard of the family; the wrong one alone, who falls back to it.
    for among in had(w, name, vec![own, six], six).await? {
        let state = with(w, name, &id, &among).await?;
        hold!(
            state == State::Running { address: six },
            "addressFamily is ipv6; of {among:?}, get {id} answered {state:?}; {six} was due"
        );
    }
    let state = with(w, name, &id, &[own]).await?;
    hold!(
        state.kind() == StateKind::Provisioning,
        "addressFamily is ipv6 and {name} has {own} alone, but get {id} answered {state:?}; Provisioning was due"
    );
    w.restart(&Tweaks::common("addressFamily", "ipv4"))?;
    for among in had(w, name, vec![six, own], own).await? {
        let state = with(w, name, &id, &among).await?;
        hold!(
            state == State::Running { address: own },
            "addressFamily is ipv4; of {among:?}, get {id} answered {state:?}; {own} was due"
        );
    }
    Ok(())
}

/// All of these addresses at once; where a backend shows no such set, as many as it shows beside the one that counts:
/// two of different families, or that one alone.
async fn had(w: &World, name: &Name, all: Vec<IpAddr>, counts: IpAddr) -> Checked<Vec<Vec<IpAddr>>> {
    if w.hand().set_addresses(name, &all).await.is_ok() {
        return Ok(vec![all]);
    }
    let others = all.into_iter().filter(|address| address.is_ipv4() != counts.is_ipv4());
    let mut sets = Vec::new();
    for pair in others.flat_map(|other| [vec![other, counts], vec![counts, other]]) {
        if w.hand().set_addresses(name, &pair).await.is_ok() {
            sets.push(pair);
        }
    }
    sets.push(vec![counts]);
    Ok(sets)
}

/// What get answers while the instance has these addresses.
async fn with(w: &World, name: &Name, id: &ProviderId, addresses: &[IpAddr]) -> Checked<State> {
    w.hand().set_addresses(name, addresses).await?;
    w.catch_up().await;
    Ok(w.gets(id).await?.state)
}

fn address(instance: &Instance) -> Checked<IpAddr> {
    match instance.state {
        State::Running { address } => Ok(address),
        ref state => broken!("{} was to run, and is {state:?}", instance.id),
    }
}

fn parsed(text: &str) -> IpAddr {
    text.parse().expect("an address")
}
