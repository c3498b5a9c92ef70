//! The servers of Kubernetes 1.20, built from Debian 12's source package `kubernetes`. They are the last that run Pods
//! on dockerd without more around them, which is why the one-node cluster uses them, and they serve as API server where
//! there is no Go to build a current one with.
//!
//! Caveat: what is newer than 1.20 is not in them (CEL rules in CRDs, watch lists). CRDs v1, leases, events v1,
//! server-side apply, RBAC and quota are.

use crate::cache::{self, cannot_write};
use crate::outcome::{Outcome, Stop};
use crate::run::{self, Progress};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The release of the source package.
pub(crate) const VERSION: &str = "1.20.2";

/// Sources, Go's build cache and the binaries at once.
const BUILD_NEEDS_MIB: u64 = 3_500;

const PROGRAMS: [&str; 4] = ["kube-apiserver", "kubelet", "kube-controller-manager", "kube-scheduler"];

/// A folder with the four programs.
pub(crate) fn servers(progress: &Progress) -> Outcome<PathBuf> {
    let name = format!("kubernetes-{VERSION}");
    if let Some(folder) = cache::existing(&name)? {
        return Ok(folder);
    }
    cache::entry(&name, BUILD_NEEDS_MIB, |result, work| {
        progress.say(&format!(
            "building {} {VERSION} from Debian's source package, once, into {} (about 4 minutes on two cores)",
            PROGRAMS.join(", "),
            cache::folder()?.join(&name).display()
        ));
        let build = Build::in_folder(work)?;
        build.unpack()?;
        build.generate_openapi()?;
        build.programs(result)
    })
}

struct Build {
    work: PathBuf,
    /// Kubernetes 1.20 is built the way before modules, from a fixed place under a GOPATH.
    go_path: PathBuf,
    source: PathBuf,
}

impl Build {
    fn in_folder(work: &Path) -> Outcome<Self> {
        let go_path = work.join("go");
        let source = go_path.join("src/k8s.io/kubernetes");
        fs::create_dir_all(&source).map_err(|error| cannot_write(&source, &error))?;
        Ok(Self { work: work.to_owned(), go_path, source })
    }

    /// Downloads the source package, with a package list of our own: the machine's has no sources as a rule.
    fn unpack(&self) -> Outcome {
        let lists = self.work.join("lists");
        fs::create_dir_all(lists.join("partial")).map_err(|error| cannot_write(&lists, &error))?;
        let sources = self.source_list()?;
        let apt = |words: &[&str]| {
            let mut command = Command::new("apt-get");
            command.current_dir(&self.work).args(["-q", "-o", "Dir::Etc::sourceparts=-", "-o"]);
            command.arg(format!("Dir::Etc::sourcelist={}", sources.display()));
            command.arg("-o").arg(format!("Dir::State::Lists={}", lists.display())).args(words);
            // The files are root's; without this apt warns that its own user cannot read them.
            command.args(["-o", "APT::Sandbox::User=root"]);
            run::read(&mut command)
        };
        apt(&["update"])?;
        apt(&["source", "--download-only", "kubernetes"])?;
        let archive = find(&self.work, |name| name.starts_with("kubernetes_") && name.contains(".orig.tar"))?;
        if !archive.to_string_lossy().contains(VERSION) {
            return Err(Stop::cannot(format!(
                "Debian's source package `kubernetes` here is {}, and only {VERSION} (Debian 12) is known to work",
                archive.display()
            )));
        }
        run::read(
            Command::new("tar")
                .arg("-xf")
                .arg(archive)
                .arg("--strip-components=1")
                .arg("-C")
                .arg(&self.source),
        )
        .map(drop)
    }

    /// The machine's package sources, asked for source packages instead of binary ones.
    fn source_list(&self) -> Outcome<PathBuf> {
        let deb822 = Path::new("/etc/apt/sources.list.d/debian.sources");
        let (name, text) = match fs::read_to_string(deb822) {
            Ok(text) => ("our.sources", text.replace("Types: deb\n", "Types: deb-src\n")),
            Err(_) => {
                let list = Path::new("/etc/apt/sources.list");
                let text = fs::read_to_string(list).map_err(|error| {
                    Stop::cannot(format!(
                        "neither {} nor {} can be read ({error}): this build takes a Debian machine",
                        deb822.display(),
                        list.display()
                    ))
                })?;
                let lines = text.lines().filter_map(|line| line.strip_prefix("deb "));
                ("our.list", lines.map(|line| format!("deb-src {line}\n")).collect())
            }
        };
        let path = self.work.join(name);
        fs::write(&path, text).map_err(|error| cannot_write(&path, &error))?;
        Ok(path)
    }

    /// The OpenAPI definitions are generated code, which the source package leaves out.
    fn generate_openapi(&self) -> Outcome {
        let generator = self.work.join("openapi-gen");
        run::check(
            self.go(&["build", "-o"]).arg(&generator).arg("./vendor/k8s.io/kube-openapi/cmd/openapi-gen"),
        )?;
        let packages: BTreeSet<String> = self.packages_with_openapi()?;
        let packages: Vec<_> = packages.into_iter().collect();
        run::read(
            self.environment(&mut Command::new(&generator))
                .args(["-O", "zz_generated.openapi", "-h", "/dev/null", "-i", &packages.join(",")])
                .args(["-p", "k8s.io/kubernetes/pkg/generated/openapi", "-r"])
                .arg(self.work.join("violations"))
                .arg("--output-base")
                .arg(self.go_path.join("src")),
        )
        .map(drop)
    }

    fn packages_with_openapi(&self) -> Outcome<BTreeSet<String>> {
        let files = run::read(
            Command::new("grep")
                .args(["-rlE", "--include=*.go", "^// ?\\+k8s:openapi-gen=true", "staging/src", "pkg", "cmd"])
                .current_dir(&self.source),
        )?;
        Ok(files
            .lines()
            .filter_map(|file| file.rsplit_once('/').map(|(folder, _)| folder))
            .filter(|folder| !folder.contains("sample-apiserver") && !folder.contains("code-generator"))
            .map(|folder| match folder.strip_prefix("staging/src/") {
                Some(staged) => format!("k8s.io/kubernetes/vendor/{staged}"),
                None => format!("k8s.io/kubernetes/{folder}"),
            })
            .collect())
    }

    fn programs(&self, into: &Path) -> Outcome {
        let overlay = self.newer_reflect2()?;
        let mut flags = String::from("-s -w");
        // What `--version` and a node say comes from the first, what `/version` answers from the second.
        for package in ["component-base/version", "client-go/pkg/version"] {
            let package = format!("k8s.io/kubernetes/vendor/k8s.io/{package}");
            flags.push_str(&format!(" -X {package}.gitVersion=v{VERSION} -X {package}.gitMajor=1"));
            flags.push_str(&format!(" -X {package}.gitMinor=20"));
        }
        let mut command = self.go(&["build", "-overlay"]);
        command.arg(&overlay).args(["-ldflags", &flags, "-o"]).arg(into);
        run::read(command.args(PROGRAMS.map(|program| format!("./cmd/{program}")))).map(drop)
    }

    /// The reflect2 1.0.1 vendored there calls a runtime function with the signature from before Go 1.18 and corrupts
    /// memory: servers built with it crash within a minute, one start in four. Debian's 1.0.2 takes its place.
    fn newer_reflect2(&self) -> Outcome<PathBuf> {
        let package = "golang-github-modern-go-reflect2-dev";
        run::read(
            Command::new("apt-get")
                .args(["-qq", "-o", "APT::Sandbox::User=root", "download", package])
                .current_dir(&self.work),
        )?;
        let archive = find(&self.work, |name| name.starts_with(package) && name.ends_with(".deb"))?;
        let unpacked = self.work.join("reflect2");
        run::read(Command::new("dpkg").arg("-x").arg(archive).arg(&unpacked))?;
        let newer = unpacked.join("usr/share/gocode/src/github.com/modern-go/reflect2");
        let vendored = self.source.join("vendor/github.com/modern-go/reflect2");
        let mut replace: Map<String, Value> =
            go_files(&vendored)?.map(|name| (vendored.join(name).display().to_string(), json!(""))).collect();
        for name in go_files(&newer)? {
            replace.insert(vendored.join(&name).display().to_string(), json!(newer.join(&name)));
        }
        let overlay = self.work.join("overlay.json");
        fs::write(&overlay, json!({ "Replace": replace }).to_string())
            .map_err(|error| cannot_write(&overlay, &error))?;
        Ok(overlay)
    }

    fn go(&self, words: &[&str]) -> Command {
        let mut command = Command::new("/usr/lib/go-1.19/bin/go");
        self.environment(&mut command).args(words);
        command
    }

    fn environment<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let path = env::var("PATH").unwrap_or_default();
        command
            .current_dir(&self.source)
            .env("PATH", format!("/usr/lib/go-1.19/bin:{path}"))
            .env("GO111MODULE", "off")
            .env("GOPATH", &self.go_path)
            .env("GOCACHE", self.work.join("objects"))
            // What the machine set for its own, newer Go does not concern this one.
            .env("GOFLAGS", "")
            .env("GOROOT", "/usr/lib/go-1.19")
            .env("CGO_ENABLED", "0")
    }
}

/// The one file in `folder` whose name fits.
fn find(folder: &Path, fits: impl Fn(&str) -> bool) -> Outcome<PathBuf> {
    names(folder)?
        .find(|name| fits(name))
        .map(|name| folder.join(name))
        .ok_or_else(|| Stop::cannot(format!("apt-get left nothing of use in {}", folder.display())))
}

fn go_files(folder: &Path) -> Outcome<impl Iterator<Item = String> + use<>> {
    Ok(names(folder)?.filter(|name| name.ends_with(".go") || name.ends_with(".s")))
}

fn names(folder: &Path) -> Outcome<impl Iterator<Item = String> + use<>> {
    let entries = fs::read_dir(folder)
        .map_err(|error| Stop::cannot(format!("cannot read {}: {error}", folder.display())))?;
    Ok(entries.filter_map(Result::ok).filter_map(|entry| entry.file_name().into_string().ok()))
}
