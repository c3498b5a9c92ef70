//! The registry: what it builds, what a reload keeps, what a bad reload leaves in force
//! (`runtime.reload-keeps-old-on-error`).

use std::sync::{Arc, atomic::Ordering};

use provider_api::{Built, Context, Identity, Live, ProviderName, Providers, config::Fields};

use crate::{
    canned::registry,
    doubles::{identity, name, rig},
};

fn no_top(_: &mut Fields<'_>) {}

fn surroundings(identity: Identity) -> impl Fn(&ProviderName) -> Context {
    move |name| {
        let mut context = rig().context;
        context.name = name.clone();
        context.identity = identity.clone();
        context
    }
}

fn yaml(sizes: &[(&str, u32)]) -> String {
    let entries =
        sizes.iter().map(|(name, size)| format!("- {{name: {name}, type: toy, toy: {{size: {size}}}}}\n"));
    format!("providers:\n{}", entries.collect::<String>())
}

fn same(a: &Providers, b: &Providers, of: &str) -> bool {
    let provider = |providers: &Providers| Arc::clone(&providers.get(&name(of)).unwrap().built.provider);
    Arc::ptr_eq(&provider(a), &provider(b))
}

#[test]
fn it_builds_what_the_file_names_with_the_shared_fields() {
    let (registry, built) = registry();
    let text = "providers: [{name: b, type: toy, maxInstances: 3, toy: {size: 1}}, {name: a, type: toy, toy: {size: 2}}]";
    let providers = registry.load(text, no_top, surroundings(identity("us"))).unwrap();
    let names: Vec<_> = providers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(providers.get(&name("b")).unwrap().common.max_instances, Some(3));
    assert_eq!(providers.get(&name("a")).unwrap().provider_type, "toy");
    assert!(providers.get(&name("c")).is_none());
    assert_eq!(built.load(Ordering::Relaxed), 2);
}

#[test]
fn a_reload_keeps_the_provider_of_an_entry_that_did_not_change() {
    let (registry, _) = registry();
    let live =
        Live::new(registry.load(&yaml(&[("a", 1), ("b", 1)]), no_top, surroundings(identity("us"))).unwrap());
    let before = live.current();
    // The order and the line of an entry are no change.
    let after =
        live.reload(&registry, &yaml(&[("c", 1), ("b", 2), ("a", 1)]), no_top, surroundings(identity("us")));
    let after = after.unwrap();
    assert!(same(&before, &after, "a"));
    assert!(!same(&before, &after, "b"));
    assert!(Arc::ptr_eq(&after, &live.current()));
}

#[test]
fn another_identity_makes_every_provider_anew() {
    let (registry, _) = registry();
    let live = Live::new(registry.load(&yaml(&[("a", 1)]), no_top, surroundings(identity("us"))).unwrap());
    let before = live.current();
    let mut adopting = identity("us");
    adopting.adopt.push(identity("former").installation);
    let after = live.reload(&registry, &yaml(&[("a", 1)]), no_top, surroundings(adopting)).unwrap();
    assert!(!same(&before, &after, "a"), "it would go on with the identity it was made with");
}

#[test]
fn a_bad_reload_changes_nothing() {
    let (registry, _) = registry();
    let live = Live::new(registry.load(&yaml(&[("a", 1)]), no_top, surroundings(identity("us"))).unwrap());
    let before = live.current();
    for bad in ["providers: [{name: a, type: toy}]", "providers: [", "", "providers: [{name: a, type: b}]"] {
        assert!(live.reload(&registry, bad, no_top, surroundings(identity("us"))).is_err(), "{bad}");
        assert!(Arc::ptr_eq(&before, &live.current()), "{bad}");
    }
}

#[test]
fn what_the_kit_wants_undecorated_is_left_so() {
    let (registry, _) = registry();
    let bare = |built: Built, _: &Context| built;
    let load = registry.load_finished(
        &Providers::default(),
        &yaml(&[("a", 1)]),
        no_top,
        surroundings(identity("us")),
        bare,
    );
    let provider = Arc::clone(&load.unwrap().get(&name("a")).unwrap().built.provider);
    crate::recorder::start();
    futures::executor::block_on(provider.list_by_tag()).unwrap();
    assert!(crate::recorder::spans().is_empty());
}

#[test]
fn a_constructor_that_gives_up_in_silence_is_reported() {
    let (registry, _) = registry();
    let mute = registry.map(|mut kind| {
        kind.build = Arc::new(|_, fields, _| {
            fields.required::<u32>("size");
            None
        });
        kind
    });
    let report = mute.load(&yaml(&[("a", 1)]), no_top, surroundings(identity("us"))).unwrap_err();
    let expected = "providers[0].toy: the provider could not be built, and did not say why";
    assert!(report.to_string().contains(expected), "{report}");
}

#[test]
#[should_panic(expected = "provider type toy is registered twice")]
fn one_name_is_one_type() {
    let (mut registry, _) = registry();
    let again = registry.types()[0].clone();
    registry.register(again);
}

#[test]
fn the_digest_of_an_entry_tells_what_the_config_says_and_whose_instances_are_ours() {
    let (registry, _) = registry();
    let digest = |yaml: &str, identity| {
        let providers = registry.load(yaml, no_top, surroundings(identity)).unwrap();
        providers.get(&name("a")).unwrap().digest()
    };
    let here = digest(&yaml(&[("a", 1)]), identity("us"));
    assert_eq!(here, digest(&yaml(&[("b", 7), ("a", 1)]), identity("us")), "the line does not count");
    assert_ne!(here, digest(&yaml(&[("a", 2)]), identity("us")));
    assert_ne!(here, digest(&yaml(&[("a", 1)]), identity("them")));
    let adopting = Identity { adopt: vec![identity("old").installation], ..identity("us") };
    assert_ne!(here, digest(&yaml(&[("a", 1)]), adopting));
}
