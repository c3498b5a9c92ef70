//! The JSON of the API: what is sent and what is read. What a status means is `state.rs`.
//!
//! TO ADAPT: names and shapes. A field that is called otherwise on the wire gets a `serde(rename)` and keeps its name
//! here, so that the other files need not follow.

use std::{collections::BTreeMap, net::IpAddr};

use data_encoding::BASE64;
//@if parts
use provider_api::{CreateRequest, Identity, Secret, Timestamp};
//@else
use provider_api::{CreateRequest, Identity, Timestamp};
//@end
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

//@if tasks
use crate::{answer::Failure, mark, placement::Placed};
//@else
use crate::{mark, placement::Placed};
//@end

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
    machine_type: &'r str,
    //@if places
    #[serde(rename = "newzone")]
    place: &'r str,
    //@end
    //@if parts
    #[serde(rename = "newdisks")]
    parts: &'r [String],
    //@else
    image: &'r str,
    /// Base64, since it may be any bytes.
    user_data: String,
    //@end
}

impl<'r> NewMachine<'r> {
    /// What is sent for a request.
    pub(crate) fn of(
        request: &'r CreateRequest,
        placed: &'r Placed,
        //@if parts
        parts: &'r [String],
        //@end
        identity: &Identity,
    ) -> Self {
        Self {
            name: request.name.as_str(),
            labels: mark::labels(identity, &request.uid),
            machine_type: &placed.machine_type,
            //@if places
            place: &placed.place,
            //@end
            //@if parts
            parts,
            //@else
            image: &placed.image,
            user_data: BASE64.encode(request.cloud_init.reveal()),
            //@end
        }
    }
}
//@if parts

/// A part, as a listing shows it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Part {
    /// Another one for each part that ever had this name: deletions are bound to it.
    pub(crate) id: String,
    pub(crate) name: String,
    /// The machine that it is in use by.
    #[serde(default)]
    pub(crate) used_by: Option<String>,
    #[serde(default)]
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
    /// A copy of that image.
    Image(String),
    /// One with that content, in base64, since it may be any bytes.
    Content(String),
}

impl NewPart {
    /// A copy of an image.
    pub(crate) fn copy(image: &str) -> Self {
        Self::Image(image.to_owned())
    }

    /// One that brings user data.
    pub(crate) fn holding(content: &Secret) -> Self {
        Self::Content(BASE64.encode(content.reveal()))
    }
}
//@end
//@if wait

/// The answer to what goes on in a task.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Accepted {
    /// Its number, by which alone it is found.
    pub(crate) task: u64,
}

/// A task.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Task {
    #[serde(rename = "done")]
    pub(crate) is_done: bool,
    /// There once it has failed.
    #[serde(default)]
    pub(crate) error: Option<Failure>,
}
//@end
//@if late

/// A task that makes a machine.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Task {
    pub(crate) id: String,
    /// The labels of what it makes.
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
    /// There once it has failed.
    #[serde(default)]
    pub(crate) error: Option<Failure>,
}
//@end

//@if whole
/// A listing.
#[derive(Debug, Deserialize)]
pub(crate) struct Page {
    pub(crate) items: Vec<Value>,
}
//@else
/// One page of a listing.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Page {
    pub(crate) items: Vec<Value>,
    //@if tokens
    #[serde(rename = "nextPage")]
    pub(crate) next: Option<String>,
    //@end
    //@if numbers
    /// The number of the next one.
    #[serde(rename = "nextPage")]
    pub(crate) next: Option<u64>,
    /// How many items there are on all pages: what is not the same on each has shifted.
    pub(crate) total: usize,
    //@end
}
//@end

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
    #[serde(rename = "newmachines")]
    machines: u64,
    /// No limit where there is none.
    #[serde(default)]
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
            ("newmachines".to_owned(), self.machines.to_string()),
            ("quota".to_owned(), quota),
        ]
    }
}
