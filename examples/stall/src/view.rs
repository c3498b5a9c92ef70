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
    /// Another one for each machine that ever had this name: deletions are bound to it.
    pub(crate) id: String,
    pub(crate) name: String,
    #[serde(default, rename = "tags")]
    pub(crate) labels: BTreeMap<String, String>,
    #[serde(rename = "phase")]
    pub(crate) status: String,
    /// Why it has that phase.
    #[serde(default, rename = "why")]
    pub(crate) reason: Option<String>,
    /// It has one at most.
    #[serde(default, rename = "ip")]
    pub(crate) addresses: Option<IpAddr>,
    #[serde(default, rename = "born")]
    created_at: Option<String>,
}

impl Machine {
    /// When it was made; unreadable is unknown (`get.unreadable-created-at-is-none`).
    pub(crate) fn created_at(&self) -> Option<Timestamp> {
        self.created_at.as_ref()?.parse().ok()
    }

    /// Whether its deletion is in progress.
    pub(crate) fn is_deleting(&self) -> bool {
        self.status == "dropping"
    }
}

/// A machine to be made.
#[derive(Serialize)]
pub(crate) struct NewMachine<'r> {
    name: &'r str,
    #[serde(rename = "tags")]
    labels: BTreeMap<String, String>,
    #[serde(rename = "size")]
    machine_type: &'r str,
    image: &'r str,
    /// Base64, since it may be any bytes.
    #[serde(rename = "seed")]
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
pub(crate) struct Task {
    #[serde(rename = "task")]
    pub(crate) id: String,
    /// The tags of what it makes.
    #[serde(default, rename = "tags")]
    pub(crate) labels: BTreeMap<String, String>,
    /// There once it has failed.
    #[serde(default)]
    pub(crate) error: Option<Failure>,
}

/// One page of machines. A listing leaves each unread.
#[derive(Debug, Deserialize)]
pub(crate) struct Page<T = Value> {
    #[serde(rename = "machines")]
    pub(crate) items: Vec<T>,
    #[serde(rename = "cursor")]
    pub(crate) next: Option<String>,
}

/// Reads one item of a listing; an unreadable one gives its name, as far as that can be read.
pub(crate) fn read<T: DeserializeOwned>(item: Value) -> Result<T, String> {
    let name = item["name"].as_str().unwrap_or("unnamed").to_owned();
    serde_json::from_value(item).map_err(|_| name)
}

/// What a target says about itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct About {
    pub(crate) version: String,
    #[serde(rename = "machines")]
    machines: u64,
    /// No limit where there is none.
    #[serde(default, rename = "limit")]
    quota: Option<u64>,
    /// What our token may do there.
    pub(crate) rights: Vec<String>,
}

impl About {
    /// What of it the check shows, by the names that the profile lists.
    pub(crate) fn details(self) -> [(String, String); 3] {
        let quota = self.quota.map_or_else(|| "unlimited".to_owned(), |quota| quota.to_string());
        [
            ("version".to_owned(), self.version),
            ("machines".to_owned(), self.machines.to_string()),
            ("quota".to_owned(), quota),
        ]
    }
}
