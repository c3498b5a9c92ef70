//! Channels to unix sockets behind a real server.

use std::time::Duration;

use provider_api::{BackendError, FailureClass::Transient};
use ssh::{Channel, Stage};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::sshd::Site;

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(120), what).await.expect("it takes too long")
}

/// Sends so many bytes there and reads them back meanwhile.
async fn there_and_back(channel: Channel, bytes: usize) {
    let (mut read, mut write) = tokio::io::split(channel);
    let writing = tokio::spawn(async move {
        let block: Vec<u8> = (0..65_536u32).map(|index| (index % 253) as u8).collect();
        for _ in 0..bytes / block.len() {
            write.write_all(&block).await.unwrap();
        }
        write.shutdown().await.unwrap();
        write
    });
    let (mut block, mut seen) = (vec![0; 1 << 16], 0usize);
    loop {
        let read = read.read(&mut block).await.unwrap();
        if read == 0 {
            break;
        }
        for (offset, byte) in block[..read].iter().enumerate() {
            assert_eq!(*byte, ((seen + offset) % 65_536 % 253) as u8, "byte {}", seen + offset);
        }
        seen += read;
    }
    assert_eq!(seen, bytes);
    writing.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_channels_share_a_session() {
    let site = Site::new();
    let sshd = site.sshd(&["host_ed25519"], "");
    site.know(&sshd, "host_ed25519");
    let (session, socket) = (site.dial(&sshd).await.unwrap(), site.echo());
    let mut tasks = Vec::new();
    for _ in 0..64 {
        let (session, socket) = (session.clone(), socket.clone());
        tasks.push(tokio::spawn(async move {
            there_and_back(session.streamlocal(&socket).await.unwrap(), 1 << 18).await;
        }));
    }
    for task in tasks {
        soon(task).await.unwrap();
    }
}

/// New session keys again and again, asked for by the server, with data under way in both directions.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn data_survives_new_session_keys() {
    let site = Site::new();
    let sshd = site.sshd(&["host_ed25519"], "RekeyLimit 1M");
    site.know(&sshd, "host_ed25519");
    let (session, socket) = (site.dial(&sshd).await.unwrap(), site.echo());
    soon(there_and_back(session.streamlocal(&socket).await.unwrap(), 32 << 20)).await;
    let rekeyed = site.read("log").matches("rekey").count();
    assert!(rekeyed > 8, "the server made new keys {rekeyed} times only");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_socket_that_does_not_read_holds_up_nobody_else() {
    let site = Site::new();
    let sshd = site.sshd(&["host_ed25519"], "");
    site.know(&sshd, "host_ed25519");
    let (session, socket) = (site.dial(&sshd).await.unwrap(), site.echo());
    let (deaf, mut closed) = site.deaf();
    let mut stuck = session.streamlocal(&deaf).await.unwrap();
    let mut sent = 0usize;
    let full = async {
        loop {
            sent += stuck.write(&[1; 1 << 16]).await.unwrap();
        }
    };
    let full: Result<(), _> = tokio::time::timeout(Duration::from_secs(1), full).await;
    assert!(full.is_err() && sent > 1 << 20, "the window was full after {sent} bytes");
    soon(there_and_back(session.streamlocal(&socket).await.unwrap(), 4 << 20)).await;
    drop(stuck);
    soon(closed.recv()).await.expect("the socket should be closed with its channel");
}

#[tokio::test]
async fn closing_one_side_leaves_the_other_open() {
    let site = Site::new();
    let sshd = site.sshd(&["host_ed25519"], "");
    site.know(&sshd, "host_ed25519");
    let (session, socket) = (site.dial(&sshd).await.unwrap(), site.echo());
    let mut channel = session.streamlocal(&socket).await.unwrap();
    channel.write_all(b"the last words").await.unwrap();
    channel.shutdown().await.unwrap();
    let mut heard = Vec::new();
    soon(channel.read_to_end(&mut heard)).await.unwrap();
    assert_eq!(heard, b"the last words");
    assert!(session.is_alive());
}

/// libvirt/libvirt#34: the socket of a daemon that does not run.
#[tokio::test]
async fn bug_l16_a_missing_socket_is_transient() {
    let site = Site::new();
    let sshd = site.sshd(&["host_ed25519"], "");
    site.know(&sshd, "host_ed25519");
    let session = site.dial(&sshd).await.unwrap();
    let missing = site.path("no-such-socket");
    let error = session.streamlocal(missing.to_str().unwrap()).await.unwrap_err();
    assert_eq!((error.stage(), error.class()), (Stage::Channel, Transient), "{error}");
    assert_eq!(error.code(), "SSH_OPEN_CONNECT_FAILED");
    assert!(error.message().contains("no-such-socket"), "{error}");
    assert!(session.is_alive());
    let socket = site.echo();
    there_and_back(session.streamlocal(&socket).await.unwrap(), 1 << 16).await;
}

/// OpenSSH answers as if nobody listened, so that stays Transient; the words name the setting.
#[tokio::test]
async fn forbidden_forwarding_is_named() {
    for lines in
        ["AllowStreamLocalForwarding no", "DisableForwarding yes", "AllowStreamLocalForwarding remote"]
    {
        let site = Site::new();
        let sshd = site.sshd(&["host_ed25519"], lines);
        site.know(&sshd, "host_ed25519");
        let (session, socket) = (site.dial(&sshd).await.unwrap(), site.echo());
        let error = session.streamlocal(&socket).await.unwrap_err();
        assert_eq!((error.stage(), error.class()), (Stage::Channel, Transient), "{lines}: {error}");
        assert!(error.message().contains("AllowStreamLocalForwarding"), "{error}");
    }
}
