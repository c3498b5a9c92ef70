//! A seed: its parts, what each may be, and the image they make.

use std::fmt;

use provider_api::{Error, LeftBehind, Secret};
use sha2::{Digest, Sha256};

use crate::volume;

/// What a guest's cloud-init is told at its first boot. Its `Debug` shows no user or vendor data.
///
/// ```
/// use nocloud::Seed;
/// use provider_api::Secret;
/// let seed = Seed::new("i-7d0c", "proxy-a", Secret::new(*b"#cloud-config\npackages: [squid]\n"));
/// let image = seed.image().unwrap();
/// assert_eq!(image.len(), 22_528);
/// assert_eq!(image, seed.image().unwrap(), "the same bytes for the same seed");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    instance_id: String,
    hostname: String,
    user_data: Secret,
    vendor_data: Option<Secret>,
    network_config: Option<String>,
}

/// A part of a seed, by the name of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// `meta-data`: who the instance is.
    MetaData,
    /// `user-data`: the caller's.
    UserData,
    /// `vendor-data`: the provider's.
    VendorData,
    /// `network-config`: how the guest's network is set up; without it cloud-init asks DHCP.
    NetworkConfig,
}

impl Part {
    /// The name of its file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MetaData => "meta-data",
            Self::UserData => "user-data",
            Self::VendorData => "vendor-data",
            Self::NetworkConfig => "network-config",
        }
    }

    /// The most bytes it may have. User data comes from a Kubernetes object, which holds no more than 1 MiB.
    pub const fn limit(self) -> usize {
        match self {
            Self::UserData | Self::VendorData => 1 << 20,
            Self::MetaData | Self::NetworkConfig => 1 << 16,
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why there is no image. No text quotes user or vendor data.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SeedError {
    /// A part has more bytes than fit.
    #[error("the {part} has {bytes} bytes, and may have {} at most", part.limit())]
    TooLarge {
        /// Which.
        part: Part,
        /// How many it has.
        bytes: usize,
    },
    /// An instance id that is no plain word of 1 to 128 letters, digits and `-_.:`.
    #[error("{0:?} is no instance id: it must be 1 to 128 letters, digits and -_.:")]
    BadInstanceId(String),
    /// A host name that is no DNS label.
    #[error("{0:?} is no host name: it must be 1 to 63 letters, digits and hyphens, with none at its ends")]
    BadHostname(String),
}

impl From<SeedError> for Error {
    /// Permanent: the same seed is refused again. Nothing was made of it.
    fn from(error: SeedError) -> Self {
        Self::permanent(error.to_string()).coded("SeedRefused").leaving(LeftBehind::Nothing)
    }
}

impl Seed {
    /// A seed with these parts and no more. cloud-init sets a guest up anew whenever it sees an `instance_id` that it
    /// has not seen, and ignores a seed whose id it has: it must be one that no other instance has or had.
    pub fn new(instance_id: impl Into<String>, hostname: impl Into<String>, user_data: Secret) -> Self {
        Self {
            instance_id: instance_id.into(),
            hostname: hostname.into(),
            user_data,
            vendor_data: None,
            network_config: None,
        }
    }

    /// With vendor data, which user data outweighs. [`GUEST_AGENT`](crate::GUEST_AGENT) is some.
    #[must_use]
    pub fn vendor_data(mut self, vendor_data: Secret) -> Self {
        self.vendor_data = Some(vendor_data);
        self
    }

    /// With a network config: YAML, version 1 or 2.
    #[must_use]
    pub fn network_config(mut self, network_config: impl Into<String>) -> Self {
        self.network_config = Some(network_config.into());
        self
    }

    /// Whether an image can be made of it; costs nothing, so that it can be asked before anything is called.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), SeedError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
        if !(1..=128).contains(&self.instance_id.len()) || !self.instance_id.bytes().all(plain) {
            return Err(SeedError::BadInstanceId(self.instance_id.clone()));
        }
        let label = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        let name = &self.hostname;
        let edge = name.starts_with('-') || name.ends_with('-');
        if !(1..=63).contains(&name.len()) || edge || !name.bytes().all(label) {
            return Err(SeedError::BadHostname(name.clone()));
        }
        for (part, bytes) in self.parts() {
            if bytes.len() > part.limit() {
                return Err(SeedError::TooLarge { part, bytes: bytes.len() });
            }
        }
        Ok(())
    }

    /// The image: a file system with the label `cidata`, a multiple of 2048 bytes long. The same seed gives the same
    /// bytes, always and everywhere. It holds the user data, so it is a secret too.
    ///
    /// # Errors
    /// As for [`Seed::check`].
    pub fn image(&self) -> Result<Secret, SeedError> {
        self.check()?;
        let meta_data = self.meta_data();
        let parts = [(Part::MetaData, meta_data.as_bytes())].into_iter().chain(self.parts());
        let files: Vec<_> = parts.map(|(part, bytes)| (part.as_str(), bytes)).collect();
        let digest = Sha256::digest(self.instance_id.as_bytes());
        let serial = u32::from_le_bytes([digest[0], digest[1], digest[2], digest[3]]);
        let mut image =
            volume::write(serial, &files).expect("a volume in memory that is made to measure has room");
        Ok(Secret::new(std::mem::take(&mut *image)))
    }

    /// Quoted, since an id of digits would be read as a number.
    fn meta_data(&self) -> String {
        format!("instance-id: \"{}\"\nlocal-hostname: \"{}\"\n", self.instance_id, self.hostname)
    }

    /// What was given, byte for byte.
    fn parts(&self) -> impl Iterator<Item = (Part, &[u8])> {
        let vendor_data = self.vendor_data.as_ref().map(|secret| (Part::VendorData, secret.reveal()));
        let network_config = self.network_config.as_ref().map(|text| (Part::NetworkConfig, text.as_bytes()));
        [(Part::UserData, self.user_data.reveal())].into_iter().chain(vendor_data).chain(network_config)
    }
}

#[cfg(test)]
mod tests {
    use provider_api::FailureClass;

    use super::*;

    fn seed(user_data: &[u8]) -> Seed {
        Seed::new("i-1", "proxy-a", Secret::new(user_data))
    }

    #[test]
    fn what_cannot_be_is_refused_with_the_reason() {
        for id in ["", "a b", "a\n", "a\"b", "ä", &"x".repeat(129)] {
            let refused = Seed::new(id, "a", Secret::default()).image();
            assert_eq!(refused, Err(SeedError::BadInstanceId(id.to_owned())));
        }
        for name in ["", "-a", "a-", "a.b", "a_b", "a\n", &"x".repeat(64)] {
            let refused = Seed::new("i-1", name, Secret::default()).check();
            assert_eq!(refused, Err(SeedError::BadHostname(name.to_owned())));
        }
    }

    #[test]
    fn sizes_are_refused_early_and_permanently() {
        let limit = Part::UserData.limit();
        assert!(seed(&vec![b'x'; limit]).image().unwrap().len() < limit + 30_000);
        let error = seed(&vec![b'x'; limit + 1]).check().unwrap_err();
        assert_eq!(error, SeedError::TooLarge { part: Part::UserData, bytes: limit + 1 });
        let error = Error::from(error);
        assert_eq!((error.class(), error.left_behind()), (FailureClass::Permanent, LeftBehind::Nothing));
        assert_eq!(error.message(), "the user-data has 1048577 bytes, and may have 1048576 at most");
        let vendor = seed(b"").vendor_data(Secret::new(vec![b'x'; limit + 1])).check();
        assert!(matches!(vendor, Err(SeedError::TooLarge { part: Part::VendorData, .. })));
        let network = seed(b"").network_config("x".repeat(65_537)).check();
        assert!(matches!(network, Err(SeedError::TooLarge { part: Part::NetworkConfig, bytes: 65_537 })));
        let full = seed(&vec![b'x'; limit]).vendor_data(Secret::new(vec![b'x'; limit]));
        assert!(full.network_config("x".repeat(65_536)).image().is_ok(), "all limits at once fit");
    }

    #[test]
    fn no_data_of_the_user_is_shown() {
        let seed = seed(b"password: swordfish").vendor_data(Secret::new(*b"token: swordfish"));
        let image = seed.image().unwrap();
        for shown in [format!("{seed:?}"), format!("{image:?}")] {
            assert!(!shown.contains("swordfish") && !shown.contains("password"), "{shown}");
        }
    }

    /// canonical/cloud-init#3268: the id decides whether a guest looks at its seed at all.
    #[test]
    fn bug_l18_the_instance_id_alone_makes_another_image() {
        let image = |id: &str| Seed::new(id, "proxy-a", Secret::new(*b"x")).image().unwrap();
        assert_ne!(image("i-1"), image("i-2"));
        let serial = |id: &str| image(id).reveal()[0x27..0x2b].to_vec();
        assert_ne!(serial("i-1"), serial("i-2"), "the serials of the volumes differ too");
    }

    #[test]
    fn a_small_seed_is_small() {
        let seed = seed(b"#cloud-config\npackages: [squid]\n")
            .vendor_data(Secret::new(crate::GUEST_AGENT))
            .network_config("version: 2\n");
        assert_eq!(seed.image().unwrap().len(), 11 * 2048);
    }
}
