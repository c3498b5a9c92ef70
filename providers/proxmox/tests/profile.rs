//! Holds the profile and the catalogue together, and the profile to its golden file.

use provider_proxmox::{CATALOGUE, profile};

#[test]
fn profile_and_catalogue_do_not_contradict_themselves() {
    assert_eq!(profile().contradictions(), Vec::<String>::new());
    assert_eq!(CATALOGUE.contradictions(&profile()), Vec::<String>::new());
}

#[test]
fn the_profile_is_what_the_docs_say() {
    insta::assert_snapshot!(profile().to_text());
}
