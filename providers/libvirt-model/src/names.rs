//! What volumes are called. A volume has no labels, so its mark is its name: instance, short installation id, provider
//! and part.

use std::{fmt, iter};

use data_encoding::BASE32_NOPAD;
use provider_api::{Identity, InstallationId, Name};
use sha2::{Digest, Sha256};

use crate::{Family, Image, KVM, KVM2};

/// A part of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The disk that it boots from, an overlay over an image.
    Disk,
    /// The NoCloud seed with its user data.
    Seed,
}

impl Part {
    /// Every part.
    pub const ALL: [Self; 2] = [Self::Disk, Self::Seed];

    fn as_str(self) -> &'static str {
        match self {
            Self::Disk => "disk",
            Self::Seed => "seed",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a part of an instance is called.
pub fn part_name(family: Family, owner: &Name, installation: &InstallationId, part: Part) -> String {
    format!("{owner}-{}-{}-{part}", installation.short(), family.tag)
}

/// The instance that a volume is a part of, if its name says that it is one of this installation's.
pub fn part_of(family: Family, volume: &str, identity: &Identity) -> Option<(Name, Part)> {
    let owner = Name::parse(volume.get(..Name::LEN)?).ok()?;
    let ours = iter::once(&identity.installation).chain(&identity.adopt);
    let mut parts = ours.flat_map(|ours| Part::ALL.map(|part| (part, part_name(family, &owner, ours, part))));
    parts.find(|(_, name)| name == volume).map(|(part, _)| (owner, part))
}

/// Whether a volume is called as a part of an instance is, of whichever installation. What merely begins as one does, such
/// as a clone of a part, is not.
pub fn is_part(volume: &str) -> bool {
    let Some((name, rest)) = volume.split_at_checked(Name::LEN) else { return false };
    let rest: Vec<_> = rest.split('-').collect();
    let ["", installation, family, part] = rest[..] else { return false };
    Name::parse(name).is_ok()
        && installation.len() == 8
        && installation.bytes().all(is_base32)
        && [KVM, KVM2].iter().any(|known| known.tag == family)
        && Part::ALL.iter().any(|known| known.as_str() == part)
}

/// Where every copy of an image begins.
const IMAGE: &str = "proxy-image-";
/// What the marker of a whole image ends in.
const WHOLE: &str = ".whole";

/// One copy of an image in a pool.
///
/// Each try to bring an image has a name of its own, and so has the marker that says that the copy is whole. Two who
/// bring the same image at the same time, from two clusters say, thus never take the other's half for their whole.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImageCopy(String);

impl ImageCopy {
    /// A new copy; `try_` is something that no other try has.
    pub fn new(image: &Image, try_: &str) -> Self {
        Self(format!("{}{}", prefix(image), short(&[try_])))
    }

    /// What the copy is called.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// What the marker is called that says that it is whole.
    pub fn marker(&self) -> String {
        format!("{}{WHOLE}", self.0)
    }
}

/// What volumes say about one image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageCopies {
    /// The copies that are whole. The marker says so, not the length.
    pub whole: Vec<ImageCopy>,
    /// Those that nobody has marked: on their way, or given up half-way.
    pub unmarked: Vec<ImageCopy>,
}

impl ImageCopies {
    /// Reads the names of a pool's volumes.
    pub fn of<'v>(image: &Image, volumes: impl IntoIterator<Item = &'v str>) -> Self {
        let prefix = prefix(image);
        let mut names: Vec<_> = volumes.into_iter().filter(|name| name.starts_with(&prefix)).collect();
        names.sort_unstable();
        let mut copies = Self::default();
        for name in &names {
            // What only begins as a copy does, such as a clone of one, is somebody else's.
            if !is_try(&name[prefix.len()..]) {
                continue;
            }
            let copy = ImageCopy((*name).to_owned());
            let whole = names.contains(&copy.marker().as_str());
            let list = if whole { &mut copies.whole } else { &mut copies.unmarked };
            list.push(copy);
        }
        copies
    }
}

/// Whether a volume is a copy of an image, or the marker of one.
pub fn is_image(volume: &str) -> bool {
    volume.starts_with(IMAGE)
}

/// Where the copies of an image begin.
fn prefix(image: &Image) -> String {
    format!("{IMAGE}{}-", image.key())
}

/// What comes after the beginning of a copy's name, as [`ImageCopy::new`] makes it.
fn is_try(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(is_base32)
}

fn is_base32(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'2'..=b'7')
}

/// Sixteen lower-case base32 characters that tell these texts from others.
pub(crate) fn short(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update(text.len().to_be_bytes());
        hash.update(text);
    }
    BASE32_NOPAD.encode(&hash.finalize()[..10]).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use provider_api::Uid;

    use super::*;

    fn image(url: &str) -> Image {
        Image::new(url)
    }

    #[test]
    fn a_part_is_found_by_its_name_and_only_by_its_own() {
        let owner = Name::from_uid(&Uid::parse("uid-1").unwrap());
        let [us, old, them] = ["us", "old", "them"].map(|id| InstallationId::parse(id).unwrap());
        let identity = Identity { installation: us.clone(), adopt: vec![old.clone()] };
        let name = part_name(KVM, &owner, &us, Part::Seed);
        assert_eq!(name, format!("{owner}-{}-kvm-seed", us.short()));
        assert_eq!(part_of(KVM, &name, &identity), Some((owner.clone(), Part::Seed)));
        let adopted = part_name(KVM, &owner, &old, Part::Disk);
        assert_eq!(part_of(KVM, &adopted, &identity), Some((owner.clone(), Part::Disk)));
        for other in [
            part_name(KVM, &owner, &them, Part::Disk),
            part_name(KVM2, &owner, &us, Part::Disk),
            format!("{name}x"),
            owner.to_string(),
            "é".repeat(30),
            String::new(),
        ] {
            assert_eq!(part_of(KVM, &other, &identity), None, "{other}");
        }
    }

    #[test]
    fn what_is_called_as_a_part_is_one_and_a_clone_of_it_is_not() {
        let owner = Name::from_uid(&Uid::parse("uid-1").unwrap());
        let them = InstallationId::parse("them").unwrap();
        for family in [KVM, KVM2] {
            for part in Part::ALL {
                let name = part_name(family, &owner, &them, part);
                assert!(is_part(&name), "{name}");
                for other in [
                    format!("{name}.snap1"),
                    format!("{name}-2"),
                    format!("x{name}"),
                    name.replace("-kvm", "-qemu"),
                ] {
                    assert!(!is_part(&other), "{other}");
                }
            }
        }
        for other in [format!("{owner}-clone"), owner.to_string(), "é".repeat(30), String::new()] {
            assert!(!is_part(&other), "{other}");
        }
    }

    #[test]
    fn the_marker_alone_says_that_a_copy_is_whole() {
        let ours = image("https://img.example/a.qcow2");
        let [one, two, three] = ["1", "2", "3"].map(|try_| ImageCopy::new(&ours, try_));
        let other = ImageCopy::new(&image("https://img.example/b.qcow2"), "1");
        let names = [
            one.name().to_owned(),
            one.marker(),
            two.name().to_owned(),
            three.marker(),
            other.name().to_owned(),
            other.marker(),
            "proxy-image".to_owned(),
            format!("{}-backup", two.name()),
            format!("{}.qcow2", one.name()),
        ];
        let copies = ImageCopies::of(&ours, names.iter().map(String::as_str));
        assert_eq!(copies.whole, [one]);
        assert_eq!(copies.unmarked, [two]);
        assert!(is_image(other.name()) && is_image(&other.marker()) && !is_image("debian.qcow2"));
    }
}
