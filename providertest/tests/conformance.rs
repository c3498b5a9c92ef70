//! The conformance suite of the memory provider.

use std::process::ExitCode;

fn main() -> ExitCode {
    providertest::main(providertest::memory::MemoryHarness::new())
}
