//! The clock of a case, moved by the harness alone.

use std::time::Duration;

use futures::future::BoxFuture;
use provider_api::{Clock, Timestamp, Wait};

use crate::ledger::Ledger;

/// A clock over a ledger. Its present begins on 1 January 2026 plus nothing.
#[derive(Clone, Debug)]
pub struct CaseClock(Ledger);

impl CaseClock {
    /// Where every case begins: 2026-01-01T00:00:00Z.
    pub const START: i64 = 1_767_225_600;

    /// The clock of a case.
    pub fn new(ledger: Ledger) -> Self {
        Self(ledger)
    }
}

impl Clock for CaseClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix(Self::START).after(self.0.now())
    }

    fn monotonic(&self) -> Duration {
        self.0.now()
    }

    fn sleep(&self, how_long: Duration, wait: Wait) -> BoxFuture<'static, ()> {
        Box::pin(self.0.sleep(how_long, wait.into(), None))
    }
}
