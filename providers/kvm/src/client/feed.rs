//! Bytes on their way into a volume: from a download that goes on, or from memory, to the thread that sends them.

use std::mem;

use futures::{SinkExt as _, StreamExt as _, channel::mpsc, executor::block_on};
use provider_api::Secret;

/// As much as one message of a stream carries to every daemon. What the network gives is often less, and each message has
/// a price of its own.
const PIECE: usize = 262_120;

/// How many pieces there are: one that is filled, and those that wait or are sent. They go round for as long as the feed
/// lasts, which bounds the memory and has none of it given back and taken anew.
const PIECES: usize = 4;

/// What the thread takes.
pub(crate) struct Feed {
    pieces: Pieces,
    whole: bool,
}

enum Pieces {
    Known(Option<Secret>),
    Coming { full: mpsc::Receiver<Piece>, empty: mpsc::Sender<Vec<u8>> },
}

enum Piece {
    Bytes(Vec<u8>),
    /// There is no more.
    End,
}

/// The other end of a feed.
pub(crate) struct Feeder {
    full: mpsc::Sender<Piece>,
    empty: mpsc::Receiver<Vec<u8>>,
    filled: Vec<u8>,
}

impl Feed {
    /// All of them at once.
    pub(crate) fn of(bytes: Secret) -> Self {
        Self { pieces: Pieces::Known(Some(bytes)), whole: false }
    }

    /// One that somebody fills.
    pub(crate) fn coming() -> (Feeder, Self) {
        let ((full, sent), (mut back, empty)) = (mpsc::channel(PIECES), mpsc::channel(PIECES));
        for _ in 1..PIECES {
            // There is room for all of them.
            let _ = back.try_send(Vec::new());
        }
        let feeder = Feeder { full, empty, filled: Vec::new() };
        (feeder, Self { pieces: Pieces::Coming { full: sent, empty: back }, whole: false })
    }

    /// Hands the next piece over; blocks until there is one. None at the end, and when the feeder went away.
    pub(super) fn next<T>(&mut self, take: impl FnOnce(&[u8]) -> T) -> Option<T> {
        match &mut self.pieces {
            Pieces::Known(bytes) => match bytes.take() {
                Some(bytes) => Some(take(bytes.reveal())),
                None => {
                    self.whole = true;
                    None
                }
            },
            Pieces::Coming { full, empty } => match block_on(full.next())? {
                Piece::Bytes(mut bytes) => {
                    let taken = take(&bytes);
                    bytes.clear();
                    // Whoever fills them may have gone away.
                    let _ = empty.try_send(bytes);
                    Some(taken)
                }
                Piece::End => {
                    self.whole = true;
                    None
                }
            },
        }
    }

    /// Whether all of it was taken.
    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }
}

/// The thread takes no more: the transfer failed.
#[derive(Debug)]
pub(crate) struct NobodyTakes;

impl Feeder {
    /// Takes bytes, and hands each piece over that they fill; waits while enough are waiting.
    pub(crate) async fn put(&mut self, mut bytes: &[u8]) -> Result<(), NobodyTakes> {
        while !bytes.is_empty() {
            self.filled.reserve_exact(PIECE - self.filled.len());
            let (fits, rest) = bytes.split_at(bytes.len().min(PIECE - self.filled.len()));
            self.filled.extend_from_slice(fits);
            bytes = rest;
            if self.filled.len() == PIECE {
                self.hand_over().await?;
            }
        }
        Ok(())
    }

    /// Says that this was all.
    pub(crate) async fn end(mut self) -> Result<(), NobodyTakes> {
        if !self.filled.is_empty() {
            self.hand_over().await?;
        }
        self.full.send(Piece::End).await.map_err(|_| NobodyTakes)
    }

    async fn hand_over(&mut self) -> Result<(), NobodyTakes> {
        let next = self.empty.next().await.ok_or(NobodyTakes)?;
        let piece = mem::replace(&mut self.filled, next);
        self.full.send(Piece::Bytes(piece)).await.map_err(|_| NobodyTakes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feed_is_whole_only_when_it_was_said() {
        let told = |feed: &mut Feed| feed.next(<[u8]>::to_vec);
        let mut known = Feed::of(Secret::new(*b"ab"));
        assert_eq!(told(&mut known).unwrap(), b"ab");
        assert!(!known.is_whole());
        assert!(told(&mut known).is_none() && known.is_whole());

        let (mut feeder, mut feed) = Feed::coming();
        block_on(feeder.put(b"x")).unwrap();
        block_on(feeder.end()).unwrap();
        assert_eq!(told(&mut feed).unwrap(), b"x");
        assert!(told(&mut feed).is_none() && feed.is_whole());

        let (mut feeder, mut feed) = Feed::coming();
        block_on(feeder.put(&[7; PIECE + 1])).unwrap();
        drop(feeder);
        assert_eq!(told(&mut feed).unwrap(), [7; PIECE]);
        assert!(told(&mut feed).is_none() && !feed.is_whole(), "whoever gave it went away in the middle");

        let (mut feeder, feed) = Feed::coming();
        drop(feed);
        block_on(feeder.put(&[7; PIECE])).unwrap_err();
    }

    #[test]
    fn however_bytes_come_they_go_in_pieces_of_one_size_and_a_few_at_a_time() {
        const WHOLE: usize = 3 * PIECES * PIECE + 5;
        let bytes: Vec<u8> = (0..WHOLE).map(|at| (at / 1009) as u8).collect();
        for chunk in [1000, PIECE - 1, PIECE, 3 * PIECE + 7] {
            let (mut feeder, mut feed) = Feed::coming();
            let chunks: Vec<_> = bytes.chunks(chunk).map(<[u8]>::to_vec).collect();
            let feeding = std::thread::spawn(move || {
                block_on(async {
                    for chunk in &chunks {
                        feeder.put(chunk).await.unwrap();
                    }
                    feeder.end().await.unwrap();
                });
            });
            let (mut came, mut buffers) = (Vec::new(), std::collections::BTreeSet::new());
            while let Some(piece) = feed.next(|piece| (piece.to_vec(), piece.as_ptr() as usize)) {
                assert!(piece.0.len() == PIECE || came.len() + piece.0.len() == WHOLE);
                came.extend(piece.0);
                buffers.insert(piece.1);
            }
            feeding.join().unwrap();
            assert!(feed.is_whole() && came == bytes, "in chunks of {chunk}");
            assert!(buffers.len() <= PIECES, "{buffers:?}");
        }
    }
}
