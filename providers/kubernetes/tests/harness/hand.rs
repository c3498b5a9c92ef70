//! What others do to the cluster: people with kubectl, the kubelet, administrators.

use std::{collections::BTreeMap, net::IpAddr};

use async_trait::async_trait;
use fixture_kube_api::{Course, Life, Refusal, Rule, User};
use provider_api::{Name, mark::CREATED_AT, reasons};
use providertest::{
    harness::{Hand, Planted, Successor, Unable},
    wire::Condition,
};
use serde_json::{Value, json};

use super::{Cluster, NAMESPACE, TARGET, USER, pods};

const QUOTA: &str = "rq";
const RIGHTS: [&str; 4] = ["create", "get", "list", "delete"];
const ADDRESS: &str = "10.244.9.9";

type Done = Result<(), Unable>;

impl Cluster {
    fn edit(&self, name: &Name, act: impl FnOnce(&mut Value)) -> Done {
        let edited = self.server.edit("pods", NAMESPACE, name.as_str(), act);
        edited.map(drop).map_err(|_| Unable("change a Pod that is not there"))
    }

    /// Puts a Pod on a node, where the kubelet then leaves its status alone and still ends it when it is deleted.
    fn freeze(&self, name: &Name, status: Value, on_a_node: bool) -> Done {
        self.edit(name, |pod| {
            pod["status"] = status;
            if on_a_node {
                pod["spec"]["nodeName"] = json!("node-1");
            } else if let Some(spec) = pod["spec"].as_object_mut() {
                spec.remove("nodeName");
            }
        })?;
        let life = Life::of(Course::Unseen);
        let frozen = self.server.relive(NAMESPACE, name.as_str(), life);
        frozen.map_err(|_| Unable("hold the state of a Pod that is not there"))
    }

    fn make(&self, name: &str, marks: &BTreeMap<String, String>) -> Done {
        let pod = json!({
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": marks},
            "spec": {"containers": [{"name": "c", "image": "registry.example/other:1"}]}
        });
        let made = self.server.create("pods", NAMESPACE, pod);
        made.map(drop).map_err(|_| Unable("make a Pod of that name"))
    }

    fn labels(&self, name: &Name) -> BTreeMap<String, String> {
        let pod = self.server.object("pods", NAMESPACE, name.as_str());
        pod.map(|pod| pods::thing(&pod).marks).unwrap_or_default()
    }

    fn permit(&self, verbs: &[&str]) {
        let rules = vec![
            Rule::allow(verbs, "", &["pods"]),
            Rule::allow(&["list"], "", &["resourcequotas"]),
            Rule::allow(&["get"], "", &[""]),
        ];
        self.server.access(|access| access.restrict(USER, rules));
    }

    fn with_token(&self, known: bool) {
        let token = self.token();
        self.server.access(|access| {
            if known {
                access.add_token(&token, User::named(USER));
            } else {
                access.remove_token(&token);
                // Where no token is known, none is asked for.
                access.add_token("somebody-elses", User::named("somebody-else"));
            }
        });
    }
}

#[async_trait]
impl Hand for Cluster {
    async fn plant(&self, planted: &Planted) -> Done {
        // Labels cannot hold a time, and need not: the cluster keeps it.
        let mut marks = planted.marks.clone();
        marks.remove(CREATED_AT);
        self.make(&planted.name, &marks)
    }

    async fn remove(&self, name: &Name) -> Done {
        let gone = self.server.vanish("pods", NAMESPACE, name.as_str());
        gone.map_err(|_| Unable("remove a Pod that is not there"))
    }

    async fn replace(&self, name: &Name, by: Successor) -> Done {
        let marks = match by {
            Successor::Foreign => BTreeMap::new(),
            Successor::SameMarks => self.labels(name),
        };
        self.remove(name).await?;
        self.make(name.as_str(), &marks)
    }

    async fn begin_deletion(&self, name: &Name) -> Done {
        let (now, address) = (self.case.clock.now().into(), ADDRESS.parse::<IpAddr>());
        let address = address.map_err(|_| Unable("read an address"))?;
        let status = pods::status("Running/Ready", now, &[address]).ok_or(Unable("run a Pod"))?;
        self.freeze(name, status, true)?;
        let stopped = self.server.stop_script(NAMESPACE, name.as_str());
        stopped.map_err(|_| Unable("hold a Pod that is not there"))?;
        let begun = self.server.delete("pods", NAMESPACE, name.as_str(), None);
        begun.map(drop).map_err(|_| Unable("delete a Pod that is not there"))
    }

    async fn finish_deletion(&self, name: &Name) -> Done {
        self.remove(name).await
    }

    async fn set_native_state(&self, name: &Name, native: &str) -> Done {
        let now = self.case.clock.now().into();
        let address = ADDRESS.parse::<IpAddr>().map_err(|_| Unable("read an address"))?;
        let status = pods::status(native, now, &[address]).ok_or(Unable("make that native state"))?;
        if native.ends_with("/deleting") {
            self.begin_deletion(name).await?;
            return self.edit(name, |pod| pod["status"] = status);
        }
        self.freeze(name, status, !matches!(native, "Pending" | "Pending/Unschedulable"))
    }

    async fn set_addresses(&self, name: &Name, addresses: &[IpAddr]) -> Done {
        self.edit(name, |pod| pods::show(&mut pod["status"], addresses))
    }

    async fn set_marks(&self, name: &Name, marks: &BTreeMap<String, String>) -> Done {
        let mut marks = marks.clone();
        marks.remove(CREATED_AT);
        self.edit(name, |pod| pod["metadata"]["labels"] = json!(marks))
    }

    async fn spoil_created_at(&self, name: &Name) -> Done {
        self.edit(name, |pod| pod["metadata"]["creationTimestamp"] = json!("the day before yesterday"))
    }

    async fn set_unreadable(&self, name: &Name, unreadable: bool) -> Done {
        self.edit(name, |pod| {
            let finalizers = if unreadable { json!("not a list") } else { Value::Null };
            pod["metadata"]["finalizers"] = finalizers;
        })
    }

    async fn vanish_during_list(&self, name: &Name) -> Done {
        self.played().vanishing = Some(name.to_string());
        Ok(())
    }

    async fn set_quota(&self, quota: Option<usize>) -> Done {
        let set = match quota {
            Some(limit) => self.server.set_quota(NAMESPACE, QUOTA, &[("pods", &limit.to_string())]),
            None => self.server.delete("resourcequotas", NAMESPACE, QUOTA, None).map(drop),
        };
        set.map_err(|_| Unable("set that quota"))
    }

    async fn set_page_size(&self, size: usize) -> Done {
        self.server.set_empty_pages(false);
        self.played().page_size = Some(size);
        Ok(())
    }

    async fn serve_empty_pages(&self) -> Done {
        self.server.set_empty_pages(true);
        self.played().page_size = Some(5);
        Ok(())
    }

    async fn quote_payloads(&self, quote: bool) -> Done {
        self.played().quotes = quote;
        Ok(())
    }

    async fn rotate_credentials(&self) -> Done {
        self.with_token(false);
        self.played().rotations += 1;
        self.write_credentials().map_err(|_| Unable("write the new token"))
    }

    async fn spoil_credentials(&self, spoil: bool) -> Done {
        self.with_token(!spoil);
        Ok(())
    }

    fn rights(&self) -> Vec<&'static str> {
        RIGHTS.to_vec()
    }

    async fn revoke(&self, right: Option<&str>) -> Done {
        if right.is_some_and(|right| !RIGHTS.contains(&right)) {
            return Err(Unable("take away a right that nobody has"));
        }
        let verbs: Vec<_> = RIGHTS.into_iter().filter(|verb| right != Some(*verb)).collect();
        self.permit(&verbs);
        Ok(())
    }

    fn check_faults(&self) -> Vec<&'static str> {
        vec![
            reasons::TIMEOUT,
            reasons::UNREACHABLE,
            reasons::UNAUTHORIZED,
            reasons::FORBIDDEN,
            reasons::API_ERROR,
            reasons::CREDENTIALS_UNAVAILABLE,
        ]
    }

    async fn set_check_fault(&self, reason: Option<&str>) -> Done {
        let wire = &self.case.wire;
        wire.set_condition(TARGET, None);
        self.server.refuse(None);
        self.permit(&RIGHTS);
        self.with_token(true);
        self.write_credentials().map_err(|_| Unable("write the token"))?;
        match reason {
            Some(reasons::TIMEOUT) => wire.set_condition(TARGET, Some(Condition::Hangs)),
            Some(reasons::UNREACHABLE) => wire.set_condition(TARGET, Some(Condition::Cut)),
            Some(reasons::UNAUTHORIZED) => self.with_token(false),
            Some(reasons::FORBIDDEN) => self.permit(&RIGHTS[1..]),
            Some(reasons::API_ERROR) => self.server.refuse(Some(Refusal::Unavailable)),
            Some(reasons::CREDENTIALS_UNAVAILABLE) => {
                std::fs::remove_file(self.folder.join("token")).map_err(|_| Unable("remove the token"))?;
            }
            Some(_) => return Err(Unable("provoke that check reason")),
            None => {}
        }
        Ok(())
    }

    async fn send_nonsense(&self) -> Result<bool, Unable> {
        let nonsense = json!({"metadata": {"name": "Not A Name"}, "spec": {"containers": []}});
        Ok(self.server.create("pods", NAMESPACE, nonsense).is_err())
    }
}
