//! Strict YAML config: every problem of a file is reported at once, each with its path and line.
//!
//! Plain deserialisation stops at the first error; here the file is read into a tree first and the tree is read
//! through [`Fields`], which goes on after a problem and finds unknown keys by itself. An author reads the block of a
//! provider with it: what [`Fields`] can read is on its page, and which types a value can have on [`FromNode`]'s. What all
//! entries share is read already, into [`Shared`].
//!
//! Serves `runtime.strict-config` and `runtime.all-config-errors-at-once`.

mod entry;
mod fields;
mod node;
mod value;

pub use entry::{BudgetOverrides, Probe, Shared};
pub(crate) use fields::Collector;
pub use fields::{ConfigReport, Fields, Problem};
pub use node::{Mapping, Node};
pub use value::FromNode;

/// Reads a strict YAML or JSON text that is no provider config, by its top-level mapping: the kit's catalogues of
/// native errors are such texts.
///
/// ```
/// use provider_api::config;
/// let report = config::read("nmae: x", |top| top.required::<String>("name")).unwrap_err();
/// assert_eq!(report.0.len(), 2, "one key is unknown, and one is missing");
/// ```
///
/// It is also how a test reads a block by itself.
///
/// # Errors
/// Everything that is wrong with the text at once; also when `read` has no value to give and reported nothing.
pub fn read<T>(yaml: &str, read: impl FnOnce(&mut Fields<'_>) -> Option<T>) -> Result<T, ConfigReport> {
    let root = Node::parse(yaml)?;
    let collector = Collector::default();
    let value = Fields::new(String::new(), &root, &collector).and_then(|mut top| read(&mut top));
    if value.is_none() && collector.len() == 0 {
        collector.push("", root.line, "cannot be read, and the reader did not say why");
    }
    let value = collector.into_result(value)?;
    Ok(value.expect("a text without a value has a problem"))
}
