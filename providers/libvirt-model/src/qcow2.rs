//! What the beginning of an image says about other files. A qcow2 can stand on a file, or keep its bytes in one, and names
//! it by whatever path its maker liked: on a host that would be any file of the host's, handed to the guest.

/// As many bytes of an image as have to be there to tell.
pub const BEGINNING: usize = 104;

/// The magic number of qcow2.
const MAGIC: &[u8] = b"QFI\xfb";
/// Where the path of what it stands on is said to be; 0 where it stands on nothing.
const BACKING: usize = 8;
/// What a reader must know of, since version 3.
const FEATURES: usize = 72;
/// Its bytes are in another file.
const DATA_ELSEWHERE: u64 = 1 << 2;

/// Whether an image that begins so needs another file.
pub fn reaches_out(beginning: &[u8]) -> bool {
    let long = |at: usize| {
        let bytes = beginning.get(at..)?.first_chunk()?;
        Some(u64::from_be_bytes(*bytes))
    };
    let version =
        beginning.get(4..).and_then(|rest| rest.first_chunk()).map(|word| u32::from_be_bytes(*word));
    let elsewhere = version.is_some_and(|version| version >= 3)
        && long(FEATURES).is_some_and(|features| features & DATA_ELSEWHERE != 0);
    beginning.starts_with(MAGIC) && (long(BACKING).is_some_and(|at| at != 0) || elsewhere)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(version: u8, put: &[(usize, u8)]) -> Vec<u8> {
        let mut bytes = vec![0; BEGINNING];
        bytes[..4].copy_from_slice(MAGIC);
        bytes[7] = version;
        put.iter().for_each(|(at, byte)| bytes[*at] = *byte);
        bytes
    }

    #[test]
    fn an_image_stands_on_itself_or_is_found_out() {
        assert!(!reaches_out(&header(3, &[])));
        assert!(!reaches_out(&header(3, &[(79, 1 | 2 | 8 | 16)])), "other features need no other file");
        assert!(reaches_out(&header(3, &[(79, 4)])));
        assert!(!reaches_out(&header(2, &[(79, 4)])), "there are no features in version 2");
        for version in [2, 3] {
            assert!(reaches_out(&header(version, &[(15, 112)])));
            assert!(reaches_out(&header(version, &[(8, 1)])));
        }
        assert!(!reaches_out(b"QFI\xfb") && !reaches_out(b"") && !reaches_out(&[1; BEGINNING]));
    }
}
