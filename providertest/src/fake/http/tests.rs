//! The server by itself: what it reads, quotes, refuses and breaks, and that a closed connection decides nothing.

use std::{
    io::ErrorKind,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use provider_api::{Catalogue, Class, NativeError};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpStream, UnixStream},
};
use tower::ServiceExt as _;

use super::*;
use crate::{
    fake::On,
    harness::UNKNOWN_ERROR,
    ledger::Ledger,
    wire::{Condition, Wire},
};

const TABLE: &[NativeError] = &[
    NativeError::new("bad", &["put"], Class::Permanent, "here").status(400).text("{name} makes no sense"),
    NativeError::new("who", &["put"], Class::Permanent, "here").status(401).text("not you"),
];

/// Keeps bodies; refuses one that is no text, and callers without a token.
#[derive(Default)]
struct Keeper {
    kept: Mutex<Vec<String>>,
    quotes: bool,
}

impl Fake for Keeper {
    fn read(&self, request: &Request) -> Reading {
        let (method, path) = request.route();
        Reading::new(method.to_lowercase(), "api").about(path.join("/")).mutates().with_payload()
    }

    fn answer(&self, request: &Request) -> Result<Answer, Refused> {
        if request.bearer() != Some("token") {
            return Err(Refused("who"));
        }
        let text = String::from_utf8(request.body().to_vec()).map_err(|_| Refused("bad"))?;
        self.kept.lock().unwrap().push(text);
        Ok(json(200, &json!({"kept": true})))
    }

    fn native(&self, request: &Request, error: &NativeError) -> Answer {
        let text = error.text.replace("{name}", &request.route().1.join("/"));
        json(error.status.unwrap() as u16, &json!({"error": {"message": text, "code": error.code}}))
    }

    fn quotes(&self) -> bool {
        self.quotes
    }

    fn credentials(&self, request: &Request) -> Option<String> {
        request.bearer().map(str::to_owned)
    }
}

struct Fixture {
    keeper: Arc<Keeper>,
    wire: Wire,
    server: Server,
}

impl Fixture {
    fn new(quotes: bool) -> Self {
        let keeper = Arc::new(Keeper { quotes, ..Keeper::default() });
        let wire = Wire::new(Ledger::default());
        let server = Server::new(Arc::<Keeper>::clone(&keeper), wire.clone(), Catalogue(&[TABLE]));
        Self { keeper, wire, server }
    }

    async fn put(&self, token: &str, body: impl Into<Bytes>) -> (u16, Value) {
        let request = ::http::Request::put("/a/b%20c").header("authorization", format!("Bearer {token}"));
        let answer = self.server.service().oneshot(request.body(Full::new(body.into())).unwrap()).await;
        let (parts, body) = answer.unwrap().into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        (parts.status.as_u16(), serde_json::from_slice(&bytes).unwrap_or_default())
    }

    fn kept(&self) -> usize {
        self.keeper.kept.lock().unwrap().len()
    }
}

#[tokio::test]
async fn requests_are_recorded_and_answered() {
    let it = Fixture::new(false);
    assert_eq!(it.put("token", "x").await, (200, json!({"kept": true})));
    let (status, body) = it.put("token", [0xff].to_vec()).await;
    assert_eq!((status, &body["error"]["message"]), (400, &json!("a/b c makes no sense")));
    let calls = it.wire.calls();
    assert_eq!((calls.len(), calls[0].kind.as_str(), calls[0].subject.as_str()), (2, "put", "a/b c"));
    assert!(calls[0].mutates);
}

#[tokio::test]
async fn refusals_quote_what_was_sent_when_they_are_to() {
    let it = Fixture::new(true);
    let (_, body) = it.put("token", b"user data \xff".to_vec()).await;
    assert!(body["error"]["message"].as_str().unwrap().contains("user data"), "{body}");
    let (status, body) = it.put("a-wrong-token", "user data").await;
    assert_eq!((status, &body["error"]["message"]), (401, &json!("not you: a-wrong-token")));
    assert_eq!(it.put("token", "x").await.1, json!({"kept": true}), "an answer quotes nothing");
}

#[test]
#[should_panic(expected = "say in `Fake::message`")]
fn a_refusal_that_has_no_field_to_quote_in_breaks_the_case() {
    super::answer::quote(super::json(400, &json!({"error": {"text": "no"}})), "message", "user data");
}

/// Refuses in the body of a 200, has one error for several refusals, and words it in a field of its own.
struct Envelope;

impl Fake for Envelope {
    fn read(&self, request: &Request) -> Reading {
        Route::read(&[Route::new("put", "PUT", "/{target}/{name}").with_payload()], request, "nowhere")
    }

    fn answer(&self, _: &Request) -> Result<Answer, Refused> {
        Err(Refused("changed"))
    }

    fn native(&self, _: &Request, error: &NativeError) -> Answer {
        refusal(error, "no".to_owned(), &json!({"ok": false, "error": {"code": error.code, "text": "no"}}))
    }

    fn quotes(&self) -> bool {
        true
    }

    fn refuses(&self, answer: &Answer) -> bool {
        json_of(answer)["ok"] == false
    }

    fn refuses_login(&self, refusal: &Answer) -> bool {
        json_of(refusal)["error"]["code"] == "E_KEY"
    }

    fn error_for(&self, _: Refused) -> &'static str {
        "key"
    }

    fn credentials(&self, _: &Request) -> Option<String> {
        Some("a-key".to_owned())
    }

    fn message(&self) -> &'static str {
        "text"
    }
}

#[tokio::test]
async fn a_backend_may_refuse_in_ways_of_its_own() {
    const KEY: NativeError = NativeError::new("key", &["put"], Class::Permanent, "here")
        .status(200)
        .code("E_KEY")
        .fields(&[("retry-after", "7")]);
    let wire = Wire::new(Ledger::default());
    let server = Server::new(Arc::new(Envelope), wire.clone(), Catalogue(&[&[KEY]]));
    let request = ::http::Request::put("/north/a").body(Full::new(Bytes::new())).unwrap();
    let answer = server.service().oneshot(request).await.unwrap();
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["retry-after"]),
        (200, &::http::HeaderValue::from_static("7"))
    );
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    let body: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(body["error"]["text"], "no: a-key", "it was asked by its own ways");
    let call = &wire.calls()[0];
    assert_eq!((call.target.as_str(), call.subject.as_str(), call.mutates), ("north", "a", true));
}

#[test]
fn an_error_without_a_code_is_not_the_backends_own() {
    let gateway = NativeError::new("gateway", &[], Class::Transient, "here").status(502);
    let answer = refusal(&gateway, "bad gateway".to_owned(), &json!({"error": {}}));
    assert_eq!((answer.status().as_u16(), json_of(&answer)), (502, Value::Null));
}

#[test]
fn a_route_is_told_by_path_query_and_body() {
    const ROUTES: &[Route] = &[
        Route::new("seed", "PUT", "/disks/{name}").with_field("content").with_payload(),
        Route::new("format", "PUT", "/disks/{name}").with_value("action", "format"),
        Route::new("disk", "PUT", "/disks/{name}"),
        Route::new("tagged", "GET", "/disks?tag=ours"),
        Route::new("page", "GET", "/disks?after={token}"),
        Route::new("disks", "GET", "/disks"),
    ];
    let kind = |request: &Request| Route::find(ROUTES, request).map(|found| found.route.kind);
    let put = || Request::new("PUT", "/disks/a");
    assert_eq!(kind(&put().with_json(&json!({"content": ""}))), Some("seed"));
    assert_eq!(kind(&put().with_json(&json!({"content": null}))), Some("disk"));
    assert_eq!(kind(&put()), Some("disk"));
    assert_eq!(kind(&put().with_json(&json!({"action": "format"}))), Some("format"));
    assert_eq!(kind(&put().with_json(&json!({"action": "wipe"}))), Some("disk"));
    for (uri, expected) in [
        ("/disks", Some("disks")),
        ("/disks?tag=ours", Some("tagged")),
        ("/disks?tag=theirs", Some("disks")),
        ("/disks?after=9", Some("page")),
        ("/disks/a", None),
        ("/", None),
    ] {
        assert_eq!(kind(&Request::new("GET", uri)), expected, "{uri}");
    }
    let nonsense = Route::read(ROUTES, &Request::new("GET", "/"), "north");
    assert_eq!(nonsense, Reading::new("nonsense", "north"));
    let seed = Route::read(ROUTES, &put().with_json(&json!({"content": "x"})), "north");
    assert_eq!(seed, Reading::new("seed", "north").about("a").mutates().with_payload());
}

#[tokio::test]
async fn an_unheard_of_error_is_worded_like_any_other() {
    let it = Fixture::new(false);
    let request = Request::of(::http::Request::put("/a").body(Bytes::new()).unwrap());
    let sent = it.server.sent(request, false);
    assert_eq!(sent.native(UNKNOWN_ERROR).status(), 599);
}

#[tokio::test]
async fn a_body_has_a_limit_however_it_comes() {
    let it = Fixture::new(false);
    let server = it.server.clone().limit(10);
    let long = ::http::Request::put("/a").body(Full::new(Bytes::from_static(b"twelve bytes"))).unwrap();
    assert_eq!(server.service().oneshot(long).await.unwrap().status(), 413);
    let serving = server.serve(On::Tcp).unwrap();
    let head =
        "PUT /a HTTP/1.1\r\nhost: x\r\nauthorization: Bearer token\r\ntransfer-encoding: chunked\r\n\r\n";
    for (chunks, expected) in [(3, "200"), (4, "413")] {
        let mut client = TcpStream::connect(serving.address().unwrap()).await.unwrap();
        client.write_all(head.as_bytes()).await.unwrap();
        for _ in 0..chunks {
            client.write_all(b"3\r\nabc\r\n").await.unwrap();
            tokio::task::yield_now().await;
        }
        client.write_all(b"0\r\n\r\n").await.unwrap();
        let mut status = [0; 12];
        client.read_exact(&mut status).await.unwrap();
        assert!(status.ends_with(expected.as_bytes()), "{}", String::from_utf8_lossy(&status));
    }
    assert_eq!((it.kept(), it.wire.call_count()), (1, 1));
}

#[tokio::test]
async fn a_cut_connection_is_reset() {
    let it = Fixture::new(false);
    it.wire.set_condition("api", Some(Condition::Cut));
    let head = b"PUT /a HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n";
    let serving = it.server.serve(On::Tcp).unwrap();
    let mut client = TcpStream::connect(serving.address().unwrap()).await.unwrap();
    client.write_all(head).await.unwrap();
    let error = client.read(&mut [0; 1]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    let folder = tempfile::tempdir().unwrap();
    let serving = it.server.serve(On::Unix(folder.path().join("s"))).unwrap();
    let mut client = UnixStream::connect(serving.path().unwrap()).await.unwrap();
    client.write_all(head).await.unwrap();
    assert_eq!(client.read(&mut [0; 1]).await.unwrap(), 0, "a unix socket just closes");
    assert_eq!((it.kept(), it.wire.call_count()), (0, 2));
}

#[tokio::test]
async fn a_closed_connection_decides_nothing() {
    let it = Fixture::new(false);
    // The answer takes a while, and its client does not wait for it.
    it.wire.set_latency(Duration::from_secs(5));
    let serving = it.server.serve(On::Tcp).unwrap();
    let mut client = TcpStream::connect(serving.address().unwrap()).await.unwrap();
    let head = b"PUT /a HTTP/1.1\r\nhost: x\r\nauthorization: Bearer token\r\ncontent-length: 1\r\n\r\nx";
    client.write_all(head).await.unwrap();
    until(|| it.wire.ledger().parked() == 1).await;
    drop(client);
    drop(serving);
    tokio::task::yield_now().await;
    assert_eq!((it.kept(), it.wire.ledger().parked()), (1, 1), "the request is still the fake's");
    assert!(!it.wire.ledger().settle(), "a sleeper had to be fired");
    until(|| it.wire.ledger().settle()).await;
    assert_eq!(it.wire.ledger().parked(), 0);
}

#[tokio::test]
async fn a_held_dial_counts_until_its_client_gives_up() {
    let it = Fixture::new(false);
    let serving = it.server.serve(On::Tcp).unwrap();
    serving.hold_dials(true);
    let mut client = TcpStream::connect(serving.address().unwrap()).await.unwrap();
    client.write_all(b"PUT / HTTP/1.1\r\n\r\n").await.unwrap();
    until(|| it.wire.ledger().held_dials() == 1).await;
    drop(client);
    until(|| it.wire.ledger().held_dials() == 0).await;
    assert_eq!(it.wire.call_count(), 0);
}

/// Lets the tasks of the runtime work until it holds.
async fn until(holds: impl Fn() -> bool) {
    let waited = async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waited).await.expect("it comes about");
}
