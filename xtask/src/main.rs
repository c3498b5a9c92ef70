//! The workspace's own commands. One file per command; this one parses, dispatches and turns the outcome into an
//! exit code. Nothing here links a crate of the workspace: what a command needs, it asks cargo to run.

mod bench;
mod cache;
mod conformance;
mod docs;
mod e2e;
mod flags;
mod new_provider;
mod outcome;
mod run;
mod semver;
mod setup;
mod simulate;
mod test;
mod tidy;
mod workspace;

use clap::Parser;
use flags::{Command, E2e, Flags};
use outcome::Outcome;
use std::process::ExitCode;

fn main() -> ExitCode {
    match dispatch(Flags::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(stop) => {
            if !stop.says.is_empty() {
                eprintln!("xtask: {}", stop.says);
            }
            ExitCode::from(stop.code)
        }
    }
}

fn dispatch(command: Command) -> Outcome {
    match command {
        Command::Setup(flags) => setup::command(&flags),
        Command::Conformance(flags) => conformance::command(&flags),
        Command::NewProvider(flags) => new_provider::command(&flags),
        Command::Test(flags) => test::command(&flags),
        Command::E2e(E2e::Kube(flags)) => e2e::kube::command(&flags),
        Command::E2e(E2e::KubeNode(flags)) => e2e::node::command(&flags),
        Command::E2e(E2e::Kvm(flags)) => e2e::kvm::command(&flags),
        Command::E2e(E2e::Reap) => e2e::reaper::command(),
        Command::Simulate(flags) => simulate::command(&flags),
        Command::Bench(flags) => bench::command(&flags),
        Command::Docs(flags) => docs::command(&flags),
        Command::Semver(flags) => semver::command(&flags),
        Command::Tidy => tidy::command(),
    }
}
