//! Host keys: a table of known hosts, each judged by OpenSSH's own client and by ours, which must agree.

use std::process::Command;

use ssh::Stage;

use crate::sshd::{Site, Sshd, run};

const KEYS: [&str; 3] = ["host_ed25519", "host_ecdsa", "host_rsa"];

fn site_with_keys() -> Site {
    let site = Site::new();
    site.keygen("host_ecdsa", &["-t", "ecdsa", "-N", ""]);
    site.keygen("host_rsa", &["-t", "rsa", "-b", "2048", "-N", ""]);
    site.keygen("stranger", &["-t", "ed25519", "-N", ""]);
    site.keygen("stranger_ecdsa", &["-t", "ecdsa", "-N", ""]);
    site.keygen("ca", &["-t", "ed25519", "-N", ""]);
    site.keygen("ca_rsa", &["-t", "rsa", "-b", "2048", "-N", ""]);
    site
}

/// Compares both clients over one file of known hosts, and with what is expected of both.
async fn agree(site: &Site, sshd: &Sshd, what: &str, file: &str, expected: bool) {
    site.write("known_hosts", file);
    let ours = site.dial(sshd).await;
    let theirs = site.openssh_gets_in(sshd);
    assert_eq!(ours.is_ok(), theirs, "OpenSSH gets in: {theirs}, we: {ours:?}, {what} with\n{file}");
    assert_eq!(theirs, expected, "{ours:?} {what} with\n{file}");
    if let Err(error) = ours {
        assert_eq!(error.stage(), Stage::HostKey, "{error}");
    }
}

#[tokio::test]
async fn plain_keys_are_judged_as_openssh_judges_them() {
    let site = site_with_keys();
    let sshd = site.sshd(&KEYS, "");
    let port = sshd.port;
    let [ed25519, ecdsa, rsa] = KEYS.map(|key| site.public(key));
    let (stranger, stranger_ecdsa) = (site.public("stranger"), site.public("stranger_ecdsa"));
    for (file, expected) in [
        (String::new(), false),
        (format!("[127.0.0.1]:{port} {ed25519}\n"), true),
        (format!("[127.0.0.1]:{port} {ecdsa}\n"), true),
        (format!("[127.0.0.1]:{port} {rsa}\n"), true),
        (format!("127.0.0.1 {ed25519}\n"), true),
        (format!("127.0.0.1,[127.0.0.1]:{port}   {ed25519}  a comment\r\n"), true),
        (format!("# {port}\n\n\tkvm1,[127.0.0.?]:{port}\t{ed25519}\n"), true),
        (format!("[127.*]:* {ed25519}\n"), true),
        (format!("* {ed25519}\n"), true),
        (format!("*,!127.0.0.1 {ed25519}\n"), true),
        (format!("*,![127.0.0.1]:{port},!127.0.0.1 {ed25519}\n"), false),
        (format!("[127.0.0.1]:{} {ed25519}\n", port ^ 1), false),
        (format!("127.0.0.2 {ed25519}\n"), false),
        (format!("[127.0.0.1]:{port} {stranger}\n"), false),
        (format!("[127.0.0.1]:{port} {stranger}\n127.0.0.1 {ed25519}\n"), false),
        (format!("[127.0.0.1]:{port} {stranger}\n[127.0.0.1]:{port} {ed25519}\n"), true),
        (format!("[127.0.0.1]:{port} {stranger_ecdsa}\n127.0.0.1 {ed25519}\n"), false),
        (format!("[127.0.0.1]:{port} {ed25519}\n@revoked * {ed25519}\n"), false),
        (format!("[127.0.0.1]:{port} {ed25519}\n@revoked [127.0.0.1]:{port} {ed25519}\n"), false),
        (format!("[127.0.0.1]:{port} {ed25519}\n@revoked * {stranger}\n"), true),
        (format!("@cert-authority * {ed25519}\n"), false),
        (format!("[127.0.0.1]:{port} ssh-ed25519 AAAA\n[127.0.0.1]:{port} {ed25519}\n"), true),
    ] {
        agree(&site, &sshd, "plain", &file, expected).await;
    }
}

#[tokio::test]
async fn hashed_names_and_keyscans_are_read() {
    let site = site_with_keys();
    let sshd = site.sshd(&KEYS, "");
    let scan =
        Command::new("ssh-keyscan").args(["-p", &sshd.port.to_string(), "127.0.0.1"]).output().unwrap();
    let scan = String::from_utf8(scan.stdout).unwrap();
    assert_eq!(scan.lines().filter(|line| !line.starts_with('#')).count(), 3, "{scan}");
    agree(&site, &sshd, "scanned", &scan, true).await;
    run(Command::new("ssh-keygen").args(["-q", "-H", "-f"]).arg(site.path("known_hosts")));
    let hashed = site.read("known_hosts");
    assert!(hashed.contains("|1|") && !hashed.contains("127.0.0.1"), "{hashed}");
    agree(&site, &sshd, "hashed", &hashed, true).await;
    let one = hashed.lines().find(|line| line.contains("ecdsa")).unwrap();
    agree(&site, &sshd, "hashed", &format!("{one}\n"), true).await;
}

/// Signs the host's key by an authority.
fn certify(site: &Site, authority: &str, key: &str, flags: &[&str]) {
    let mut command = Command::new("ssh-keygen");
    command.args(["-q", "-I", "kvm1", "-s"]).arg(site.path(authority)).args(flags);
    run(command.arg(site.path(&format!("{key}.pub"))));
}

#[tokio::test]
async fn certificates_are_judged_as_openssh_judges_them() {
    let site = site_with_keys();
    let (ca, ca_rsa, host) = (site.public("ca"), site.public("ca_rsa"), site.public("host_ed25519"));
    let trusted = format!("@cert-authority * {ca}\n");
    for (authority, flags, file, expected) in [
        ("ca", vec!["-h", "-n", "127.0.0.1", "-V", "-1h:+1h"], trusted.clone(), true),
        ("ca", vec!["-h", "-n", "kvm1,127.0.0.1"], trusted.clone(), true),
        ("ca", vec!["-h", "-n", "127.0.0.*"], trusted.clone(), false),
        ("ca", vec!["-n", "127.0.0.1"], trusted.clone(), false),
        ("ca_rsa", vec!["-h", "-n", "127.0.0.1"], format!("@cert-authority 127.0.0.1 {ca_rsa}\n"), true),
        ("ca", vec!["-h"], trusted.clone(), true),
        ("ca", vec!["-h", "-n", "kvm1"], trusted.clone(), false),
        ("ca", vec!["-h", "-n", "127.0.0.1", "-V", "-2h:-1h"], trusted.clone(), false),
        ("ca", vec!["-h", "-n", "127.0.0.1", "-V", "+1h:+2h"], trusted.clone(), false),
        ("ca", vec!["-h", "-n", "127.0.0.1"], format!("@cert-authority kvm1 {ca}\n"), false),
        ("ca", vec!["-h", "-n", "127.0.0.1"], format!("@cert-authority * {ca_rsa}\n"), false),
        ("ca", vec!["-h", "-n", "127.0.0.1"], format!("{trusted}@revoked * {ca}\n"), false),
        ("ca", vec!["-h", "-n", "127.0.0.1"], format!("{trusted}@revoked * {host}\n"), false),
        ("ca", vec!["-h", "-n", "kvm1"], format!("127.0.0.1 {host}\n"), true),
        ("ca", vec!["-h", "-n", "kvm1"], format!("@cert-authority * {ca_rsa}\n127.0.0.1 {host}\n"), true),
    ] {
        certify(&site, authority, "host_ed25519", &flags);
        let lines = format!("HostCertificate {}", site.path("host_ed25519-cert.pub").display());
        let sshd = site.sshd(&["host_ed25519"], &lines);
        agree(&site, &sshd, &format!("{authority} {flags:?}"), &file, expected).await;
    }
}

#[tokio::test]
async fn certificates_of_every_type_of_key_are_taken() {
    let site = site_with_keys();
    for key in KEYS {
        for authority in ["ca", "ca_rsa"] {
            certify(&site, authority, key, &["-h", "-n", "127.0.0.1"]);
            let lines = format!("HostCertificate {}-cert.pub", site.path(key).display());
            let sshd = site.sshd(&[key], &lines);
            agree(&site, &sshd, key, &format!("@cert-authority * {}\n", site.public(authority)), true).await;
        }
    }
}
