//! Fakes of backends that speak HTTP. An author says how a request is read, what it does, and how an error of the
//! catalogue looks on the wire; the server does the rest.
//!
//! Each request is read whole, then served in a task of its own, so that a closed connection decides nothing. It is
//! matched to the provider's call by the header [`CallId::HEADER`](provider_api::CallId::HEADER), recorded, held or
//! broken by the [`Wire`](crate::wire::Wire), and answered, or its connection is reset.
//!
//! The same server is reached on a unix socket, on loopback TCP, under TLS ([`Server::serve`]) and in the process
//! ([`Server::service`]).
//!
//! ```
//! use std::sync::{Arc, Mutex};
//!
//! use provider_api::{Catalogue, Class, NativeError};
//! use providertest::fake::http::{self, Answer, Fake, Reading, Refused, Request, Server};
//! use providertest::{ledger::Ledger, wire::Wire};
//! use serde_json::json;
//!
//! const TABLE: &[NativeError] = &[
//!     NativeError::new("not-found", &["get"], Class::NotFound, "Machines API v1")
//!         .status(404)
//!         .text("there is no machine {name}"),
//!     NativeError::new("bad-route", &["get", "put"], Class::Permanent, "Machines API v1").status(400),
//! ];
//!
//! /// A service that keeps names, and nothing else.
//! #[derive(Default)]
//! struct Machines(Mutex<Vec<String>>);
//!
//! impl Fake for Machines {
//!     fn read(&self, request: &Request) -> Reading {
//!         let (method, path) = request.route();
//!         let reading = Reading::new(method.to_lowercase(), "api").about(path.last().copied().unwrap_or(""));
//!         if method == "PUT" { reading.mutates().with_payload() } else { reading }
//!     }
//!
//!     fn answer(&self, request: &Request) -> Result<Answer, Refused> {
//!         let mut names = self.0.lock().unwrap();
//!         let (method, path) = request.route();
//!         match (method, &path[..]) {
//!             ("PUT", ["machines", name]) => names.push((*name).to_owned()),
//!             ("GET", ["machines", name]) if names.iter().any(|known| known == name) => {}
//!             ("GET", ["machines", _]) => return Err(Refused("not-found")),
//!             _ => return Err(Refused("bad-route")),
//!         }
//!         Ok(http::json(200, &json!({})))
//!     }
//!
//!     fn native(&self, request: &Request, error: &NativeError) -> Answer {
//!         let name = request.route().1.last().copied().unwrap_or_default().to_owned();
//!         let status = error.status.unwrap_or(500) as u16;
//!         http::json(status, &json!({"message": error.text.replace("{name}", &name)}))
//!     }
//! }
//!
//! // In `Harness::open` the wire is the case's.
//! let wire = Wire::new(Ledger::default());
//! let server = Server::new(Arc::<Machines>::default(), wire.clone(), Catalogue(&[TABLE]));
//! // In a case: `server.serve(On::Unix(path))?`, `server.serve(On::Tcp)?`, or for clients that take one:
//! let service = server.service();
//! # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
//! # runtime.block_on(async {
//! # use tower::ServiceExt as _;
//! let request = ::http::Request::get("/machines/a").body(axum::body::Body::empty()).unwrap();
//! assert_eq!(service.oneshot(request).await.unwrap().status(), 404);
//! assert_eq!(wire.calls()[0].subject, "a");
//! # });
//! # Ok::<(), std::io::Error>(())
//! ```

mod answer;
mod object;
mod request;
mod route;
mod server;
#[cfg(test)]
mod tests;

use provider_api::NativeError;

pub use self::{
    answer::{Answer, Body, json, json_of, refusal, text},
    object::Object,
    request::Request,
    route::{Route, Routed},
    server::{Server, Service},
};
pub use super::{Reading, Refused};

/// A backend behind HTTP, as its author writes it. Three methods are the author's own; the others have a default that
/// suits most backends.
pub trait Fake: Send + Sync + 'static {
    /// What the wire is to record of a request. It changes nothing, and has something to say about nonsense too: a
    /// kind that no profile lists.
    fn read(&self, request: &Request) -> Reading;

    /// Does what a request asks for, in one step, and answers. It may be called long after the request came, when a
    /// plan lets its effect land late.
    ///
    /// # Errors
    /// The id of a catalogued error, which [`Fake::native`] then words.
    fn answer(&self, request: &Request) -> Result<Answer, Refused>;

    /// How an error of the catalogue looks: status, headers, body. A field `retry-after` of it, in seconds, goes where the
    /// backend says how long to wait. Where the error shows in a task ([`Shows::Task`](provider_api::Shows::Task)), the answer
    /// is that of an accepted call, whose task fails: [`Store::fail_at_once`](crate::fake::store::Store::fail_at_once).
    ///
    /// It is also asked for [`UNKNOWN_ERROR`](crate::harness::UNKNOWN_ERROR), with a status, a code and a text that
    /// nobody has heard of.
    fn native(&self, request: &Request, error: &NativeError) -> Answer;

    /// Whether refusals quote what they were sent now; `Hand::quote_payloads` switches it, so a fake on a store answers
    /// [`Store::quotes`](crate::fake::store::Store).
    fn quotes(&self) -> bool {
        false
    }

    /// Whether an answer says no: by its status, unless the backend refuses otherwise, say in the body of a 200. Only
    /// refusals quote.
    fn refuses(&self, answer: &Answer) -> bool {
        answer::is_refusal(answer)
    }

    /// Whether a refusal is that of a login: by the status 401, unless the backend says so otherwise.
    fn refuses_login(&self, refusal: &Answer) -> bool {
        refusal.status() == ::http::StatusCode::UNAUTHORIZED
    }

    /// The id of the catalogued error that the backend gives for a refusal: the same, unless it has one error for several
    /// refusals of a store.
    fn error_for(&self, refused: Refused) -> &'static str {
        refused.0
    }

    /// What a refused login quotes in place of the body, where the backend does so: the token.
    fn credentials(&self, request: &Request) -> Option<String> {
        let _ = request;
        None
    }

    /// The field of a JSON body, wherever it stands in it, that a refusal has its text in. A refusal in JSON without it
    /// breaks the case: what a refusal cannot quote no rule can see in a log.
    fn message(&self) -> &'static str {
        "message"
    }

    /// Puts what was sent into a refusal: into each [`Fake::message`] of a JSON body, or at the end of another body.
    fn quote(&self, refusal: Answer, quoted: &str) -> Answer {
        answer::quote(refusal, self.message(), quoted)
    }
}
