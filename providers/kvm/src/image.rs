//! How an image comes to a host: once, whoever waits for it, streamed through this process with bounded memory and hashed
//! on the way. A marker is made when it is whole; until then nobody uses it, and a crash leaves nothing that looks whole.

use std::{pin::pin, time::Duration};

use futures::future::{Either, select};
use libvirt_model::{Host, Image, ImageCopies, ImageCopy, Meaning, NewVolume};
use provider_api::{BoundedWait, Error, FailureClass, Seam};

use crate::{
    client::{Feed, Lease},
    download::Coming,
    error::Refused,
    provider::Kvm,
};

/// A pool that makes a volume for somebody does not look at its volumes anew meanwhile.
pub(crate) const REFRESHED: BoundedWait = BoundedWait {
    for_what: "the pool's refresh",
    every: Duration::from_millis(500),
    at_most: Duration::from_secs(10),
};

/// A copy that nobody has marked and nobody has written to for that long was given up. None takes longer.
const GIVEN_UP: Duration = Duration::from_secs(3600);

impl Kvm {
    /// Brings an image to a host, unless it is there when its turn has come: one comes at a time for each image and host.
    pub(crate) async fn bring(&self, seam: &Seam, host: &Host, image: &Image) -> Result<(), Error> {
        let _turn = self.gate.name(&format!("image {} on {}", image.key(), host.name)).await;
        // Images take one place less than there are, so that one is left for everybody else.
        let _transfer = self.transfers.target(&host.name).await;
        let _room = self.gate.target(&host.name).await;
        let mut lease = self.hosts.lease(seam, host).await?;
        lease.find_pool().await?;
        let volumes = lease.volumes().await?;
        let copies = ImageCopies::of(image, volumes.iter().map(String::as_str));
        if !copies.whole.is_empty() {
            return Ok(());
        }
        self.clear_given_up(&mut lease, &copies).await?;
        // Some servers tell the size only with the image, some not at all.
        let told = self.images.length(seam, image).await?;
        let room = lease.pool_room().await?;
        self.has_room(host, &room, told.unwrap_or(0))?;
        let coming = self.images.fetch(seam, image).await?;
        let length = coming.length.or(told);
        self.has_room(host, &room, length.unwrap_or(0))?;

        let copy = ImageCopy::new(image, &self.unique());
        lease.create_volume(copy.name(), &NewVolume::Bytes { length: length.unwrap_or(1) }).await?;
        let filled = self.fill(&mut lease, &copy, image, coming).await;
        if let Err(error) = filled {
            // What will not come right by itself is not left lying about until it counts as given up.
            if error.class() != FailureClass::Transient && !lease.is_broken() {
                lease.delete_volume(copy.name()).await?;
            }
            return Err(error);
        }
        lease.create_volume(&copy.marker(), &NewVolume::Marker).await?;
        Ok(())
    }

    /// Fills a copy, and looks at what libvirt makes of it.
    async fn fill(
        &self,
        lease: &mut Lease,
        copy: &ImageCopy,
        image: &Image,
        coming: Coming,
    ) -> Result<(), Error> {
        transfer(lease, copy, image, coming).await?;
        self.refreshed(lease).await?;
        // The refresh has made new handles of all volumes.
        lease.volumes().await?;
        let volume = lease.volume(copy.name()).await?;
        if volume.format != image.format.as_str() {
            let text = format!(
                "the image is laid out as {:?}, and the entry says {}",
                volume.format,
                image.format.as_str()
            );
            return Err(Error::permanent(text).coded("ImageFormat"));
        }
        Ok(())
    }

    /// Has the pool look at its volumes anew.
    async fn refreshed(&self, lease: &mut Lease) -> Result<(), Error> {
        let seam = lease.seam.clone();
        let until = seam.clock().monotonic() + REFRESHED.at_most;
        loop {
            let Err(refused) = lease.refresh_pool().await else { return Ok(()) };
            let passes = refused.answered && refused.error.class() == FailureClass::Transient;
            if !passes || seam.clock().monotonic() + REFRESHED.every > until {
                return Err(refused.error);
            }
            seam.pause(REFRESHED.every).await;
        }
    }

    /// Removes copies that were begun and given up.
    async fn clear_given_up(&self, lease: &mut Lease, copies: &ImageCopies) -> Result<(), Error> {
        let now = self.seam.clock().now();
        for copy in &copies.unmarked {
            let volume = match lease.volume(copy.name()).await {
                Err(refused) if refused.meaning == Meaning::Absent => continue,
                volume => volume?,
            };
            if volume.written.is_some_and(|written| now.since(written) > GIVEN_UP) {
                tracing::info!(
                    host = lease.host.name,
                    volume = copy.name(),
                    "it was given up half-way, and is removed"
                );
                lease.delete_volume(copy.name()).await?;
            }
        }
        Ok(())
    }
}

/// Carries the bytes from their server into the volume.
async fn transfer(lease: &mut Lease, copy: &ImageCopy, image: &Image, coming: Coming) -> Result<(), Error> {
    let (feeder, feed) = Feed::coming();
    let upload = pin!(lease.upload(copy.name(), feed));
    let feeding = pin!(coming.into(feeder, image));
    match select(upload, feeding).await {
        // Nobody takes any more; the download goes with its answer.
        Either::Left((Err(refused), _)) => Err(refused.error),
        Either::Left((Ok(()), feeding)) => feeding.await,
        // The transfer is broken off by the thread itself, or by the error that it is about to give.
        Either::Right((Err(fed), upload)) => match upload.await {
            Err(Refused { error, .. }) if fed.code() == Some("UploadEnded") => Err(error),
            _ => Err(fed),
        },
        Either::Right((Ok(()), upload)) => Ok(upload.await?),
    }
}
