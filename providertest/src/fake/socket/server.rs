//! The server: its settings, and the way of one message through the wire.

use std::{
    fmt, io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::future::BoxFuture;
use provider_api::Catalogue;
use tokio::io::{AsyncRead, AsyncWrite};

use super::{Fake, Refused, connection};
use crate::{
    fake::{On, Serving, reading::listed},
    wire::{Incoming, Reply, Wire},
};

/// Longer messages are refused, unless [`Server::limit`] says otherwise.
const LIMIT: usize = 16 << 20;

/// A fake over a socket, and the wire that each message passes. Cheap to clone; clones are one server.
pub struct Server<F> {
    pub(super) fake: Arc<F>,
    pub(super) wire: Wire,
    catalogue: Catalogue,
    pub(super) target: String,
    pub(super) limit: usize,
    blocking: bool,
}

/// A session that is shared by its connection and by effects that may land when that is gone.
pub(super) type Session<F> = Arc<Mutex<<F as Fake>::Session>>;

impl<F: Fake> Server<F> {
    /// A server that answers for `fake` on the wire of its case, and refuses as the catalogue says. `target` is the part
    /// of the backend that connections are made to: its conditions reach them.
    pub fn new(fake: Arc<F>, wire: Wire, catalogue: Catalogue, target: impl Into<String>) -> Self {
        Self { fake, wire, catalogue, target: target.into(), limit: LIMIT, blocking: false }
    }

    /// With another limit for messages, in bytes, than 16 MiB. A client that says more before its message ends is reset.
    #[must_use]
    pub fn limit(self, bytes: usize) -> Self {
        Self { limit: bytes, ..self }
    }

    /// For a client that blocks a thread, and cannot say which call a message belongs to. While one closure runs, messages
    /// are taken for its call's; while several do, for nobody's, and no fault meets them.
    #[must_use]
    pub fn blocking(self) -> Self {
        Self { blocking: true, ..self }
    }

    /// Serves on a socket, from within the case's runtime.
    ///
    /// # Errors
    /// When the socket cannot be had: a path that is taken or too long, no file handle left.
    pub fn serve(&self, on: On) -> io::Result<Serving> {
        let server = self.clone();
        let converse = move |stream| -> BoxFuture<'static, ()> {
            Box::pin(connection::converse(server.clone(), stream))
        };
        Serving::open(on, self.wire.ledger().clone(), &[], Arc::new(converse))
    }

    /// Speaks with one client over a stream that somebody else has made: a channel of another protocol, a pair in memory.
    /// Returns when either of them has hung up.
    pub async fn speak(&self, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) {
        connection::converse(self.clone(), Box::new(stream)).await;
    }

    /// What the wire records of a message, and whether that may be quoted.
    pub(super) fn read(&self, session: &Session<F>, message: &[u8]) -> (Incoming, bool) {
        let reading = self.fake.read(&open(session), message);
        // A blocked thread has one call under way, and where it is the only one the message can be no other's.
        let call = if self.blocking { self.wire.ledger().running() } else { None };
        (reading.incoming(call, self.blocking), reading.payload)
    }

    /// Passes a message through the wire.
    pub(super) async fn pass(
        &self,
        session: &Session<F>,
        incoming: Incoming,
        payload: bool,
        message: Arc<[u8]>,
    ) -> Reply<Vec<u8>> {
        let of_effect = Sent {
            fake: Arc::clone(&self.fake),
            catalogue: self.catalogue,
            session: Arc::clone(session),
            message,
            payload,
        };
        let of_native = of_effect.clone();
        let effect = move || {
            let mut session = open(&of_effect.session);
            let answer = of_effect.fake.answer(&mut session, &of_effect.message);
            answer.unwrap_or_else(|Refused(id)| of_effect.native(&session, id))
        };
        let native = move |id: &str| of_native.native(&open(&of_native.session), id);
        self.wire.serve(incoming, effect, native).await
    }
}

/// A message with all that an answer to it takes.
struct Sent<F: Fake> {
    fake: Arc<F>,
    catalogue: Catalogue,
    session: Session<F>,
    message: Arc<[u8]>,
    payload: bool,
}

impl<F: Fake> Sent<F> {
    fn native(&self, session: &F::Session, id: &str) -> Vec<u8> {
        let quotes = self.payload && self.fake.quotes();
        let quoted = quotes.then(|| String::from_utf8_lossy(&self.message));
        self.fake.native(session, &self.message, listed(self.catalogue, id), quoted.as_deref())
    }
}

impl<F: Fake> Clone for Sent<F> {
    fn clone(&self) -> Self {
        Self {
            fake: Arc::clone(&self.fake),
            session: Arc::clone(&self.session),
            message: Arc::clone(&self.message),
            ..*self
        }
    }
}

pub(super) fn open<S>(session: &Mutex<S>) -> MutexGuard<'_, S> {
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<F> Clone for Server<F> {
    fn clone(&self) -> Self {
        Self { fake: Arc::clone(&self.fake), wire: self.wire.clone(), target: self.target.clone(), ..*self }
    }
}

impl<F> fmt::Debug for Server<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("target", &self.target).finish_non_exhaustive()
    }
}
