//! Where the binaries of a current API server come from: `KUBEBUILDER_ASSETS`, the cache, or a build with Go from the
//! modules that `servers/go.mod` pins; where there is no Go, Debian's source package of 1.20 (see `old_servers`).

use super::old_servers;
use crate::flags::Install;
use crate::outcome::{Outcome, Stop};
use crate::run::{self, Progress};
use crate::{cache, setup};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The release that `servers/go.mod` pins; a test holds the two together.
const VERSION: &str = "1.37.2";

/// What the build leaves behind and what it needs meanwhile; the second is removed when it is done.
const BUILD_NEEDS_MIB: u64 = 4_000;

/// The programs, ready to run.
pub(crate) struct Servers {
    pub(crate) etcd: PathBuf,
    pub(crate) kube_apiserver: PathBuf,
    /// Not there where the servers are Debian's and no kubectl is installed.
    pub(crate) kubectl: Option<PathBuf>,
    /// As the API server itself says, `1.37.2` say.
    pub(crate) version: String,
}

/// Finds or builds them.
pub(crate) fn servers(progress: &Progress, install: Install) -> Outcome<Servers> {
    if let Some(folder) = env::var_os("KUBEBUILDER_ASSETS").filter(|folder| !folder.is_empty()) {
        return named(Path::new(&folder));
    }
    match existing()? {
        Some(folder) => in_folder(&folder),
        None if run::exists("go") => in_folder(&build(progress)?),
        None => without_go(progress, install),
    }
}

fn existing() -> Outcome<Option<PathBuf>> {
    cache::existing(&entry())
}

fn entry() -> String {
    format!("kubernetes-{VERSION}")
}

/// etcd alone: the nearest at hand.
pub(crate) fn etcd(progress: &Progress, install: Install) -> Outcome<PathBuf> {
    let elsewhere = env::var_os("KUBEBUILDER_ASSETS").is_none() && existing()?.is_none();
    if elsewhere && run::exists("etcd") {
        return Ok("etcd".into());
    }
    servers(progress, install).map(|servers| servers.etcd)
}

fn without_go(progress: &Progress, install: Install) -> Outcome<Servers> {
    progress.say("there is no Go here, so the API server is Debian's 1.20: it lacks what is newer");
    setup::require(install, &[setup::OLD_KUBE, setup::ETCD].concat(), "an API server without Go")?;
    let folder = old_servers::servers(progress)?;
    let kubectl = run::exists("kubectl").then(|| PathBuf::from("kubectl"));
    let kube_apiserver = folder.join("kube-apiserver");
    let version = version(&kube_apiserver)?;
    Ok(Servers { etcd: "etcd".into(), kube_apiserver, kubectl, version })
}

fn named(folder: &Path) -> Outcome<Servers> {
    for program in ["etcd", "kube-apiserver", "kubectl"] {
        if !folder.join(program).is_file() {
            return Err(Stop::cannot(format!(
                "KUBEBUILDER_ASSETS names {}, which has no `{program}`: unset it, or name a folder with etcd, \
                 kube-apiserver and kubectl",
                folder.display()
            )));
        }
    }
    in_folder(folder)
}

fn in_folder(folder: &Path) -> Outcome<Servers> {
    let kube_apiserver = folder.join("kube-apiserver");
    let version = version(&kube_apiserver)?;
    Ok(Servers { etcd: folder.join("etcd"), kubectl: Some(folder.join("kubectl")), kube_apiserver, version })
}

fn version(kube_apiserver: &Path) -> Outcome<String> {
    let says = run::read(Command::new(kube_apiserver).arg("--version"))?;
    says.trim().rsplit_once(" v").map(|(_, version)| version.to_owned()).ok_or_else(|| {
        Stop::cannot(format!("{} says {says:?} when asked for its version", kube_apiserver.display()))
    })
}

fn build(progress: &Progress) -> Outcome<PathBuf> {
    let name = entry();
    cache::entry(&name, BUILD_NEEDS_MIB, |result, work| {
        progress.say(&format!(
            "building kube-apiserver {VERSION}, kubectl and etcd with Go, once, into {} (about 5 minutes on two cores)",
            cache::folder()?.join(&name).display()
        ));
        let mut command = Command::new("go");
        command
            .args(["build", "-trimpath", "-ldflags", &link_flags(), "-o"])
            .arg(result)
            .arg("tool")
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("servers"))
            // All that Go writes stays in the work folder and goes with it; what is linked needs no C library.
            .env("GOPATH", work.join("modules"))
            .env("GOMODCACHE", work.join("modules"))
            .env("GOCACHE", work.join("objects"))
            .env("GOFLAGS", "-modcacherw -buildvcs=false")
            .env("GOWORK", "off")
            .env("CGO_ENABLED", "0");
        // Go names every module that it downloads; only a failure is worth a line here.
        run::read(&mut command).map_err(|stop| {
            Stop::cannot(format!(
                "the servers could not be built: {}. It takes Go 1.26 and a Go module proxy; or set \
                 KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver and kubectl",
                stop.says
            ))
        })?;
        let (from, to) = (result.join("server"), result.join("etcd"));
        fs::rename(&from, &to).map_err(|error| cache::cannot_write(&to, &error))
    })
}

/// No debug info, and the version: a module build knows it, but Kubernetes reads it from these variables.
fn link_flags() -> String {
    let variables = "k8s.io/component-base/version";
    let minor = VERSION.split('.').nth(1).expect("a version has three parts");
    format!(
        "-s -w -X {variables}.gitVersion=v{VERSION} -X {variables}.gitMajor=1 -X {variables}.gitMinor={minor}"
    )
}

#[cfg(test)]
mod tests {
    use super::VERSION;

    #[test]
    fn the_version_is_the_one_that_go_mod_pins() {
        let go_mod = include_str!("../../servers/go.mod");
        let line = format!("k8s.io/kubernetes v{VERSION}");
        assert!(go_mod.lines().any(|found| found.trim().trim_end_matches(" // indirect") == line));
    }
}
