//! Saboteurs that deliver something else than was sent, or to somebody else.

use std::sync::Arc;

use async_trait::async_trait;
use data_encoding::BASE64;
use provider_api::{CreateRequest, Error, Provider, ProviderId, Secret};

use crate::{
    memory::{
        At, Cloud,
        cloud::{Accepted, Answer, NewInstance},
    },
    saboteur::Meddler,
};

/// User data without its end.
pub(super) struct Trims;

#[async_trait]
impl Meddler for Trims {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        let mut request = request.clone();
        request.cloud_init = Secret::new(request.cloud_init.reveal().trim_ascii_end());
        honest.create(&request).await
    }
}

/// User data as long as some backend takes it, and no longer.
pub(super) struct CutsShort;

#[async_trait]
impl Meddler for CutsShort {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        let mut request = request.clone();
        let bytes = request.cloud_init.reveal();
        request.cloud_init = Secret::new(&bytes[..bytes.len().min(16 << 10)]);
        honest.create(&request).await
    }
}

/// User data that nobody sent.
pub(super) struct OwnUserData(pub(super) Arc<dyn Cloud>);

#[async_trait]
impl Cloud for OwnUserData {
    fn below(&self) -> &dyn Cloud {
        &*self.0
    }

    async fn insert(&self, at: At, mut new: NewInstance) -> Answer<Accepted> {
        new.cloud_init = Some(Secret::new(*b"#cloud-config\n"));
        self.0.insert(at, new).await
    }
}

/// Always the same port.
pub(super) struct DefaultPort;

#[async_trait]
impl Meddler for DefaultPort {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        let mut request = request.clone();
        request.port = CreateRequest::DEFAULT_PORT;
        honest.create(&request).await
    }
}

/// A proxy without a door.
pub(super) struct NoCredentials;

#[async_trait]
impl Meddler for NoCredentials {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        let mut request = request.clone();
        request.access.credentials = None;
        honest.create(&request).await
    }
}

/// Errors that say what was sent.
pub(super) struct QuotesInErrors;

#[async_trait]
impl Meddler for QuotesInErrors {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        honest.create(request).await.map_err(|error| {
            let sent = String::from_utf8_lossy(request.cloud_init.reveal()).into_owned();
            Error::new(error.class(), format!("{}; sent was {sent:?}", error.message()))
        })
    }
}

/// A trace line that says what is sent.
pub(super) struct Logs;

#[async_trait]
impl Meddler for Logs {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        tracing::trace!(user_data = BASE64.encode(request.cloud_init.reveal()), "creating");
        honest.create(request).await
    }
}

/// A trace line that shows what is sent, as bytes.
pub(super) struct LogsBytes;

#[async_trait]
impl Meddler for LogsBytes {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        tracing::trace!(body = ?request.cloud_init.reveal(), "creating");
        honest.create(request).await
    }
}

/// A field too many.
pub(super) struct ReadsTheRegion;

#[async_trait]
impl Meddler for ReadsTheRegion {
    async fn create(&self, honest: &dyn Provider, request: &CreateRequest) -> Result<ProviderId, Error> {
        match &request.placement.region {
            Some(region) if !["north", "south"].contains(&region.as_str()) => {
                Err(Error::permanent(format!("placement.region {region:?} is not known")))
            }
            _ => honest.create(request).await,
        }
    }
}
