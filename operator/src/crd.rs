//! The resource definitions as they are installed, as YAML. They are written by hand, and held to what the operator reads and
//! writes by the tests below.

/// `proxies.crawl.example.com`.
pub const PROXIES: &str = include_str!("../crds/proxies.yaml");
/// `providerhealths.crawl.example.com`.
pub const PROVIDER_HEALTHS: &str = include_str!("../crds/providerhealths.yaml");
/// All of them.
pub const ALL: [&str; 2] = [PROXIES, PROVIDER_HEALTHS];

#[cfg(test)]
mod tests {
    use provider_api::{Class, Timestamp};
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        doubles,
        resource::{
            Condition, ConditionKind, Digest, Failure, GROUP, InstanceRecord, Intent, Phase, Spec, Status,
            Truth, VERSION,
        },
    };

    fn parsed(yaml: &str) -> Value {
        serde_saphyr::from_str(yaml).unwrap()
    }

    fn schema(yaml: &str) -> Value {
        parsed(yaml).pointer("/spec/versions/0/schema/openAPIV3Schema").unwrap().clone()
    }

    /// What of a value the schema does not know, or knows otherwise.
    fn unknown(value: &Value, schema: &Value, path: &str, found: &mut Vec<String>) {
        let is = |kind: &str| schema["type"] == kind;
        match value {
            Value::Object(map) if schema.get("additionalProperties").is_some() => {
                for (key, value) in map {
                    unknown(value, &schema["additionalProperties"], &format!("{path}.{key}"), found);
                }
            }
            Value::Object(map) if is("object") => {
                for (key, value) in map {
                    let path = format!("{path}.{key}");
                    match schema["properties"].get(key) {
                        Some(inner) => unknown(value, inner, &path, found),
                        None => found.push(path),
                    }
                }
                for key in schema["required"].as_array().into_iter().flatten() {
                    if !map.contains_key(key.as_str().unwrap()) {
                        found.push(format!("{path} has no {key}"));
                    }
                }
            }
            Value::Array(items) if is("array") => {
                for item in items {
                    unknown(item, &schema["items"], &format!("{path}[]"), found);
                }
            }
            Value::String(text) if is("string") => {
                let listed = schema["enum"].as_array();
                if listed.is_some_and(|all| !all.iter().any(|one| one == text)) {
                    found.push(format!("{path}: {text:?} is not listed"));
                }
            }
            Value::Number(_) if is("integer") => {}
            Value::Bool(_) if is("boolean") => {}
            _ => found.push(format!("{path} is no {}", schema["type"])),
        }
    }

    fn assert_known(value: &Value, schema: &Value) {
        let mut found = Vec::new();
        unknown(value, schema, "", &mut found);
        assert_eq!(found, [""; 0]);
    }

    /// Every schema with `properties` in it.
    fn objects<'s>(schema: &'s Value, path: String, found: &mut Vec<(String, &'s Value)>) {
        found.push((path.clone(), schema));
        for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
            objects(inner, format!("{path}.{key}"), found);
        }
        if let Some(items) = schema.get("items") {
            objects(items, format!("{path}[]"), found);
        }
    }

    #[test]
    fn the_definitions_are_of_the_group_and_version_that_the_operator_asks_for() {
        for yaml in ALL {
            let definition = parsed(yaml);
            let spec = &definition["spec"];
            assert_eq!(spec["group"], GROUP);
            assert_eq!(spec["versions"][0]["name"], VERSION);
            let plural = spec["names"]["plural"].as_str().unwrap();
            assert_eq!(definition["metadata"]["name"], format!("{plural}.{GROUP}"));
        }
    }

    #[test]
    fn every_field_is_described_and_nothing_is_left_open() {
        for yaml in ALL {
            let schema = schema(yaml);
            let mut found = Vec::new();
            objects(&schema, String::new(), &mut found);
            for (path, schema) in found {
                assert!(schema.get("x-kubernetes-preserve-unknown-fields").is_none(), "{path} is open");
                let is_an_item = path.ends_with("[]");
                assert!(is_an_item || schema["description"].is_string(), "{path} says nothing of itself");
            }
        }
    }

    #[test]
    fn what_the_operator_writes_of_a_proxy_is_in_the_schema() {
        let (at, digest) = (Timestamp::from_unix(1_800_000_000), Digest::of(b"x"));
        let provider = doubles::provider("p");
        for phase in [
            Phase::Pending,
            Phase::Provisioning,
            Phase::Running,
            Phase::Replacing,
            Phase::Deleting,
            Phase::Failed,
        ] {
            let condition = |kind, status| Condition {
                kind,
                status,
                reason: "Serving".to_owned(),
                message: "m".to_owned(),
                last_transition_time: at,
                observed_generation: Some(1),
            };
            let status = Status {
                phase: Some(phase),
                instance: Some(InstanceRecord {
                    provider: provider.clone(),
                    id: "i".to_owned(),
                    spec_hash: digest.clone(),
                    created_at: at,
                }),
                intent: Some(Intent { provider: provider.clone(), spec_hash: digest.clone(), since: at }),
                input_digest: Some(digest.clone()),
                address: Some("10.0.0.1".to_owned()),
                endpoint: Some("10.0.0.1:3128".to_owned()),
                connection_secret: Some("s".to_owned()),
                ready_since: Some(at),
                last_failure: Some(Failure {
                    id: Some("f".to_owned()),
                    class: Class::Permanent,
                    reason: "r".to_owned(),
                    message: "m".to_owned(),
                    time: at,
                    retry_at: Some(at),
                    spec_hash: Some(digest.clone()),
                    retried: Some("1".to_owned()),
                }),
                observed_generation: Some(1),
                conditions: vec![
                    condition(ConditionKind::Ready, Truth::True),
                    condition(ConditionKind::Provisioned, Truth::False),
                    condition(ConditionKind::Healthy, Truth::Unknown),
                ],
            };
            assert_known(&serde_json::to_value(status).unwrap(), &schema(PROXIES)["properties"]["status"]);
        }
    }

    #[test]
    fn what_the_operator_reads_of_a_spec_is_in_the_schema_and_the_other_way_round() {
        let inline = json!({
            "provider": "p",
            "placement": {"region": "r", "zone": "z", "machineType": "m", "image": "i"},
            "cloudInit": {"inline": "#cloud-config\n"},
            "port": 3128,
            "access": {"allowedSources": ["10.0.0.0/8"], "credentialsSecretRef": "c"},
            "connectionSecret": "s",
        });
        let mut named = inline.clone();
        named["cloudInit"] = json!({"secretRef": {"name": "n", "key": "k"}});
        let schema = schema(PROXIES)["properties"]["spec"].clone();
        for spec in [&inline, &named] {
            assert_known(spec, &schema);
            // Each field is one that the operator looks at: another value makes another spec, or none.
            let read = Spec::read(spec).unwrap();
            let mut found = Vec::new();
            objects(&schema, String::new(), &mut found);
            for (path, _) in found.iter().filter(|(_, schema)| schema["type"] != "object") {
                let pointer = path.replace("[]", "/0").replace('.', "/");
                let mut other = spec.clone();
                let Some(field) = other.pointer_mut(&pointer) else { continue };
                *field = if field.is_number() { json!(1) } else { json!("other") };
                assert_ne!(Spec::read(&other).as_ref(), Ok(&read), "{path} changes nothing");
            }
        }
    }
}
