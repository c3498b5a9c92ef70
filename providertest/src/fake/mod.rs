//! Building blocks for fake backends, for authors of providers everywhere.
//!
//! A fake stands at the wire, below the provider's own client. What the kit asks of it beyond the backend's own ways is
//! done here: [`http`] reads, records, holds, breaks and answers requests, [`socket`] the messages of any other protocol;
//! [`Tls`] makes certificates, good and bad;
//! [`catalogue`] loads the table of native errors from a file; [`store`] keeps instances and lets time work on them; [`hand`] has
//! the powers over such a store that the kit asks for; [`trial`] is a case for tests of a fake.

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
