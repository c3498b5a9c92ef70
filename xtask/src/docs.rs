//! `xtask docs`: the documentation builds without a warning, and the generated pages are what their programs print.

use crate::flags;
use crate::outcome::Outcome;
use crate::run;
use crate::workspace::Workspace;

pub(crate) fn command(_flags: &flags::Docs) -> Outcome {
    let workspace = Workspace::read()?;
    let mut command = workspace.cargo();
    command.args(["doc", "--workspace", "--no-deps", "--locked"]).env("RUSTDOCFLAGS", "-D warnings");
    run::check(&mut command)
}
