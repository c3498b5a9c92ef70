//! Checks of the dependency graph: which packages must not be linked into which.

use crate::e2e::suite;
use crate::outcome::Outcome;
use crate::workspace::Workspace;

/// Crates that would bring a second TLS provider; ring is the one.
const OTHER_TLS: [&str; 6] = ["aws-lc-rs", "aws-lc-sys", "openssl", "openssl-sys", "native-tls", "boring"];

/// What the contract's types must not know: a backend, Kubernetes, HTTP, an executor.
const NOT_IN_THE_CONTRACT: [&str; 8] =
    ["http", "hyper", "reqwest", "axum", "kube", "kube-client", "k8s-openapi", "tokio"];

/// What several providers share, each a crate with one subject; it obeys what a provider obeys.
const SHARED: [&str; 5] = ["libvirt-client", "libvirt-model", "libvirt-rpc", "nocloud", "ssh"];

/// Wrong edges of the normal dependency graph.
pub(super) fn complaints(workspace: &Workspace) -> Outcome<Vec<String>> {
    let members = workspace.members();
    let mut complaints = Vec::new();
    for member in &members {
        for dependency in workspace.normal_dependencies(member)? {
            let why = match *member {
                "xtask" if members.contains(dependency.as_str()) => Some("it runs cargo instead"),
                member => wrong(member, &dependency),
            };
            complaints.extend(why.map(|why| format!("{member} links {dependency} in a normal build: {why}")));
        }
    }
    Ok(complaints)
}

/// Tests that want a real backend must not run unasked: a plain `cargo test` has none for them.
pub(super) fn real_tests_unasked(workspace: &Workspace) -> Vec<String> {
    let unasked = workspace.unasked_tests(&workspace.members());
    suite::existing(workspace)
        .filter(|(_, test)| unasked.contains(test))
        .map(|(package, test)| format!("{package}: declare [[test]] name = \"{test}\" with `test = false`"))
        .collect()
}

/// Every other TLS provider that the lock file names.
pub(super) fn second_tls_providers(lock: &str) -> Vec<String> {
    OTHER_TLS
        .into_iter()
        .filter(|name| lock.lines().any(|line| line == format!("name = \"{name}\"")))
        .map(|name| format!("Cargo.lock: {name} is a second TLS provider; use ring's"))
        .collect()
}

fn wrong(member: &str, dependency: &str) -> Option<&'static str> {
    let provider = member.starts_with("provider-") || SHARED.contains(&member);
    let for_tests = dependency == "providertest" || dependency.starts_with("fixture-");
    match member {
        "provider-api" if NOT_IN_THE_CONTRACT.contains(&dependency) => {
            Some("the contract knows no backend, no Kubernetes, no HTTP and no executor")
        }
        _ if provider && for_tests => Some("production code links no test crate"),
        _ if provider && dependency.starts_with("provider-") && dependency != "provider-api" => {
            Some("no provider depends on another")
        }
        "providertest" if dependency.starts_with("provider-") && dependency != "provider-api" => {
            Some("the kit names no provider")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_edges_are_told_from_right_ones() {
        for (member, dependency) in [
            ("provider-api", "tokio"),
            ("provider-gcp", "providertest"),
            ("provider-gcp", "fixture-gce"),
            ("provider-gcp", "provider-kvm"),
            ("providertest", "provider-kubernetes"),
            ("ssh", "provider-kvm"),
            ("libvirt-rpc", "fixture-libvirt"),
        ] {
            assert!(wrong(member, dependency).is_some(), "{member} -> {dependency}");
        }
        for (member, dependency) in [
            ("provider-kubernetes", "tokio"),
            ("provider-gcp", "provider-api"),
            ("fixture-kube-api", "providertest"),
            ("fixture-libvirt", "libvirt-rpc"),
            ("provider-kvm", "ssh"),
            ("providertest", "tokio"),
        ] {
            assert!(wrong(member, dependency).is_none(), "{member} -> {dependency}");
        }
    }

    #[test]
    fn a_second_tls_provider_is_found_in_the_lock_file() {
        let lock = "[[package]]\nname = \"openssl-sys\"\nversion = \"1\"\n\n[[package]]\nname = \"ring\"\n";
        assert_eq!(second_tls_providers(lock).len(), 1);
        assert_eq!(second_tls_providers("name = \"openssl-probe\"\n"), [""; 0]);
    }
}
