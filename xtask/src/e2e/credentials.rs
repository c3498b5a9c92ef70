//! Tokens, keys and kubeconfigs of a server that lives as long as one run. Tokens are random, so that nothing else on
//! the machine can use the server meanwhile.

use crate::cache::cannot_write;
use crate::outcome::{Outcome, Stop};
use crate::run;
use std::fmt::Write;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Someone who may speak to the API server.
pub(crate) struct User {
    /// The context's name in the kubeconfig, and the file's.
    pub(crate) context: &'static str,
    pub(crate) name: &'static str,
    /// Empty for a user without rights.
    pub(crate) group: &'static str,
}

/// May do everything.
pub(crate) const ADMIN: User = User { context: "admin", name: "admin", group: "system:masters" };

/// May do nothing until a test binds a role to `alice`.
pub(crate) const ALICE: User = User { context: "alice", name: "alice", group: "" };

/// Files of one server's credentials.
pub(crate) struct Credentials {
    folder: PathBuf,
    tokens: Vec<(&'static str, String)>,
}

impl Credentials {
    /// Makes a token for each user and the key that signs service accounts' tokens.
    pub(crate) fn make(folder: &Path, users: &[User]) -> Outcome<Self> {
        fs::create_dir_all(folder).map_err(|error| cannot_write(folder, &error))?;
        private(folder, 0o700)?;
        let mut csv = String::new();
        let mut tokens = Vec::new();
        for (number, user) in users.iter().enumerate() {
            let token = random()?;
            writeln!(csv, "{token},{},{number},\"{}\"", user.name, user.group)
                .expect("a String takes any text");
            tokens.push((user.context, token));
        }
        let made = Self { folder: folder.to_owned(), tokens };
        made.write("tokens.csv", &csv)?;
        let key = made.service_account_key();
        run::read(Command::new("openssl").args(["genrsa", "-out"]).arg(&key).arg("2048"))?;
        Ok(made)
    }

    /// The file for `--token-auth-file`.
    pub(crate) fn token_file(&self) -> PathBuf {
        self.folder.join("tokens.csv")
    }

    /// The file for `--service-account-key-file` and its like.
    pub(crate) fn service_account_key(&self) -> PathBuf {
        self.folder.join("service-account.key")
    }

    /// The folder for `--cert-dir`: the server makes its own certificate there.
    pub(crate) fn certificates(&self) -> PathBuf {
        self.folder.join("certificates")
    }

    /// The certificate that clients trust, there once the server has started.
    pub(crate) fn authority(&self) -> PathBuf {
        self.certificates().join("apiserver.crt")
    }

    /// The token of one of the users.
    pub(crate) fn token(&self, context: &str) -> &str {
        &self
            .tokens
            .iter()
            .find(|(found, _)| *found == context)
            .expect("every user named here was given to make")
            .1
    }

    /// A kubeconfig with one context per user of `contexts`, the first being the current one.
    pub(crate) fn kubeconfig(&self, name: &str, server: &str, contexts: &[&str]) -> Outcome<PathBuf> {
        let mut yaml = format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: it\n  cluster:\n    server: {server}\n    \
             certificate-authority: {}\ncurrent-context: {}\nusers:\n",
            self.authority().display(),
            contexts[0]
        );
        for context in contexts {
            let token = self.token(context);
            writeln!(yaml, "- name: {context}\n  user:\n    token: {token}")
                .expect("a String takes any text");
        }
        yaml.push_str("contexts:\n");
        for context in contexts {
            writeln!(
                yaml,
                "- name: {context}\n  context:\n    cluster: it\n    user: {context}\n    namespace: default"
            )
            .expect("a String takes any text");
        }
        self.write(name, &yaml)
    }

    fn write(&self, name: &str, text: &str) -> Outcome<PathBuf> {
        let path = self.folder.join(name);
        fs::write(&path, text).map_err(|error| cannot_write(&path, &error))?;
        private(&path, 0o600)?;
        Ok(path)
    }
}

fn private(path: &Path, mode: u32) -> Outcome {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(|error| cannot_write(path, &error))
}

fn random() -> Outcome<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(|error| Stop::cannot(format!("/dev/urandom gives no random bytes: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
