//! Objects that nobody in their right mind would write.

use proxy_operator::{cluster::Cluster, crd, resource::Phase};
use serde_json::{Value, json};

use super::{
    Place,
    place::{DEFINITIONS, Told, code, inline},
};

/// Puts another schema into force, and waits until a write shows that it is.
async fn with_schema(place: &Place, schema: Value) {
    let path = format!("{DEFINITIONS}/proxies.crawl.example.com");
    let mut definition = place.ask("GET", &path, None).await.unwrap();
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema;
    place.ask("PUT", &path, Some(definition)).await.unwrap();
}

/// It was stored before the schema was what it is.
pub async fn a_proxy_with_a_hostile_status_hides_no_other_and_can_be_written(place: &Place) {
    let definition: Value = serde_saphyr::from_str(crd::PROXIES).unwrap();
    let strict = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone();
    with_schema(place, json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})).await;
    let hostile = json!({
        "phase": 7, "instance": "none", "intent": [], "conditions": {"a": [1.5e300]}, "address": {"deep": [[[[]]]]},
        "lastFailure": {"class": "Nonsense"}, "observedGeneration": "many",
    });
    place.make("a-good", inline("a")).await;
    place.make("c-good", inline("a")).await;
    let status = format!("{}/b-hostile/status", place.proxies());
    // The schema comes into force some time later.
    place
        .until("the hostile object", || async {
            let _ = place.ask("DELETE", &format!("{}/b-hostile", place.proxies()), None).await;
            place.make("b-hostile", inline("a")).await;
            let written = place.ask("PATCH", &status, Some(json!({"status": hostile}))).await.ok()?;
            (written["status"] == hostile).then_some(())
        })
        .await;
    place.make("d-senseless", json!({"provider": 7, "cloudInit": [], "port": "none"})).await;
    let cluster = place.cluster();
    let mut told = Told::of(cluster.watch(), place);
    assert_eq!(told.next().await, "all a-good b-hostile c-good d-senseless");
    place.patch("b-hostile", json!({"metadata": {"annotations": {"a": "b"}}})).await.unwrap();
    assert_eq!(told.next().await, "b-hostile");
    place.patch("c-good", json!({"metadata": {"annotations": {"a": "b"}}})).await.unwrap();
    assert_eq!(told.next().await, "c-good");
    let listed = cluster.list().await.unwrap();
    assert_eq!(listed.iter().filter(|proxy| proxy.key.namespace == place.namespace).count(), 4);
    let senseless = cluster.read(&place.key("d-senseless")).await.unwrap().unwrap();
    let problems = senseless.spec.as_ref().as_ref().unwrap_err().to_string();
    for field in ["spec.provider", "spec.cloudInit", "spec.port"] {
        assert!(problems.contains(field), "{problems}");
    }
    place.delete("d-senseless").await;
    with_schema(place, strict).await;
    let read = cluster.read(&place.key("b-hostile")).await.unwrap().unwrap();
    assert_eq!(read.status, Default::default());
    // The schema is in force once it refuses something.
    place
        .until("the schema", || async {
            let refused = place.patch("a-good", json!({"spec": {"port": "none"}})).await;
            (code(&refused) == 422 || !place.is_strict).then_some(())
        })
        .await;
    // What it is made of does not keep it from being held, written and released.
    let held = cluster.hold(&read, true).await.unwrap().unwrap();
    let mut status = held.status.clone();
    status.phase = Some(Phase::Failed);
    let written = cluster.write_status(&held, &status).await.unwrap();
    assert_eq!(written.status.phase, Some(Phase::Failed));
    cluster.hold(&written, false).await.unwrap().unwrap();
}
