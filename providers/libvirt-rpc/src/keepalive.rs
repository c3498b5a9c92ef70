//! Signs of life: packets of a program of their own, without a payload. A daemon answers a ping at once, and sends pings
//! itself to those who have asked for [`KEEPALIVE`](crate::connect::feature::KEEPALIVE): after five seconds of silence,
//! and every five from then on; whoever leaves five of them unanswered is cut off.

use crate::packet::{Header, Kind, MIN_PACKET, Status, program};

/// The procedure of a ping.
pub const PING: i32 = 1;
/// The procedure of its answer.
pub const PONG: i32 = 2;

/// What a packet of this program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// It wants an answer.
    Ping,
    /// It is one.
    Pong,
}

impl Sign {
    /// The sign that a packet is, if it is one.
    pub fn of(header: &Header) -> Option<Self> {
        match (header.program, header.procedure) {
            (program::KEEPALIVE, PING) => Some(Self::Ping),
            (program::KEEPALIVE, PONG) => Some(Self::Pong),
            _ => None,
        }
    }

    /// It as a packet.
    pub fn packet(self) -> [u8; MIN_PACKET] {
        let procedure = match self {
            Self::Ping => PING,
            Self::Pong => PONG,
        };
        let header = Header::call(program::KEEPALIVE, procedure, 0).with(Kind::Message, Status::Ok);
        header.before(0).expect("a packet without payload is short enough")
    }
}
