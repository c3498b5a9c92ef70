//! The entry's own block, `kubernetes:`. What all entries share is read elsewhere; the docs' config reference follows
//! the order of the fields here.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use ipnet::IpNet;
use provider_api::config::Fields;

use crate::{id::is_namespace, squid::is_everything};

/// Where the API server is, and how to speak to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The cluster that this process runs in, by the service account mounted into its Pod.
    InCluster,
    /// A cluster that a kubeconfig names.
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// The context; the file's current one when it is left out.
        context: Option<String>,
    },
}

/// What a machine type stands for: requests and limits alike, so that the Pod gets what it asks for and no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resources {
    /// CPU, as Kubernetes writes it: `500m`.
    pub cpu: String,
    /// Memory, as Kubernetes writes it: `256Mi`.
    pub memory: String,
}

/// The block `kubernetes:`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// `kubeconfig` and `context`: which cluster.
    pub target: Target,
    /// `ownCluster`: whether that cluster is the one that the Proxies live in, so that Pods can name their owner.
    pub own_cluster: bool,
    /// `namespaces`: where Proxies may be; empty means everywhere.
    pub namespaces: Vec<String>,
    /// `defaultAllowedSources`: who may use a proxy whose `access` names nobody.
    pub default_allowed_sources: Vec<IpNet>,
    /// `image`: the container image of a Proxy that names none.
    pub image: String,
    /// `images`: the catalogue, from names to container images.
    pub images: BTreeMap<String, String>,
    /// `machineTypes`: the catalogue, from names to resources.
    pub machine_types: BTreeMap<String, Resources>,
    /// `machineType`: the resources of a Proxy that names no machine type.
    pub default_resources: Resources,
    /// `regions`: which regions are known; empty means any.
    pub regions: Vec<String>,
    /// `zones`: which zones are known; empty means any.
    pub zones: Vec<String>,
    /// `nodeSelector`: what every node must carry.
    pub node_selector: BTreeMap<String, String>,
    /// `imagePullSecrets`: names of Secrets beside the Pods.
    pub image_pull_secrets: Vec<String>,
    /// `runAsUser`: the user and group that Squid runs as; never 0.
    pub run_as_user: u32,
    /// `basicAuthHelper`: where the image has Squid's `basic_ncsa_auth`.
    pub basic_auth_helper: String,
    /// `imagePullTimeout`: how long an image that cannot be pulled counts as on its way.
    pub image_pull_timeout: Duration,
    /// `nodeLostTimeout`: how long a lost node counts as coming back.
    pub node_lost_timeout: Duration,
    /// `forceDeleteAfter`: how long after the end of its grace a Pod that does not go is deleted by force.
    pub force_delete_after: Duration,
    /// `pageSize`: how many Pods a page of a listing holds.
    pub page_size: u32,
}

impl Config {
    /// The image where the config names none. Ubuntu's, whose Squid has its helpers where we look for them.
    pub const DEFAULT_IMAGE: &'static str = "ubuntu/squid:6.6-24.04_beta";
    const MAX_PAGE: u32 = 5_000;

    /// The defaults around the one field that has none.
    pub fn new(default_allowed_sources: Vec<IpNet>) -> Self {
        Self {
            target: Target::InCluster,
            own_cluster: true,
            namespaces: Vec::new(),
            default_allowed_sources,
            image: Self::DEFAULT_IMAGE.to_owned(),
            images: BTreeMap::new(),
            machine_types: BTreeMap::new(),
            default_resources: Resources { cpu: "250m".to_owned(), memory: "256Mi".to_owned() },
            regions: Vec::new(),
            zones: Vec::new(),
            node_selector: BTreeMap::new(),
            image_pull_secrets: Vec::new(),
            // The user `proxy` of Debian and Ubuntu.
            run_as_user: 13,
            basic_auth_helper: "/usr/lib/squid/basic_ncsa_auth".to_owned(),
            image_pull_timeout: Duration::from_secs(300),
            node_lost_timeout: Duration::from_secs(300),
            force_delete_after: Duration::from_secs(300),
            page_size: 500,
        }
    }

    /// Reads the block; every problem is reported through `fields` (`runtime.all-config-errors-at-once`).
    pub fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let sources: Option<Vec<IpNet>> = fields.required("defaultAllowedSources");
        let mut config = Self::new(sources.clone().unwrap_or_default());
        let context = fields.optional("context");
        match (fields.optional::<PathBuf>("kubeconfig"), context) {
            (Some(path), context) => config.target = Target::Kubeconfig { path, context },
            (None, Some(_)) => fields.problem("context", "has no meaning without a kubeconfig"),
            (None, None) => {}
        }
        // Without a kubeconfig it is the cluster that the operator runs in.
        config.own_cluster = fields.or("ownCluster", config.target == Target::InCluster);
        config.namespaces = fields.or("namespaces", config.namespaces);
        config.image = fields.or("image", config.image);
        config.images = fields.or("images", config.images);
        config.regions = fields.or("regions", config.regions);
        config.zones = fields.or("zones", config.zones);
        config.node_selector = fields.or("nodeSelector", config.node_selector);
        config.image_pull_secrets = fields.or("imagePullSecrets", config.image_pull_secrets);
        config.run_as_user = fields.or("runAsUser", config.run_as_user);
        config.basic_auth_helper = fields.or("basicAuthHelper", config.basic_auth_helper);
        config.image_pull_timeout = fields.or("imagePullTimeout", config.image_pull_timeout);
        config.node_lost_timeout = fields.or("nodeLostTimeout", config.node_lost_timeout);
        config.force_delete_after = fields.or("forceDeleteAfter", config.force_delete_after);
        config.page_size = fields.or("pageSize", config.page_size);
        let complete = config.read_machine_types(fields);
        config.report(fields, sources.is_some());
        (complete && sources.is_some()).then_some(config)
    }

    fn read_machine_types(&mut self, fields: &mut Fields<'_>) -> bool {
        let mut complete = true;
        for (name, mut own) in fields.catalogue("machineTypes") {
            let mut quantity = |key| {
                let text: Option<String> = own.required(key);
                if let Some(bad) = text.as_ref().filter(|text| !is_quantity(text)) {
                    own.problem(key, format!("{bad:?} is not a quantity such as 500m or 256Mi"));
                }
                text
            };
            match (quantity("cpu"), quantity("memory")) {
                (Some(cpu), Some(memory)) => {
                    self.machine_types.insert(name.to_owned(), Resources { cpu, memory });
                }
                _ => complete = false,
            }
        }
        let Some(name) = fields.optional::<String>("machineType") else { return complete };
        match self.machine_types.get(&name) {
            Some(resources) => self.default_resources = resources.clone(),
            None => fields.problem("machineType", format!("{name:?} is not one of machineTypes")),
        }
        complete
    }

    fn report(&self, fields: &Fields<'_>, sources_given: bool) {
        if sources_given && self.default_allowed_sources.is_empty() {
            fields.problem("defaultAllowedSources", "is empty; expected the networks that may use a proxy");
        }
        if is_everything(&self.default_allowed_sources) {
            let why =
                "covers every address: whoever reaches a proxy could use it; name the networks that may";
            fields.problem("defaultAllowedSources", why);
        }
        for (index, namespace) in self.namespaces.iter().enumerate() {
            if !is_namespace(namespace) {
                fields.problem("namespaces", format!("[{index}] {namespace:?} is not a namespace's name"));
            }
        }
        for (key, values) in [("regions", &self.regions), ("zones", &self.zones)] {
            if let Some(bad) = values.iter().find(|value| !is_label_value(value)) {
                fields.problem(key, format!("{bad:?} is not a label value"));
            }
        }
        if !is_image(&self.image) {
            fields.problem("image", "is not a container image");
        }
        for (name, image) in &self.images {
            if !is_image(image) {
                fields.problem("images", format!("{name}: {image:?} is not a container image"));
            }
        }
        if self.run_as_user == 0 {
            fields.problem("runAsUser", "is 0; a proxy never runs as root");
        }
        if !self.basic_auth_helper.starts_with('/') || self.basic_auth_helper.contains(char::is_whitespace) {
            fields.problem("basicAuthHelper", "is not an absolute path without white space");
        }
        if self.page_size == 0 || self.page_size > Self::MAX_PAGE {
            fields.problem("pageSize", format!("is out of range: 1 to {}", Self::MAX_PAGE));
        }
    }
}

/// Whether a text can stand as a label value, which is what regions and zones are.
pub(crate) fn is_label_value(text: &str) -> bool {
    let bytes = text.as_bytes();
    let edges = [bytes.first(), bytes.last()];
    !bytes.is_empty()
        && bytes.len() <= 63
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
        && edges.into_iter().flatten().all(u8::is_ascii_alphanumeric)
}

fn is_image(text: &str) -> bool {
    !text.is_empty() && text.len() <= 512 && text.bytes().all(|b| b.is_ascii_graphic())
}

/// Whether a text is a plain positive quantity; the API server is the judge of the rest.
fn is_quantity(text: &str) -> bool {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let suffix = &text[number.len()..];
    let known = ["", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"].contains(&suffix);
    known && number.parse::<f64>().is_ok_and(|value| value.is_finite() && value > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_plain() {
        for good in ["1", "500m", "0.5", "256Mi", "2Gi", "1G"] {
            assert!(is_quantity(good), "{good}");
        }
        for bad in ["", "m", "-1", "0", "1 Gi", "256MB", "inf", "NaN", "1e", "lots"] {
            assert!(!is_quantity(bad), "{bad}");
        }
    }
}
