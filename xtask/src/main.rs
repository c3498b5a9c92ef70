//! The workspace's own commands. One file per command; this one parses and dispatches.

fn main() {}
