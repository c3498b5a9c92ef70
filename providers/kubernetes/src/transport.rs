//! The way to an API server as a service that can be cloned: HTTPS with the credentials of a config, or whatever a test
//! puts in its place.
//!
//! `kube`'s own client is not it: it passes every request through a queue with a task of its own, which logs outside of
//! all spans and knows nothing of whose call it serves. Its layers are, so credentials and TLS are `kube`'s.

use std::{fmt, io, pin::Pin};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Limited, combinators::UnsyncBoxBody};
use hyper_util::{client::legacy, rt::TokioExecutor};
use kube::client::{Body, ConfigExt};
use tower::{BoxError, Layer, Service, ServiceExt, util::BoxCloneSyncService};

/// A body of any origin.
type AnyBody = UnsyncBoxBody<Bytes, io::Error>;

/// The way to an API server.
#[derive(Clone)]
pub struct Transport(BoxCloneSyncService<Request<Body>, Response<AnyBody>, BoxError>);

impl Transport {
    /// Any service that answers as an API server does.
    pub fn new<S, B>(service: S) -> Self
    where
        S: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
        S::Error: Into<BoxError>,
        B: hyper::body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let any = |response: Response<B>| response.map(|body| body.map_err(io::Error::other).boxed_unsync());
        Self(BoxCloneSyncService::new(service.map_response(any).map_err(Into::into)))
    }

    /// The same with a config's address, credentials and headers on every request.
    ///
    /// # Errors
    /// When the config's user cannot be used.
    pub fn of_config(self, config: &kube::Config) -> Result<Self, kube::Error> {
        let headers = config.extra_headers_layer()?.layer(self.0);
        let service = match config.auth_layer()? {
            Some(auth) => Self::new(auth.layer(headers)),
            None => Self::new(headers),
        };
        Ok(Self::new(config.base_uri_layer().layer(service.0)))
    }

    /// Over HTTPS, without timers or retries of its own: every wait is the seam's.
    pub(crate) fn https(config: &kube::Config) -> Result<Self, kube::Error> {
        let connector = config.rustls_https_connector()?;
        let client: legacy::Client<_, Body> = legacy::Client::builder(TokioExecutor::new()).build(connector);
        Self::new(client).of_config(config)
    }

    /// Sends one request and reads its answer to the end, which must come within `limit` bytes.
    pub(crate) fn send(
        &self,
        request: Request<Body>,
        limit: usize,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, BoxError>> + Send>> {
        let service = self.0.clone();
        Box::pin(async move {
            let (parts, body) = service.oneshot(request).await?.into_parts();
            let body = Limited::new(body, limit).collect().await?.to_bytes();
            Ok(Response::from_parts(parts, body))
        })
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Transport")
    }
}
