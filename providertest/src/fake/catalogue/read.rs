//! Reads the texts of a catalogue, and goes on after a problem, so that all are said at once.

use std::collections::{BTreeMap, BTreeSet};

use provider_api::{
    Class, NativeError, Operation, Shows,
    config::{self, Fields},
};

use super::CatalogueReport;

/// Where each id was first seen.
type Ids = BTreeMap<String, String>;
/// Named lists of kinds.
type Sets = BTreeMap<String, Vec<String>>;
/// Names and values in the order of the text.
type Pairs = Vec<(String, String)>;

pub(super) fn tables(texts: &[(&str, &str)]) -> Result<Vec<Vec<NativeError>>, CatalogueReport> {
    let mut ids = Ids::new();
    let (mut tables, mut problems) = (Vec::new(), Vec::new());
    for (name, text) in texts {
        match config::read(text, |top| Some(table(top, name, &mut ids))) {
            // Only a text without a problem is kept, and with it what is made of it for good.
            Ok(entries) => tables.push(entries),
            Err(report) => {
                problems.extend(report.0.into_iter().map(|problem| ((*name).to_owned(), problem)));
            }
        }
    }
    if !problems.is_empty() {
        return Err(CatalogueReport(problems));
    }
    Ok(tables.into_iter().map(|entries| entries.into_iter().map(Entry::keep).collect()).collect())
}

fn table(top: &mut Fields<'_>, file: &str, ids: &mut Ids) -> Vec<Entry> {
    let source = top.optional::<String>("source");
    let placeholders: BTreeSet<String> = top.or("placeholders", Vec::new()).into_iter().collect();
    let sets = top.or("sets", Vec::<(String, Vec<String>)>::new()).into_iter().collect();
    if top.find("errors").is_none() {
        top.problem("errors", "is missing; expected a list of errors");
    }
    let errors = top.each("errors");
    errors
        .into_iter()
        .filter_map(|mut fields| entry(&mut fields, file, ids, source.as_deref(), &placeholders, &sets))
        .collect()
}

/// An error that is not leaked yet: some later text may have a problem.
struct Entry {
    id: String,
    on: Vec<String>,
    class: Class,
    source: String,
    shows: Shows,
    status: Option<u32>,
    code: String,
    fields: Pairs,
    text: String,
    tolerated_by: Vec<Operation>,
}

fn entry(
    fields: &mut Fields<'_>,
    file: &str,
    ids: &mut Ids,
    source: Option<&str>,
    placeholders: &BTreeSet<String>,
    sets: &Sets,
) -> Option<Entry> {
    let id = fields.required::<String>("id");
    if let Some(id) = &id {
        match ids.get(id) {
            Some(first) => fields.problem("id", format!("{id:?} is taken by {first}")),
            None => {
                ids.insert(id.clone(), format!("{} of {file}", fields.path()));
            }
        }
    }
    let on = kinds(fields, sets);
    let class = fields.required::<String>("class");
    let class = class.and_then(|name| named(fields, "class", &name, &Class::ALL, Class::as_str));
    let shows = fields.optional::<String>("shows");
    let shows = match shows {
        Some(name) => named(fields, "shows", &name, &SHOWS, shown),
        None => Some(Shows::Answer),
    };
    let operations = fields.or("toleratedBy", Vec::<String>::new());
    let tolerated_by: Vec<_> = operations
        .iter()
        .enumerate()
        .map(|(index, name)| {
            let at = format!("toleratedBy[{index}]");
            named(fields, &at, name, &Operation::ALL, Operation::as_str)
        })
        .collect();
    let own = fields.or("fields", Pairs::new());
    let text = fields.optional::<String>("text").unwrap_or_default();
    for wrong in
        wrong_braces(&text, |name| placeholders.contains(name) || own.iter().any(|(key, _)| key == name))
    {
        fields.problem("text", wrong);
    }
    let source = match (fields.optional::<String>("source"), source) {
        (Some(own), _) => Some(own),
        (None, Some(shared)) => Some(shared.to_owned()),
        (None, None) => {
            fields.problem("source", "is missing; say where the error was seen, here or for the whole text");
            None
        }
    };
    let (status, code) = (fields.optional("status"), fields.optional("code").unwrap_or_default());
    Some(Entry {
        id: id?,
        on: on?,
        class: class?,
        source: source?,
        shows: shows?,
        status,
        code,
        fields: own,
        text,
        tolerated_by: tolerated_by.into_iter().collect::<Option<_>>()?,
    })
}

/// The kinds that an error answers, with the sets in place of their names.
fn kinds(fields: &mut Fields<'_>, sets: &Sets) -> Option<Vec<String>> {
    let written = fields.required::<Vec<String>>("on")?;
    if written.is_empty() {
        fields.problem("on", "is empty; an error answers some kind of call");
        return None;
    }
    let mut kinds: Vec<String> = Vec::new();
    for (index, name) in written.iter().enumerate() {
        for kind in sets.get(name).map_or(std::slice::from_ref(name), Vec::as_slice) {
            if kinds.contains(kind) {
                fields.problem(&format!("on[{index}]"), format!("{kind:?} is named before"));
            } else {
                kinds.push(kind.clone());
            }
        }
    }
    Some(kinds)
}

/// One of a few values by its name.
fn named<T: Copy>(
    fields: &Fields<'_>,
    key: &str,
    name: &str,
    all: &[T],
    spell: impl Fn(T) -> &'static str,
) -> Option<T> {
    let found = all.iter().copied().find(|value| spell(*value) == name);
    if found.is_none() {
        let known: Vec<_> = all.iter().map(|value| spell(*value)).collect();
        fields.problem(key, format!("{name:?} is not one of {}", known.join(", ")));
    }
    found
}

const SHOWS: [Shows; 3] = [Shows::Answer, Shows::Task, Shows::Stream];

fn shown(shows: Shows) -> &'static str {
    match shows {
        Shows::Answer => "answer",
        Shows::Task => "task",
        Shows::Stream => "stream",
    }
}

/// What is wrong with the braces of a text. A text may have braces of its own: only `{name}` of letters, digits, dots,
/// `-` and `_` stands for something.
fn wrong_braces(text: &str, known: impl Fn(&str) -> bool) -> Vec<String> {
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
    };
    let names = text.split('{').skip(1).filter_map(|after| Some(after.split_once('}')?.0));
    names
        .filter(|name| is_name(name) && !known(name))
        .map(|name| format!("{{{name}}} stands for nothing; name it among the placeholders or the fields"))
        .collect()
}

impl Entry {
    /// Makes it static.
    fn keep(self) -> NativeError {
        let on: Vec<&'static str> = self.on.into_iter().map(keep).collect();
        let fields: Vec<(&'static str, &'static str)> =
            self.fields.into_iter().map(|(key, value)| (keep(key), keep(value))).collect();
        let mut error = NativeError::new(keep(self.id), on.leak(), self.class, keep(self.source))
            .code(keep(self.code))
            .fields(fields.leak())
            .text(keep(self.text))
            .shows(self.shows)
            .tolerated_by(self.tolerated_by.leak());
        error.status = self.status;
        error
    }
}

fn keep(text: String) -> &'static str {
    if text.is_empty() { "" } else { text.leak() }
}
