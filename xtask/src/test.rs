//! `xtask test`: everything CI runs that this machine can run, and a plain list of what ran and what did not.

use crate::conformance::{self, Beside};
use crate::outcome::{Outcome, Stop};
use crate::run::{self, Progress, elapsed};
use crate::setup::{self, Need};
use crate::workspace::Workspace;
use crate::{docs, e2e, flags, new_provider, semver, simulate, tidy};
use std::collections::BTreeSet;
use std::env;
use std::time::{Duration, Instant};

/// One step. Those that are quick to fail come first.
struct Step {
    name: String,
    needs: Vec<Need>,
    /// Why this machine cannot run it, whatever is installed.
    impossible: Option<&'static str>,
    run: Box<dyn Fn(&Workspace) -> Outcome>,
}

/// How a step went.
enum Went {
    Well(Duration),
    Badly(Duration, String),
    LeftOut(String),
}

pub(crate) fn command(flags: &flags::Test) -> Outcome {
    let progress = Progress::new();
    let workspace = Workspace::read()?;
    let steps = asked_for(steps(&workspace), flags)?;
    if flags.list {
        steps.iter().for_each(|step| println!("{}", step.name));
        return Ok(());
    }
    let needs: Vec<_> =
        steps.iter().filter(|step| step.impossible.is_none()).flat_map(|step| step.needs.clone()).collect();
    let missing = setup::ensure(flags.install, &needs)?;
    let mut report = Vec::new();
    for (member, needs) in setup::TO_COMPILE {
        report.extend(left_out(needs, &missing).map(|why| (*member, Went::LeftOut(why))));
    }
    for step in &steps {
        let went = match step.left_out(&missing) {
            Some(why) => Went::LeftOut(why),
            None => run_step(&progress, &workspace, step),
        };
        report.push((step.name.as_str(), went));
    }
    println!();
    report.iter().for_each(|(name, went)| println!("{}", report_line(name, went)));
    verdict(&report, env::var("CI").is_ok_and(|value| value == "true"))
}

/// The system packages that each step and each member needs, by its name.
pub(crate) fn needs_of_steps() -> Vec<(&'static str, Vec<Need>)> {
    let programs = e2e::suite::PROGRAMS.iter().map(|(target, needs)| (target.name, needs.to_vec()));
    let compiled = setup::TO_COMPILE.iter().map(|(member, needs)| (*member, needs.to_vec()));
    compiled.chain(programs).chain(needs_of_backends()).collect()
}

fn needs_of_backends() -> [(&'static str, Vec<Need>); 4] {
    [
        ("e2e-kube", setup::KUBE.to_vec()),
        ("e2e-kube-node", [setup::KUBE, setup::OLD_KUBE, setup::NODE].concat()),
        ("e2e-kvm", [setup::LIBVIRT, setup::KVM].concat()),
        ("e2e-kvm-container", [setup::LIBVIRT, setup::KVM, setup::DOCKER].concat()),
    ]
}

fn steps(workspace: &Workspace) -> Vec<Step> {
    let mut steps = vec![
        step("tidy", |_| tidy::command()),
        cargo("fmt", &["fmt", "--all", "--check"]),
        step("clippy", clippy),
        step("docs", |_| docs::command(&flags::Docs { check: true })),
        step("semver", |_| semver::command(&flags::Semver { write: false, release: false })),
        step("cargo-test", cargo_test),
    ];
    for conformance::Provider { name, package } in conformance::with_suite(workspace) {
        let suite = |flags: &'static [&'static str]| {
            let (package, flags) =
                (package.clone(), flags.iter().map(|&flag| flag.to_owned()).collect::<Vec<_>>());
            move |workspace: &Workspace| conformance::run(workspace, &package, Beside::Everything, &flags)
        };
        let needs = setup::to_compile(&package).to_vec();
        steps.push(Step { needs, ..step(&format!("conformance-{name}"), suite(&[])) });
        if name == "memory" {
            steps.push(step("self-check", suite(&["--self-check"])));
        }
    }
    steps.push(step("simulate", simulate::step));
    steps.push(step("new-provider", new_provider::proof::step));
    for (target, needs) in e2e::suite::PROGRAMS {
        let run = |workspace: &Workspace| {
            run_cargo(
                workspace,
                &[&["test", "--locked"], &workspace.whole()[..], &["--test", target.name]].concat(),
            )
        };
        steps.push(Step { needs: needs.to_vec(), ..step(target.name, run) });
    }
    let [(kube, kube_needs), (node, node_needs), (kvm, kvm_needs), (docker, docker_needs)] =
        needs_of_backends();
    // The packages were asked for at the start, once for all steps.
    let install = flags::Install { no_install: true };
    if e2e::kube::has_tests(workspace) {
        let run = move |_: &Workspace| {
            e2e::kube::command(&flags::Kube { install, build_only: false, instead: Vec::new() })
        };
        steps.push(Step { needs: kube_needs, ..step(kube, run) });
    }
    if e2e::node::has_tests(workspace) {
        let run = move |_: &Workspace| {
            e2e::node::command(&flags::KubeNode { install, build_only: false, instead: Vec::new() })
        };
        steps.push(Step { needs: node_needs, impossible: e2e::node::impossible(), ..step(node, run) });
    }
    if e2e::kvm::has_tests(workspace) {
        for (name, needs, container) in [(kvm, kvm_needs, false), (docker, docker_needs, true)] {
            let run = move |_: &Workspace| {
                let instead = Vec::new();
                e2e::kvm::command(&flags::Kvm {
                    install,
                    build_only: false,
                    container,
                    // Once is enough.
                    suite: !container,
                    instead,
                })
            };
            steps.push(Step { needs, impossible: e2e::kvm::impossible(), ..step(name, run) });
        }
    }
    steps
}

fn step(name: &str, run: impl Fn(&Workspace) -> Outcome + 'static) -> Step {
    Step { name: name.to_owned(), needs: Vec::new(), impossible: None, run: Box::new(run) }
}

fn cargo(name: &str, words: &'static [&'static str]) -> Step {
    step(name, move |workspace| run_cargo(workspace, words))
}

fn run_cargo(workspace: &Workspace, words: &[&str]) -> Outcome {
    let mut command = workspace.cargo();
    command.args(words);
    println!("{}", run::line(&command));
    run::check(&mut command)
}

/// Targets that want a real backend are `test = false`, and `--all-targets` passes over those: they are named.
fn clippy(workspace: &Workspace) -> Outcome {
    let strict = ["--locked", "--", "-D", "warnings"];
    let whole = [&["clippy"], &workspace.whole()[..]].concat();
    run_cargo(workspace, &[&whole[..], &["--all-targets"], &strict].concat())?;
    let compiled = workspace.compiled();
    for (_, test) in e2e::suite::existing(workspace).filter(|(package, _)| compiled.contains(package)) {
        run_cargo(workspace, &[&whole[..], &["--test", test], &strict].concat())?;
    }
    Ok(())
}

/// Every test that needs no real backend. The conformance suites are left to their own steps, and documentation's
/// examples come after: cargo runs them only by themselves where targets are named.
fn cargo_test(workspace: &Workspace) -> Outcome {
    let whole = [&["test", "--locked", "--no-fail-fast"], &workspace.whole()[..]].concat();
    let mut words = [&whole[..], &["--lib", "--bins", "--examples"]].concat();
    for test in workspace.unasked_tests(&workspace.compiled()) {
        if test != conformance::SUITE {
            words.extend(["--test", test]);
        }
    }
    let targets = run_cargo(workspace, &words);
    let examples = run_cargo(workspace, &[&whole[..], &["--doc"]].concat());
    targets.and(examples)
}

fn asked_for(steps: Vec<Step>, flags: &flags::Test) -> Outcome<Vec<Step>> {
    let names: Vec<String> = steps.iter().map(|step| step.name.clone()).collect();
    if let Some(unknown) = flags.only.iter().chain(&flags.without).find(|name| !names.contains(name)) {
        return Err(Stop::cannot(format!(
            "there is no step `{unknown}`; the steps are {}",
            names.join(", ")
        )));
    }
    let asked =
        |name: &String| !flags.without.contains(name) && (flags.only.is_empty() || flags.only.contains(name));
    Ok(steps.into_iter().filter(|step| asked(&step.name)).collect())
}

impl Step {
    fn left_out(&self, missing: &BTreeSet<&str>) -> Option<String> {
        self.impossible.map(str::to_owned).or_else(|| left_out(&self.needs, missing))
    }
}

fn left_out(needs: &[Need], missing: &BTreeSet<&str>) -> Option<String> {
    let packages: BTreeSet<_> =
        needs.iter().map(|need| need.package).filter(|package| missing.contains(package)).collect();
    if packages.is_empty() {
        return None;
    }
    let packages: Vec<_> = packages.into_iter().collect();
    Some(format!("not installed: {}; `cargo xtask setup` installs them", packages.join(", ")))
}

fn run_step(progress: &Progress, workspace: &Workspace, step: &Step) -> Went {
    progress.say(&format!("{} begins", step.name));
    let began = Instant::now();
    let outcome = (step.run)(workspace);
    let took = began.elapsed();
    match outcome {
        Ok(()) => {
            progress.say(&format!("{} passed in {}", step.name, elapsed(took)));
            Went::Well(took)
        }
        Err(stop) => {
            let says = if stop.says.is_empty() { format!("exit code {}", stop.code) } else { stop.says };
            progress.say(&format!("{} FAILED after {}: {says}", step.name, elapsed(took)));
            Went::Badly(took, says)
        }
    }
}

fn report_line(name: &str, went: &Went) -> String {
    match went {
        Went::Well(took) => format!("ran       {name} ({})", elapsed(*took)),
        Went::Badly(took, says) => {
            format!("FAILED    {name} ({}): {}", elapsed(*took), says.lines().next().unwrap_or(""))
        }
        Went::LeftOut(why) => format!("left out  {name}: {why}"),
    }
}

/// A failure outweighs a step left out. What is left out fails a run only in CI, where everything asked for must run.
fn verdict(report: &[(&str, Went)], ci: bool) -> Outcome {
    let names = |wanted: fn(&Went) -> bool| {
        let names: Vec<_> = report.iter().filter(|(_, went)| wanted(went)).map(|(name, _)| *name).collect();
        names.join(", ")
    };
    let failed = names(|went| matches!(went, Went::Badly(..)));
    let left_out = names(|went| matches!(went, Went::LeftOut(_)));
    if !failed.is_empty() {
        return Err(Stop::failed(format!("failed: {failed}")));
    }
    if ci && !left_out.is_empty() {
        return Err(Stop::left_out(format!(
            "left out: {left_out}; in CI everything asked for must run (`--without STEP` does not ask for it)"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOK: Duration = Duration::from_secs(1);

    #[test]
    fn what_was_left_out_counts_in_ci_only() {
        let report = [("a", Went::Well(TOOK)), ("b", Went::LeftOut("no root".into()))];
        assert!(verdict(&report, false).is_ok());
        let stop = verdict(&report, true).unwrap_err();
        assert_eq!(stop.code, 3);
        assert!(stop.says.contains("left out: b"), "{}", stop.says);
    }

    #[test]
    fn a_failure_outweighs_what_was_left_out() {
        let report = [("a", Went::Badly(TOOK, "no".into())), ("b", Went::LeftOut("no root".into()))];
        assert_eq!(verdict(&report, true).unwrap_err().code, 1);
    }

    #[test]
    fn a_step_without_its_packages_says_which() {
        let step = Step { needs: vec![setup::KUBE[0]], ..step("x", |_| Ok(())) };
        let why = step.left_out(&BTreeSet::from(["openssl"])).unwrap();
        assert!(why.contains("openssl"), "{why}");
        assert_eq!(step.left_out(&BTreeSet::from(["docker.io"])), None);
    }

    #[test]
    fn an_unknown_step_is_told_the_known_ones() {
        let flags = flags::Test {
            install: flags::Install { no_install: true },
            only: vec!["nope".into()],
            without: Vec::new(),
            list: false,
        };
        let stop = asked_for(vec![step("fmt", |_| Ok(()))], &flags).err().unwrap();
        assert_eq!(stop.code, 2);
        assert!(stop.says.contains("the steps are fmt"), "{}", stop.says);
    }
}
