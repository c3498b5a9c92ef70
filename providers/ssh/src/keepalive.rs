//! The beat by which a session finds out that its host is gone. It comes from our clock; the protocol's own is off.

use std::{
    pin::pin,
    sync::{Arc, Weak},
    time::Duration,
};

use futures::future::{Either, select};
use provider_api::{Clock, Wait};
use russh::client::Handle;

use crate::{ear::Ear, wire::Wire};

/// How often a host is asked whether it is there, and how long it may keep still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keepalive {
    /// Between two questions.
    pub every: Duration,
    /// After so many beats in a row without a byte the session is cut; at least 1.
    pub patience: u32,
}

impl Default for Keepalive {
    fn default() -> Self {
        Self { every: Duration::from_secs(15), patience: 3 }
    }
}

/// Asks until the session has ended. Any byte that comes counts as an answer: a host that refuses the question is there.
pub(crate) async fn beat(
    keepalive: Keepalive,
    clock: Arc<dyn Clock>,
    wire: Arc<Wire>,
    handle: Weak<Handle<Ear>>,
) {
    let mut ended = pin!(wire.wait_for_end());
    let (mut silent, mut received) = (0, wire.received());
    loop {
        let mut beat = clock.sleep(keepalive.every, Wait::Guard);
        // The question goes into a queue that may be full while the host takes nothing; it waits no longer than a beat.
        if let Some(handle) = handle.upgrade() {
            let asking = pin!(async {
                let _ = handle.send_keepalive(true).await;
                std::future::pending::<()>().await;
            });
            match select(select(asking, &mut beat), ended.as_mut()).await {
                Either::Left(_) => {}
                Either::Right(_) => return,
            }
        } else {
            return;
        }
        let now = wire.received();
        silent = if now == received { silent + 1 } else { 0 };
        received = now;
        if silent >= keepalive.patience.max(1) {
            let how_long = keepalive.every.saturating_mul(silent);
            wire.cut(&format!("the host kept still for {how_long:?}"));
            return;
        }
    }
}
