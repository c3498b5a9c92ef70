//! What a `Proxy` asks for. It is read from the object as it stands in the cluster, every field by itself, so that one that
//! cannot be used is named and hides none of the others.

use std::num::NonZeroU16;

use ipnet::IpNet;
use provider_api::{CreateRequest, Placement, ProviderName};
use serde_json::{Map, Value};

use super::digest::{Digest, Digester};

/// The spec of a Proxy, parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// The configured provider.
    pub provider: ProviderName,
    /// Where, as what, from which image.
    pub placement: Placement,
    /// The user data.
    pub cloud_init: CloudInit,
    /// The port that the proxy listens on; 3128 when the object names none.
    pub port: NonZeroU16,
    /// Who may use the proxy. Without it the operator's `defaultAllowedSources` stand in.
    pub allowed_sources: Vec<IpNet>,
    /// The Secret with `username` and `password`, if users have to give one.
    pub credentials: Option<String>,
    /// The Secret to publish the endpoint in.
    pub connection_secret: Option<String>,
}

/// Where the user data is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloudInit {
    /// In the object itself.
    Inline {
        /// Its digest.
        digest: Digest,
        /// The text. A record that is kept for long goes without.
        text: Option<String>,
    },
    /// In a Secret of the Proxy's namespace.
    SecretRef {
        /// The Secret's name.
        name: String,
        /// The key in it.
        key: String,
    },
}

/// Why a spec cannot be acted on: the field, and what is wrong with it. The schema of the resource refuses nearly all of
/// this; objects that are older than the schema, or came by another way, end here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct Unusable(pub Vec<String>);

impl Spec {
    /// Reads the `spec` of an object.
    ///
    /// # Errors
    /// Everything that cannot be used at once, each with its path.
    pub fn read(spec: &Value) -> Result<Self, Unusable> {
        let mut problems = Vec::new();
        let spec = Fields { path: "spec".to_owned(), map: spec.as_object() };
        let provider = spec.text("provider", &mut problems);
        let provider = provider.and_then(|name| match ProviderName::parse(&name) {
            Ok(name) => Some(name),
            Err(error) => spec.problem("provider", error, &mut problems),
        });
        if provider.is_none() && problems.is_empty() {
            spec.problem::<()>("provider", "is missing", &mut problems);
        }
        let placement = spec.section("placement");
        let placement = Placement {
            region: placement.text("region", &mut problems),
            zone: placement.text("zone", &mut problems),
            machine_type: placement.text("machineType", &mut problems),
            image: placement.text("image", &mut problems),
        };
        let cloud_init = CloudInit::read(&spec.section("cloudInit"), &mut problems);
        let port = spec.port(&mut problems);
        let access = spec.section("access");
        let allowed_sources = access.ranges("allowedSources", &mut problems);
        let credentials = access.text("credentialsSecretRef", &mut problems);
        let connection_secret = spec.text("connectionSecret", &mut problems);
        match (provider, cloud_init, port) {
            (Some(provider), Some(cloud_init), Some(port)) if problems.is_empty() => Ok(Self {
                provider,
                placement,
                cloud_init,
                port,
                allowed_sources,
                credentials,
                connection_secret,
            }),
            _ => Err(Unusable(problems)),
        }
    }

    /// The digest of all that an instance is made of: a change of it replaces the instance. What Secrets hold comes in by
    /// the digests of `inputs`.
    pub fn hash(&self, inputs: &super::Inputs) -> Digest {
        let Placement { region, zone, machine_type, image } = &self.placement;
        let mut digester = Digester::new("spec/1");
        digester.text("provider", self.provider.as_str());
        for (key, value) in
            [("region", region), ("zone", zone), ("machineType", machine_type), ("image", image)]
        {
            digester.text(key, value.as_deref().unwrap_or_default());
        }
        digester.text("cloudInit", inputs.cloud_init.as_str());
        digester.text("port", &self.port.to_string());
        for source in &inputs.allowed_sources {
            digester.text("allowedSource", &source.to_string());
        }
        digester.text("credentials", inputs.credentials.as_ref().map_or("", Digest::as_str));
        digester.digest()
    }

    /// Takes the user data out of a record that is kept.
    pub fn without_text(mut self) -> Self {
        if let CloudInit::Inline { text, .. } = &mut self.cloud_init {
            *text = None;
        }
        self
    }
}

impl CloudInit {
    fn read(fields: &Fields<'_>, problems: &mut Vec<String>) -> Option<Self> {
        let inline = fields.text("inline", problems);
        let reference = fields.section("secretRef");
        match (inline, reference.map.is_some()) {
            (Some(text), false) => {
                Some(Self::Inline { digest: Digest::of(text.as_bytes()), text: Some(text) })
            }
            (None, true) => {
                let name = reference.text("name", problems);
                let key = reference.text("key", problems);
                if name.is_none() || key.is_none() {
                    return reference.problem("", "needs a name and a key", problems);
                }
                Some(Self::SecretRef { name: name?, key: key? })
            }
            _ => fields.problem("", "must have exactly one of inline and secretRef", problems),
        }
    }
}

/// One mapping of an object, and where it stands.
struct Fields<'o> {
    path: String,
    map: Option<&'o Map<String, Value>>,
}

impl Fields<'_> {
    fn get(&self, key: &str) -> Option<&Value> {
        self.map?.get(key).filter(|value| !value.is_null())
    }

    fn section(&self, key: &str) -> Fields<'_> {
        Fields { path: format!("{}.{key}", self.path), map: self.get(key).and_then(Value::as_object) }
    }

    fn text(&self, key: &str, problems: &mut Vec<String>) -> Option<String> {
        match self.get(key)? {
            Value::String(text) if text.is_empty() => None,
            Value::String(text) => Some(text.clone()),
            _ => self.problem(key, "is no text", problems),
        }
    }

    fn port(&self, problems: &mut Vec<String>) -> Option<NonZeroU16> {
        let Some(value) = self.get("port") else { return Some(CreateRequest::DEFAULT_PORT) };
        let port = value.as_u64().and_then(|port| u16::try_from(port).ok()).and_then(NonZeroU16::new);
        port.or_else(|| self.problem("port", "is no port; expected 1 to 65535", problems))
    }

    fn ranges(&self, key: &str, problems: &mut Vec<String>) -> Vec<IpNet> {
        let mut ranges = Vec::new();
        let values = match self.get(key) {
            None => return ranges,
            Some(Value::Array(values)) => values,
            Some(_) => {
                self.problem::<()>(key, "is no list", problems);
                return ranges;
            }
        };
        for (index, value) in values.iter().enumerate() {
            match value.as_str().and_then(|text| text.parse().ok()) {
                Some(range) => ranges.push(range),
                None => {
                    let key = format!("{key}[{index}]");
                    self.problem::<()>(&key, "is no range such as 10.0.0.0/8", problems);
                }
            }
        }
        ranges
    }

    fn problem<T>(&self, key: &str, what: impl std::fmt::Display, problems: &mut Vec<String>) -> Option<T> {
        let dot = if key.is_empty() { "" } else { "." };
        problems.push(format!("{}{dot}{key}: {what}", self.path));
        None
    }
}
