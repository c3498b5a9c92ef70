//! What somebody else defines on a host: a domain, on disks that are there, with marks that look like ours or without.

use std::collections::BTreeMap;

use super::sight::NAMESPACE;

/// A domain with these marks and on these disks, plugged into a `network` or a `bridge` of that name.
pub(crate) fn foreign(
    name: &str,
    marks: &BTreeMap<String, String>,
    disks: &[String],
    (uplink, plugged): (&str, &str),
) -> String {
    let element = match marks.is_empty() {
        true => String::new(),
        false => {
            format!("<metadata><p:instance xmlns:p='{NAMESPACE}'{}/></metadata>", attributes(marks))
        }
    };
    let disks: String = disks
        .iter()
        .enumerate()
        .map(|(at, path)| {
            let letter = char::from(b'a' + u8::try_from(at).unwrap_or(0));
            format!("<disk type='file' device='disk'><source file='{path}'/><target dev='vd{letter}' bus='virtio'/></disk>")
        })
        .collect();
    format!(
        "<domain type='qemu'><name>{name}</name>{element}<memory unit='MiB'>64</memory>\
         <os><type arch='x86_64' machine='q35'>hvm</type></os><devices>{disks}\
         <interface type='{uplink}'><source {uplink}='{plugged}'/></interface></devices></domain>"
    )
}

/// The element that carries marks, as it is put among a domain's metadata.
pub(crate) fn element(marks: &BTreeMap<String, String>) -> String {
    format!("<instance{}/>", attributes(marks))
}

fn attributes(marks: &BTreeMap<String, String>) -> String {
    marks.iter().map(|(key, value)| format!(" {key}='{value}'")).collect()
}
