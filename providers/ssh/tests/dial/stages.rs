//! Each stage before logging in: how it fails, and that it hangs no longer than its budget.

use std::{future::Future, net::SocketAddr, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use provider_api::FailureClass::{Permanent, Transient};
use provider_api::{Spawner, TokioSpawner, reasons};
use ssh::{DialError, Dialer, Session, Stage, Target};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
};

use crate::{
    server::{Manners, OnAuth, OnChannel},
    site::{Site, assert_fails},
};

/// Something that listens and does as it is told with each connection.
async fn listener<F: Future<Output = ()> + Send + 'static>(
    each: impl Fn(TcpStream) -> F + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(each(stream));
        }
    });
    address
}

/// Dials, waits until the other side has got to where it hangs, and lets one millisecond less than the budget pass, then
/// the rest.
async fn hangs(
    site: &Site,
    address: SocketAddr,
    there: impl Future<Output = ()>,
    budget: Duration,
) -> DialError {
    let target = Target::parse(&address.to_string(), "libvirt").unwrap();
    let (dialer, access) = (site.dialer(), site.access());
    let mut dial = Box::pin(dialer.dial(&target, &access));
    tokio::select! {
        result = &mut dial => panic!("it should hang: {result:?}"),
        () = there => {}
    }
    let almost = budget - Duration::from_millis(1);
    site.clock.pass(almost);
    let early = tokio::time::timeout(Duration::from_millis(50), &mut dial).await;
    assert!(early.is_err(), "it gave up before its time: {early:?}");
    site.clock.pass(Duration::from_millis(1));
    let late = tokio::time::timeout(Duration::from_secs(10), dial).await;
    late.expect("it should give up once its budget is used up").unwrap_err()
}

#[tokio::test]
async fn a_dial_goes_through_and_says_what_it_found() {
    let site = Site::new();
    let all = [russh::cipher::CHACHA20_POLY1305, russh::cipher::AES_256_GCM, russh::cipher::AES_128_GCM];
    let all = russh::Preferred { cipher: all.to_vec().into(), ..russh::Preferred::DEFAULT };
    let server = site.server(Manners { preferred: Some(all), ..site.manners() }).await;
    let session = site.dial(server.address).await.unwrap();
    assert!(session.is_alive());
    assert!(session.host_key().starts_with("ssh-ed25519 SHA256:"), "{}", session.host_key());
    assert_eq!(session.cipher(), "aes128-gcm@openssh.com");
    assert_eq!(session.target().port(), server.address.port());
}

#[tokio::test]
async fn files_that_are_not_there_may_come() {
    let site = Site::new();
    let server = site.server(site.manners()).await;
    for missing in ["id", "known_hosts"] {
        let kept = std::fs::read(site.path(missing)).unwrap();
        std::fs::remove_file(site.path(missing)).unwrap();
        let failed = site.dial(server.address).await;
        assert_eq!(failed.as_ref().unwrap_err().reason(), reasons::CREDENTIALS_UNAVAILABLE);
        let text = assert_fails(failed, Stage::Credentials, Transient, reasons::CREDENTIALS_UNAVAILABLE);
        assert!(text.contains(&*site.path(missing).to_string_lossy()), "{text}");
        site.write(missing, &kept);
    }
    assert_eq!(server.seen.now().connections, 0, "nothing is dialled without credentials");
    site.dial(server.address).await.unwrap();
}

/// A disk that hangs: what was to be read is never read.
struct Stuck;

impl Spawner for Stuck {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        TokioSpawner.spawn(task);
    }

    fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        // Kept, as a thread would keep it.
        std::mem::forget(work);
    }
}

#[tokio::test]
async fn reading_the_credentials_hangs() {
    let site = Site::new();
    let dialer = Dialer::new(Arc::clone(&site.clock) as _, Arc::new(Stuck)).budgets(site.budgets);
    let (target, access) = (Target::parse("127.0.0.1:1", "libvirt").unwrap(), site.access());
    let mut dial = Box::pin(dialer.dial(&target, &access));
    assert!(futures::poll!(&mut dial).is_pending());
    site.clock.pass(site.budgets.credentials);
    let failed = tokio::time::timeout(Duration::from_secs(10), dial).await.expect("it should give up");
    let text = assert_fails(failed, Stage::Credentials, Transient, reasons::CREDENTIALS_UNAVAILABLE);
    assert!(text.contains("no answer within 1s while reading the credentials"), "{text}");
}

#[tokio::test]
async fn nobody_listens() {
    let site = Site::new();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let failed = site.dial(address).await;
    assert_eq!(failed.as_ref().unwrap_err().reason(), reasons::UNREACHABLE);
    let text = assert_fails(failed, Stage::Tcp, Transient, "ECONNREFUSED");
    assert!(text.contains(&address.to_string()), "{text}");
}

#[tokio::test]
async fn a_name_that_nobody_knows() {
    let site = Site::new();
    let target = Target::parse("no-such-host.invalid", "libvirt").unwrap();
    let failed = site.dialer().dial(&target, &site.access()).await;
    let text = assert_fails(failed, Stage::Tcp, Transient, "EAI_NONAME");
    assert!(text.contains("no-such-host.invalid"), "{text}");
}

#[tokio::test]
async fn connecting_hangs() {
    let site = Site::new();
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    // A full queue of connections that nobody takes: the system answers the next one not at all.
    let mut queue = Vec::new();
    while let Ok(stream) = tokio::time::timeout(Duration::from_millis(200), TcpStream::connect(address)).await
    {
        queue.push(stream.unwrap());
        assert!(queue.len() < 64, "the queue never fills");
    }
    // The stage and the one address wait by the clock; reading the credentials did by itself.
    let there = async {
        while site.clock.sleepers() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let error = hangs(&site, address, there, site.budgets.tcp).await;
    assert_eq!(error.reason(), reasons::UNREACHABLE, "whoever takes no connection is not there");
    let text = assert_fails::<Session>(Err(error), Stage::Tcp, Transient, "ETIMEDOUT");
    assert!(text.contains("no answer within 2s while connecting"), "{text}");
}

#[tokio::test]
async fn no_greeting_comes() {
    let site = Site::new();
    let (tell, told) = tokio::sync::oneshot::channel();
    let tell = std::sync::Mutex::new(Some(tell));
    let address = listener(move |mut stream| {
        let tell = tell.lock().unwrap().take();
        async move {
            // The client has greeted, and hears nothing.
            stream.read_exact(&mut [0; 8]).await.unwrap();
            let _ = tell.map(|tell| tell.send(()));
            std::future::pending::<()>().await;
        }
    })
    .await;
    let there = async { told.await.unwrap() };
    let error = hangs(&site, address, there, site.budgets.handshake).await;
    assert_eq!(error.reason(), reasons::TIMEOUT, "it is there, and does not answer");
    let text = assert_fails::<Session>(Err(error), Stage::Handshake, Transient, "ETIMEDOUT");
    assert!(text.contains("no answer within 3s while exchanging SSH keys"), "{text}");
}

#[tokio::test]
async fn a_greeting_and_no_more() {
    let site = Site::new();
    let (tell, told) = tokio::sync::oneshot::channel();
    let tell = std::sync::Mutex::new(Some(tell));
    let address = listener(move |mut stream| {
        let tell = tell.lock().unwrap().take();
        async move {
            stream.write_all(b"SSH-2.0-OpenSSH_9.2p1\r\n").await.unwrap();
            // The greeting, and the first packet of the key exchange.
            stream.read_exact(&mut [0; 200]).await.unwrap();
            let _ = tell.map(|tell| tell.send(()));
            std::future::pending::<()>().await;
        }
    })
    .await;
    let there = async { told.await.unwrap() };
    let error = hangs(&site, address, there, site.budgets.handshake).await;
    assert_fails::<Session>(Err(error), Stage::Handshake, Transient, "ETIMEDOUT");
}

#[tokio::test]
async fn logging_in_hangs() {
    let site = Site::new();
    let server = site.server(Manners { auth: OnAuth::Hang, ..site.manners() }).await;
    let there = server.seen.until(|counts| counts.auths == 1);
    let error = hangs(&site, server.address, there, site.budgets.auth).await;
    assert_eq!(error.reason(), reasons::TIMEOUT);
    let text = assert_fails::<Session>(Err(error), Stage::Auth, Transient, "ETIMEDOUT");
    assert!(text.contains("while logging in"), "{text}");
}

#[tokio::test]
async fn the_total_bounds_a_stage_with_a_larger_budget() {
    let mut site = Site::new();
    site.budgets.total = Duration::from_millis(500);
    let server = site.server(Manners { auth: OnAuth::Hang, ..site.manners() }).await;
    let there = server.seen.until(|counts| counts.auths == 1);
    let error = hangs(&site, server.address, there, site.budgets.total).await;
    assert_eq!(error.stage(), Stage::Auth);
}

#[tokio::test]
async fn a_dial_that_is_given_up_leaves_no_connection() {
    let site = Site::new();
    let server = site.server(Manners { auth: OnAuth::Hang, ..site.manners() }).await;
    let target = Target::parse(&server.address.to_string(), "libvirt").unwrap();
    let (dialer, access) = (site.dialer(), site.access());
    let mut dial = Box::pin(dialer.dial(&target, &access));
    tokio::select! {
        result = &mut dial => panic!("it should hang: {result:?}"),
        () = server.seen.until(|counts| counts.auths == 1) => {}
    }
    drop(dial);
    assert_eq!(site.clock.sleepers(), 0);

    // And in the handshake, where the protocol already runs as a task of its own.
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let address = listener(move |mut stream| {
        let tell = tell.clone();
        async move {
            stream.write_all(b"SSH-2.0-OpenSSH_9.2p1\r\n").await.unwrap();
            stream.read_exact(&mut [0; 200]).await.unwrap();
            tell.send("there").unwrap();
            // Ends only when the other side closes.
            let _ = stream.read_to_end(&mut Vec::new()).await;
            tell.send("closed").unwrap();
        }
    })
    .await;
    let target = Target::parse(&address.to_string(), "libvirt").unwrap();
    let mut dial = Box::pin(dialer.dial(&target, &access));
    tokio::select! {
        result = &mut dial => panic!("it should hang: {result:?}"),
        said = told.recv() => assert_eq!(said, Some("there")),
    }
    drop(dial);
    let closed = tokio::time::timeout(Duration::from_secs(10), told.recv()).await;
    assert_eq!(closed.expect("the connection stays open"), Some("closed"));
}

/// virtrigaud#191: sshd drops connections in a burst before it greets (MaxStartups), by a reset or by closing, newer ones
/// with a word.
#[tokio::test]
async fn bug_l14_dropped_before_the_greeting_is_transient_and_said_so() {
    for (says, resets) in
        [("", false), ("", true), ("Exceeded MaxStartups\r\n", false), ("Not allowed at this time\r\n", true)]
    {
        let site = Site::new();
        let address = listener(move |mut stream| async move {
            let _ = stream.write_all(says.as_bytes()).await;
            if resets {
                // Closing with unread bytes in the queue is what resets a connection.
                tokio::time::sleep(Duration::from_millis(50)).await;
            } else {
                let _ = stream.read(&mut [0; 1024]).await;
            }
        })
        .await;
        let failed = site.dial(address).await;
        let text = assert_fails(failed, Stage::Handshake, Transient, "closed before the version exchange");
        assert!(text.contains("MaxStartups"), "{text}");
        assert!(text.contains(says.trim()), "{text}");
    }
}

#[tokio::test]
async fn something_else_than_ssh_answers() {
    let site = Site::new();
    let address = listener(|mut stream| async move {
        let _ = stream.write_all(&b"HTTP/1.1 400 Bad Request\r\n".repeat(40)).await;
        let _ = stream.read(&mut [0; 1024]).await;
        std::future::pending::<()>().await;
    })
    .await;
    let text = assert_fails(site.dial(address).await, Stage::Handshake, Transient, "Version");
    assert!(text.contains("HTTP/1.1 400 Bad Request"), "{text}");
}

#[tokio::test]
async fn words_before_the_greeting_are_passed_over() {
    let site = Site::new();
    let server = site.server(site.manners()).await;
    let inner = server.address;
    let address = listener(move |mut stream| async move {
        let mut server = TcpStream::connect(inner).await.unwrap();
        stream.write_all(b"Welcome to the machine\r\n").await.unwrap();
        let _ = tokio::io::copy_bidirectional(&mut stream, &mut server).await;
    })
    .await;
    let key = site.host.public_key().to_openssh().unwrap();
    site.write("known_hosts", format!("127.0.0.1 {key}\n").as_bytes());
    site.dial(address).await.unwrap();
}

/// The host tells why it closes (RFC 4253, section 11.1).
#[tokio::test]
async fn a_goodbye_in_the_handshake_is_understood() {
    for (code, class, expected) in [
        (1u32, Permanent, "SSH_DISCONNECT_HOST_NOT_ALLOWED_TO_CONNECT"),
        (3, Permanent, "SSH_DISCONNECT_KEY_EXCHANGE_FAILED"),
        (12, Transient, "SSH_DISCONNECT_TOO_MANY_CONNECTIONS"),
        (11, Transient, "SSH_DISCONNECT_11"),
    ] {
        let site = Site::new();
        let address = listener(move |mut stream| async move {
            let words = b"come back later\x1b[31m";
            let mut payload = vec![1];
            payload.extend(code.to_be_bytes());
            payload.extend(u32::try_from(words.len()).unwrap().to_be_bytes());
            payload.extend(words);
            payload.extend(0u32.to_be_bytes());
            let padding = 4 + (8 - (payload.len() + 9) % 8) % 8;
            let length = u32::try_from(1 + payload.len() + padding).unwrap();
            let mut packet = b"SSH-2.0-OpenSSH_9.2p1\r\n".to_vec();
            packet.extend(length.to_be_bytes());
            packet.push(u8::try_from(padding).unwrap());
            packet.extend(payload);
            packet.extend(vec![0; padding]);
            let _ = stream.write_all(&packet).await;
            let _ = stream.read_to_end(&mut Vec::new()).await;
        })
        .await;
        let text = assert_fails(site.dial(address).await, Stage::Handshake, class, expected);
        assert!(text.contains("come back later") && !text.contains('\x1b'), "{text}");
    }
}

#[tokio::test]
async fn no_cipher_in_common_is_permanent_and_names_both_offers() {
    let site = Site::new();
    let old =
        russh::Preferred { cipher: (&[russh::cipher::AES_192_CTR][..]).into(), ..russh::Preferred::DEFAULT };
    let server = site.server(Manners { preferred: Some(old), ..site.manners() }).await;
    let text = assert_fails(
        site.dial(server.address).await,
        Stage::Handshake,
        Permanent,
        "SSH_DISCONNECT_KEY_EXCHANGE_FAILED",
    );
    assert!(text.contains("aes128-gcm@openssh.com") && text.contains("aes192-ctr"), "{text}");
}

#[tokio::test]
async fn opening_a_channel_hangs() {
    let site = Site::new();
    let server = site.server(Manners { channel: OnChannel::Hang, ..site.manners() }).await;
    let session = site.dial(server.address).await.unwrap();
    let mut open = Box::pin(session.streamlocal("/run/libvirt/libvirt-sock"));
    tokio::select! {
        result = &mut open => panic!("it should hang: {result:?}"),
        () = server.seen.until(|counts| counts.opens == 1) => {}
    }
    site.clock.pass(site.budgets.channel);
    let failed = tokio::time::timeout(Duration::from_secs(10), open).await.expect("it should give up");
    assert_fails(failed, Stage::Channel, Transient, "ETIMEDOUT");
    assert!(session.is_alive(), "one channel that hangs is no reason to end the others");
}
