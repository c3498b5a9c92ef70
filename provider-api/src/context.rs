//! What a provider is given when it is built: its name, its identity, and everything that it may wait with. Also here:
//! credentials in files, read when they are used.

use std::{fmt, io::Read as _, path::Path, path::PathBuf, sync::Arc, time::Duration};

use zeroize::Zeroizing;

use crate::{Clock, Error, Gate, Identity, Metrics, ProviderName, Seam, Secret, Spawner, Tracker};

/// The surroundings of one configured provider. A constructor takes its [`Seam`] and its [`Gate`] from here, and waits
/// with nothing else.
///
/// ```
/// use std::time::Duration;
/// use provider_api::{Context, Gate, Seam};
///
/// struct Acme { seam: Seam, gate: Gate }
///
/// impl Acme {
///     /// Dials nothing (`runtime.constructor-does-not-dial`).
///     fn new(context: &Context) -> Self {
///         Self { seam: context.seam("acme", Duration::from_secs(30)), gate: context.gate(4) }
///     }
/// }
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Context {
    /// The configured name, which errors, lines, spans and metrics carry (`errors.configured-name`).
    pub name: ProviderName,
    /// Whose instances are ours: this installation, and those that it adopts.
    pub identity: Identity,
    /// The one clock: of the machine in a program, of the case in a test.
    pub clock: Arc<dyn Clock>,
    /// Where tasks and blocking closures run. A provider reaches it through the seam.
    pub spawner: Arc<dyn Spawner>,
    /// Where operations and backend calls are counted.
    pub metrics: Metrics,
    /// A test's ledger; none in production. A client that can puts the call's id on the wire while there is one, see
    /// [`CallId`](crate::CallId).
    pub tracker: Option<Arc<dyn Tracker>>,
}

impl Context {
    /// Surroundings without a tracker and with metrics of their own.
    pub fn new(
        name: ProviderName,
        identity: Identity,
        clock: Arc<dyn Clock>,
        spawner: Arc<dyn Spawner>,
    ) -> Self {
        Self { name, identity, clock, spawner, metrics: Metrics::default(), tracker: None }
    }

    /// The seam for a provider type, by the name that spans begin with; `call_budget` holds for calls whose kind has
    /// none of its own, and comes from [`Budgets::call`](crate::Budgets).
    pub fn seam(&self, provider_type: &'static str, call_budget: Duration) -> Seam {
        Seam::new(self.clone(), provider_type, call_budget)
    }

    /// The gate: one operation at a time for each name, `per_target` for each target, which is the entry's
    /// `maxConcurrentPerTarget`. One provider has one gate.
    pub fn gate(&self, per_target: usize) -> Gate {
        Gate::new(per_target, self.tracker.clone())
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("name", &self.name)
            .field("identity", &self.identity)
            .finish_non_exhaustive()
    }
}

/// A credential in a file, read each time it is used, so that a rotation takes effect at once
/// (`runtime.credentials-rotate`).
///
/// ```
/// use provider_api::{CredentialFile, FailureClass, reasons};
/// let token = CredentialFile::new("/no/such/token");
/// let error = token.read().unwrap_err();
/// assert_eq!(error.class(), FailureClass::Transient, "it may be mounted yet");
/// assert_eq!(error.code(), Some(reasons::CREDENTIALS_UNAVAILABLE));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialFile(PathBuf);

impl CredentialFile {
    /// Larger files are refused: a credential is small, and a mistyped path may name anything.
    pub const MAX_BYTES: u64 = 1 << 20;

    /// Names the file; it is not read yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The path of the file, for messages.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The bytes as they are now, a line break at the end included. It blocks for a read of a local file.
    ///
    /// # Errors
    /// Transient, coded [`CREDENTIALS_UNAVAILABLE`](crate::reasons::CREDENTIALS_UNAVAILABLE), when the file cannot be read,
    /// is no file, or has more than [`MAX_BYTES`](Self::MAX_BYTES): a Secret may not be mounted yet. The text names the
    /// file and never quotes it.
    pub fn read(&self) -> Result<Secret, Error> {
        let unusable = |why: String| {
            Error::transient(format!("cannot read the credentials in {}: {why}", self.0.display()))
                .coded(crate::reasons::CREDENTIALS_UNAVAILABLE)
        };
        let failed = |error: std::io::Error| unusable(error.to_string());
        // Opening a pipe would wait for whoever writes to it, without a budget.
        let found = std::fs::metadata(&self.0).map_err(failed)?;
        if !found.is_file() {
            return Err(unusable("it is not a file".to_owned()));
        }
        let mut file = std::fs::File::open(&self.0).map_err(failed)?;
        // Room for one byte more than there should be: an answer that leaves it free was the whole file, and no second
        // read has to ask. This is read for every backend call.
        let length = found.len().min(Self::MAX_BYTES) as usize;
        let mut bytes = Zeroizing::new(vec![0; length + 1]);
        let read = file.read(&mut bytes).map_err(failed)?;
        bytes.truncate(read);
        if read != length {
            file.take(Self::MAX_BYTES).read_to_end(&mut bytes).map_err(failed)?;
        }
        if bytes.len() as u64 > Self::MAX_BYTES {
            return Err(unusable(format!(
                "it has more than the {} bytes that are expected",
                Self::MAX_BYTES
            )));
        }
        Ok(Secret::new(std::mem::take(&mut *bytes)))
    }
}
