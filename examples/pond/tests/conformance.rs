//! The conformance suite over the fake; `--help` shows its flags.

mod harness;

fn main() -> std::process::ExitCode {
    providertest::main(harness::Fakes)
}
