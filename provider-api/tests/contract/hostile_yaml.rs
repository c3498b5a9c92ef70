//! YAML that was written to hurt is refused quickly and in clear words.

use std::{fmt::Write as _, time::Instant};

use provider_api::config::Node;

/// The one problem of a text that is refused; it must be found without doing the work that was asked for.
fn refusal(yaml: &str) -> String {
    let started = Instant::now();
    let report = Node::parse(yaml).expect_err("it must be refused");
    assert!(started.elapsed().as_secs() < 5, "it took {:?}", started.elapsed());
    assert_eq!(report.0.len(), 1);
    let text = report.to_string();
    assert!(text.len() < 500, "the text is not quoted back: {} bytes", text.len());
    text
}

#[test]
fn an_alias_bomb() {
    let mut yaml = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..9 {
        let inner = vec![format!("*a{}", level - 1); 10].join(", ");
        writeln!(yaml, "a{level}: &a{level} [{inner}]").unwrap();
    }
    let text = refusal(&yaml);
    assert!(text.contains("alias"), "{text}");
}

#[test]
fn a_long_text_replayed_over_and_over() {
    let long = "x".repeat(100_000);
    let aliases = vec!["*a"; 2_000].join(", ");
    let text = refusal(&format!("a: &a {long}\nb: [{aliases}]\n"));
    assert!(text.contains("alias"), "{text}");
}

#[test]
fn an_alias_that_holds_itself() {
    let text = refusal("a: &a [*a]\n");
    assert!(text.starts_with("the config has a problem: "), "{text}");
}

#[test]
fn nesting_without_end() {
    for yaml in ["[".repeat(100_000), "{a: ".repeat(50_000), "- ".repeat(100_000)] {
        let text = refusal(&yaml);
        assert!(text.contains("not valid YAML"), "{text}");
    }
}

#[test]
fn a_scalar_of_a_hundred_megabytes() {
    let text = refusal(&format!("a: {}\n", "x".repeat(100_000_000)));
    assert_eq!(text, "the config has a problem: has 100000004 bytes, at most 262144 are expected");
}

#[test]
fn two_documents() {
    let text = refusal("providers: []\n---\nproviders: []\n");
    assert!(text.contains("document"), "{text}");
}

#[test]
fn what_is_merely_large_is_read() {
    let mut yaml = String::from("providers:\n");
    for index in 0..2_000 {
        writeln!(yaml, "- {{name: p{index}, type: toy, toy: {{size: {index}}}}}").unwrap();
    }
    assert!(Node::parse(&yaml).is_ok());
}

#[test]
fn an_anchor_in_ordinary_use_is_read() {
    let yaml =
        "keys: &keys {file: f, user: u}\nproviders:\n- {name: a, ssh: *keys}\n- {name: b, ssh: *keys}\n";
    assert!(Node::parse(yaml).is_ok());
}
