//! Who is dialled: host, port and user, parsed strictly from the config.

use std::{fmt, net::Ipv6Addr, str::FromStr};

/// A host to dial, and as whom. It can be made only from an address and a user that can be one.
///
/// ```
/// use ssh::Target;
/// assert_eq!(Target::parse("kvm1.example.com", "libvirt").unwrap().to_string(), "libvirt@kvm1.example.com");
/// assert_eq!(Target::parse("[fd00::1]:2222", "libvirt").unwrap().to_string(), "libvirt@[fd00::1]:2222");
/// let error = Target::parse("ssh://kvm1", "libvirt").unwrap_err();
/// assert_eq!(error.field, "address");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    host: String,
    port: u16,
    user: String,
}

/// What is wrong with a target, and in which field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} {why}")]
pub struct BadTarget {
    /// `address` or `user`.
    pub field: &'static str,
    /// What is wrong, and what would be right; goes on after the field's name.
    pub why: String,
}

impl Target {
    /// The port where a config names none.
    pub const DEFAULT_PORT: u16 = 22;

    /// Takes `host`, `host:port`, an IPv4 address with or without port, an IPv6 address alone, or one in brackets with
    /// or without port. Host names become lower case.
    ///
    /// # Errors
    /// The field that cannot be used, and why.
    pub fn parse(address: &str, user: &str) -> Result<Self, BadTarget> {
        let (host, port) = split(address).map_err(|why| BadTarget { field: "address", why })?;
        let usable = |char: char| char.is_ascii_graphic() && !matches!(char, '@' | ':' | '/' | '\\');
        if user.is_empty() || user.len() > 64 || user.starts_with('-') || !user.chars().all(usable) {
            return Err(BadTarget { field: "user", why: format!("{user:?} is no name of a user") });
        }
        Ok(Self { host, port, user: user.to_owned() })
    }

    /// The host name in lower case, or the address without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The user to log in as.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Host and port as a config has them, the port only where it is not the default.
    pub fn address(&self) -> String {
        let (host, port) = (&self.host, self.port);
        match (host.contains(':'), port == Self::DEFAULT_PORT) {
            (true, false) => format!("[{host}]:{port}"),
            (false, false) => format!("{host}:{port}"),
            (_, true) => host.clone(),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.user, self.address())
    }
}

fn split(address: &str) -> Result<(String, u16), String> {
    if let Some(rest) = address.strip_prefix('[') {
        let Some((host, rest)) = rest.split_once(']') else {
            return Err(format!("{address:?} has a bracket that is not closed"));
        };
        let host = Ipv6Addr::from_str(host)
            .map_err(|_| format!("{address:?} has something in brackets that is no IPv6 address"))?;
        let port = match rest.strip_prefix(':') {
            Some(port) => parse_port(port)?,
            None if rest.is_empty() => Target::DEFAULT_PORT,
            None => {
                return Err(format!("{address:?} goes on after the bracket with something else than a port"));
            }
        };
        return Ok((host.to_string(), port));
    }
    if let Ok(host) = Ipv6Addr::from_str(address) {
        return Ok((host.to_string(), Target::DEFAULT_PORT));
    }
    let (host, port) = match address.split_once(':') {
        Some((host, port)) => (host, parse_port(port)?),
        None => (address, Target::DEFAULT_PORT),
    };
    if !is_host_name(host) {
        return Err(format!("{address:?} is no host, host:port or [IPv6]:port"));
    }
    Ok((host.to_ascii_lowercase(), port))
}

/// Letters, digits, hyphens and underscores in labels of at most 63; that takes in IPv4 addresses.
fn is_host_name(host: &str) -> bool {
    let label = |label: &str| {
        let usable = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
        !label.is_empty() && label.len() <= 63 && !label.starts_with('-') && label.chars().all(usable)
    };
    let host = host.strip_suffix('.').unwrap_or(host);
    host.len() <= 253 && host.split('.').all(label)
}

fn parse_port(port: &str) -> Result<u16, String> {
    let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let port = digits.then(|| port.parse().ok()).flatten().filter(|port| *port != 0);
    port.ok_or_else(|| "has no port from 1 to 65535 after its colon".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_split_as_they_are_meant() {
        for (address, host, port) in [
            ("kvm1", "kvm1", 22),
            ("KVM1.Example.com:2222", "kvm1.example.com", 2222),
            ("192.0.2.7", "192.0.2.7", 22),
            ("192.0.2.7:22", "192.0.2.7", 22),
            ("fd00::1", "fd00::1", 22),
            ("[fd00:0::1]", "fd00::1", 22),
            ("[FD00::1]:2222", "fd00::1", 2222),
        ] {
            let target = Target::parse(address, "root").unwrap();
            assert_eq!((target.host(), target.port()), (host, port), "{address}");
            assert_eq!(Target::parse(&target.address(), "root").unwrap(), target);
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for address in [
            "",
            ":22",
            "kvm1:",
            "kvm1:0",
            "kvm1:65536",
            "kvm1:+22",
            "kvm 1",
            "root@kvm1",
            "ssh://kvm1",
            "-oProxy",
            "a..b",
            "[kvm1]:22",
            "[fd00::1",
            "[fd00::1]22",
            "kvm1:22:22",
            "kvm1\n",
            "kvm*",
        ] {
            assert_eq!(
                Target::parse(address, "root").map_err(|error| error.field),
                Err("address"),
                "{address:?}"
            );
        }
        for user in ["", "-x", "a b", "a@b", "a\n", "ä", "a:b"] {
            assert_eq!(Target::parse("kvm1", user).map_err(|error| error.field), Err("user"), "{user:?}");
        }
    }
}
