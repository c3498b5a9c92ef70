//! What a dial, or a channel on what it gave, can end in: where, what happened in words for people, and what a caller
//! makes of it. No text has anything of a private key or a passphrase in it.

use std::{fmt, io, time::Duration};

use provider_api::{BackendError, Error, FailureClass, LeftBehind, reasons};

use crate::Target;

/// How far a dial came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Key, passphrase and known hosts are read.
    Credentials,
    /// The name is resolved and a TCP connection is made.
    Tcp,
    /// Versions and algorithms are agreed on, and keys exchanged.
    Handshake,
    /// The host's key is judged.
    HostKey,
    /// The user is authenticated.
    Auth,
    /// A channel to a socket on the host is opened.
    Channel,
}

impl Stage {
    /// The stage as a label value.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Credentials => "credentials",
            Self::Tcp => "tcp",
            Self::Handshake => "handshake",
            Self::HostKey => "host-key",
            Self::Auth => "auth",
            Self::Channel => "channel",
        }
    }

    /// What was going on, to stand after "while".
    fn doing(self) -> &'static str {
        match self {
            Self::Credentials => "reading the credentials",
            Self::Tcp => "connecting",
            Self::Handshake => "exchanging SSH keys",
            Self::HostKey => "checking the host's key",
            Self::Auth => "logging in",
            Self::Channel => "opening a channel",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why there is no session, or no channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DialError(Box<Parts>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Parts {
    stage: Stage,
    target: String,
    class: FailureClass,
    reason: &'static str,
    code: String,
    message: String,
}

impl DialError {
    /// How far it came.
    pub fn stage(&self) -> Stage {
        self.0.stage
    }

    /// What a caller branches on: what cannot mend itself is Permanent (keys, rights), all else is Transient.
    pub fn class(&self) -> FailureClass {
        self.0.class
    }

    /// The reason of a check that ends so, one of [`reasons`].
    pub fn reason(&self) -> &'static str {
        self.0.reason
    }

    /// What happened, without the target.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The error of an operation that needed the session. Nothing was sent over it, so nothing is left behind.
    pub fn to_error(&self) -> Error {
        Error::new(self.class(), self.to_string()).coded(&self.0.code).leaving(LeftBehind::Nothing)
    }
}

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.target, self.0.message)
    }
}

impl std::error::Error for DialError {}

impl BackendError for DialError {
    fn code(&self) -> String {
        self.0.code.clone()
    }
}

/// Makes the errors of one dial: all of them name its target.
#[derive(Clone, Debug)]
pub(crate) struct Errors {
    target: String,
}

impl Errors {
    pub(crate) fn of(target: &Target) -> Self {
        Self { target: target.to_string() }
    }

    fn error(
        &self,
        stage: Stage,
        class: FailureClass,
        reason: &'static str,
        code: &str,
        message: impl Into<String>,
    ) -> DialError {
        let (target, code) = (self.target.clone(), code.to_owned());
        DialError(Box::new(Parts { stage, target, class, reason, code, message: message.into() }))
    }

    /// Reading credentials failed; what is wrong in a file stays wrong, a file that is not there may come.
    pub(crate) fn credentials(&self, class: FailureClass, message: impl Into<String>) -> DialError {
        let reason = reasons::CREDENTIALS_UNAVAILABLE;
        self.error(Stage::Credentials, class, reason, reason, message)
    }

    /// The host, or the way to it, did not do its part.
    pub(crate) fn unreachable(&self, stage: Stage, code: &str, message: impl Into<String>) -> DialError {
        self.error(stage, FailureClass::Transient, reasons::UNREACHABLE, code, message)
    }

    /// The host is there, and both sides cannot come together as they are.
    pub(crate) fn unusable(&self, stage: Stage, code: &str, message: impl Into<String>) -> DialError {
        self.error(stage, FailureClass::Permanent, reasons::UNREACHABLE, code, message)
    }

    /// A key was refused, the host's or ours.
    pub(crate) fn unauthorized(&self, stage: Stage, code: &str, message: impl Into<String>) -> DialError {
        self.error(stage, FailureClass::Permanent, reasons::UNAUTHORIZED, code, message)
    }

    /// The user may log in and may not do this.
    pub(crate) fn forbidden(&self, stage: Stage, code: &str, message: impl Into<String>) -> DialError {
        self.error(stage, FailureClass::Permanent, reasons::FORBIDDEN, code, message)
    }

    /// A stage used up its budget.
    pub(crate) fn overlong(&self, stage: Stage, budget: Duration) -> DialError {
        let message = format!("no answer within {budget:?} while {}", stage.doing());
        match stage {
            Stage::Credentials => self.credentials(FailureClass::Transient, message),
            // Whoever takes no connection is not there.
            Stage::Tcp => self.unreachable(stage, "ETIMEDOUT", message),
            stage => self.error(stage, FailureClass::Transient, reasons::TIMEOUT, "ETIMEDOUT", message),
        }
    }

    /// The system said no.
    pub(crate) fn io(&self, stage: Stage, error: &io::Error) -> DialError {
        let message = format!("{error} while {}", stage.doing());
        self.unreachable(stage, code_of(error), message)
    }
}

/// The system's own name of an error.
fn code_of(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "ECONNREFUSED",
        io::ErrorKind::ConnectionReset => "ECONNRESET",
        io::ErrorKind::ConnectionAborted => "ECONNABORTED",
        io::ErrorKind::HostUnreachable => "EHOSTUNREACH",
        io::ErrorKind::NetworkUnreachable => "ENETUNREACH",
        io::ErrorKind::TimedOut => "ETIMEDOUT",
        io::ErrorKind::BrokenPipe => "EPIPE",
        io::ErrorKind::UnexpectedEof => "EOF",
        _ => "EIO",
    }
}
