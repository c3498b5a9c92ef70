//! Secret bytes, the scrubber that keeps them out of what people read, and causes of errors as scrubbed text.

use std::{
    error::Error as StdError,
    fmt::{self, Write as _},
    sync::Arc,
};

use data_encoding::{BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD};
use zeroize::Zeroizing;

/// Bytes that must not be shown: cloud-init, keys, tokens, passwords. Wiped when dropped; `Debug` prints their count.
///
/// ```
/// let token = provider_api::Secret::new(*b"hunter2-hunter2");
/// assert_eq!(format!("{token:?}"), "Secret(15 bytes)");
/// ```
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Takes the bytes over; what they were copied from is not wiped.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(Zeroizing::new(bytes.into()))
    }

    /// The bytes, for the one call that carries them.
    pub fn reveal(&self) -> &[u8] {
        &self.0
    }

    /// The bytes as text, when they are UTF-8, for the one call that carries them.
    pub fn reveal_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// How many bytes there are, which may be shown.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({} bytes)", self.len())
    }
}

/// Replaces secrets in a text that a backend or a library wrote.
///
/// It knows a secret as a whole, each of its lines of 6 or more characters, both as JSON and as URLs quote them, and the
/// base64 of the whole, with and without the space around it, also inside the base64 of something longer. A backend that quotes a cut-off part of a payload is not
/// helped by that: for calls that carry a payload only code and reason go on (`create.hides-secrets`).
///
/// ```
/// use provider_api::Scrubber;
/// let mut scrubber = Scrubber::default();
/// scrubber.hide(b"#cloud-config\npassword: swordfish\n");
/// let quoted = r##"400 bad value "#cloud-config\npassword: swordfish\n" for user-data"##;
/// assert_eq!(scrubber.scrub(quoted), r#"400 bad value "[redacted]" for user-data"#);
/// ```
///
/// Cheap to clone: each call gets one.
#[derive(Clone, Default)]
pub struct Scrubber(Arc<Vec<Zeroizing<String>>>);

impl Scrubber {
    /// What stands where a secret was.
    pub const MARK: &'static str = "[redacted]";
    /// What is shorter is no secret by itself, and would be found everywhere.
    pub const SHORTEST: usize = 6;

    /// Knows one secret more, in each form that the type's page names. What has fewer than [`SHORTEST`](Self::SHORTEST)
    /// bytes is not looked for.
    pub fn hide(&mut self, secret: &[u8]) {
        let whole = String::from_utf8_lossy(secret);
        let long_enough = |text: &&str| text.len() >= Self::SHORTEST;
        let mut needles: Vec<String> = Vec::new();
        for text in whole.lines().map(str::trim).chain([&*whole]).filter(long_enough) {
            let quoted = serde_json::Value::from(text).to_string();
            needles.push(quoted[1..quoted.len() - 1].to_owned());
            needles.push(percent_encoded(text));
            needles.push(text.to_owned());
        }
        // A file ends with a line break that the header made from it does not have.
        for secret in
            [secret, secret.trim_ascii()].into_iter().filter(|secret| secret.len() >= Self::SHORTEST)
        {
            needles
                .extend([BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD].map(|base| base.encode(secret)));
            needles.extend((0..3).flat_map(|offset| inside_base64(secret, offset)));
        }
        let known = Arc::make_mut(&mut self.0);
        known.extend(needles.into_iter().map(Zeroizing::new));
        // The longest first, so that a part never spoils the whole.
        known.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        known.dedup();
    }

    /// The text with [`MARK`](Self::MARK) in the place of each secret.
    pub fn scrub(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for needle in &*self.0 {
            if text.contains(needle.as_str()) {
                text = text.replace(needle.as_str(), Self::MARK);
            }
        }
        text
    }
}

/// The text as it stands in a query or in a form.
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'-' | b'.' | b'_' | b'~' => encoded.push(byte.into()),
            _ if byte.is_ascii_alphanumeric() => encoded.push(byte.into()),
            _ => write!(encoded, "%{byte:02X}").expect("a string takes everything"),
        }
    }
    encoded
}

/// What base64 makes of a secret that starts `offset` bytes into a group of three: the characters that do not depend on
/// its neighbours. It is how a password shows in an `Authorization: Basic` header.
fn inside_base64(secret: &[u8], offset: usize) -> [String; 2] {
    let mut padded = vec![0; offset];
    padded.extend_from_slice(secret);
    let first = (offset * 8).div_ceil(6);
    let end = padded.len() * 8 / 6;
    [BASE64_NOPAD, BASE64URL_NOPAD].map(|base| base.encode(&padded)[first..end].to_owned())
}

impl fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scrubber")
    }
}

/// An error of somebody else's, with its chain of causes, as scrubbed text: what [`Error::caused_by`](crate::Error::caused_by)
/// takes. [`CallError::scrubbed`](crate::CallError::scrubbed) makes one of a backend call's error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scrubbed {
    text: String,
    source: Option<Box<Scrubbed>>,
}

impl Scrubbed {
    /// Takes over an error and its whole chain of causes, for calls that carry no payload.
    pub fn chain(error: &(dyn StdError + 'static), scrubber: &Scrubber) -> Self {
        Self {
            text: scrubber.scrub(&error.to_string()),
            source: error.source().map(|source| Box::new(Self::chain(source, scrubber))),
        }
    }

    /// A cause that is text only, for calls of which only code and reason may survive.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), source: None }
    }
}

impl fmt::Display for Scrubbed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl StdError for Scrubbed {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_never_shown() {
        let secret = Secret::new(*b"hunter2-hunter2");
        assert_eq!(format!("{secret:?}"), "Secret(15 bytes)");
        let mut scrubber = Scrubber::default();
        scrubber.hide(secret.reveal());
        scrubber.hide(b"#cloud-config\npassword: swordfish\n");
        let quoted = format!("bad value \"{}\" near password: swordfish", "hunter2-hunter2");
        let base64 = BASE64.encode(secret.reveal());
        for text in [quoted.as_str(), base64.as_str(), "x\n#cloud-config\npassword: swordfish\ny"] {
            let clean = scrubber.scrub(text);
            assert!(!clean.contains("hunter2") && !clean.contains("swordfish"), "{clean}");
            assert!(clean.contains(Scrubber::MARK));
        }
    }

    #[test]
    fn a_secret_from_a_file_is_known_in_headers_and_urls() {
        let mut scrubber = Scrubber::default();
        scrubber.hide(b"p@ss word&more\n");
        for user in ["u", "us", "use"] {
            let header = BASE64.encode(format!("{user}:p@ss word&more").as_bytes());
            assert!(scrubber.scrub(&header).contains(Scrubber::MARK), "{header}");
        }
        assert_eq!(scrubber.scrub("?password=p%40ss%20word%26more&x=1"), "?password=[redacted]&x=1");
    }
}
