//! What the operator does in a cluster that behaves.

use std::{sync::Arc, time::Duration};

use futures::{FutureExt, StreamExt};
use provider_api::{Clock, ProviderName, Reason, Secret, SystemClock, TargetStatus, Timestamp};
use proxy_operator::{
    cluster::{Change, Cluster, ClusterError, Lease, ProviderHealth},
    election::{self, Terms},
    resource::{FINALIZER, GROUP, Phase, SecretData, VERSION},
    step::{Note, Published},
};
use serde_json::{Value, json};

use super::{
    Place,
    place::{Told, code, encoded, inline},
};

pub async fn the_watch_tells_all_by_pages_and_then_every_change(place: &Place) {
    for name in ["a", "b", "c", "d", "e"] {
        place.make(name, inline("#cloud-config\n")).await;
    }
    let cluster = place.cluster();
    let mut told = Told::of(cluster.watch(), place);
    assert_eq!(told.next().await, "all a b c d e");
    let Some(Change::All(all)) = cluster.watch().next().await else { panic!("a watch begins with all") };
    assert!(all.iter().all(|proxy| !proxy.has_text()), "user data is not kept");
    assert!(place.meddle.asked(&["/proxies?", "limit=2", "continue="]) >= 2, "a page has two");
    place.make("f", inline("#cloud-config\n")).await;
    assert_eq!(told.next().await, "f");
    place.patch("a", json!({"spec": {"port": 4000}})).await.unwrap();
    assert_eq!(told.next().await, "a");
    place.delete("b").await;
    assert_eq!(told.next().await, "-b");
    let listed = cluster.list().await.unwrap();
    let here: Vec<_> = listed.iter().filter(|proxy| proxy.key.namespace == place.namespace).collect();
    assert_eq!(here.len(), 5);
    let read = cluster.read(&place.key("a")).await.unwrap().unwrap();
    assert_eq!((read.generation, read.usable().unwrap().port.get()), (2, 4000));
    assert_eq!(cluster.read(&place.key("b")).await.unwrap(), None);
}

pub async fn a_secret_that_a_proxy_names_is_told_and_no_other_is(place: &Place) {
    place.secret("named", json!({"k": "one"})).await;
    place.secret("other", json!({"k": "one"})).await;
    let of = |secret: &str| json!({"provider": "memory", "cloudInit": {"secretRef": {"name": secret, "key": "k"}}});
    place.make("a", of("named")).await;
    let cluster = place.cluster();
    let mut told = Told::of(cluster.watch(), place);
    assert_eq!(told.next().await, "all a");
    place.secret("other", json!({"k": "two"})).await;
    place.secret("named", json!({"k": "two"})).await;
    assert_eq!(told.next().await, "secret named");
    // One that is named later is told of from then on, also in a namespace that is watched already.
    place.make("b", of("late")).await;
    assert_eq!(told.next().await, "b");
    place.secret("late", json!({"k": "one"})).await;
    assert_eq!(told.next().await, "secret late");
    place.ask("DELETE", &format!("{}/named", place.secrets()), None).await.unwrap();
    assert_eq!(told.next().await, "secret named");
    // Nobody names it any more.
    place.patch("b", json!({"spec": {"cloudInit": {"secretRef": {"name": "other"}}}})).await.unwrap();
    assert_eq!(told.next().await, "b");
    place.secret("late", json!({"k": "two"})).await;
    place.secret("other", json!({"k": "three"})).await;
    assert_eq!(told.next().await, "secret other");
}

pub async fn a_status_is_written_over_the_version_that_was_read_and_touches_nothing_else(place: &Place) {
    place.make("a", inline("#cloud-config\n")).await;
    let cluster = place.cluster();
    let read = cluster.read(&place.key("a")).await.unwrap().unwrap();
    let mut status = read.status.clone();
    status.phase = Some(Phase::Provisioning);
    status.address = Some("10.0.0.7".to_owned());
    let written = cluster.write_status(&read, &status).await.unwrap();
    assert_eq!(written.status, status);
    assert_eq!((written.generation, &written.spec), (read.generation, &read.spec));
    assert_ne!(written.version, read.version);
    // Whoever saw less cannot overwrite.
    assert_eq!(cluster.write_status(&read, &read.status).await, Err(ClusterError::Conflict));
    // What is no longer said goes.
    status.address = None;
    cluster.write_status(&written, &status).await.unwrap();
    let stored = place.get("a").await.unwrap();
    assert_eq!(stored["status"], json!({"phase": "Provisioning"}));
    // Another has the name by now.
    place.delete("a").await;
    assert_eq!(cluster.write_status(&written, &status).await, Err(ClusterError::NotFound));
    place.make("a", inline("#cloud-config\n")).await;
    assert_eq!(cluster.write_status(&written, &status).await, Err(ClusterError::Conflict));
}

fn finalizers(object: &Value) -> Vec<String> {
    let finalizers = object["metadata"]["finalizers"].as_array();
    finalizers.into_iter().flatten().map(|one| one.as_str().unwrap().to_owned()).collect()
}

pub async fn our_finalizer_goes_on_and_off_and_those_of_others_stay(place: &Place) {
    place.make("a", inline("#cloud-config\n")).await;
    let others = json!({"metadata": {"finalizers": ["example.com/one", "example.com/two"]}});
    place.patch("a", others).await.unwrap();
    let cluster = place.cluster();
    let read = cluster.read(&place.key("a")).await.unwrap().unwrap();
    let held = cluster.hold(&read, true).await.unwrap().unwrap();
    assert!(held.held);
    let now = finalizers(&place.get("a").await.unwrap());
    assert_eq!(now, ["example.com/one", "example.com/two", FINALIZER]);
    // It is on already: nothing is written.
    assert_eq!(cluster.hold(&held, true).await.unwrap().unwrap().version, held.version);
    // Somebody takes theirs off between our look and our write.
    let rest = json!({"metadata": {"finalizers": ["example.com/two", FINALIZER]}});
    place.patch("a", rest).await.unwrap();
    assert_eq!(cluster.hold(&held, false).await, Err(ClusterError::Conflict));
    let read = cluster.read(&place.key("a")).await.unwrap().unwrap();
    assert!(!cluster.hold(&read, false).await.unwrap().unwrap().held);
    assert_eq!(finalizers(&place.get("a").await.unwrap()), ["example.com/two"]);
}

pub async fn what_is_being_deleted_is_gone_with_our_finalizer_if_it_is_the_last(place: &Place) {
    let cluster = place.cluster();
    for (name, other) in [("last", None), ("kept", Some("example.com/one"))] {
        place.make(name, inline("#cloud-config\n")).await;
        place.patch(name, json!({"metadata": {"finalizers": other.as_slice()}})).await.unwrap();
        let read = cluster.read(&place.key(name)).await.unwrap().unwrap();
        cluster.hold(&read, true).await.unwrap().unwrap();
        place.delete(name).await;
        let read = cluster.read(&place.key(name)).await.unwrap().unwrap();
        assert!(read.deleting && read.held);
        let left = cluster.hold(&read, false).await.unwrap();
        assert_eq!(left.is_some(), other.is_some(), "{name}");
        assert_eq!(place.get(name).await.is_ok(), other.is_some(), "{name}");
        if left.is_none() {
            assert_eq!(cluster.hold(&read, false).await, Err(ClusterError::NotFound));
        }
    }
}

pub async fn a_secret_is_read_and_one_that_is_not_there_is_none(place: &Place) {
    place.secret("s", json!({"username": "alice", "password": "p@ss"})).await;
    let cluster = place.cluster();
    let data = cluster.secret(&place.key("s")).await.unwrap().unwrap();
    let text = |key: &str| data.get(key).and_then(Secret::reveal_str);
    assert_eq!((text("username"), text("password")), (Some("alice"), Some("p@ss")));
    assert_eq!(cluster.secret(&place.key("t")).await.unwrap(), None);
}

pub async fn an_endpoint_is_published_and_taken_away_and_a_secret_of_others_is_left_alone(place: &Place) {
    place.make("a", inline("#cloud-config\n")).await;
    place.make("b", inline("#cloud-config\n")).await;
    place.secret("theirs", json!({"k": "v"})).await;
    let cluster = place.cluster();
    let a = cluster.read(&place.key("a")).await.unwrap().unwrap();
    let b = cluster.read(&place.key("b")).await.unwrap().unwrap();
    let data = |pairs: &[(&str, &str)]| -> SecretData {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), Secret::new(*value))).collect()
    };
    let path = format!("{}/s", place.secrets());
    let stored = async || place.ask("GET", &path, None).await;
    let with_user = data(&[("host", "10.0.0.7"), ("username", "alice")]);
    assert_eq!(cluster.publish(&a, "s", &with_user).await, Ok(Published::Done));
    let first = stored().await.unwrap();
    assert_eq!(first["data"], encoded(&json!({"host": "10.0.0.7", "username": "alice"})));
    let owner = &first["metadata"]["ownerReferences"][0];
    assert_eq!((&owner["uid"], &owner["controller"]), (&json!(a.uid.as_str()), &json!(true)));
    // It says so already.
    assert_eq!(cluster.publish(&a, "s", &with_user).await, Ok(Published::Done));
    assert_eq!(stored().await.unwrap(), first);
    // What is no longer said goes; what others have put on it stays.
    place.ask("PATCH", &path, Some(json!({"metadata": {"labels": {"their": "label"}}}))).await.unwrap();
    assert_eq!(cluster.publish(&a, "s", &data(&[("host", "10.0.0.8")])).await, Ok(Published::Done));
    let second = stored().await.unwrap();
    assert_eq!(second["data"], encoded(&json!({"host": "10.0.0.8"})));
    assert_eq!(second["metadata"]["labels"]["their"], "label");
    // Neither another Proxy's nor anybody else's is written or removed.
    for (proxy, name) in [(&b, "s"), (&a, "theirs")] {
        assert_eq!(cluster.publish(proxy, name, &with_user).await, Ok(Published::Taken));
        cluster.withdraw(proxy, name).await.unwrap();
    }
    assert_eq!(stored().await.unwrap(), second);
    let theirs = place.ask("GET", &format!("{}/theirs", place.secrets()), None).await.unwrap();
    assert_eq!(theirs["data"], encoded(&json!({"k": "v"})));
    cluster.withdraw(&a, "s").await.unwrap();
    assert_eq!(code(&stored().await), 404);
    cluster.withdraw(&a, "s").await.unwrap();
}

fn lease(holder: &str, now: Timestamp) -> Lease {
    Lease {
        version: None,
        holder: holder.to_owned(),
        duration: Duration::from_secs(15),
        acquired: now,
        renewed: now,
        transitions: 0,
    }
}

pub async fn a_lease_is_made_renewed_lost_and_released(place: &Place) {
    let (one, two) = (place.cluster(), place.cluster());
    let now = SystemClock::default().now();
    let mut seen = two.watch_lease();
    assert_eq!(seen.next().await, Some(None));
    let made = one.write_lease(&lease("one", now)).await.unwrap();
    assert_eq!((made.holder.as_str(), made.duration), ("one", Duration::from_secs(15)));
    assert_eq!(seen.next().await, Some(Some(made.clone())));
    // Both saw none; the second comes too late.
    assert_eq!(two.write_lease(&lease("two", now)).await, Err(ClusterError::Conflict));
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases/proxy-operator", place.namespace);
    place.ask("PATCH", &path, Some(json!({"metadata": {"labels": {"their": "label"}}}))).await.unwrap();
    assert_eq!(one.write_lease(&made).await, Err(ClusterError::Conflict));
    let Some(Some(seen_now)) = seen.next().await else { panic!("the lease has changed") };
    let taken = Lease { holder: "two".to_owned(), transitions: 1, ..seen_now };
    let taken = two.write_lease(&taken).await.unwrap();
    let released = two.write_lease(&Lease { holder: String::new(), ..taken }).await.unwrap();
    assert_eq!((released.holder.as_str(), released.transitions), ("", 1));
    let stored = place.ask("GET", &path, None).await.unwrap();
    assert_eq!(stored["metadata"]["labels"]["their"], "label");
}

pub async fn of_two_candidates_one_leads_and_the_other_follows(place: &Place) {
    let terms = Terms {
        lease: Duration::from_secs(4),
        deadline: Duration::from_secs(3),
        retry: Duration::from_millis(500),
    };
    let (tells, mut leads) = tokio::sync::mpsc::unbounded_channel();
    let candidate = |name: &'static str| {
        let (cluster, tells): (Arc<dyn Cluster>, _) = (place.cluster(), tells.clone());
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let work = move |_| {
            let tells = tells.clone();
            async move {
                let _ = tells.send(name);
                std::future::pending().await
            }
            .boxed()
        };
        let clock = Arc::new(SystemClock::default());
        let run = election::elect(cluster, clock, name.to_owned(), terms, work, stopped.map(drop));
        (tokio::spawn(run), stop)
    };
    let (one, stop_one) = candidate("one");
    assert_eq!(leads.recv().await, Some("one"));
    let (two, stop_two) = candidate("two");
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(leads.try_recv().is_err(), "a leader that renews stays");
    // One that ends says so, and nobody waits for its lease to run out.
    stop_one.send(()).unwrap();
    one.await.unwrap();
    let took = std::time::Instant::now();
    assert_eq!(leads.recv().await, Some("two"));
    assert!(took.elapsed() < terms.lease, "{:?}", took.elapsed());
    // One that dies is waited for.
    two.abort();
    drop(stop_two);
    let took = std::time::Instant::now();
    let (three, _stop_three) = candidate("three");
    assert_eq!(leads.recv().await, Some("three"));
    assert!(took.elapsed() > terms.deadline, "{:?}", took.elapsed());
    three.abort();
}

pub async fn the_health_of_a_provider_is_written_and_those_of_others_go(place: &Place) {
    let cluster = place.cluster();
    let name = format!("provider-{}", place.tag);
    let path = format!("/apis/{GROUP}/{VERSION}/providerhealths");
    let stored = async || place.ask("GET", &format!("{path}/{name}"), None).await;
    let health = |ready: bool, latency: u64| {
        let mut target = TargetStatus::new("t", "https://t", ready, Reason::new("Reachable", "it answers"));
        target.latency = Duration::from_millis(latency);
        target.details = [("version".to_owned(), "1".to_owned())].into();
        ProviderHealth { provider_type: "memory".to_owned(), ready: Some(ready), targets: vec![target] }
    };
    cluster.write_health(&name, &health(true, 12)).await.unwrap();
    let first = stored().await.unwrap();
    let target = |object: &Value| object["status"]["targets"][0].clone();
    assert_eq!((&first["status"]["ready"], &first["status"]["state"]), (&json!(true), &json!("Ready")));
    assert_eq!(
        (&target(&first)["latency"], &target(&first)["details"]["version"]),
        (&json!("12ms"), &json!("1"))
    );
    tokio::time::sleep(Duration::from_millis(1100)).await;
    // Another process goes on from what stands there.
    let cluster = place.cluster();
    cluster.write_health(&name, &health(true, 13)).await.unwrap();
    let second = stored().await.unwrap();
    assert_eq!(target(&second)["lastTransition"], target(&first)["lastTransition"]);
    cluster.write_health(&name, &health(false, 13)).await.unwrap();
    let third = stored().await.unwrap();
    assert_ne!(target(&third)["lastTransition"], target(&first)["lastTransition"]);
    // Somebody else has written meanwhile.
    let note = json!({"metadata": {"annotations": {"their": "note"}}});
    place.ask("PATCH", &format!("{path}/{name}"), Some(note)).await.unwrap();
    assert_eq!(cluster.write_health(&name, &health(true, 1)).await, Err(ClusterError::Conflict));
    cluster.write_health(&name, &health(true, 1)).await.unwrap();
    let unchecked = ProviderHealth { provider_type: "memory".to_owned(), ready: None, targets: Vec::new() };
    cluster.write_health(&name, &unchecked).await.unwrap();
    let status = stored().await.unwrap()["status"].clone();
    assert_eq!((&status["state"], status.get("ready")), (&json!("Unsupported"), None));
    cluster.keep_health(&[ProviderName::parse(&name).unwrap()]).await.unwrap();
    assert!(stored().await.is_ok());
    cluster.keep_health(&[]).await.unwrap();
    assert_eq!(code(&stored().await), 404);
    cluster.write_health(&name, &unchecked).await.unwrap();
    cluster.keep_health(&[]).await.unwrap();
}

pub async fn what_is_told_stands_as_an_event_and_again_as_a_count(place: &Place) {
    place.make("a", inline("#cloud-config\n")).await;
    let cluster = place.cluster();
    let proxy = cluster.read(&place.key("a")).await.unwrap().unwrap();
    let sender = Arc::clone(&cluster);
    let sending = tokio::spawn(async move { sender.send_events().await });
    let note = |message: &str| Note { warning: true, reason: "QuotaExceeded", message: message.to_owned() };
    for _ in 0..3 {
        cluster.tell(&proxy.key, &proxy.uid, &note("there is no room"));
    }
    cluster.tell_of_provider(&ProviderName::parse("memory").unwrap(), &note("it is full"));
    let path = format!("/apis/events.k8s.io/v1/namespaces/{}/events", place.namespace);
    let events = place
        .until("the event", || async {
            let found = place.ask("GET", &path, None).await.unwrap()["items"].clone();
            (!found.as_array().unwrap().is_empty()).then_some(found)
        })
        .await;
    let event = &events[0];
    assert_eq!(events.as_array().unwrap().len(), 1, "{events}");
    assert_eq!((&event["reason"], &event["type"]), (&json!("QuotaExceeded"), &json!("Warning")));
    assert_eq!(
        (&event["note"], &event["regarding"]["uid"]),
        (&json!("there is no room"), &json!(proxy.uid.as_str()))
    );
    let about =
        |event: &Value| event["regarding"]["kind"] == "ProviderHealth" && event["note"] == "it is full";
    place
        .until("the provider's event", || async {
            let found =
                place.ask("GET", "/apis/events.k8s.io/v1/namespaces/default/events", None).await.unwrap();
            found["items"].as_array().unwrap().iter().any(about).then_some(())
        })
        .await;
    sending.abort();
}
