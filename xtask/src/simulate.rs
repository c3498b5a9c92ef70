//! `xtask simulate`: the operator in worlds that try to break it. What it can do is the business of the simulation's own
//! binary, and so are its flags.

use crate::flags;
use crate::outcome::Outcome;
use crate::run;
use crate::workspace::Workspace;
use std::process::Command;

pub(crate) fn command(flags: &flags::Simulate) -> Outcome {
    run::hand_on(simulate(&Workspace::read()?).args(&flags.flags))
}

/// What CI plays: worlds by seeds that are the same each time, every sweep, and the saboteurs.
pub(crate) fn step(workspace: &Workspace) -> Outcome {
    for flags in [&["--seeds", "300", "--proxies", "5"][..], &["--sweep"], &["--saboteurs"]] {
        let mut command = simulate(workspace);
        command.args(flags);
        println!("{}", run::line(&command));
        run::check(&mut command)?;
    }
    Ok(())
}

/// The binary, optimised: a world is millions of steps.
fn simulate(workspace: &Workspace) -> Command {
    let mut command = workspace.cargo();
    command.args(["run", "--quiet", "--locked", "--profile", "simulation"]);
    command.args(["--package", "operator-simulation", "--bin", "simulate", "--"]);
    command
}
