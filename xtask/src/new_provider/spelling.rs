//! The words of a new provider: its name, and what its backend calls its things. What cannot be such a word is refused
//! with one sentence that names the flag.

use super::Files;
use crate::outcome::{Outcome, Stop};
use std::collections::BTreeSet;

/// The ways in which a provider's name is spelt.
pub(super) struct Spelling {
    /// `tiny-cloud`
    pub(super) kebab: String,
    /// `tiny_cloud`
    pub(super) snake: String,
    /// `TinyCloud`
    pub(super) camel: String,
}

/// What a backend calls one of its things, and several of them.
pub(super) struct Noun {
    pub(super) one: String,
    pub(super) many: String,
}

impl Spelling {
    /// Takes a name that can be a package, a key of a config and a type.
    pub(super) fn of(name: &str, template: Files) -> Outcome<Self> {
        let refuse = |why: String| Err(Stop::cannot(format!("{name:?} cannot be a provider's name: {why}")));
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let starts = name.chars().next().is_some_and(|c| c.is_ascii_lowercase());
        if !starts
            || !name.chars().all(plain)
            || name.ends_with('-')
            || name.contains("--")
            || name.len() > 40
        {
            let why = "use 1 to 40 lower-case letters, digits and single dashes, a letter first";
            return refuse(why.to_owned());
        }
        if KEYWORDS.contains(&name) {
            return refuse("it is a keyword of Rust".to_owned());
        }
        if ["all", "api", "memory"].contains(&name) {
            return refuse("the commands and crates here use it".to_owned());
        }
        let word = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
        let camel: String = name.split('-').map(word).collect();
        if words(template).contains(camel.as_str()) {
            return refuse(format!(
                "its type would be called {camel}, and the template has one of that name"
            ));
        }
        Ok(Self { kebab: name.to_owned(), snake: name.replace('-', "_"), camel })
    }

    pub(super) fn package(&self) -> String {
        format!("provider-{}", self.kebab)
    }
}

impl Noun {
    /// Takes `box`, or `child/children` where the plural is another one than the usual.
    pub(super) fn of(flag: &str, text: &str) -> Outcome<Self> {
        let refuse = |why: &str| Err(Stop::cannot(format!("--{flag} {text:?}: {why}")));
        let (one, many) = text.split_once('/').map_or((text, None), |(one, many)| (one, Some(many)));
        let many = many.map_or_else(|| plural(one), str::to_owned);
        let is_word = |word: &str| {
            word.starts_with(|c: char| c.is_ascii_lowercase())
                && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
                && word.len() <= 24
        };
        if !is_word(one) || !is_word(&many) {
            return refuse(
                "use one word of 1 to 24 lower-case letters and digits, a letter first, or two such as child/children \
                 where the plural is not the usual one",
            );
        }
        if one == many {
            return refuse("one and several have to be told apart; give another plural");
        }
        if TAKEN.iter().any(|taken| [one, &many].contains(taken)) {
            return refuse("the template uses that word for something else; use another");
        }
        Ok(Self { one: one.to_owned(), many })
    }

    /// Whether it is also a word of the other one.
    pub(super) fn clashes(&self, other: &Self) -> bool {
        [&self.one, &self.many].iter().any(|word| **word == other.one || **word == other.many)
    }
}

/// The usual plural.
fn plural(word: &str) -> String {
    let hisses = ["s", "x", "z", "ch", "sh"].iter().any(|end| word.ends_with(end));
    match word.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ if hisses => format!("{word}es"),
        _ => format!("{word}s"),
    }
}

/// Every word of the template's code, types among them.
fn words(template: Files) -> BTreeSet<&'static str> {
    let code = template.iter().filter(|(path, _)| path.ends_with(".rs")).flat_map(|(_, text)| text.lines());
    let code = code.filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_')).collect()
}

/// What the template has ids, config keys, paths and fields for, whatever the backend calls its things.
const TAKEN: [&str; 17] = [
    "about", "address", "endpoint", "id", "image", "images", "item", "items", "label", "labels", "name",
    "quota", "rights", "status", "task", "tasks", "version",
];

const KEYWORDS: [&str; 49] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "where",
    "while",
];

#[cfg(test)]
mod tests {
    use super::super::TEMPLATE;
    use super::*;

    #[test]
    fn what_cannot_be_a_name_is_refused_with_a_reason() {
        for (name, why) in [
            ("", "1 to 40"),
            ("Tiny", "1 to 40"),
            ("9lives", "1 to 40"),
            ("a_b", "1 to 40"),
            ("a--b", "1 to 40"),
            ("-a", "1 to 40"),
            ("a-", "1 to 40"),
            ("é", "1 to 40"),
            ("type", "keyword"),
            ("api", "use it"),
            ("error", "called Error"),
            ("machine-id", "called MachineId"),
        ] {
            let stop = Spelling::of(name, TEMPLATE).err().unwrap_or_else(|| panic!("{name:?} passed"));
            assert_eq!(stop.code, 2, "{name:?}");
            assert!(stop.says.contains(why), "{name:?}: {}", stop.says);
        }
    }

    #[test]
    fn a_word_has_its_plural() {
        for (text, one, many) in [
            ("zone", "zone", "zones"),
            ("box", "box", "boxes"),
            ("switch", "switch", "switches"),
            ("registry", "registry", "registries"),
            ("bay", "bay", "bays"),
            ("child/children", "child", "children"),
        ] {
            let noun = Noun::of("target", text).unwrap_or_else(|stop| panic!("{}", stop.says));
            assert_eq!((noun.one.as_str(), noun.many.as_str()), (one, many));
        }
    }

    #[test]
    fn what_cannot_be_a_word_is_refused_with_a_reason() {
        for (text, why) in [
            ("", "one word"),
            ("Host", "one word"),
            ("data-center", "one word"),
            ("a b", "one word"),
            ("9", "one word"),
            ("host/", "one word"),
            ("/hosts", "one word"),
            ("a/b/c", "one word"),
            ("é", "one word"),
            ("sheep/sheep", "told apart"),
            ("image", "something else"),
            ("thing/labels", "something else"),
        ] {
            let stop = Noun::of("target", text).err().unwrap_or_else(|| panic!("{text:?} passed"));
            assert_eq!(stop.code, 2, "{text:?}");
            assert!(stop.says.contains(why) && stop.says.starts_with("--target "), "{text:?}: {}", stop.says);
        }
    }
}
