//! What a profile declares beside the 19 axes: mobility, bindings, what becomes of the parts of a request.

use serde::Serialize;

use super::axes::axes;

axes! {
    /// The axes that were added to the 19.
    OWN_AXES:
    /// Whether an instance can come to stand elsewhere inside the provider's scope.
    Mobility = "mobility", Behavioural {
        /// It stays where it was made.
        Fixed = "fixed",
        /// It may move, and `get` finds it again (`get.finds-moved-instance`).
        Moves = "moves",
    }
    /// How many targets an entry of the config can have.
    Targets = "targets", Behavioural {
        /// Several: one can leave the config, or be decommissioned, while the entry goes on with the others.
        Several = "several",
        /// One, which is the entry's own: with it the whole entry goes.
        One = "one",
    }
    /// What a deletion is bound to (`delete.bound-to-incarnation`).
    DeleteBinding = "delete-binding", Behavioural {
        /// The incarnation: the backend refuses when another one stands there.
        Incarnation = "incarnation",
        /// The name or number: the check stands directly before the call.
        Name = "name",
    }
    /// Whether the provider gives hints of changes.
    WatchSupport = "watch", Behavioural {
        /// It gives none.
        None = "none",
        /// It gives some; see [`Watch`](crate::Watch).
        Hints = "hints",
    }
    /// What becomes of a part of the request: cloud-init, access, port.
    Delivery = "delivery", Behavioural {
        /// It reaches the instance as it was given.
        Delivered = "delivered",
        /// It has no effect, and the provider's page says so.
        Ignored = "ignored",
    }
}

/// A field of [`Placement`](crate::Placement), in [`Profile::placement`](crate::Profile::placement) where it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlacementField {
    /// [`Placement::region`](crate::Placement::region).
    Region,
    /// [`Placement::zone`](crate::Placement::zone).
    Zone,
    /// [`Placement::machine_type`](crate::Placement::machine_type).
    MachineType,
    /// [`Placement::image`](crate::Placement::image).
    Image,
}

impl PlacementField {
    /// The field as a user writes it, and as errors name it: `placement.machineType`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Region => "region",
            Self::Zone => "zone",
            Self::MachineType => "machineType",
            Self::Image => "image",
        }
    }
}
