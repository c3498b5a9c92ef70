//! A client of the machines service, as a provider would have one: each call goes through the seam and says on the
//! wire which one it is.

use std::{path::PathBuf, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use provider_api::{BackendError, CallError, CallId, CallKind, Context, CredentialFile, Seam, current_call};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
};

/// Where the service is.
#[derive(Clone)]
pub(crate) enum Dial {
    Unix(PathBuf),
    Tcp(std::net::SocketAddr),
    Tls(std::net::SocketAddr, String),
}

pub(crate) struct Client {
    seam: Seam,
    dial: Dial,
    token: CredentialFile,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    #[error("{status}: {body}")]
    Refused { status: StatusCode, body: Value },
    #[error("the connection broke")]
    Broken(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl BackendError for Failed {
    fn code(&self) -> String {
        match self {
            Self::Refused { status, body } => format!("{} {}", status.as_u16(), body["error"]["code"]),
            Self::Broken(_) => "broken".to_owned(),
        }
    }
}

pub(crate) const LIST: CallKind = CallKind::read("list");
pub(crate) const GET: CallKind = CallKind::read("get");
pub(crate) const PUT: CallKind = CallKind::write("put");
pub(crate) const DELETE: CallKind = CallKind::write("delete");
pub(crate) const TASK: CallKind = CallKind::read("task");

impl Client {
    pub(crate) fn new(context: &Context, dial: Dial, token: PathBuf) -> Self {
        let seam = context.seam("machines", Duration::from_secs(10));
        Self { seam, dial, token: CredentialFile::new(token) }
    }

    pub(crate) async fn call(
        &self,
        kind: CallKind,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<Value, CallError<Failed>> {
        self.seam.call(kind, path, self.send(method, path, body)).await
    }

    async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Result<Value, Failed> {
        let broken = |error: Box<dyn std::error::Error + Send + Sync>| Failed::Broken(error);
        let token = self.token.read().map_err(|error| broken(Box::new(error)))?;
        let bearer = [b"Bearer ", token.reveal()].concat();
        let mut request = Request::builder().method(method).uri(path).header(header::HOST, "localhost");
        request = request.header(header::AUTHORIZATION, bearer);
        if let Some(call) = current_call() {
            request = request.header(CallId::HEADER, call.0);
        }
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let request = request.body(Full::new(Bytes::from(body))).map_err(|error| broken(error.into()))?;
        let answer = self.over_a_connection(request).await.map_err(broken)?;
        let (parts, body) = answer.into_parts();
        let body = serde_json::from_slice(&body).unwrap_or_default();
        if parts.status.is_success() { Ok(body) } else { Err(Failed::Refused { status: parts.status, body }) }
    }

    async fn over_a_connection(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<http::Response<Bytes>, Box<dyn std::error::Error + Send + Sync>> {
        match &self.dial {
            Dial::Unix(path) => exchange(UnixStream::connect(path).await?, request).await,
            Dial::Tcp(address) => exchange(TcpStream::connect(address).await?, request).await,
            Dial::Tls(address, ca) => {
                let mut roots = RootCertStore::empty();
                roots.add(CertificateDer::from_pem_slice(ca.as_bytes())?)?;
                let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
                    .with_safe_default_protocol_versions()?
                    .with_root_certificates(roots)
                    .with_no_client_auth();
                let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
                let stream = TcpStream::connect(address).await?;
                exchange(connector.connect(ServerName::try_from("localhost")?, stream).await?, request).await
            }
        }
    }
}

/// One request on a connection of its own, driven by whoever waits for it: nothing goes on in the background.
async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Result<http::Response<Bytes>, Box<dyn std::error::Error + Send + Sync>> {
    let (mut send, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let answer = async move {
        let (parts, body) = send.send_request(request).await?.into_parts();
        Ok::<_, hyper::Error>(http::Response::from_parts(parts, body.collect().await?.to_bytes()))
    };
    let mut answer = std::pin::pin!(answer);
    tokio::select! {
        biased;
        answer = &mut answer => Ok(answer?),
        // What ended the connection is what the answer fails with, unless it came before.
        _ = connection => Ok(answer.await?),
    }
}
