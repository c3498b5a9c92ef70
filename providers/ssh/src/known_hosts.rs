//! The file `known_hosts` as OpenSSH writes and reads it: plain, hashed and bracketed names, several names a line,
//! wildcards and negations, markers. It is compared as bytes; what a key is good for is judged in `host_key.rs`.
//!
//! A line that cannot be read is passed over, as OpenSSH does, and remembered, so that a host that is "unknown" because
//! of a slip of the pen can be told from one that is not there.

use data_encoding::BASE64;
use ring::hmac;

/// What a line says of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marker {
    /// It is the host's own.
    None,
    /// It signs certificates of hosts.
    CertAuthority,
    /// It is never to be accepted.
    Revoked,
}

/// One line with a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Counted from 1.
    pub(crate) line: usize,
    pub(crate) marker: Marker,
    /// `ssh-ed25519`, say.
    pub(crate) key_type: String,
    /// The key as it goes over the wire.
    pub(crate) key: Vec<u8>,
    hosts: Hosts,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Hosts {
    Patterns(Vec<Pattern>),
    Hashed { salt: Vec<u8>, hash: Vec<u8> },
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
    negated: bool,
    glob: Vec<u8>,
}

/// A file that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KnownHosts {
    entries: Vec<Entry>,
    /// The lines that hold something else than OpenSSH writes.
    pub(crate) unreadable: Vec<usize>,
}

impl KnownHosts {
    /// Reads every line that can be read.
    pub(crate) fn parse(file: &[u8]) -> Self {
        let mut known = Self::default();
        for (index, text) in file.split(|byte| *byte == b'\n').enumerate() {
            let text = text.trim_ascii();
            if text.is_empty() || text[0] == b'#' {
                continue;
            }
            match Entry::parse(index + 1, text) {
                Some(entry) => known.entries.push(entry),
                None => known.unreadable.push(index + 1),
            }
        }
        known
    }

    /// The lines that are about a host, in their order. `name` is one of [`names`].
    pub(crate) fn about<'k>(&'k self, name: &'k str) -> impl Iterator<Item = &'k Entry> {
        self.entries.iter().filter(move |entry| entry.hosts.matches(name.as_bytes()))
    }
}

/// The names under which a host may stand, the one that says most first: `[host]:port` for any port but 22, and then
/// the host alone. OpenSSH asks in this order too.
pub(crate) fn names(host: &str, port: u16) -> Vec<String> {
    let host = host.to_ascii_lowercase();
    if port == crate::Target::DEFAULT_PORT { vec![host] } else { vec![format!("[{host}]:{port}"), host] }
}

impl Entry {
    fn parse(line: usize, text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let mut fields = text.split([' ', '\t']).filter(|field| !field.is_empty());
        let mut hosts = fields.next()?;
        let marker = match hosts {
            "@cert-authority" => Marker::CertAuthority,
            "@revoked" => Marker::Revoked,
            marker if marker.starts_with('@') => return None,
            _ => Marker::None,
        };
        if marker != Marker::None {
            hosts = fields.next()?;
        }
        let (key_type, key) = (fields.next()?, BASE64.decode(fields.next()?.as_bytes()).ok()?);
        // The key names its type once more; a line that contradicts itself counts for nothing.
        if type_of(&key)? != key_type.as_bytes() {
            return None;
        }
        Some(Self { line, marker, key_type: key_type.to_owned(), key, hosts: Hosts::parse(hosts)? })
    }
}

/// The type that a key names at its beginning.
fn type_of(key: &[u8]) -> Option<&[u8]> {
    let (length, rest) = key.split_first_chunk::<4>()?;
    rest.get(..usize::try_from(u32::from_be_bytes(*length)).ok()?)
}

impl Hosts {
    fn parse(text: &str) -> Option<Self> {
        if let Some(hashed) = text.strip_prefix("|1|") {
            let (salt, hash) = hashed.split_once('|')?;
            let (salt, hash) = (BASE64.decode(salt.as_bytes()).ok()?, BASE64.decode(hash.as_bytes()).ok()?);
            return (hash.len() == 20).then_some(Self::Hashed { salt, hash });
        }
        if text.starts_with('|') {
            return None;
        }
        let pattern = |text: &str| {
            let (negated, glob) = match text.strip_prefix('!') {
                Some(glob) => (true, glob),
                None => (false, text),
            };
            Pattern { negated, glob: glob.to_ascii_lowercase().into_bytes() }
        };
        Some(Self::Patterns(text.split(',').filter(|text| !text.is_empty()).map(pattern).collect()))
    }

    fn matches(&self, name: &[u8]) -> bool {
        match self {
            Self::Hashed { salt, hash } => {
                // What OpenSSH hashes with; it hides names from a reader of the file and guards no secret.
                let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, salt);
                hmac::sign(&key, name).as_ref() == hash
            }
            // One negation that matches outweighs everything else on the line.
            Self::Patterns(patterns) => {
                let hit = |pattern: &&Pattern| glob(&pattern.glob, name);
                let mut hits = patterns.iter().filter(hit).peekable();
                hits.peek().is_some() && hits.all(|pattern| !pattern.negated)
            }
        }
    }
}

/// `*` stands for any characters, `?` for one. Goes back to the last star only, so it takes at most the product of both
/// lengths.
fn glob(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut seen) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while seen < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at + 1, seen));
                at += 1;
            }
            Some(char) if *char == b'?' || *char == name[seen] => {
                at += 1;
                seen += 1;
            }
            _ => match &mut star {
                Some((after, from)) => {
                    *from += 1;
                    (at, seen) = (*after, *from);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|char| *char == b'*')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A key that names its type and is nothing else.
    fn key(key_type: &str, rest: &str) -> String {
        let mut key = u32::try_from(key_type.len()).unwrap().to_be_bytes().to_vec();
        key.extend(key_type.bytes().chain(rest.bytes()));
        BASE64.encode(&key)
    }

    fn lines_about(file: &str, host: &str, port: u16) -> Vec<usize> {
        let known = KnownHosts::parse(file.as_bytes());
        let names = names(host, port);
        let mut lines: Vec<_> =
            names.iter().flat_map(|name| known.about(name)).map(|entry| entry.line).collect();
        lines.dedup();
        lines
    }

    #[test]
    fn every_form_of_a_name_is_found() {
        let key = key("ssh-ed25519", "k");
        let file = format!(
            "# a comment\n\
             \n\
             kvm1.example.com,192.0.2.7,fd00::1 ssh-ed25519 {key} root@kvm1\n\
             [kvm1.example.com]:2222\tssh-ed25519  {key}\r\n\
             *.example.com,!kvm1.example.com ssh-ed25519 {key}\n\
             kvm?.lab ssh-ed25519 {key}\n\
             [*.lab]:2222 ssh-ed25519 {key}\n\
             @cert-authority *.org ssh-ed25519 {key}\n\
             @revoked * ssh-ed25519 {key}\n"
        );
        assert_eq!(KnownHosts::parse(file.as_bytes()).unreadable, [0; 0]);
        for (host, port, lines) in [
            ("kvm1.example.com", 22, vec![3, 9]),
            ("KVM1.EXAMPLE.COM", 22, vec![3, 9]),
            ("192.0.2.7", 22, vec![3, 9]),
            ("fd00::1", 22, vec![3, 9]),
            ("kvm1.example.com", 2222, vec![4, 9, 3, 9]),
            ("kvm2.example.com", 22, vec![5, 9]),
            ("kvm3.lab", 22, vec![6, 9]),
            ("kvm10.lab", 22, vec![9]),
            ("kvm3.lab", 2222, vec![7, 9, 6, 9]),
            ("a.org", 22, vec![8, 9]),
        ] {
            assert_eq!(lines_about(&file, host, port), lines, "{host}:{port}");
        }
    }

    /// Written by `ssh-keygen -H` of OpenSSH 9.2, but for the key.
    #[test]
    fn a_hashed_name_is_found() {
        let file = "|1|GrJFKvCckdkESGQrf0WP4uNqog4=|LnwE5BTcWUMnXJ7pbjUcD60LaNg= ssh-ed25519 ";
        let file = format!("{file}{}\n", key("ssh-ed25519", "k"));
        assert_eq!(lines_about(&file, "kvm1.example.com", 2222), [1]);
        assert_eq!(lines_about(&file, "kvm1.example.com", 22), [0; 0]);
        assert_eq!(lines_about(&file, "kvm2.example.com", 2222), [0; 0]);
    }

    #[test]
    fn lines_that_contradict_themselves_are_named_and_count_for_nothing() {
        let good = key("ssh-ed25519", "k");
        for line in [
            "kvm1".to_owned(),
            "kvm1 ssh-ed25519".to_owned(),
            "kvm1 ssh-ed25519 not-base64!".to_owned(),
            format!("kvm1 ssh-rsa {good}"),
            format!("@revokd kvm1 ssh-ed25519 {good}"),
            format!("|2|a|b ssh-ed25519 {good}"),
            format!("|1|a|b ssh-ed25519 {good}"),
            "kvm1 1024 35 1234567".to_owned(),
        ] {
            let known = KnownHosts::parse(line.as_bytes());
            assert_eq!((known.unreadable.as_slice(), known.entries.len()), (&[1][..], 0), "{line}");
        }
    }

    #[test]
    fn a_negation_alone_matches_nothing() {
        assert!(!Hosts::parse("!a").unwrap().matches(b"b"));
        assert!(!Hosts::parse("!*,a").unwrap().matches(b"a"));
        assert!(!Hosts::parse("a,!a").unwrap().matches(b"a"));
    }

    /// The slow and plain way to say what a glob means.
    fn plainly(pattern: &[u8], name: &[u8]) -> bool {
        match (pattern.split_first(), name.split_first()) {
            (None, None) => true,
            (Some((b'*', rest)), _) => {
                plainly(rest, name) || name.split_first().is_some_and(|(_, name)| plainly(pattern, name))
            }
            (Some((char, pattern)), Some((other, name))) => {
                (*char == b'?' || char == other) && plainly(pattern, name)
            }
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn hostile_bytes_give_no_panic(file in prop::collection::vec(any::<u8>(), 0..2048), name in "\\PC{0,64}") {
            let known = KnownHosts::parse(&file);
            prop_assert!(known.about(&name).count() <= known.entries.len());
        }

        #[test]
        fn hostile_lines_give_no_panic(
            lines in prop::collection::vec("(@cert-authority |@revoked |@x )?[a-z0-9*?!,|\\[\\]:.=/ \t]{0,40}(ssh-ed25519|ssh-rsa| )[A-Za-z0-9+/= ]{0,60}", 0..20),
        ) {
            let file = lines.join("\n");
            let known = KnownHosts::parse(file.as_bytes());
            prop_assert!(known.entries.len() + known.unreadable.len() <= lines.len());
            prop_assert!(known.about("kvm1").count() <= known.entries.len());
        }

        #[test]
        fn a_glob_means_what_it_says(pattern in "[ab*?]{0,8}", name in "[ab]{0,8}") {
            prop_assert_eq!(glob(pattern.as_bytes(), name.as_bytes()), plainly(pattern.as_bytes(), name.as_bytes()));
        }

        #[test]
        fn a_host_is_found_by_its_own_name(host in "[a-z][a-z0-9.-]{0,30}", port in 1u16..) {
            let file = format!("{} ssh-ed25519 {}\n", names(&host, port)[0], key("ssh-ed25519", "k"));
            prop_assert_eq!(lines_about(&file, &host, port), [1]);
        }
    }
}
