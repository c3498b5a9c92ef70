//! Reads a mapping key by key and collects every problem on the way; the report of these problems is here too.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::PathBuf,
};

use super::{FromNode, Mapping, Node, node::Value};

/// One thing that is wrong with a config file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where: `providers[2].kubernetes.image`.
    pub path: String,
    /// The line, where it is known.
    pub line: Option<u64>,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

/// Everything that is wrong with a config file, in the order of its lines (`runtime.all-config-errors-at-once`). As text it
/// has one line for each problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigReport(pub Vec<Problem>);

impl fmt::Display for ConfigReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [only] => write!(f, "the config has a problem: {only}"),
            many => {
                write!(f, "the config has {} problems:", many.len())?;
                many.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
            }
        }
    }
}

impl std::error::Error for ConfigReport {}

/// Where problems are collected while a file is read, and the paths that were read as such.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    problems: RefCell<Vec<Problem>>,
    paths: RefCell<Vec<PathBuf>>,
}

impl Collector {
    pub(crate) fn push(&self, path: &str, line: u64, message: impl Into<String>) {
        let line = (line > 0).then_some(line);
        self.problems.borrow_mut().push(Problem { path: path.to_owned(), line, message: message.into() });
    }

    pub(crate) fn len(&self) -> usize {
        self.problems.borrow().len()
    }

    pub(crate) fn found_path(&self, path: &std::path::Path) {
        self.paths.borrow_mut().push(path.to_owned());
    }

    /// The paths that were read since this was asked last.
    pub(crate) fn take_paths(&self) -> Vec<PathBuf> {
        self.paths.take()
    }

    pub(crate) fn into_result<T>(self, value: T) -> Result<T, ConfigReport> {
        let mut problems = self.problems.into_inner();
        problems.sort_by_key(|problem| problem.line);
        if problems.is_empty() { Ok(value) } else { Err(ConfigReport(problems)) }
    }
}

/// A mapping that is being read. Keys that nobody asked for are reported when it is dropped
/// (`runtime.strict-config`), so ask for every key before you give up with `?`: a key that was not reached would count as
/// unknown.
///
/// Reading goes on after a problem. A method that answers `None` has reported why, unless the key may be left out.
///
/// ```
/// use std::{path::PathBuf, time::Duration};
/// use provider_api::config::{self, Fields};
///
/// struct Acme { token: PathBuf, zones: Vec<String>, sizes: Vec<(String, u32)>, patience: Duration }
///
/// fn read(fields: &mut Fields<'_>) -> Option<Acme> {
///     let token = fields.required::<PathBuf>("credentialsFile");
///     let zones: Vec<_> = fields.each("zones").into_iter().map(|mut zone| zone.required("name")).collect();
///     let sizes = fields.required::<Vec<(String, u32)>>("machineTypes"); // in the order of the file
///     let patience = fields.or("patience", Duration::from_secs(30));
///     if zones.is_empty() {
///         fields.problem("zones", "has no zone; at least one is needed");
///     }
///     Some(Acme { token: token?, zones: zones.into_iter().collect::<Option<_>>()?, sizes: sizes?, patience })
/// }
///
/// let acme = config::read("{credentialsFile: /t, zones: [{name: eu-1}], machineTypes: {s: 1, l: 4}}", read).unwrap();
/// assert_eq!((acme.zones[0].as_str(), acme.sizes[1].1, acme.patience.as_secs()), ("eu-1", 4, 30));
/// assert!(acme.token.is_absolute());
///
/// let report = config::read("{zones: [{name: eu-1, colour: red}], machineTypes: 7}", read).err().unwrap();
/// let text = report.to_string();
/// for problem in ["credentialsFile: is missing", "zones[0].colour: is not a known key", "machineTypes: expected"] {
///     assert!(text.contains(problem), "{text}");
/// }
/// ```
#[derive(Debug)]
pub struct Fields<'n> {
    path: String,
    line: u64,
    map: &'n [(String, Node)],
    known: BTreeSet<&'static str>,
    collector: &'n Collector,
}

impl<'n> Fields<'n> {
    pub(crate) fn new(path: String, node: &'n Node, collector: &'n Collector) -> Option<Self> {
        let map: &Mapping = match &node.value {
            Value::Map(map) => map,
            Value::Null => const { &Vec::new() },
            _ => {
                collector.push(&path, node.line, format!("expected a mapping, found {}", node.kind()));
                return None;
            }
        };
        let fields = Self { path, line: node.line, map, known: BTreeSet::new(), collector };
        fields.report_duplicates();
        Some(fields)
    }

    /// Where this mapping stands, as problems name it: `providers[2].acme`; empty at the top level.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// A field that must be there; one that is missing or malformed is reported.
    pub fn required<T: FromNode>(&mut self, key: &'static str) -> Option<T> {
        match self.find(key) {
            Some(node) => self.read(key, node),
            None => {
                self.problem(key, format!("is missing; expected {}", T::EXPECTED));
                None
            }
        }
    }

    /// A field that may be left out, or be `null`; a malformed one is reported.
    pub fn optional<T: FromNode>(&mut self, key: &'static str) -> Option<T> {
        let node = self.find(key)?;
        self.read(key, node)
    }

    /// A field with a default. A malformed one is reported, and reading goes on with the default.
    pub fn or<T: FromNode>(&mut self, key: &'static str, default: T) -> T {
        self.optional(key).unwrap_or(default)
    }

    /// A nested mapping; one that is left out is read as empty, so that its required fields are reported.
    pub fn section(&mut self, key: &'static str) -> Option<Fields<'n>> {
        let path = self.at(key);
        match self.find(key) {
            Some(node) => Fields::new(path, node, self.collector),
            None => {
                let (line, collector) = (self.line, self.collector);
                Some(Fields { path, line, map: &[], known: BTreeSet::new(), collector })
            }
        }
    }

    /// A list of mappings, each read by fields of its own; none when the list is left out. What is no list, or no mapping, is
    /// reported.
    pub fn each(&mut self, key: &'static str) -> Vec<Fields<'n>> {
        self.each_with_node(key).into_iter().map(|(_, fields)| fields).collect()
    }

    pub(crate) fn each_with_node(&mut self, key: &'static str) -> Vec<(&'n Node, Fields<'n>)> {
        let Some(node) = self.find(key) else { return Vec::new() };
        let Value::List(items) = &node.value else {
            self.problem(key, format!("expected a list, found {}", node.kind()));
            return Vec::new();
        };
        let at = |index| format!("{}[{index}]", self.at(key));
        let read =
            |(index, item): (usize, &'n Node)| Some((item, Fields::new(at(index), item, self.collector)?));
        items.iter().enumerate().filter_map(read).collect()
    }

    /// A mapping from free keys to mappings, in the order of the file: a catalogue. For free keys and plain values read a
    /// `Vec<(String, T)>` instead.
    pub fn catalogue(&mut self, key: &'static str) -> Vec<(&'n str, Fields<'n>)> {
        let Some(node) = self.find(key) else { return Vec::new() };
        let Value::Map(map) = &node.value else {
            self.problem(key, format!("expected a mapping, found {}", node.kind()));
            return Vec::new();
        };
        let at = |name: &str| format!("{}.{name}", self.at(key));
        map.iter()
            .filter_map(|(name, item)| Some((name.as_str(), Fields::new(at(name), item, self.collector)?)))
            .collect()
    }

    /// Reports a problem with a field, or with something inside it: `ranges`, `ranges[2]`, `owner.name`. The text says what
    /// is wrong and what would be right, and quotes no secret.
    pub fn problem(&self, key: &str, message: impl Into<String>) {
        let field = key.split(['[', '.']).next().unwrap_or(key);
        let line = self.map.iter().find(|(other, _)| other == field).map_or(self.line, |(_, node)| node.line);
        self.collector.push(&self.at(key), line, message);
    }

    /// The raw node under a key, which then counts as known; `None` where it is left out or `null`.
    pub fn find(&mut self, key: &'static str) -> Option<&'n Node> {
        self.known.insert(key);
        self.map.iter().find(|(other, node)| other == key && node.value != Value::Null).map(|(_, node)| node)
    }

    /// Reports a `name` that an earlier mapping has too; `lines` remembers where each one stands.
    pub(crate) fn report_taken_name(&mut self, lines: &mut BTreeMap<String, u64>) {
        let Some(Value::Text(name)) = self.find("name").map(|node| &node.value) else { return };
        if let Some(line) = lines.get(name) {
            self.problem("name", format!("{name:?} is taken by the entry on line {line}"));
        } else {
            lines.insert(name.clone(), self.line);
        }
    }

    /// Lets every other key pass: without a known type nobody can tell which are right.
    pub(crate) fn ignore_rest(&mut self) {
        self.map = &[];
    }

    fn read<T: FromNode>(&self, key: &str, node: &Node) -> Option<T> {
        T::from_node(node, &self.at(key), self.collector)
    }

    fn at(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn report_duplicates(&self) {
        for (index, (key, node)) in self.map.iter().enumerate() {
            if self.map[..index].iter().any(|(other, _)| other == key) {
                self.collector.push(&self.at(key), node.line, "is given more than once");
            }
        }
    }
}

impl Drop for Fields<'_> {
    fn drop(&mut self) {
        for (key, node) in self.map {
            if !self.known.contains(key.as_str()) {
                let known = self.known.iter().copied().collect::<Vec<_>>().join(", ");
                self.collector.push(
                    &self.at(key),
                    node.line,
                    format!("is not a known key; known are: {known}"),
                );
            }
        }
    }
}
