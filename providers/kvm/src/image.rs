//! How an image comes to a host: once, whoever waits for it, streamed through this process with bounded memory and hashed
//! on the way. A marker is made when it is whole; until then nobody uses it, and a crash leaves nothing that looks whole.

use std::{
    collections::BTreeSet,
    pin::pin,
    sync::{MutexGuard, PoisonError},
    time::Duration,
};

use futures::future::{Either, select};
use libvirt_model::{Host, Image, ImageCopies, ImageCopy, Meaning, NewVolume, Volume, is_image};
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
        self.clear_given_up(&mut lease, &volumes, &copies).await?;
        // Some servers tell the size only with the image, some not at all.
        let told = self.images.length(seam, image).await?;
        let room = lease.pool_room().await?;
        self.has_room(host, &room, told.unwrap_or(0))?;
        let coming = self.images.fetch(seam, image).await?;
        let length = coming.length.or(told);
        self.has_room(host, &room, length.unwrap_or(0))?;

        let copy = ImageCopy::new(image, &self.unique());
        self.begun().insert(copy.clone());
        lease.create_volume(copy.name(), &NewVolume::Bytes { length: length.unwrap_or(1) }).await?;
        let for_image = room.available.saturating_sub(self.beside_the_image());
        let filled = self.fill(&mut lease, &copy, image, coming, for_image).await;
        if let Err(error) = filled {
            // What came is of no use, and as large as an image: repetitions must not heap it up.
            if !lease.is_broken() {
                let gone = lease.delete_volume(copy.name()).await;
                match error.class() {
                    FailureClass::Transient if gone.is_err() => return Err(error),
                    _ => gone?,
                }
                self.begun().remove(&copy);
            }
            return Err(error);
        }
        lease.create_volume(&copy.marker(), &NewVolume::Marker).await?;
        self.begun().remove(&copy);
        Ok(())
    }

    /// The copies that this process has begun, and not brought to an end.
    fn begun(&self) -> MutexGuard<'_, BTreeSet<ImageCopy>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fills a copy, and looks at what libvirt makes of it.
    async fn fill(
        &self,
        lease: &mut Lease,
        copy: &ImageCopy,
        image: &Image,
        coming: Coming,
        room: u64,
    ) -> Result<(), Error> {
        transfer(lease, copy, image, coming, room).await?;
        self.refreshed(lease).await?;
        // The refresh has made new handles of all volumes.
        lease.volumes().await?;
        can_be_booted(&lease.volume(copy.name()).await?, image)
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

    /// Removes copies that were begun and given up: at once those that this process has begun, for the turn at the image is
    /// ours, otherwise those that nobody has written to for long and nothing stands on.
    async fn clear_given_up(
        &self,
        lease: &mut Lease,
        volumes: &[String],
        copies: &ImageCopies,
    ) -> Result<(), Error> {
        let now = self.seam.clock().now();
        for copy in &copies.unmarked {
            let volume = match lease.volume(copy.name()).await {
                Err(refused) if refused.meaning == Meaning::Absent => continue,
                volume => volume?,
            };
            let is_old = volume.written.is_some_and(|written| now.since(written) > GIVEN_UP);
            let is_given_up = is_old || self.begun().contains(copy);
            if is_given_up && !is_needed(lease, volumes, &volume.path).await? {
                tracing::info!(
                    host = lease.host.name,
                    volume = copy.name(),
                    "it was given up half-way, and is removed"
                );
                match lease.delete_volume(copy.name()).await {
                    Ok(()) => drop(self.begun().remove(copy)),
                    Err(refused) if lease.is_broken() => return Err(refused.error),
                    // The daemon may be at it still; it is in nobody's way.
                    Err(refused) => tracing::debug!(volume = copy.name(), error = %refused.error, "it stays"),
                }
            }
        }
        Ok(())
    }
}

/// Whether a copy is what a disk can stand on: laid out as the entry says, and in need of nothing else. A copy that was
/// brought by another entry is looked at by this one's word.
pub(crate) fn can_be_booted(volume: &Volume, image: &Image) -> Result<(), Error> {
    let format = image.format.as_str();
    if volume.format != format {
        let laid_out: String = volume.format.chars().take(40).collect();
        let text = format!("the image is laid out as {laid_out:?}, and the entry says {format}");
        return Err(Error::permanent(text).coded("ImageFormat"));
    }
    if volume.backing.is_some() {
        let text = "the image stands on another file, which would be one of the host's";
        return Err(Error::permanent(text).coded("ImageForbidden"));
    }
    Ok(())
}

/// Whether a volume of the pool stands on that file, as far as can be told. Who lost its marker may be in use.
async fn is_needed(lease: &mut Lease, volumes: &[String], path: &str) -> Result<bool, Error> {
    for volume in volumes.iter().filter(|volume| !is_image(volume)) {
        match lease.volume(volume).await {
            Ok(seen) if seen.backing.as_deref() == Some(path) => return Ok(true),
            Ok(_) => {}
            Err(refused) if refused.meaning == Meaning::Absent => {}
            Err(refused) if lease.is_broken() => return Err(refused.error),
            Err(_) => return Ok(true),
        }
    }
    Ok(false)
}

/// Carries the bytes from their server into the volume.
async fn transfer(
    lease: &mut Lease,
    copy: &ImageCopy,
    image: &Image,
    coming: Coming,
    room: u64,
) -> Result<(), Error> {
    let (feeder, feed) = Feed::coming();
    let upload = pin!(lease.upload(copy.name(), feed));
    let feeding = pin!(coming.into(feeder, image, room));
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
