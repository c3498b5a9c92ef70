//! The dial, stage by stage, each with a budget: credentials, TCP, handshake with the host's key, authentication.

use std::{
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::{
    channel::oneshot,
    future::{Either, select},
};
use provider_api::{Clock, Deadline, Spawner, Wait};
use russh::{
    Preferred, cipher,
    client::{self, Handle},
};
use tokio::net::{TcpStream, lookup_host};

use crate::{
    Access, DialError, Keepalive, Session, Stage, Target,
    access::Material,
    auth::authenticate,
    ear::{Ear, Ended, Heard},
    error::Errors,
    host_key::{Accepted, Refused, Trust},
    keepalive::beat,
    refusal::handshake_error,
    wire::{End, Wire},
};

/// How long each stage of a dial may take, and all of them together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budgets {
    /// Reading files and opening the key.
    pub credentials: Duration,
    /// Resolving the name and connecting, all addresses together.
    pub tcp: Duration,
    /// Greeting, key exchange, judging the host's key.
    pub handshake: Duration,
    /// Logging in.
    pub auth: Duration,
    /// Opening a channel on the session.
    pub channel: Duration,
    /// All but the channel, together.
    pub total: Duration,
}

impl Budgets {
    /// Budgets for a dial that somebody waits for no longer than `limit`: a tenth of that is kept back, so that the
    /// stage that hung is named before the one who waits gives up.
    pub fn within(limit: Duration) -> Self {
        let each = limit - limit / 10;
        Self { credentials: each, tcp: each, handshake: each, auth: each, channel: each, total: each }
    }
}

impl Default for Budgets {
    /// As within 10 seconds.
    fn default() -> Self {
        Self::within(Duration::from_secs(10))
    }
}

/// Makes sessions. Cheap to clone.
#[derive(Clone)]
pub struct Dialer {
    clock: Arc<dyn Clock>,
    spawner: Arc<dyn Spawner>,
    budgets: Budgets,
    keepalive: Keepalive,
}

impl Dialer {
    /// A dialer with the default budgets and beat. Every wait comes from `clock`; files are read on `spawner`'s
    /// blocking threads and a session's beat is a task of it.
    pub fn new(clock: Arc<dyn Clock>, spawner: Arc<dyn Spawner>) -> Self {
        Self { clock, spawner, budgets: Budgets::default(), keepalive: Keepalive::default() }
    }

    /// With other budgets.
    #[must_use]
    pub fn budgets(mut self, budgets: Budgets) -> Self {
        self.budgets = budgets;
        self
    }

    /// With another beat.
    #[must_use]
    pub fn keepalive(mut self, keepalive: Keepalive) -> Self {
        self.keepalive = keepalive;
        self
    }

    /// Reads the credentials anew and dials. Must be polled on a tokio runtime. Dropping the future closes whatever
    /// was opened.
    ///
    /// # Errors
    /// The stage that failed and why. Refused keys, the host's or ours, are Permanent; so is a key file that is no key.
    /// A file that is not there, and everything about the network, is Transient.
    pub async fn dial(&self, target: &Target, access: &Access) -> Result<Session, DialError> {
        let errors = Errors::of(target);
        let deadline = Deadline::within(&*self.clock, self.budgets.total);
        let material = self.stage(&errors, deadline, Stage::Credentials, self.load(&errors, access)).await?;
        let stream =
            self.stage(&errors, deadline, Stage::Tcp, self.connect(&errors, target, deadline)).await?;
        let wire = Wire::new(stream);
        // Until there is a session, nobody else ends the connection.
        let mut guard = CutOnDrop(Some(Arc::clone(&wire)));
        let handshake = self.handshake(&errors, target, &material, &wire);
        let (mut handle, heard) = self.stage(&errors, deadline, Stage::Handshake, handshake).await?;
        let auth = authenticate(&errors, target, &material, &mut handle, &wire);
        self.stage(&errors, deadline, Stage::Auth, auth).await?;
        guard.0 = None;

        let handle = Arc::new(handle);
        let beat = beat(self.keepalive, Arc::clone(&self.clock), Arc::clone(&wire), Arc::downgrade(&handle));
        self.spawner.spawn(Box::pin(beat));
        let (clock, spawner) = (Arc::clone(&self.clock), Arc::clone(&self.spawner));
        Ok(Session::new(handle, wire, (clock, spawner), target.clone(), self.budgets.channel, heard))
    }

    async fn stage<T>(
        &self,
        errors: &Errors,
        deadline: Deadline,
        stage: Stage,
        work: impl Future<Output = Result<T, DialError>>,
    ) -> Result<T, DialError> {
        let own = match stage {
            Stage::Credentials => self.budgets.credentials,
            Stage::Tcp => self.budgets.tcp,
            Stage::Handshake | Stage::HostKey => self.budgets.handshake,
            Stage::Auth => self.budgets.auth,
            Stage::Channel => self.budgets.channel,
        };
        let budget = own.min(deadline.remaining(&*self.clock));
        match within(&*self.clock, budget, work).await {
            Some(done) => done,
            None => Err(errors.overlong(stage, own.min(self.budgets.total))),
        }
    }

    async fn load(&self, errors: &Errors, access: &Access) -> Result<Material, DialError> {
        let (send, loaded) = oneshot::channel();
        let (access, errors_there) = (access.clone(), errors.clone());
        self.spawner.spawn_blocking(Box::new(move || {
            // Nobody waits for what comes too late.
            let _ = send.send(access.load(&errors_there));
        }));
        loaded.await.unwrap_or_else(|_| panic!("reading the credentials of {errors:?} panicked"))
    }

    /// Tries the addresses of the host in turn, each with its share of the time.
    async fn connect(
        &self,
        errors: &Errors,
        target: &Target,
        deadline: Deadline,
    ) -> Result<TcpStream, DialError> {
        let stage = Stage::Tcp;
        let budget = self.budgets.tcp.min(deadline.remaining(&*self.clock));
        let by = Deadline::within(&*self.clock, budget);
        let found = lookup_host((target.host(), target.port())).await;
        let addresses: Vec<_> = match found {
            Ok(found) => found.collect(),
            Err(error) => {
                let what = format!("cannot resolve {}: {error}", target.host());
                return Err(errors.unreachable(stage, "EAI_NONAME", what));
            }
        };
        let mut last = errors.unreachable(stage, "EAI_NONAME", format!("{} has no address", target.host()));
        for (index, address) in addresses.iter().enumerate() {
            let left = u32::try_from(addresses.len() - index).unwrap_or(u32::MAX);
            let share = by.remaining(&*self.clock) / left;
            match within(&*self.clock, share, TcpStream::connect(address)).await {
                Some(Ok(stream)) => {
                    // RPC is small messages that wait for answers. A socket that cannot is slower and works.
                    let _ = stream.set_nodelay(true);
                    return Ok(stream);
                }
                Some(Err(error)) => last = errors.io(stage, &error),
                None => last = errors.overlong(stage, share),
            }
        }
        Err(last)
    }

    async fn handshake(
        &self,
        errors: &Errors,
        target: &Target,
        material: &Material,
        wire: &Arc<Wire>,
    ) -> Result<(Handle<Ear>, (Accepted, String)), DialError> {
        if matches!(material.trust, Trust::Anybody) {
            tracing::warn!(target = %target, "the host's key is not verified: insecureIgnoreHostKey is set");
        }
        let heard = Arc::new(Mutex::new(Heard::default()));
        let ear = Ear {
            target: target.clone(),
            trust: material.trust.clone(),
            clock: Arc::clone(&self.clock),
            wire: Arc::clone(wire),
            heard: Arc::clone(&heard),
        };
        let config = Arc::new(config(&material.trust, target));
        let connected = client::connect_stream(config, End(Arc::clone(wire)), ear).await;
        let heard = std::mem::take(&mut *heard.lock().unwrap_or_else(PoisonError::into_inner));
        match connected {
            Ok(handle) => Ok((handle, (heard.accepted, heard.cipher))),
            Err(_) if heard.refused.is_some() => {
                let Refused { code, message } =
                    heard.refused.unwrap_or_else(|| unreachable!("looked at just now"));
                Err(errors.unauthorized(Stage::HostKey, code, message))
            }
            Err(Ended(error)) => Err(handshake_error(errors, wire, &error)),
        }
    }
}

/// Runs something within a budget; none when it is used up.
pub(crate) async fn within<T>(
    clock: &dyn Clock,
    budget: Duration,
    work: impl Future<Output = T>,
) -> Option<T> {
    let guard = clock.sleep(budget, Wait::Guard);
    match select(pin!(work), guard).await {
        Either::Left((done, _)) => Some(done),
        Either::Right(_) => None,
    }
}

struct CutOnDrop(Option<Arc<Wire>>);

impl Drop for CutOnDrop {
    fn drop(&mut self) {
        if let Some(wire) = &self.0 {
            wire.cut("the dial was given up");
        }
    }
}

/// What the protocol should do. Its own timers are off, but for new keys after an hour, which no budget of ours reaches.
fn config(trust: &Trust, target: &Target) -> client::Config {
    let (keys, certificates) = trust.algorithms(target.host(), target.port());
    client::Config {
        preferred: Preferred {
            key: keys.into(),
            host_key_certificates: certificates.into(),
            // By far the fastest where the processor knows AES, and it does nearly everywhere.
            cipher: (&[
                cipher::AES_128_GCM,
                cipher::AES_256_GCM,
                cipher::CHACHA20_POLY1305,
                cipher::AES_256_CTR,
                cipher::AES_128_CTR,
            ][..])
                .into(),
            ..Preferred::DEFAULT
        },
        keepalive_interval: None,
        inactivity_timeout: None,
        // What a round trip can carry bounds the speed of a download from far away.
        window_size: 8 << 20,
        maximum_packet_size: 65_535,
        channel_buffer_size: 512,
        nodelay: true,
        ..client::Config::default()
    }
}
