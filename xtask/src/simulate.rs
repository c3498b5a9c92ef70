//! `xtask simulate`: the operator in worlds that try to break it. What it can do is the business of the simulation's own
//! binary, and so are its flags.

use crate::conformance::{built, executable};
use crate::flags;
use crate::outcome::{Outcome, Stop};
use crate::run;
use crate::workspace::Workspace;
use std::process::Command;

/// The tests that have the binary built beside them.
const TESTS: &str = "worlds";
/// The binary.
const BINARY: &str = "simulate";

pub(crate) fn command(flags: &flags::Simulate) -> Outcome {
    run::hand_on(simulate(&Workspace::read()?)?.args(&flags.flags))
}

/// What CI plays, the same each time and in a minute and a half: worlds by their seeds, and a part of the sweeps.
pub(crate) fn step(workspace: &Workspace) -> Outcome {
    for flags in [&["--seeds", "200", "--proxies", "5"][..], &["--sweep", "--every", "20"]] {
        let mut command = simulate(workspace)?;
        command.args(flags);
        println!("{}", run::line(&command));
        run::check(&mut command)?;
    }
    Ok(())
}

/// The binary as tests of the whole workspace have it built, so that nothing is compiled twice. Cargo does not run it: a
/// plan's path is one from where the command was given.
fn simulate(workspace: &Workspace) -> Outcome<Command> {
    let mut cargo = workspace.cargo();
    cargo.args(["test", "--locked"]).args(workspace.whole()).args(["--test", TESTS]);
    let messages = built(&mut cargo, "the simulation")?;
    let binary = executable(&messages, BINARY)
        .ok_or_else(|| Stop::cannot("cargo built the simulation and did not say where it is"))?;
    Ok(Command::new(binary))
}
