//! The production adapter: connections of libvirt's C library, each over a relay of its own, kept for the next operation
//! and never shared by two.
//!
//! Every handle of the library lives and dies on a thread that may block, or after its relay was cut, for dropping a live
//! connection waits for the daemon without limit. The library runs no event loop here and no keepalive: whether a
//! connection is well the relay knows.

mod feed;
mod hosts;
mod numbered;
mod raw;
mod relay;
mod session;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use libvirt_model::LibvirtError;
use provider_api::{CallError, CallKind, Context, Seam, current_call};
use tempfile::TempDir;

use self::relay::Relay;
pub use self::relay::Stream;
pub(crate) use self::{
    feed::{Feed, Feeder, NobodyTakes},
    hosts::{Hosts, Lease},
    session::{DomainUuid, PoolRoom, Session, Source},
};
use crate::error::ClientError;

/// How a call is made.
#[derive(Clone, Copy)]
pub(crate) struct Called<'s> {
    pub(crate) seam: &'s Seam,
    pub(crate) budget: Duration,
    pub(crate) kind: CallKind,
}

type Answer<T> = Result<T, CallError<ClientError>>;

/// One connection of the library's.
pub(crate) struct Connection {
    /// What a thread takes for the time of a call; none once it was closed.
    session: Arc<Mutex<Option<Session>>>,
    relay: Relay,
}

/// Where relays have their sockets: a folder that only this process may enter. It is made when it is first needed.
#[derive(Debug, Default)]
pub(crate) struct Sockets {
    folder: OnceLock<TempDir>,
    count: AtomicU64,
}

/// The longest path that a unix socket can have.
const LONGEST_PATH: usize = 107;

impl Sockets {
    fn folder(&self) -> std::io::Result<&Path> {
        if let Some(folder) = self.folder.get() {
            return Ok(folder.path());
        }
        // Private to this user; what the library reads and writes there is the daemon's whole power.
        let made = tempfile::Builder::new().prefix("kvm-").tempdir_in(home())?;
        Ok(self.folder.get_or_init(|| made).path())
    }

    /// A relay to what was dialled.
    fn relay(&self, to: Box<dyn Stream>, context: &Context) -> Result<Relay, ClientError> {
        let folder = self.folder().map_err(ClientError::Here)?;
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let relay = Relay::open(folder, number, to, &*context.spawner, context.tracker.is_some());
        let relay = relay.map_err(ClientError::Here)?;
        if relay.path().as_os_str().len() > LONGEST_PATH {
            let text = format!("{} is too long for a socket: set TMPDIR to a shorter path", folder.display());
            return Err(ClientError::Here(std::io::Error::other(text)));
        }
        Ok(relay)
    }
}

/// Where the folder of sockets is made: where `TMPDIR` says, otherwise in memory where the system has such a folder.
fn home() -> PathBuf {
    let memory = Path::new("/dev/shm");
    match std::env::var_os("TMPDIR") {
        None if memory.is_dir() => memory.to_owned(),
        _ => std::env::temp_dir(),
    }
}

impl Connection {
    /// Opens a connection over a relay.
    async fn open(called: Called<'_>, target: &str, relay: Relay) -> Answer<Self> {
        let path = relay.path().to_string_lossy().into_owned();
        let opened = Self { session: Arc::default(), relay };
        let opening = move |slot: &mut Option<Session>| {
            *slot = Some(Session::open(&path)?);
            Ok(())
        };
        opened.closure(called, target, opening).await?;
        Ok(opened)
    }

    /// Whether it is known to be dead.
    fn is_broken(&self) -> bool {
        self.relay.is_broken()
    }

    /// Makes one call on a thread. Whoever drops it, and whoever finds it overlong, cuts the connection; the thread then
    /// returns at once, and does nothing more (`runtime.no-work-after-drop`).
    async fn call<T: Send + 'static>(
        &self,
        called: Called<'_>,
        target: &str,
        work: impl FnOnce(&mut Session) -> Result<T, LibvirtError> + Send + 'static,
    ) -> Answer<T> {
        let with_session = move |slot: &mut Option<Session>| match slot {
            Some(session) => Ok(work(session)?),
            None => Err(closed()),
        };
        self.closure(called, target, with_session).await
    }

    /// Says goodbye to the daemon.
    async fn close(&self, called: Called<'_>, target: &str) -> Answer<()> {
        let closing = |slot: &mut Option<Session>| {
            drop(slot.take());
            Ok(())
        };
        self.closure(called, target, closing).await
    }

    /// Forgets the handles that an operation has looked up; no call is under way.
    fn forget(&self) {
        if let Some(session) = &mut *self.session.lock().unwrap_or_else(PoisonError::into_inner) {
            session.forget();
        }
    }

    async fn closure<T: Send + 'static>(
        &self,
        Called { seam, budget, kind }: Called<'_>,
        target: &str,
        work: impl FnOnce(&mut Option<Session>) -> Result<T, ClientError> + Send + 'static,
    ) -> Answer<T> {
        let (session, relayed) = (Arc::clone(&self.session), self.relay.for_call());
        let mut unless_answered = CutUnless { answered: false, relay: &self.relay };
        let on_a_thread = move || {
            relayed.set(current_call());
            work(&mut session.lock().unwrap_or_else(PoisonError::into_inner))
        };
        let result = seam.blocking(budget, kind, target, on_a_thread).await;
        unless_answered.answered = !matches!(result, Err(CallError::Overlong(_)));
        result
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Before the session goes: only then does it not wait for the daemon.
        self.relay.cut();
    }
}

/// Cuts the relay of a call that ended without an answer.
struct CutUnless<'r> {
    answered: bool,
    relay: &'r Relay,
}

impl Drop for CutUnless<'_> {
    fn drop(&mut self) {
        if !self.answered {
            self.relay.cut();
        }
    }
}

fn closed() -> ClientError {
    let message = "the connection was closed".to_owned();
    ClientError::Libvirt(LibvirtError { code: 1, domain: 7, errno: -1, message })
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("relay", &self.relay).finish_non_exhaustive()
    }
}
