//! Config: strict, told whole, and replaced only by one that loads.

use std::{fmt, sync::Arc};

use provider_api::{ConfigReport, Live, ProviderName, Providers};
use serde_json::{Map, Value, json};

use crate::{
    broken,
    harness::Shape,
    hold,
    rule::{Checked, Stop},
    world::{Tweaks, World},
};

/// A key that no config knows.
pub const UNKNOWN_KEY: &str = "no-such-key";

pub(super) async fn strict_config(w: &mut World) -> Checked {
    let plain = read(w, &Tweaks::default())?;
    let paths = mappings(&block(w, &plain)?);
    for path in &paths {
        let mut config = plain.clone();
        spoil(w, &mut config, path)?;
        let where_ = at(w, path);
        match w.load(&Tweaks::default(), &config.to_string()) {
            Ok(_) => broken!("a config with the unknown key {where_} loads"),
            Err(report) => hold!(
                names(&report, &where_),
                "the unknown key {where_} is not reported with its path: {report}"
            ),
        }
    }
    w.note(format!("an unknown key was tried at {} places", paths.len()));
    Ok(())
}

pub(super) async fn all_config_errors_at_once(w: &mut World) -> Checked {
    let plain = read(w, &Tweaks::default())?;
    let mut config = plain.clone();
    // Unknown keys at every level of the block, an unknown common field, and a second entry that is no good.
    let paths = mappings(&block(w, &plain)?);
    for path in &paths {
        spoil(w, &mut config, path)?;
    }
    let mut expected: Vec<_> = paths.iter().map(|path| at(w, path)).collect();
    config["providers"][0][UNKNOWN_KEY] = json!(1);
    expected.push(format!("providers[0].{UNKNOWN_KEY}"));
    if let Some(entries) = config["providers"].as_array_mut() {
        entries.push(json!({ "name": "Not A Name", "type": "no-such-type" }));
    }
    expected.extend(["providers[1].name", "providers[1].type"].map(str::to_owned));
    if let Some(mut missing) = untold(w, &config, &expected)? {
        if let Some(path) = paths.iter().find(|path| at(w, path) == missing.path) {
            let mut alone = plain.clone();
            spoil(w, &mut alone, path)?;
            let report = w.load(&Tweaks::default(), &alone.to_string()).err();
            missing.alone = report.is_some_and(|report| names(&report, &missing.path));
        }
        broken!("{missing}");
    }

    // What only the harness knows to be wrong: two things at once.
    let shaped = read(w, &Tweaks::shape(Shape::Broken))?;
    let alone = problems(w, &shaped)?;
    let count = alone.0.len();
    hold!(count >= 2, "a block with two mistakes is reported with {count}: {alone}");
    let pathless = alone.0.iter().find(|problem| !problem.path.starts_with("providers[0]."));
    hold!(pathless.is_none(), "a mistake is reported without its path: {alone}");
    // With one mistake more, all of them are told still.
    let mut more = shaped;
    more["providers"][0][UNKNOWN_KEY] = json!(1);
    let mut expected: Vec<_> = alone.0.into_iter().map(|problem| problem.path).collect();
    expected.push(format!("providers[0].{UNKNOWN_KEY}"));
    match untold(w, &more, &expected)? {
        Some(missing) => broken!("{missing}"),
        None => Ok(()),
    }
}

pub(super) async fn reload_keeps_old_on_error(w: &mut World) -> Checked {
    let request = w.request();
    let w = &*w;
    let good = w.config(&Tweaks::default())?;
    let name = ProviderName::parse(World::PROVIDER).map_err(|error| Stop::Error(error.to_string()))?;
    let load = |old: &Live, yaml: &str| {
        let context = w.context().clone();
        old.reload(&w.registry(), yaml, |_| {}, |_| context.clone())
    };
    let live = Live::new(Providers::default());
    load(&live, &good)
        .map_err(|report| Stop::Error(format!("the harness's config does not load: {report}")))?;
    let entry = |live: &Live| {
        live.current().get(&name).cloned().ok_or_else(|| Stop::Broken("the entry is not in force".into()))
    };
    let before = entry(&live)?;
    let provider = Arc::clone(&before.built.provider);

    let id = {
        let (provider, request) = (Arc::clone(&provider), request.clone());
        w.alone(async move { provider.create(&request).await }).await?
    };
    let id = match id {
        Ok(id) => id,
        Err(error) => broken!("create {} failed: {error}", request.name),
    };
    for yaml in [broken_config(w)?, "providers: {".to_owned()] {
        w.note("a config that does not load is loaded anew".into());
        hold!(load(&live, &yaml).is_err(), "a config that is no good was put in force");
        hold!(Arc::ptr_eq(&before, &entry(&live)?), "after a reload that failed another entry is in force");
        let (provider, id) = (Arc::clone(&provider), id.clone());
        if let Err(error) = w.alone(async move { provider.get(&id).await }).await? {
            broken!("after a reload that failed, get of the instance that stands failed too: {error}");
        }
    }
    load(&live, &good).map_err(|report| Stop::Broken(format!("the old config no longer loads: {report}")))?;
    let (after, before) = (entry(&live)?.built.provider.clone(), provider);
    hold!(Arc::ptr_eq(&after, &before), "an entry that did not change was built anew");
    Ok(())
}

fn broken_config(w: &World) -> Checked<String> {
    // Where the harness has no such shape, an unknown key does it.
    if let Ok(config) = w.config(&Tweaks::shape(Shape::Broken)) {
        return Ok(config);
    }
    let mut config = read(w, &Tweaks::default())?;
    spoil(w, &mut config, &[])?;
    Ok(config.to_string())
}

/// A mistake that is not among those reported.
struct Untold {
    path: String,
    report: ConfigReport,
    /// Whether it is reported where there is no other: then that one ends the reading.
    alone: bool,
}

impl fmt::Display for Untold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, report, alone } = self;
        let alone = if *alone { ", is reported where nothing else is," } else { "" };
        let count = report.0.len();
        write!(f, "{path} is wrong too{alone} and is not among the {count} problems reported: {report}")
    }
}

fn untold(w: &World, config: &Value, expected: &[String]) -> Checked<Option<Untold>> {
    let report = problems(w, config)?;
    let missing = expected.iter().find(|path| !names(&report, path)).cloned();
    Ok(missing.map(|path| Untold { path, report, alone: false }))
}

fn problems(w: &World, config: &Value) -> Checked<ConfigReport> {
    match w.load(&Tweaks::default(), &config.to_string()) {
        Ok(_) => broken!("a config with mistakes loads"),
        Err(report) => Ok(report),
    }
}

fn names(report: &ConfigReport, path: &str) -> bool {
    report.0.iter().any(|problem| problem.path == path)
}

fn read(w: &World, tweaks: &Tweaks) -> Checked<Value> {
    let text = w.config(tweaks)?;
    serde_json::from_str(&text).map_err(|error| Stop::Error(format!("the config is no JSON: {error}")))
}

fn own_key(w: &World) -> &'static str {
    w.registry().types()[0].name
}

fn block(w: &World, config: &Value) -> Checked<Value> {
    let block = config["providers"][0].get(own_key(w)).cloned();
    block.ok_or_else(|| Stop::Error("the entry has no block of its own".into()))
}

/// One step into a value.
#[derive(Clone, Debug)]
enum Step {
    Key(String),
    Index(usize),
}

/// Where mappings stand in a block, the block itself first.
fn mappings(block: &Value) -> Vec<Vec<Step>> {
    let mut found = Vec::new();
    let mut open = vec![(Vec::new(), block)];
    while let Some((path, value)) = open.pop() {
        let inner: Vec<(Step, &Value)> = match value {
            Value::Object(map) => {
                found.push(path.clone());
                map.iter().map(|(key, value)| (Step::Key(key.clone()), value)).collect()
            }
            Value::Array(items) => {
                items.iter().enumerate().map(|(index, value)| (Step::Index(index), value)).collect()
            }
            _ => continue,
        };
        open.extend(inner.into_iter().rev().map(|(step, value)| {
            let mut path = path.clone();
            path.push(step);
            (path, value)
        }));
    }
    found
}

/// Puts the unknown key into the mapping there. Its value is of no kind that a free mapping could hold.
fn spoil(w: &World, config: &mut Value, path: &[Step]) -> Checked {
    let mut value = &mut config["providers"][0][own_key(w)];
    for step in path {
        value = match step {
            Step::Key(key) => &mut value[key.as_str()],
            Step::Index(index) => &mut value[*index],
        };
    }
    let map: Option<&mut Map<String, Value>> = value.as_object_mut();
    let map = map.ok_or_else(|| Stop::Error("there is no mapping".into()))?;
    map.insert(UNKNOWN_KEY.to_owned(), json!([[1]]));
    Ok(())
}

/// The path of the unknown key in that mapping, as reports give it.
fn at(w: &World, path: &[Step]) -> String {
    let mut text = format!("providers[0].{}", own_key(w));
    for step in path {
        match step {
            Step::Key(key) => text += &format!(".{key}"),
            Step::Index(index) => text += &format!("[{index}]"),
        }
    }
    format!("{text}.{UNKNOWN_KEY}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mapping_is_found() {
        let block = json!({ "a": 1, "b": { "c": [{ "d": {} }, [{}]] } });
        assert_eq!(mappings(&block).len(), 5);
    }
}
