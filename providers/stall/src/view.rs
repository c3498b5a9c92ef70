//! The JSON of the API: what is sent and what is read. What a status means is `state.rs`.
//!
//! TO ADAPT: the names and shapes of your backend's own fields.

use std::{collections::BTreeMap, net::IpAddr};

use data_encoding::BASE64;
use provider_api::{CreateRequest, Identity, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{mark, placement::Placed};

/// A machine, as the API shows it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Machine {
    /// Another one for each machine that ever had this name: deletions are bound to it.
    pub(crate) id: String,
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) status: String,
    #[serde(default)]
    pub(crate) status_reason: Option<String>,
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

/// One page of machines, each still unread, so that a broken one spoils no other.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Page {
    pub(crate) machines: Vec<serde_json::Value>,
    #[serde(default)]
    pub(crate) next_page: Option<String>,
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
    pub(crate) quota: Option<u64>,
    /// What our token may do there.
    pub(crate) rights: Vec<String>,
}

/// A machine to be made.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NewMachine<'r> {
    name: &'r str,
    labels: BTreeMap<String, String>,
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
