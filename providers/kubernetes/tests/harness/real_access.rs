//! Who the provider is on a real cluster: a service account of the case's namespace, whose tokens can be replaced and
//! whose rights can be taken away.

use std::{io, path::PathBuf, time::Duration};

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    admin::Refused,
    real::{PATIENCE, RealCluster},
};

/// What the operations need.
pub(crate) const RIGHTS: [&str; 4] = ["create", "get", "list", "delete"];

/// Of the service account, the role and the binding.
const NAME: &str = "provider";

impl RealCluster {
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.join("kubeconfig")
    }

    pub(crate) fn token_file(&self) -> PathBuf {
        self.folder.join("token")
    }

    pub(crate) fn rbac(&self, kind: &str) -> String {
        format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{}/{kind}", self.namespace)
    }

    /// Makes the provider known, with every right, and its credentials files.
    pub(crate) async fn let_in(&self) -> Result<(), Refused> {
        let admin = &self.admin;
        let metadata = json!({"name": NAME});
        admin.make(&self.of("serviceaccounts"), json!({"metadata": metadata})).await?;
        admin.make(&self.rbac("roles"), json!({"metadata": metadata, "rules": rules(&RIGHTS)})).await?;
        let binding = json!({
            "metadata": metadata,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": NAME},
            "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": self.namespace}]
        });
        admin.make(&self.rbac("rolebindings"), binding).await?;
        self.write_kubeconfig(|_| {}).map_err(Refused::by_disk)?;
        self.renew_token().await?;
        self.know_rights(&RIGHTS).await?;
        if self.controllers {
            // Without it no Pod is admitted; a controller makes it.
            let path = format!("{}/default", self.of("serviceaccounts"));
            let waiting = Waiting::begin();
            while admin.get(&path).await.is_err() && waiting.goes_on().await {}
        }
        Ok(())
    }

    /// The provider's kubeconfig, with `change` made to its cluster.
    pub(crate) fn write_kubeconfig(&self, change: impl FnOnce(&mut Value)) -> io::Result<()> {
        let mut cluster = self.cluster.clone();
        change(&mut cluster);
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "real",
            "clusters": [{"name": "real", "cluster": cluster}],
            "users": [{"name": NAME, "user": {"tokenFile": self.token_file()}}],
            "contexts": [{"name": "real", "context": {"cluster": "real", "user": NAME}}]
        });
        std::fs::write(self.kubeconfig(), kubeconfig.to_string())
    }

    /// Writes the token that counts.
    pub(crate) fn write_token(&self) -> io::Result<()> {
        std::fs::write(self.token_file(), &self.played().token)
    }

    /// A new token in the place of the one before, which then no longer counts.
    pub(crate) async fn renew_token(&self) -> Result<(), Refused> {
        let number = self.played().tokens;
        // A token lives as long as what it is bound to.
        let secret = |number: u32| format!("{NAME}-{number}");
        let object = json!({"metadata": {"name": secret(number + 1)}});
        let bound = self.admin.make(&self.of("secrets"), object).await?;
        let reference = json!({
            "apiVersion": "v1", "kind": "Secret", "name": secret(number + 1), "uid": bound["metadata"]["uid"]
        });
        let ask = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"boundObjectRef": reference}
        });
        let path = format!("{}/{NAME}/token", self.of("serviceaccounts"));
        let answer = self.admin.make(&path, ask).await?;
        let token = answer["status"]["token"].as_str().unwrap_or_default().to_owned();
        let before = std::mem::replace(&mut self.played().token, token);
        self.played().tokens = number + 1;
        self.write_token().map_err(Refused::by_disk)?;
        if number == 0 {
            return Ok(());
        }
        self.admin.delete(&format!("{}/{}", self.of("secrets"), secret(number)), json!({})).await?;
        // The server remembers for a while what it has let in.
        let waiting = Waiting::begin();
        while self.counts(&before).await? && waiting.goes_on().await {}
        Ok(())
    }

    async fn counts(&self, token: &str) -> Result<bool, Refused> {
        let review = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}
        });
        let answer = self.admin.make("/apis/authentication.k8s.io/v1/tokenreviews", review).await?;
        Ok(answer["status"]["authenticated"] == true)
    }

    /// Leaves the provider these rights, and no others.
    pub(crate) async fn permit(&self, verbs: &[&str]) -> Result<(), Refused> {
        let path = format!("{}/{NAME}", self.rbac("roles"));
        self.admin.lay(&path, json!({"rules": rules(verbs)})).await?;
        self.know_rights(verbs).await
    }

    /// Waits until the server goes by these rights: it reads them from a cache of its own.
    async fn know_rights(&self, verbs: &[&str]) -> Result<(), Refused> {
        for right in RIGHTS {
            let waiting = Waiting::begin();
            while self.may(right).await? != verbs.contains(&right) && waiting.goes_on().await {}
        }
        Ok(())
    }

    async fn may(&self, verb: &str) -> Result<bool, Refused> {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {
                "user": format!("system:serviceaccount:{}:{NAME}", self.namespace),
                "resourceAttributes": {"verb": verb, "resource": "pods", "namespace": self.namespace}
            }
        });
        let answer = self.admin.make("/apis/authorization.k8s.io/v1/subjectaccessreviews", review).await?;
        Ok(answer["status"]["allowed"] == true)
    }
}

/// A wait for the server to come round to something. What it never does shows in what the case does next.
pub(crate) struct Waiting(Instant);

impl Waiting {
    pub(crate) fn begin() -> Self {
        Self(Instant::now() + PATIENCE)
    }

    /// Whether to look again, after a moment.
    pub(crate) async fn goes_on(&self) -> bool {
        tokio::time::sleep(Duration::from_millis(50)).await;
        Instant::now() < self.0
    }
}

fn rules(verbs: &[&str]) -> Value {
    json!([
        {"apiGroups": [""], "resources": ["pods"], "verbs": verbs},
        {"apiGroups": [""], "resources": ["resourcequotas"], "verbs": ["list"]}
    ])
}
