//! Building blocks for fake backends, for authors of providers everywhere.
//!
//! A fake stands at the wire, below the provider's own client. What the kit asks of it beyond the backend's own ways is
//! done here: [`http`] reads, records, holds, breaks and answers requests; [`Tls`] makes certificates, good and bad;
//! [`catalogue`] loads the table of native errors from a file.

pub mod catalogue;
pub mod http;
mod serving;
mod tls;

pub use self::{
    serving::{On, Serving},
    tls::{Certificate, Tls},
};
