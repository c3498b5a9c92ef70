//! The JSON of the API: what is sent and what is read. What a status means is `state.rs`.
//!
//! A field that is called otherwise on the wire has a `serde(rename)`.

use std::{collections::BTreeMap, net::IpAddr};

use data_encoding::BASE64;
use provider_api::{CreateRequest, Identity, Timestamp};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{answer::Failure, mark, placement::Placed};

/// A machine, as the API shows it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Machine {
    /// Another one for each machine that ever had this name: deletions are bound to it.
    pub(crate) uid: String,
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
    #[serde(rename = "state")]
    pub(crate) status: String,
    /// Why it has that status.
    #[serde(default)]
    pub(crate) reason: Option<String>,
    /// The most trusted first.
    #[serde(default)]
    pub(crate) addresses: Vec<IpAddr>,
    #[serde(default)]
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
#[serde(rename_all = "camelCase")]
pub(crate) struct NewMachine<'r> {
    name: &'r str,
    labels: BTreeMap<String, String>,
    #[serde(rename = "size")]
    machine_type: &'r str,
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
            image: &placed.image,
            user_data: BASE64.encode(request.cloud_init.reveal()),
        }
    }
}

/// A task that makes a machine.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Task {
    #[serde(rename = "operation")]
    pub(crate) id: String,
    /// Where it works.
    pub(crate) region: String,
    /// The labels of what it makes.
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
    /// There once it has failed.
    #[serde(default)]
    pub(crate) error: Option<Failure>,
}

/// The operations about machines of one name, in every region.
#[derive(Debug, Deserialize)]
pub(crate) struct Tasks {
    pub(crate) items: Vec<Task>,
}

/// One page of a listing.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Page {
    pub(crate) items: Vec<Value>,
    #[serde(rename = "nextPageToken")]
    pub(crate) next: Option<String>,
}

/// Reads one item of a listing; an unreadable one gives its name, as far as that can be read.
pub(crate) fn read<T: DeserializeOwned>(item: Value) -> Result<T, String> {
    let name = item["name"].as_str().unwrap_or("unnamed").to_owned();
    serde_json::from_value(item).map_err(|_| name)
}
