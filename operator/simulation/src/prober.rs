//! The network of a world: a request goes through a proxy when its instance runs.

use async_trait::async_trait;
use proxy_operator::health::proxy::{Fault, Prober};

use crate::{
    api::Server,
    cloud::{self, Clouds},
    mischief::Mischief,
};

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
        let uid = self.server.state().proxies.values().find_map(|object| {
            (object.status["endpoint"].as_str() == Some(endpoint)).then(|| object.uid.clone())
        });
        let runs = self.clouds.instances().any(|(_, thing)| {
            cloud::owner(&thing) == uid.as_ref() && thing.native_state == "running" && !thing.deleting
        });
        if runs { Ok(()) } else { Err(Fault::Proxy("connection refused".to_owned())) }
    }
}
