//! Something between client and server that counts requests, and does with them what a test asks for.

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use http::{Request, Response};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::Frame;
use kube::client::Body;
use tower::{BoxError, Layer, Service};

type AnyBody = UnsyncBoxBody<Bytes, BoxError>;

/// What is done to a request.
#[derive(Clone)]
pub enum Trick {
    /// It is answered without the server: status, `Retry-After`, body.
    Answer(u16, Option<u64>, String),
    /// Nobody ever answers it.
    Silence,
    /// Its answer ends after that time.
    End(Duration),
    /// It asks for another version than it did.
    Since(&'static str),
    /// In its path and query, this is replaced by that.
    Say(&'static str, &'static str),
}

/// For a request whose path and query has all of these in it, so many times.
struct Rule {
    with: Vec<String>,
    trick: Trick,
    times: usize,
}

/// The meddler. Clones are one.
#[derive(Clone, Default)]
pub struct Meddle(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    asked: Vec<String>,
    rules: Vec<Rule>,
}

impl Meddle {
    /// Does that to the next requests of that kind.
    pub fn with(&self, with: &[&str], times: usize, trick: Trick) {
        let with = with.iter().map(|part| (*part).to_owned()).collect();
        self.0.lock().unwrap().rules.push(Rule { with, trick, times });
    }

    /// Leaves requests alone from now on, and counts anew.
    pub fn forget(&self) {
        *self.0.lock().unwrap() = Inner::default();
    }

    /// How many requests there were with all of these in path and query.
    pub fn asked(&self, with: &[&str]) -> usize {
        let inner = self.0.lock().unwrap();
        inner.asked.iter().filter(|asked| with.iter().all(|part| asked.contains(part))).count()
    }

    /// How many lists of Proxies were begun, and watches; further pages do not count.
    pub fn looks(&self) -> usize {
        self.asked(&["/proxies?"]) - self.asked(&["/proxies?", "continue="])
    }

    fn judge(&self, uri: &http::Uri, method: &http::Method) -> Option<Trick> {
        let asked = format!("{method} {uri}");
        let mut inner = self.0.lock().unwrap();
        let is_it = |rule: &&mut Rule| rule.times > 0 && rule.with.iter().all(|part| asked.contains(part));
        let trick = inner.rules.iter_mut().find(is_it).map(|rule| {
            rule.times -= 1;
            rule.trick.clone()
        });
        inner.asked.push(asked);
        trick
    }
}

impl<S> Layer<S> for Meddle {
    type Service = Meddled<S>;

    fn layer(&self, inner: S) -> Meddled<S> {
        Meddled { meddle: self.clone(), inner }
    }
}

pub struct Meddled<S> {
    meddle: Meddle,
    inner: S,
}

impl<S, B> Service<Request<Body>> for Meddled<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: hyper::body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<AnyBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let trick = self.meddle.judge(request.uri(), request.method());
        let end = match trick {
            Some(Trick::Silence) => return Box::pin(std::future::pending()),
            Some(Trick::Answer(status, hint, body)) => {
                let mut response = Response::builder().status(status);
                if let Some(hint) = hint {
                    response = response.header("retry-after", hint);
                }
                let body = Full::new(Bytes::from(body)).map_err(|never| match never {}).boxed_unsync();
                return Box::pin(async move { Ok(response.body(body).unwrap()) });
            }
            Some(Trick::Say(this, that)) => {
                let uri = request.uri().to_string().replace(this, that);
                *request.uri_mut() = uri.parse().unwrap();
                None
            }
            Some(Trick::Since(version)) => {
                let uri = request.uri().to_string();
                let (before, rest) = uri.split_once("resourceVersion=").unwrap();
                let rest = rest.split_once('&').map_or(String::new(), |(_, rest)| format!("&{rest}"));
                *request.uri_mut() = format!("{before}resourceVersion={version}{rest}").parse().unwrap();
                None
            }
            Some(Trick::End(after)) => Some(after),
            None => None,
        };
        let answer = self.inner.call(request);
        Box::pin(async move {
            let response = answer.await.map_err(Into::into)?;
            Ok(response.map(|body| {
                let body = body.map_err(Into::into);
                match end {
                    None => body.boxed_unsync(),
                    Some(after) => {
                        let frames = body.into_data_stream().map_ok(Frame::data);
                        let frames = frames.take_until(tokio::time::sleep(after));
                        StreamBody::new(frames).boxed_unsync()
                    }
                }
            }))
        })
    }
}
