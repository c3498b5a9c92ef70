//! Credentials from files: the service account that is mounted into the Pod, or a kubeconfig and what it refers to.
//! They are read each time they are used; a fingerprint tells whether a new client is needed.

use std::path::{Path, PathBuf};

use data_encoding::BASE64;
use http::HeaderValue;
use kube::config::{AuthInfo, Kubeconfig};
use provider_api::{CredentialFile, Error, Scrubber, Secret, reasons};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::config::Target;

const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The digest of all files together.
pub(crate) type Fingerprint = [u8; 32];

/// What a client is made from.
pub(crate) struct Material {
    pub(crate) config: kube::Config,
    pub(crate) files: Vec<PathBuf>,
    pub(crate) fingerprint: Fingerprint,
    /// Knows the token and the password that requests carry.
    pub(crate) scrubber: Scrubber,
}

/// Reads the files and says whether they are the same as before.
pub(crate) fn fingerprint(files: &[PathBuf]) -> Result<Fingerprint, Error> {
    let mut digest = Sha256::new();
    for path in files {
        let bytes = CredentialFile::new(path).read()?;
        digest.update((bytes.len() as u64).to_le_bytes());
        digest.update(bytes.reveal());
    }
    Ok(digest.finalize().into())
}

/// Reads everything that a client is made from. The fingerprint is taken first, so that a change in between is seen
/// at the next use.
pub(crate) fn load(target: &Target) -> Result<Material, Error> {
    match target {
        Target::InCluster => in_cluster(Path::new(SERVICE_ACCOUNT), &|key| std::env::var(key).ok()),
        Target::Kubeconfig { path, context } => from_kubeconfig(path, context.as_deref()),
    }
}

fn in_cluster(folder: &Path, environment: &dyn Fn(&str) -> Option<String>) -> Result<Material, Error> {
    let files = vec![folder.join("token"), folder.join("ca.crt")];
    let variables = (environment("KUBERNETES_SERVICE_HOST"), environment("KUBERNETES_SERVICE_PORT"));
    let (Some(host), Some(port)) = variables else {
        return Err(unusable(
            "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this is no Pod; set kubernetes.kubeconfig",
        ));
    };
    let host = if host.contains(':') { format!("[{host}]") } else { host };
    let fingerprint = fingerprint(&files)?;
    let token = text(&CredentialFile::new(&files[0]).read()?, &files[0])?;
    let ca = CredentialFile::new(&files[1]).read()?;
    let kubeconfig = json!({
        "clusters": [{"name": "own", "cluster": {
            "server": format!("https://{host}:{port}"),
            "certificate-authority-data": BASE64.encode(ca.reveal()),
        }}],
        "users": [{"name": "own", "user": {"token": token}}],
        "contexts": [{"name": "own", "context": {"cluster": "own", "user": "own"}}],
        "current-context": "own",
    });
    let kubeconfig: Kubeconfig =
        serde_json::from_value(kubeconfig).map_err(|_| unusable("the service account cannot be used"))?;
    let config = kube::Config::try_from(kubeconfig)
        .map_err(|_| unusable(format!("the CA in {} cannot be used", files[1].display())))?;
    let bad = |why| unusable(format!("{} {why}", files[0].display()));
    Ok(Material { scrubber: scrubber(&config).map_err(bad)?, config, files, fingerprint })
}

fn from_kubeconfig(path: &Path, context: Option<&str>) -> Result<Material, Error> {
    // Read once more below, by the library; a first look gives the error that names the file.
    CredentialFile::new(path).read()?;
    // What the parser would quote may be a token, so its words stay here.
    let bad = |what: &str| unusable(format!("{} {what}", path.display()));
    let mut kubeconfig = Kubeconfig::read_from(path).map_err(|_| bad("is not a usable kubeconfig"))?;
    if let Some(context) = context {
        kubeconfig.current_context = Some(context.to_owned());
    }
    let name = kubeconfig.current_context.clone().ok_or_else(|| bad("has no current context"))?;
    let named = kubeconfig.contexts.iter().find(|named| named.name == name);
    let chosen = named.and_then(|named| named.context.clone());
    let chosen = chosen.ok_or_else(|| bad(&format!("has no context {name}")))?;
    let cluster = kubeconfig.clusters.iter().find(|named| named.name == chosen.cluster);
    let cluster = cluster.and_then(|named| named.cluster.clone());
    let cluster = cluster.ok_or_else(|| bad(&format!("has no cluster {}", chosen.cluster)))?;
    let user = chosen.user.as_ref();
    let user = kubeconfig.auth_infos.iter_mut().find(|named| Some(&named.name) == user);
    let user = user.and_then(|named| named.auth_info.as_mut());

    let mut files = vec![path.to_owned()];
    files.extend(cluster.certificate_authority.as_ref().map(PathBuf::from));
    if let Some(user) = &user {
        let named = [&user.client_certificate, &user.client_key, &user.token_file];
        files.extend(named.into_iter().flatten().map(PathBuf::from));
    }
    let fingerprint = fingerprint(&files)?;
    if let Some(user) = user {
        inline_token(user)?;
    }
    let config = kube::Config::try_from(kubeconfig).map_err(|_| {
        bad(&format!("has a context {name} that cannot be used: check its server and its CA"))
    })?;
    Ok(Material { scrubber: scrubber(&config).map_err(bad)?, config, files, fingerprint })
}

/// Puts the token itself in place of its file, which the library would read by a timer of its own.
fn inline_token(user: &mut AuthInfo) -> Result<(), Error> {
    let Some(path) = user.token_file.take() else { return Ok(()) };
    let path = PathBuf::from(path);
    let token = text(&CredentialFile::new(&path).read()?, &path)?;
    let read: AuthInfo = serde_json::from_value(json!({"token": token}))
        .map_err(|_| unusable(format!("the token in {} cannot be used", path.display())))?;
    if user.token.is_none() {
        user.token = read.token;
    }
    Ok(())
}

/// Learns what the header of every request will carry. The library takes it for granted that a header can, and panics.
fn scrubber(config: &kube::Config) -> Result<Scrubber, &'static str> {
    let mut scrubber = Scrubber::default();
    // The library shows its secrets when it writes a kubeconfig, and only then.
    let shown = serde_json::to_value(&config.auth_info).unwrap_or_default();
    for key in ["token", "password"] {
        let Some(secret) = shown.get(key).and_then(|secret| secret.as_str()) else { continue };
        if key == "token" && HeaderValue::from_str(secret).is_err() {
            return Err("leads to a token that no header can carry: it has more than one line, say");
        }
        scrubber.hide(secret.as_bytes());
    }
    Ok(scrubber)
}

fn text(bytes: &Secret, path: &Path) -> Result<String, Error> {
    let text = bytes.reveal_str().map(str::trim).filter(|text| !text.is_empty());
    text.map(str::to_owned).ok_or_else(|| unusable(format!("{} holds no token", path.display())))
}

fn unusable(message: impl Into<String>) -> Error {
    Error::permanent(message).coded(reasons::CREDENTIALS_UNAVAILABLE)
}

#[cfg(test)]
mod tests {
    use provider_api::FailureClass;

    use super::*;

    fn kubeconfig(folder: &Path, token: &str) -> PathBuf {
        std::fs::write(folder.join("token"), token).unwrap();
        let text = "apiVersion: v1\nkind: Config\ncurrent-context: a\n\
            clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n\
            users: [{name: u, user: {tokenFile: token}}]\n\
            contexts: [{name: a, context: {cluster: c, user: u}}, {name: b, context: {cluster: none, user: u}}]\n";
        std::fs::write(folder.join("config"), text).unwrap();
        folder.join("config")
    }

    #[test]
    fn a_new_token_is_a_new_fingerprint() {
        let folder = tempfile::tempdir().unwrap();
        let path = kubeconfig(folder.path(), "the-first");
        let material = from_kubeconfig(&path, None).unwrap();
        assert_eq!(material.scrubber.scrub("Bearer the-first"), "Bearer [redacted]");
        assert_eq!(material.files, [path, folder.path().join("token")]);
        assert!(material.config.auth_info.token_file.is_none());
        assert_eq!(fingerprint(&material.files).unwrap(), material.fingerprint);
        std::fs::write(folder.path().join("token"), "second").unwrap();
        assert_ne!(fingerprint(&material.files).unwrap(), material.fingerprint);
    }

    #[test]
    fn what_is_wrong_names_the_file_and_quotes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = kubeconfig(folder.path(), "swordfish");
        let error = |context| from_kubeconfig(&path, Some(context)).err().unwrap();
        assert!(error("b").message().contains("has no cluster none"), "{}", error("b"));
        assert!(error("z").message().contains("has no context z"), "{}", error("z"));
        std::fs::write(folder.path().join("token"), "sword\nfish").unwrap();
        let lines = error("a");
        assert!(lines.message().contains("no header can carry"), "{lines}");
        assert_eq!(lines.code(), Some(reasons::CREDENTIALS_UNAVAILABLE));
        std::fs::write(&path, "users: [{token: swordfish").unwrap();
        let broken = error("a");
        assert_eq!(broken.class(), FailureClass::Permanent);
        assert!(broken.message().contains("config") && !broken.to_string().contains("swordfish"), "{broken}");
        let missing = from_kubeconfig(&folder.path().join("none"), None).err().unwrap();
        assert_eq!(missing.class(), FailureClass::Transient);
        assert_eq!(missing.code(), Some(reasons::CREDENTIALS_UNAVAILABLE));
    }

    #[test]
    fn the_service_account_is_read_from_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let environment = |key: &str| match key {
            "KUBERNETES_SERVICE_HOST" => Some("fd00::1".to_owned()),
            "KUBERNETES_SERVICE_PORT" => Some("443".to_owned()),
            _ => None,
        };
        assert_eq!(in_cluster(folder.path(), &|_| None).err().unwrap().class(), FailureClass::Permanent);
        assert_eq!(in_cluster(folder.path(), &environment).err().unwrap().class(), FailureClass::Transient);
        std::fs::write(folder.path().join("token"), "swordfish\n").unwrap();
        std::fs::write(folder.path().join("ca.crt"), "").unwrap();
        let material = in_cluster(folder.path(), &environment).unwrap();
        assert_eq!(material.config.cluster_url.to_string(), "https://[fd00::1]:443/");
        assert!(material.config.auth_info.token.is_some());
        assert_eq!(material.scrubber.scrub("Bearer swordfish"), "Bearer [redacted]");
    }
}
