//! A loaded catalogue is the one that a table in code would be, and a bad text is refused with all that is wrong.

use provider_api::{Class, Operation, Shows};

use super::*;

const SOURCE: &str = "Machines API v1";
const TABLE: &[NativeError] = &[
    NativeError::new("not-found", &["get", "delete"], Class::NotFound, SOURCE)
        .status(404)
        .code("notFound")
        .text("there is no machine {name} in {zone}")
        .fields(&[("zone", "north"), ("domain", "global")]),
    NativeError::new("late", &["create"], Class::QuotaExceeded, "a report")
        .shows(Shows::Task)
        .tolerated_by(&[Operation::Delete, Operation::Create]),
];
const OTHER: &[NativeError] =
    &[NativeError::new("slow-down", &["get", "create", "delete"], Class::Transient, SOURCE).status(429)];

const YAML: &str = r#"
source: Machines API v1
placeholders: [name]
errors:
  - id: not-found
    on: [get, delete]
    class: NotFound
    status: 404
    code: notFound
    text: there is no machine {name} in {zone}
    fields: {zone: north, domain: global}
  - {id: late, on: [create], class: QuotaExceeded, shows: task, toleratedBy: [delete, create], source: a report}
"#;
const JSON: &str = r#"{
    "source": "Machines API v1",
    "sets": {"every": ["get", "create", "delete"]},
    "errors": [{"id": "slow-down", "on": ["every"], "class": "Transient", "status": 429}]
}"#;

#[test]
fn a_loaded_catalogue_equals_the_one_in_code() {
    let loaded = load(&[("errors.yaml", YAML), ("shared.json", JSON)]).unwrap();
    assert_eq!(loaded, Catalogue(&[TABLE, OTHER]));
    let again = load(&[("errors.yaml", YAML), ("shared.json", JSON)]).unwrap();
    assert!(std::ptr::eq(loaded.0, again.0), "it is made once");
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let yaml = r#"sets: {every: [get, get]}
errors:
  - id: a
    on: []
    class: Fatal
    text: "no {machine} in {\"json\": 1} and { no name }"
    shows: nowhere
  - id: a
    on: [get, every]
    class: Transient
    source: seen
    toleratedBy: [create, resize]
    colour: red
    fields: {x: "1", x: "2"}
"#;
    let report = load(&[("errors.yaml", yaml), ("more.yaml", "{}"), ("good.json", JSON)]).unwrap_err();
    let lines: Vec<_> = report.to_string().lines().map(str::to_owned).collect();
    let expected = [
        "the catalogue has 12 problems:",
        "  errors.yaml: line 3: errors[0].source: is missing; say where the error was seen, here or for the whole text",
        "  errors.yaml: line 4: errors[0].on: is empty; an error answers some kind of call",
        "  errors.yaml: line 5: errors[0].class: \"Fatal\" is not one of NotFound, QuotaExceeded, Transient, Permanent",
        "  errors.yaml: line 6: errors[0].text: {machine} stands for nothing; name it among the placeholders or the fields",
        "  errors.yaml: line 7: errors[0].shows: \"nowhere\" is not one of answer, task, stream",
        "  errors.yaml: line 8: errors[1].id: \"a\" is taken by errors[0] of errors.yaml",
        "  errors.yaml: line 9: errors[1].on[1]: \"get\" is named before",
        "  errors.yaml: line 9: errors[1].on[1]: \"get\" is named before",
        "  errors.yaml: line 12: errors[1].toleratedBy[1]: \"resize\" is not one of create, get, delete, list, leftovers, check",
        "  errors.yaml: line 13: errors[1].colour: is not a known key; known are: class, code, fields, id, on, shows, source, status, text, toleratedBy",
        "  errors.yaml: line 14: errors[1].fields.x: is given more than once",
        "  more.yaml: line 1: errors: is missing; expected a list of errors",
    ];
    assert_eq!(lines, expected);
    let no_yaml = load(&[("bad.yaml", "errors: [")]).unwrap_err();
    assert!(no_yaml.to_string().contains("bad.yaml: line 1: not valid YAML"), "{no_yaml}");
}

#[test]
fn texts_are_worded_from_what_is_known() {
    let gone = &TABLE[0];
    assert_eq!(worded(gone, &[("name", "a")]), "there is no machine a in north");
    assert_eq!(worded(gone, &[("name", "{zone}"), ("zone", "z")]), "there is no machine {zone} in z");
    assert_eq!(worded(gone, &[]), "there is no machine {name} in north");
    let own_braces = NativeError::new("x", &["get"], Class::Transient, SOURCE).text("{ {name} {");
    assert_eq!(worded(&own_braces, &[("name", "a")]), "{ a {");
}
