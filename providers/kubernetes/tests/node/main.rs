//! The provider on a node that runs Pods: one whole life with requests through the real Squid, and the native states
//! that the table of states rests on, as a real scheduler and a real kubelet make them.
//!
//! `cargo xtask e2e kube-node` starts the cluster and runs this.
#![allow(clippy::unwrap_used)]

mod cluster;
mod lost;
mod states;
mod traffic;

use std::{fs, net::SocketAddr, num::NonZeroU16, time::Duration};

use cluster::Stage;
use provider_api::{Access, Credentials, Deadline, Deleted, FailureClass, Secret, State, StateKind};
use serde_json::json;
use traffic::{GREETING, User, serve};

/// The port of the tunnels that the proxies allow.
const TLS: u16 = 443;

#[tokio::test]
async fn a_whole_life_with_requests_through_the_proxy() {
    let stage = Stage::set("life", json!({})).await;
    let provider = &stage.built.provider;
    let mut request = stage.request("whole-life");
    request.port = NonZeroU16::new(8888).unwrap();
    let password = Secret::new("s:e#c r\u{e9}t");
    request.access = Access {
        allowed_sources: vec!["10.78.0.0/16".parse().unwrap()],
        credentials: Some(Credentials { username: "crawler".into(), password }),
    };
    let id = provider.create(&request).await.unwrap();
    let running = stage.until(&id, "a running proxy", |state| state.kind() == StateKind::Running).await;
    let State::Running { address } = running else { panic!("{running:?} is not running") };
    let again = provider.create(&request).await.unwrap();
    assert_eq!(again, id, "a repeated create is the same instance");

    lets_in_whom_it_should(&stage, (address, 8888).into()).await;
    is_confined();

    let listing = provider.list_by_tag().await.unwrap();
    assert!(listing.unreachable.is_empty(), "{listing:?}");
    let listed: Vec<_> = listing.items.iter().map(|item| (&item.id, &item.uid)).collect();
    assert_eq!(listed, [(&id, &request.uid)]);
    let instance = stage.get(&id).await.unwrap();
    assert_eq!(listing.items[0].created_at, instance.created_at);

    assert_eq!(provider.delete(&id).await.unwrap(), Deleted::Accepted);
    let leaving = stage.get(&id).await.expect("a real Squid takes a moment to end").state;
    assert_eq!(leaving.kind(), StateKind::Stopped, "{leaving:?}");
    assert_eq!(leaving.reason().unwrap().code, "Terminating");
    let early = provider.create(&request).await.expect_err("the name is not free yet");
    assert_eq!(early.class(), FailureClass::Transient, "{early}");
    assert_eq!(provider.delete(&id).await.unwrap(), Deleted::Accepted, "a repeated delete");
    stage.until_gone(&id).await;
    assert_eq!(provider.delete(&id).await.unwrap(), Deleted::Gone);
    assert_eq!(provider.list_by_tag().await.unwrap().items, []);
    assert_eq!(stage.left().await, Vec::<String>::new());
}

/// Requests of friends and of others, through the Squid that runs at `proxy`.
async fn lets_in_whom_it_should(stage: &Stage, proxy: SocketAddr) {
    let node = stage.node_address().await;
    let (page, tls) = (serve(node, 0).await, serve(node, TLS).await);
    let url = format!("http://{page}/");
    let login = Some(("crawler", "s:e#c r\u{e9}t"));
    let friend = User { proxy, login, from: None };
    let (status, answer) = friend.get(&url).await;
    assert!(status == 200 && answer.ends_with(GREETING), "{answer}");
    assert!(!answer.to_ascii_lowercase().contains("x-forwarded-for"), "{answer}");
    let (status, through) = friend.tunnel(tls).await;
    assert!(status == 200 && through.ends_with(GREETING), "{status} {through}");

    assert_eq!(friend.tunnel(page).await.0, 403, "a tunnel to another port than {TLS}");
    assert_eq!(friend.get("http://169.254.169.254/latest/meta-data").await.0, 403, "link-local");
    assert_eq!(friend.get("http://127.0.0.1:9/").await.0, 403, "the proxy's own host");
    let stranger = |login| User { proxy, login, from: None };
    assert_eq!(stranger(None).get(&url).await.0, 407, "no password");
    assert_eq!(stranger(Some(("crawler", "guessed"))).get(&url).await.0, 407, "a wrong password");
    assert_eq!(stranger(Some(("other", "s:e#c r\u{e9}t"))).get(&url).await.0, 407, "a wrong name");
    assert_eq!(stranger(None).tunnel(tls).await.0, 407, "a tunnel without a password");
    // The node's own address is no address of the Pod network.
    let outside = User { proxy, login, from: Some(node) };
    assert_eq!(outside.get(&url).await.0, 403, "a source outside of allowedSources");
}

/// What the kernel says of every Squid on the node: no root, no capability, no way to more, a root that is read-only.
fn is_confined() {
    let mut seen = 0;
    for process in fs::read_dir("/proc").unwrap().filter_map(Result::ok).map(|entry| entry.path()) {
        // Processes come and go.
        let read = |file: &str| fs::read_to_string(process.join(file)).unwrap_or_default();
        if read("comm").trim() != "squid" {
            continue;
        }
        let (status, mounts) = (read("status"), read("mountinfo"));
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        };
        let Some(uids) = field("Uid:") else { continue };
        assert!(uids.iter().all(|uid| uid == "13"), "{uids:?}");
        for set in ["CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"] {
            assert_eq!(field(set).unwrap(), ["0000000000000000"], "{set}");
        }
        assert_eq!(field("NoNewPrivs:").unwrap(), ["1"]);
        assert_eq!(field("Seccomp:").unwrap(), ["2"], "a seccomp filter");
        let root = mounts.lines().find(|line| line.split(' ').nth(4) == Some("/")).unwrap();
        assert!(root.split(' ').nth(5).unwrap().split(',').any(|option| option == "ro"), "{root}");
        seen += 1;
    }
    assert!(seen > 0, "no Squid runs on the node");
}

#[tokio::test]
async fn a_check_of_the_real_cluster_finds_it_usable() {
    let stage = Stage::set("check", json!({"namespaces": ["check"]})).await;
    let statuses = stage.built.checker.clone().unwrap().check(Deadline::at(Duration::MAX)).await;
    let [status] = statuses.as_slice() else { panic!("{statuses:?}") };
    assert!(status.ready, "{status:?}");
    let version = std::env::var("KUBERNETES_TEST_SERVER_VERSION").unwrap();
    assert!(status.details["serverVersion"].contains(&version), "{status:?}");
}

#[tokio::test]
async fn a_pod_that_somebody_else_deletes_is_stopped_and_then_gone() {
    let stage = Stage::set("deleted", json!({})).await;
    let id = stage.built.provider.create(&stage.request("deleted")).await.unwrap();
    stage.until(&id, "a running proxy", |state| state.kind() == StateKind::Running).await;
    let (_, name) = id.as_str().split_once('/').unwrap();
    stage.pods().delete(name, &Default::default()).await.unwrap();
    // The kubelet says Running, then Succeeded or Failed, and the Pod is still there.
    while let Some(instance) = stage.get(&id).await {
        assert_eq!(instance.state.kind(), StateKind::Stopped, "{:?}", instance.state);
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    assert_eq!(stage.left().await, Vec::<String>::new());
}
