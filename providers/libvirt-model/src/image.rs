//! Images: the entry's catalogue, and what a request may name.

use std::collections::BTreeMap;

use provider_api::{Error, ImageRules, config::Fields, pinned_url};

use crate::names::short;

/// The layout of an image's bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// `qcow2`.
    #[default]
    Qcow2,
    /// `raw`.
    Raw,
}

/// What an image boots by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Firmware {
    /// `uefi`.
    #[default]
    Uefi,
    /// `bios`.
    Bios,
}

/// An image to boot from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// `url`: where it is downloaded from.
    pub url: String,
    /// `sha256`: what its bytes hash to, in lower-case hexadecimal digits.
    pub sha256: Option<String>,
    /// `format`.
    pub format: Format,
    /// `firmware`.
    pub firmware: Firmware,
}

impl Image {
    /// An image of which only the URL is known.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), sha256: None, format: Format::default(), firmware: Firmware::default() }
    }

    /// What tells its bytes from other images', for names of volumes.
    pub fn key(&self) -> String {
        match &self.sha256 {
            // The same bytes from elsewhere are the same image.
            Some(sum) => short(&["sha256", sum]),
            None => short(&["url", &self.url]),
        }
    }

    /// Reads an entry of `images`.
    pub(crate) fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let url = fields.required::<String>("url").filter(|url| {
            let good = is_url(url);
            if !good {
                fields.problem("url", "expected an http or https URL without a user name");
            }
            good
        });
        let sha256 = fields.optional::<String>("sha256");
        if sha256.as_deref().is_some_and(|sum| !is_sha256(sum)) {
            fields.problem("sha256", "expected 64 hexadecimal digits");
        }
        let format = fields.optional::<String>("format").map(|text| match &*text {
            "qcow2" => Some(Format::Qcow2),
            "raw" => Some(Format::Raw),
            _ => {
                fields.problem("format", format!("{text:?} is neither qcow2 nor raw"));
                None
            }
        });
        let firmware = fields.optional::<String>("firmware").map(|text| match &*text {
            "uefi" => Some(Firmware::Uefi),
            "bios" => Some(Firmware::Bios),
            _ => {
                fields.problem("firmware", format!("{text:?} is neither uefi nor bios"));
                None
            }
        });
        Some(Self {
            url: url?,
            sha256: sha256.map(|sum| sum.to_ascii_lowercase()),
            format: format.unwrap_or(Some(Format::default()))?,
            firmware: firmware.unwrap_or(Some(Firmware::default()))?,
        })
    }
}

impl Format {
    /// As libvirt spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Qcow2 => "qcow2",
            Self::Raw => "raw",
        }
    }
}

/// The image that a request names: of the catalogue, or a URL with its sum that `allowedImagePrefixes` lets through
/// (`create.image-allow-list`).
///
/// # Errors
/// Permanent, naming the field.
pub(crate) fn resolve(
    asked: Option<&str>,
    catalogue: &BTreeMap<String, Image>,
    rules: &ImageRules,
) -> Result<Image, Error> {
    let Some(asked) = asked else {
        let names = catalogue.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        return Err(Error::permanent(format!("placement.image is missing; the entry's images are: {names}")));
    };
    if let Some(image) = catalogue.get(asked) {
        return Ok(image.clone());
    }
    rules.allow(asked)?;
    let Some((url, sum)) = pinned_url(asked) else {
        let text = format!("placement.image {asked:?} is neither in the catalogue nor a URL");
        return Err(Error::permanent(text));
    };
    // The name tells nothing: many a qcow2 is called .img.
    Ok(Image { sha256: Some(sum.to_ascii_lowercase()), ..Image::new(url) })
}

fn is_url(url: &str) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let authority = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    !authority.is_empty()
        && !authority.contains('@')
        && !url.contains(|c: char| c.is_whitespace() || c.is_control())
}

fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use provider_api::FailureClass;

    use super::*;

    #[test]
    fn a_request_names_an_image_of_the_catalogue_or_a_pinned_url() {
        let squid = Image::new("https://img.example/squid.qcow2");
        let catalogue = BTreeMap::from([("squid".to_owned(), squid.clone())]);
        let rules = ImageRules { allowed_prefixes: vec!["https://img.example/more".to_owned()] };
        let resolve = |asked: Option<&str>| resolve(asked, &catalogue, &rules);
        assert_eq!(resolve(Some("squid")).unwrap(), squid);
        let sum = "9F86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
        let image = resolve(Some(&format!("https://img.example/more/b.img?x=1#sha256={sum}"))).unwrap();
        assert_eq!(image.url, "https://img.example/more/b.img?x=1");
        assert_eq!(image.sha256.unwrap(), sum.to_ascii_lowercase());
        assert_eq!((image.format, image.firmware), (Format::Qcow2, Firmware::Uefi));
        for bad in [None, Some("debian"), Some("https://img.example/more/b"), Some("https://evil.example/b")]
        {
            let error = resolve(bad).unwrap_err();
            assert_eq!(error.class(), FailureClass::Permanent, "{bad:?}");
            assert!(error.message().contains("placement.image"), "{error}");
        }
    }

    #[test]
    fn an_image_is_known_by_its_sum_or_by_its_url() {
        let sum = Some("ab".repeat(32));
        let [one, two] = ["https://a.example/x", "https://b.example/y"].map(Image::new);
        assert_ne!(one.key(), two.key());
        let [one, two] = [one, two].map(|image| Image { sha256: sum.clone(), ..image });
        assert_eq!(one.key(), two.key());
        assert_eq!(one.key().len(), 16);
    }
}
