//! The ways of a backend, as data: what takes how long, what is locked, what states are called.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::Duration,
};

use super::Source;

/// How a backend behaves. The default is the simplest one: it makes an instance at once, which boots for 20 seconds,
/// removes it in 3, and has neither tasks nor locks nor parts.
///
/// ```
/// use std::time::Duration;
/// use providertest::fake::store::{States, Ways};
///
/// let ways = Ways {
///     work: Duration::from_secs(2),
///     tasks: true,
///     rights: &["machines.read", "machines.write"],
///     states: States { making: "PROVISIONING", booting: "STAGING", up: "RUNNING", ..States::default() },
///     ..Ways::default()
/// };
/// assert_eq!(ways.removal, Duration::from_secs(3));
/// ```
#[derive(Clone, Debug)]
pub struct Ways {
    /// How long what was accepted takes until an instance is made.
    pub work: Duration,
    /// How long it boots then, or once it is started.
    pub boot: Duration,
    /// Whether what was made stays off until it is started by a call of its own ([`Store::start`](super::Store::start)).
    pub made_off: bool,
    /// How long a removal takes; at once when it is zero.
    pub removal: Duration,
    /// Whether making an instance is a task that can be asked for, and may be made to fail.
    pub tasks: bool,
    /// Whether an instance is locked while it is made, for as long as `work`.
    pub locks: bool,
    /// The native states in which somebody else's work locks an instance: `backup`.
    pub locking: &'static [&'static str],
    /// How far a listing of instances or of parts may be behind. It is as far behind as it may be, so that a provider
    /// cannot but notice.
    pub lag: Duration,
    /// Whether pages go by number over what stands when each is asked for, and shift when something comes or goes between
    /// two of them ([`numbered_page`](super::numbered_page)). Otherwise a token says after which row the next page begins,
    /// and nothing shifts.
    pub numbered_pages: bool,
    /// What becomes of the parts of an instance.
    pub parts: Parts,
    /// Whether the quota is one of room that parts take: with it used up no part is made, and an instance whose parts are
    /// there still is.
    pub parts_need_room: bool,
    /// Whether it refuses to remove a part that another instance than its own has come to need. Where it does not, it
    /// only says that the part is used, and whoever removes parts has to look.
    pub guards_borrowed: bool,
    /// Whether keys are numbers, not names: what others plant then gets numbers. Which number a made instance has, its
    /// handler says in [`New::key`](super::New::key).
    pub numbered: bool,
    /// What the key is that is made of a number: the number itself, or [`uuid`] where the backend gives out such.
    /// [`Store::new_key`](super::Store::new_key) makes one.
    pub key_of: fn(number: u64) -> String,
    /// Whether a key is one of the whole backend, not of its place.
    pub wide_keys: bool,
    /// Whether instances move between places.
    pub moves: bool,
    /// The rights that a token can hold, as the backend names them; the check names the one that is missing.
    pub rights: &'static [&'static str],
    /// What its native states are called.
    pub states: States,
    /// Whether an instance has no more than one address: the first of its addresses.
    pub one_address: bool,
    /// The addresses of the instance with that number in the place with that index, the most trusted first. They show once
    /// it is up. [`leases`] is the default.
    pub addresses: fn(place: usize, number: u16) -> Vec<(Source, IpAddr)>,
}

/// What becomes of the parts of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// There are none.
    None,
    /// They come and go with their instance.
    Cascade,
    /// They are made before it and removed after it, each by a call of its own.
    Explicit,
}

/// What native states are called, by what the clock says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct States {
    /// It is a placeholder.
    pub bare: &'static str,
    /// It is being made, for as long as `Ways::work`.
    pub making: &'static str,
    /// It boots, for as long as `Ways::boot`.
    pub booting: &'static str,
    /// It is up, and its addresses show.
    pub up: &'static str,
    /// It is made and was not started.
    pub stopped: &'static str,
    /// Its removal has begun, where that shows as a state; it is no row of the profile's table.
    pub going: Option<&'static str>,
}

impl Default for Ways {
    fn default() -> Self {
        Self {
            work: Duration::ZERO,
            boot: Duration::from_secs(20),
            made_off: false,
            removal: Duration::from_secs(3),
            tasks: false,
            locks: false,
            locking: &[],
            lag: Duration::ZERO,
            numbered_pages: false,
            parts: Parts::None,
            parts_need_room: false,
            guards_borrowed: true,
            numbered: false,
            key_of: |number| number.to_string(),
            wide_keys: false,
            moves: false,
            rights: &[],
            states: States::default(),
            one_address: false,
            addresses: leases,
        }
    }
}

impl Default for States {
    fn default() -> Self {
        Self {
            bare: "bare",
            making: "pending",
            booting: "starting",
            up: "running",
            stopped: "stopped",
            going: None,
        }
    }
}

/// A UUID made of a number, of no meaning and no order: for [`Ways::key_of`].
pub fn uuid(number: u64) -> String {
    // Multiplied by an odd number, for otherwise they would sort as the numbers do.
    let (high, low) = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32, number & 0xffff_ffff_ffff);
    format!("{high:08x}-0000-4000-8000-{low:012x}")
}

/// One private address of each family, no two instances the same.
pub fn leases(place: usize, number: u16) -> Vec<(Source, IpAddr)> {
    let place = place as u8;
    let [high, low] = number.to_be_bytes();
    let v4 = Ipv4Addr::new(10, place.wrapping_add(20), high, low.max(1));
    let v6 = Ipv6Addr::new(0x2001, 0xdb8, place.into(), 0, 0, 0, 0, number.max(1));
    vec![(Source::Lease, v4.into()), (Source::Lease, v6.into())]
}
