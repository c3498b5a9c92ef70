//! What an error of libvirt's means, by its number, the part of libvirt that complains, and the errno. One function decides
//! it for both providers; the table that it is held to is in `errors.rs` and `storage.rs`.

use std::fmt;

use provider_api::{BackendError, FailureClass};

/// An error as libvirt gives it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LibvirtError {
    /// `virErrorNumber`.
    pub code: i32,
    /// `virErrorDomain`: the part of libvirt that complains.
    pub domain: i32,
    /// `int1`: the errno of a system error.
    pub errno: i32,
    /// In the daemon's language, where it has one.
    pub message: String,
}

/// What an operation can make of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Meaning {
    /// There is no such domain, or no such volume.
    Absent,
    /// The domain carries no element of ours.
    Unmarked,
    /// There is no such pool.
    NoPool,
    /// Something of that name is there already.
    Exists,
    /// It cannot be done in the state that the thing is in.
    NotNow,
    /// The daemon does not know one of the flags, or the call.
    Unknown,
    /// The connection is gone, and whether the call took effect is not known.
    ConnectionGone,
    /// The connection is well, and none of this.
    Other,
}

/// `VIR_ERR_*`, as far as they decide something.
mod number {
    pub(super) const INTERNAL: i32 = 1;
    pub(super) const NO_SUPPORT: i32 = 3;
    pub(super) const INVALID_ARG: i32 = 8;
    pub(super) const OPERATION_FAILED: i32 = 9;
    pub(super) const SYSTEM: i32 = 38;
    pub(super) const NO_DOMAIN: i32 = 42;
    pub(super) const NO_POOL: i32 = 49;
    pub(super) const NO_VOLUME: i32 = 50;
    pub(super) const OPERATION_INVALID: i32 = 55;
    pub(super) const NO_METADATA: i32 = 80;
    pub(super) const VOLUME_EXISTS: i32 = 90;
}

/// `VIR_FROM_RPC`: the library's own transport.
const FROM_RPC: i32 = 7;
/// `VIR_FROM_DOMAIN`.
const FROM_DOMAIN: i32 = 20;

/// What an error means, and its class; unknown is Transient (`errors.unknown-is-transient`).
pub fn classify(error: &LibvirtError) -> (Meaning, FailureClass) {
    use FailureClass::{Permanent, QuotaExceeded, Transient};
    match (error.code, error.domain, error.errno) {
        (number::NO_DOMAIN | number::NO_VOLUME, _, _) => (Meaning::Absent, Transient),
        (number::NO_METADATA, _, _) => (Meaning::Unmarked, Transient),
        (number::NO_POOL, _, _) => (Meaning::NoPool, Permanent),
        (number::VOLUME_EXISTS, _, _) | (number::OPERATION_FAILED, FROM_DOMAIN, _) => {
            (Meaning::Exists, Transient)
        }
        (number::OPERATION_INVALID, _, _) => (Meaning::NotNow, Transient),
        (number::INVALID_ARG | number::NO_SUPPORT, _, _) => (Meaning::Unknown, Permanent),
        // A path that is too long for a socket.
        (number::SYSTEM, FROM_RPC, errno::ENOMEM) => (Meaning::Other, Permanent),
        (number::SYSTEM | number::INTERNAL, FROM_RPC, _) => (Meaning::ConnectionGone, Transient),
        (number::SYSTEM, _, errno::ENOSPC) => (Meaning::Other, QuotaExceeded),
        (number::SYSTEM, _, errno::EACCES | errno::EFBIG) => (Meaning::Other, Permanent),
        // Of QEMU's own words nothing but the text tells what they mean; they are never translated.
        (number::INTERNAL, _, _) if error.message.contains("Permission denied") => {
            (Meaning::Other, Permanent)
        }
        (code, _, _) if PERMANENT.contains(&code) => (Meaning::Other, Permanent),
        _ => (Meaning::Other, Transient),
    }
}

/// What config, rights or the host's make-up decide: it does not pass by itself.
const PERMANENT: [i32; 16] = [5, 21, 27, 29, 33, 35, 39, 43, 45, 67, 79, 84, 88, 91, 92, AUTH_UNAVAILABLE];
/// `VIR_ERR_AUTH_UNAVAILABLE`.
const AUTH_UNAVAILABLE: i32 = 94;

/// The numbers of Linux, which is where libvirt's daemon runs.
mod errno {
    pub(super) const ENOMEM: i32 = 12;
    pub(super) const EACCES: i32 = 13;
    pub(super) const EFBIG: i32 = 27;
    pub(super) const ENOSPC: i32 = 28;
}

impl LibvirtError {
    /// Whether a right is missing, or the way in is shut.
    pub fn is_denied(&self) -> bool {
        matches!(self.code, 29 | 45 | 79 | 88 | AUTH_UNAVAILABLE)
    }
}

impl BackendError for LibvirtError {
    fn code(&self) -> String {
        match (self.code, self.errno) {
            (number::SYSTEM, errno) => format!("libvirt {} errno {errno}", self.code),
            (code, _) => format!("libvirt {code}"),
        }
    }
}

/// As much of a message is shown: QEMU's own words are among them, and a host may say what it likes.
const LONGEST: usize = 1_000;

impl fmt::Display for LibvirtError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |c: char| if c.is_control() { ' ' } else { c };
        let message: String = self.message.chars().take(LONGEST).map(shown).collect();
        write!(f, "{}: {}", self.code(), message.trim_end())
    }
}

impl std::error::Error for LibvirtError {}

#[cfg(test)]
mod tests {
    use provider_api::{Class, NativeError};

    use super::*;
    use crate::ERRORS;

    fn given(native: &NativeError) -> Option<LibvirtError> {
        let number = |name| native.field(name).map_or(0, |text| text.parse().unwrap());
        Some(LibvirtError {
            code: native.status?.try_into().unwrap(),
            domain: number("domain"),
            errno: number("int1"),
            message: native.text.to_owned(),
        })
    }

    #[test]
    fn every_native_error_of_libvirts_has_its_class() {
        let [daemon, domains, storage, _, _] = ERRORS;
        for native in [daemon, domains, storage].into_iter().flatten() {
            let error = given(native).unwrap_or_else(|| panic!("{} has no number", native.id));
            let (meaning, class) = classify(&error);
            match native.class {
                Class::NotFound => {
                    assert!(matches!(meaning, Meaning::Absent | Meaning::Unmarked), "{}", native.id)
                }
                due => assert_eq!(Class::from(class), due, "{}", native.id),
            }
            assert_ne!(meaning, Meaning::ConnectionGone, "{}: the daemon has answered", native.id);
        }
    }

    #[test]
    fn unknown_is_transient() {
        let unknown = LibvirtError { code: 599, ..LibvirtError::default() };
        assert_eq!(classify(&unknown), (Meaning::Other, FailureClass::Transient));
    }

    #[test]
    fn what_a_host_says_fits_a_line() {
        let error = LibvirtError {
            code: 1,
            message: format!("a\nb\u{1b}{}", "x".repeat(1 << 22)),
            ..LibvirtError::default()
        };
        let shown = error.to_string();
        assert!(shown.starts_with("libvirt 1: a b x") && shown.len() < 1_100, "{}", shown.len());
    }

    #[test]
    fn codes_quote_nothing() {
        let error = LibvirtError { code: 38, errno: 28, message: "#cloud-config".into(), domain: 38 };
        assert_eq!(error.code(), "libvirt 38 errno 28");
    }
}
