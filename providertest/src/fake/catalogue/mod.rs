//! Catalogues of native errors that are loaded from data: YAML or JSON, read strictly.
//!
//! ```
//! use std::sync::LazyLock;
//!
//! use provider_api::{Catalogue, Class};
//! use providertest::fake::catalogue;
//!
//! // In a test crate: `include_str!("errors.yaml")`.
//! const TEXT: &str = r#"
//! source: Machines API v1, page "Errors"
//! placeholders: [name]
//! sets:
//!   every: [get, list, create, delete]
//! errors:
//!   - id: not-found
//!     on: [get, delete]
//!     class: NotFound
//!     status: 404
//!     code: notFound
//!     text: there is no machine {name}
//!   - id: already-exists
//!     on: [create]
//!     class: Transient
//!     toleratedBy: [create]
//!     status: 409
//!   - id: stock-out
//!     on: [create]
//!     class: QuotaExceeded
//!     shows: task
//!     source: a report of March 2026
//!   - id: slow-down
//!     on: [every]
//!     class: QuotaExceeded
//!     status: 429
//!     fields: { retry-after: "30" }
//! "#;
//!
//! static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| catalogue::load(&[("errors.yaml", TEXT)]).unwrap());
//!
//! assert_eq!(CATALOGUE.on("create").count(), 3);
//! let gone = CATALOGUE.get("not-found").unwrap();
//! assert_eq!(gone.class, Class::NotFound);
//! assert_eq!(catalogue::worded(gone, &[("name", "a")]), "there is no machine a");
//! ```
//!
//! A text is a mapping:
//!
//! | key | holds |
//! |---|---|
//! | `errors` | the table, in the order of the catalogue; it must be there |
//! | `source` | where the errors were seen that name no source of their own |
//! | `sets` | lists of kinds by name, which an `on` may name in the place of kinds |
//! | `placeholders` | the names that texts may have in braces, beside those of the error's own fields |
//!
//! Each error of the table is a mapping too. The first four must be there, `source` unless the text has one; what they mean
//! [`NativeError`] says.
//!
//! | key | holds |
//! |---|---|
//! | `id` | its name, once in all texts |
//! | `on` | a list of kinds of calls, or of sets |
//! | `class` | `NotFound`, `QuotaExceeded`, `Transient` or `Permanent` |
//! | `source` | where it was seen |
//! | `status` | a number |
//! | `code` | text |
//! | `text` | the backend's words, with `{name}` for what is filled in |
//! | `fields` | text by name: numbers in quotes; `retry-after` in whole seconds |
//! | `shows` | `answer`, which is the default, `task` or `stream` |
//! | `toleratedBy` | a list of `create`, `get`, `delete`, `list`, `leftovers`, `check` |

mod read;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Mutex, PoisonError},
};

use provider_api::{Catalogue, NativeError, config::Problem};

/// Loads a catalogue of one table for each text, in their order. The names are for messages.
///
/// Catalogues are static: a text's table is made once and kept until the process ends, however often it is loaded.
///
/// # Errors
/// Everything that is wrong with any of the texts at once.
pub fn load(texts: &[(&str, &str)]) -> Result<Catalogue, CatalogueReport> {
    static MADE: Mutex<BTreeMap<Vec<String>, Catalogue>> = Mutex::new(BTreeMap::new());
    let key: Vec<_> = texts.iter().map(|(_, text)| (*text).to_owned()).collect();
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(catalogue) = made.get(&key) {
        return Ok(*catalogue);
    }
    let tables = read::tables(texts)?;
    let tables: Vec<&'static [NativeError]> = tables.into_iter().map(|table| &*table.leak()).collect();
    let catalogue = Catalogue(tables.leak());
    made.insert(key, catalogue);
    Ok(catalogue)
}

/// The text of an error with its placeholders filled in: from `with`, otherwise from its own fields. What neither
/// names stays as it is.
pub fn worded(error: &NativeError, with: &[(&str, &str)]) -> String {
    let fields = error.fields.iter().filter(|(key, _)| !with.iter().any(|(other, _)| other == key));
    let mut text = String::with_capacity(error.text.len());
    let mut rest = error.text;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let value = after.split_once('}').and_then(|(name, after)| {
            let mut known = with.iter().chain(fields.clone());
            Some((known.find(|(key, _)| *key == name)?.1, after))
        });
        match value {
            Some((value, after)) => {
                text.push_str(value);
                rest = after;
            }
            None => {
                text.push('{');
                rest = after;
            }
        }
    }
    text + rest
}

/// Everything that is wrong with the texts of a catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogueReport(Vec<(String, Problem)>);

impl CatalogueReport {
    /// The problems, each with the name of its text, and in it the path and the line.
    pub fn problems(&self) -> &[(String, Problem)] {
        &self.0
    }
}

impl fmt::Display for CatalogueReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [(name, only)] => write!(f, "the catalogue has a problem: {name}: {only}"),
            many => {
                write!(f, "the catalogue has {} problems:", many.len())?;
                many.iter().try_for_each(|(name, problem)| write!(f, "\n  {name}: {problem}"))
            }
        }
    }
}

impl std::error::Error for CatalogueReport {}
