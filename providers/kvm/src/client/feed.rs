//! Bytes on their way into a volume: from a download that goes on, or from memory, to the thread that sends them.

use futures::{SinkExt as _, StreamExt as _, channel::mpsc, executor::block_on};
use provider_api::Secret;

/// How many pieces may wait. A piece is as large as the network gives it, so this bounds the memory.
const WAITING: usize = 8;

/// What the thread takes.
pub(crate) struct Feed {
    pieces: Pieces,
    whole: bool,
}

enum Pieces {
    Known(Option<Secret>),
    Coming(mpsc::Receiver<Piece>),
}

enum Piece {
    Bytes(bytes::Bytes),
    /// There is no more.
    End,
}

/// The other end of a feed.
pub(crate) struct Feeder(mpsc::Sender<Piece>);

impl Feed {
    /// All of them at once.
    pub(crate) fn of(bytes: Secret) -> Self {
        Self { pieces: Pieces::Known(Some(bytes)), whole: false }
    }

    /// One that somebody fills.
    pub(crate) fn coming() -> (Feeder, Self) {
        let (send, receive) = mpsc::channel(WAITING);
        (Feeder(send), Self { pieces: Pieces::Coming(receive), whole: false })
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
            Pieces::Coming(receive) => match block_on(receive.next())? {
                Piece::Bytes(bytes) => Some(take(&bytes)),
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
    /// Hands a piece over; waits while enough are waiting.
    pub(crate) async fn put(&mut self, bytes: bytes::Bytes) -> Result<(), NobodyTakes> {
        self.0.send(Piece::Bytes(bytes)).await.map_err(|_| NobodyTakes)
    }

    /// Says that this was all.
    pub(crate) async fn end(mut self) -> Result<(), NobodyTakes> {
        self.0.send(Piece::End).await.map_err(|_| NobodyTakes)
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
        block_on(feeder.put("x".into())).unwrap();
        block_on(feeder.end()).unwrap();
        assert_eq!(told(&mut feed).unwrap(), b"x");
        assert!(told(&mut feed).is_none() && feed.is_whole());

        let (mut feeder, mut feed) = Feed::coming();
        block_on(feeder.put("x".into())).unwrap();
        drop(feeder);
        assert_eq!(told(&mut feed).unwrap(), b"x");
        assert!(told(&mut feed).is_none() && !feed.is_whole(), "whoever gave it went away in the middle");
    }
}
