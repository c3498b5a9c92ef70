//! What `create` is asked for: for whom, where, as what, with what user data, and who may use it.

use std::num::NonZeroU16;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::{FailureId, Name, Scrubber, Secret, Uid};

/// The object that an instance belongs to, for what refers to it by more than its [`Uid`]: an owner reference, a
/// description. Users choose these texts, so they are quoted wherever they go (`create.hostile-names`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Owner {
    /// The namespace that it is in.
    pub namespace: String,
    /// What it is called there.
    pub name: String,
    /// Its `apiVersion`, group included: `proxies.example/v1`.
    pub api_version: String,
    /// Its kind: `Proxy`.
    pub kind: String,
}

/// Where and as what the instance is to run, as a user wrote it.
///
/// Which fields count [`Profile::placement`](crate::Profile::placement) says; the others have no effect, whatever stands
/// in them (`create.ignored-placement-has-no-effect`). What config and catalogue can tell to be unsatisfiable is
/// Permanent and names the field, `placement.zone` say, before any backend call
/// (`create.rejects-unsatisfiable-before-any-call`). Whether a field that is left out has a default is the provider's
/// affair, and stands on its page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Placement {
    /// A region of the backend.
    pub region: Option<String>,
    /// A zone, host or node, by its name in the entry's config.
    pub zone: Option<String>,
    /// A machine type: a name of the backend's or of the entry's catalogue.
    pub machine_type: Option<String>,
    /// An image: a name of the entry's catalogue, or what `allowedImagePrefixes` lets through, see
    /// [`ImageRules`](crate::ImageRules).
    pub image: Option<String>,
}

/// A user name and a password for the proxy, which reach the instance byte for byte where access is delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// The user name; it is no secret.
    pub username: String,
    /// The password, which no log, error or status may show.
    pub password: Secret,
}

/// Who may use the proxy. Whether it reaches the instance [`Profile::access`](crate::Profile::access) says
/// (`create.delivers-access-and-port`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// The networks it may be used from; empty means that the entry's default stands.
    pub allowed_sources: Vec<IpNet>,
    /// What its users must present; nothing when `None`.
    pub credentials: Option<Credentials>,
}

/// Everything that `create` needs to know. The installation's identity is no part of it: a provider has that from its
/// [`Context`](crate::Context).
///
/// Its `Debug` shows no secret.
///
/// ```
/// use provider_api::{CreateRequest, Name, Owner, Placement, Secret, Uid};
/// let owner = Owner {
///     namespace: "team-a".into(),
///     name: "egress".into(),
///     api_version: "proxies.example/v1".into(),
///     kind: "Proxy".into(),
/// };
/// let uid = Uid::parse("3f2b8f0e-8d7e-4a53-9a4c-0a3a5a3c9a11")?;
/// let mut request = CreateRequest::new(uid.clone(), owner, Secret::new(*b"#cloud-config\n"));
/// request.placement = Placement { zone: Some("eu-1".into()), ..Placement::default() };
/// assert_eq!(request.name, Name::from_uid(&uid));
/// assert_eq!(request.port, CreateRequest::DEFAULT_PORT);
/// assert!(!format!("{request:?}").contains("cloud-config"));
/// # Ok::<(), provider_api::Malformed>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CreateRequest {
    /// What the instance is to be called on the backend; always [`Name::from_uid`] of `uid`.
    pub name: Name,
    /// The owner's UID, which goes into the mark.
    pub uid: Uid,
    /// The object that it is for.
    pub owner: Owner,
    /// Where and as what it is to run.
    pub placement: Placement,
    /// User data, which reaches the instance byte for byte; it need not be text (`create.delivers-cloud-init`).
    pub cloud_init: Secret,
    /// The port that the proxy listens on.
    pub port: NonZeroU16,
    /// Who may use the proxy.
    pub access: Access,
    /// The late failure that the caller has seen, as [`Error::failure`](crate::Error::failure) named it: it and older ones
    /// count as absent (`create.late-failure-then-retried`). One that the backend no longer knows acknowledges nothing.
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

    /// A scrubber that knows every secret of this request: user data and password. The provider's own credentials are
    /// the provider's to add, by [`Scrubber::hide`].
    pub fn scrubber(&self) -> Scrubber {
        let mut scrubber = Scrubber::default();
        scrubber.hide(self.cloud_init.reveal());
        if let Some(credentials) = &self.access.credentials {
            scrubber.hide(credentials.password.reveal());
        }
        scrubber
    }
}
