//! What others do to a real cluster: people with kubectl, administrators, and the kubelet, which is played by patches,
//! since no node is needed. What a real server lets nobody do is left out, and blocks the rules that need it.

use std::{
    collections::BTreeMap,
    net::{IpAddr, TcpListener},
};

use async_trait::async_trait;
use provider_api::{Name, mark::CREATED_AT, reasons};
use providertest::harness::{Hand, Planted, Successor, Unable};
use serde_json::{Value, json};

use super::{
    admin::Refused,
    pods,
    real::{RealCluster, nowhere},
    real_access::{RIGHTS, Waiting},
};

/// There is no such node, so that no kubelet has a say.
const NODE: &str = "conformance-no-such-node";
const HOLD: &str = "provider-conformance/held";
const QUOTA: &str = "rq";
const ADDRESS: &str = "10.244.9.9";

type Done = Result<(), Unable>;

impl RealCluster {
    /// The server's refusal as a power that lacks where the Pod is simply gone, and as the case's end where not.
    fn unable(&self, refused: &Refused) -> Unable {
        if refused.is_absent() {
            return Unable("change a Pod that is not there");
        }
        self.troubled(refused);
        Unable("do that: the API server refused it")
    }

    async fn pod(&self, name: &str) -> Result<Value, Unable> {
        self.admin.get(&self.pod_path(name)).await.map_err(|refused| self.unable(&refused))
    }

    async fn edit(&self, name: &str, patch: Value) -> Done {
        let laid = self.admin.lay(&self.pod_path(name), patch).await;
        laid.map(drop).map_err(|refused| self.unable(&refused))
    }

    /// Puts a Pod on the node, once.
    async fn bind(&self, pod: &Value) -> Done {
        if pod["spec"]["nodeName"].is_string() {
            return Ok(());
        }
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
            "target": {"apiVersion": "v1", "kind": "Node", "name": NODE}
        });
        match self.admin.make(&format!("{}/binding", self.pod_path(name)), binding).await {
            Err(refused) if refused.status() == Some(409) => Err(Unable("bind a Pod that is being deleted")),
            other => other.map(drop).map_err(|refused| self.unable(&refused)),
        }
    }

    /// Says of a Pod what a kubelet would.
    async fn report(&self, pod: &Value, native: &str, addresses: &[IpAddr]) -> Done {
        let status = pods::status(native, jiff::Timestamp::now(), addresses);
        let status = status.ok_or(Unable("make that native state"))?;
        let path = self.pod_path(pod["metadata"]["name"].as_str().unwrap_or_default());
        let patch = pods::laid(&pod["metadata"]["uid"], status);
        let laid = self.admin.lay(&format!("{path}/status"), patch).await;
        laid.map(drop).map_err(|refused| self.unable(&refused))
    }

    async fn run(&self, pod: &Value) -> Done {
        self.bind(pod).await?;
        self.report(pod, "Running/Ready", &[address()?]).await
    }

    /// Begins a deletion that the kubelet does not end.
    async fn delete_slowly(&self, pod: &Value, options: Value) -> Done {
        let uid = pod["metadata"]["uid"].as_str().unwrap_or_default();
        self.played().held.insert(uid.to_owned());
        let path = self.pod_path(pod["metadata"]["name"].as_str().unwrap_or_default());
        self.admin.delete(&path, options).await.map_err(|refused| self.unable(&refused))
    }

    async fn make(&self, name: &str, marks: &BTreeMap<String, String>) -> Done {
        let made = self.admin.make(&self.of("pods"), bare(name, marks)).await;
        made.map(drop).map_err(|refused| match refused.status() {
            Some(409) => Unable("make a Pod of a name that is taken"),
            _ => self.unable(&refused),
        })
    }

    /// Counts Pods as the quota controller would, and waits until admission goes by that: it has a cache of its own.
    async fn count(&self, limit: Option<usize>) -> Result<(), Refused> {
        let path = format!("{}/{QUOTA}", self.of("resourcequotas"));
        let standing = self.admin.list(&self.of("pods")).await?.len();
        match limit {
            None => self.admin.delete(&path, json!({})).await?,
            Some(limit) => {
                let hard = json!({"pods": limit.to_string()});
                let quota = json!({"metadata": {"name": QUOTA}, "spec": {"hard": hard}});
                self.admin.make(&self.of("resourcequotas"), quota).await?;
                let status = json!({"status": {"hard": hard, "used": {"pods": standing.to_string()}}});
                self.admin.lay(&format!("{path}/status"), status).await?;
            }
        }
        let room = limit.is_none_or(|limit| standing < limit);
        let waiting = Waiting::begin();
        while self.has_room().await? != Some(room) && waiting.goes_on().await {}
        Ok(())
    }

    /// Whether one more Pod would be let in; `None` while admission does not know.
    async fn has_room(&self) -> Result<Option<bool>, Refused> {
        let dry = format!("{}?dryRun=All", self.of("pods"));
        match self.admin.make(&dry, bare("room-for-one-more", &BTreeMap::new())).await {
            Ok(_) => Ok(Some(true)),
            Err(refused) if refused.status() == Some(403) => {
                Ok(refused.to_string().contains("exceeded quota").then_some(false))
            }
            Err(refused) => Err(refused),
        }
    }

    fn restore(&self) -> std::io::Result<()> {
        self.played().silent = None;
        self.write_kubeconfig(|_| {})?;
        self.write_token()
    }

    fn led_astray(&self, reason: &str) -> std::io::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let server = format!("https://{}", listener.local_addr()?);
        match reason {
            // Its name is in no certificate.
            reasons::CERTIFICATE_INVALID => {
                return self
                    .write_kubeconfig(|cluster| cluster["tls-server-name"] = json!("elsewhere.invalid"));
            }
            reasons::CREDENTIALS_UNAVAILABLE => return std::fs::remove_file(self.token_file()),
            reasons::UNAUTHORIZED => return std::fs::write(self.token_file(), "no token of anybody's"),
            // The listener is dropped, and nobody has the port.
            reasons::UNREACHABLE => {}
            _ => self.played().silent = Some(listener),
        }
        self.write_kubeconfig(|cluster| cluster["server"] = json!(server))
    }
}

fn address() -> Result<IpAddr, Unable> {
    ADDRESS.parse().map_err(|_| Unable("read an address"))
}

/// A Pod of somebody else's.
fn bare(name: &str, marks: &BTreeMap<String, String>) -> Value {
    json!({
        "metadata": {"name": name, "labels": marks},
        "spec": {
            "containers": [{"name": "c", "image": "registry.example/other:1"}], "nodeSelector": nowhere()
        }
    })
}

#[async_trait]
impl Hand for RealCluster {
    async fn plant(&self, planted: &Planted) -> Done {
        // Labels cannot hold a time, and need not: the cluster keeps it.
        let mut marks = planted.marks.clone();
        marks.remove(CREATED_AT);
        self.make(&planted.name, &marks).await
    }

    async fn remove(&self, name: &Name) -> Done {
        self.pod(name.as_str()).await?;
        self.uproot(name.as_str()).await.map_err(|refused| self.unable(&refused))
    }

    async fn replace(&self, name: &Name, by: Successor) -> Done {
        let marks = match by {
            Successor::Foreign => BTreeMap::new(),
            Successor::SameMarks => pods::thing(&self.pod(name.as_str()).await?).marks,
        };
        self.remove(name).await?;
        self.make(name.as_str(), &marks).await
    }

    async fn begin_deletion(&self, name: &Name) -> Done {
        let pod = self.pod(name.as_str()).await?;
        self.run(&pod).await?;
        // Not even force ends it then.
        self.edit(name.as_str(), json!({"metadata": {"finalizers": [HOLD]}})).await?;
        self.delete_slowly(&pod, json!({})).await
    }

    async fn finish_deletion(&self, name: &Name) -> Done {
        self.uproot(name.as_str()).await.map_err(|refused| self.unable(&refused))
    }

    async fn set_native_state(&self, name: &Name, native: &str) -> Done {
        let pod = self.pod(name.as_str()).await?;
        if native.ends_with("/deleting") {
            self.run(&pod).await?;
            // Its grace is over soon, and then the provider may force it.
            self.delete_slowly(&pod, json!({"gracePeriodSeconds": 1})).await?;
        }
        self.report(&pod, native, &[address()?]).await
    }

    async fn set_addresses(&self, name: &Name, addresses: &[IpAddr]) -> Done {
        let of_a_family = |four: bool| addresses.iter().filter(|address| address.is_ipv4() == four).count();
        if of_a_family(true) > 1 || of_a_family(false) > 1 {
            return Err(Unable("show two addresses of one family: the API server takes one of each"));
        }
        let pod = self.pod(name.as_str()).await?;
        let mut status = json!({});
        pods::show(&mut status, addresses);
        let patch = json!({"metadata": {"uid": pod["metadata"]["uid"]}, "status": status});
        let laid = self.admin.lay(&format!("{}/status", self.pod_path(name.as_str())), patch).await;
        laid.map(drop).map_err(|refused| self.unable(&refused))
    }

    async fn set_marks(&self, name: &Name, marks: &BTreeMap<String, String>) -> Done {
        let before = pods::thing(&self.pod(name.as_str()).await?).marks;
        let mut labels: BTreeMap<_, _> = before.into_keys().map(|key| (key, Value::Null)).collect();
        // Labels cannot hold a time, and need not: the cluster keeps it.
        let kept = marks.iter().filter(|(key, _)| *key != CREATED_AT);
        labels.extend(kept.map(|(key, value)| (key.clone(), json!(value))));
        self.edit(name.as_str(), json!({"metadata": {"labels": labels}})).await
    }

    async fn bring_up(&self, name: &Name) -> Done {
        let pod = self.pod(name.as_str()).await?;
        // What has ended does not come back, nor does what nobody knows.
        let phase = pod["status"]["phase"].as_str().unwrap_or_default();
        if !matches!(phase, "" | "Pending" | "Running") || pods::thing(&pod).deleting {
            return Err(Unable("bring up a Pod that has ended"));
        }
        self.run(&pod).await
    }

    async fn spoil_created_at(&self, _: &Name) -> Done {
        Err(Unable("spoil a creation time: the API server writes it, and lets nobody change it"))
    }

    async fn set_unreadable(&self, _: &Name, _: bool) -> Done {
        Err(Unable("make one Pod unreadable: the API server stores none that it cannot show"))
    }

    async fn set_quota(&self, quota: Option<usize>) -> Done {
        self.count(quota).await.map_err(|refused| self.unable(&refused))
    }

    async fn set_page_size(&self, size: usize) -> Done {
        self.played().page_size = Some(size);
        Ok(())
    }

    async fn quote_payloads(&self, _: bool) -> Done {
        Err(Unable("make a real API server quote payloads in error answers"))
    }

    async fn rotate_credentials(&self) -> Done {
        self.renew_token().await.map_err(|refused| self.unable(&refused))
    }

    async fn spoil_credentials(&self, spoil: bool) -> Done {
        let done = if spoil { self.led_astray(reasons::UNAUTHORIZED) } else { self.write_token() };
        done.map_err(|_| Unable("write the token"))
    }

    fn rights(&self) -> Vec<&'static str> {
        RIGHTS.to_vec()
    }

    async fn revoke(&self, right: Option<&str>) -> Done {
        let verbs: Vec<_> = RIGHTS.into_iter().filter(|verb| right != Some(*verb)).collect();
        self.permit(&verbs).await.map_err(|refused| self.unable(&refused))
    }

    fn check_faults(&self) -> Vec<&'static str> {
        vec![
            reasons::TIMEOUT,
            reasons::UNREACHABLE,
            reasons::UNAUTHORIZED,
            reasons::FORBIDDEN,
            reasons::CREDENTIALS_UNAVAILABLE,
            reasons::CERTIFICATE_INVALID,
        ]
    }

    async fn set_check_fault(&self, reason: Option<&str>) -> Done {
        self.restore().map_err(|_| Unable("write the credentials"))?;
        match reason {
            None => self.permit(&RIGHTS).await.map_err(|refused| self.unable(&refused)),
            Some(reasons::FORBIDDEN) => self.revoke(Some("create")).await,
            Some(reason) => self.led_astray(reason).map_err(|_| Unable("lead the provider astray")),
        }
    }

    async fn send_nonsense(&self) -> Result<bool, Unable> {
        let nonsense = json!({"metadata": {"name": "Not A Name"}, "spec": {"containers": []}});
        match self.admin.make(&self.of("pods"), nonsense).await {
            Err(refused) => Ok(refused.status() == Some(422)),
            Ok(_) => Ok(false),
        }
    }
}
