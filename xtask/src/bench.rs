//! `xtask bench`: cargo bench for one package, or for all that have benchmarks.

use crate::e2e;
use crate::flags;
use crate::outcome::{Outcome, Stop};
use crate::run;
use crate::setup;
use crate::workspace::{Kind, Workspace};

/// The package whose benchmark wants a hypervisor.
const ON_A_HOST: &str = "provider-kvm";

pub(crate) fn command(flags: &flags::Bench) -> Outcome {
    let workspace = Workspace::read()?;
    let with_benches: Vec<_> = workspace
        .members()
        .into_iter()
        .filter(|package| workspace.targets(package, Kind::Bench).next().is_some())
        .collect();
    let wanted = flags.what.as_deref().map(|what| match what {
        "kit" => "providertest",
        "operator" => "proxy-operator",
        other => other,
    });
    let is_wanted = |package: &str| {
        wanted.is_none_or(|wanted| {
            package.strip_prefix("provider-").unwrap_or(package) == wanted || package == wanted
        })
    };
    let packages: Vec<_> = with_benches.iter().copied().filter(|package| is_wanted(package)).collect();
    if packages.is_empty() {
        let known = if with_benches.is_empty() { "none yet".to_owned() } else { with_benches.join(", ") };
        let what = flags.what.as_deref().unwrap_or("the workspace");
        return Err(Stop::cannot(format!("{what} has no benchmarks; packages that have some: {known}")));
    }
    for (package, needs) in [("nocloud", setup::GENISOIMAGE), ("ssh", setup::OPENSSH)] {
        if packages.contains(&package) {
            setup::require(flags.install, needs, &format!("the benchmark of {package}"))?;
        }
    }
    for package in packages {
        for bench in workspace.targets(package, Kind::Bench) {
            let mut command = workspace.cargo();
            command.args(["bench", "-p", package, "--bench", bench]);
            if package == ON_A_HOST {
                // Everything is compiled outside: inside there is no way out.
                run::check(workspace.cargo().args(["bench", "--no-run", "-p", package, "--bench", bench]))?;
                command.arg("--").args(&flags.flags);
                e2e::kvm::beside(&workspace, flags.install, command)?;
                continue;
            }
            run::check(command.arg("--").args(&flags.flags))?;
        }
    }
    Ok(())
}
