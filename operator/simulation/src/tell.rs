//! What a person sees: a bar while it runs, and a table. In a pipe there is no bar, and the table has no colours.

use std::io::{IsTerminal, stderr, stdout};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar on a terminal; nothing otherwise.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    pub(crate) fn new(length: usize, of: &'static str) -> Self {
        let target = match stderr().is_terminal() && length > 1 {
            true => ProgressDrawTarget::stderr_with_hz(10),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(length as u64), target);
        let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg}, {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(of);
        Self(bar)
    }

    pub(crate) fn one_more(&self) {
        self.0.inc(1);
    }

    /// Prints something with the bar out of the way.
    pub(crate) fn quietly(&self, print: impl FnOnce()) {
        self.0.suspend(print);
    }

    pub(crate) fn end(&self) {
        self.0.finish_and_clear();
    }
}

/// A row of a table, and whether it tells of something good.
pub(crate) struct Row {
    pub(crate) is_well: bool,
    pub(crate) cells: [String; 4],
}

/// How much of the last column fits.
const LAST: usize = 90;

/// Prints a table.
pub(crate) fn table(head: [&str; 4], rows: &[Row]) {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row.cells[column].chars().count());
        cells.chain([head[column].len()]).max().unwrap_or_default()
    };
    let widths = [width(0), width(1), width(2)];
    let line = |cells: [&str; 4]| {
        let [first, second, third] = [0, 1, 2].map(|column| format!("{:<1$}", cells[column], widths[column]));
        let last: String = cells[3].chars().take(LAST).collect();
        format!("{first}  {second}  {third}  {last}")
    };
    let coloured = |text: String, colour: &str| match stdout().is_terminal() {
        true => format!("\x1b[{colour}m{text}\x1b[0m"),
        false => text,
    };
    println!("{}", coloured(line(head), "1"));
    for row in rows {
        let cells = [0, 1, 2, 3].map(|column| row.cells[column].as_str());
        println!("{}", coloured(line(cells), if row.is_well { "32" } else { "31" }));
    }
}
