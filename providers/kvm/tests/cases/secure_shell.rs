//! Hosts behind a real SSH server of this process: who is let in, who is believed, and what is said when it ends there.
//! More of it is tried where the client stands, in `ssh`.

use std::{sync::atomic::Ordering, time::Duration};

use provider_api::{FailureClass, StateKind, reasons};
use russh::keys::{key::safe_rng, ssh_key::LineEnding};

use super::{
    bench::{fails, request, shown},
    sshd::{by_ssh, new_key, write_key},
};

const SOON: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread")]
async fn a_life_by_ssh_takes_one_session_and_a_channel_for_each_connection() {
    let (bench, server) = by_ssh().await;
    let built = bench.built();
    let provider = &*built.provider;
    let (_, id) = bench.running(provider, "uid-1").await;
    let gets = (0..4).map(|_| shown(provider, &id));
    assert!(futures::future::join_all(gets).await.iter().all(|it| it.state.kind() == StateKind::Running));
    let [host] = built.checker.as_ref().unwrap().check(bench.in_seconds(10)).await.try_into().unwrap();
    assert!(host.ready, "{host:?}");
    provider.delete(&id).await.unwrap();
    assert_eq!(bench.host().domains().len(), 0);
    assert_eq!(server.shared.connections.load(Ordering::SeqCst), 1);
    let channels = server.shared.channels.load(Ordering::SeqCst);
    assert!((2..=6).contains(&channels), "{channels}");
}

/// terraform-provider-libvirt#944: an unknown key makes users switch the judgement off.
#[tokio::test(flavor = "multi_thread")]
async fn bug_l11_an_unknown_host_is_refused_and_everything_is_named() {
    let (bench, server) = by_ssh().await;
    std::fs::write(bench.path("known_hosts"), "other.example ssh-ed25519 AAAA\n").unwrap();
    let built = bench.built();
    let error = fails(SOON, built.provider.create(&request("uid-1"))).await;
    assert_eq!(error.class(), FailureClass::Permanent, "{error}");
    for named in ["127.0.0.1", "ssh-ed25519", "known_hosts"] {
        assert!(error.message().contains(named), "{named} in {error}");
    }
    let [host] = built.checker.unwrap().check(bench.in_seconds(5)).await.try_into().unwrap();
    assert_eq!((host.ready, &*host.reason.code), (false, "HostKeyMismatch"));
    assert_eq!(server.shared.channels.load(Ordering::SeqCst), 0);
    // The file is read again by itself.
    std::fs::write(bench.path("known_hosts"), server.known()).unwrap();
    built.provider.create(&request("uid-1")).await.unwrap();
}

/// A session that lives and opens no channel is of no use, and whatever was asked for on it would wait for ever.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_on_which_nothing_opens_is_made_anew() {
    let (mut bench, server) = by_ssh().await;
    bench.entry["budgets"]["connect"] = "1s".into();
    let provider = bench.provider();
    let (_, id) = bench.running(&*provider, "uid-1").await;
    // The connections of before are kept; as many more as are asked for at once need a channel.
    server.shared.opens_nothing.store(true, Ordering::SeqCst);
    let gets = futures::future::join_all((0..4).map(|_| provider.get(&id))).await;
    assert!(gets.iter().any(Result::is_err) && gets.iter().any(Result::is_ok), "{gets:?}");
    assert_eq!(server.shared.connections.load(Ordering::SeqCst), 1);
    server.shared.opens_nothing.store(false, Ordering::SeqCst);
    let gets = futures::future::join_all((0..4).map(|_| provider.get(&id))).await;
    assert!(gets.iter().all(Result::is_ok), "{gets:?}");
    assert!(server.shared.connections.load(Ordering::SeqCst) > 1);
}

/// virtrigaud#149: hosts were never judged.
#[tokio::test(flavor = "multi_thread")]
async fn bug_l12_only_the_explicit_switch_believes_anybody() {
    let (mut bench, _server) = by_ssh().await;
    bench.block().as_object_mut().unwrap().remove("knownHostsFile");
    let report = bench.load().unwrap_err().to_string();
    assert!(report.contains("knownHostsFile"), "{report}");
    bench.block()["insecureIgnoreHostKey"] = true.into();
    bench.provider().create(&request("uid-1")).await.unwrap();
}

/// virtrigaud#191: a server that is busy hangs up before it says a word.
#[tokio::test(flavor = "multi_thread")]
async fn bug_l14_a_server_that_hangs_up_at_once_is_transient_and_passes() {
    let (bench, server) = by_ssh().await;
    server.shared.to_drop.store(1, Ordering::SeqCst);
    let provider = bench.provider();
    let error = fails(SOON, provider.create(&request("uid-1"))).await;
    assert_eq!(error.class(), FailureClass::Transient, "{error}");
    provider.create(&request("uid-1")).await.unwrap();
    assert_eq!(server.shared.connections.load(Ordering::SeqCst), 2, "nothing is tried again by itself");
}

/// libvirt#34, by SSH.
#[tokio::test(flavor = "multi_thread")]
async fn bug_l16_a_socket_that_is_not_there_is_transient() {
    let (mut bench, _server) = by_ssh().await;
    bench.block()["hosts"][0]["socket"] = "/run/nowhere".into();
    let built = bench.built();
    let error = fails(SOON, built.provider.create(&request("uid-1"))).await;
    assert_eq!(error.class(), FailureClass::Transient, "{error}");
    let [host] = built.checker.unwrap().check(bench.in_seconds(5)).await.try_into().unwrap();
    assert_eq!((host.ready, &*host.reason.code), (false, reasons::UNREACHABLE));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_was_replaced_is_used_from_the_next_operation_on() {
    let (bench, server) = by_ssh().await;
    let provider = bench.provider();
    let (_, id) = bench.running(&*provider, "uid-1").await;
    let next = new_key();
    *server.shared.user.lock().unwrap() = next.public_key().clone();
    write_key(&bench, &next);
    assert_eq!(shown(&*provider, &id).await.state.kind(), StateKind::Running);
    assert_eq!(server.shared.connections.load(Ordering::SeqCst), 2);

    // One that nobody accepts ends nothing but what needs it.
    write_key(&bench, &new_key());
    let error = fails(SOON, provider.create(&request("uid-2"))).await;
    assert_eq!(error.class(), FailureClass::Permanent, "{error}");
    write_key(&bench, &next);
    provider.create(&request("uid-2")).await.unwrap();
}

/// A key that a passphrase guards is read with the file that has it, and one that none guards without.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_with_a_passphrase_takes_the_file_that_has_it() {
    let (mut bench, server) = by_ssh().await;
    let user = new_key();
    *server.shared.user.lock().unwrap() = user.public_key().clone();
    let locked = user.encrypt(&mut safe_rng(), "correct horse").unwrap();
    std::fs::write(bench.path("key"), locked.to_openssh(LineEnding::LF).unwrap().as_bytes()).unwrap();
    let unavailable = Some(reasons::CREDENTIALS_UNAVAILABLE);

    let error = fails(SOON, bench.provider().create(&request("uid-1"))).await;
    assert_eq!((error.class(), error.code()), (FailureClass::Permanent, unavailable), "{error}");
    assert!(error.message().contains("sshKeyPassphraseFile"), "{error}");

    bench.block()["sshKeyPassphraseFile"] = bench.path("passphrase").to_str().unwrap().into();
    let provider = bench.provider();
    // A file that is not there may come.
    let error = fails(SOON, provider.create(&request("uid-1"))).await;
    assert_eq!((error.class(), error.code()), (FailureClass::Transient, unavailable), "{error}");
    assert!(error.message().contains(bench.path("passphrase").to_str().unwrap()), "{error}");
    assert_eq!(server.shared.connections.load(Ordering::SeqCst), 0, "nobody is dialled without a key");

    std::fs::write(bench.path("passphrase"), "correct horse\n").unwrap();
    let (_, id) = bench.running(&*provider, "uid-1").await;
    assert_eq!(server.shared.connections.load(Ordering::SeqCst), 1);

    // Another passphrase counts from the next operation on, as another key does; a key without one takes no notice.
    std::fs::write(bench.path("passphrase"), "battery staple\n").unwrap();
    let error = fails(SOON, provider.create(&request("uid-2"))).await;
    assert_eq!((error.class(), error.code()), (FailureClass::Permanent, unavailable), "{error}");
    write_key(&bench, &user);
    assert_eq!(shown(&*provider, &id).await.state.kind(), StateKind::Running);
}
