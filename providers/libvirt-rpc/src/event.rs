//! Events: how they are asked for, and what comes then. Events come as packets of kind
//! [`Message`](crate::packet::Kind::Message) and are told apart by their procedure; their serial says nothing.

use crate::{
    calls::calls,
    error::Domain,
    procedure::Procedure,
    xdr::{DecodeError, from_bytes, structs},
};

/// The kinds of events that [`ConnectDomainEventCallbackRegisterAny`] asks for.
pub mod kind {
    /// A domain was defined, started, stopped, …
    pub const LIFECYCLE: i32 = 0;
    /// A guest has started anew by itself.
    pub const REBOOT: i32 = 1;
    /// A guest's agent has come or gone.
    pub const AGENT_LIFECYCLE: i32 = 18;
    /// Metadata was changed.
    pub const METADATA_CHANGE: i32 = 23;
}

/// What [`Lifecycle`] tells.
pub mod lifecycle {
    /// It was defined.
    pub const DEFINED: i32 = 0;
    /// Its definition is gone.
    pub const UNDEFINED: i32 = 1;
    /// It was started.
    pub const STARTED: i32 = 2;
    /// It was paused.
    pub const SUSPENDED: i32 = 3;
    /// It goes on.
    pub const RESUMED: i32 = 4;
    /// It has stopped.
    pub const STOPPED: i32 = 5;
    /// Its guest has ended.
    pub const SHUTDOWN: i32 = 6;
    /// Its guest sleeps.
    pub const PMSUSPENDED: i32 = 7;
    /// Its guest has crashed.
    pub const CRASHED: i32 = 8;
}

calls! {
    /// Asks for a kind of event, of one domain or of all.
    ConnectDomainEventCallbackRegisterAny { event: i32, dom: Option<Domain> } -> Callback;
    /// Asks no longer.
    ConnectDomainEventCallbackDeregisterAny { callback: i32 } -> ();
}

structs! {
    /// What a request for events is called from now on.
    pub struct Callback {
        /// Its number; 0 is one too.
        pub callback: i32,
    }

    /// A domain has changed what it does.
    pub struct Lifecycle {
        /// Which request it answers.
        pub callback: i32,
        /// The domain.
        pub dom: Domain,
        /// One of [`lifecycle`].
        pub event: i32,
        /// Why, by a number within that event.
        pub detail: i32,
    }

    /// A guest has started anew.
    pub struct Reboot {
        /// Which request it answers.
        pub callback: i32,
        /// The domain.
        pub dom: Domain,
    }

    /// An agent has come or gone.
    pub struct AgentLifecycle {
        /// Which request it answers.
        pub callback: i32,
        /// The domain.
        pub dom: Domain,
        /// 1 for here, 2 for gone.
        pub state: i32,
        /// Why.
        pub reason: i32,
    }

    /// Metadata was changed.
    pub struct MetadataChange {
        /// Which request it answers.
        pub callback: i32,
        /// The domain.
        pub dom: Domain,
        /// The kind of metadata.
        pub kind: i32,
        /// The namespace of an element.
        pub uri: Option<String>,
    }

    /// The daemon has lost its hypervisor.
    pub struct ConnectionClosed {
        /// 0 an error, 1 its end, 2 no sign of life, 3 asked to.
        pub reason: i32,
    }
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A domain has changed what it does.
    Lifecycle(Lifecycle),
    /// A guest has started anew.
    Reboot(Reboot),
    /// An agent has come or gone.
    AgentLifecycle(AgentLifecycle),
    /// Metadata was changed.
    MetadataChange(MetadataChange),
    /// The daemon has lost its hypervisor.
    ConnectionClosed(ConnectionClosed),
}

impl Event {
    /// The event of a message; `None` for one that this crate does not know.
    ///
    /// # Errors
    /// [`DecodeError`] when the payload is not what the procedure says.
    pub fn of(procedure: Procedure, payload: &[u8]) -> Result<Option<Self>, DecodeError> {
        Ok(Some(match procedure {
            Procedure::DomainEventCallbackLifecycle => Self::Lifecycle(from_bytes(payload)?),
            Procedure::DomainEventCallbackReboot => Self::Reboot(from_bytes(payload)?),
            Procedure::DomainEventCallbackAgentLifecycle => Self::AgentLifecycle(from_bytes(payload)?),
            Procedure::DomainEventCallbackMetadataChange => Self::MetadataChange(from_bytes(payload)?),
            Procedure::ConnectEventConnectionClosed => Self::ConnectionClosed(from_bytes(payload)?),
            _ => return Ok(None),
        }))
    }
}
