//! Call ids on libvirt's wire, for tests: the serial number of each packet becomes the id of the seam's call that it
//! belongs to, and back. The C library counts its packets by itself and cannot be told; a connection carries one call at
//! a time, so that the relay knows.

use std::sync::atomic::{AtomicU32, Ordering};

/// The serial number that the library gave its last packet.
#[derive(Default)]
pub(super) struct Numbered(AtomicU32);

/// What changes the packets of one direction. Packets come in pieces; what is not whole waits.
pub(super) struct Rewrite<'n> {
    numbers: &'n Numbered,
    homeward: bool,
}

/// The length of a packet's length and header, and where in it the type and the serial number stand.
const HEADER: usize = 28;
const TYPE: usize = 16;
const SERIAL: usize = 20;
/// Events come by themselves, under a number of the daemon's.
const MESSAGE: u32 = 2;

impl Numbered {
    pub(super) fn outward(&self) -> Rewrite<'_> {
        Rewrite { numbers: self, homeward: false }
    }

    pub(super) fn homeward(&self) -> Rewrite<'_> {
        Rewrite { numbers: self, homeward: true }
    }
}

impl Rewrite<'_> {
    /// Takes the whole packets out of `bytes`, numbered anew.
    pub(super) fn pass(&mut self, bytes: &mut Vec<u8>, call: u64) -> Vec<u8> {
        let mut end = 0;
        while let Some(length) = word(&bytes[end..], 0) {
            let length = (length as usize).max(HEADER);
            if bytes.len() - end < length {
                break;
            }
            let packet = &mut bytes[end..end + length];
            let kind = word(packet, TYPE).unwrap_or(MESSAGE);
            let number = match (self.homeward, kind) {
                (_, MESSAGE) => None,
                (true, _) => Some(self.numbers.0.load(Ordering::Acquire)),
                (false, _) => {
                    self.numbers.0.store(word(packet, SERIAL).unwrap_or(0), Ordering::Release);
                    u32::try_from(call).ok().filter(|call| *call != 0)
                }
            };
            if let Some(number) = number {
                packet[SERIAL..SERIAL + 4].copy_from_slice(&number.to_be_bytes());
            }
            end += length;
        }
        bytes.drain(..end).collect()
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4).map(|word| u32::from_be_bytes([word[0], word[1], word[2], word[3]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(kind: u32, serial: u32, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(HEADER + payload.len()).unwrap();
        let words = [length, 0x2000_8086, 1, 66, kind, serial, 0];
        words.iter().flat_map(|word| word.to_be_bytes()).chain(payload.iter().copied()).collect()
    }

    #[test]
    fn a_call_goes_out_under_its_id_and_its_answer_comes_back_under_the_librarys_number() {
        let numbers = Numbered::default();
        let (mut out, mut home) = (numbers.outward(), numbers.homeward());
        assert_eq!(out.pass(&mut packet(0, 4, b"abc"), 77), packet(0, 77, b"abc"));
        assert_eq!(home.pass(&mut packet(1, 77, b""), 0), packet(1, 4, b""));
        assert_eq!(home.pass(&mut packet(2, 1, b""), 0), packet(2, 1, b""), "an event is nobody's answer");
    }

    #[test]
    fn packets_come_in_pieces_and_together() {
        let numbers = Numbered::default();
        let mut out = numbers.outward();
        let both = [packet(0, 1, b"x"), packet(3, 1, b"yz")].concat();
        let mut bytes = both[..40].to_vec();
        assert_eq!(out.pass(&mut bytes, 9), packet(0, 9, b"x"));
        bytes.extend(&both[40..]);
        assert_eq!(out.pass(&mut bytes, 9), packet(3, 9, b"yz"));
        assert!(bytes.is_empty());
    }

    #[test]
    fn without_a_call_nothing_is_changed() {
        let numbers = Numbered::default();
        assert_eq!(numbers.outward().pass(&mut packet(0, 4, b""), 0), packet(0, 4, b""));
    }
}
