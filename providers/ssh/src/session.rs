//! A session with a host: many channels over one connection, and its end.

use std::{fmt, sync::Arc, time::Duration};

use futures::channel::oneshot;
use provider_api::{Clock, Spawner};
use russh::{Disconnect, client::Handle};

use crate::{
    Channel, DialError, Stage, Target, channel::Stream, dial::within, ear::Ear, error::Errors,
    host_key::Accepted, refusal::channel_refusal, wire::Wire,
};

/// An authenticated connection to a host. Cheap to clone; clones are one session.
///
/// # Guarantees
/// It ends when the last clone and the last of its channels are dropped, when it is closed or cut, when the host closes
/// it, and when the host keeps still for too long. Nothing of it works on after that.
#[derive(Clone)]
pub struct Session(Arc<Inner>);

struct Inner {
    handle: Arc<Handle<Ear>>,
    wire: Arc<Wire>,
    clock: Arc<dyn Clock>,
    spawner: Arc<dyn Spawner>,
    target: Target,
    channel_budget: Duration,
    host_key: Accepted,
    cipher: String,
}

/// How long a polite goodbye may take before the connection is cut.
const GOODBYE: Duration = Duration::from_secs(1);

impl Session {
    pub(crate) fn new(
        handle: Arc<Handle<Ear>>,
        wire: Arc<Wire>,
        (clock, spawner): (Arc<dyn Clock>, Arc<dyn Spawner>),
        target: Target,
        channel_budget: Duration,
        (host_key, cipher): (Accepted, String),
    ) -> Self {
        Self(Arc::new(Inner { handle, wire, clock, spawner, target, channel_budget, host_key, cipher }))
    }

    /// Opens a stream to a unix socket on the host (`direct-streamlocal@openssh.com`). Must be polled on a tokio runtime.
    ///
    /// Dropping the future gives the channel up wherever it is: one that the host opens later is closed at once.
    ///
    /// # Errors
    /// Transient where nothing takes connections at the socket, the user may not reach it, or sshd forbids forwarding:
    /// OpenSSH does not tell them apart. Permanent where a server says that it forbids it.
    pub async fn streamlocal(&self, socket_path: &str) -> Result<Channel, DialError> {
        let errors = Errors::of(&self.0.target);
        if let Some(why) = self.ended() {
            return Err(errors.unreachable(
                Stage::Channel,
                "EPIPE",
                format!("the session ended before: {why}"),
            ));
        }
        let (send, opened) = oneshot::channel();
        let (handle, path) = (Arc::clone(&self.0.handle), socket_path.to_owned());
        let runtime = tokio::runtime::Handle::current();
        self.0.spawner.spawn(Box::pin(async move {
            // Nobody may be waiting any more; the channel then comes back unsent and is closed by being dropped.
            let opened = handle.channel_open_direct_streamlocal(path).await;
            let _ = send.send(opened.map(|channel| Stream::new(channel, runtime)));
        }));
        let opened = match within(&*self.0.clock, self.0.channel_budget, opened).await {
            Some(opened) => opened.unwrap_or(Err(russh::Error::Disconnect)),
            None => return Err(errors.overlong(Stage::Channel, self.0.channel_budget)),
        };
        let failure = match opened {
            Ok(stream) => return Ok(Channel::new(stream, self.clone())),
            Err(russh::Error::ChannelOpenFailure(failure)) => failure,
            Err(error) => {
                let why = self.ended().map_or_else(|| error.to_string(), |why| why.to_string());
                let what = format!("the session ended while opening a channel: {why}");
                return Err(errors.unreachable(Stage::Channel, "EPIPE", what));
            }
        };
        Err(channel_refusal(&errors, socket_path, &failure))
    }

    /// Whether it can still be used, as far as is known.
    pub fn is_alive(&self) -> bool {
        self.ended().is_none()
    }

    /// Why it ended; none while it lives.
    pub fn ended(&self) -> Option<Arc<str>> {
        self.0.wire.ended()
    }

    /// Waits for its end and says why it ended. The future does not keep the session.
    pub fn closed(&self) -> impl Future<Output = Arc<str>> + Send + 'static {
        self.0.wire.wait_for_end()
    }

    /// Says goodbye to the host, then cuts the connection; takes a second at most.
    pub async fn close(&self) {
        let goodbye = async {
            let _ = self.0.handle.disconnect(Disconnect::ByApplication, "", "").await;
            self.closed().await;
        };
        within(&*self.0.clock, GOODBYE, goodbye).await;
        self.cut("the session was closed");
    }

    /// Closes the connection now, from any thread and without waiting. Everything that waits on it fails with that
    /// reason.
    pub fn cut(&self, why: &str) {
        self.0.wire.cut(why);
    }

    /// Who is at the other end.
    pub fn target(&self) -> &Target {
        &self.0.target
    }

    /// Type and fingerprint of the host's key.
    pub fn host_key(&self) -> String {
        format!("{} {}", self.0.host_key.key_type, self.0.host_key.fingerprint)
    }

    /// The cipher that was agreed on.
    pub fn cipher(&self) -> &str {
        &self.0.cipher
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.wire.cut("the session was dropped");
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("target", &self.0.target)
            .field("ended", &self.ended())
            .finish_non_exhaustive()
    }
}
