//! Logging in: keys of all kinds and formats, with and without passphrase, and everything that may be wrong with them.

use provider_api::FailureClass::{Permanent, Transient};
use provider_api::{CredentialFile, reasons};
use russh::keys::{PrivateKey, key::safe_rng, ssh_key::LineEnding};
use ssh::{Access, Session, Stage, Target};

use crate::{
    server::{Manners, OnAuth, Server},
    site::{Site, assert_fails, ecdsa, ed25519, rsa},
};

fn openssh(key: &PrivateKey) -> Vec<u8> {
    key.to_openssh(LineEnding::LF).unwrap().as_bytes().to_vec()
}

async fn dial(site: &Site, server: &Server, access: &Access) -> Result<Session, ssh::DialError> {
    let target = Target::parse(&server.address.to_string(), "libvirt").unwrap();
    site.dialer().dial(&target, access).await
}

#[tokio::test]
async fn keys_of_every_type_log_in() {
    for (key, signs) in
        [(ed25519(), "ssh-ed25519"), (ecdsa(), "ecdsa-sha2-nistp256"), (rsa(), "rsa-sha2-512")]
    {
        let site = Site::new();
        let server = site.server(Manners { users: vec![key.public_key().clone()], ..site.manners() }).await;
        site.write("id", &openssh(&key));
        site.dial(server.address).await.unwrap();
        assert_eq!(server.seen.now().signed_with, [signs]);
    }
}

#[tokio::test]
async fn keys_in_pem_log_in() {
    let site = Site::new();
    let server = site.server(site.manners()).await;
    let mut pem = Vec::new();
    russh::keys::encode_pkcs8_pem(&site.user, &mut pem).unwrap();
    site.write("id", &pem);
    site.dial(server.address).await.unwrap();
}

#[tokio::test]
async fn a_refused_rsa_key_is_tried_with_both_hashes_and_never_with_sha_1() {
    let site = Site::new();
    let server = site.server(Manners { users: Vec::new(), ..site.manners() }).await;
    site.write("id", &openssh(&rsa()));
    let text =
        assert_fails(site.dial(server.address).await, Stage::Auth, Permanent, "SSH_MSG_USERAUTH_FAILURE");
    assert_eq!(server.seen.now().signed_with, ["rsa-sha2-512", "rsa-sha2-256"]);
    assert!(text.contains("ssh-rsa SHA256:"), "{text}");
}

#[tokio::test]
async fn a_refused_key_is_permanent_and_names_key_user_and_file() {
    let site = Site::new();
    let server = site.server(Manners { users: Vec::new(), ..site.manners() }).await;
    let failed = site.dial(server.address).await;
    assert_eq!(failed.as_ref().unwrap_err().reason(), reasons::UNAUTHORIZED);
    let text = assert_fails(failed, Stage::Auth, Permanent, "SSH_MSG_USERAUTH_FAILURE");
    let fingerprint = site.user.fingerprint(russh::keys::HashAlg::Sha256).to_string();
    for part in ["libvirt", "ssh-ed25519", &fingerprint, &site.path("id").to_string_lossy()] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

#[tokio::test]
async fn a_passphrase_opens_its_key_and_no_other_does() {
    let site = Site::new();
    let server = site.server(site.manners()).await;
    let locked = site.user.encrypt(&mut safe_rng(), "correct horse").unwrap();
    site.write("id", &openssh(&locked));
    let with =
        |name: &str| Access { passphrase: Some(CredentialFile::new(site.path(name))), ..site.access() };

    let code = reasons::CREDENTIALS_UNAVAILABLE;
    let text = assert_fails(dial(&site, &server, &site.access()).await, Stage::Credentials, Permanent, code);
    assert!(text.contains("has a passphrase, and no file with it is configured"), "{text}");

    site.write("wrong", b"battery staple\n");
    let text = assert_fails(dial(&site, &server, &with("wrong")).await, Stage::Credentials, Permanent, code);
    assert!(text.contains("does not open with the passphrase in") && !text.contains("battery"), "{text}");

    let text = assert_fails(dial(&site, &server, &with("none")).await, Stage::Credentials, Transient, code);
    assert!(text.contains("none"), "{text}");
    assert_eq!(server.seen.now().connections, 0);

    site.write("right", b"correct horse\n");
    dial(&site, &server, &with("right")).await.unwrap();
}

#[tokio::test]
async fn what_is_no_key_is_permanent() {
    let site = Site::new();
    let server = site.server(site.manners()).await;
    let mut cut_off = openssh(&site.user);
    cut_off.truncate(cut_off.len() / 2);
    let public = site.user.public_key().to_openssh().unwrap().into_bytes();
    for bytes in [b"".to_vec(), b"swordfish".to_vec(), vec![0xff; 64], cut_off, public] {
        site.write("id", &bytes);
        let code = reasons::CREDENTIALS_UNAVAILABLE;
        let text = assert_fails(site.dial(server.address).await, Stage::Credentials, Permanent, code);
        assert!(text.contains("no private key") && !text.contains("swordfish"), "{text}");
    }
}

/// `runtime.credentials-rotate`: the next dial uses the key that is there then.
#[tokio::test]
async fn a_new_key_in_the_file_is_used_at_the_next_dial() {
    let site = Site::new();
    let next = ed25519();
    let server = site.server(Manners { users: vec![next.public_key().clone()], ..site.manners() }).await;
    assert_fails(site.dial(server.address).await, Stage::Auth, Permanent, "SSH_MSG_USERAUTH_FAILURE");
    site.write("id", &openssh(&next));
    site.dial(server.address).await.unwrap();
}

#[tokio::test]
async fn a_host_that_wants_more_than_a_key_is_named_as_such() {
    let site = Site::new();
    let server = site.server(Manners { auth: OnAuth::AskForMore, ..site.manners() }).await;
    let text =
        assert_fails(site.dial(server.address).await, Stage::Auth, Permanent, "SSH_MSG_USERAUTH_FAILURE");
    assert!(text.contains("wants more"), "{text}");
}

#[tokio::test]
async fn a_connection_lost_while_logging_in_is_transient() {
    let site = Site::new();
    let server = site.server(Manners { auth: OnAuth::Drop, ..site.manners() }).await;
    let text = assert_fails(site.dial(server.address).await, Stage::Auth, Transient, "ECONNRESET");
    assert!(text.contains("while logging in"), "{text}");
}
