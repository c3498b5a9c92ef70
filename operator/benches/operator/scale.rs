//! How long it takes until 1,000 and 10,000 Proxies are Ready, against a bare loop that sends the same writes: the same client,
//! a server of the same kind, as many requests at once, each answer read. The loop watches nothing and decides nothing.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures::{StreamExt, stream};
use http_body_util::BodyExt;
use kube::Client;
use proxy_operator::apiserver::Settings;
use serde::Deserialize;
use serde_json::json;

use crate::{
    figures::{median, spread, verdict},
    operator::{Probes, Running, Thin},
    place::{AGENT, FIRST, Made, Place, Write, is_ready},
};

const FEW: usize = 1_000;
const MANY: usize = 10_000;
const ROUNDS: usize = 3;

pub(crate) async fn measure() -> bool {
    let (mut few, mut many, mut to_bare, mut growth, mut bare_growth) =
        (vec![], vec![], vec![], vec![], vec![]);
    for _ in 0..ROUNDS {
        let (small, script) = operated(FEW).await;
        let small_bare = bare(FEW, &script).await;
        let (large, script) = operated(MANY).await;
        let large_bare = bare(MANY, &script).await;
        few.push(small.as_secs_f64());
        many.push(large.as_secs_f64());
        to_bare.push(large.as_secs_f64() / large_bare.as_secs_f64());
        growth.push(large.as_secs_f64() / small.as_secs_f64());
        bare_growth.push(large_bare.as_secs_f64() / small_bare.as_secs_f64());
    }
    println!("{FEW} Proxies until all are Ready: {} s", spread(&few));
    println!("{MANY} Proxies until all are Ready: {} s", spread(&many));
    println!("the bare loop, {MANY} Proxies / {FEW}: {}", spread(&bare_growth));
    let reached = verdict(
        &format!("{MANY} Proxies / a bare loop of the same writes: {}", spread(&to_bare)),
        "at most 3",
        median(&to_bare) <= 3.0,
    );
    reached
        & verdict(
            &format!("{MANY} Proxies / {FEW}: {}", spread(&growth)),
            "at most 12",
            median(&growth) <= 12.0,
        )
}

/// How long an operator takes that finds so many Proxies, and what it writes of one.
async fn operated(count: usize) -> (Duration, Vec<Write>) {
    let place = Place::new().await;
    place.make(count).await;
    let client = place.client();
    let began = Instant::now();
    let running = Running::alone(client, &Thin::new(), Probes::Off);
    place.until_ready(count).await;
    let took = began.elapsed();
    drop(running);
    assert_eq!(place.count(is_ready).await, count, "the server agrees");
    let writes: usize = place
        .seen
        .take()
        .iter()
        .filter(|(kind, _)| ["patch proxies", "update proxies/status"].contains(&kind.as_str()))
        .map(|(_, count)| count)
        .sum();
    let script = place.seen.script();
    assert_eq!(writes, script.len() * count, "a bare loop of these writes is the same work");
    (took, script)
}

/// How long those writes take for as many.
async fn bare(count: usize, script: &[Write]) -> Duration {
    let place = Place::new().await;
    let made = place.make(count).await;
    let (client, script): (Client, Arc<[Write]>) = (place.client(), script.into());
    let began = Instant::now();
    let sends = tokio::spawn(async move {
        let all = stream::iter(made).map(|made| replay(client.clone(), Arc::clone(&script), made));
        all.buffer_unordered(Settings::default().at_once).collect::<Vec<()>>().await;
    });
    sends.await.unwrap();
    let took = began.elapsed();
    assert_eq!(place.count(is_ready).await, count, "the loop does the same");
    took
}

async fn replay(client: Client, script: Arc<[Write]>, made: Made) {
    #[derive(Deserialize)]
    struct Object {
        metadata: Meta,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Meta {
        resource_version: String,
    }
    let mut version = made.version;
    for write in &*script {
        let mut body = write.body.clone();
        let meta = body["metadata"].as_object_mut().unwrap();
        for (key, value) in [("name", &made.name), ("uid", &made.uid), ("resourceVersion", &version)] {
            if meta.contains_key(key) {
                meta.insert(key.to_owned(), json!(value));
            }
        }
        let request = http::Request::builder()
            .method(write.method.clone())
            .uri(write.path.replacen(FIRST, &made.name, 1))
            .header(http::header::CONTENT_TYPE, write.media.clone())
            .header(http::header::USER_AGENT, format!("{AGENT}bare"));
        let response =
            client.send(request.body(body.to_string().into_bytes().into()).unwrap()).await.unwrap();
        let is_done = response.status().is_success();
        let answer = response.into_body().collect().await.unwrap().to_bytes();
        assert!(is_done, "{}", String::from_utf8_lossy(&answer));
        version = serde_json::from_slice::<Object>(&answer).unwrap().metadata.resource_version;
    }
}
