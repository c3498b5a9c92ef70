//! Logging in: every key that `ssh-keygen` makes, and what a real server says where it does not like one.

use std::{net::TcpStream, time::Duration};

use provider_api::{
    BackendError, CredentialFile,
    FailureClass::{Permanent, Transient},
};
use ssh::{Access, Keepalive, Stage};

use crate::sshd::{Site, dialer, target};

#[tokio::test]
async fn keys_of_every_type_and_format_log_in() {
    let site = Site::new();
    let sshd = site.sshd(&["host_ed25519"], "");
    site.know(&sshd, "host_ed25519");
    let kinds: [&[&str]; 8] = [
        &["-t", "ed25519"],
        &["-t", "ecdsa", "-b", "256"],
        &["-t", "ecdsa", "-b", "384"],
        &["-t", "ecdsa", "-b", "521"],
        &["-t", "rsa", "-b", "3072"],
        &["-t", "rsa", "-b", "2048", "-m", "PEM"],
        &["-t", "rsa", "-b", "2048", "-m", "PKCS8"],
        &["-t", "ecdsa", "-b", "256", "-m", "PKCS8"],
    ];
    for (index, flags) in kinds.into_iter().enumerate() {
        for passphrase in ["", "correct horse"] {
            let name = format!("key{index}{}", passphrase.len());
            site.keygen(&name, &[flags, &["-N", passphrase]].concat());
            site.allow(&name);
            site.write("passphrase", &format!("{passphrase}\n"));
            let access = Access {
                key: CredentialFile::new(site.path(&name)),
                passphrase: (!passphrase.is_empty()).then(|| CredentialFile::new(site.path("passphrase"))),
                ..site.access()
            };
            let dialled = dialer().dial(&target(&sshd), &access).await;
            let dialled = dialled.unwrap_or_else(|error| panic!("{flags:?} {passphrase:?}: {error}"));
            assert_eq!(dialled.cipher(), "aes128-gcm@openssh.com");
            let Some(_) = &access.passphrase else { continue };
            site.write("passphrase", "battery staple");
            let error = dialer().dial(&target(&sshd), &access).await.unwrap_err();
            assert_eq!((error.stage(), error.class()), (Stage::Credentials, Permanent));
            assert!(error.message().contains("does not open with the passphrase"), "{flags:?}: {error}");
            let error =
                dialer().dial(&target(&sshd), &Access { passphrase: None, ..access }).await.unwrap_err();
            assert!(error.message().contains("has a passphrase"), "{flags:?}: {error}");
        }
    }
}

#[tokio::test]
async fn a_format_that_is_not_read_is_named_with_the_way_out() {
    let site = Site::new();
    let sshd = site.sshd(&["host_ed25519"], "");
    site.know(&sshd, "host_ed25519");
    site.keygen("old", &["-t", "ecdsa", "-m", "PEM", "-N", "correct horse"]);
    site.write("passphrase", "correct horse");
    let (key, passphrase) =
        (CredentialFile::new(site.path("old")), CredentialFile::new(site.path("passphrase")));
    let access = Access { key, passphrase: Some(passphrase), ..site.access() };
    let error = dialer().dial(&target(&sshd), &access).await.unwrap_err();
    assert_eq!((error.stage(), error.class()), (Stage::Credentials, Permanent));
    assert!(error.message().contains("ssh-keygen -p"), "{error}");
}

#[tokio::test]
async fn a_key_that_is_not_allowed_is_permanent() {
    for lines in ["", "MaxAuthTries 1", "DenyUsers *"] {
        let site = Site::new();
        let sshd = site.sshd(&["host_ed25519"], lines);
        site.know(&sshd, "host_ed25519");
        site.keygen("other", &["-t", "rsa", "-b", "2048", "-N", ""]);
        let access = Access { key: CredentialFile::new(site.path("other")), ..site.access() };
        let error = dialer().dial(&target(&sshd), &access).await.unwrap_err();
        assert_eq!((error.stage(), error.class()), (Stage::Auth, Permanent), "{lines}: {error}");
    }
}

/// virtrigaud#191: a burst of logins runs into MaxStartups.
#[tokio::test]
async fn bug_l14_a_burst_into_max_startups_is_transient_and_passes() {
    let site = Site::new();
    let sshd = site.sshd(&["host_ed25519"], "MaxStartups 1");
    site.know(&sshd, "host_ed25519");
    // The probe of the start may still count as a login that has begun.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let idle = TcpStream::connect(("127.0.0.1", sshd.port)).unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let error = site.dial(&sshd).await.unwrap_err();
    assert_eq!((error.stage(), error.class()), (Stage::Handshake, Transient), "{error}");
    assert_eq!(error.code(), "closed before the version exchange");
    assert!(error.message().contains("MaxStartups"), "{error}");
    drop(idle);
    tokio::time::sleep(Duration::from_millis(300)).await;
    site.dial(&sshd).await.unwrap();
}

#[tokio::test]
async fn a_session_lives_on_its_beat_and_dies_of_silence() {
    let site = Site::new();
    let sshd = site.sshd(&["host_ed25519"], "");
    site.know(&sshd, "host_ed25519");
    let keepalive = Keepalive { every: Duration::from_millis(200), patience: 3 };
    let session = dialer().keepalive(keepalive).dial(&target(&sshd), &site.access()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(session.is_alive(), "{:?}", session.ended());
    sshd.signal("-STOP");
    let why = tokio::time::timeout(Duration::from_secs(10), session.closed()).await;
    sshd.signal("-CONT");
    let why = why.expect("silence should end it");
    assert!(why.contains("kept still"), "{why}");
}

#[tokio::test]
async fn a_server_that_is_killed_is_noticed_at_once() {
    let site = Site::new();
    let sshd = site.sshd(&["host_ed25519"], "");
    site.know(&sshd, "host_ed25519");
    let session = site.dial(&sshd).await.unwrap();
    sshd.signal("-KILL");
    let why = tokio::time::timeout(Duration::from_secs(5), session.closed()).await;
    why.expect("the end of the connection should be noticed");
    assert!(!session.is_alive());
}

#[tokio::test]
async fn old_servers_without_the_fast_cipher_are_spoken_to() {
    for cipher in ["aes256-gcm@openssh.com", "chacha20-poly1305@openssh.com", "aes256-ctr", "aes128-ctr"] {
        let site = Site::new();
        let sshd = site.sshd(&["host_ed25519"], &format!("Ciphers {cipher}"));
        site.know(&sshd, "host_ed25519");
        assert_eq!(site.dial(&sshd).await.unwrap().cipher(), cipher);
    }
}
