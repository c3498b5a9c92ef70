//! The way of every request: read whole, passed through the wire in a task of its own, answered or reset.

use std::{fmt, io, sync::Arc};

use bytes::Bytes;
use futures::{StreamExt as _, future::BoxFuture};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use provider_api::Catalogue;

use super::{Answer, Body, Fake, Request, text};
use crate::{
    fake::{On, Serving, reading::listed, serving::Connection},
    wire::{Reply, Wire},
};

/// Longer bodies are refused, unless [`Server::limit`] says otherwise.
const LIMIT: usize = 16 << 20;

/// A fake over HTTP, and the wire that each request passes. Cheap to clone; clones are one server.
#[derive(Clone)]
pub struct Server(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    fake: Arc<dyn Fake>,
    wire: Wire,
    catalogue: Catalogue,
    limit: usize,
    blocking: bool,
}

impl Server {
    /// A server that answers for `fake` on the wire of its case, and refuses as the catalogue says. A backend with several
    /// endpoints has a server for each, all on the one wire of the case.
    pub fn new(fake: Arc<dyn Fake>, wire: Wire, catalogue: Catalogue) -> Self {
        Self(Arc::new(Inner { fake, wire, catalogue, limit: LIMIT, blocking: false }))
    }

    /// With another limit for bodies, in bytes, than 16 MiB. A longer body is answered with 413 and never reaches the
    /// wire.
    #[must_use]
    pub fn limit(self, bytes: usize) -> Self {
        Self(Arc::new(Inner { limit: bytes, ..Arc::unwrap_or_clone(self.0) }))
    }

    /// For a client that blocks a thread. It sends the call's id where it can; where it cannot, its cases run one
    /// operation at a time.
    #[must_use]
    pub fn blocking(self) -> Self {
        Self(Arc::new(Inner { blocking: true, ..Arc::unwrap_or_clone(self.0) }))
    }

    /// Serves on a socket, from within the case's runtime.
    ///
    /// # Errors
    /// When the socket cannot be had: a path that is taken or too long, no file handle left.
    pub fn serve(&self, on: On) -> io::Result<Serving> {
        let server = self.clone();
        let converse =
            move |connection| -> BoxFuture<'static, ()> { Box::pin(converse(server.service(), connection)) };
        Serving::open(on, self.0.wire.ledger().clone(), &["http/1.1"], Arc::new(converse))
    }

    /// The server in the process, for clients that take a tower service.
    pub fn service(&self) -> Service {
        Service(self.clone())
    }

    /// Serves one request that was read whole. To be run in a task of its own: a caller that leaves decides nothing.
    pub async fn pass(&self, request: Request) -> Reply<Answer> {
        let Inner { fake, wire, blocking, .. } = &*self.0;
        let reading = fake.read(&request);
        let incoming = reading.incoming(request.call(), *blocking);
        let of_effect = self.sent(request, reading.payload);
        let of_native = of_effect.clone();
        let effect = move || {
            let answer = of_effect.fake.answer(&of_effect.request);
            let error = |refused| of_effect.native(of_effect.fake.error_for(refused));
            of_effect.quoting(answer.unwrap_or_else(error))
        };
        wire.serve(incoming, effect, move |id| of_native.quoting(of_native.native(id))).await
    }

    pub(super) fn sent(&self, request: Request, payload: bool) -> Sent {
        let Inner { fake, catalogue, .. } = &*self.0;
        Sent { fake: Arc::clone(fake), catalogue: *catalogue, request, payload }
    }
}

/// A request with all that an answer to it takes.
#[derive(Clone)]
pub(super) struct Sent {
    fake: Arc<dyn Fake>,
    catalogue: Catalogue,
    request: Request,
    payload: bool,
}

impl Sent {
    pub(super) fn native(&self, id: &str) -> Answer {
        self.fake.native(&self.request, listed(self.catalogue, id))
    }

    /// Quotes what was sent in a refusal, where the backend does.
    fn quoting(&self, answer: Answer) -> Answer {
        if !self.fake.refuses(&answer) || !self.fake.quotes() {
            return answer;
        }
        let body = || String::from_utf8_lossy(self.request.body()).into_owned();
        let quoted = match self.fake.credentials(&self.request) {
            Some(credentials) if self.fake.refuses_login(&answer) => Some(credentials),
            _ => self.payload.then(body),
        };
        match quoted {
            Some(quoted) => self.fake.quote(answer, &quoted),
            None => answer,
        }
    }
}

/// A server as a tower service, whose error is a broken connection. It is called from within the case's runtime.
#[derive(Clone, Debug)]
pub struct Service(Server);

impl<B> tower::Service<http::Request<B>> for Service
where
    B: hyper::body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = http::Response<axum::body::Body>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let server = self.0.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = match Limited::new(body, server.0.limit).collect().await {
                Ok(body) => body.to_bytes(),
                Err(error) if error.is::<LengthLimitError>() => {
                    return Ok(sendable(text(413, "the body is longer than anybody needs")));
                }
                Err(error) => return Err(io::Error::other(error)),
            };
            let request = Request::of(http::Request::from_parts(parts, body));
            match tokio::spawn(async move { server.pass(request).await }).await {
                Ok(Reply::Answer(answer)) => Ok(sendable(answer)),
                Ok(Reply::Reset) => Err(io::ErrorKind::ConnectionReset.into()),
                // The panic itself was printed; the provider's error then leads to it.
                Err(error) => Ok(sendable(text(500, format!("the fake is broken: {error}")))),
            }
        })
    }
}

fn sendable(answer: Answer) -> http::Response<axum::body::Body> {
    answer.map(|body| match body {
        Body::Whole(bytes) => axum::body::Body::from(bytes),
        Body::Stream(stream) => axum::body::Body::from_stream(stream.map(Ok::<Bytes, io::Error>)),
    })
}

async fn converse(service: Service, connection: Connection) {
    // The client's pace is the client's: no timer of ours runs beside the case's clock.
    let mut builder = hyper::server::conn::http1::Builder::new();
    let connection = builder
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(connection), TowerToHyperService::new(service));
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection ended with an error");
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("wire", &self.0.wire).finish_non_exhaustive()
    }
}
