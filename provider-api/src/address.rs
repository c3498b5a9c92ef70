//! Which of an instance's addresses counts as its own: the policy that an entry's `addressFamily` and `addressRanges` make.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// The address family of an entry, `ipv4` unless its `addressFamily` says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AddressFamily {
    /// IPv4.
    #[default]
    Ipv4,
    /// IPv6.
    Ipv6,
}

/// What makes an address usable: the configured family and, where set, the entry's `addressRanges`. A provider has it
/// from [`Shared::addresses`](crate::config::Shared::addresses).
///
/// Serves `get.address-family-and-ranges` and `get.own-address-only`.
///
/// ```
/// use provider_api::{AddressFamily, AddressPolicy};
/// let policy = AddressPolicy { family: AddressFamily::Ipv4, ranges: vec!["10.1.0.0/16".parse()?] };
/// // The most trusted source first: the lease, then what the guest says.
/// let seen = ["127.0.0.1", "172.17.0.1", "fd00::7", "10.1.2.3"].map(|address| address.parse().ok());
/// assert_eq!(policy.pick(seen.into_iter().flatten()), "10.1.2.3".parse().ok());
/// assert_eq!(policy.pick(None), None, "and the instance is Provisioning");
/// # Ok::<(), ipnet::AddrParseError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressPolicy {
    /// The family that counts; an address of the other one never does.
    pub family: AddressFamily,
    /// The ranges; empty means that any range will do.
    pub ranges: Vec<IpNet>,
}

impl AddressPolicy {
    /// Whether an address can be an instance's own: never loopback, link-local, unspecified, multicast or
    /// broadcast, in the family and inside the ranges.
    pub fn accepts(&self, address: IpAddr) -> bool {
        let sound = match (address, self.family) {
            (IpAddr::V4(v4), AddressFamily::Ipv4) => sound_v4(v4),
            (IpAddr::V6(v6), AddressFamily::Ipv6) => sound_v6(v6),
            _ => false,
        };
        sound && (self.ranges.is_empty() || self.ranges.iter().any(|range| range.contains(&address)))
    }

    /// The first address that counts, in the order given: the order of trust, then the backend's own. `None` makes the
    /// instance Provisioning (`get.no-address-is-provisioning`).
    pub fn pick(&self, addresses: impl IntoIterator<Item = IpAddr>) -> Option<IpAddr> {
        addresses.into_iter().find(|address| self.accepts(*address))
    }
}

fn sound_v4(address: Ipv4Addr) -> bool {
    !(address.is_loopback()
        || address.is_link_local()
        || address.is_unspecified()
        || address.is_multicast()
        || address.is_broadcast())
}

fn sound_v6(address: Ipv6Addr) -> bool {
    !(address.is_loopback()
        || address.is_unspecified()
        || address.is_multicast()
        || address.is_unicast_link_local()
        || address.to_ipv4_mapped().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_addresses_count() {
        let any = AddressPolicy::default();
        let pick =
            |policy: &AddressPolicy, list: &[&str]| policy.pick(list.iter().map(|a| a.parse().unwrap()));
        let noise = ["127.0.0.1", "169.254.1.1", "0.0.0.0", "224.0.0.1", "255.255.255.255", "fd00::1"];
        assert_eq!(pick(&any, &noise), None);
        assert_eq!(pick(&any, &["fd00::1", "10.0.0.7"]), Some("10.0.0.7".parse().unwrap()));
        let narrow = AddressPolicy { ranges: vec!["10.1.0.0/16".parse().unwrap()], ..any };
        assert_eq!(pick(&narrow, &["172.17.0.1", "10.1.2.3"]), Some("10.1.2.3".parse().unwrap()));
        let six = AddressPolicy { family: AddressFamily::Ipv6, ranges: vec![] };
        assert_eq!(pick(&six, &["::1", "fe80::1", "ff02::1", "::ffff:10.0.0.1", "10.0.0.1"]), None);
        assert_eq!(pick(&six, &["2001:db8::7"]), Some("2001:db8::7".parse().unwrap()));
    }
}
