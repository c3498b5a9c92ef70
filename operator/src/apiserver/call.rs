//! One request: its deadline, its `Retry-After`, its pages. What a refusal means is in `failure.rs`.
//!
//! Requests are made by hand over `kube`'s client, which brings credentials and TLS: its typed calls lose `Retry-After`, and
//! give up a whole page for one object that they cannot read.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_lock::Semaphore;
use bytes::Bytes;
use futures::future::{Either, select};
use http::{
    Method, Response,
    header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, USER_AGENT},
};
use http_body_util::{BodyExt, Limited};
use kube::client::Body;
use provider_api::{Clock, Wait};
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Settings, failure::Failure};
use crate::resource::ResourceVersion;

/// Who writes, as it stands in `managedFields`.
const FIELD_MANAGER: &str = "proxy-operator";
/// No answer of ours is near that long; more is an answer of something else.
const MAX_ANSWER: usize = 64 << 20;
/// How a whole object is asked for.
pub(super) const JSON: &str = "application/json";
/// How an object is changed in some of its fields.
pub(super) const MERGE: &str = "application/merge-patch+json";

/// Sends requests to one API server.
pub(super) struct Caller {
    client: kube::Client,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) settings: Settings,
    /// Over HTTP/1.1 each request that is under way has a connection of its own.
    room: Semaphore,
    random: Mutex<StdRng>,
}

/// One request.
#[derive(Clone)]
pub(super) struct Request {
    method: Method,
    path: String,
    query: Vec<(&'static str, String)>,
    accept: &'static str,
    body: Option<(&'static str, Bytes)>,
    deadline: Option<Duration>,
    secret: bool,
}

impl Request {
    pub(super) fn new(method: Method, path: String) -> Self {
        let query = match method {
            Method::GET | Method::DELETE => Vec::new(),
            _ => vec![("fieldManager", FIELD_MANAGER.to_owned())],
        };
        Self { method, path, query, accept: JSON, body: None, deadline: None, secret: false }
    }

    pub(super) fn get(path: String) -> Self {
        Self::new(Method::GET, path)
    }

    pub(super) fn body(mut self, media: &'static str, body: &serde_json::Value) -> Self {
        self.body = Some((media, Bytes::from(body.to_string())));
        self
    }

    pub(super) fn query(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.query.push((key, value.into()));
        self
    }

    pub(super) fn accept(mut self, accept: &'static str) -> Self {
        self.accept = accept;
        self
    }

    /// Another deadline than [`Settings::request`].
    pub(super) fn within(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// What is sent or answered is secret: no text of a refusal is kept, since it may quote that.
    pub(super) fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    fn to_http(&self) -> Result<http::Request<Body>, Failure> {
        let mut uri = self.path.clone();
        for (at, (key, value)) in self.query.iter().enumerate() {
            uri.push(if at == 0 { '?' } else { '&' });
            uri.push_str(key);
            uri.push('=');
            uri.extend(form_urlencoded::byte_serialize(value.as_bytes()));
        }
        let agent = concat!("proxy-operator/", env!("CARGO_PKG_VERSION"));
        let mut request = http::Request::builder()
            .method(self.method.clone())
            .uri(uri)
            .header(ACCEPT, self.accept)
            .header(USER_AGENT, agent);
        let mut body = Body::empty();
        if let Some((media, bytes)) = &self.body {
            request = request.header(CONTENT_TYPE, *media);
            body = Body::from(bytes.clone());
        }
        request.body(body).map_err(|error| Failure::Unusable(error.to_string()))
    }
}

/// A collection: its path, and what restricts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Collection {
    pub(super) path: String,
    /// A field selector.
    pub(super) fields: Option<String>,
    /// How its objects are asked for: whole, or without what they hold.
    pub(super) form: Form,
}

/// How much of each object is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Whole,
    Metadata,
}

impl Form {
    fn of_a_list(self) -> &'static str {
        match self {
            Self::Whole => JSON,
            Self::Metadata => "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
        }
    }

    pub(super) fn of_one(self) -> &'static str {
        match self {
            Self::Whole => JSON,
            Self::Metadata => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
        }
    }
}

impl Collection {
    pub(super) fn request(&self) -> Request {
        let request = Request::get(self.path.clone());
        match &self.fields {
            Some(fields) => request.query("fieldSelector", fields.clone()),
            None => request,
        }
    }
}

/// One page of a list. Each object is read by itself.
#[derive(Deserialize)]
struct Page<'a> {
    metadata: PageMeta,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageMeta {
    #[serde(default)]
    resource_version: String,
    #[serde(default, rename = "continue")]
    token: String,
}

impl Caller {
    pub(super) fn new(client: kube::Client, clock: Arc<dyn Clock>, settings: Settings, seed: u64) -> Self {
        let room = Semaphore::new(settings.at_once.max(1));
        Self { client, clock, settings, room, random: Mutex::new(StdRng::seed_from_u64(seed)) }
    }

    /// Something in `0.0..1.0`.
    pub(super) fn chance(&self) -> f64 {
        self.random.lock().unwrap_or_else(PoisonError::into_inner).random()
    }

    /// A name that no other has.
    pub(super) fn suffix(&self) -> String {
        let number: u64 = self.random.lock().unwrap_or_else(PoisonError::into_inner).random();
        format!("{number:016x}")
    }

    /// Sends a request and reads its answer to the end, all within its deadline. A 429 is waited for, and asked again, as
    /// long as that fits in. Not before there is room for it: a request that has a deadline of its own waits for nobody.
    pub(super) async fn send(&self, request: &Request) -> Result<Bytes, Failure> {
        let _room = match request.deadline {
            Some(_) => None,
            None => Some(self.room.acquire().await),
        };
        let deadline = request.deadline.unwrap_or(self.settings.request);
        let until = self.clock.monotonic() + deadline;
        let guard = self.clock.sleep(deadline, Wait::Guard);
        let answer = Box::pin(async {
            let mut busy = 0;
            loop {
                let failure = match self.once(request).await {
                    Ok(bytes) => return Ok(bytes),
                    Err(failure) => failure,
                };
                let Some(hint) = failure.is_busy() else { return Err(failure) };
                busy += 1;
                let pause = hint.unwrap_or_default().max(self.settings.pause.after(busy, self.chance()));
                if self.clock.monotonic() + pause >= until {
                    return Err(failure);
                }
                self.clock.sleep(pause, Wait::Idle).await;
            }
        });
        match select(answer, guard).await {
            Either::Left((answer, _)) => answer,
            Either::Right(((), _)) => Err(Failure::Overlong(deadline)),
        }
    }

    async fn once(&self, request: &Request) -> Result<Bytes, Failure> {
        let body = self.open(request).await?.into_body();
        let whole = Limited::new(body, MAX_ANSWER).collect().await;
        Ok(whole.map_err(|error| Failure::Unreachable(error.to_string()))?.to_bytes())
    }

    /// Sends a request; what it is answered is still to be read. A refusal has been read.
    pub(super) async fn open(&self, request: &Request) -> Result<Response<Body>, Failure> {
        let response = self.client.send(request.to_http()?).await;
        let response = response.map_err(|error| Failure::Unreachable(chain(&error)))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let (parts, body) = response.into_parts();
        let hint = parts.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        // A refusal that breaks off is one all the same.
        let body =
            Limited::new(body, 1 << 20).collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        let hint = hint.map(Duration::from_secs);
        Err(Failure::refusal(parts.status.as_u16(), &body, hint, request.secret))
    }

    /// Sends a request, and reads its answer as JSON.
    pub(super) async fn json<T: for<'de> Deserialize<'de>>(&self, request: &Request) -> Result<T, Failure> {
        let bytes = self.send(request).await?;
        serde_json::from_slice(&bytes).map_err(|error| unreadable(&error))
    }

    /// The whole of a collection, by pages that are all of one moment.
    pub(super) async fn list<T>(
        &self,
        of: &Collection,
        mut read: impl FnMut(&RawValue) -> Option<T>,
    ) -> Result<(Vec<T>, ResourceVersion), Failure> {
        let (mut all, mut version, mut token) = (Vec::new(), None, String::new());
        loop {
            let mut request =
                of.request().accept(of.form.of_a_list()).query("limit", self.settings.page.to_string());
            if !token.is_empty() {
                request = request.query("continue", token.clone());
            }
            let bytes = self.send(&request).await?;
            let page: Page<'_> = serde_json::from_slice(&bytes).map_err(|error| unreadable(&error))?;
            let of_page = page.metadata.resource_version;
            if of_page.is_empty() || version.as_ref().is_some_and(|version| *version != of_page) {
                return Err(Failure::Unusable("the pages of a list are not of one moment".to_owned()));
            }
            version = Some(of_page);
            all.extend(page.items.unwrap_or_default().into_iter().filter_map(&mut read));
            if page.metadata.token.is_empty() {
                return Ok((all, ResourceVersion(version.unwrap_or_default())));
            }
            if page.metadata.token == token {
                return Err(Failure::Unusable(
                    "a list goes on with the page that it has just given".to_owned(),
                ));
            }
            token = page.metadata.token;
        }
    }
}

/// What serde says quotes no more of the text than a single token; of what is secret nothing comes this way.
fn unreadable(error: &serde_json::Error) -> Failure {
    Failure::Unusable(format!("the answer cannot be read: {error}"))
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let next = error.to_string();
        if !text.contains(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        source = error.source();
    }
    text
}
