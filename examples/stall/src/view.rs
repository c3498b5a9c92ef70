//! The JSON of the API: what is sent and what is read. What a status means is `state.rs`.

use std::{collections::BTreeMap, net::IpAddr};

use data_encoding::BASE64;
use provider_api::{CreateRequest, Identity, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{error::Failure, mark, placement::Placed};

/// A machine, as the API shows it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Machine {
    /// Another one for each machine that ever had this name: deletions are bound to it.
    pub(crate) id: String,
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) tags: BTreeMap<String, String>,
    pub(crate) phase: String,
    #[serde(default)]
    pub(crate) why: Option<String>,
    #[serde(default)]
    pub(crate) ip: Option<IpAddr>,
    #[serde(default)]
    born: Option<String>,
}

impl Machine {
    /// When it was made; unreadable is unknown (`get.unreadable-created-at-is-none`).
    pub(crate) fn created_at(&self) -> Option<Timestamp> {
        self.born.as_ref()?.parse().ok()
    }

    /// Whether its deletion is in progress.
    pub(crate) fn is_deleting(&self) -> bool {
        self.phase == "dropping"
    }
}

/// One page of machines. A listing leaves each unread, so that a broken one spoils no other.
#[derive(Debug, Deserialize)]
pub(crate) struct Page<T> {
    pub(crate) machines: Vec<T>,
    #[serde(default)]
    pub(crate) cursor: Option<String>,
}

/// A task that made a machine, or failed to.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Task {
    pub(crate) task: String,
    #[serde(default)]
    pub(crate) tags: BTreeMap<String, String>,
    /// There once it has failed.
    #[serde(default)]
    pub(crate) error: Option<Failure>,
}

/// Reads one machine of a page; an unreadable one gives its name, as far as that can be read.
pub(crate) fn read_machine(item: serde_json::Value) -> Result<Machine, String> {
    let name = item["name"].as_str().unwrap_or("unnamed").to_owned();
    serde_json::from_value(item).map_err(|_| name)
}

/// What a zone says about itself.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct About {
    pub(crate) version: String,
    pub(crate) machines: u64,
    /// No limit where there is none.
    #[serde(default)]
    pub(crate) limit: Option<u64>,
    /// What our token may do there.
    pub(crate) rights: Vec<String>,
}

/// A machine to be made.
#[derive(Serialize)]
pub(crate) struct NewMachine<'r> {
    name: &'r str,
    tags: BTreeMap<String, String>,
    size: &'r str,
    image: &'r str,
    /// Base64, since it may be any bytes.
    seed: String,
}

impl<'r> NewMachine<'r> {
    /// What is sent for a request.
    pub(crate) fn of(request: &'r CreateRequest, placed: &'r Placed, identity: &Identity) -> Self {
        Self {
            name: request.name.as_str(),
            tags: mark::labels(identity, &request.uid),
            size: &placed.machine_type,
            image: &placed.image,
            seed: BASE64.encode(request.cloud_init.reveal()),
        }
    }
}
