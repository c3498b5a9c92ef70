//! Whether a host is the one it should be: its key or its certificate, judged by what is known of it. Everything that is
//! not known is refused.

use std::{fmt, path::PathBuf};

use data_encoding::BASE64_NOPAD;
use ring::digest::{SHA256, digest};
use russh::keys::{
    Algorithm, Certificate, EcdsaCurve, HashAlg, PublicKey, PublicKeyOrCertificate,
    ssh_key::certificate::CertType,
};

use crate::known_hosts::{Entry, KnownHosts, Marker, names};

/// What a host's key is held against.
#[derive(Clone, Debug)]
pub(crate) enum Trust {
    /// A file of known hosts.
    Known { file: PathBuf, hosts: KnownHosts },
    /// Nothing: whoever answers is believed.
    Anybody,
}

/// A key that was accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Accepted {
    pub(crate) key_type: String,
    pub(crate) fingerprint: String,
}

/// Why a host's key was not accepted, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

/// What a host showed.
struct Shown<'c> {
    key_type: String,
    key: Vec<u8>,
    certificate: Option<&'c Certificate>,
    /// The key that signed the certificate.
    authority: Option<Vec<u8>>,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.key_type, fingerprint(&self.key))
    }
}

/// The algorithms that a host may sign with, by the type of its key; ours, most wanted first. SHA-1 is not among them.
const ALGORITHMS: [(&str, &[Algorithm]); 5] = [
    ("ssh-ed25519", &[Algorithm::Ed25519]),
    ("ecdsa-sha2-nistp256", &[Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 }]),
    ("ecdsa-sha2-nistp384", &[Algorithm::Ecdsa { curve: EcdsaCurve::NistP384 }]),
    ("ecdsa-sha2-nistp521", &[Algorithm::Ecdsa { curve: EcdsaCurve::NistP521 }]),
    (
        "ssh-rsa",
        &[Algorithm::Rsa { hash: Some(HashAlg::Sha512) }, Algorithm::Rsa { hash: Some(HashAlg::Sha256) }],
    ),
];

impl Trust {
    /// What to offer a host: first the types of its keys that are known, under the name that counts most first, so that
    /// one with several keys shows a known one; then the rest, so that one with none of those can be named. The second
    /// list are certificates, wanted where an authority is known for the host.
    pub(crate) fn algorithms(&self, host: &str, port: u16) -> (Vec<Algorithm>, Vec<Algorithm>) {
        let all = || ALGORITHMS.iter().flat_map(|(_, algorithms)| algorithms.iter().cloned());
        let Self::Known { hosts, .. } = self else { return (all().collect(), Vec::new()) };
        let names = names(host, port);
        let rank = |key_type: &str| {
            let own = |entry: &Entry| entry.marker == Marker::None && entry.key_type == key_type;
            names.iter().position(|name| hosts.about(name).any(own)).unwrap_or(names.len())
        };
        let mut types: Vec<_> = ALGORITHMS.iter().collect();
        types.sort_by_key(|(key_type, _)| rank(key_type));
        let keys = types.into_iter().flat_map(|(_, algorithms)| algorithms.iter().cloned()).collect();
        let authority = |entry: &Entry| entry.marker == Marker::CertAuthority;
        let vouched = names.iter().any(|name| hosts.about(name).any(authority));
        (keys, if vouched { all().collect() } else { Vec::new() })
    }

    /// Judges what a host showed. `now` is in seconds since 1970.
    pub(crate) fn judge(
        &self,
        host: &str,
        port: u16,
        shown: &PublicKeyOrCertificate,
        now: i64,
    ) -> Result<Accepted, Refused> {
        let public = shown.public_key();
        let unreadable =
            |_| refused("HostKeyMismatch", "the host showed a key that cannot be read".to_owned());
        let bytes = |key: &PublicKey| key.to_bytes().map_err(unreadable);
        let certificate = shown.certificate();
        let signed_by = certificate.map(|it| PublicKey::new(it.signature_key().clone(), ""));
        let shown = Shown {
            key_type: type_name(&public),
            key: bytes(&public)?,
            certificate,
            authority: signed_by.as_ref().map(bytes).transpose()?,
        };
        let accepted = Accepted { key_type: shown.key_type.clone(), fingerprint: fingerprint(&shown.key) };
        let Self::Known { file, hosts } = self else { return Ok(accepted) };
        let judge = Judge { file: &file.display().to_string(), hosts, host, shown: &shown, now };
        let names = names(host, port);
        judge.revoked(&names)?;
        let first = judge.by_name(&names[0]);
        match (&first, names.get(1)) {
            // OpenSSH asks for the host without its port where nothing is known of it with its port.
            (Err(Verdict::Unknown(_)), Some(alone)) => judge.by_name(alone).or(first),
            _ => first,
        }
        .map(|()| accepted)
        .map_err(|verdict| match verdict {
            Verdict::Unknown(refused) | Verdict::Refused(refused) => refused,
        })
    }
}

enum Verdict {
    /// Nothing is known under this name that speaks for or against it.
    Unknown(Refused),
    Refused(Refused),
}

struct Judge<'j> {
    file: &'j str,
    hosts: &'j KnownHosts,
    host: &'j str,
    shown: &'j Shown<'j>,
    now: i64,
}

impl Judge<'_> {
    /// A revocation holds under every name of the host, whatever else vouches for it. OpenSSH looks only under the name
    /// with the port, where there is one; we would rather refuse once too often.
    fn revoked(&self, names: &[String]) -> Result<(), Refused> {
        let ours = |entry: &&Entry| {
            let key = entry.key == self.shown.key || Some(&entry.key) == self.shown.authority.as_ref();
            entry.marker == Marker::Revoked && key
        };
        for name in names {
            if let Some(entry) = self.hosts.about(name).find(ours) {
                let (shown, file, line) = (self.shown, self.file, entry.line);
                let what = format!("the host key of {name} is revoked: {shown}, by {file} line {line}");
                return Err(refused("HostKeyRevoked", what));
            }
        }
        Ok(())
    }

    fn by_name(&self, name: &str) -> Result<(), Verdict> {
        let entries: Vec<_> = self.hosts.about(name).collect();
        let with = |marker| entries.iter().copied().filter(move |entry: &&Entry| entry.marker == marker);
        let (shown, file) = (self.shown, self.file);

        if let (Some(certificate), Some(authority)) = (self.shown.certificate, &self.shown.authority)
            && let Some(entry) = with(Marker::CertAuthority).find(|entry| entry.key == *authority)
        {
            return self.certificate(certificate).map_err(|why| {
                    let line = entry.line;
                    let what = format!(
                        "the certificate that {name} showed for {shown} is no good: {why} (its authority is trusted by {file} line {line})"
                    );
                    Verdict::Refused(refused("HostCertificateInvalid", what))
                });
        }
        if with(Marker::None).any(|entry| entry.key == self.shown.key) {
            return Ok(());
        }
        let same_type = |entry: &&Entry| entry.key_type == self.shown.key_type;
        if let Some(entry) = with(Marker::None).find(same_type) {
            let known = fingerprint(&entry.key);
            let what = format!(
                "the host key of {name} has changed: it showed {shown}, known is {known} by {file} line {}; \
                 somebody may stand in between, or the host was set up anew",
                entry.line
            );
            return Err(Verdict::Refused(refused("HostKeyMismatch", what)));
        }
        Err(Verdict::Unknown(refused("HostKeyMismatch", self.unknown(name, &entries))))
    }

    fn unknown(&self, name: &str, entries: &[&Entry]) -> String {
        let shown = self.shown;
        let mut what = format!("the host key of {name} is unknown: {shown} is not in {}", self.file);
        for entry in entries.iter().filter(|entry| entry.marker != Marker::Revoked) {
            let says = if entry.marker == Marker::None { "has" } else { "trusts the authority" };
            what += &format!(", line {} {says} {} {}", entry.line, entry.key_type, fingerprint(&entry.key));
        }
        if !self.hosts.unreadable.is_empty() {
            let lines: Vec<_> = self.hosts.unreadable.iter().take(8).map(usize::to_string).collect();
            what += &format!("; lines of it that cannot be read: {}", lines.join(", "));
        }
        what
    }

    /// What OpenSSH asks of a certificate of a host.
    fn certificate(&self, certificate: &Certificate) -> Result<(), String> {
        if certificate.cert_type() != CertType::Host {
            return Err("it is for a user, not for a host".to_owned());
        }
        if certificate.signature().algorithm() == (Algorithm::Rsa { hash: None }) {
            return Err("it is signed with SHA-1".to_owned());
        }
        certificate.verify_signature().map_err(|_| "its signature is wrong".to_owned())?;
        let now = u64::try_from(self.now).unwrap_or(0);
        if now < certificate.valid_after() {
            return Err("it is not valid yet".to_owned());
        }
        if now >= certificate.valid_before() {
            return Err("it has expired".to_owned());
        }
        if !certificate.critical_options().is_empty() {
            return Err("it has critical options, which hosts' certificates have none of".to_owned());
        }
        let principals = certificate.valid_principals();
        // Names are compared as they are: OpenSSH knows no wildcards here. One that lists none is for every host.
        if !principals.is_empty() && !principals.iter().any(|principal| principal == self.host) {
            return Err(format!("it is for {}", principals.join(", ")));
        }
        Ok(())
    }
}

fn refused(code: &'static str, message: String) -> Refused {
    Refused { code, message }
}

/// The type of a key as files name it; RSA has one name there, whatever it signs with.
pub(crate) fn type_name(key: &PublicKey) -> String {
    match key.algorithm() {
        Algorithm::Rsa { .. } => "ssh-rsa".to_owned(),
        other => other.to_string(),
    }
}

/// As `ssh-keygen -l` shows it.
pub(crate) fn fingerprint(key: &[u8]) -> String {
    format!("SHA256:{}", BASE64_NOPAD.encode(digest(&SHA256, key).as_ref()))
}
