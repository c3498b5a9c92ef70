//! A fake of a small REST service, a client of it, and what the kit's blocks do for both: recording, faults, held calls,
//! certificates and resets, over a unix socket, TCP and TLS.

mod client;
mod fake;

use std::time::Duration;

use client::{Client, DELETE, Dial, Failed, GET, LIST, PUT, TASK};
use fake::{Backend, CATALOGUE};
use http::Method;
use provider_api::{CallError, CallKind, Name, Uid};
use providertest::{
    drive::Ended,
    fake::{Certificate, On, Tls, catalogue, trial::Trial},
    faults::{Answer, CallerThen, Effect, Fault, Match},
    harness::{Hand, Planted, UNKNOWN_ERROR},
    wire::Condition,
};
use serde_json::{Value, json};

const A: &str = "/zones/north/machines/a";

struct Fixture {
    trial: Trial,
    backend: Backend,
    client: Client,
    tls: Tls,
}

impl Fixture {
    fn new(over: &str) -> Self {
        let trial = Trial::new();
        let tls = Tls::new(&[]).expect("a certificate");
        let folder = trial.case().folder.path().expect("a folder").to_owned();
        let on = match over {
            "unix" => On::Unix(folder.join("socket")),
            "tcp" => On::Tcp,
            _ => On::Tls(tls.clone()),
        };
        let backend = Backend::open(trial.case(), on).expect("a socket");
        let dial = match (over, backend.serving.address()) {
            ("tls", Some(address)) => Dial::Tls(address, tls.ca_pem().to_owned()),
            (_, Some(address)) => Dial::Tcp(address),
            (_, None) => Dial::Unix(backend.serving.path().expect("a path").to_owned()),
        };
        let client = Client::new(&trial.context(), dial, folder.join("token"));
        Self { trial, backend, client, tls }
    }

    async fn call(
        &self,
        kind: CallKind,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<Value, CallError<Failed>> {
        self.trial.runs(self.client.call(kind, method, path, body)).await
    }

    async fn get(&self, path: &str) -> Result<Value, CallError<Failed>> {
        self.call(GET, Method::GET, path, None).await
    }

    async fn put(&self) -> Result<Value, CallError<Failed>> {
        let body = json!({"size": "small", "userData": "a secret of mine", "marks": {"owner": "a"}});
        self.call(PUT, Method::PUT, A, Some(body)).await
    }

    fn arm(&self, kind: &str, effect: Effect, answer: Answer, caller: CallerThen) {
        let at = Match { operation: self.trial.next_operation(), kind: kind.to_owned(), nth: 0 };
        self.trial.case().wire.arm([Fault { at, effect, answer, caller, repeats: false }]);
    }

    fn stands(&self) -> usize {
        self.backend.store.open().instances.len()
    }
}

fn refused(result: Result<Value, CallError<Failed>>) -> (u16, String) {
    match result {
        Err(CallError::Backend(Failed::Refused { status, body })) => {
            (status.as_u16(), body["error"]["message"].as_str().unwrap_or_default().to_owned())
        }
        other => panic!("it was to be refused: {other:?}"),
    }
}

fn is_broken(result: &Result<Value, CallError<Failed>>) -> bool {
    matches!(result, Err(CallError::Backend(Failed::Broken(_))))
}

#[tokio::test]
async fn calls_are_answered_and_recorded_over_every_transport() {
    for over in ["unix", "tcp", "tls"] {
        let it = Fixture::new(over);
        let task = it.put().await.unwrap()["task"].clone();
        assert_eq!(it.get(A).await.unwrap()["state"], "CREATING");
        it.trial.pass(Duration::from_secs(2));
        let path = format!("/zones/north/tasks/{task}");
        assert_eq!(it.call(TASK, Method::GET, &path, None).await.unwrap()["state"], "DONE");
        it.trial.pass(Duration::from_secs(20));
        let machine = it.get(A).await.unwrap();
        assert_eq!((&machine["state"], &machine["addresses"][0]), (&json!("UP"), &json!("10.20.0.1")));
        let life = format!("{A}?life={}", machine["life"]);
        it.call(DELETE, Method::DELETE, &life, None).await.unwrap();
        assert_eq!(it.get(A).await.unwrap()["deleting"], true);
        it.trial.pass(Duration::from_secs(3));
        assert_eq!(refused(it.get(A).await), (404, "there is no machine a".to_owned()));
        let calls = it.trial.case().wire.calls();
        let kinds: Vec<_> = calls.iter().map(|call| (call.kind.as_str(), call.mutates)).collect();
        let expected = [("put", true), ("get", false), ("task", false), ("get", false), ("delete", true)];
        assert_eq!(kinds[..5], expected);
        assert!(calls.iter().all(|call| call.seam.is_some() && call.target == "north"));
    }
}

#[tokio::test]
async fn a_held_call_is_counted_and_costs_no_time() {
    for over in ["unix", "tcp", "tls"] {
        let it = Fixture::new(over);
        let ledger = it.trial.case().wire.ledger().clone();
        it.trial.case().wire.set_condition("north", Some(Condition::Hangs));
        assert!(matches!(it.get(A).await, Err(CallError::Overlong(_))));
        assert_eq!((it.trial.case().clock.monotonic(), ledger.parked()), (Duration::from_secs(10), 1));
        it.trial.case().wire.set_condition("north", None);
        it.backend.serving.hold_dials(true);
        assert!(matches!(it.get(A).await, Err(CallError::Overlong(_))));
        it.backend.serving.hold_dials(false);
        it.put().await.unwrap();
        assert_eq!((it.trial.case().clock.monotonic(), ledger.held_dials()), (Duration::from_secs(20), 0));
    }
}

#[tokio::test]
async fn faults_decide_effect_answer_and_caller_apart() {
    for over in ["unix", "tcp", "tls"] {
        let it = Fixture::new(over);
        it.arm("put", Effect::Never, Answer::Reset, CallerThen::Waits);
        assert!(is_broken(&it.put().await));
        assert_eq!(it.stands(), 0);
        it.arm("put", Effect::Now, Answer::Reset, CallerThen::Waits);
        assert!(is_broken(&it.put().await));
        assert_eq!(it.stands(), 1);
        assert_eq!(refused(it.put().await), (409, "machine a is there already".to_owned()));
        it.arm("delete", Effect::AfterNextOperation, Answer::Normal, CallerThen::Dropped);
        let delete = it.client.call(DELETE, Method::DELETE, A, None);
        assert!(matches!(it.trial.run(delete).await.unwrap(), Ended::Dropped));
        assert_eq!(it.get(A).await.unwrap()["deleting"], false);
        assert_eq!(it.get(A).await.unwrap()["deleting"], true, "it landed after the next operation");
        assert_eq!(it.trial.case().wire.ledger().dropped_in_transit(), 0);
    }
}

#[tokio::test]
async fn every_catalogued_error_can_be_had() {
    let it = Fixture::new("unix");
    it.put().await.unwrap();
    for error in CATALOGUE.on("get") {
        it.arm("get", Effect::Never, Answer::Native(error.id.to_owned()), CallerThen::Waits);
        let expected = (error.status.unwrap() as u16, catalogue::worded(error, &[("name", "a")]));
        assert_eq!(refused(it.get(A).await), expected);
    }
    it.arm("get", Effect::Never, Answer::Native(UNKNOWN_ERROR.to_owned()), CallerThen::Waits);
    assert_eq!(refused(it.get(A).await).0, 599);
    it.arm("put", Effect::Never, Answer::Native("late-stock-out".to_owned()), CallerThen::Waits);
    let task = format!("/zones/north/tasks/{}", it.put().await.unwrap()["task"]);
    let task = it.call(TASK, Method::GET, &task, None).await.unwrap();
    assert_eq!((&task["state"], &task["error"]["code"]), (&json!("FAILED"), &json!("stockOut")));
}

#[tokio::test]
async fn a_client_that_looks_at_certificates_refuses_the_wrong_ones() {
    let it = Fixture::new("tls");
    it.put().await.unwrap();
    for wrong in [Certificate::Expired, Certificate::NotYet, Certificate::WrongName, Certificate::Untrusted] {
        it.tls.show(wrong).unwrap();
        let calls = it.trial.case().wire.call_count();
        let result = it.get(A).await;
        let text = format!("{result:?}");
        assert!(is_broken(&result) && text.contains("InvalidCertificate"), "{wrong:?}: {text}");
        assert_eq!(it.trial.case().wire.call_count(), calls, "no request was sent");
    }
    it.tls.show(Certificate::Good).unwrap();
    it.get(A).await.unwrap();
}

#[tokio::test]
async fn the_powers_come_with_the_store() {
    let it = Fixture::new("unix");
    let hand: &dyn Hand = &it.backend;
    hand.quote_payloads(true).await.unwrap();
    hand.set_quota(Some(0)).await.unwrap();
    let (status, text) = refused(it.put().await);
    assert!(status == 403 && text.contains("a secret of mine"), "{text}");
    hand.spoil_credentials(true).await.unwrap();
    let (status, text) = refused(it.get(A).await);
    assert!(status == 401 && text.contains("token-"), "the token is quoted in place of a body: {text}");
    hand.spoil_credentials(false).await.unwrap();
    hand.rotate_credentials().await.unwrap();
    hand.revoke(Some("machines.write")).await.unwrap();
    assert_eq!(refused(it.put().await).0, 403);
    hand.revoke(None).await.unwrap();
    hand.set_quota(None).await.unwrap();
    hand.fail_late(Some("late-stock-out")).await.unwrap();
    it.put().await.unwrap();
    it.trial.pass(Duration::from_secs(2));
    assert_eq!(it.stands(), 0, "it was accepted, and came to nothing");
    for index in 0..3 {
        let uid = Uid::parse(&format!("uid-{index}")).unwrap();
        let name = Name::from_uid(&uid).to_string();
        let planted = Planted { name, marks: Default::default(), placement: Default::default() };
        hand.plant(&planted).await.unwrap();
    }
    hand.set_page_size(2).await.unwrap();
    let list = async |page: &str| {
        let path = format!("/zones/north/machines{page}");
        it.call(LIST, Method::GET, &path, None).await.unwrap()
    };
    let first = list("").await;
    let second = list(&format!("?page={}", first["next"].as_str().unwrap())).await;
    let counts = [&first, &second].map(|page| page["items"].as_array().unwrap().len());
    assert_eq!((counts, &second["next"]), ([2, 1], &Value::Null));
    assert_eq!(first["items"][0]["state"], "UP");
    assert_eq!(it.backend.store.open().things().len(), 3);
    assert!(hand.send_nonsense().await.unwrap());
    assert!(hand.relocate(&Name::from_uid(&Uid::parse("uid-0").unwrap())).await.is_err(), "they stay put");
}

#[tokio::test]
async fn a_request_without_a_body_in_json_is_refused_before_anything_happens() {
    let it = Fixture::new("tcp");
    for nonsense in [None, Some(json!({"size": 7})), Some(json!({"size": "small", "colour": "red"}))] {
        assert_eq!(refused(it.call(PUT, Method::PUT, A, nonsense).await).0, 400);
    }
    assert_eq!(refused(it.call(GET, Method::GET, "/nowhere", None).await).0, 400);
    assert_eq!(it.stands(), 0);
    // In the process there is no connection to break, and the caller hears of it all the same.
    use tower::ServiceExt as _;
    it.trial.case().wire.set_condition("north", Some(Condition::Cut));
    let request = http::Request::get(A).body(axum::body::Body::empty()).unwrap();
    let error = it.backend.server.service().oneshot(request).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}
