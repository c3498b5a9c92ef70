//! Every flag of every command, and nothing else. The suite's own flags are not here: they belong to its binary and
//! are passed on as they are.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// The workspace's own commands.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version, after_help = EXIT_CODES)]
pub(crate) struct Flags {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 all well; 1 a check failed; 2 it could not run (what to do is printed); \
                          3 something asked for was left out. `conformance` hands on the suite's own exit code.";

const KVM_HELP: &str = "\
It runs the tests of the libvirt fixture and of the kvm provider that want a real libvirtd, and with --suite the provider's
conformance suite. Tests learn where the host is from variables that begin with KVM_TEST_; `-- env` shows
them. Set by hand they make the same tests run on a host of your own, without this command: see docs/kvm.md.";

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Install the system packages that the other commands need, or print the line that does
    Setup(Setup),
    /// Run a provider's conformance suite on its fake backend
    Conformance(Conformance),
    /// Make the crate of a new provider, with a fake to test it on: what is left to write, its red rules say
    NewProvider(NewProvider),
    /// Run everything CI runs that this machine can run
    Test(Test),
    /// Run tests against real backends that this command starts
    #[command(subcommand)]
    E2e(E2e),
    /// Play simulated worlds that try to break the operator
    Simulate(Simulate),
    /// Run benchmarks
    Bench(Bench),
    /// Build the documentation without warnings and regenerate the generated pages
    Docs(Docs),
    /// Hold the public API of the SDK and the kit to what is written down of it
    Semver(Semver),
    /// Check what a machine can check about the tree itself
    Tidy,
}

#[derive(Args, Clone, Copy)]
pub(crate) struct Install {
    /// Install nothing: print the line to run, and leave out what cannot be built
    #[arg(long)]
    pub(crate) no_install: bool,
}

#[derive(Args)]
pub(crate) struct Setup {
    #[command(flatten)]
    pub(crate) install: Install,
}

#[derive(Args)]
#[command(override_usage = "cargo xtask conformance [--no-install] <PROVIDER|all> [SUITE FLAGS]...")]
pub(crate) struct Conformance {
    #[command(flatten)]
    pub(crate) install: Install,
    /// The provider (`memory`, or NAME of a package `provider-NAME`) or `all`, then the suite's own flags
    /// (`PROVIDER --help` lists them)
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROVIDER")]
    pub(crate) provider_and_flags: Vec<String>,
}

#[derive(Args)]
pub(crate) struct NewProvider {
    /// Its name: lower-case letters, digits and dashes, such as `tiny-cloud`
    #[arg(required_unless_present = "diff")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) shape: Shape,
    /// Make a workspace of its own in this folder, which must not exist, instead of a crate of this workspace
    #[arg(long, value_name = "FOLDER")]
    pub(crate) at: Option<PathBuf>,
    /// Let that workspace depend on the published SDK and kit of this version instead of on this checkout
    #[arg(long, value_name = "VERSION", requires = "at")]
    pub(crate) kit_version: Option<String>,
    /// Make nothing: count the lines that a crate which was made so has beyond what its README says it was made by.
    /// A changed line counts as one, a removed one as none
    #[arg(long, value_name = "FOLDER", exclusive = true)]
    pub(crate) diff: Option<PathBuf>,
}

/// What the backend is like.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "What the backend is like")]
pub(crate) struct Shape {
    /// What it calls a part that can fail on its own, and that instances are made in; WORD/PLURAL where the plural is not
    /// the usual one [default: zone]
    #[arg(long, value_name = "WORD")]
    pub(crate) target: Option<String>,
    /// Where instances are made is only a field of the creating call, which it calls so; one API answers for all of it, and
    /// is the one target
    #[arg(long, value_name = "WORD", conflicts_with_all = ["target", "endpoint_per_target", "parts"])]
    pub(crate) placement: Option<String>,
    /// What it calls an instance [default: machine]
    #[arg(long, value_name = "WORD")]
    pub(crate) instance: Option<String>,
    /// What it calls the parts that are made before an instance and removed after it, each by a call of its own; none by
    /// default
    #[arg(long, value_name = "WORD")]
    pub(crate) parts: Option<String>,
    /// Each target has an API of its own, at an endpoint of its own
    #[arg(long)]
    pub(crate) endpoint_per_target: bool,
    /// It makes instances in tasks, which may fail after the call was accepted; without a value `late`
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1, default_missing_value = "late")]
    pub(crate) tasks: Option<Tasks>,
    /// How its listings are cut into pages [default: token]
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) pages: Option<Pages>,
    /// The header in which it says when a rate limit is lifted, in seconds since 1970; `Retry-After` is understood anyway
    #[arg(long, value_name = "NAME")]
    pub(crate) reset_header: Option<String>,
}

/// How the tasks of a backend are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tasks {
    /// By the instance's name: the next create finds what failed, and says so
    Late,
    /// By a number alone, which only the call that began it is told: create waits for its end
    Wait,
}

/// How listings are cut into pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Pages {
    /// A token says where the next one begins
    #[default]
    Token,
    /// By their number, so that they shift when something comes or goes
    Number,
    /// There are none
    None,
}

#[derive(Args)]
pub(crate) struct Test {
    #[command(flatten)]
    pub(crate) install: Install,
    /// Run these steps only
    #[arg(long, value_name = "STEP", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Do not ask for these steps
    #[arg(long, value_name = "STEP", value_delimiter = ',', conflicts_with = "only")]
    pub(crate) without: Vec<String>,
    /// List the steps and end
    #[arg(long)]
    pub(crate) list: bool,
}

#[derive(Subcommand)]
pub(crate) enum E2e {
    /// A real kube-apiserver with etcd on free loopback ports
    Kube(Kube),
    /// A one-node cluster that runs real Pods, in namespaces of its own; needs root and cgroup v1
    KubeNode(KubeNode),
    /// libvirtd with QEMU under emulation behind a real SSH server, in namespaces of its own; needs root
    #[command(after_help = KVM_HELP)]
    Kvm(Kvm),
    /// Ends what another xtask started, once that one's pipe closes
    #[command(hide = true)]
    Reap,
}

#[derive(Args)]
pub(crate) struct Kube {
    #[command(flatten)]
    pub(crate) install: Install,
    /// Build or find the servers' binaries, say where they are, and end
    #[arg(long)]
    pub(crate) build_only: bool,
    /// Run this instead of the tests, with the same environment
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) instead: Vec<String>,
}

#[derive(Args)]
pub(crate) struct KubeNode {
    #[command(flatten)]
    pub(crate) install: Install,
    /// Build or find the binaries and images, say where they are, and end
    #[arg(long)]
    pub(crate) build_only: bool,
    /// Run this instead of the tests, inside, with the same environment
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) instead: Vec<String>,
}

#[derive(Args)]
pub(crate) struct Kvm {
    #[command(flatten)]
    pub(crate) install: Install,
    /// Build or find the guest image, say where it is, and end
    #[arg(long)]
    pub(crate) build_only: bool,
    /// In a Docker container, of the engine that answers or of one that is started for it; whole lives of guests only
    #[arg(long)]
    pub(crate) container: bool,
    /// The provider's conformance suite on that host too, which takes several minutes more
    #[arg(long, conflicts_with = "container")]
    pub(crate) suite: bool,
    /// Run this instead of the tests, inside, with the same environment
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) instead: Vec<String>,
}

#[derive(Args)]
#[command(override_usage = "cargo xtask simulate [SIMULATION FLAGS]...", disable_help_flag = true)]
pub(crate) struct Simulate {
    /// The simulation's own flags (`cargo xtask simulate --help` lists them)
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "FLAGS")]
    pub(crate) flags: Vec<String>,
}

#[derive(Args)]
pub(crate) struct Bench {
    /// The package, `kit` for the conformance kit, or `operator`; all that have benchmarks if none is named
    pub(crate) what: Option<String>,
    #[command(flatten)]
    pub(crate) install: Install,
    /// Flags for the benchmark binaries
    #[arg(last = true)]
    pub(crate) flags: Vec<String>,
}

#[derive(Args)]
pub(crate) struct Docs {
    /// Write nothing: compare the generated pages and fail where one is out of date
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Args)]
pub(crate) struct Semver {
    /// Write the lists of what is not released yet anew
    #[arg(long, conflicts_with = "release")]
    pub(crate) write: bool,
    /// Write the lists of a release: from then on the versions have to grow with every change
    #[arg(long)]
    pub(crate) release: bool,
}
