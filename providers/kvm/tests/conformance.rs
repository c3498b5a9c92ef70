//! The conformance suite over the fake or a real host; `--help` shows its flags.

mod harness;
mod outside;

fn main() -> std::process::ExitCode {
    providertest::main(harness::Fakes)
}
