//! The end of a session: by us, by the host, by silence; and that it is told to everybody who waits.

use std::time::Duration;

use ssh::Session;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
};

use crate::{server::Server, site::Site};

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), what).await.expect("it takes too long")
}

/// A relay before a server that lets bytes through only while it is open.
struct Gate {
    port: u16,
    open: watch::Sender<bool>,
    /// How often something came from the server.
    answers: watch::Sender<usize>,
}

impl Gate {
    async fn before(server: &Server) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let (port, inner) = (listener.local_addr().unwrap().port(), server.address);
        let (open, answers) = (watch::Sender::new(true), watch::Sender::new(0));
        let (opened, answered) = (open.subscribe(), answers.clone());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (client_reads, client_writes) = client.into_split();
                let (server_reads, server_writes) = TcpStream::connect(inner).await.unwrap().into_split();
                let questions = watch::Sender::new(0);
                tokio::spawn(relay(client_reads, server_writes, opened.clone(), questions));
                tokio::spawn(relay(server_reads, client_writes, opened.clone(), answered.clone()));
            }
        });
        Self { port, open, answers }
    }

    /// Lets the clock pass a beat, and waits for the answer to its question.
    async fn answered_beat(&self, site: &Site) {
        let mut answers = self.answers.subscribe();
        site.clock.pass(Duration::from_secs(15));
        soon(answers.changed()).await.unwrap();
    }
}

async fn relay(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    mut open: watch::Receiver<bool>,
    passed: watch::Sender<usize>,
) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        if open.wait_for(|open| *open).await.is_err() || to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
        passed.send_modify(|passed| *passed += 1);
    }
}

async fn through_gate(site: &Site) -> (Server, Gate, Session) {
    let server = site.server(site.manners()).await;
    let gate = Gate::before(&server).await;
    let key = site.host.public_key().to_openssh().unwrap();
    site.write("known_hosts", format!("127.0.0.1 {key}\n").as_bytes());
    let session = site.dial(([127, 0, 0, 1], gate.port).into()).await.unwrap();
    (server, gate, session)
}

/// Lets the clock pass a beat and gives whoever sleeps on it time to wake; no answer is waited for.
async fn beat(site: &Site) {
    site.clock.pass(Duration::from_secs(15));
    tokio::time::sleep(Duration::from_millis(100)).await;
}

#[tokio::test]
async fn a_host_that_answers_is_kept_as_long_as_it_does() {
    let site = Site::new();
    let (_server, gate, session) = through_gate(&site).await;
    for _ in 0..8 {
        gate.answered_beat(&site).await;
    }
    assert!(session.is_alive(), "{:?}", session.ended());
    gate.open.send_replace(false);
    // What was under way when the gate closed may still count as an answer.
    for _ in 0..4 {
        beat(&site).await;
    }
    let why = soon(session.closed()).await;
    assert!(why.contains("kept still for 45s"), "{why}");
}

#[tokio::test]
async fn silence_is_noticed_only_by_our_clock() {
    let site = Site::new();
    let (_server, gate, session) = through_gate(&site).await;
    gate.open.send_replace(false);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(session.is_alive());
    assert_eq!(site.clock.sleepers(), 1, "the beat is the only one who waits");
    for _ in 0..4 {
        beat(&site).await;
    }
    assert!(!session.is_alive());
}

#[tokio::test]
async fn everybody_who_waits_is_told_of_a_cut() {
    let site = Site::new();
    let (server, gate, session) = through_gate(&site).await;
    let mut channel = session.streamlocal("/run/x").await.unwrap();
    gate.open.send_replace(false);
    let reading = tokio::spawn(async move { channel.read(&mut [0; 16]).await });
    let opening = tokio::spawn({
        let session = session.clone();
        async move { session.streamlocal("/run/y").await.map(drop) }
    });
    let waiting = tokio::spawn(session.closed());
    tokio::time::sleep(Duration::from_millis(100)).await;
    session.cut("a test wants it");
    assert!(!session.is_alive());
    let error = soon(reading).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    assert!(error.to_string().contains("a test wants it"), "{error}");
    let error = soon(opening).await.unwrap().unwrap_err();
    assert!(error.to_string().contains("a test wants it"), "{error}");
    assert_eq!(&*soon(waiting).await.unwrap(), "a test wants it");
    gate.open.send_replace(true);
    server.seen.until(|counts| counts.ends == 1).await;
    assert_eq!(site.clock.sleepers(), 0, "no beat goes on");
}

#[tokio::test]
async fn a_cut_works_while_the_protocol_waits_for_a_reader() {
    let site = Site::new();
    let flood = crate::server::Manners { channel: crate::server::OnChannel::Flood, ..site.manners() };
    let server = site.server(flood).await;
    let session = site.dial(server.address).await.unwrap();
    // Kept and not read: the protocol's task soon waits for it and for nothing else.
    let _unread = session.streamlocal("/run/x").await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    session.cut("a test wants it");
    soon(session.closed()).await;
    server.seen.until(|counts| counts.ends == 1).await;
}

#[tokio::test]
async fn closing_says_goodbye() {
    let site = Site::new();
    let server = site.server(site.manners()).await;
    let session = site.dial(server.address).await.unwrap();
    soon(session.close()).await;
    assert!(!session.is_alive());
    server.seen.until(|counts| counts.ends == 1).await;
}

#[tokio::test]
async fn closing_waits_a_second_for_a_host_that_is_gone() {
    let site = Site::new();
    let (_server, gate, session) = through_gate(&site).await;
    gate.open.send_replace(false);
    let mut close = Box::pin(session.close());
    let early = tokio::time::timeout(Duration::from_millis(200), &mut close).await;
    if early.is_err() {
        site.clock.pass(Duration::from_secs(1));
        soon(close).await;
    }
    assert!(!session.is_alive());
}

#[tokio::test]
async fn the_last_one_to_drop_ends_the_session() {
    let site = Site::new();
    let server = site.server(site.manners()).await;
    let session = site.dial(server.address).await.unwrap();
    let closed = session.closed();
    let mut channel = session.streamlocal("/run/x").await.unwrap();
    drop(session);
    channel.write_all(b"still there").await.unwrap();
    channel.read_exact(&mut [0; 11]).await.unwrap();
    drop(channel);
    assert_eq!(&*soon(closed).await, "the session was dropped");
    server.seen.until(|counts| counts.ends == 1).await;
    assert_eq!(site.clock.sleepers(), 0);
}

#[tokio::test]
async fn a_session_can_be_cut_and_dropped_where_there_is_no_runtime() {
    let site = Site::new();
    let server = site.server(site.manners()).await;
    let session = site.dial(server.address).await.unwrap();
    let closed = session.closed();
    std::thread::spawn(move || session.cut("from a thread")).join().unwrap();
    assert_eq!(&*soon(closed).await, "from a thread");
    let session = site.dial(server.address).await.unwrap();
    let closed = session.closed();
    std::thread::spawn(move || drop(session)).join().unwrap();
    assert_eq!(&*soon(closed).await, "the session was dropped");
    server.seen.until(|counts| counts.ends == 2).await;
}
