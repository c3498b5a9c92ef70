//! The JSON of the API: what is sent and what is read. What a status means is `state.rs`.

use std::{collections::BTreeMap, net::IpAddr};

use data_encoding::BASE64;
use provider_api::{CreateRequest, Identity, Secret, Timestamp};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{mark, placement::Placed};

/// A machine, as the API shows it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Machine {
    /// Another one for each machine that ever had this name: deletions are bound to it.
    #[serde(rename = "serial")]
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    #[serde(rename = "power")]
    pub(crate) status: String,
    /// Why it has that power, where that needs a word.
    #[serde(default, rename = "note")]
    pub(crate) reason: Option<String>,
    #[serde(rename = "leases")]
    pub(crate) addresses: Vec<IpAddr>,
    #[serde(default, rename = "made")]
    created_at: Option<String>,
}

impl Machine {
    /// When it was made; unreadable is unknown (`get.unreadable-created-at-is-none`).
    pub(crate) fn created_at(&self) -> Option<Timestamp> {
        self.created_at.as_ref()?.parse().ok()
    }

    /// Whether its deletion is in progress.
    pub(crate) fn is_deleting(&self) -> bool {
        self.status == "removing"
    }
}

/// A machine to be made.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NewMachine<'r> {
    labels: BTreeMap<String, String>,
    cpus: u32,
    #[serde(rename = "disks")]
    parts: &'r [String],
}

impl<'r> NewMachine<'r> {
    /// What is sent for a request.
    pub(crate) fn of(
        request: &CreateRequest,
        placed: &Placed,
        parts: &'r [String],
        identity: &Identity,
    ) -> Self {
        Self { labels: mark::labels(identity, &request.uid), cpus: placed.cpus, parts }
    }
}

/// A part, as a listing shows it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Part {
    /// Another one for each part that ever had this name: deletions are bound to it.
    #[serde(rename = "serial")]
    pub(crate) id: String,
    pub(crate) name: String,
    /// The machine that it is in use by.
    #[serde(default)]
    pub(crate) used_by: Option<String>,
    #[serde(default, rename = "made")]
    created_at: Option<String>,
}

impl Part {
    /// When it was made; unreadable is unknown.
    pub(crate) fn created_at(&self) -> Option<Timestamp> {
        self.created_at.as_ref()?.parse().ok()
    }
}

/// A part to be made.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum NewPart {
    /// A child of that base disk.
    Base(String),
    /// One with that content, in base64, since it may be any bytes.
    Content(String),
}

impl NewPart {
    /// A child of a base disk.
    pub(crate) fn copy(base: &str) -> Self {
        Self::Base(base.to_owned())
    }

    /// One that brings user data.
    pub(crate) fn holding(content: &Secret) -> Self {
        Self::Content(BASE64.encode(content.reveal()))
    }
}

/// One page of a listing.
#[derive(Debug, Deserialize)]
pub(crate) struct Page {
    #[serde(rename = "boxes", alias = "disks")]
    pub(crate) items: Vec<Value>,
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
    #[serde(rename = "revision")]
    pub(crate) version: u32,
    #[serde(rename = "boxes")]
    machines: u64,
    pool_free: u64,
    /// What our token may do there.
    #[serde(rename = "scopes")]
    pub(crate) rights: Vec<String>,
}

impl About {
    /// What of it the check shows, by the names that the profile lists.
    pub(crate) fn details(self) -> [(String, String); 3] {
        [
            ("revision".to_owned(), self.version.to_string()),
            ("boxes".to_owned(), self.machines.to_string()),
            ("poolFree".to_owned(), self.pool_free.to_string()),
        ]
    }
}
