//! The JSON of the API: what is sent and what is read. What a status means is `state.rs`.

use std::{collections::BTreeMap, net::IpAddr};

use data_encoding::BASE64;
use provider_api::{CreateRequest, Identity, Timestamp};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{answer::Failure, mark, placement::Placed};

/// A machine, as the API shows it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Machine {
    /// Never used again: deletions are bound to it.
    pub(crate) id: u64,
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) status: String,
    #[serde(default, rename = "public_ip")]
    pub(crate) address: Option<IpAddr>,
    #[serde(default, rename = "created")]
    created_at: Option<String>,
}

impl Machine {
    /// When it was made; unreadable is unknown (`get.unreadable-created-at-is-none`).
    pub(crate) fn created_at(&self) -> Option<Timestamp> {
        self.created_at.as_ref()?.parse().ok()
    }

    /// Whether its deletion is in progress.
    pub(crate) fn is_deleting(&self) -> bool {
        self.status == "deleting"
    }
}

/// A machine to be made.
#[derive(Serialize)]
pub(crate) struct NewMachine<'r> {
    name: &'r str,
    labels: BTreeMap<String, String>,
    #[serde(rename = "type")]
    machine_type: &'r str,
    #[serde(rename = "location")]
    place: &'r str,
    image: &'r str,
    /// Base64, since it may be any bytes.
    user_data: String,
}

impl<'r> NewMachine<'r> {
    /// What is sent for a request.
    pub(crate) fn of(request: &'r CreateRequest, placed: &'r Placed, identity: &Identity) -> Self {
        Self {
            name: request.name.as_str(),
            labels: mark::labels(identity, &request.uid),
            machine_type: &placed.machine_type,
            place: &placed.place,
            image: &placed.image,
            user_data: BASE64.encode(request.cloud_init.reveal()),
        }
    }
}

/// The answer to a look by the name.
#[derive(Debug, Deserialize)]
pub(crate) struct Found {
    pub(crate) servers: Vec<Machine>,
}

/// What the API shows an action in.
#[derive(Debug, Deserialize)]
pub(crate) struct Within<T> {
    pub(crate) action: T,
}

/// The answer to what goes on in a task.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Accepted {
    /// Its number, by which alone it is found.
    #[serde(rename = "id")]
    pub(crate) task: u64,
}

/// A task.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub(crate) enum Task {
    Running,
    Success,
    Error { error: Failure },
}

/// One page of a listing.
#[derive(Debug, Deserialize)]
pub(crate) struct Page {
    #[serde(rename = "servers")]
    pub(crate) items: Vec<Value>,
    pub(crate) meta: Meta,
}

/// Where a page stands in its listing.
#[derive(Debug, Deserialize)]
pub(crate) struct Meta {
    /// The number of the next one.
    #[serde(rename = "next_page")]
    pub(crate) next: Option<u64>,
    /// How many items there are on all pages: what is not the same on each has shifted.
    pub(crate) total: usize,
}

/// Reads one item of a listing; an unreadable one gives its name, as far as that can be read.
pub(crate) fn read<T: DeserializeOwned>(item: Value) -> Result<T, String> {
    let name = item["name"].as_str().unwrap_or("unnamed").to_owned();
    serde_json::from_value(item).map_err(|_| name)
}
