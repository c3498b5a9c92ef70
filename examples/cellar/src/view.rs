//! The JSON of the API: what is sent and what is read. What a power means is `state.rs`.

use std::{collections::BTreeMap, net::IpAddr};

use provider_api::Timestamp;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

/// A machine, as a host shows it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Machine {
    /// Another one for each machine that ever had this name: deletions are bound to it.
    pub(crate) serial: String,
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) power: String,
    #[serde(default)]
    pub(crate) note: Option<String>,
    pub(crate) leases: Vec<IpAddr>,
    #[serde(default)]
    made: Option<String>,
}

impl Machine {
    /// When it was made; unreadable is unknown (`get.unreadable-created-at-is-none`).
    pub(crate) fn created_at(&self) -> Option<Timestamp> {
        self.made.as_ref()?.parse().ok()
    }

    /// Whether its deletion is in progress.
    pub(crate) fn is_deleting(&self) -> bool {
        self.power == "removing"
    }
}

/// A disk, as a listing shows it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Disk {
    pub(crate) serial: String,
    pub(crate) name: String,
    /// The box that it belongs to.
    pub(crate) used_by: Option<String>,
    #[serde(default)]
    pub(crate) made: Option<String>,
}

/// One page of machines or disks, each still unread, so that a broken one spoils no other.
#[derive(Debug, Deserialize)]
pub(crate) struct Page {
    #[serde(rename = "boxes", alias = "disks")]
    pub(crate) items: Vec<Value>,
    pub(crate) next: Option<String>,
}

/// Reads one item of a page; an unreadable one gives its name, as far as that can be read.
pub(crate) fn read<T: DeserializeOwned>(item: Value) -> Result<T, String> {
    let name = item["name"].as_str().unwrap_or("unnamed").to_owned();
    serde_json::from_value(item).map_err(|_| name)
}

/// What a host says about itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct About {
    pub(crate) revision: u64,
    pub(crate) boxes: u64,
    pub(crate) pool_free: u64,
    /// What our token may do there.
    pub(crate) scopes: Vec<String>,
}

/// A machine to be made.
#[derive(Serialize)]
pub(crate) struct NewMachine<'r> {
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) cpus: u32,
    pub(crate) disks: [&'r str; 2],
}
