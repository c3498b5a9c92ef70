//! What a Proxy's spec names and others keep: user data and credentials in Secrets. Between reconciles only digests stay.

use provider_api::{Access, CreateRequest, Credentials, Owner, Secret};

use super::Shell;
use crate::{
    cluster::ClusterError,
    resource::{
        CloudInit, Connection, Digest, GROUP, Inputs, Key, Proxy, SecretData, Spec, VERSION, connection,
    },
    step::Missing,
};

/// The digests of a Proxy's inputs, or why they cannot be had, and the generation that they are for.
#[derive(Clone, Debug)]
pub(super) struct Resolved {
    generation: i64,
    inputs: Result<Inputs, Missing>,
}

/// Before anybody has looked.
pub(super) static UNKNOWN: Missing = Missing { reason: "SecretMissing", message: String::new() };

/// What an instance is made from, with its secrets. It lives for one call.
struct Contents {
    /// `None` for a text in the spec that the record at hand goes without.
    cloud_init: Option<Secret>,
    credentials: Option<Credentials>,
}

impl Resolved {
    /// Reads what a Proxy names.
    pub(super) async fn of(shell: &Shell, proxy: &Proxy) -> Self {
        let inputs = match proxy.usable() {
            Some(spec) => {
                Contents::read(shell, proxy, spec).await.map(|contents| contents.inputs(shell, spec))
            }
            // The spec itself says what is wrong with it.
            None => Err(Missing { reason: "InvalidSpec", message: "the spec cannot be used".to_owned() }),
        };
        Self { generation: proxy.generation, inputs }
    }

    /// Whether they still are what that Proxy names; what could not be read is worth another look `at_first`.
    pub(super) fn are_of(&self, proxy: &Proxy, at_first: bool) -> bool {
        let is_doubtful = self.inputs.as_ref().is_err_and(|missing| missing.reason == Missing::UNREADABLE);
        self.generation == proxy.generation && !(is_doubtful && at_first)
    }

    pub(super) fn as_ref(&self) -> Result<&Inputs, &Missing> {
        self.inputs.as_ref()
    }
}

/// The request for the instance of a Proxy that was just read, if it is still made from what has that digest.
pub(super) async fn request(
    shell: &Shell,
    proxy: &Proxy,
    spec_hash: &Digest,
    acknowledged: Option<&str>,
) -> Option<CreateRequest> {
    let spec = proxy.usable()?;
    let contents = Contents::read(shell, proxy, spec).await.ok()?;
    let inputs = contents.inputs(shell, spec);
    if spec.hash(&inputs) != *spec_hash {
        return None;
    }
    let owner = Owner {
        namespace: proxy.key.namespace.clone(),
        name: proxy.key.name.clone(),
        api_version: format!("{GROUP}/{VERSION}"),
        kind: "Proxy".to_owned(),
    };
    let mut request = CreateRequest::new(proxy.uid.clone(), owner, contents.cloud_init?);
    request.placement = spec.placement.clone();
    request.port = spec.port;
    request.access = Access { allowed_sources: inputs.allowed_sources, credentials: contents.credentials };
    request.acknowledged_failure = acknowledged.map(provider_api::FailureId::new);
    Some(request)
}

/// What is published of a Proxy that is up, if it still is what has that digest.
pub(super) async fn connection(
    shell: &Shell,
    proxy: &Proxy,
    secret: &str,
    digest: &Digest,
) -> Result<Option<Connection>, ClusterError> {
    let Some(spec) = proxy.usable() else { return Ok(None) };
    let contents = match Contents::read(shell, proxy, spec).await {
        Ok(contents) => contents,
        Err(missing) if missing.reason == Missing::UNREADABLE => {
            return Err(ClusterError::Doubtful(missing.message));
        }
        Err(_) => return Ok(None),
    };
    let inputs = contents.inputs(shell, spec);
    let Some(endpoint) = proxy.status.endpoint.clone() else { return Ok(None) };
    if connection::digest(secret, &endpoint, inputs.credentials.as_ref()) != *digest {
        return Ok(None);
    }
    let endpoint =
        endpoint.parse().map_err(|_| ClusterError::Doubtful(format!("{endpoint} is no endpoint")))?;
    Ok(Some(Connection { endpoint, credentials: contents.credentials }))
}

impl Contents {
    /// Reads what the spec names, each Secret once.
    async fn read(shell: &Shell, proxy: &Proxy, spec: &Spec) -> Result<Self, Missing> {
        let cloud_init = match &spec.cloud_init {
            CloudInit::Inline { text, .. } => text.clone().map(|text| Secret::new(text.into_bytes())),
            CloudInit::SecretRef { name, key } => {
                Some(value(&*secret(shell, proxy, name).await?, proxy, name, key)?.clone())
            }
        };
        let credentials = match &spec.credentials {
            None => None,
            Some(name) => Some(credentials(shell, proxy, name).await?),
        };
        Ok(Self { cloud_init, credentials })
    }

    fn inputs(&self, shell: &Shell, spec: &Spec) -> Inputs {
        let cloud_init = match (&spec.cloud_init, &self.cloud_init) {
            (CloudInit::Inline { digest, .. }, _) => digest.clone(),
            (CloudInit::SecretRef { .. }, read) => Digest::of(read.as_ref().map_or(&[], Secret::reveal)),
        };
        let credentials = self.credentials.as_ref().map(|Credentials { username, password }| {
            Digest::of(&[username.as_bytes(), &[0], password.reveal()].concat())
        });
        Inputs { cloud_init, credentials, allowed_sources: shell.sources(spec).to_vec() }
    }
}

async fn credentials(shell: &Shell, proxy: &Proxy, name: &str) -> Result<Credentials, Missing> {
    let data = secret(shell, proxy, name).await?;
    let username = value(&data, proxy, name, "username")?;
    let password = value(&data, proxy, name, "password")?.clone();
    match std::str::from_utf8(username.reveal()) {
        Ok(username) if !username.is_empty() => Ok(Credentials { username: username.to_owned(), password }),
        _ => Err(missing(format!("key username of Secret {}/{name} is no text", proxy.key.namespace))),
    }
}

async fn secret(shell: &Shell, proxy: &Proxy, name: &str) -> Result<Box<SecretData>, Missing> {
    let key = Key { namespace: proxy.key.namespace.clone(), name: name.to_owned() };
    match shell.cluster.secret(&key).await {
        Ok(Some(data)) => Ok(Box::new(data)),
        Ok(None) | Err(ClusterError::NotFound) => Err(missing(format!("there is no Secret {key}"))),
        Err(error) => Err(Missing { reason: Missing::UNREADABLE, message: format!("Secret {key}: {error}") }),
    }
}

fn value<'d>(data: &'d SecretData, proxy: &Proxy, name: &str, key: &str) -> Result<&'d Secret, Missing> {
    data.get(key).ok_or_else(|| missing(format!("Secret {}/{name} has no key {key}", proxy.key.namespace)))
}

fn missing(message: String) -> Missing {
    Missing { reason: "SecretMissing", message }
}
