//! The network of a world: a request goes through a proxy when its instance runs.

use async_trait::async_trait;
use proxy_operator::health::proxy::{Fault, Prober};

use crate::{api::Server, cloud::Clouds, mischief::Mischief};

/// Probes by looking at the backends.
pub(crate) struct SimulatedProber {
    server: Server,
    clouds: Clouds,
    mischief: Mischief,
}

impl SimulatedProber {
    pub(crate) fn new(server: Server, clouds: Clouds, mischief: Mischief) -> Self {
        Self { server, clouds, mischief }
    }
}

#[async_trait]
impl Prober for SimulatedProber {
    async fn probe(&self, endpoint: &str) -> Result<(), Fault> {
        self.mischief.latency().await;
        let goes_through = !self.mischief.is_blind()
            && self.server.state().at_endpoint(endpoint).any(|uid| self.clouds.is_up(uid));
        if goes_through { Ok(()) } else { Err(Fault::Proxy("connection refused".to_owned())) }
    }
}
