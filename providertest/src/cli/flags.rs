//! Every flag of a suite's binary, and nothing else.

use std::{num::NonZeroUsize, path::PathBuf};

use clap::{Parser, ValueEnum};

use crate::faults::FaultPlan;

/// What a run is asked for. Whoever asks for something else beside it would be passed over in silence.
const RUN: [&str; 11] =
    ["fail_fast", "setup", "seed", "jobs", "plan", "saboteur", "json", "junit", "html", "backend", "config"];
/// Which rules are asked for.
const SELECTION: [&str; 6] = ["rule", "group", "sweep", "filters", "exact", "skip"];
/// What ends after it has printed something.
const PAGES: [&str; 5] = ["list", "explain", "print_rule_table", "print_rules", "print_profile"];

/// Checks a provider against every rule of the contract.
#[derive(Clone, Debug, Parser)]
#[command(name = "conformance", bin_name = "conformance", version, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Flags {
    /// List the rules and end
    #[arg(long, conflicts_with_all = RUN)]
    pub(crate) list: bool,
    /// Say what a rule is for, how it is tested and how a red one is mended, and end
    #[arg(long, value_name = "ID", conflicts_with_all = RUN, conflicts_with_all = SELECTION)]
    #[arg(conflicts_with = "list")]
    pub(crate) explain: Option<String>,
    /// Check this rule only; may be given several times
    #[arg(long, value_name = "ID")]
    pub(crate) rule: Vec<String>,
    /// Check the rules of this group only; may be given several times
    #[arg(long, value_name = "G")]
    pub(crate) group: Vec<String>,
    /// Check the sweeps only
    #[arg(long)]
    pub(crate) sweep: bool,
    /// Start nothing more once a rule has failed
    #[arg(long)]
    pub(crate) fail_fast: bool,
    /// Run on this setup only
    #[arg(long, value_name = "S")]
    pub(crate) setup: Option<String>,
    /// The seed that everything random is derived from
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// How many cases run at once [default: one a core]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Replay one fault plan, as a report gives it; needs --rule
    #[arg(long, value_name = "JSON", value_parser = plan, conflicts_with_all = ["group", "sweep", "fail_fast"])]
    pub(crate) plan: Option<FaultPlan>,

    /// Check the kit itself: every saboteur must be caught by the rule that it breaks, the honest provider by none;
    /// --rule, --group and --sweep narrow it down
    #[arg(long, conflicts_with_all = ["plan", "setup", "backend", "config", "fail_fast", "junit"])]
    #[arg(conflicts_with_all = PAGES)]
    pub(crate) self_check: bool,
    /// With --self-check: every saboteur meets every rule
    #[arg(long, requires = "self_check")]
    pub(crate) full: bool,

    /// Break the reference provider as that saboteur does, to see what the report of a red rule says
    #[arg(long, value_name = "NAME", conflicts_with_all = ["self_check", "backend", "config"])]
    pub(crate) saboteur: Option<String>,

    /// Write the report as JSON
    #[arg(long, value_name = "F")]
    pub(crate) json: Option<PathBuf>,
    /// Write the report as JUnit XML
    #[arg(long, value_name = "F")]
    pub(crate) junit: Option<PathBuf>,
    /// Write the report as one HTML page
    #[arg(long, value_name = "F")]
    pub(crate) html: Option<PathBuf>,

    /// What to run against
    #[arg(long, value_enum, default_value_t = BackendFlag::Fake)]
    pub(crate) backend: BackendFlag,
    /// Where the real backend is, and how to get in
    #[arg(long, value_name = "F")]
    pub(crate) config: Option<PathBuf>,

    /// Print the rule table as Markdown and end
    #[arg(long, conflicts_with_all = RUN, conflicts_with_all = SELECTION)]
    #[arg(conflicts_with_all = ["list", "explain"])]
    pub(crate) print_rule_table: bool,
    /// Print a page on every rule as Markdown and end
    #[arg(long, conflicts_with_all = RUN, conflicts_with_all = SELECTION)]
    #[arg(conflicts_with_all = ["list", "explain", "print_rule_table"])]
    pub(crate) print_rules: bool,
    /// Print what the provider declares as Markdown, or with --format json as JSON, and end
    #[arg(long, conflicts_with_all = RUN, conflicts_with_all = SELECTION)]
    #[arg(conflicts_with_all = ["list", "explain", "print_rule_table", "print_rules"])]
    pub(crate) print_profile: bool,

    /// Colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, alias = "colour")]
    pub(crate) color: Colour,
    /// No progress and no line for each rule
    #[arg(long, short)]
    pub(crate) quiet: bool,

    // What test binaries are given by `cargo test` and by test runners.
    /// Check the rules whose ids contain one of these, as `cargo test FILTER` means it
    #[arg(value_name = "FILTER")]
    pub(crate) filters: Vec<String>,
    /// The filters are whole ids
    #[arg(long, hide = true)]
    pub(crate) exact: bool,
    /// Leave out the rules whose ids contain this
    #[arg(long, value_name = "FILTER", hide = true)]
    pub(crate) skip: Vec<String>,
    /// As --jobs
    #[arg(long, value_name = "N", hide = true, conflicts_with = "jobs")]
    pub(crate) test_threads: Option<NonZeroUsize>,
    /// `terse` lists rules as test runners want them
    #[arg(long, value_name = "FORMAT", hide = true)]
    pub(crate) format: Option<String>,
    /// No rule is ignored from the outset
    #[arg(long, hide = true)]
    pub(crate) ignored: bool,
    /// Has no effect
    #[arg(long, hide = true)]
    pub(crate) include_ignored: bool,
    /// Has no effect: nothing is captured
    #[arg(long, alias = "no-capture", hide = true)]
    pub(crate) nocapture: bool,
    /// Has no effect: nothing is captured
    #[arg(long, hide = true)]
    pub(crate) show_output: bool,
    /// Has no effect
    #[arg(short = 'Z', value_name = "FLAG", hide = true)]
    pub(crate) unstable: Vec<String>,
}

const EXIT_CODES: &str = "Exit codes: 0 conformant, or no violation found; 1 not conformant; 2 the flags or the \
                          environment are at fault; 3 something that was asked for was left out.";

/// What a suite runs against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendFlag {
    /// The embedded fake
    Fake,
    /// The real backend that --config describes
    Real,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

fn plan(text: &str) -> Result<FaultPlan, String> {
    let plan: FaultPlan =
        serde_json::from_str(text).map_err(|error| format!("it is not a fault plan: {error}"))?;
    // It would hold whatever the provider does, and look like a pass.
    if plan.faults.is_empty() && plan.variant.is_none() {
        return Err("it names neither a fault nor a variant, so there is nothing to replay".into());
    }
    Ok(plan)
}
