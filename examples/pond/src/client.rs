//! The production adapter: one HTTP client, with the token and the CA as their files have them now. How an answer is
//! read is `answer.rs`.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use provider_api::{CallId, CredentialFile, Error, Scrubber, Secret, current_call, reasons};
use reqwest::{
    Method, Url,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue},
    redirect, retry,
};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use rustls_platform_verifier::BuilderVerifierExt as _;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    answer,
    config::{Config, Endpoint},
    error::ApiError,
};

/// The header that says who asks.
fn header(token: &Secret) -> (HeaderName, Vec<u8>) {
    (AUTHORIZATION, [b"Bearer ", token.reveal()].concat())
}

/// No answer of ours is near that long; more is an answer of something else.
const MAX_ANSWER: usize = 16 << 20;

/// A request, without what is the same for all of them.
#[derive(Debug)]
pub(crate) struct Request {
    method: Method,
    path: Vec<String>,
    query: Vec<(&'static str, String)>,
    body: Option<Vec<u8>>,
}

/// The way to the API. It dials nothing and reads nothing until it is used (`runtime.constructor-does-not-dial`).
pub(crate) struct Client {
    endpoint: Endpoint,
    ca: Option<CredentialFile>,
    token: CredentialFile,
    /// Whether a test's ledger wants the call's id on the wire.
    tracked: bool,
    current: Mutex<Option<Current>>,
}

/// The HTTP client, and the CA that it was made with.
struct Current {
    ca: Option<Secret>,
    http: reqwest::Client,
}

/// The way to the API with the credentials of this moment.
pub(crate) struct Ready {
    http: reqwest::Client,
    base: Url,
    header: (HeaderName, HeaderValue),
    /// The token, for scrubbers: something on the way may quote the request back.
    pub(crate) token: Secret,
    tracked: bool,
}

impl Request {
    /// A request to a path, whose segments need not be escaped.
    pub(crate) fn new(method: Method, path: &[&str]) -> Self {
        let path = path.iter().map(|&segment| segment.to_owned()).collect();
        Self { method, path, query: Vec::new(), body: None }
    }

    /// The same request below another path.
    pub(crate) fn under(mut self, path: &[&str]) -> Self {
        self.path.splice(..0, path.iter().map(|&segment| segment.to_owned()));
        self
    }

    /// With a parameter in its query, where there is a value.
    pub(crate) fn query(mut self, key: &'static str, value: Option<&str>) -> Self {
        self.query.extend(value.map(|value| (key, value.to_owned())));
        self
    }

    /// With a body.
    pub(crate) fn json(mut self, body: &impl Serialize) -> Self {
        self.body = Some(serde_json::to_vec(body).expect("what we send has text for keys"));
        self
    }
}

impl Client {
    pub(crate) fn new(config: &Config, tracked: bool) -> Self {
        Self {
            endpoint: config.endpoint.clone(),
            ca: config.ca.clone(),
            token: config.credentials.clone(),
            tracked,
            current: Mutex::default(),
        }
    }

    /// Where the API is, for readers.
    pub(crate) fn address(&self) -> String {
        self.endpoint.to_string()
    }

    /// With the credentials of this moment (`runtime.credentials-rotate`).
    pub(crate) fn ready(&self) -> Result<Ready, Error> {
        let token = Secret::new(self.token.read()?.reveal().trim_ascii());
        let (name, value) = header(&token);
        let mut value = HeaderValue::from_bytes(&value)
            .map_err(|_| unusable(format!("{} holds no token", self.token.path().display())))?;
        value.set_sensitive(true);
        let base = match &self.endpoint {
            Endpoint::Url(url) => url.clone(),
            Endpoint::Unix(_) => Url::parse("http://localhost").expect("it is a URL"),
        };
        Ok(Ready { http: self.http()?, base, header: (name, value), token, tracked: self.tracked })
    }

    /// The HTTP client; it is made again when the CA changes.
    fn http(&self) -> Result<reqwest::Client, Error> {
        let ca = self.ca.as_ref().map(CredentialFile::read).transpose()?;
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        match &*current {
            Some(known) if known.ca == ca => Ok(known.http.clone()),
            _ => {
                let http = self.build(ca.as_ref())?;
                *current = Some(Current { ca, http: http.clone() });
                Ok(http)
            }
        }
    }

    /// No timer, no retry, no redirect and no proxy of its own: every wait is the seam's, and what a call does is one
    /// request to the one place that the config names.
    fn build(&self, ca: Option<&Secret>) -> Result<reqwest::Client, Error> {
        let builder = reqwest::Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .pool_idle_timeout(None)
            .user_agent(concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")));
        let builder = match &self.endpoint {
            Endpoint::Unix(path) => builder.unix_socket(path.as_path()),
            Endpoint::Url(_) => builder,
        };
        let builder = builder.tls_backend_preconfigured(self.tls(ca)?);
        builder.build().map_err(|error| unusable(format!("no HTTP client can be made: {error}")))
    }

    fn tls(&self, ca: Option<&Secret>) -> Result<ClientConfig, Error> {
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(error.to_string()))?;
        let mut roots = RootCertStore::empty();
        if matches!(self.endpoint, Endpoint::Url(_)) && ca.is_none() {
            let builder = builder.with_platform_verifier();
            let builder = builder.map_err(|error| unusable(format!("the platform has no roots: {error}")))?;
            return Ok(builder.with_no_client_auth());
        }
        if let (Some(file), Some(pem)) = (&self.ca, ca) {
            let wrong = || unusable(format!("{} holds no certificates in PEM", file.path().display()));
            for certificate in CertificateDer::pem_slice_iter(pem.reveal()) {
                roots.add(certificate.map_err(|_| wrong())?).map_err(|_| wrong())?;
            }
            if roots.is_empty() {
                return Err(wrong());
            }
        }
        Ok(builder.with_root_certificates(roots).with_no_client_auth())
    }
}

impl Ready {
    /// Sends one request and reads its answer to the end.
    pub(crate) async fn send<T: DeserializeOwned>(&self, request: Request) -> Result<T, ApiError> {
        let mut url = self.base.clone();
        url.path_segments_mut().expect("http URLs have paths").pop_if_empty().extend(&request.path);
        if !request.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&request.query);
        }
        let (name, value) = &self.header;
        let mut builder = self.http.request(request.method, url).header(name, value);
        if let Some(CallId(call)) = current_call().filter(|_| self.tracked) {
            builder = builder.header(CallId::HEADER, call);
        }
        if let Some(body) = request.body {
            builder = builder.header(CONTENT_TYPE, "application/json").body(body);
        }
        let undelivered = |error: reqwest::Error| ApiError::undelivered(&error.without_url());
        let mut response = builder.send().await.map_err(undelivered)?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(undelivered)? {
            if body.len() + chunk.len() > MAX_ANSWER {
                return Err(ApiError::Unreadable(format!("it has more than {MAX_ANSWER} bytes")));
            }
            body.extend_from_slice(&chunk);
        }
        let mut scrubber = Scrubber::default();
        scrubber.hide(self.token.reveal());
        answer::read(response.status(), response.headers(), &body, &scrubber)
    }
}

fn unusable(why: String) -> Error {
    Error::permanent(why).coded(reasons::CREDENTIALS_UNAVAILABLE)
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}
