//! Ids that a provider can never resolve: the strategy that makes them, and the judgement that one is such. Get and
//! delete are held to them.

use proptest::{
    prelude::*,
    strategy::ValueTree,
    string::{RegexGeneratorStrategy, string_regex},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use provider_api::{Name, ProviderId, usable_segment};

/// How many ids a property is tried with.
const TRIES: usize = 192;

/// A runner whose random numbers come from the case's seed alone.
fn runner(seed: u64) -> TestRunner {
    let mut bytes = [0_u8; 32];
    for (at, chunk) in bytes.chunks_mut(8).enumerate() {
        chunk.copy_from_slice(&seed.wrapping_add(at as u64).to_le_bytes());
    }
    TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

/// As many ids as a property is tried with, each some way off the real one. A case's seed leads to the same ones.
pub(super) fn drawn(seed: u64, real: &ProviderId) -> Vec<String> {
    // Made once: its expressions cost more to parse than an id to draw.
    let (strategy, mut runner) = (ids(real.as_str().to_owned()), runner(seed));
    let draw = |_| {
        // The strategies below reject nothing, so that a value always comes.
        let tree = strategy.new_tree(&mut runner);
        tree.unwrap_or_else(|reason| panic!("no id can be drawn: {reason}")).current()
    };
    (0..TRIES).map(draw).collect()
}

/// Texts of an expression.
fn written(expression: &str) -> RegexGeneratorStrategy<String> {
    string_regex(expression).unwrap_or_else(|error| panic!("{expression} is no expression: {error}"))
}

/// Shorter texts, the shortest first; whoever searches for the shortest that fails goes on from the first that does.
pub(super) fn shorter(text: &str) -> Vec<String> {
    let whole: Vec<char> = text.chars().collect();
    let mut sizes: Vec<usize> = std::iter::successors(Some(whole.len().div_ceil(2)), |size| Some(size / 2))
        .take_while(|size| *size > 0)
        .collect();
    sizes.dedup();
    let mut shorter = Vec::new();
    for size in sizes {
        for at in (0..whole.len()).step_by(size) {
            let rest = whole.iter().take(at).chain(whole.iter().skip(at + size));
            shorter.push(rest.collect());
        }
    }
    shorter
}

/// Random texts, edited ids, ids that climb, ids with characters that mean something elsewhere, ids without end.
fn ids(real: String) -> BoxedStrategy<String> {
    let edited = (Just(real.clone()), any::<prop::sample::Index>(), any::<char>(), 0..4_u8);
    let edited = edited.prop_map(|(id, at, with, how)| edit(&id, at, with, how));
    let odd_segments = || written(ODD_SEGMENTS);
    let replaced =
        (Just(real.clone()), any::<prop::sample::Index>(), odd_segments()).prop_map(|(id, at, odd)| {
            let mut segments: Vec<_> = id.split('/').map(str::to_owned).collect();
            let at = at.index(segments.len());
            segments[at] = odd;
            segments.join("/")
        });
    let around = (Just(real.clone()), odd_segments(), any::<bool>())
        .prop_map(|(id, odd, before)| if before { format!("{odd}/{id}") } else { format!("{id}/{odd}") });
    let long = (Just(real), 1_usize..4_000).prop_map(|(id, times)| format!("{id}{}", "a".repeat(times)));
    prop_oneof![
        2 => any::<String>(),
        2 => written("[ -~]{0,80}"),
        2 => written("([a-z0-9.]{0,8}/){0,6}[a-z0-9-]{0,24}"),
        4 => edited,
        4 => replaced,
        2 => around,
        1 => long,
    ]
    .boxed()
}

/// Segments that mean something to a file system, a URL, a shell, a terminal or a C string.
const ODD_SEGMENTS: &str =
    "|\\.|\\.\\.|%2e%2e|\\?watch=1|#|%00|\u{0}|\n|\u{1b}\\[2J|\\\\|a b|'|\"|\\*|\u{202e}|é";

/// The id with one character put in, taken out, put in another's place, or with everything behind it cut off.
fn edit(id: &str, at: prop::sample::Index, with: char, how: u8) -> String {
    let mut text: Vec<char> = id.chars().collect();
    let at = at.index(text.len().max(1));
    match how {
        0 => text.insert(at, with),
        1 if at < text.len() => drop(text.remove(at)),
        2 if at < text.len() => text[at] = with,
        _ => text.truncate(at),
    }
    text.into_iter().collect()
}

/// Whether an id can never be resolved, whatever stands on the backend: it is not written by the pattern, its name is no
/// instance's, or one of its fields is nothing that a backend or a config could be called.
pub(super) fn is_malformed(pattern: &str, id: &str) -> bool {
    let (mut pattern, mut given) = (pattern.split('/'), id.split('/'));
    loop {
        match (pattern.next(), given.next()) {
            (None, None) => return false,
            (Some(part), Some(text)) => {
                let fits = match part {
                    "{name}" => Name::parse(text).is_ok(),
                    field if field.starts_with('{') => is_plain(text),
                    literal => literal == text,
                };
                if !fits {
                    return true;
                }
            }
            _ => return true,
        }
    }
}

fn is_plain(text: &str) -> bool {
    usable_segment(text)
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._:@-".contains(c))
        && text.chars().any(|c| c != '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATTERN: &str = "hosts/{host}/domains/{name}";
    const REAL: &str = "hosts/h-1/domains/proxy-abcdefghij234567";

    #[test]
    fn what_is_malformed_is_told_from_what_is_not() {
        for good in [REAL, "hosts/10.0.0.1:22/domains/proxy-abcdefghij234567"] {
            assert!(!is_malformed(PATTERN, good), "{good}");
        }
        for bad in [
            "",
            "hosts/h-1/domains/",
            "hosts/h-1/domains/web",
            "hosts/../domains/proxy-abcdefghij234567",
            "hosts/h?x=1/domains/proxy-abcdefghij234567",
            "hosts/h-1/domains/proxy-abcdefghij234567/",
            "hosts/h-1/domains/proxy-abcdefghij23456é",
        ] {
            assert!(is_malformed(PATTERN, bad), "{bad}");
        }
    }

    #[test]
    fn a_search_over_shorter_texts_ends_at_the_shortest_that_fails() {
        let mut text = "aaa/bbb\0ccc".to_owned();
        while let Some(next) = shorter(&text).into_iter().find(|text| text.contains('\0')) {
            text = next;
        }
        assert_eq!(text, "\0");
    }

    #[test]
    fn every_way_to_be_malformed_is_drawn_and_the_seed_decides() {
        let drawn = |seed| super::drawn(seed, &ProviderId::new(REAL));
        let ids = drawn(7);
        assert_eq!(ids, drawn(7));
        assert_ne!(ids, drawn(8));
        assert!(ids.iter().filter(|id| is_malformed(PATTERN, id)).count() > TRIES / 2);
        for found in ["/../", "%2e%2e", "\u{0}"] {
            assert!(ids.iter().any(|id| id.contains(found)), "{found:?} was never drawn");
        }
        assert!(ids.iter().any(|id| id.len() > 500));
    }
}
