//! Channels: many at once, refused, dropped, and one that must not hold up the others.

use std::time::Duration;

use provider_api::FailureClass::{Permanent, Transient};
use provider_api::reasons;
use russh::ChannelOpenFailure;
use ssh::{Session, Stage};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{
    server::{Manners, OnChannel, Server},
    site::{Site, assert_fails},
};

const SOCKET: &str = "/run/libvirt/libvirt-sock";

async fn session(site: &Site, channel: OnChannel) -> (Server, Session) {
    let server = site.server(Manners { channel, ..site.manners() }).await;
    let session = site.dial(server.address).await.unwrap();
    (server, session)
}

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), what).await.expect("it takes too long")
}

#[tokio::test]
async fn bytes_go_there_and_back_and_both_ends_are_told() {
    let site = Site::new();
    let (_server, session) = session(&site, OnChannel::Echo).await;
    let mut channel = session.streamlocal(SOCKET).await.unwrap();
    let sent: Vec<u8> = (0..1_000_000u32).map(|index| (index % 251) as u8).collect();
    let (mut read, mut write) = tokio::io::split(&mut channel);
    let writing = async {
        write.write_all(&sent).await.unwrap();
        assert_eq!(write.write(&[]).await.unwrap(), 0, "nothing is no error");
        write.shutdown().await.unwrap();
    };
    let mut received = Vec::new();
    let (read, ()) = soon(async { tokio::join!(read.read_to_end(&mut received), writing) }).await;
    read.unwrap();
    assert_eq!(received, sent);
}

#[tokio::test]
async fn many_channels_share_a_session() {
    let site = Site::new();
    let (server, session) = session(&site, OnChannel::Echo).await;
    let mut tasks = Vec::new();
    for index in 0..32u8 {
        let session = session.clone();
        tasks.push(tokio::spawn(async move {
            let mut channel = session.streamlocal(SOCKET).await.unwrap();
            for _ in 0..16 {
                channel.write_all(&[index; 4096]).await.unwrap();
                let mut back = [0; 4096];
                channel.read_exact(&mut back).await.unwrap();
                assert_eq!(back, [index; 4096]);
            }
        }));
    }
    for task in tasks {
        soon(task).await.unwrap();
    }
    let counts = server.seen.now();
    assert_eq!((counts.connections, counts.opens), (1, 32));
}

#[tokio::test]
async fn a_dropped_channel_is_closed_on_the_host_from_any_thread() {
    let site = Site::new();
    let (server, session) = session(&site, OnChannel::Echo).await;
    let channel = session.streamlocal(SOCKET).await.unwrap();
    drop(channel);
    server.seen.until(|counts| counts.closes == 1).await;
    let channel = session.streamlocal(SOCKET).await.unwrap();
    // No runtime there.
    std::thread::spawn(move || drop(channel)).join().unwrap();
    server.seen.until(|counts| counts.closes == 2).await;
    assert!(session.is_alive());
}

#[tokio::test]
async fn an_opening_that_is_given_up_leaves_no_channel_on_the_host() {
    let site = Site::new();
    let (server, session) = session(&site, OnChannel::Echo).await;
    let mut opening = Box::pin(session.streamlocal(SOCKET));
    // Polled once, so that the request is on its way.
    assert!(futures::poll!(&mut opening).is_pending());
    drop(opening);
    server.seen.until(|counts| (counts.opens, counts.closes) == (1, 1)).await;
}

#[tokio::test]
async fn a_reader_that_is_gone_does_not_hold_up_the_others() {
    let site = Site::new();
    let (_server, session) = session(&site, OnChannel::Flood).await;
    let flooded = session.streamlocal(SOCKET).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    drop(flooded);
    let mut channel = soon(session.streamlocal(SOCKET)).await.unwrap();
    let mut some = vec![0; 8 << 20];
    soon(channel.read_exact(&mut some)).await.unwrap();
}

#[tokio::test]
async fn a_forbidden_channel_is_permanent() {
    let site = Site::new();
    let (_server, session) =
        session(&site, OnChannel::Refuse(ChannelOpenFailure::AdministrativelyProhibited)).await;
    let failed = session.streamlocal(SOCKET).await;
    assert_eq!(failed.as_ref().unwrap_err().reason(), reasons::FORBIDDEN);
    let code = "SSH_OPEN_ADMINISTRATIVELY_PROHIBITED";
    let text = assert_fails(failed, Stage::Channel, Permanent, code);
    assert!(text.contains("AllowStreamLocalForwarding") && text.contains(SOCKET), "{text}");
}

/// libvirt/libvirt#34: a daemon that does not run is a connection error, never a missing machine.
#[tokio::test]
async fn bug_l16_a_socket_that_nobody_listens_at_is_transient() {
    let site = Site::new();
    let (_server, session) = session(&site, OnChannel::Refuse(ChannelOpenFailure::ConnectFailed)).await;
    let text =
        assert_fails(session.streamlocal(SOCKET).await, Stage::Channel, Transient, "SSH_OPEN_CONNECT_FAILED");
    assert!(text.contains(SOCKET), "{text}");
    assert!(session.is_alive(), "the session is as good as before");
}

#[tokio::test]
async fn a_server_that_cannot_forward_sockets_is_permanent() {
    let site = Site::new();
    let (_server, session) = session(&site, OnChannel::Refuse(ChannelOpenFailure::UnknownChannelType)).await;
    let code = "SSH_OPEN_UNKNOWN_CHANNEL_TYPE";
    assert_fails(session.streamlocal(SOCKET).await, Stage::Channel, Permanent, code);
}

#[tokio::test]
async fn a_session_that_ends_while_a_channel_opens_is_transient() {
    let site = Site::new();
    let (_server, session) = session(&site, OnChannel::Drop).await;
    assert_fails(soon(session.streamlocal(SOCKET)).await, Stage::Channel, Transient, "EPIPE");
    assert!(!session.is_alive());
    let text = assert_fails(session.streamlocal(SOCKET).await, Stage::Channel, Transient, "EPIPE");
    assert!(text.contains("ended before"), "{text}");
}
