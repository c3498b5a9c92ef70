//! What lies between the providers and their clouds: calls that take long, and calls whose connection breaks and that land
//! when nobody waits for them any more. What hangs or is cut off altogether is the wire's.

use std::{future::pending, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures::future::BoxFuture;
use providertest::memory::{
    Answer, At, Cloud,
    cloud::{Accepted, CloudError, NewInstance, NewPart},
};

use crate::{plan::Fault, pool::Pool, time::Time, watchdog::Late};

/// How long a caller waits for a call that will land later, until its connection breaks.
const BREAKS: Duration = Duration::from_secs(5);

/// The layer over one cloud.
pub(crate) struct Layer {
    pub(crate) below: Arc<dyn Cloud>,
    pub(crate) provider: u32,
    pub(crate) time: Time,
    pub(crate) pool: Pool,
    pub(crate) faults: Arc<[Fault]>,
    pub(crate) late: Late,
}

impl Layer {
    fn now(&self) -> u64 {
        u64::try_from(self.time.now().as_millis()).unwrap_or(u64::MAX)
    }

    /// How long after its call something lands, if late.
    fn lands_after(&self) -> Option<Duration> {
        let now = self.now();
        self.faults.iter().find_map(|fault| match fault {
            Fault::Late { provider, from, until, by }
                if *provider == self.provider && (*from..*until).contains(&now) =>
            {
                Some(Duration::from_millis(*by))
            }
            _ => None,
        })
    }

    /// A call that changes something.
    async fn changes<T: Send + 'static>(&self, call: BoxFuture<'static, Answer<T>>) -> Answer<T> {
        let Some(by) = self.lands_after() else { return call.await };
        let (time, late, provider) = (self.time.clone(), self.late.clone(), self.provider);
        let lands = time.sleep(by);
        self.pool.add(Box::pin(async move {
            lands.await;
            drop(call.await);
            late.landed(provider);
        }));
        self.time.sleep(BREAKS).await;
        Err(CloudError::reset())
    }

    /// A call that makes an instance: it may take long.
    async fn makes(&self, zone: &str, call: BoxFuture<'static, Answer<Accepted>>) -> Answer<Accepted> {
        let now = self.now();
        let takes = self.faults.iter().find_map(|fault| match fault {
            Fault::Slow { provider, zone: of, from, until, takes }
                if *provider == self.provider
                    && of.as_ref().is_none_or(|of| of == zone)
                    && (*from..*until).contains(&now) =>
            {
                Some(*takes)
            }
            _ => None,
        });
        match takes {
            None => {}
            Some(None) => pending().await,
            Some(Some(millis)) => self.time.sleep(Duration::from_millis(millis)).await,
        }
        self.changes(call).await
    }

    fn below(&self) -> Arc<dyn Cloud> {
        Arc::clone(&self.below)
    }
}

#[async_trait]
impl Cloud for Layer {
    fn below(&self) -> &dyn Cloud {
        &*self.below
    }

    async fn insert(&self, at: At, new: NewInstance) -> Answer<Accepted> {
        let (below, zone) = (Layer::below(self), at.zone.clone());
        self.makes(&zone, Box::pin(async move { below.insert(at, new).await })).await
    }

    async fn clone_image(&self, at: At, key: &str, name: &str, image: &str) -> Answer<Accepted> {
        let (below, zone) = (Layer::below(self), at.zone.clone());
        let (key, name, image) = (key.to_owned(), name.to_owned(), image.to_owned());
        let call = async move { below.clone_image(at, &key, &name, &image).await };
        self.makes(&zone, Box::pin(call)).await
    }

    async fn configure(&self, at: At, new: NewInstance) -> Answer<()> {
        let below = Layer::below(self);
        self.changes(Box::pin(async move { below.configure(at, new).await })).await
    }

    async fn start(&self, at: At, key: &str) -> Answer<()> {
        let (below, key) = (Layer::below(self), key.to_owned());
        self.changes(Box::pin(async move { below.start(at, &key).await })).await
    }

    async fn remove(&self, at: At, key: &str, only: Option<u64>) -> Answer<Accepted> {
        let (below, key) = (Layer::below(self), key.to_owned());
        self.changes(Box::pin(async move { below.remove(at, &key, only).await })).await
    }

    async fn put_part(&self, at: At, new: NewPart) -> Answer<()> {
        let below = Layer::below(self);
        self.changes(Box::pin(async move { below.put_part(at, new).await })).await
    }

    async fn remove_part(&self, at: At, name: &str, only: Option<u64>) -> Answer<()> {
        let (below, name) = (Layer::below(self), name.to_owned());
        self.changes(Box::pin(async move { below.remove_part(at, &name, only).await })).await
    }
}
