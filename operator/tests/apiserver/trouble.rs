//! What the operator does when the server, or the way there, does not behave.

use std::time::{Duration, Instant};

use proxy_operator::cluster::{Cluster, ClusterError};
use serde_json::json;

use super::{
    Place,
    meddle::Trick,
    place::{Told, inline},
};

pub async fn a_watch_that_is_too_old_begins_anew(place: &Place) {
    place.make("a", inline("a")).await;
    let gone = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410, "reason": "Expired",
        "message": "too old resource version: 1 (2)",
    });
    let event = format!("{}\n", json!({"type": "ERROR", "object": gone}));
    place.meddle.with(&["/proxies?", "watch=true"], 1, Trick::Answer(200, None, event));
    place.meddle.with(&["/proxies?", "watch=true"], 1, Trick::Answer(410, None, gone.to_string()));
    if place.is_strict {
        // A real server no longer knows what was first, and says so itself.
        place.meddle.with(&["/proxies?", "watch=true"], 1, Trick::Since("1"));
    }
    let cluster = place.cluster();
    let mut told = Told::of(cluster.watch(), place);
    assert_eq!(told.next().await, "all a");
    place.delete("a").await;
    place.make("b", inline("a")).await;
    assert_eq!(told.next().await, "all b", "what went unseen is gone");
    assert_eq!(told.next().await, "all b", "the second way to say so");
    if place.is_strict {
        assert_eq!(told.next().await, "all b", "the server's own way");
    }
    place.make("c", inline("a")).await;
    assert_eq!(told.next().await, "c");
}

pub async fn a_watch_that_breaks_off_goes_on_without_a_gap(place: &Place) {
    let cluster = place.cluster();
    place.meddle.with(&["/proxies?", "watch=true"], 3, Trick::End(Duration::from_millis(300)));
    let mut told = Told::of(cluster.watch(), place);
    assert_eq!(told.next().await, "all");
    for each in 0..12 {
        let name = format!("p{each:02}");
        place.make(&name, inline("a")).await;
        assert_eq!(told.next().await, name, "each once, in their order");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(place.meddle.asked(&["/proxies?", "watch=true"]) >= 3, "it did break off");
    let watches = place.meddle.asked(&["/proxies?", "watch=true"]);
    assert_eq!(place.meddle.looks() - watches, 1, "nothing was listed again");
}

pub async fn watches_that_end_at_once_are_not_begun_in_a_hot_loop(place: &Place) {
    for trick in [
        Trick::Answer(200, None, String::new()),
        Trick::Answer(200, None, "no JSON\n".to_owned()),
        Trick::Answer(503, None, String::new()),
        Trick::Answer(410, None, String::new()),
        Trick::Answer(429, Some(1), String::new()),
    ] {
        place.meddle.with(&["/proxies?", "watch=true"], 1000, trick);
        let before = place.meddle.looks();
        let cluster = place.cluster();
        let mut told = Told::of(cluster.watch(), place);
        told.within(Duration::from_secs(3)).await;
        drop(told);
        // Pauses of 0.2 s, doubled up to 2 s and halved at most by chance, and a list with each.
        let asked = place.meddle.looks() - before;
        assert!((2..=24).contains(&asked), "{asked} requests");
        let then = place.meddle.looks();
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert_eq!(place.meddle.looks(), then, "nothing outlives the stream");
        place.meddle.forget();
    }
}

pub async fn a_server_that_is_busy_is_asked_again_when_it_says_so(place: &Place) {
    place.make("a", inline("a")).await;
    let cluster = place.cluster_with(|settings| settings.request = Duration::from_secs(4));
    let busy = Trick::Answer(429, Some(1), "Too many requests, please try again later.\n".to_owned());
    place.meddle.with(&["/proxies/a"], 1, busy.clone());
    let began = Instant::now();
    assert!(cluster.read(&place.key("a")).await.unwrap().is_some());
    assert!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
    assert_eq!(place.meddle.asked(&["/proxies/a"]), 2);
    // One that goes on being busy is doubtful, within the deadline.
    place.meddle.with(&["/proxies/a"], 1000, busy);
    let began = Instant::now();
    let error = cluster.read(&place.key("a")).await.unwrap_err();
    assert!(matches!(error, ClusterError::Doubtful(_)), "{error}");
    assert!(began.elapsed() <= Duration::from_secs(5), "{:?}", began.elapsed());
}

pub async fn a_request_without_an_answer_ends_at_its_deadline(place: &Place) {
    place.make("a", inline("a")).await;
    let cluster = place.cluster_with(|settings| settings.request = Duration::from_millis(500));
    place.meddle.with(&["/proxies/a"], 1, Trick::Silence);
    let began = Instant::now();
    let error = cluster.read(&place.key("a")).await.unwrap_err();
    assert_eq!(error, ClusterError::Doubtful("no answer within 0.5 s".to_owned()));
    assert!((450..3_000).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
}

pub async fn a_list_whose_rest_has_expired_is_no_list(place: &Place) {
    for name in ["a", "b", "c"] {
        place.make(name, inline("a")).await;
    }
    let gone = json!({
        "kind": "Status", "status": "Failure", "code": 410, "reason": "Expired", "metadata": {"continue": "another"},
        "message": "The provided continue parameter is too old to display a consistent list result.",
    });
    place.meddle.with(&["/proxies?", "continue="], 1, Trick::Answer(410, None, gone.to_string()));
    let cluster = place.cluster();
    let error = cluster.list().await.unwrap_err();
    assert!(matches!(error, ClusterError::Doubtful(_)), "{error}");
    let listed = cluster.list().await.unwrap();
    assert_eq!(listed.iter().filter(|proxy| proxy.key.namespace == place.namespace).count(), 3);
}

pub async fn a_kind_that_is_not_served_is_no_empty_list(place: &Place) {
    let cluster = place.cluster();
    place.meddle.with(&["/proxies"], 1000, Trick::Say("/proxies", "/praxies"));
    for error in [cluster.list().await.err(), cluster.read(&place.key("a")).await.err()] {
        assert!(matches!(error, Some(ClusterError::Doubtful(_))), "{error:?}");
    }
}
