//! A tiny line protocol: `CALL put TEXT` is kept and answered `CALL ok`, anything else is refused. CALL may be `-`. A line
//! that begins with `!` is no call, and answered by itself; after `CALL put bye` the backend hangs up.

use std::{
    io::ErrorKind,
    sync::{Arc, Mutex},
    time::Duration,
};

use provider_api::{BackendError, CallError, CallId, CallKind, Catalogue, Class, NativeError};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpStream, UnixStream},
};

use super::*;
use crate::{
    drive::Ended,
    fake::{On, trial::Trial},
    faults::{Answer, CallerThen, Effect, Fault, Match},
    wire::Condition,
};

const TABLE: &[NativeError] = &[
    NativeError::new("unknown-word", &["put"], Class::Permanent, "here").text("what?"),
    NativeError::new("full", &["put"], Class::QuotaExceeded, "here").text("full"),
];

#[derive(Default)]
struct Lines {
    kept: Mutex<Vec<String>>,
    quotes: bool,
    overlaps: bool,
    at_once: Option<usize>,
}

fn words(message: &[u8]) -> (String, String, String) {
    let text = String::from_utf8_lossy(message);
    let mut words = text.trim_end().splitn(3, ' ').map(str::to_owned);
    let mut next = || words.next().unwrap_or_default();
    (next(), next(), next())
}

impl Fake for Lines {
    type Session = usize;

    fn begin(&self, push: Push) -> usize {
        push.say("lines 1\n");
        0
    }

    fn frame(&self, _: &usize, bytes: &[u8]) -> Result<Option<usize>, Malformed> {
        if bytes.contains(&0) {
            return Err(Malformed);
        }
        Ok(bytes.iter().position(|byte| *byte == b'\n').map(|end| end + 1))
    }

    fn read(&self, _: &usize, message: &[u8]) -> Reading {
        let (call, verb, text) = words(message);
        Reading::new(verb, "host").about(text).mutates().with_payload().of_call(call.parse().ok().map(CallId))
    }

    fn answer(&self, said: &mut usize, message: &[u8]) -> Result<Vec<u8>, Refused> {
        let (call, verb, text) = words(message);
        if verb != "put" {
            return Err(Refused("unknown-word"));
        }
        *said += 1;
        self.kept.lock().unwrap().push(text);
        Ok(format!("{call} ok {said}\n").into_bytes())
    }

    fn native(&self, _: &usize, message: &[u8], error: &NativeError, quoted: Option<&str>) -> Vec<u8> {
        let quoted = quoted.map(|quoted| format!(": {}", quoted.trim_end())).unwrap_or_default();
        format!("{} error {}{quoted}\n", words(message).0, error.text).into_bytes()
    }

    fn quotes(&self) -> bool {
        self.quotes
    }

    fn overlaps(&self) -> bool {
        self.overlaps
    }

    fn aside(&self, _: &mut usize, message: &[u8]) -> Option<Vec<u8>> {
        message.starts_with(b"!").then(|| message.to_vec())
    }

    fn at_once(&self) -> usize {
        self.at_once.unwrap_or(usize::MAX)
    }

    fn answered(&self, _: &mut usize, message: &[u8], answer: &[u8]) -> Then {
        assert!(!answer.is_empty());
        if words(message).2 == "bye" { Then::HangsUp } else { Then::Listens }
    }
}

struct Fixture {
    lines: Arc<Lines>,
    trial: Trial,
    serving: crate::fake::Serving,
}

impl Fixture {
    fn new(lines: Lines) -> Self {
        let (trial, lines) = (Trial::new(), Arc::new(lines));
        let server = Server::new(Arc::clone(&lines), trial.case().wire.clone(), Catalogue(&[TABLE]), "host");
        let serving = server.limit(100).serve(On::Tcp).unwrap();
        Self { lines, trial, serving }
    }

    async fn client(&self) -> Client {
        let mut client = self.dial().await;
        assert_eq!(client.line().await.unwrap(), "lines 1");
        client
    }

    async fn dial(&self) -> Client {
        Client(BufReader::new(TcpStream::connect(self.serving.address().unwrap()).await.unwrap()))
    }

    fn kept(&self) -> Vec<String> {
        self.lines.kept.lock().unwrap().clone()
    }

    fn parked(&self) -> usize {
        self.trial.case().wire.ledger().parked()
    }

    fn set(&self, condition: Option<Condition>) {
        self.trial.case().wire.set_condition("host", condition);
    }
}

struct Client(BufReader<TcpStream>);

impl Client {
    async fn say(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }

    async fn line(&mut self) -> std::io::Result<String> {
        let mut line = String::new();
        match self.0.read_line(&mut line).await? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(line.trim_end().to_owned()),
        }
    }

    async fn is_reset(&mut self) -> bool {
        self.line().await.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset)
    }
}

#[tokio::test]
async fn messages_are_cut_out_of_the_stream_and_answered_in_turn() {
    let it = Fixture::new(Lines { quotes: true, ..Lines::default() });
    let mut client = it.client().await;
    client.say("- put a b\n- pu").await;
    assert_eq!(client.line().await.unwrap(), "- ok 1");
    client.say("t c\n- take c\n").await;
    assert_eq!(client.line().await.unwrap(), "- ok 2");
    assert_eq!(client.line().await.unwrap(), "- error what?: - take c");
    assert_eq!(it.client().await.0.buffer(), b"", "every connection is greeted");
    assert_eq!(it.kept(), ["a b", "c"]);
    let kinds: Vec<_> = it.trial.case().wire.calls().into_iter().map(|call| call.kind).collect();
    assert_eq!(kinds, ["put", "put", "take"]);
}

#[tokio::test]
async fn what_is_no_message_is_reset() {
    let it = Fixture::new(Lines::default());
    for bad in ["\0".to_owned(), "x".repeat(101)] {
        let mut client = it.client().await;
        client.say(&bad).await;
        assert!(client.is_reset().await);
    }
    assert_eq!(it.trial.case().wire.call_count(), 0);
}

#[tokio::test]
async fn conditions_reach_connections_that_stand() {
    let it = Fixture::new(Lines::default());
    let mut client = it.client().await;
    it.set(Some(Condition::Cut));
    assert!(client.is_reset().await, "an idle connection breaks");
    assert!(it.dial().await.is_reset().await, "and so does a new one");
    it.set(None);
    let mut client = it.client().await;
    it.set(Some(Condition::Hangs));
    client.say("- put a\n").await;
    until(|| it.parked() == 1).await;
    let silent = it.dial().await;
    until(|| it.trial.case().wire.ledger().held_dials() == 1).await;
    drop(silent);
    until(|| it.trial.case().wire.ledger().held_dials() == 0).await;
    assert!(it.kept().is_empty());
}

#[tokio::test]
async fn a_message_waits_for_those_before_it_and_is_known_to_be_held() {
    for overlaps in [false, true] {
        let it = Fixture::new(Lines { overlaps, ..Lines::default() });
        it.trial.case().wire.set_latency(Duration::from_secs(1));
        let mut client = it.client().await;
        client.say("- put a\n- put b\n").await;
        until(|| it.parked() == 2).await;
        assert_eq!(it.kept().len(), if overlaps { 2 } else { 1 });
        until(|| it.trial.case().wire.ledger().settle()).await;
        assert_eq!(client.line().await.unwrap(), "- ok 1");
        until(|| it.trial.case().wire.ledger().settle()).await;
        assert_eq!(client.line().await.unwrap(), "- ok 2");
    }
}

#[tokio::test]
async fn what_is_no_call_is_answered_past_the_wire() {
    let it = Fixture::new(Lines { overlaps: true, ..Lines::default() });
    it.trial.case().wire.set_latency(Duration::from_secs(1));
    let mut client = it.client().await;
    client.say("- put a\n!ping\n").await;
    assert_eq!(client.line().await.unwrap(), "!ping", "what takes its time is not waited for");
    assert_eq!(it.trial.case().wire.call_count(), 1);
}

#[tokio::test]
async fn a_backend_with_enough_to_do_reads_no_further() {
    let it = Fixture::new(Lines { overlaps: true, at_once: Some(2), ..Lines::default() });
    it.trial.case().wire.set_latency(Duration::from_secs(1));
    let mut client = it.client().await;
    client.say("- put a\n- put b\n- put c\n!ping\n").await;
    until(|| it.parked() == 4).await;
    assert_eq!(it.kept(), ["a", "b"]);
    assert_eq!(it.trial.case().wire.call_count(), 2, "what is not read is no call yet");
    until(|| it.trial.case().wire.ledger().settle()).await;
    let mut lines = Vec::new();
    for _ in 0..3 {
        lines.push(client.line().await.unwrap());
    }
    assert!(lines.contains(&"!ping".to_owned()), "{lines:?}");
    until(|| it.kept().len() == 3).await;
    until(|| it.trial.case().wire.ledger().settle()).await;
    assert_eq!(client.line().await.unwrap(), "- ok 3");
    assert_eq!(it.parked(), 0);
}

#[tokio::test]
async fn a_backend_hangs_up_once_it_has_answered() {
    let it = Fixture::new(Lines::default());
    let mut client = it.client().await;
    client.say("- put bye\n").await;
    assert_eq!(client.line().await.unwrap(), "- ok 1");
    assert!(client.line().await.is_err());
}

#[tokio::test]
async fn a_stream_of_somebody_elses_is_spoken_on() {
    let (trial, lines) = (Trial::new(), Arc::<Lines>::default());
    let server = Server::new(lines, trial.case().wire.clone(), Catalogue(&[TABLE]), "host");
    let (mut ours, theirs) = tokio::io::duplex(64);
    let speaking = tokio::spawn(async move { server.speak(theirs).await });
    ours.write_all(b"- put a\n").await.unwrap();
    let mut answer = [0; 15];
    ours.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"lines 1\n- ok 1\n");
    drop(ours);
    speaking.await.unwrap();
}

#[tokio::test]
async fn a_blocked_threads_message_is_of_the_call_whose_closure_runs() {
    let trial = Trial::new();
    let server = Server::new(Arc::<Lines>::default(), trial.case().wire.clone(), Catalogue(&[TABLE]), "host");
    let serving = server.blocking().serve(On::Tcp).unwrap();
    let (address, wire) = (serving.address().unwrap(), trial.case().wire.clone());
    let seam = trial.context().seam("lines", Duration::from_secs(10));
    let said = seam.blocking(Duration::from_secs(10), CallKind::write("put"), "host", move || {
        use std::io::{Read as _, Write as _};
        let mut stream = std::net::TcpStream::connect(address)?;
        stream.write_all(b"- put a\n")?;
        let mut answer = [0; 15];
        stream.read_exact(&mut answer)?;
        Ok::<_, Broken>(answer.to_vec())
    });
    assert_eq!(trial.runs(said).await.unwrap(), b"lines 1\n- ok 1\n");
    let call = wire.calls()[0].clone();
    assert_eq!((call.seam.unwrap().1, call.operation.unwrap().0), ("put", 0));
    assert_eq!(wire.ledger().running(), None);
}

#[tokio::test]
async fn a_seam_call_is_matched_held_and_broken() {
    let it = Fixture::new(Lines::default());
    let seam = it.trial.context().seam("lines", Duration::from_secs(10));
    const PUT: CallKind = CallKind::write("put");
    let put = || seam.call(PUT, "host", async { put(&it).await });
    assert_eq!(it.trial.runs(put()).await.unwrap(), "ok 1");
    let call = it.trial.case().wire.calls()[0].clone();
    assert_eq!((call.seam.unwrap().1, call.operation.unwrap().0), ("put", 0));
    let arm = |effect, answer, caller| {
        let at = Match { operation: it.trial.next_operation(), kind: "put".into(), nth: 0 };
        it.trial.case().wire.arm([Fault { at, effect, answer, caller, repeats: false }]);
    };
    arm(Effect::Never, Answer::Silence, CallerThen::Waits);
    assert!(matches!(it.trial.runs(put()).await, Err(CallError::Overlong(_))));
    assert_eq!(it.trial.case().clock.monotonic(), Duration::from_secs(10), "no more, and not for real");
    arm(Effect::Now, Answer::Reset, CallerThen::Waits);
    let broken = it.trial.runs(put()).await.unwrap_err();
    assert!(matches!(broken, CallError::Backend(Broken(ErrorKind::ConnectionReset))), "{broken:?}");
    arm(Effect::Never, Answer::Native("full".into()), CallerThen::Waits);
    assert_eq!(it.trial.runs(put()).await.unwrap(), "error full");
    arm(Effect::AfterNextOperation, Answer::Normal, CallerThen::Dropped);
    assert!(matches!(it.trial.run(put()).await.unwrap(), Ended::Dropped));
    assert_eq!(it.kept().len(), 2);
    assert_eq!(it.trial.runs(put()).await.unwrap(), "ok 1");
    assert_eq!(it.kept().len(), 4, "the late one has landed");
    assert_eq!(it.trial.case().wire.ledger().dropped_in_transit(), 0);
}

#[tokio::test]
async fn a_unix_socket_serves_the_same_and_closes() {
    let trial = Trial::new();
    let lines = Arc::<Lines>::default();
    let server = Server::new(lines, trial.case().wire.clone(), Catalogue(&[TABLE]), "host");
    let path = trial.case().folder.path().unwrap().join("s");
    let serving = server.serve(On::Unix(path.clone())).unwrap();
    let mut client = UnixStream::connect(&path).await.unwrap();
    client.write_all(b"- put a\n").await.unwrap();
    let mut answer = [0; 15];
    client.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"lines 1\n- ok 1\n");
    drop(serving);
    assert_eq!(client.read(&mut answer).await.unwrap(), 0);
    assert!(!path.exists());
}

/// One call on a connection of its own.
async fn put(it: &Fixture) -> Result<String, Broken> {
    let call = provider_api::current_call().map_or(0, |call| call.0);
    let mut client = it.client().await;
    client.say(&format!("{call} put x\n")).await;
    let line = client.line().await?;
    Ok(line.split_once(' ').map_or(line.clone(), |(_, answer)| answer.to_owned()))
}

#[derive(Debug, thiserror::Error)]
#[error("the connection broke: {0}")]
struct Broken(ErrorKind);

impl From<std::io::Error> for Broken {
    fn from(error: std::io::Error) -> Self {
        Self(error.kind())
    }
}

impl BackendError for Broken {
    fn code(&self) -> String {
        self.0.to_string()
    }
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
