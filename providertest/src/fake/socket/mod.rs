//! Fakes of backends that speak a protocol of bytes over TCP or unix sockets. An author says where a message ends, how it
//! is read, what it does, and how an error of the catalogue looks; the server does the rest.
//!
//! Each connection has a task of its own and a session, each message too, so that a closed connection decides nothing. A
//! message is matched to the provider's call by its id where the protocol can carry one ([`Reading::of_call`]); otherwise
//! the server is told that its client blocks a thread ([`Server::blocking`]), or cases run one operation at a time.
//!
//! Conditions reach connections that stand: a target that is cut loses them at once, and one that hangs does not greet.
//!
//! ```
//! use std::sync::{Arc, Mutex};
//!
//! use provider_api::{Catalogue, Class, NativeError};
//! use providertest::fake::socket::{Fake, Malformed, Push, Server};
//! use providertest::fake::{On, Reading, Refused};
//! use providertest::{ledger::Ledger, wire::Wire};
//!
//! const TABLE: &[NativeError] =
//!     &[NativeError::new("unknown-word", &["say"], Class::Permanent, "the lines' own page").text("what?")];
//!
//! /// Keeps what is said to it, line by line.
//! #[derive(Default)]
//! struct Lines(Mutex<Vec<String>>);
//!
//! impl Fake for Lines {
//!     type Session = ();
//!     fn begin(&self, _: Push) {}
//!
//!     fn frame(&self, _: &(), bytes: &[u8]) -> Result<Option<usize>, Malformed> {
//!         Ok(bytes.iter().position(|byte| *byte == b'\n').map(|end| end + 1))
//!     }
//!
//!     fn read(&self, _: &(), message: &[u8]) -> Reading {
//!         Reading::new("say", "host-1").about(String::from_utf8_lossy(message).trim_end()).mutates()
//!     }
//!
//!     fn answer(&self, _: &mut (), message: &[u8]) -> Result<Vec<u8>, Refused> {
//!         let text = std::str::from_utf8(message).map_err(|_| Refused("unknown-word"))?;
//!         self.0.lock().unwrap().push(text.to_owned());
//!         Ok(b"ok\n".to_vec())
//!     }
//!
//!     fn native(&self, _: &(), _: &[u8], error: &NativeError, _: Option<&str>) -> Vec<u8> {
//!         format!("error {}\n", error.text).into_bytes()
//!     }
//! }
//!
//! let wire = Wire::new(Ledger::default());
//! let server = Server::new(Arc::<Lines>::default(), wire.clone(), Catalogue(&[TABLE]), "host-1");
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! # use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
//! let serving = server.serve(On::Tcp)?;
//! let mut client = tokio::net::TcpStream::connect(serving.address().unwrap()).await?;
//! client.write_all(b"hello\n").await?;
//! let mut answer = [0; 3];
//! client.read_exact(&mut answer).await?;
//! assert_eq!(&answer, b"ok\n");
//! assert_eq!(wire.calls()[0].subject, "hello");
//! # Ok::<(), std::io::Error>(())
//! # })?;
//! # Ok::<(), std::io::Error>(())
//! ```

mod connection;
mod server;
#[cfg(test)]
mod tests;

use futures::channel::mpsc::UnboundedSender;
use provider_api::NativeError;

pub use self::server::Server;
pub use super::{Reading, Refused};

/// A backend behind a protocol of bytes, as its author writes it.
pub trait Fake: Send + Sync + 'static {
    /// What the backend knows of one connection: who logged in, what was opened.
    type Session: Send + 'static;

    /// A client has connected. What the backend says first, and what it says unasked later, is pushed.
    fn begin(&self, push: Push) -> Self::Session;

    /// How many of these bytes make the first message; `None` while it is not whole.
    ///
    /// # Errors
    /// [`Malformed`] for bytes that begin no message; the connection is then reset.
    fn frame(&self, session: &Self::Session, bytes: &[u8]) -> Result<Option<usize>, Malformed>;

    /// What the wire is to record of a message. It changes nothing, and has something to say about nonsense too.
    fn read(&self, session: &Self::Session, message: &[u8]) -> Reading;

    /// Does what a message asks for, in one step, and answers; a message that needs no answer has an empty one. It may be
    /// called long after the message came, when a plan lets its effect land late.
    ///
    /// # Errors
    /// The id of a catalogued error, which [`Fake::native`] then words.
    fn answer(&self, session: &mut Self::Session, message: &[u8]) -> Result<Vec<u8>, Refused>;

    /// How an error of the catalogue looks, with what it is to quote, if anything. It is also asked for
    /// [`UNKNOWN_ERROR`](crate::harness::UNKNOWN_ERROR).
    fn native(
        &self,
        session: &Self::Session,
        message: &[u8],
        error: &NativeError,
        quoted: Option<&str>,
    ) -> Vec<u8>;

    /// Whether refusals quote the messages with a payload now; `Hand::quote_payloads` switches it.
    fn quotes(&self) -> bool {
        false
    }

    /// Whether messages of one connection are served beside each other, and answered in any order, since each answer says
    /// what it belongs to. Otherwise a message waits until those before it have been answered.
    fn overlaps(&self) -> bool {
        false
    }

    /// Takes a message that is no call: a piece of a transfer, a sign of life. What is taken is taken in the order of
    /// arrival and past the wire, no fault meets it, and these bytes answer it; they may be none.
    fn aside(&self, session: &mut Self::Session, message: &[u8]) -> Option<Vec<u8>> {
        let _ = (session, message);
        None
    }

    /// How many calls of one connection may be unanswered before the backend reads no further on it. What a client says
    /// beyond that waits, whatever it is, and the ledger knows it as held.
    fn at_once(&self) -> usize {
        usize::MAX
    }

    /// The answer to a message is said now, if it is not lost on the way; what the backend does with the connection then.
    fn answered(&self, session: &mut Self::Session, message: &[u8], answer: &[u8]) -> Then {
        let _ = (session, message, answer);
        Then::Listens
    }
}

/// What a backend does once it has said an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It listens for more.
    Listens,
    /// It closes the connection.
    HangsUp,
}

/// The bytes are no message of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// Says something to a client that did not ask. What is pushed to one that is gone is lost.
#[derive(Clone, Debug)]
pub struct Push(UnboundedSender<Out>);

impl Push {
    /// Says it after everything that was said before.
    pub fn say(&self, bytes: impl Into<Vec<u8>>) {
        // Whoever has left does not hear it.
        let _ = self.0.unbounded_send(Out::Bytes(bytes.into()));
    }

    /// Closes the connection, after everything that was said before.
    pub fn hang_up(&self) {
        // Whoever has left does not see it.
        let _ = self.0.unbounded_send(Out::Reset);
    }
}

/// What goes out on a connection.
#[derive(Debug)]
enum Out {
    Bytes(Vec<u8>),
    /// Nothing, and nothing after it: the connection breaks.
    Reset,
}
