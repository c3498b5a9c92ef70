//! The file system of a seed: FAT with one sector size that a disk and a CD-ROM both can have, and nothing in it that
//! depends on the time or the place where it is made.

use std::io::{self, Cursor, Write};

use fatfs::{
    Date, DateTime, FatType, FileSystem, FormatVolumeOptions, FsOptions, Time, TimeProvider, format_volume,
};
use zeroize::Zeroizing;

/// A CD-ROM has no smaller sectors, and on a disk larger ones than its own do no harm.
const SECTOR: u16 = 2048;
/// What cloud-init looks for, in either case.
const LABEL: [u8; 11] = *b"cidata     ";
/// One sector of them; four files with long names take a dozen.
const ROOT_ENTRIES: u16 = SECTOR / 32;

/// The library makes no smaller volume.
const LEAST_SECTORS: usize = 11;

/// FAT's earliest moment, whatever the clock says.
#[derive(Debug)]
struct NoTime;

impl TimeProvider for NoTime {
    fn get_current_date(&self) -> Date {
        Date { year: 1980, month: 1, day: 1 }
    }

    fn get_current_date_time(&self) -> DateTime {
        DateTime { date: self.get_current_date(), time: Time { hour: 0, min: 0, sec: 0, millis: 0 } }
    }
}

/// Writes a volume with these files in its root.
pub(crate) fn write(serial: u32, files: &[(&str, &[u8])]) -> io::Result<Zeroizing<Vec<u8>>> {
    let sector = usize::from(SECTOR);
    let clusters: usize = files.iter().map(|(_, bytes)| bytes.len().div_ceil(sector)).sum();
    // Twelve bits a cluster, for two more than there are, and one to spare for rounding.
    let table = ((clusters + 3) * 3).div_ceil(2 * sector);
    let sectors = (1 + table + 1 + clusters + 1).max(LEAST_SECTORS);
    let mut bytes = Zeroizing::new(vec![0; sectors * sector]);

    let options = FormatVolumeOptions::new()
        .bytes_per_sector(SECTOR)
        .bytes_per_cluster(u32::from(SECTOR))
        .fat_type(FatType::Fat12)
        .fats(1)
        .max_root_dir_entries(ROOT_ENTRIES)
        .volume_id(serial)
        .volume_label(LABEL);
    format_volume(Cursor::new(&mut bytes[..]), options)?;
    let volume = FileSystem::new(Cursor::new(&mut bytes[..]), FsOptions::new().time_provider(&NoTime))?;
    for (name, contents) in files {
        volume.root_dir().create_file(name)?.write_all(contents)?;
    }
    volume.unmount()?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use proptest::prelude::*;

    use super::*;

    fn read(volume: &[u8], name: &str) -> Vec<u8> {
        let volume = FileSystem::new(Cursor::new(volume.to_vec()), FsOptions::new()).unwrap();
        let mut bytes = Vec::new();
        volume.root_dir().open_file(name).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_volume_has_the_label_and_the_serial() {
        let bytes = write(0xdead_beef, &[("user-data", b"x")]).unwrap();
        let volume = FileSystem::new(Cursor::new(bytes.to_vec()), FsOptions::new()).unwrap();
        assert_eq!(volume.volume_label(), "cidata");
        assert_eq!(volume.read_volume_label_from_root_dir().unwrap().as_deref(), Some("cidata"));
        assert_eq!(volume.volume_id(), 0xdead_beef);
        assert_eq!(volume.fat_type(), FatType::Fat12);
    }

    #[test]
    fn the_room_is_enough_around_every_rounding() {
        for clusters in (0..3000).step_by(61).chain([1362, 1363, 1364, 1365, 2728, 2729, 2730, 3999]) {
            for bytes in [clusters * 2048, clusters * 2048 + 1] {
                let contents = vec![7; bytes];
                let volume = write(1, &[("user-data", &contents)]).unwrap();
                assert_eq!(volume.len() % 2048, 0);
                assert!(
                    volume.len() <= (bytes + 6 * 2048 + bytes / 1000).max(11 * 2048),
                    "{bytes}: {}",
                    volume.len()
                );
                assert!(read(&volume, "user-data") == contents, "{bytes}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn what_is_written_is_read_and_the_same_twice(
            user in prop::collection::vec(any::<u8>(), 0..20_000),
            meta in prop::collection::vec(any::<u8>(), 0..3_000),
            serial: u32,
        ) {
            let files = [("meta-data", &meta[..]), ("user-data", &user[..]), ("network-config", b"")];
            let volume = write(serial, &files).unwrap();
            prop_assert_eq!(&volume, &write(serial, &files).unwrap());
            for (name, contents) in files {
                prop_assert_eq!(read(&volume, name), contents);
            }
        }
    }
}
