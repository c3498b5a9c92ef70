//! Seed images before programs that are not ours: `mtools` lists and reads them, `fsck.fat` finds nothing wrong, `blkid`
//! sees what cloud-init looks for. Needs the packages `mtools`, `dosfstools` and `util-linux`.
#![allow(clippy::unwrap_used)]

use std::{
    path::PathBuf,
    process::{Command, Output},
};

use nocloud::{GUEST_AGENT, Part, Seed};
use provider_api::Secret;
use tempfile::TempDir;

struct Image {
    _folder: TempDir,
    path: PathBuf,
}

fn image(seed: &Seed) -> Image {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seed.img");
    std::fs::write(&path, seed.image().unwrap().reveal()).unwrap();
    Image { _folder: folder, path }
}

/// Runs a program that must be installed and must succeed.
fn run(program: &str, package: &str, arguments: &[&str], image: &Image) -> Output {
    let mut command = Command::new(program);
    // Debian keeps fsck.fat and blkid where an ordinary user's PATH does not look.
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{path}:/usr/sbin:/sbin")).args(arguments);
    let output = command.output().unwrap_or_else(|error| {
        panic!("this test runs {program}, which does not start ({error}); install the package `{package}`")
    });
    let says = [&output.stdout[..], &output.stderr[..]].concat();
    assert!(
        output.status.success(),
        "{command:?} of {}: {}",
        image.path.display(),
        String::from_utf8_lossy(&says)
    );
    output
}

fn mtools(program: &str, image: &Image, arguments: &[&str]) -> Vec<u8> {
    let path = image.path.to_str().unwrap();
    run(program, "mtools", &[&["-i", path], arguments].concat(), image).stdout
}

fn seeds() -> Vec<(Seed, Vec<(Part, Vec<u8>)>)> {
    let user_data = b"#cloud-config\npackages: [squid]\n".to_vec();
    let binary: Vec<u8> = (0..300_000u32).map(|index| (index % 1009 * 7 % 251) as u8).collect();
    let meta_data = b"instance-id: \"i-1\"\nlocal-hostname: \"proxy-a\"\n".to_vec();
    let (user, meta, vendor, network) =
        (Part::UserData, Part::MetaData, Part::VendorData, Part::NetworkConfig);
    let network_config = "version: 2\nethernets: {eth0: {dhcp4: true}}\n";
    let seed = |bytes: &[u8]| Seed::new("i-1", "proxy-a", Secret::new(bytes));
    let full = vec![b'x'; Part::UserData.limit()];
    vec![
        (seed(&user_data), vec![(meta, meta_data.clone()), (user, user_data.clone())]),
        (seed(b""), vec![(meta, meta_data.clone()), (user, Vec::new())]),
        (
            seed(&user_data).vendor_data(Secret::new(GUEST_AGENT)).network_config(network_config),
            vec![
                (meta, meta_data.clone()),
                (user, user_data),
                (vendor, GUEST_AGENT.into()),
                (network, network_config.into()),
            ],
        ),
        (seed(&binary), vec![(meta, meta_data.clone()), (user, binary)]),
        (
            seed(&full).vendor_data(Secret::new(full.clone())),
            vec![(meta, meta_data), (user, full.clone()), (vendor, full)],
        ),
    ]
}

#[test]
fn mtools_reads_every_part_byte_for_byte_and_finds_no_more() {
    for (seed, parts) in seeds() {
        let image = image(&seed);
        for (part, bytes) in &parts {
            let read = mtools("mtype", &image, &[&format!("::/{part}")]);
            assert!(read == *bytes, "{part}: {} bytes instead of {}", read.len(), bytes.len());
        }
        let listed = String::from_utf8(mtools("mdir", &image, &["-b", "-a", "::/"])).unwrap();
        let mut listed: Vec<_> = listed.lines().map(|line| line.trim_start_matches("::/")).collect();
        let mut expected: Vec<_> = parts.iter().map(|(part, _)| part.as_str()).collect();
        listed.sort_unstable();
        expected.sort_unstable();
        assert_eq!(listed, expected);
    }
}

#[test]
fn fsck_finds_nothing_to_mend() {
    for (seed, _) in seeds() {
        let image = image(&seed);
        // -n changes nothing, and any complaint makes it fail.
        let says = run("fsck.fat", "dosfstools", &["-n", "-v", image.path.to_str().unwrap()], &image).stdout;
        let says = String::from_utf8_lossy(&says).into_owned();
        assert!(says.contains("2048 bytes per logical sector"), "{says}");
    }
}

#[test]
fn blkid_sees_what_cloud_init_looks_for() {
    for (seed, _) in seeds() {
        let image = image(&seed);
        let path = image.path.to_str().unwrap();
        let says = run("blkid", "util-linux", &["-p", "-o", "export", path], &image).stdout;
        let says = String::from_utf8(says).unwrap();
        for line in ["TYPE=vfat", "LABEL=cidata", "USAGE=filesystem"] {
            assert!(says.lines().any(|other| other == line), "{line} is not in:\n{says}");
        }
        assert!(says.contains("\nUUID="), "{says}");
    }
}
