//! What the wire records of a request, whatever it came over, and how a fake refuses one.

use std::borrow::Cow;

use provider_api::{CallId, Catalogue, Class, NativeError};

use crate::{harness::UNKNOWN_ERROR, wire::Incoming};

/// What the wire records of a request: by it faults find their call, and reports tell of it.
///
/// ```
/// use providertest::fake::Reading;
/// // PUT /zones/eu-1/machines/proxy-…, with user data in its body.
/// let reading = Reading::new("insert", "eu-1").about("proxy-n23clsx2v655dcxk").mutates().with_payload();
/// # let _ = reading;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    kind: Cow<'static, str>,
    target: String,
    subject: String,
    call: Option<CallId>,
    mutates: bool,
    pub(super) payload: bool,
}

impl Reading {
    /// A request of that kind, as the profile and the catalogue name it, to that target: the part of the backend that
    /// can fail on its own, as `Backend::targets` names it. It changes nothing and carries nothing secret.
    pub fn new(kind: impl Into<Cow<'static, str>>, target: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            target: target.into(),
            subject: String::new(),
            call: None,
            mutates: false,
            payload: false,
        }
    }

    /// About an instance, a volume, a task: its name, for reports.
    #[must_use]
    pub fn about(self, subject: impl Into<String>) -> Self {
        Self { subject: subject.into(), ..self }
    }

    /// It changes something, so sweeps let it take effect never, at once or late; operations that only read may send none
    /// such.
    #[must_use]
    pub fn mutates(self) -> Self {
        Self { mutates: true, ..self }
    }

    /// It carries user data or credentials, which a refusal may quote.
    #[must_use]
    pub fn with_payload(self) -> Self {
        Self { payload: true, ..self }
    }

    /// It was sent by that call of the seam. Over HTTP the header says so by itself.
    #[must_use]
    pub fn of_call(self, call: Option<CallId>) -> Self {
        Self { call, ..self }
    }

    /// What the wire is handed.
    pub(super) fn incoming(&self, call: Option<CallId>, blocking: bool) -> Incoming {
        Incoming {
            call: self.call.or(call),
            kind: self.kind.clone(),
            target: self.target.clone(),
            subject: self.subject.clone(),
            mutates: self.mutates,
            blocking,
        }
    }
}

/// The fake refuses, with the error of that id in its catalogue. A store's [`Refusal`](crate::fake::store::Refusal) becomes
/// one by `?`, where the catalogue has an error of its id.
///
/// An id that the catalogue lacks is a mistake of the fake's, and a panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused(pub &'static str);

/// The error that no catalogue lists, as a fake is asked to word it.
const UNHEARD_OF: NativeError =
    NativeError::new(UNKNOWN_ERROR, &[], Class::Transient, "nowhere: nobody has ever seen it")
        .status(599)
        .code("neverHeardOf")
        .text("nobody has ever heard of this");

/// The error with that id.
///
/// # Panics
/// When the catalogue has none: a fake refuses as it is catalogued, or its catalogue is short.
pub(super) fn listed(catalogue: Catalogue, id: &str) -> &'static NativeError {
    let error = if id == UNKNOWN_ERROR { Some(&UNHEARD_OF) } else { catalogue.get(id) };
    error.unwrap_or_else(|| panic!("the fake refuses with {id:?}, which its catalogue lacks"))
}
