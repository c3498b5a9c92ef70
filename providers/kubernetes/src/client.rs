//! The production adapter: sends requests by hand, so that a refusal keeps its status, its text and its `Retry-After`.
//! The way to the server is `transport.rs`, what the credentials are `credentials.rs`.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use http::header::{HeaderValue, RETRY_AFTER, USER_AGENT};
use kube::client::Body;
use provider_api::{CallId, Error, Scrubber, Seam, current_call, reasons};
use serde::de::DeserializeOwned;

use crate::{
    config::Target,
    credentials::{self, Fingerprint, Material},
    error::{ApiError, Refusal},
    transport::Transport,
};

/// No answer of ours is near that long; more is an answer of something else.
const MAX_ANSWER: usize = 64 << 20;

/// Makes the way to a server from a config whose credentials are those of the moment.
pub type Dial = Arc<dyn Fn(&kube::Config) -> Result<Transport, kube::Error> + Send + Sync>;

/// The one of production.
pub(crate) fn dial() -> Dial {
    Arc::new(Transport::https)
}

/// The way to one API server. It dials nothing until it is used (`runtime.constructor-does-not-dial`).
pub(crate) struct Connection {
    source: Source,
    tracked: bool,
}

enum Source {
    /// One that somebody else made.
    Given(Transport),
    /// One made from files, and made again when they change (`runtime.credentials-rotate`).
    Files { target: Target, dial: Dial, current: Mutex<Option<Current>> },
}

struct Current {
    files: Vec<std::path::PathBuf>,
    fingerprint: Fingerprint,
    transport: Transport,
    scrubber: Arc<Scrubber>,
}

/// A transport whose credentials are those of this moment.
pub(crate) struct Ready {
    transport: Transport,
    /// Knows what every request carries in its header: something on the way may quote that back.
    scrubber: Arc<Scrubber>,
    tracked: bool,
}

impl Connection {
    /// Over a transport that is ready. `tracked`: whether a test's ledger wants the call's id on the wire.
    pub(crate) fn given(transport: Transport, tracked: bool) -> Self {
        Self { source: Source::Given(transport), tracked }
    }

    /// To what the config names.
    pub(crate) fn to(target: Target, dial: Dial, tracked: bool) -> Self {
        Self { source: Source::Files { target, dial, current: Mutex::default() }, tracked }
    }

    /// Where the API server is, as far as that is known without reading anything.
    pub(crate) fn address(&self) -> String {
        match &self.source {
            Source::Given(_) => "in process".to_owned(),
            Source::Files { target: Target::InCluster, .. } => "in cluster".to_owned(),
            Source::Files { target: Target::Kubeconfig { path, context }, .. } => match context {
                Some(context) => format!("{} ({context})", path.display()),
                None => path.display().to_string(),
            },
        }
    }

    /// With the credentials of this moment: the files are read, and where they changed it is a new transport.
    pub(crate) async fn ready(&self, seam: &Seam) -> Result<Ready, ApiError> {
        let (target, dial, current) = match &self.source {
            Source::Given(transport) => {
                return Ok(Ready {
                    transport: transport.clone(),
                    scrubber: Arc::default(),
                    tracked: self.tracked,
                });
            }
            Source::Files { target, dial, current } => (target, dial, current),
        };
        let ready = |current: &Current| Ready {
            transport: current.transport.clone(),
            scrubber: Arc::clone(&current.scrubber),
            tracked: self.tracked,
        };
        let known = lock(current).as_ref().map(|known| (known.files.clone(), known.fingerprint));
        if let Some((files, before)) = known {
            let now = read(seam, move || credentials::fingerprint(&files)).await?;
            if let Some(known) =
                lock(current).as_ref().filter(|known| now == before && known.fingerprint == now)
            {
                return Ok(ready(known));
            }
        }
        let target = target.clone();
        let material = read(seam, move || credentials::load(&target)).await?;
        let made = make(material, dial)?;
        let fresh = ready(&made);
        *lock(current) = Some(made);
        Ok(fresh)
    }
}

/// Reads credential files on a thread; a disk may hang.
async fn read<T: Send + 'static>(
    seam: &Seam,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, ApiError> {
    let read = seam.local(work).await.unwrap_or_else(|overlong| {
        let text = format!("reading the credentials was {overlong}");
        Err(Error::transient(text).coded(reasons::CREDENTIALS_UNAVAILABLE))
    });
    read.map_err(ApiError::Credentials)
}

impl Ready {
    /// Sends one request and reads its answer to the end.
    pub(crate) async fn send<T: DeserializeOwned>(
        &self,
        mut request: http::Request<Vec<u8>>,
    ) -> Result<T, ApiError> {
        let headers = request.headers_mut();
        headers.insert(
            USER_AGENT,
            HeaderValue::from_static(concat!("proxy-operator/", env!("CARGO_PKG_VERSION"))),
        );
        if let Some(CallId(call)) = current_call().filter(|_| self.tracked) {
            headers.insert(CallId::HEADER, HeaderValue::from(call));
        }
        let response = self.transport.send(request.map(Body::from), MAX_ANSWER).await;
        let (parts, body) = response.map_err(|error| ApiError::undelivered(&*error))?.into_parts();
        if parts.status.is_success() {
            return serde_json::from_slice(&body).map_err(|error| ApiError::unreadable(&error));
        }
        let hint = parts.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        // An intermediary that is no API server may answer with the request's own headers.
        let body = self.scrubber.scrub(&String::from_utf8_lossy(&body));
        let refusal = Refusal::read(parts.status.as_u16(), body.as_bytes(), hint.map(Duration::from_secs));
        Err(ApiError::Refused(Box::new(refusal)))
    }
}

fn make(material: Material, dial: &Dial) -> Result<Current, ApiError> {
    let Material { config, files, fingerprint, scrubber } = material;
    let transport = dial(&config).map_err(|error| ApiError::unusable(&error))?;
    Ok(Current { files, fingerprint, transport, scrubber: Arc::new(scrubber) })
}

fn lock(current: &Mutex<Option<Current>>) -> std::sync::MutexGuard<'_, Option<Current>> {
    current.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("address", &self.address()).finish()
    }
}
