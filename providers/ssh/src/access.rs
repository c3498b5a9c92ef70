//! With what a host is dialled: a private key, its passphrase and the known hosts, from files that are read anew for each
//! dial (`runtime.credentials-rotate`).

use std::{path::Path, sync::Arc};

use provider_api::{CredentialFile, Secret};
use russh::keys::{self, PrivateKey, PublicKey};

use crate::{
    DialError,
    error::Errors,
    host_key::{Trust, fingerprint, type_name},
    known_hosts::KnownHosts,
};
use provider_api::FailureClass;

/// The files that a dial reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The private key: OpenSSH's own format, or PEM.
    pub key: CredentialFile,
    /// The passphrase of the key, when it has one; a line break at its end does not count.
    pub passphrase: Option<CredentialFile>,
    /// What the host's key is held against.
    pub host_keys: HostKeys,
}

/// What a host's key is held against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostKeys {
    /// A file as OpenSSH's `known_hosts`. A host that is not in it is refused.
    KnownHosts(CredentialFile),
    /// Nothing: whoever answers is believed, and each dial says so in the log. For tests of one's own only.
    InsecureIgnore,
}

/// What the files held.
pub(crate) struct Material {
    pub(crate) key: Arc<PrivateKey>,
    pub(crate) trust: Trust,
    /// The key in words that may be shown: its type, its fingerprint and its file.
    pub(crate) shown_key: String,
}

impl Access {
    /// Reads the files. It blocks, and a passphrase takes its time to compute.
    pub(crate) fn load(&self, errors: &Errors) -> Result<Material, DialError> {
        let read = |file: &CredentialFile| {
            file.read().map_err(|error| errors.credentials(error.class(), error.message()))
        };
        let key = read(&self.key)?;
        let passphrase = self.passphrase.as_ref().map(read).transpose()?;
        let path = self.key.path();
        let key =
            decode(path, &key, self.passphrase.as_ref().map(CredentialFile::path).zip(passphrase.as_ref()))
                .map_err(|why| errors.credentials(FailureClass::Permanent, why))?;
        let trust = match &self.host_keys {
            HostKeys::KnownHosts(file) => {
                Trust::Known { hosts: KnownHosts::parse(read(file)?.reveal()), file: file.path().to_owned() }
            }
            HostKeys::InsecureIgnore => Trust::Anybody,
        };
        let shown_key = show(key.public_key(), path);
        Ok(Material { key: Arc::new(key), trust, shown_key })
    }
}

fn show(key: &PublicKey, path: &Path) -> String {
    let fingerprint = key.to_bytes().map(|key| fingerprint(&key)).unwrap_or_default();
    format!("{} {fingerprint} ({})", type_name(key), path.display())
}

/// The key, or what is wrong with it. What the decoder would say could quote the file, so its words stay here.
fn decode(path: &Path, file: &Secret, passphrase: Option<(&Path, &Secret)>) -> Result<PrivateKey, String> {
    let path = path.display();
    let Some(text) = file.reveal_str() else {
        return Err(format!("{path} is no private key: it is not text"));
    };
    let words = match passphrase {
        None => None,
        Some((from, secret)) => {
            let words = secret.reveal_str().map(|words| words.trim_end_matches(['\r', '\n']));
            Some(words.ok_or_else(|| format!("{} is no passphrase: it is not text", from.display()))?)
        }
    };
    match (keys::decode_secret_key(text, words), passphrase) {
        (Ok(key), _) => Ok(key),
        (Err(keys::Error::KeyIsEncrypted), None) => Err(format!(
            "the private key in {path} has a passphrase, and no file with it is configured: {NAME_ONE}"
        )),
        (Err(keys::Error::UnsupportedKeyType { .. } | keys::Error::UnknownAlgorithm(_)), _) => Err(format!(
            "the private key in {path} is of a type that is not supported: use ed25519, ecdsa or rsa"
        )),
        (Err(_), _) if text.contains("BEGIN EC PRIVATE KEY") && is_encrypted(text) => Err(format!(
            "the private key in {path} is in an old format that is read without a passphrase only: \
             bring it into OpenSSH's own by `ssh-keygen -p`"
        )),
        (Err(_), Some((from, _))) if is_encrypted(text) => {
            Err(format!("the private key in {path} does not open with the passphrase in {}", from.display()))
        }
        (Err(_), None) if is_encrypted(text) => Err(format!(
            "the private key in {path} has a passphrase, and no file with it is configured: {NAME_ONE}"
        )),
        (Err(_), _) => Err(format!("{path} is no private key in OpenSSH's format, or is damaged")),
    }
}

/// What to do about a passphrase that nobody has told.
const NAME_ONE: &str = "name one as sshKeyPassphraseFile, or take the passphrase off by `ssh-keygen -p`";

/// Whether a passphrase guards the key, in any of the formats.
fn is_encrypted(text: &str) -> bool {
    let openssh = PrivateKey::from_openssh(text).is_ok_and(|key| key.is_encrypted());
    openssh || text.contains("BEGIN ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED")
}
