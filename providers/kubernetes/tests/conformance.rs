//! The conformance suite over the fake API server; `--help` shows its flags.

mod harness;

fn main() -> std::process::ExitCode {
    providertest::main(harness::Clusters)
}
