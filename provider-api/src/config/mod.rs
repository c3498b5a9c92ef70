//! Strict YAML config: every problem of a file is reported at once, each with its path and line.
//!
//! Plain deserialisation stops at the first error; here the file is read into a tree first and the tree is read
//! through [`Fields`], which goes on after a problem and finds unknown keys by itself.

mod entry;
mod fields;
mod node;
mod value;

pub use entry::{BudgetOverrides, Probe, Shared};
pub(crate) use fields::Collector;
pub use fields::{ConfigReport, Fields, Problem};
pub use node::{Mapping, Node};
pub use value::FromNode;
