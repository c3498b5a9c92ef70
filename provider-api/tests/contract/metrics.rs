//! The metrics as a program exposes them: low cardinality, and no name that a dashboard does not expect.

use futures::executor::block_on;
use prometheus_client::{encoding::text::encode, registry::Registry};
use provider_api::{CallKind, Error, ProviderId, decorate};

use crate::{
    canned::{Answer, Canned, request},
    doubles::rig,
};

#[test]
fn the_exposition_is_what_dashboards_read() {
    let rig = rig();
    let good = decorate(Canned::built(Answer::Good), &rig.context);
    let bad = decorate(Canned::built(Answer::Bad(Error::permanent("no such zone"))), &rig.context);
    let seam = rig.context.seam("toy", std::time::Duration::from_secs(1));
    block_on(async {
        good.provider.create(&request()).await.unwrap();
        bad.provider.delete(&ProviderId::new("secret-looking-name")).await.unwrap_err();
        let future = async { Ok::<_, std::convert::Infallible>(()) };
        seam.call(CallKind::read("look"), "secret-looking-name", future).await.unwrap();
    });
    let mut registry = Registry::default();
    rig.context.metrics.register(&mut registry);
    let mut text = String::new();
    encode(&mut text, &registry).unwrap();
    assert!(
        !text.contains("secret-looking-name") && !text.contains("no such zone"),
        "labels name no instance"
    );
    insta::assert_snapshot!(in_order(&text));
}

/// The exposition without buckets, each family's samples sorted: they come in no order of their own.
fn in_order(text: &str) -> String {
    let mut lines: Vec<_> = text.lines().filter(|line| !line.contains("_bucket{")).collect();
    let is_sample = |line: &&str| !line.starts_with('#');
    lines
        .chunk_by_mut(|a, b| is_sample(a) == is_sample(b))
        .filter(|chunk| is_sample(&chunk[0]))
        .for_each(<[_]>::sort_unstable);
    lines.join("\n")
}
