//! Which addresses count as an instance's own (`get.own-address-only`, `get.address-family-and-ranges`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net};
use proptest::prelude::*;
use provider_api::{AddressFamily, AddressPolicy};

fn any_address() -> impl Strategy<Value = IpAddr> {
    let special = prop::sample::select(vec![
        "127.0.0.1",
        "169.254.9.9",
        "0.0.0.0",
        "224.0.0.251",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1",
        "ff02::1",
        "::ffff:10.0.0.1",
        "10.1.2.3",
        "2001:db8::1",
    ]);
    prop_oneof![
        any::<u32>().prop_map(|bits| Ipv4Addr::from(bits).into()),
        any::<u128>().prop_map(|bits| Ipv6Addr::from(bits).into()),
        special.prop_map(|text| text.parse().unwrap()),
    ]
}

fn any_policy() -> impl Strategy<Value = AddressPolicy> {
    let range = (any::<u32>(), 0u8..=32)
        .prop_map(|(bits, length)| IpNet::V4(Ipv4Net::new(bits.into(), length).unwrap().trunc()));
    let family = prop_oneof![Just(AddressFamily::Ipv4), Just(AddressFamily::Ipv6)];
    (family, proptest::collection::vec(range, 0..3))
        .prop_map(|(family, ranges)| AddressPolicy { family, ranges })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_accepted_can_be_an_instances_own(policy in any_policy(), address in any_address()) {
        if policy.accepts(address) {
            prop_assert!(!address.is_loopback() && !address.is_unspecified() && !address.is_multicast());
            prop_assert_eq!(address.is_ipv4(), policy.family == AddressFamily::Ipv4);
            prop_assert!(policy.ranges.is_empty() || policy.ranges.iter().any(|range| range.contains(&address)));
            match address {
                IpAddr::V4(v4) => prop_assert!(!v4.is_link_local() && !v4.is_broadcast()),
                IpAddr::V6(v6) => prop_assert!(!v6.is_unicast_link_local() && v6.to_ipv4_mapped().is_none()),
            }
        }
    }

    #[test]
    fn a_pick_is_the_first_that_is_accepted(
        policy in any_policy(),
        addresses in proptest::collection::vec(any_address(), 0..6),
    ) {
        let expected = addresses.iter().copied().find(|address| policy.accepts(*address));
        prop_assert_eq!(policy.pick(addresses), expected);
    }

    /// A narrower policy never lets more through.
    #[test]
    fn ranges_only_take_away(policy in any_policy(), address in any_address()) {
        let wide = AddressPolicy { family: policy.family, ranges: vec![] };
        prop_assert!(!policy.accepts(address) || wide.accepts(address));
    }
}
