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
    /// `registry.example/team` does not let `registry.example/team-evil` through. A URL needs its checksum,
    /// `sha256` and 64 hex digits in its fragment, and may lead inside only where a prefix names that very host.
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
            return self.allow_url(image);
        }
        let allowed = match self.allowed_prefixes.as_slice() {
            [] => "no other image is allowed".to_owned(),
            prefixes => format!("allowedImagePrefixes are: {}", prefixes.join(", ")),
        };
        Err(Error::permanent(format!("placement.image {image:?} is not in the catalogue, and {allowed}")))
    }

    fn allow_url(&self, image: &str) -> Result<(), Error> {
        let Some((_, rest)) = image.split_once("://") else { return Ok(()) };
        let host = host(rest);
        let named = |prefix: &String| {
            !host.is_empty() && prefix.split_once("://").is_some_and(|(_, rest)| self::host(rest) == host)
        };
        if leads_inside(host) && !self.allowed_prefixes.iter().any(named) {
            let text = format!(
                "placement.image {image:?} leads to an internal address that no prefix of allowedImagePrefixes names"
            );
            return Err(Error::permanent(text));
        }
        let checksum = rest.split_once("#sha256=").map(|(_, checksum)| checksum);
        if checksum.is_some_and(|text| text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit())) {
            return Ok(());
        }
        Err(Error::permanent(format!(
            "placement.image {image:?} is a URL without its checksum; append #sha256=…"
        )))
    }
}

/// The host of what follows a URL's scheme, without user, port and path.
fn host(rest: &str) -> &str {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let authority = authority.rsplit('@').next().unwrap_or_default();
    match authority.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    }
}

/// Whether a host is an internal address, or written so that a resolver might make one of it (`2130706433`, `0x7f.1`).
/// What a name resolves to, only who fetches can tell.
fn leads_inside(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    if let Ok(address) = host.parse() {
        return is_internal(address);
    }
    let last = host.rsplit('.').next().unwrap_or_default();
    let numeric = last.starts_with("0x") || last.bytes().all(|b| b.is_ascii_digit());
    numeric || host == "localhost" || host.ends_with(".localhost")
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
        for good in [
            "registry.example/team/squid:6",
            "registry.example/team:1",
            &summed("https://img.example/a.qcow2"),
        ] {
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

    fn summed(url: &str) -> String {
        format!("{url}#sha256={}", "0f".repeat(32))
    }

    #[test]
    fn a_url_needs_its_checksum_and_leads_outside() {
        let rules = |prefixes: &[&str]| ImageRules {
            allowed_prefixes: prefixes.iter().map(|prefix| (*prefix).to_owned()).collect(),
        };
        let any = rules(&["https://", "http://"]);
        assert!(any.allow(&summed("https://img.example/a")).is_ok());
        for bad in
            ["https://img.example/a", "https://img.example/a#sha256=12", "http://img.example/?sha256=1"]
        {
            assert!(any.allow(bad).is_err(), "{bad}");
        }
        for inside in [
            "http://169.254.169.254/latest",
            "http://user@10.0.0.1:8080/a",
            "http://[::1]/a",
            "http://2130706433/a",
            "http://0x7f.1/a",
            "http://127.1/a",
            "http://localhost:9000/a",
            "http:///a",
        ] {
            assert!(any.allow(&summed(inside)).is_err(), "{inside}");
        }
        let listed = rules(&["http://10.0.0.1/images"]);
        assert!(listed.allow(&summed("http://10.0.0.1/images/a")).is_ok());
        assert!(listed.allow(&summed("http://10.0.0.1/images/../a")).is_err());
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
