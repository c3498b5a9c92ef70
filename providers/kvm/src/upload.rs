//! The upload of an image by itself, without its download: what the benchmark sets beside other programs that upload.

use std::{
    io::{self, Read},
    sync::Arc,
};

use futures::future::join;
use libvirt_model::Config;
use provider_api::{Context, Error};

use crate::{
    client::{Feed, Hosts, NobodyTakes},
    dial::BySsh,
    profile::{TYPE, profile},
};

/// Fills a volume that is there, in the pool of the first host, with what can be read, on a connection of its own. Reading
/// must not block for long.
///
/// # Errors
/// Whatever is in the way to the host, what its daemon says, and what cannot be read.
///
/// # Panics
/// Where no host is configured.
pub async fn upload(
    config: Config,
    context: Context,
    volume: &str,
    mut bytes: impl Read,
) -> Result<(), Error> {
    let budgets = profile().budgets;
    let (host, seam) = (config.hosts[0].clone(), context.seam(TYPE, budgets.call));
    let dial = Arc::new(BySsh::new(&config, &context, budgets.connect));
    let hosts = Arc::new(Hosts::new(config, context, dial, budgets));
    let mut lease = hosts.lease(&seam, &host).await?;
    lease.find_pool().await?;
    lease.volumes().await?;
    let (mut feeder, feed) = Feed::coming();
    let feeding = async {
        let mut buffer = vec![0; 256 << 10];
        loop {
            let count = bytes.read(&mut buffer)?;
            if count == 0 {
                return Ok(feeder.end().await);
            }
            if let Err(NobodyTakes) = feeder.put(&buffer[..count]).await {
                return Ok(Err(NobodyTakes));
            }
        }
    };
    let (uploaded, fed): (_, io::Result<_>) = join(lease.upload(volume, feed), feeding).await;
    uploaded?;
    // Nobody took to the end: then the transfer has failed, and has said why.
    let _ = fed.map_err(|error| Error::transient(error.to_string()))?;
    lease.close().await;
    Ok(())
}
