//! Everything that is wrong with a config file is reported at once, each with its path and line
//! (`runtime.strict-config`, `runtime.all-config-errors-at-once`).

use proptest::prelude::*;
use provider_api::ConfigReport;

use crate::{
    canned::registry,
    doubles::{identity, name, rig},
};

/// What loading says, line by line.
fn report(yaml: &str) -> Vec<String> {
    let (registry, _) = registry();
    let surroundings = |_: &provider_api::ProviderName| rig().context;
    let top = |fields: &mut provider_api::config::Fields<'_>| {
        fields.optional::<provider_api::InstallationId>("installation");
    };
    match registry.load(yaml, top, surroundings) {
        Ok(_) => Vec::new(),
        Err(ConfigReport(problems)) => problems.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn a_good_file_has_nothing_to_report() {
    let good = "\
installation: us
providers:
- name: a
  type: toy
  allowedNamespaces: [x]
  addressFamily: ipv6
  addressRanges: ['2001:db8::/32']
  maxConcurrentPerTarget: 2
  maxInstances: 9
  allowedImagePrefixes: [registry.example/]
  budgets: {create: 20m, get: 500ms, connect: 5s}
  probe: off
  toy: {size: 3, note: 'x', parts: [{kind: k}]}
- {name: b, type: toy, toy: {size: 1}}
";
    assert_eq!(report(good), Vec::<String>::new());
    // Unquoted, YAML 1.1 reads on and off as booleans; whatever the reading, they mean what they say.
    for other in ["probe: 'off'", "probe: on", "probe: true", "probe: false"] {
        assert_eq!(report(&good.replace("probe: off", other)), Vec::<String>::new(), "{other}");
    }
}

#[test]
fn everything_wrong_is_said_at_once_with_path_and_line() {
    let bad = "\
instalation: us
providers:
- name: A!
  type: toy
  allowedNamespace: [x]
  addressRanges: [10.0.0.0/8, '2001:db8::/32', nonsense]
  maxConcurrentPerTarget: 0
  budgets: {create: 20, get: fast, delete: 0s, list: 8000h, cal: 1s}
  probe: maybe
  toy:
    size: -1
    size: 2
    nota: x
    parts: [{}, 7]
- type: toy
  maxInstances: many
- name: b
  type: car
  car: {wheels: 4}
- name: b
  toy: {size: 1}
- name: c
  type: toy
";
    let expected = "\
line 1: instalation: is not a known key; known are: installation, providers
line 3: providers[0].name: \"A!\" is not a valid provider name: it must be 1 to 63 characters a-z 0-9 -
line 5: providers[0].allowedNamespace: is not a known key; known are: addressFamily, addressRanges, allowedImagePrefixes, allowedNamespaces, budgets, maxConcurrentPerTarget, maxInstances, name, probe, toy, type
line 6: providers[0].addressRanges[2]: \"nonsense\" is not a network such as 10.0.0.0/8
line 7: providers[0].maxConcurrentPerTarget: 0 is out of range; expected at least 1
line 8: providers[0].budgets.create: expected a duration such as 30s, 10m or 2h, found a number
line 8: providers[0].budgets.get: \"fast\" is not a duration such as 30s, 10m or 2h
line 8: providers[0].budgets.delete: \"0s\" is no time at all; expected a duration such as 30s, 10m or 2h
line 8: providers[0].budgets.list: \"8000h\" is longer than the seven days that are allowed
line 8: providers[0].budgets.cal: is not a known key; known are: call, connect, create, delete, get, list
line 9: providers[0].probe: expected on or off, found text
line 11: providers[0].toy.size: -1 is out of range: 0 to 4294967295
line 12: providers[0].toy.size: is given more than once
line 13: providers[0].toy.nota: is not a known key; known are: note, parts, size
line 14: providers[0].toy.parts[0].kind: is missing; expected text
line 14: providers[0].toy.parts[1]: expected a mapping, found a number
line 15: providers[1].name: is missing; expected a provider name
line 15: providers[1].toy.size: is missing; expected a whole number
line 16: providers[1].maxInstances: expected a whole number, found text
line 18: providers[2].type: \"car\" is not a known type; known are: toy
line 20: providers[3].name: \"b\" is taken by the entry on line 17
line 20: providers[3].type: is missing; expected text
line 22: providers[4].toy.size: is missing; expected a whole number";
    let said = report(bad);
    let missing: Vec<_> = expected.lines().filter(|line| !said.iter().any(|said| said == line)).collect();
    let unexpected: Vec<_> = said.iter().filter(|said| !expected.lines().any(|line| line == *said)).collect();
    assert!(missing.is_empty() && unexpected.is_empty(), "missing {missing:#?}, unexpected {unexpected:#?}");
    assert_eq!(said.len(), expected.lines().count(), "nothing is said twice");
}

#[test]
fn ranges_must_be_of_the_entrys_family() {
    let yaml = "\
providers:
- name: a
  type: toy
  addressRanges: [10.0.0.0/8, '2001:db8::/32']
  toy: {size: 1}
";
    let path = "line 4: providers[0].addressRanges[1]: 2001:db8::/32 is not of the entry's addressFamily";
    assert_eq!(report(yaml), [path]);
}

#[test]
fn a_file_without_providers_says_so() {
    assert_eq!(report("{}"), ["line 1: providers: is missing; expected a list of providers"]);
    assert_eq!(report("providers: 5"), ["line 1: providers: expected a list, found a number"]);
    assert_eq!(report("- x"), ["line 1: expected a mapping, found a list"]);
}

#[test]
fn the_doubles_are_what_the_config_expects() {
    assert_eq!(rig().context.name, name("here"));
    assert_eq!(rig().context.identity, identity("us"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever stands in the file, reading it ends in providers or in a report, and the report says something.
    #[test]
    fn garbage_never_panics(
        yaml in "\\PC{0,200}|([ \\-?:,\\[\\]{}#&*!|>'\"%@`a-z0-9\n]|providers|name|type|toy|size){0,60}"
    ) {
        prop_assert!(report(&yaml).iter().all(|line| !line.is_empty()));
    }

    /// Any text as the value of any field is either taken or named in the report.
    #[test]
    fn garbage_in_a_field_is_reported_at_its_path(value in "[ -~äß€]{0,40}", field in 0usize..5) {
        let key = ["allowedNamespaces", "addressRanges", "budgets", "probe", "maxInstances"][field];
        let quoted = serde_json::Value::from(value.as_str());
        let yaml = format!("providers:\n- name: a\n  type: toy\n  {key}: {quoted}\n  toy: {{size: 1}}\n");
        let said = report(&yaml);
        let fine = key == "probe" && ["on", "off"].contains(&value.as_str());
        prop_assert!(fine == said.is_empty(), "{said:?}");
        prop_assert!(said.iter().all(|line| line.contains(&format!("providers[0].{key}"))), "{said:?}");
    }
}
