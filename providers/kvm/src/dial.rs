//! The way to a host's daemon: by SSH, or to a socket of this machine. What is spoken on it is the library's business.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use libvirt_model::{Config, Host, Way};
use provider_api::{BackendError as _, Context, Error, reasons};
use sha2::{Digest, Sha256};
use ssh::{Access, Budgets, Dialer, Session, Stage, Target};

use crate::{
    client::Stream,
    config,
    error::{HOST_KEY_MISMATCH, WayError},
};

/// Makes the way to hosts. A test has its own.
#[async_trait]
pub trait Dial: Send + Sync + 'static {
    /// A stream to the daemon of a host, with the credentials of this moment.
    ///
    /// # Errors
    /// Whatever is in the way.
    async fn dial(&self, host: &Host, credentials: Fingerprint) -> Result<Box<dyn Stream>, WayError>;
}

/// What tells credentials from those of before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Of the files as they are now. It blocks.
    pub(crate) fn read(config: &Config) -> Result<Self, Error> {
        let known = match &config.host_keys {
            libvirt_model::HostKeys::Known(file) => Some(file),
            _ => None,
        };
        let mut hash = Sha256::new();
        for file in config.ssh_key.iter().chain(&config.ssh_key_passphrase).chain(known) {
            let bytes = file.read()?;
            hash.update(bytes.len().to_be_bytes());
            hash.update(bytes.reveal());
        }
        Ok(Self(hash.finalize().into()))
    }
}

/// The way of production. A session is kept for each host that is reached by SSH, and has a channel for each connection:
/// one that is closed ends no other.
pub(crate) struct BySsh {
    dialer: Dialer,
    access: Option<Access>,
    sessions: Mutex<HashMap<String, (Fingerprint, Session)>>,
}

impl BySsh {
    pub(crate) fn new(config: &Config, context: &Context, connect: Duration) -> Self {
        let dialer = Dialer::new(Arc::clone(&context.clock), Arc::clone(&context.spawner));
        Self {
            dialer: dialer.budgets(Budgets::within(connect)),
            access: config::access(config),
            sessions: Mutex::default(),
        }
    }

    /// The session with a host; it is made again when it has ended, or the credentials are others.
    async fn session(&self, host: &Host, target: &Target, now: Fingerprint) -> Result<Session, WayError> {
        let kept = self.open().get(&host.name).cloned();
        if let Some((before, session)) = kept
            && before == now
            && session.is_alive()
        {
            return Ok(session);
        }
        let Some(access) = &self.access else {
            return Err(WayError::coded(reasons::CREDENTIALS_UNAVAILABLE, "no key is configured"));
        };
        let session = self.dialer.dial(target, access).await.map_err(by_ssh)?;
        self.open().insert(host.name.clone(), (now, session.clone()));
        Ok(session)
    }

    fn open(&self) -> MutexGuard<'_, HashMap<String, (Fingerprint, Session)>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Dial for BySsh {
    async fn dial(&self, host: &Host, credentials: Fingerprint) -> Result<Box<dyn Stream>, WayError> {
        match &host.way {
            Way::Local { socket } => {
                let stream = tokio::net::UnixStream::connect(socket).await;
                let stream = stream.map_err(|error| WayError::local(&host.way.address(), &error))?;
                Ok(Box::new(stream))
            }
            Way::Ssh { address, user, socket } => {
                let target = Target::parse(address, user);
                let target = target.map_err(|bad| WayError::coded("EAI_NONAME", bad.to_string()))?;
                let session = self.session(host, &target, credentials).await?;
                match session.streamlocal(socket).await {
                    Ok(channel) => Ok(Box::new(channel)),
                    Err(error) => {
                        // What was asked for on it waits for as long as it lasts. The channels that it has go on.
                        if error.code() == "ETIMEDOUT" {
                            self.open().remove(&host.name);
                        }
                        Err(by_ssh(error))
                    }
                }
            }
        }
    }
}

fn by_ssh(error: ssh::DialError) -> WayError {
    let reason = if error.stage() == Stage::HostKey { HOST_KEY_MISMATCH } else { error.reason() };
    WayError::new(error.class(), error.code(), reason, error.to_string())
}

impl fmt::Debug for BySsh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BySsh").field("sessions", &self.open().len()).finish_non_exhaustive()
    }
}
