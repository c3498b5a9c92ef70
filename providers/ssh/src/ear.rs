//! Our side of the protocol while it runs: it judges the host's key, hears the host's goodbye, and takes nothing that a
//! host would open with us.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use provider_api::Clock;
use russh::{
    client::{self, ChannelOpenHandle, DisconnectReason, Msg},
    keys::PublicKeyOrCertificate,
};

use crate::{
    Target,
    host_key::{Accepted, Refused, Trust},
    refusal::ending,
    wire::{Wire, plain},
};

/// What was heard during the handshake.
#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) accepted: Accepted,
    pub(crate) cipher: String,
    pub(crate) refused: Option<Refused>,
}

/// Our side of the protocol: it judges the host and takes nothing else from it.
pub(crate) struct Ear {
    pub(crate) target: Target,
    pub(crate) trust: Trust,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) wire: Arc<Wire>,
    pub(crate) heard: Arc<Mutex<Heard>>,
}

impl Ear {
    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The protocol's own error.
#[derive(Debug)]
pub(crate) struct Ended(pub(crate) russh::Error);

impl From<russh::Error> for Ended {
    fn from(error: russh::Error) -> Self {
        Self(error)
    }
}

impl client::Handler for Ear {
    type Error = Ended;

    async fn check_server_key(&mut self, shown: &PublicKeyOrCertificate) -> Result<bool, Ended> {
        let judged =
            self.trust.judge(self.target.host(), self.target.port(), shown, self.clock.now().as_unix());
        let mut heard = self.heard();
        match judged {
            Ok(accepted) => {
                heard.accepted = accepted;
                Ok(true)
            }
            Err(refused) => {
                self.wire.end(&refused.message);
                heard.refused = Some(refused);
                Ok(false)
            }
        }
    }

    async fn kex_done(
        &mut self,
        _: Option<&[u8]>,
        names: &russh::Names,
        _: &mut client::Session,
    ) -> Result<(), Ended> {
        self.heard().cipher = names.cipher.as_ref().to_owned();
        Ok(())
    }

    async fn disconnected(&mut self, reason: DisconnectReason<Ended>) -> Result<(), Ended> {
        match reason {
            DisconnectReason::ReceivedDisconnect(info) => {
                let why = format!("the host closed the connection: {}", plain(&info.message));
                self.wire.say_goodbye(info.reason_code as u32, &why);
                Ok(())
            }
            DisconnectReason::Error(error) => {
                self.wire.end(&ending(&error.0));
                Err(error)
            }
        }
    }

    // A host has nothing to open with us. The handle that is dropped refuses.

    async fn server_channel_open_forwarded_tcpip(
        &mut self,
        _: russh::Channel<Msg>,
        _: &str,
        _: u32,
        _: &str,
        _: u32,
        _: ChannelOpenHandle,
        _: &mut client::Session,
    ) -> Result<(), Ended> {
        Ok(())
    }

    async fn server_channel_open_forwarded_streamlocal(
        &mut self,
        _: russh::Channel<Msg>,
        _: &str,
        _: ChannelOpenHandle,
        _: &mut client::Session,
    ) -> Result<(), Ended> {
        Ok(())
    }

    async fn server_channel_open_agent_forward(
        &mut self,
        _: russh::Channel<Msg>,
        _: ChannelOpenHandle,
        _: &mut client::Session,
    ) -> Result<(), Ended> {
        Ok(())
    }

    async fn server_channel_open_session(
        &mut self,
        _: russh::Channel<Msg>,
        _: ChannelOpenHandle,
        _: &mut client::Session,
    ) -> Result<(), Ended> {
        Ok(())
    }

    async fn server_channel_open_direct_tcpip(
        &mut self,
        _: russh::Channel<Msg>,
        _: &str,
        _: u32,
        _: &str,
        _: u32,
        _: ChannelOpenHandle,
        _: &mut client::Session,
    ) -> Result<(), Ended> {
        Ok(())
    }

    async fn server_channel_open_direct_streamlocal(
        &mut self,
        _: russh::Channel<Msg>,
        _: &str,
        _: ChannelOpenHandle,
        _: &mut client::Session,
    ) -> Result<(), Ended> {
        Ok(())
    }

    async fn server_channel_open_x11(
        &mut self,
        _: russh::Channel<Msg>,
        _: &str,
        _: u32,
        _: ChannelOpenHandle,
        _: &mut client::Session,
    ) -> Result<(), Ended> {
        Ok(())
    }
}
