//! The report as JSON, whole: nothing is cut, and a reader finds what the structure in `mod.rs` says.

use super::Report;

/// The report as indented JSON.
pub fn render(report: &Report) -> String {
    let mut text = serde_json::to_string_pretty(report).expect("a report is made of text and numbers");
    text.push('\n');
    text
}
