//! What `create` is asked for.

use std::num::NonZeroU16;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::{FailureId, Name, Scrubber, Secret, Uid};

/// The object that an instance belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Owner {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its `apiVersion`, group included.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
}

/// Where and as what the instance is to run. Which fields count, the profile says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Placement {
    /// A region of the backend.
    pub region: Option<String>,
    /// A zone, host or node of the backend.
    pub zone: Option<String>,
    /// A machine type: a name of the backend's or of the entry's catalogue.
    pub machine_type: Option<String>,
    /// An image: a name of the entry's catalogue, or what `allowedImagePrefixes` lets through.
    pub image: Option<String>,
}

/// A user name and a password for the proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// The user name.
    pub username: String,
    /// The password.
    pub password: Secret,
}

/// Who may use the proxy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// The networks it may be used from; empty means that the entry's default stands.
    pub allowed_sources: Vec<IpNet>,
    /// What its users must present, if anything.
    pub credentials: Option<Credentials>,
}

/// Everything `create` needs to know. The installation identity is the provider's own, not part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CreateRequest {
    /// The instance's name; always [`Name::from_uid`] of `uid`.
    pub name: Name,
    /// The owner's UID, which goes into the mark.
    pub uid: Uid,
    /// The owner.
    pub owner: Owner,
    /// Where and as what.
    pub placement: Placement,
    /// User data, byte for byte.
    pub cloud_init: Secret,
    /// The port that the proxy listens on.
    pub port: NonZeroU16,
    /// Who may use it.
    pub access: Access,
    /// The late failure that the caller has seen: it and older ones count as absent (contract 2.1).
    pub acknowledged_failure: Option<FailureId>,
}

impl CreateRequest {
    /// The port when none is given: Squid's.
    pub const DEFAULT_PORT: NonZeroU16 = NonZeroU16::new(3128).expect("3128 is not zero");

    /// A request with the name that belongs to `uid`, no placement, the default port and no access list.
    pub fn new(uid: Uid, owner: Owner, cloud_init: Secret) -> Self {
        Self {
            name: Name::from_uid(&uid),
            uid,
            owner,
            placement: Placement::default(),
            cloud_init,
            port: Self::DEFAULT_PORT,
            access: Access::default(),
            acknowledged_failure: None,
        }
    }

    /// A scrubber that knows every secret of this request.
    pub fn scrubber(&self) -> Scrubber {
        let mut scrubber = Scrubber::default();
        scrubber.hide(self.cloud_init.reveal());
        if let Some(credentials) = &self.access.credentials {
            scrubber.hide(credentials.password.reveal());
        }
        scrubber
    }
}
