//! Which image a request may use beside the entry's catalogue: what `allowedImagePrefixes` lets through.
//!
//! What a name resolves to when it is fetched is for whoever fetches to look at, by [`is_internal`].

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::Error;

/// What a request may name beside the catalogue. Serves `create.image-allow-list`.
///
/// A provider makes it from [`Shared::allowed_image_prefixes`](crate::config::Shared), looks in its catalogue first, and
/// asks here about anything else, before any backend call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageRules {
    /// `allowedImagePrefixes`; empty means that only the catalogue counts.
    pub allowed_prefixes: Vec<String>,
}

impl ImageRules {
    /// Whether an image that is not in the catalogue may be used.
    ///
    /// It must begin with a prefix, and end there, or go on with a separator; a prefix that itself ends with `/` lets
    /// everything below it through. Separators are `/`, `:` and `@`, in URLs `/`, `?` and `#`; so `registry.example/team`
    /// does not let `registry.example/team-evil` through. It must be written plainly: no `..`, `%2e`, backslash, white
    /// space or control character.
    ///
    /// A URL must besides be http or https, say what it is the URL of by a [`pinned_url`], and may lead inside
    /// ([`is_internal`]) only where a prefix names that very host.
    ///
    /// ```
    /// use provider_api::ImageRules;
    /// let rules = ImageRules { allowed_prefixes: vec!["https://img.example".into()] };
    /// let sum = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    /// assert!(rules.allow(&format!("https://img.example/squid.qcow2#sha256={sum}")).is_ok());
    /// assert!(rules.allow("https://img.example/squid.qcow2").is_err(), "it may change under us");
    /// assert!(rules.allow(&format!("https://img.example@evil.example/x#sha256={sum}")).is_err());
    /// ```
    ///
    /// # Errors
    /// Permanent, naming the field `placement.image`, the image, cut to 200 characters, and the prefixes.
    pub fn allow(&self, image: &str) -> Result<(), Error> {
        let refused = |why: String| {
            let shown: String = image.chars().take(200).collect();
            Err(Error::permanent(format!("placement.image {shown:?} is not in the catalogue, and {why}")))
        };
        let lower = image.to_ascii_lowercase();
        // Clients resolve dots and turn backslashes, so that a path would leave its prefix after it was judged.
        let bends = lower.contains("..") || lower.contains("%2e") || image.contains('\\');
        if bends || image.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return refused("it is not written plainly".to_owned());
        }
        if !self.allowed_prefixes.iter().any(|prefix| within(prefix, image)) {
            return refused(match self.allowed_prefixes.as_slice() {
                [] => "no other image is allowed".to_owned(),
                prefixes => format!("allowedImagePrefixes are: {}", prefixes.join(", ")),
            });
        }
        let Some((_, rest)) = image.split_once("://") else { return Ok(()) };
        let named =
            |prefix: &String| prefix.split_once("://").is_some_and(|(_, named)| host(named) == host(rest));
        if host(rest).is_empty() || (leads_inside(host(rest)) && !self.allowed_prefixes.iter().any(named)) {
            return refused(
                "it leads to an internal address that no prefix of allowedImagePrefixes names".to_owned(),
            );
        }
        if pinned_url(image).is_none() {
            return refused(
                "a URL must be http or https and end in #sha256= and 64 hexadecimal digits".to_owned(),
            );
        }
        Ok(())
    }
}

/// The URL of an image and the SHA-256 that its bytes must have, from `https://…#sha256=<64 hexadecimal digits>`; `None`
/// for anything else. Whoever fetches the first checks the bytes against the second.
pub fn pinned_url(image: &str) -> Option<(&str, &str)> {
    let (url, sum) = image.split_once("#sha256=")?;
    let authority =
        url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?.split('/').next()?;
    // A user name in a URL makes one host look like another.
    let plain = !authority.is_empty() && !authority.contains('@') && !url.contains('#');
    (plain && sum.len() == 64 && sum.bytes().all(|b| b.is_ascii_hexdigit())).then_some((url, sum))
}

fn within(prefix: &str, image: &str) -> bool {
    let separators: &[char] = if prefix.contains("://") { &['/', '?', '#'] } else { &['/', ':', '@'] };
    image
        .strip_prefix(prefix)
        .is_some_and(|rest| prefix.ends_with('/') || rest.is_empty() || rest.starts_with(separators))
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
/// link-local, private, unspecified, reserved, and the IPv6 forms that lead to such.
pub fn is_internal(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [a, b, c, _] = v4.octets();
            v4.is_loopback()
                || v4.is_private()
                || v4.is_link_local()
                || v4.is_multicast()
                || a == 0
                || a >= 240
                || (a == 100 && (64..128).contains(&b))
                || (a == 198 && (18..20).contains(&b))
                || (a == 192 && b == 0 && c == 0)
        }
        IpAddr::V6(v6) => {
            embedded_v4(v6).is_some_and(|v4| is_internal(IpAddr::V4(v4)))
                || v6.is_loopback()
                || v6.is_unspecified()
                || v6.is_multicast()
                || v6.is_unique_local()
                || v6.is_unicast_link_local()
                // The site-local addresses of old.
                || v6.segments()[0] & 0xffc0 == 0xfec0
        }
    }
}

/// The IPv4 address that an IPv6 one leads to: mapped, compatible, by NAT64 or by 6to4.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let last = || {
        let [.., a, b, c, d] = address.octets();
        Ipv4Addr::new(a, b, c, d)
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => Some(last()),
        [0, 0, 0, 0, 0, 0, high, _] if high != 0 => Some(last()),
        [0x2002, ab, cd, ..] => {
            let ([a, b], [c, d]) = (ab.to_be_bytes(), cd.to_be_bytes());
            Some(Ipv4Addr::new(a, b, c, d))
        }
        _ => None,
    }
}
