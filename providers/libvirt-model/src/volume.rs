//! Volumes as XML: those that a create makes, and what is read of one that stands. Their names are in `names.rs`.

use provider_api::Timestamp;

use crate::{
    Format, Unreadable,
    xml::{self, Element, at, text_at},
};

/// A volume to be made.
#[derive(Clone, Copy, Debug)]
pub enum NewVolume<'a> {
    /// Room for bytes that are uploaded as they are: an image, whose layout libvirt finds out for itself, or a seed.
    Bytes {
        /// How many there will be.
        length: u64,
    },
    /// The sign that an image is whole; there is nothing in it.
    Marker,
    /// A disk over an image.
    Overlay {
        /// How large the guest sees it, in bytes.
        capacity: u64,
        /// Where the image is, on the host.
        image: &'a str,
        /// How the image is laid out; never to be guessed, since a guest can write what looks like another layout.
        format: Format,
    },
}

impl NewVolume<'_> {
    /// As `virStorageVolCreateXML` takes it.
    pub fn to_xml(&self, name: &str) -> String {
        let (capacity, format) = match self {
            Self::Bytes { length } => (*length, Format::Raw),
            Self::Marker => (1, Format::Raw),
            Self::Overlay { capacity, .. } => (*capacity, Format::Qcow2),
        };
        let laid_out = |format: Format| Element::new("format").attr("type", format.as_str());
        let volume = Element::new("volume").with([
            Element::new("name").text(name),
            Element::new("capacity").attr("unit", "bytes").text(capacity),
            Element::new("allocation").attr("unit", "bytes").text(0),
            Element::new("target").with([laid_out(format)]),
        ]);
        let below = match self {
            Self::Overlay { image, format, .. } => {
                Some(Element::new("backingStore").with([Element::new("path").text(image), laid_out(*format)]))
            }
            Self::Bytes { .. } | Self::Marker => None,
        };
        volume.with(below).to_string()
    }
}

/// What is read of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Its name.
    pub name: String,
    /// How large a guest sees it, in bytes.
    pub capacity: u64,
    /// How much room it takes, in bytes.
    pub allocation: u64,
    /// How it is laid out, as far as libvirt has found out.
    pub format: String,
    /// Where it is, on the host.
    pub path: String,
    /// Where what it stands on is.
    pub backing: Option<String>,
    /// When it was made, as far as the file system tells: it was not changed before.
    pub made: Option<Timestamp>,
    /// When its bytes were last written.
    pub written: Option<Timestamp>,
}

impl Volume {
    /// Reads a volume as `virStorageVolGetXMLDesc` gives it.
    ///
    /// # Errors
    /// When it is no volume, or one without what every volume has.
    pub fn read(xml: &str) -> Result<Self, Unreadable> {
        let document = xml::parse("volume", xml)?;
        let root = document.root_element();
        let lacks = |what: &str| Unreadable::new("volume", format_args!("it has no {what}"));
        let name = text_at(root, &["name"]).filter(|_| root.has_tag_name("volume"));
        let bytes = |what| text_at(root, &[what]).and_then(|text| text.parse().ok());
        let time = |which| {
            let text = text_at(root, &["target", "timestamps", which])?;
            let seconds = text.split('.').next()?.parse().ok();
            // A time that libvirt does not know is 0: on Linux that of every file's birth.
            seconds.filter(|seconds| *seconds != 0).map(Timestamp::from_unix)
        };
        Ok(Self {
            name: name.ok_or_else(|| lacks("name"))?.to_owned(),
            capacity: bytes("capacity").ok_or_else(|| lacks("capacity"))?,
            allocation: bytes("allocation").unwrap_or(0),
            format: at(root, &["target", "format"])
                .and_then(|format| format.attribute("type"))
                .unwrap_or_default()
                .to_owned(),
            path: text_at(root, &["target", "path"]).ok_or_else(|| lacks("path"))?.to_owned(),
            backing: text_at(root, &["backingStore", "path"]).map(str::to_owned),
            made: ["btime", "mtime", "ctime"].into_iter().filter_map(time).min(),
            written: time("mtime"),
        })
    }

    /// Whether a disk can be taken up again: it stands on that image, is as large as it should be, and nobody has booted
    /// from it (`create.adopts-own-partial`).
    pub fn is_fresh_overlay(&self, image: &str, capacity: u64) -> bool {
        /// An overlay's own tables; whoever boots from it writes more than that at once.
        const TABLES: u64 = 1 << 20;
        self.backing.as_deref() == Some(image)
            && self.capacity == capacity
            && self.format == Format::Qcow2.as_str()
            && self.allocation <= TABLES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden() {
        let overlay = NewVolume::Overlay { capacity: 10 << 30, image: "/pool/<image>", format: Format::Raw };
        let texts =
            [("seed", NewVolume::Bytes { length: 4096 }), ("m", NewVolume::Marker), ("disk", overlay)]
                .map(|(name, volume)| volume.to_xml(name));
        insta::assert_snapshot!(texts.join("\n"));
    }

    /// As libvirt 9.0.0 gives out an overlay in a directory.
    const GIVEN: &str = "<volume type='file'>
  <name>proxy-x-disk</name>
  <key>/pool/proxy-x-disk</key>
  <capacity unit='bytes'>10737418240</capacity>
  <allocation unit='bytes'>200704</allocation>
  <physical unit='bytes'>196624</physical>
  <target>
    <path>/pool/proxy-x-disk</path>
    <format type='qcow2'/>
    <permissions><mode>0600</mode><owner>0</owner><group>0</group></permissions>
    <timestamps>
      <atime>1767225700.5</atime>
      <mtime>1767225600.293190990</mtime>
      <ctime>1767225601.297190990</ctime>
      <btime>0</btime>
    </timestamps>
    <compat>1.1</compat>
  </target>
  <backingStore><path>/pool/image</path><format type='qcow2'/></backingStore>
</volume>";

    #[test]
    fn a_volume_is_read() {
        let volume = Volume::read(GIVEN).unwrap();
        assert_eq!(volume.path, "/pool/proxy-x-disk");
        assert_eq!(volume.made, Some(Timestamp::from_unix(1_767_225_600)));
        assert!(volume.is_fresh_overlay("/pool/image", 10 << 30));
        assert!(!volume.is_fresh_overlay("/pool/other", 10 << 30));
        assert!(!volume.is_fresh_overlay("/pool/image", 20 << 30));
        let booted = Volume { allocation: 50 << 20, ..volume.clone() };
        assert!(!booted.is_fresh_overlay("/pool/image", 10 << 30), "somebody has booted from it");
    }

    #[test]
    fn what_lacks_the_least_is_unreadable() {
        for bad in ["", "<volume/>", "<volume><name>x</name></volume>", "<pool><name>x</name></pool>"] {
            assert!(Volume::read(bad).is_err(), "{bad}");
        }
    }
}
