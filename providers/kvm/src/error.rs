//! What a failed call means: for callers a class, for the provider itself what to do. What libvirt's own errors mean
//! stands in `libvirt-model`, what the way to a host can end in here, and what the image server says.

use std::{error::Error as StdError, fmt};

use libvirt_model::{LibvirtError, Meaning, Unreadable, classify};
use provider_api::{
    BackendError, CallError, CallKind, Error, FailureClass, LeftBehind, Overlong, Scrubber, reasons,
};

/// Why a call gave no result.
#[derive(Debug)]
pub(crate) enum ClientError {
    /// Libvirt said no, or its library.
    Libvirt(LibvirtError),
    /// There is no way to the host.
    Way(WayError),
    /// The image server said no, or not what it should.
    Image(ImageError),
    /// This machine cannot do its part.
    Here(std::io::Error),
}

/// Why there is no way to a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WayError {
    class: FailureClass,
    code: String,
    reason: &'static str,
    message: String,
}

/// The code of a host key that is not the one that is known.
pub(crate) const HOST_KEY_MISMATCH: &str = "HostKeyMismatch";

/// What does not pass by itself, by its code, and the reason that a check then gives.
const LASTING: [(&str, &str); 5] = [
    ("SSH_DISCONNECT_KEY_EXCHANGE_FAILED", reasons::UNREACHABLE),
    (HOST_KEY_MISMATCH, HOST_KEY_MISMATCH),
    ("SSH_MSG_USERAUTH_FAILURE", reasons::UNAUTHORIZED),
    ("SSH_OPEN_ADMINISTRATIVELY_PROHIBITED", reasons::FORBIDDEN),
    ("SSH_OPEN_UNKNOWN_CHANNEL_TYPE", reasons::UNREACHABLE),
];

impl WayError {
    /// An error with a code: SSH's, the system's, or one of the shared reasons. What is not known to last is Transient.
    pub fn coded(code: impl Into<String>, message: impl Into<String>) -> Self {
        let code = code.into();
        let lasting = LASTING.iter().find(|(lasting, _)| *lasting == code);
        let class = if lasting.is_some() { FailureClass::Permanent } else { FailureClass::Transient };
        let reason = match lasting {
            Some((_, reason)) => reason,
            None if code == reasons::CREDENTIALS_UNAVAILABLE => reasons::CREDENTIALS_UNAVAILABLE,
            None => reasons::UNREACHABLE,
        };
        Self { class, code, reason, message: message.into() }
    }

    /// What SSH has found out.
    pub(crate) fn new(class: FailureClass, code: String, reason: &'static str, message: String) -> Self {
        Self { class, code, reason, message }
    }

    /// A socket of this machine that cannot be connected to.
    pub(crate) fn local(path: &str, error: &std::io::Error) -> Self {
        Self::coded(reasons::UNREACHABLE, format!("cannot connect to {path}: {error}"))
    }
}

impl fmt::Display for WayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// What came of asking for an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ImageError {
    /// A status that is no success.
    Status(u16),
    /// The server cannot be reached, or the connection broke; nothing of the URL is quoted beyond its host.
    Undelivered(String),
    /// It ended before it was whole.
    CutOff(String),
    /// It is whole, and other bytes than were promised.
    Mismatch {
        /// What was promised.
        due: String,
        /// What came.
        seen: String,
    },
    /// It leads to where it must not.
    Forbidden(String),
    /// There is more of it than there is room for.
    NoRoom(String),
}

impl ImageError {
    fn class(&self) -> FailureClass {
        match self {
            Self::Status(408 | 425 | 429 | 500..) | Self::Undelivered(_) | Self::CutOff(_) => {
                FailureClass::Transient
            }
            Self::Status(_) | Self::Mismatch { .. } | Self::Forbidden(_) => FailureClass::Permanent,
            Self::NoRoom(_) => FailureClass::QuotaExceeded,
        }
    }
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "the image server answered {status}"),
            Self::Undelivered(why) => write!(f, "the image server cannot be asked: {why}"),
            Self::CutOff(why) => write!(f, "the image was cut off: {why}"),
            Self::Mismatch { due, seen } => {
                write!(f, "the image's sha256 is {seen}, where {due} was promised")
            }
            Self::Forbidden(why) | Self::NoRoom(why) => f.write_str(why),
        }
    }
}

/// The reason of a check that finds no pool of that name.
pub(crate) const POOL_NOT_FOUND: &str = "PoolNotFound";

impl ClientError {
    /// What it means, its class, and the reason that a check gives.
    fn told(&self) -> (Meaning, FailureClass, &'static str) {
        match self {
            Self::Libvirt(error) => {
                let (meaning, class) = classify(error);
                let reason = match meaning {
                    Meaning::NoPool => POOL_NOT_FOUND,
                    Meaning::ConnectionGone => reasons::UNREACHABLE,
                    _ if error.is_denied() => reasons::FORBIDDEN,
                    _ => reasons::API_ERROR,
                };
                (meaning, class, reason)
            }
            Self::Way(error) => (Meaning::Other, error.class, error.reason),
            Self::Image(error) => (Meaning::Other, error.class(), reasons::UNREACHABLE),
            Self::Here(_) => (Meaning::Other, FailureClass::Transient, reasons::UNREACHABLE),
        }
    }
}

impl BackendError for ClientError {
    fn code(&self) -> String {
        match self {
            Self::Libvirt(error) => error.code(),
            Self::Way(error) => error.code.clone(),
            Self::Image(ImageError::Status(status)) => format!("HTTP {status}"),
            Self::Image(ImageError::Mismatch { .. }) => "ChecksumMismatch".to_owned(),
            Self::Image(ImageError::Forbidden(_)) => "ImageForbidden".to_owned(),
            Self::Image(ImageError::NoRoom(_)) => "PoolFull".to_owned(),
            Self::Image(_) => reasons::UNREACHABLE.to_owned(),
            Self::Here(_) => "LocalError".to_owned(),
        }
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Libvirt(error) => error.fmt(f),
            Self::Way(error) => error.fmt(f),
            Self::Image(error) => error.fmt(f),
            Self::Here(error) => write!(f, "this machine cannot do its part: {error}"),
        }
    }
}

impl StdError for ClientError {}

impl From<LibvirtError> for ClientError {
    fn from(error: LibvirtError) -> Self {
        Self::Libvirt(error)
    }
}

/// A failed call, with what it means for the provider itself.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) meaning: Meaning,
    /// Whether it was libvirt's daemon that said no.
    pub(crate) answered: bool,
    /// The reason that a check gives.
    pub(crate) reason: &'static str,
    pub(crate) error: Error,
}

impl Refused {
    /// The one place where a failed call gets its class.
    ///
    /// Nothing in it is a secret: of calls with a payload code and reason alone go on, and no other call carries one.
    pub(crate) fn of(error: &CallError<ClientError>, kind: CallKind, doing: &str) -> Self {
        let cause = error.scrubbed(kind, &Scrubber::default());
        let (meaning, class, reason, code) = match error {
            CallError::Overlong(_) => {
                (Meaning::Other, FailureClass::Transient, reasons::TIMEOUT, "Timeout".to_owned())
            }
            CallError::Backend(error) => {
                let (meaning, class, reason) = error.told();
                (meaning, class, reason, error.code())
            }
        };
        let libvirts = matches!(error, CallError::Backend(ClientError::Libvirt(_)));
        let answered = libvirts && meaning != Meaning::ConnectionGone;
        // The daemon's own words are not told of a call with a payload, and this one has to be acted on.
        let why = if class == FailureClass::QuotaExceeded { ", since there is no room left" } else { "" };
        let text = format!("{doing} failed{why}: {cause}");
        let error = Error::new(class, text).coded(code).caused_by(cause);
        Self { meaning, answered, reason, error }
    }

    /// Something that was in the way before any call could be made.
    pub(crate) fn before_the_call(error: Error) -> Self {
        let known = error.code() == Some(reasons::CREDENTIALS_UNAVAILABLE);
        let reason = if known { reasons::CREDENTIALS_UNAVAILABLE } else { reasons::API_ERROR };
        Self { meaning: Meaning::Other, answered: false, reason, error }
    }
}

/// The error of an answer that cannot be read.
pub(crate) fn unreadable(why: &Unreadable) -> Error {
    Error::transient(why.to_string()).coded("Unreadable")
}

/// The error of work that took too long.
pub(crate) fn overlong(what: &str, overlong: Overlong) -> Error {
    Error::transient(format!("{what} was {overlong}")).coded("Timeout")
}

/// The error of something that was found out before anything was made.
pub(crate) fn untouched(error: Error) -> Error {
    error.leaving(LeftBehind::Nothing)
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        refused.error
    }
}

/// Takes meanings as an answer: `None` in place of the error.
pub(crate) fn tolerate<T>(result: Result<T, Refused>, tolerated: &[Meaning]) -> Result<Option<T>, Refused> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(refused) if tolerated.contains(&refused.meaning) => Ok(None),
        Err(refused) => Err(refused),
    }
}

#[cfg(test)]
mod tests {
    use provider_api::{Class, NativeError};

    use super::*;
    use crate::backend;

    fn class(error: ClientError) -> FailureClass {
        let refused = Refused::of(&CallError::Backend(error), backend::DIAL, "dialling");
        refused.error.class()
    }

    fn due(native: &NativeError) -> FailureClass {
        match native.class {
            Class::QuotaExceeded => FailureClass::QuotaExceeded,
            Class::Permanent => FailureClass::Permanent,
            Class::Transient | Class::NotFound => FailureClass::Transient,
        }
    }

    #[test]
    fn every_way_to_a_host_that_is_closed_has_its_class() {
        for native in libvirt_model::DIAL {
            let way = WayError::coded(native.code, "no way");
            assert_eq!(class(ClientError::Way(way)), due(native), "{}", native.id);
        }
    }

    #[test]
    fn every_answer_of_the_library_and_of_the_image_server_has_its_class() {
        let [.., downloads, library] = crate::CATALOGUE.0 else { panic!("the catalogue has its tables") };
        for native in *library {
            let number = |name| native.field(name).map_or(0, |text| text.parse().unwrap());
            let error = LibvirtError {
                code: native.status.unwrap().try_into().unwrap(),
                domain: number("domain"),
                errno: number("int1"),
                message: native.text.to_owned(),
            };
            assert_eq!(class(error.into()), due(native), "{}", native.id);
        }
        for native in *downloads {
            let Some(status) = native.status else { continue };
            let error = ImageError::Status(status.try_into().unwrap());
            assert_eq!(class(ClientError::Image(error)), due(native), "{}", native.id);
        }
        let mismatch = ImageError::Mismatch { due: "a".to_owned(), seen: "b".to_owned() };
        assert_eq!(class(ClientError::Image(mismatch)), FailureClass::Permanent);
    }

    #[test]
    fn what_takes_too_long_is_transient() {
        let error = CallError::Overlong(std::time::Duration::from_secs(30));
        let refused = Refused::of(&error, backend::DIAL, "dialling");
        assert_eq!(refused.error.class(), FailureClass::Transient);
    }
}
