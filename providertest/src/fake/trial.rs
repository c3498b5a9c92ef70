//! A case outside of a run, in which an author tries a fake, or a client against it.
//!
//! Operations are driven as in a run: the ledger knows who waits for what, and the clock moves when everything rests. So
//! a hanging backend costs no time, and a budget is used up at once.
//!
//! ```
//! use std::time::Duration;
//! use provider_api::{CallKind, CallError};
//! use providertest::fake::trial::Trial;
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let trial = Trial::new();
//! // `trial.case()` is what `Harness::open` is given; a fake is opened on it here.
//! let seam = trial.context().seam("machines", Duration::from_secs(10));
//! let answer = trial.runs(seam.pause(Duration::from_secs(3_600))).await;
//! assert_eq!(trial.case().clock.monotonic(), Duration::from_secs(3_600));
//! # });
//! # Ok::<(), std::io::Error>(())
//! ```

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use provider_api::{Context, Identity, InstallationId, OperationId, ProviderName, TokioSpawner, Tracker};

use crate::{
    clock::CaseClock,
    drive::{self, Ended, Stuck},
    harness::Case,
    ledger::Ledger,
    wire::Wire,
};

/// A case of one's own. It is used within a runtime of one thread, as a run's cases are.
pub struct Trial {
    case: Case,
    operations: AtomicU64,
}

impl Default for Trial {
    fn default() -> Self {
        let ledger = Ledger::default();
        let clock = Arc::new(CaseClock::new(ledger.clone()));
        let wire = Wire::new(ledger);
        let case = Case { clock, wire, seed: 0, tag: "trial".to_owned(), folder: Arc::default() };
        Self { case, operations: AtomicU64::new(0) }
    }
}

impl Trial {
    /// A fresh case, at the start of its clock.
    pub fn new() -> Self {
        Self::default()
    }

    /// The case, for `Harness::open` or for the blocks themselves.
    pub fn case(&self) -> &Case {
        &self.case
    }

    /// The surroundings of a provider in it; its seam and its gate report to the case's ledger.
    pub fn context(&self) -> Context {
        let name = ProviderName::parse("on-trial").expect("a DNS label");
        let installation = InstallationId::parse("trial-installation").expect("a label value");
        let spawner = Arc::new(TokioSpawner);
        let mut context =
            Context::new(name, Identity::new(installation), Arc::clone(&self.case.clock), spawner);
        let ledger: Arc<dyn Tracker> = Arc::new(self.case.wire.ledger().clone());
        context.tracker = Some(ledger);
        context
    }

    /// The number that the next operation will have, for the faults that are to hit it.
    pub fn next_operation(&self) -> u64 {
        self.operations.load(Ordering::Relaxed)
    }

    /// Runs one operation to its end, or until a fault takes its caller away; late effects of earlier ones land after
    /// it.
    ///
    /// # Errors
    /// When nothing is left that could go on: something is waited for that the ledger does not know of.
    pub async fn run<T: Send>(&self, operation: impl Future<Output = T> + Send) -> Result<Ended<T>, Stuck> {
        let id = OperationId(self.operations.fetch_add(1, Ordering::Relaxed));
        let ledger = self.case.wire.ledger();
        let mut ended = drive::drive(ledger, vec![(id, Box::pin(operation))]).await?;
        drive::settle(ledger).await;
        self.case.wire.land(Some(id));
        Ok(ended.pop().expect("one operation has one end"))
    }

    /// Runs one operation to its end.
    ///
    /// # Panics
    /// When it is stuck, or a fault took its caller away.
    pub async fn runs<T: Send>(&self, operation: impl Future<Output = T> + Send) -> T {
        match self.run(operation).await {
            Ok(ended) => ended.done().expect("a fault took the caller away"),
            Err(stuck) => panic!("{stuck}"),
        }
    }

    /// Lets time pass between operations.
    pub fn pass(&self, how_long: Duration) {
        self.case.wire.ledger().pass(how_long);
    }
}

impl std::fmt::Debug for Trial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trial").field("operations", &self.operations).finish_non_exhaustive()
    }
}
