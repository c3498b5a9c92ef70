//! What a request may name beside the catalogue, and which addresses are never fetched from
//! (`create.image-allow-list`).

use provider_api::{ImageRules, is_internal, pinned_url};

fn rules(prefixes: &[&str]) -> ImageRules {
    ImageRules { allowed_prefixes: prefixes.iter().map(|prefix| (*prefix).to_owned()).collect() }
}

fn pinned(url: &str) -> String {
    format!("{url}#sha256={}", "ab".repeat(32))
}

#[test]
fn an_image_name_is_allowed_under_a_prefix_that_ends_at_a_separator() {
    let rules = rules(&["registry.example/team", "other.example/"]);
    for good in [
        "registry.example/team",
        "registry.example/team/squid:6",
        "registry.example/team:1",
        "registry.example/team@sha256:0123",
        "other.example/any/thing",
    ] {
        assert!(rules.allow(good).is_ok(), "{good}");
    }
    for bad in [
        "registry.example/team-evil/x",
        "registry.example",
        "x",
        "",
        "registry.example/team/a b",
        "other.example",
    ] {
        assert!(rules.allow(bad).is_err(), "{bad}");
    }
    assert!(ImageRules::default().allow("anything").is_err());
}

#[test]
fn a_url_cannot_be_bent_out_of_its_prefix() {
    let rules = rules(&["https://img.example", "https://cdn.example/public/"]);
    for good in ["https://img.example/a.qcow2", "https://img.example?x=1", "https://cdn.example/public/a"] {
        assert!(rules.allow(&pinned(good)).is_ok(), "{good}");
    }
    for bad in [
        "https://img.example@evil.example/a",
        "https://img.example:x@evil.example/a",
        "https://img.example:8443/a",
        "https://img.example.evil.example/a",
        "https://cdn.example/public/../private/a",
        "https://cdn.example/public/%2e%2e/private/a",
        "https://cdn.example/public/%2E%2E/private/a",
        "https://cdn.example/public/..\\private",
        "https://cdn.example/public\\..",
        "https://img.example/a\tb",
        "http://img.example/a",
        "HTTPS://img.example/a",
    ] {
        assert!(rules.allow(&pinned(bad)).is_err(), "{bad}");
    }
}

#[test]
fn a_url_needs_a_sum() {
    let sum = "AB".repeat(32);
    assert_eq!(pinned_url(&format!("http://a/b#sha256={sum}")), Some(("http://a/b", sum.as_str())));
    let short = "ab".repeat(31);
    for bad in [
        "https://a/b".to_owned(),
        format!("https://a/b#sha256={short}"),
        format!("https://a/b#sha256={}", "xy".repeat(32)),
        format!("https://a/b#x#sha256={sum}"),
        format!("https://u@a/b#sha256={sum}"),
        format!("file:///b#sha256={sum}"),
        format!("https://#sha256={sum}"),
    ] {
        assert_eq!(pinned_url(&bad), None, "{bad}");
    }
    let error = rules(&["https://a/"]).allow("https://a/b").unwrap_err();
    assert!(error.message().contains("#sha256="), "it says what to do: {error}");
}

#[test]
fn a_url_leads_inside_only_where_a_prefix_names_the_host() {
    let any = rules(&["https://", "http://"]);
    assert!(any.allow(&pinned("https://img.example/a")).is_ok());
    for inside in [
        "http://169.254.169.254/latest",
        "http://user@10.0.0.1:8080/a",
        "http://[::1]/a",
        "http://[::ffff:169.254.169.254]/a",
        "http://2130706433/a",
        "http://0x7f.1/a",
        "http://127.1/a",
        "http://localhost:9000/a",
        "http://localhost./a",
        "http:///a",
    ] {
        assert!(any.allow(&pinned(inside)).is_err(), "{inside}");
    }
    let listed = rules(&["http://10.0.0.1/images", "https://"]);
    assert!(listed.allow(&pinned("http://10.0.0.1/images/a")).is_ok());
    assert!(listed.allow(&pinned("http://10.0.0.1/images/../a")).is_err());
    assert!(listed.allow(&pinned("http://10.0.0.2/images/a")).is_err());
}

#[test]
fn a_refusal_names_the_field_and_what_is_allowed() {
    let error = rules(&["a/", "b/"]).allow("c/x").unwrap_err();
    let text = "placement.image \"c/x\" is not in the catalogue, and allowedImagePrefixes are: a/, b/";
    assert_eq!(error.message(), text);
    let long = ImageRules::default().allow(&"x".repeat(10_000)).unwrap_err();
    assert!(long.message().len() < 400);
}

#[test]
fn addresses_inside_are_known_in_every_disguise() {
    for inside in [
        "127.0.0.1",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "0.1.2.3",
        "255.255.255.255",
        "240.0.0.1",
        "224.0.0.1",
        "198.18.0.1",
        "192.0.0.8",
        "::1",
        "::",
        "fd00::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "::10.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
    ] {
        assert!(is_internal(inside.parse().unwrap()), "{inside}");
    }
    for outside in
        ["192.0.2.1", "8.8.8.8", "2001:db8::1", "64:ff9b::808:808", "2002:808:808::1", "::ffff:8.8.8.8"]
    {
        assert!(!is_internal(outside.parse().unwrap()), "{outside}");
    }
}
