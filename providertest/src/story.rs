//! One line of a case's story while it is being written: an operation that has begun, and what comes of it. A line that
//! nobody ends is written all the same: a report shows the operation that panicked, or that never answered.

use std::fmt::{Display, Write as _};

use crate::world::World;

/// An operation under way.
pub(crate) struct Line<'w> {
    world: &'w World,
    text: String,
    ended: bool,
}

impl World {
    /// Begins a line of the case's story.
    pub(crate) fn begins(&self, what: impl Display) -> Line<'_> {
        Line { world: self, text: what.to_string(), ended: false }
    }
}

impl Line<'_> {
    /// Writes the line with its end.
    pub(crate) fn ends(mut self, said: impl Display) {
        self.end(said);
    }

    fn end(&mut self, said: impl Display) {
        let _ = write!(self.text, " -> {said}");
        self.ended = true;
        self.world.note(std::mem::take(&mut self.text));
    }
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.end(if std::thread::panicking() { "a panic" } else { "no answer" });
        }
    }
}
