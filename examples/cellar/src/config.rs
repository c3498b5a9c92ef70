//! The entry's own block, `cellar:`. What all entries share is read elsewhere.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use provider_api::{CredentialFile, config::Fields, usable_segment};
use reqwest::Url;

/// Where the API is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// At a URL.
    Url(Url),
    /// At a socket of this machine, `unix:/path`.
    Unix(PathBuf),
}

/// A part of the backend that can fail on its own, and that instances can be made in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// `name`.
    pub name: String,
    /// `endpoint`: where its API is.
    pub endpoint: Endpoint,
    /// `decommissioned`: nothing new is made there, all else goes on (`delete.decommissioned-target`).
    pub decommissioned: bool,
}

/// The block `cellar:`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// `caFile`: the roots that vouch for the API, read whenever it is used.
    pub ca: Option<CredentialFile>,
    /// `credentialsFile`: the token, read whenever it is used.
    pub credentials: CredentialFile,
    /// `hosts`, in the order of the file; a request that names none gets the first.
    pub targets: Vec<Target>,
    /// `images`: the catalogue, from names to base disks.
    pub images: BTreeMap<String, String>,
    /// `machineTypes`: sizes by name, each a number of cpus; a request that names none gets the first.
    pub machine_types: Vec<(String, u32)>,
}

impl Config {
    /// Reads the block and reports everything that is wrong with it (`runtime.all-config-errors-at-once`).
    pub fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let ca = fields.optional::<PathBuf>("caFile").map(CredentialFile::new);
        let credentials = fields.required::<PathBuf>("credentialsFile").map(CredentialFile::new);
        let targets: Vec<_> =
            fields.each("hosts").into_iter().map(|mut target| Target::read(&mut target)).collect();
        if targets.is_empty() {
            fields.problem("hosts", "has no host; at least one is needed");
        }
        let targets: Option<Vec<_>> = targets.into_iter().collect();
        let targets = targets.filter(|targets| are_distinct(targets, fields));
        let images = fields.required::<BTreeMap<String, String>>("images");
        if images.as_ref().is_some_and(BTreeMap::is_empty) {
            fields.problem("images", "has no image; at least one is needed");
        }
        let machine_types = fields.required::<Vec<_>>("machineTypes");
        if machine_types.as_ref().is_some_and(Vec::is_empty) {
            fields.problem("machineTypes", "has no machine type; at least one is needed");
        }
        Some(Self {
            ca,
            credentials: credentials?,
            targets: targets?,
            images: images?,
            machine_types: machine_types?,
        })
    }

    /// The target of that name.
    pub(crate) fn target(&self, name: &str) -> Option<&Target> {
        self.targets.iter().find(|target| target.name == name)
    }

    /// Whether nothing new is made on that target.
    pub(crate) fn is_decommissioned(&self, target: &str) -> bool {
        self.target(target).is_some_and(|target| target.decommissioned)
    }
}

impl Endpoint {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let text = fields.required::<String>("endpoint")?;
        Self::parse(&text).map_err(|why| fields.problem("endpoint", why)).ok()
    }

    /// Reads an endpoint. The token goes there with every request, so it goes there encrypted or stays on this machine.
    fn parse(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            let path = PathBuf::from(path);
            return if path.is_absolute() {
                Ok(Self::Unix(path))
            } else {
                Err(format!("{text:?} names no absolute path"))
            };
        }
        let url = Url::parse(text).map_err(|error| format!("{text:?} is not a URL: {error}"))?;
        let local = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
        match url.scheme() {
            "https" => {}
            "http" if local => {}
            _ => return Err("expected an https URL; http would show the token to the network".to_owned()),
        }
        let plain = url.username().is_empty() && url.password().is_none();
        if !plain || url.query().is_some() || url.fragment().is_some() {
            return Err("expected a URL without user, query and fragment".to_owned());
        }
        Ok(Self::Url(url))
    }
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Url(url) => url.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl Target {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let name = fields.required::<String>("name");
        let endpoint = Endpoint::read(fields);
        let decommissioned = fields.or("decommissioned", false);
        // The names end up in ids and in paths.
        let name = name.filter(|name| {
            let usable = usable_segment(name) && !matches!(name.as_str(), "." | "..");
            if !usable {
                fields.problem("name", format!("{name:?} cannot stand as one segment of an id"));
            }
            usable
        });
        Some(Self { name: name?, endpoint: endpoint?, decommissioned })
    }
}

fn are_distinct(targets: &[Target], fields: &Fields<'_>) -> bool {
    let mut names = BTreeSet::new();
    let twice = targets.iter().find(|target| !names.insert(&target.name));
    if let Some(target) = twice {
        fields.problem("hosts", format!("two hosts are called {}", target.name));
    }
    twice.is_none()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use provider_api::{Context, Identity, InstallationId, Registry, SystemClock, TokioSpawner};

    use super::*;

    fn load(yaml: &str) -> Result<provider_api::Providers, provider_api::ConfigReport> {
        let mut registry = Registry::default();
        crate::register(&mut registry);
        let identity = Identity::new(InstallationId::parse("test").unwrap());
        registry.load(
            yaml,
            |_| {},
            |name| {
                let (clock, spawner) = (Arc::new(SystemClock::default()), Arc::new(TokioSpawner));
                Context::new(name.clone(), identity.clone(), clock, spawner)
            },
        )
    }

    #[test]
    fn the_sample_loads() {
        let providers = load(include_str!("../samples/providers.yaml")).unwrap();
        assert_eq!(providers.iter().count(), 1);
    }

    #[test]
    fn everything_that_is_wrong_is_said_at_once() {
        let yaml = "providers: [{name: a, type: cellar, cellar: {images: {}, machineTypes: {}, colour: red, \
                    hosts: [{name: a/b, endpoint: 'http://api.example'}]}}]";
        let report = load(yaml).unwrap_err().to_string();
        for wrong in
            ["hosts[0].endpoint", "credentialsFile", "hosts[0].name", "images", "machineTypes", "colour"]
        {
            assert!(report.contains(&format!("cellar.{wrong}: ")), "{wrong} in {report}");
        }
    }

    #[test]
    fn a_token_goes_nowhere_unencrypted() {
        for good in ["https://api.example/v9", "http://127.0.0.1:8080", "unix:/run/api.sock"] {
            assert!(Endpoint::parse(good).is_ok(), "{good}");
        }
        for bad in ["http://api.example", "https://me@api.example", "https://a?b", "unix:api.sock", "api"] {
            assert!(Endpoint::parse(bad).is_err(), "{bad}");
        }
    }
}
