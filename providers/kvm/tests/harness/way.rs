//! The way to the hosts: what SSH would do, told from outside. It passes the wire as a call of its own, so that faults meet
//! it; the bytes then go to the fake daemon in the process. The SSH client itself is tried where it stands, in `ssh`.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use fixture_libvirt::{Clients, Host};
use futures::channel::oneshot;
use libvirt_model::Host as Configured;
use provider_api::{current_call, reasons};
use provider_kvm::{CATALOGUE, Dial, Fingerprint, Stream, WayError};
use providertest::{
    harness::{Case, UNKNOWN_ERROR},
    wire::{Incoming, Reply, Wire},
};

use super::Played;

/// As much as may be on its way between library and daemon.
const PIPE: usize = 256 << 10;

pub(crate) struct Way {
    pub(crate) hosts: Vec<Host>,
    pub(crate) wire: Wire,
    pub(crate) key_file: PathBuf,
    pub(crate) case: Case,
    pub(crate) played: Arc<Mutex<Played>>,
}

/// The key that hosts accept after so many rotations.
pub(crate) fn key(case: &Case, rotations: u32) -> String {
    format!("private-key-of-{}-{rotations}", case.tag)
}

#[async_trait]
impl Dial for Way {
    async fn dial(&self, host: &Configured, _: Fingerprint) -> Result<Box<dyn Stream>, WayError> {
        let key = std::fs::read_to_string(&self.key_file)
            .map_err(|error| WayError::coded(reasons::CREDENTIALS_UNAVAILABLE, error.to_string()))?;
        let incoming = Incoming {
            call: current_call(),
            kind: "dial".into(),
            target: host.name.clone(),
            subject: String::new(),
            mutates: false,
            blocking: false,
        };
        let (case, played) = (self.case.clone(), Arc::clone(&self.played));
        let greeted = move || {
            let played = played.lock().unwrap_or_else(PoisonError::into_inner);
            if played.strangers {
                return Err(WayError::coded(
                    "HostKeyMismatch",
                    "the host shows another key than the known one",
                ));
            }
            if key != self::key(&case, played.rotations) {
                return Err(WayError::coded("SSH_MSG_USERAUTH_FAILURE", "the host does not accept the key"));
            }
            Ok(())
        };
        let (send, receive) = oneshot::channel();
        let wire = self.wire.clone();
        // A task of its own: that the caller goes away decides nothing.
        tokio::spawn(async move {
            let _ = send.send(wire.serve(incoming, greeted, native).await);
        });
        match receive.await {
            Ok(Reply::Answer(greeted)) => greeted?,
            Ok(Reply::Reset) | Err(_) => return Err(WayError::coded("ECONNRESET", "the connection broke")),
        }
        let fake = self.hosts.iter().find(|fake| fake.name() == host.name);
        let fake = fake.ok_or_else(|| WayError::coded("EAI_NONAME", "there is no such host"))?;
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let server = fake.server(self.wire.clone(), CATALOGUE, Clients::Numbered);
        tokio::spawn(async move { server.speak(theirs).await });
        Ok(Box::new(ours))
    }
}

/// What SSH says of an error of the catalogue.
fn native(id: &str) -> Result<(), WayError> {
    if id == UNKNOWN_ERROR {
        return Err(WayError::coded("NeverHeardOf", "nobody has ever heard of this"));
    }
    let native = CATALOGUE.get(id).unwrap_or_else(|| panic!("the catalogue has no error {id}"));
    Err(WayError::coded(native.code, native.text))
}
