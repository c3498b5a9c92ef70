//! Building blocks for fake backends, for authors of providers everywhere.
//!
//! A fake stands at the wire, below the provider's own client. What the kit asks of it beyond the backend's own ways is
//! done here; an author says how a request is read, what it does to the store, and how an error looks on the wire.
//!
//! | block | does |
//! |---|---|
//! | [`http`] | serves routes on a unix socket, on TCP, under TLS or in the process; records, holds, breaks and answers requests |
//! | [`socket`] | the same for any protocol whose messages can be cut apart |
//! | [`Tls`] | an authority of the fake's own, and certificates by it, good and bad |
//! | [`store`] | instances, tasks, locks, quotas, pages, tokens, rights and parts, worked on by the case's clock |
//! | [`hand`] | what other people do to such a store: the powers that the kit asks for, ready made |
//! | [`catalogue`] | the table of native errors from a file |
//! | [`trial`] | a case of one's own, to test a fake or a client in |
//!
//! # What a fake owes the kit
//!
//! A fake belongs to one case. Many cases run at once, each with a clock, a wire and a folder of its own
//! ([`Case`](crate::harness::Case)): a fake has no `static` that changes, no fixed port or path, no other clock and no
//! randomness but the case's seed.
//!
//! Inside a case several operations may run at once. What a request does happens in one step and waits for nothing;
//! latency, silence and effects that land late are the wire's, and what takes time on the backend is worked out from the
//! clock when somebody looks.
//!
//! It refuses what the backend refuses, by an error of its catalogue: [`Refused`] is that error's id.

pub mod catalogue;
pub mod hand;
pub mod http;
mod reading;
mod serving;
pub mod socket;
pub mod store;
mod tls;
pub mod trial;

pub use self::{
    reading::{Reading, Refused},
    serving::{On, Serving},
    tls::{Certificate, Tls},
};
