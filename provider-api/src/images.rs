//! Which image a request may use: the entry's catalogue, and what `allowedImagePrefixes` lets through.

use std::net::IpAddr;

use crate::Error;

/// What a request may name beside the catalogue. Serves `create.image-allow-list`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageRules {
    /// `allowedImagePrefixes`; empty means that only the catalogue counts.
    pub allowed_prefixes: Vec<String>,
}

impl ImageRules {
    /// Whether an image that is not in the catalogue may be used. A prefix ends at a separator, so that
    /// `registry.example/team` does not let `registry.example/team-evil` through.
    ///
    /// # Errors
    /// Permanent, naming the field, the image and the prefixes.
    pub fn allow(&self, image: &str) -> Result<(), Error> {
        let within = |prefix: &String| {
            image.strip_prefix(prefix.as_str()).is_some_and(|rest| {
                prefix.ends_with('/') || rest.is_empty() || rest.starts_with(['/', ':', '@', '?', '#'])
            })
        };
        let plain = !image.contains("..") && !image.chars().any(|c| c.is_whitespace() || c.is_control());
        if plain && self.allowed_prefixes.iter().any(within) {
            return Ok(());
        }
        let allowed = match self.allowed_prefixes.as_slice() {
            [] => "no other image is allowed".to_owned(),
            prefixes => format!("allowedImagePrefixes are: {}", prefixes.join(", ")),
        };
        Err(Error::permanent(format!("placement.image {image:?} is not in the catalogue, and {allowed}")))
    }
}

/// Whether an address is one that an operator must not be made to fetch from unless its admin listed it: loopback,
/// link-local, private, unspecified, and their IPv6 kin.
pub fn is_internal(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            v4.is_loopback()
                || v4.is_private()
                || v4.is_link_local()
                || v4.is_unspecified()
                || v4.is_broadcast()
                || v4.is_multicast()
                || (a == 100 && (64..128).contains(&b))
        }
        IpAddr::V6(v6) => {
            v6.to_ipv4_mapped().is_some_and(|v4| is_internal(IpAddr::V4(v4)))
                || v6.is_loopback()
                || v6.is_unspecified()
                || v6.is_multicast()
                || v6.is_unique_local()
                || v6.is_unicast_link_local()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_at_a_separator() {
        let rules = ImageRules {
            allowed_prefixes: vec!["registry.example/team".into(), "https://img.example/".into()],
        };
        for good in
            ["registry.example/team/squid:6", "registry.example/team:1", "https://img.example/a.qcow2"]
        {
            assert!(rules.allow(good).is_ok(), "{good}");
        }
        for bad in [
            "registry.example/team-evil/x",
            "other/x",
            "https://img.example/../x",
            "registry.example/team/a b",
            "",
        ] {
            assert!(rules.allow(bad).is_err(), "{bad}");
        }
        assert!(ImageRules::default().allow("anything").is_err());
    }

    #[test]
    fn internal_addresses_are_known() {
        for address in [
            "127.0.0.1",
            "10.0.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "::1",
            "fd00::1",
            "fe80::1",
            "::ffff:10.0.0.1",
        ] {
            assert!(is_internal(address.parse().unwrap()), "{address}");
        }
        assert!(!is_internal("192.0.2.1".parse().unwrap()) && !is_internal("2001:db8::1".parse().unwrap()));
    }
}
