//! The hosts, and the connections to each that wait for their next operation. An operation has a connection for itself, so
//! that a call that hangs or is dropped ends no other's.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use libvirt_model::{Config, Host, LibvirtError, Meaning, Way};
use provider_api::{Budgets, CallError, CallKind, Context, Deadline, Error, Seam};

use super::{Called, Connection, Session, Sockets};
use crate::{
    backend::{CONNECT_CLOSE, CONNECT_OPEN, DIAL},
    dial::{Dial, Fingerprint},
    error::{ClientError, Refused, overlong},
};

/// The way to all hosts of an entry.
pub(crate) struct Hosts {
    config: Config,
    context: Context,
    dial: Arc<dyn Dial>,
    budgets: Budgets,
    sockets: Sockets,
    idle: Mutex<HashMap<String, Vec<Idle>>>,
}

struct Idle {
    credentials: Fingerprint,
    connection: Connection,
}

/// A connection for the time of an operation. Dropped, it waits for the next one.
pub(crate) struct Lease {
    hosts: Arc<Hosts>,
    pub(crate) host: Host,
    pub(crate) seam: Seam,
    credentials: Fingerprint,
    connection: Option<Connection>,
    /// Whether nothing was asked on it since it lay idle: it may have died meanwhile, and nobody has noticed.
    untried: bool,
    /// When all of it must be over.
    by: Option<Deadline>,
}

impl Hosts {
    pub(crate) fn new(config: Config, context: Context, dial: Arc<dyn Dial>, budgets: Budgets) -> Self {
        let (sockets, idle) = (Sockets::default(), Mutex::default());
        Self { config, context, dial, budgets, sockets, idle }
    }

    /// A connection that lay idle, or a new one.
    pub(crate) async fn lease(self: &Arc<Self>, seam: &Seam, host: &Host) -> Result<Lease, Error> {
        let mut lease = self.unconnected(seam, host, None).await?;
        match self.take(&host.name, lease.credentials) {
            Some(idle) => (lease.connection, lease.untried) = (Some(idle), true),
            None => lease.connection = Some(lease.dialled().await?),
        }
        Ok(lease)
    }

    /// A new connection, which nobody has used, and whose calls are all over by then.
    pub(crate) async fn fresh(
        self: &Arc<Self>,
        seam: &Seam,
        host: &Host,
        by: Deadline,
    ) -> Result<Lease, Refused> {
        let mut lease = self.unconnected(seam, host, Some(by)).await.map_err(Refused::before_the_call)?;
        lease.connection = Some(lease.dialled().await?);
        Ok(lease)
    }

    async fn unconnected(
        self: &Arc<Self>,
        seam: &Seam,
        host: &Host,
        by: Option<Deadline>,
    ) -> Result<Lease, Error> {
        Ok(Lease {
            credentials: self.credentials(seam, host).await?,
            hosts: Arc::clone(self),
            host: host.clone(),
            seam: seam.clone(),
            connection: None,
            untried: false,
            by,
        })
    }

    /// The credentials of this moment (`runtime.credentials-rotate`).
    async fn credentials(&self, seam: &Seam, host: &Host) -> Result<Fingerprint, Error> {
        if matches!(host.way, Way::Local { .. }) {
            return Ok(Fingerprint::default());
        }
        let config = self.config.clone();
        let read = seam.local(move || Fingerprint::read(&config)).await;
        read.unwrap_or_else(|late| Err(overlong("reading the credentials", late)))
    }

    /// The connection that lay idle for the shortest time, of those that the credentials of now have made.
    fn take(&self, host: &str, credentials: Fingerprint) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = idle.get_mut(host)?;
        waiting.retain(|idle| idle.credentials == credentials && !idle.connection.is_broken());
        waiting.pop().map(|idle| idle.connection)
    }

    fn give_back(&self, host: &str, idle: Idle) {
        if idle.connection.is_broken() {
            return;
        }
        idle.connection.forget();
        let mut all = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(host.to_owned()).or_default().push(idle);
    }
}

impl Lease {
    async fn dialled(&self) -> Result<Connection, Refused> {
        let (hosts, host) = (&self.hosts, &self.host);
        let doing = format!("connecting to host {}", host.name);
        let refused = |error: CallError<ClientError>, kind| Refused::of(&error, kind, &doing);
        let dialling = async { hosts.dial.dial(host, self.credentials).await.map_err(ClientError::Way) };
        let stream = self.seam.call_within(self.budget(DIAL), DIAL, &host.name, dialling).await;
        let stream = stream.map_err(|error| refused(error, DIAL))?;
        let relay = hosts.sockets.relay(stream, &hosts.context);
        let relay = relay.map_err(|error| refused(error.into(), CONNECT_OPEN))?;
        let called = Called { seam: &self.seam, budget: self.budget(CONNECT_OPEN), kind: CONNECT_OPEN };
        Connection::open(called, &host.name, relay).await.map_err(|error| refused(error, CONNECT_OPEN))
    }

    /// How long a call may take.
    fn budget(&self, kind: CallKind) -> Duration {
        let budgets = &self.hosts.budgets;
        let connects = [DIAL, CONNECT_CLOSE].contains(&kind);
        let own = if connects { budgets.connect } else { budgets.of_call(kind) };
        self.by.map_or(own, |by| own.min(by.remaining(self.seam.clock())))
    }

    /// Makes a call that reads. One that finds a connection dead which lay idle is made once more, on a new one: nobody
    /// has asked anything on it yet, so nothing is lost.
    pub(crate) async fn read<T: Send + 'static>(
        &mut self,
        kind: CallKind,
        target: &str,
        work: impl Fn(&mut Session) -> Result<T, LibvirtError> + Clone + Send + 'static,
    ) -> Result<T, Refused> {
        let untried = std::mem::take(&mut self.untried);
        let result = self.write(kind, target, work.clone()).await;
        if !untried || !matches!(&result, Err(refused) if refused.meaning == Meaning::ConnectionGone) {
            return result;
        }
        self.connection = None;
        self.connection = Some(self.dialled().await?);
        self.write(kind, target, work).await
    }

    /// Makes a call that changes something, once.
    pub(crate) async fn write<T: Send + 'static>(
        &mut self,
        kind: CallKind,
        target: &str,
        work: impl FnOnce(&mut Session) -> Result<T, LibvirtError> + Send + 'static,
    ) -> Result<T, Refused> {
        let doing = || format!("{} of {target} on host {}", kind.name, self.host.name);
        let called = Called { seam: &self.seam, budget: self.budget(kind), kind };
        let result = match &self.connection {
            Some(connection) => connection.call(called, target, work).await,
            None => Err(super::closed().into()),
        };
        result.map_err(|error| Refused::of(&error, kind, &doing()))
    }

    /// Whether nothing more can be asked on it.
    pub(crate) fn is_broken(&self) -> bool {
        self.connection.as_ref().is_none_or(Connection::is_broken)
    }

    /// Says goodbye to the daemon instead of keeping the connection.
    pub(crate) async fn close(mut self) {
        let Some(connection) = self.connection.take() else { return };
        let called = Called { seam: &self.seam, budget: self.budget(CONNECT_CLOSE), kind: CONNECT_CLOSE };
        // It goes anyway; a daemon that does not say goodbye has said enough elsewhere.
        let _ = connection.close(called, &self.host.name).await;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            let credentials = self.credentials;
            self.hosts.give_back(&self.host.name, Idle { credentials, connection });
        }
    }
}

impl fmt::Debug for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hosts").field("hosts", &self.config.hosts).finish_non_exhaustive()
    }
}
