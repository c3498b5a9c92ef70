//! `xtask setup`, and the same for every command that needs a system package: installs it through apt where that
//! needs no password, and says so; otherwise prints the one line to run.

use crate::flags;
use crate::outcome::{Outcome, Stop};
use crate::run;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

/// A program that a step runs, and the Debian package that brings it.
#[derive(Clone, Copy)]
pub(crate) struct Need {
    /// A name to be found on `PATH`, or an absolute path.
    pub(crate) program: &'static str,
    pub(crate) package: &'static str,
}

const fn need(program: &'static str, package: &'static str) -> Need {
    Need { program, package }
}

/// For an API server on loopback: keys, and the question whether it is ready.
pub(crate) const KUBE: &[Need] = &[need("openssl", "openssl"), need("curl", "curl")];

/// For reading the Squid configurations that we write with Squid itself.
pub(crate) const SQUID: &[Need] = &[need("squid", "squid")];

/// For building the servers of Kubernetes 1.20 from Debian's source package: the last Go that compiles them.
pub(crate) const OLD_KUBE: &[Need] = &[need("/usr/lib/go-1.19/bin/go", "golang-1.19-go")];

/// For etcd where it is not built with Go.
pub(crate) const ETCD: &[Need] = &[need("etcd", "etcd-server")];

/// For the one-node cluster, beside [`KUBE`] and [`OLD_KUBE`].
pub(crate) const NODE: &[Need] = &[
    need("dockerd", "docker.io"),
    need("mmdebstrap", "mmdebstrap"),
    need("ip", "iproute2"),
    need("nsenter", "util-linux"),
];

pub(crate) fn command(flags: &flags::Setup) -> Outcome {
    let needs = all();
    let missing = ensure(flags.install, &needs)?;
    if missing.is_empty() {
        println!("every system package that xtask needs is installed");
        return Ok(());
    }
    let mut without = Vec::new();
    for (step, needs) in crate::test::needs_of_steps() {
        if needs.iter().any(|need| missing.contains(need.package)) {
            without.push(step);
        }
    }
    println!("left out without them: {}", without.join(", "));
    Err(Stop::left_out(""))
}

/// Installs what is missing of `needs` if that can be done without asking; returns the packages still missing, after
/// having printed the line that installs them.
pub(crate) fn ensure(install: flags::Install, needs: &[Need]) -> Outcome<BTreeSet<&'static str>> {
    let missing = missing(needs);
    if missing.is_empty() {
        return Ok(missing);
    }
    let packages: Vec<_> = missing.iter().copied().collect();
    let line = format!("apt-get install -y --no-install-recommends {}", packages.join(" "));
    let Some(prefix) = without_password().filter(|_| !install.no_install) else {
        println!("not installed: {}. To install them, run: sudo {line}", packages.join(", "));
        return Ok(missing);
    };
    println!(
        "installing system packages: {}{line}",
        prefix.iter().map(|word| format!("{word} ")).collect::<String>()
    );
    let apt = |words: &[&str]| {
        let mut all = prefix.to_vec();
        all.extend(["apt-get", "-q", "-o", "DPkg::Lock::Timeout=120"]);
        all.extend(words);
        let mut command = Command::new(all[0]);
        command.args(&all[1..]).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
        command.stdout(Stdio::null());
        run::check(&mut command)
    };
    let mut words = vec!["install", "-y", "--no-install-recommends"];
    words.extend(&packages);
    apt(&["update"]).and_then(|()| apt(&words)).map_err(|stop| {
        Stop::cannot(format!(
            "the system packages could not be installed ({}); run `{line}` by hand",
            stop.says
        ))
    })?;
    Ok(self::missing(needs))
}

/// As [`ensure`], for a command that is of no use without them.
pub(crate) fn require(install: flags::Install, needs: &[Need], what: &str) -> Outcome {
    let missing = ensure(install, needs)?;
    if missing.is_empty() {
        return Ok(());
    }
    let missing: Vec<_> = missing.into_iter().collect();
    Err(Stop::cannot(format!("{what} needs {}: run the line above", missing.join(", "))))
}

/// What `needs` asks for and the machine does not have.
pub(crate) fn missing(needs: &[Need]) -> BTreeSet<&'static str> {
    needs.iter().filter(|need| !present(need.program)).map(|need| need.package).collect()
}

/// Everything any step needs.
fn all() -> Vec<Need> {
    crate::test::needs_of_steps().into_iter().flat_map(|(_, needs)| needs).collect()
}

fn present(program: &str) -> bool {
    if program.starts_with('/') {
        return Path::new(program).is_file();
    }
    // An ordinary user's PATH often lacks sbin, where dockerd's and ip's relatives live.
    run::exists(program)
        || ["/usr/sbin", "/sbin"].iter().any(|folder| Path::new(folder).join(program).is_file())
}

/// The words to put before apt-get, or nothing where it would ask for a password or is not there.
fn without_password() -> Option<&'static [&'static str]> {
    if !run::exists("apt-get") {
        return None;
    }
    if is_root() {
        return Some(&[]);
    }
    let sudo = Command::new("sudo").args(["-n", "true"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    sudo.is_ok_and(|status| status.success()).then_some(&["sudo", "-n"])
}

/// True for the superuser.
pub(crate) fn is_root() -> bool {
    run::read(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}
