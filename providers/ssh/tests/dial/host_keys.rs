//! Whom the client believes: plain keys, several keys, certificates, revocations.

use std::time::Duration;

use provider_api::FailureClass::Permanent;
use provider_api::reasons;
use russh::keys::{
    Certificate, HashAlg, PrivateKey,
    key::safe_rng,
    ssh_key::certificate::{Builder, CertType},
};
use ssh::{Access, HostKeys, Session, Stage, Target};

use crate::{
    clock::START,
    server::{Manners, Server},
    site::{Site, assert_fails, ecdsa, ed25519, rsa},
};

fn line(server: &Server, key: &PrivateKey) -> String {
    format!("[127.0.0.1]:{} {}\n", server.address.port(), key.public_key().to_openssh().unwrap())
}

fn fingerprint(key: &PrivateKey) -> String {
    key.fingerprint(HashAlg::Sha256).to_string()
}

#[track_caller]
fn assert_refused(site: &Site, failed: Result<Session, ssh::DialError>, code: &str, parts: &[&str]) {
    assert_eq!(failed.as_ref().unwrap_err().reason(), reasons::UNAUTHORIZED);
    let text = assert_fails(failed, Stage::HostKey, Permanent, code);
    for part in [&*site.path("known_hosts").to_string_lossy(), "127.0.0.1"].iter().chain(parts) {
        assert!(text.contains(part), "{part} is not in: {text}");
    }
}

/// dmacvicar/terraform-provider-libvirt#944: an unknown key fails closed, and the message names host, key type and file.
#[tokio::test]
async fn bug_l11_an_unknown_host_is_refused_and_everything_is_named() {
    let site = Site::new();
    let server = site.server(site.manners()).await;
    site.write("known_hosts", b"");
    let failed = site.dial(server.address).await;
    assert_refused(&site, failed, "HostKeyMismatch", &["unknown", "ssh-ed25519", &fingerprint(&site.host)]);
    assert_eq!(server.seen.now().auths, 0, "nothing of ours was shown to a stranger");
}

#[tokio::test]
async fn a_slip_in_the_file_is_named_beside_the_unknown_host() {
    let site = Site::new();
    let server = site.server(site.manners()).await;
    site.write(
        "known_hosts",
        format!("# mine\n[127.0.0.1]:{} ssh-ed25519 AAAA\n", server.address.port()).as_bytes(),
    );
    let failed = site.dial(server.address).await;
    assert_refused(&site, failed, "HostKeyMismatch", &["unknown", "cannot be read: 2"]);
}

#[tokio::test]
async fn a_changed_key_is_refused_and_the_line_is_named() {
    let site = Site::new();
    let server = site.server(site.manners()).await;
    let old = ed25519();
    site.write("known_hosts", format!("# mine\n\n{}", line(&server, &old)).as_bytes());
    let failed = site.dial(server.address).await;
    let parts = ["has changed", "ssh-ed25519", &fingerprint(&site.host), &fingerprint(&old), "line 3"];
    assert_refused(&site, failed, "HostKeyMismatch", &parts);
}

#[tokio::test]
async fn a_known_key_of_another_type_does_not_vouch_for_this_one() {
    let site = Site::new();
    let server = site.server(site.manners()).await;
    site.write("known_hosts", line(&server, &ecdsa()).as_bytes());
    let failed = site.dial(server.address).await;
    assert_refused(
        &site,
        failed,
        "HostKeyMismatch",
        &["unknown", "ssh-ed25519", "line 1 has ecdsa-sha2-nistp256"],
    );
}

/// dmacvicar/terraform-provider-libvirt#915: the types that are known for the host are offered first, the others after
/// them, so a host with several keys shows the one that is known.
#[tokio::test]
async fn bug_l13_a_host_with_several_keys_shows_the_known_one() {
    let site = Site::new();
    let keys = [ed25519(), ecdsa(), rsa()];
    let server = site.server(Manners { keys: keys.to_vec(), ..site.manners() }).await;
    for key in &keys {
        site.write("known_hosts", line(&server, key).as_bytes());
        let session = site.dial(server.address).await.unwrap();
        assert!(session.host_key().ends_with(&fingerprint(key)), "{}", session.host_key());
    }
}

#[tokio::test]
async fn bug_l13_no_key_type_in_common_is_permanent_and_names_the_offer() {
    let site = Site::new();
    let old = russh::Preferred {
        key: vec![russh::keys::Algorithm::Rsa { hash: None }].into(),
        ..russh::Preferred::DEFAULT
    };
    let manners = Manners { keys: vec![rsa()], preferred: Some(old), ..site.manners() };
    let server = site.server(manners).await;
    let code = "SSH_DISCONNECT_KEY_EXCHANGE_FAILED";
    let text = assert_fails(site.dial(server.address).await, Stage::Handshake, Permanent, code);
    assert!(text.contains("ssh-ed25519") && text.contains("the host offers ssh-rsa"), "{text}");
}

#[tokio::test]
async fn a_host_known_without_its_port_is_known() {
    let site = Site::new();
    let server = site.server(site.manners()).await;
    let key = site.host.public_key().to_openssh().unwrap();
    site.write("known_hosts", format!("127.0.0.1 {key}\n").as_bytes());
    site.dial(server.address).await.unwrap();
    // What is known with the port outweighs it.
    let other = line(&server, &ed25519());
    site.write("known_hosts", format!("127.0.0.1 {key}\n{other}").as_bytes());
    assert_refused(&site, site.dial(server.address).await, "HostKeyMismatch", &["has changed", "line 2"]);
}

/// virtrigaud#149: verification is on unless it is switched off by name.
#[tokio::test]
async fn bug_l12_only_the_explicit_switch_believes_anybody() {
    let site = Site::new();
    let server = site.server(site.manners()).await;
    site.write("known_hosts", b"");
    let target = Target::parse(&server.address.to_string(), "libvirt").unwrap();
    let access = Access { host_keys: HostKeys::InsecureIgnore, ..site.access() };
    site.dialer().dial(&target, &access).await.unwrap();
}

#[tokio::test]
async fn a_revoked_key_is_refused_whoever_vouches_for_it() {
    let site = Site::new();
    let server = site.server(site.manners()).await;
    let good = line(&server, &site.host);
    for revoked in ["*", "127.0.0.1", "[127.0.0.1]:*"] {
        let key = site.host.public_key().to_openssh().unwrap();
        site.write("known_hosts", format!("{good}@revoked {revoked} {key}\n").as_bytes());
        let failed = site.dial(server.address).await;
        assert_refused(&site, failed, "HostKeyRevoked", &["revoked", "ssh-ed25519", "line 2"]);
    }
}

struct Authority {
    key: PrivateKey,
}

impl Authority {
    fn certify(&self, host: &PrivateKey, change: impl FnOnce(&mut Builder)) -> Certificate {
        let now = u64::try_from(START).unwrap();
        let key = host.public_key();
        let mut builder = Builder::new_with_random_nonce(&mut safe_rng(), key, now - 60, now + 3600).unwrap();
        builder.key_id("kvm1").unwrap();
        change(&mut builder);
        // It can be set once, and the change may have been that.
        let _ = builder.cert_type(CertType::Host);
        builder.sign(&self.key).unwrap()
    }

    fn line(&self, hosts: &str) -> String {
        format!("@cert-authority {hosts} {}\n", self.key.public_key().to_openssh().unwrap())
    }
}

fn for_principal(name: &'static str) -> impl FnOnce(&mut Builder) {
    move |builder| {
        builder.valid_principal(name).unwrap();
    }
}

async fn certified(site: &Site, authority: &Authority, change: impl FnOnce(&mut Builder)) -> Server {
    let certificate = authority.certify(&site.host, change);
    site.server(Manners { certificates: vec![certificate], ..site.manners() }).await
}

#[tokio::test]
async fn a_certificate_of_a_known_authority_vouches_for_its_host() {
    for key in [ed25519(), ecdsa(), rsa()] {
        let site = Site::new();
        let authority = Authority { key };
        let server = certified(&site, &authority, for_principal("127.0.0.1")).await;
        site.write("known_hosts", authority.line("127.0.0.1,*.example.com").as_bytes());
        let session = site.dial(server.address).await.unwrap();
        assert!(session.host_key().ends_with(&fingerprint(&site.host)));
    }
}

#[tokio::test]
async fn a_certificate_that_is_no_good_is_refused_with_the_reason() {
    let authority = Authority { key: ed25519() };
    let check = async |change: Box<dyn FnOnce(&mut Builder)>, why: &str| {
        let site = Site::new();
        let server = certified(&site, &authority, change).await;
        site.write("known_hosts", authority.line("*").as_bytes());
        let failed = site.dial(server.address).await;
        assert_refused(&site, failed, "HostCertificateInvalid", &[why, "line 1", "ssh-ed25519"]);
    };
    check(Box::new(for_principal("127.0.0.2")), "it is for 127.0.0.2").await;
    let user = |builder: &mut Builder| {
        builder.cert_type(CertType::User).unwrap().valid_principal("127.0.0.1").unwrap();
    };
    check(Box::new(user), "for a user").await;
    let forced = |builder: &mut Builder| {
        builder.critical_option("force-command", "x").unwrap().valid_principal("127.0.0.1").unwrap();
    };
    check(Box::new(forced), "critical options").await;
}

#[tokio::test]
async fn a_certificate_is_good_for_its_time_only() {
    let site = Site::new();
    let authority = Authority { key: ed25519() };
    let server = certified(&site, &authority, for_principal("127.0.0.1")).await;
    site.write("known_hosts", authority.line("*").as_bytes());
    site.dial(server.address).await.unwrap();
    site.clock.pass(Duration::from_secs(3600));
    let failed = site.dial(server.address).await;
    assert_refused(&site, failed, "HostCertificateInvalid", &["expired"]);
}

#[tokio::test]
async fn a_certificate_of_a_stranger_counts_as_its_plain_key() {
    let site = Site::new();
    let (authority, stranger) = (Authority { key: ed25519() }, Authority { key: ed25519() });
    let server = certified(&site, &stranger, for_principal("127.0.0.1")).await;
    site.write("known_hosts", authority.line("*").as_bytes());
    let failed = site.dial(server.address).await;
    assert_refused(&site, failed, "HostKeyMismatch", &["unknown", "trusts the authority"]);
    site.write("known_hosts", format!("{}{}", authority.line("*"), line(&server, &site.host)).as_bytes());
    site.dial(server.address).await.unwrap();
}

#[tokio::test]
async fn an_authority_vouches_only_for_the_hosts_on_its_line() {
    let site = Site::new();
    let authority = Authority { key: ed25519() };
    let server = certified(&site, &authority, for_principal("127.0.0.1")).await;
    site.write("known_hosts", authority.line("*.example.com").as_bytes());
    assert_refused(&site, site.dial(server.address).await, "HostKeyMismatch", &["unknown"]);
}

#[tokio::test]
async fn a_revoked_authority_or_key_inside_a_certificate_is_refused() {
    let site = Site::new();
    let authority = Authority { key: ed25519() };
    let server = certified(&site, &authority, for_principal("127.0.0.1")).await;
    for revoked in [&authority.key, &site.host] {
        let revoked = format!("@revoked * {}\n", revoked.public_key().to_openssh().unwrap());
        site.write("known_hosts", format!("{}{revoked}", authority.line("*")).as_bytes());
        assert_refused(&site, site.dial(server.address).await, "HostKeyRevoked", &["line 2"]);
    }
}
