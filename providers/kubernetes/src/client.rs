//! The production adapter: `kube`'s client with its retries and timers off, sent through by hand, so that a refusal
//! keeps its status, its text and its `Retry-After`. What the credentials are is `credentials.rs`.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use http::header::{HeaderValue, RETRY_AFTER, USER_AGENT};
use http_body_util::{BodyExt, Limited};
use kube::client::{Body, ClientBuilder};
use provider_api::{CallId, Scrubber, Seam, current_call};
use serde::de::DeserializeOwned;

use crate::{
    config::Target,
    credentials::{self, Fingerprint, Material},
    error::{ApiError, Refusal},
};

/// No answer of ours is near that long; more is an answer of something else.
const MAX_ANSWER: usize = 64 << 20;

/// Makes a client from a config whose credentials are those of the moment.
pub type Dial = Arc<dyn Fn(kube::Config) -> Result<kube::Client, kube::Error> + Send + Sync>;

/// The client of production.
pub(crate) fn dial() -> Dial {
    Arc::new(|config| Ok(ClientBuilder::try_from(config)?.build()))
}

/// The way to one API server. It dials nothing until it is used (`runtime.constructor-does-not-dial`).
pub(crate) struct Connection {
    source: Source,
    tracked: bool,
}

enum Source {
    /// A client that somebody else made.
    Given(kube::Client),
    /// A client made from files, and made again when they change (`runtime.credentials-rotate`).
    Files { target: Target, dial: Dial, current: Mutex<Option<Current>> },
}

struct Current {
    files: Vec<std::path::PathBuf>,
    fingerprint: Fingerprint,
    client: kube::Client,
    scrubber: Arc<Scrubber>,
}

/// A client whose credentials are those of this moment.
pub(crate) struct Ready {
    client: kube::Client,
    /// Knows what every request carries in its header: something on the way may quote that back.
    scrubber: Arc<Scrubber>,
    tracked: bool,
}

impl Connection {
    /// Over a client that is ready. `tracked`: whether a test's ledger wants the call's id on the wire.
    pub(crate) fn given(client: kube::Client, tracked: bool) -> Self {
        Self { source: Source::Given(client), tracked }
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

    /// A client with the credentials of this moment: the files are read, and where they changed it is a new client.
    pub(crate) async fn ready(&self, seam: &Seam) -> Result<Ready, ApiError> {
        let (target, dial, current) = match &self.source {
            Source::Given(client) => {
                return Ok(Ready { client: client.clone(), scrubber: Arc::default(), tracked: self.tracked });
            }
            Source::Files { target, dial, current } => (target, dial, current),
        };
        let ready = |current: &Current| Ready {
            client: current.client.clone(),
            scrubber: Arc::clone(&current.scrubber),
            tracked: self.tracked,
        };
        let known = lock(current).as_ref().map(|known| (known.files.clone(), known.fingerprint));
        if let Some((files, before)) = known {
            let now =
                seam.local(move || credentials::fingerprint(&files)).await.map_err(ApiError::Credentials)?;
            if let Some(known) =
                lock(current).as_ref().filter(|known| now == before && known.fingerprint == now)
            {
                return Ok(ready(known));
            }
        }
        let target = target.clone();
        let material = seam.local(move || credentials::load(&target)).await.map_err(ApiError::Credentials)?;
        let made = make(material, dial)?;
        let fresh = ready(&made);
        *lock(current) = Some(made);
        Ok(fresh)
    }
}

impl Ready {
    /// Sends one request and reads its answer to the end.
    ///
    /// The id of the call goes on here and not in a layer of the client, because `kube` runs its layers in a task of
    /// its own, where nobody knows whose call it is.
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
        let response =
            self.client.send(request.map(Body::from)).await.map_err(|error| ApiError::undelivered(&error))?;
        let (parts, body) = response.into_parts();
        let body = Limited::new(body, MAX_ANSWER).collect().await;
        let body = body.map_err(|error| ApiError::undelivered(&*error))?.to_bytes();
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
    let Material { mut config, files, fingerprint, scrubber } = material;
    // Every wait is the seam's: no retries, no timers of the client's own. Budgets are per call.
    config.default_retry = false;
    config.connect_timeout = None;
    config.read_timeout = None;
    config.write_timeout = None;
    let client = dial(config).map_err(|error| ApiError::unusable(&error))?;
    Ok(Current { files, fingerprint, client, scrubber: Arc::new(scrubber) })
}

fn lock(current: &Mutex<Option<Current>>) -> std::sync::MutexGuard<'_, Option<Current>> {
    current.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("address", &self.address()).finish()
    }
}
