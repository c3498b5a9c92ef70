//! The administrator's way into a real cluster: requests by path, bodies written by hand. The provider has its own.

use std::{io, time::Duration};

use http::{HeaderValue, Method, Request, header};
use kube::{Client, Config};
use serde_json::{Value, json};

/// An administrator of one cluster.
#[derive(Clone)]
pub(crate) struct Admin(Client);

/// Why the server did not do it.
#[derive(Debug, thiserror::Error)]
#[error("{method} {path}: {}", why(source))]
pub(crate) struct Refused {
    method: Method,
    path: String,
    source: Box<kube::Error>,
}

/// The server's own words, or what the way there came to grief over.
fn why(error: &kube::Error) -> String {
    if let kube::Error::Api(status) = error {
        return format!("{} {}", status.code, status.message);
    }
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
    let mut texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.dedup_by(|cause, above| above.ends_with(cause.as_str()));
    texts.join(": ")
}

impl Refused {
    /// As for a file of ours that the disk does not take.
    pub(crate) fn by_disk(error: io::Error) -> Self {
        let source = Box::new(kube::Error::Service(Box::new(error)));
        Self { method: Method::PUT, path: "a file of credentials".into(), source }
    }

    /// The status of the answer; `None` where there was none.
    pub(crate) fn status(&self) -> Option<u16> {
        match &*self.source {
            kube::Error::Api(status) => Some(status.code),
            _ => None,
        }
    }

    /// Whether there is no such thing, or another stands there than the one whose UID was named.
    pub(crate) fn is_absent(&self) -> bool {
        match &*self.source {
            kube::Error::Api(status) => {
                status.code == 404 || status.code == 422 && status.message.contains("metadata.uid")
            }
            _ => false,
        }
    }
}

impl Admin {
    pub(crate) fn new(config: Config) -> Result<Self, String> {
        // The library takes it for granted that a header can carry its token, and panics.
        let shown = serde_json::to_value(&config.auth_info).unwrap_or_default();
        if shown["token"].as_str().is_some_and(|token| HeaderValue::from_str(token).is_err()) {
            return Err("the kubeconfig's token can be in no header: it has more than one line, say".into());
        }
        Client::try_from(config).map(Self).map_err(|error| why(&error))
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value, Refused> {
        self.ask(Method::GET, path, "application/json", Value::Null).await
    }

    pub(crate) async fn make(&self, path: &str, body: Value) -> Result<Value, Refused> {
        self.ask(Method::POST, path, "application/json", body).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Result<Value, Refused> {
        self.ask(Method::PUT, path, "application/json", body).await
    }

    /// Lays `body` over what stands there; what is null in it goes.
    pub(crate) async fn lay(&self, path: &str, body: Value) -> Result<Value, Refused> {
        self.ask(Method::PATCH, path, "application/merge-patch+json", body).await
    }

    /// Deletes with these options; what is not there is as good as deleted.
    pub(crate) async fn delete(&self, path: &str, mut options: Value) -> Result<(), Refused> {
        options["kind"] = json!("DeleteOptions");
        options["apiVersion"] = json!("v1");
        match self.ask(Method::DELETE, path, "application/json", options).await {
            Err(refused) if !refused.is_absent() => Err(refused),
            _ => Ok(()),
        }
    }

    /// The items of a list.
    pub(crate) async fn list(&self, path: &str) -> Result<Vec<Value>, Refused> {
        let mut list = self.get(path).await?;
        match list["items"].take() {
            Value::Array(items) => Ok(items),
            _ => Ok(Vec::new()),
        }
    }

    /// Whether nothing answers to that path any more, once `patience` is over at the latest.
    pub(crate) async fn goes(&self, path: &str, patience: Duration) -> Result<bool, Refused> {
        let by = tokio::time::Instant::now() + patience;
        loop {
            match self.get(path).await {
                Err(refused) if refused.is_absent() => return Ok(true),
                Err(refused) => return Err(refused),
                Ok(_) if tokio::time::Instant::now() >= by => return Ok(false),
                Ok(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }

    async fn ask(&self, method: Method, path: &str, kind: &str, body: Value) -> Result<Value, Refused> {
        let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = Request::builder().method(method.clone()).uri(path);
        let request = request.header(header::CONTENT_TYPE, kind).body(bytes);
        let answer = match request {
            Ok(request) => self.0.request(request).await,
            Err(error) => Err(kube::Error::HttpError(error)),
        };
        let refused = |source| Refused { method, path: path.to_owned(), source: Box::new(source) };
        answer.map_err(refused)
    }
}
