//! One line of a case's story while it is being written: an operation that has begun, and what comes of it. A line that
//! nobody ends is written all the same: a report shows the operation that panicked, or that never answered.
//! Beside it what a line says of a request or of a restart, where that is not the plain one.

use std::fmt::{self, Display, Write as _};

use provider_api::CreateRequest;

use crate::{
    harness::Shape,
    world::{Tweaks, World},
};

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

/// What an operation answered, as it ends a line.
pub(crate) fn said<T: Display, E: Display>(result: &Result<T, E>) -> String {
    match result {
        Ok(value) => value.to_string(),
        Err(error) => format!("error: {error}"),
    }
}

/// Which failure a create says that its caller has seen; nothing where it says none.
pub(crate) fn acknowledging(request: &CreateRequest) -> String {
    match &request.acknowledged_failure {
        Some(failure) => format!(", which acknowledges {failure}"),
        None => String::new(),
    }
}

/// As it ends a line: how the provider is built where that is not the plain way.
impl Display for Tweaks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (key, value) in &self.common {
            write!(f, ", with {key} {value}")?;
        }
        for shape in &self.shape {
            match shape {
                Shape::Without(target) => write!(f, ", without the target {target}")?,
                Shape::Decommissioned(target) => write!(f, ", with the target {target} decommissioned")?,
                Shape::Broken => f.write_str(", with a config that does not load")?,
            }
        }
        if let Some(installation) = &self.installation {
            write!(f, ", as the installation {installation}")?;
        }
        for adopted in &self.adopt {
            write!(f, ", adopting {adopted}")?;
        }
        Ok(())
    }
}
