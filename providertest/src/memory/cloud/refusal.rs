//! What the cloud refuses, and how its answers say so: one table, in the two styles of the axis not-found. Every
//! error that a plan can ask for comes from here.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use crate::harness::UNKNOWN_ERROR;
use provider_api::{
    BackendError, Catalogue, Class, NativeError, Operation, Profile, Shows,
    profile::{AsyncOp, CreateReturn, NotFound, Quota},
};

/// An answer of the cloud that is no result, or the lack of an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text} [{code}]")]
pub struct CloudError {
    /// The status, in the style status-404.
    pub status: Option<u32>,
    /// The code.
    pub code: Cow<'static, str>,
    /// What the cloud writes; it may quote what it was sent.
    pub text: String,
    /// When to come back, where the cloud says so.
    pub retry_after: Option<Duration>,
}

impl BackendError for CloudError {
    fn code(&self) -> String {
        match self.status {
            Some(status) => format!("{status} {}", self.code),
            None => self.code.to_string(),
        }
    }
}

impl CloudError {
    /// The code of a broken connection.
    pub const RESET: &'static str = "connection-reset";

    /// The connection broke.
    pub fn reset() -> Self {
        let code = Cow::Borrowed(Self::RESET);
        Self { status: None, code, text: "the connection broke".into(), retry_after: None }
    }

    /// Something that no table lists, to see what a provider makes of it.
    pub fn unheard_of(text: impl Into<String>) -> Self {
        Self { status: Some(599), code: "never-heard-of".into(), text: text.into(), retry_after: None }
    }
}

/// The one refusal that says when to come back, and what it says.
const RATE_LIMITED: &str = "rate-limited";
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// One way to refuse.
struct Refusal {
    id: &'static str,
    status: u32,
    /// The code beside a status.
    word: &'static str,
    /// The code that stands alone.
    code: &'static str,
    text: &'static str,
    class: Class,
    tolerated_by: &'static [Operation],
    shows: Shows,
    on: &'static [&'static str],
    stands: fn(&Profile) -> bool,
}

const PLAIN: Refusal = Refusal {
    id: "",
    status: 0,
    word: "",
    code: "",
    text: "",
    class: Class::Transient,
    tolerated_by: &[],
    shows: Shows::Answer,
    on: EVERY,
    stands: |_| true,
};

const EVERY: &[&str] = &[
    "locate",
    "describe",
    "list",
    "insert",
    "clone",
    "configure",
    "start",
    "remove",
    "addresses",
    "task",
    "tasks",
    "put-part",
    "list-parts",
    "remove-part",
    "about",
    "watch",
];
const ONE_INSTANCE: &[&str] = &["describe", "configure", "start", "remove", "addresses"];
const MAKES: &[&str] = &["insert", "clone", "put-part"];
const BEGINS: &[&str] = &["insert", "clone"];

const REFUSALS: &[Refusal] = &[
    Refusal {
        id: "not-found",
        status: 404,
        word: "notFound",
        code: "E_NO_SUCH_INSTANCE",
        text: "there is no instance {target}",
        class: Class::NotFound,
        on: ONE_INSTANCE,
        ..PLAIN
    },
    Refusal {
        id: "part-not-found",
        status: 404,
        word: "partNotFound",
        code: "E_NO_SUCH_PART",
        text: "there is no part {target}",
        tolerated_by: &[Operation::Delete, Operation::Leftovers],
        on: &["remove-part"],
        ..PLAIN
    },
    Refusal {
        id: "task-not-found",
        status: 404,
        word: "taskNotFound",
        code: "E_NO_SUCH_TASK",
        text: "there is no task {target}",
        on: &["task"],
        ..PLAIN
    },
    Refusal {
        id: "already-exists",
        status: 409,
        word: "alreadyExists",
        code: "E_EXISTS",
        text: "{target} is there already",
        tolerated_by: &[Operation::Create],
        on: &["insert", "clone", "configure"],
        ..PLAIN
    },
    Refusal {
        id: "in-use",
        status: 409,
        word: "inUse",
        code: "E_IN_USE",
        text: "{target} is in use",
        tolerated_by: &[Operation::Create, Operation::Delete, Operation::Leftovers],
        on: &["put-part", "remove-part"],
        ..PLAIN
    },
    Refusal {
        id: "parts-missing",
        status: 409,
        word: "partsMissing",
        code: "E_PARTS_MISSING",
        text: "{target} needs a part that is not there",
        on: &["insert", "configure"],
        ..PLAIN
    },
    Refusal {
        id: "changed",
        status: 412,
        word: "conditionNotMet",
        code: "E_INCARNATION",
        text: "{target} is another one by now",
        tolerated_by: &[Operation::Delete, Operation::Leftovers],
        on: &["remove", "remove-part"],
        ..PLAIN
    },
    Refusal {
        id: "invalid",
        status: 400,
        word: "invalid",
        code: "E_INVALID",
        text: "the request makes no sense",
        class: Class::Permanent,
        on: &["insert", "clone", "configure", "put-part"],
        ..PLAIN
    },
    Refusal {
        id: "unauthorized",
        status: 401,
        word: "unauthorized",
        code: "E_TOKEN",
        text: "the token is not accepted",
        class: Class::Permanent,
        ..PLAIN
    },
    Refusal {
        id: "forbidden",
        status: 403,
        word: "forbidden",
        code: "E_FORBIDDEN",
        text: "the token lacks the right {right}",
        class: Class::Permanent,
        ..PLAIN
    },
    Refusal {
        id: RATE_LIMITED,
        status: 429,
        word: "rateLimited",
        code: "E_RATE",
        text: "too many requests",
        class: Class::QuotaExceeded,
        stands: detected,
        ..PLAIN
    },
    Refusal {
        id: "quota",
        status: 403,
        word: "quotaExceeded",
        code: "E_QUOTA",
        text: "the quota of instances is used up",
        class: Class::QuotaExceeded,
        on: MAKES,
        stands: detected,
        ..PLAIN
    },
    Refusal {
        id: "stock-out",
        status: 503,
        word: "stockOut",
        code: "E_STOCK",
        text: "the zone has no such machine to give",
        class: Class::QuotaExceeded,
        on: BEGINS,
        stands: detected,
        ..PLAIN
    },
    Refusal {
        id: "no-room",
        status: 500,
        word: "insertFailed",
        code: "E_FAILED",
        text: "it could not be made",
        on: BEGINS,
        stands: |profile| !detected(profile),
        ..PLAIN
    },
    Refusal {
        id: "locked",
        status: 423,
        word: "locked",
        code: "E_LOCKED",
        text: "{target} is locked",
        on: &["configure", "start", "remove"],
        stands: |profile| profile.async_ops.contains(&AsyncOp::BackendLock),
        ..PLAIN
    },
    Refusal {
        id: "unreadable",
        status: 500,
        word: "unreadable",
        code: "E_UNREADABLE",
        text: "what is written about {target} cannot be read",
        // Its name is enough to spare its parts.
        tolerated_by: &[Operation::Leftovers],
        on: &["describe"],
        ..PLAIN
    },
    Refusal {
        id: "bad-page",
        status: 410,
        word: "pageExpired",
        code: "E_PAGE",
        text: "the page token is no longer good",
        on: &["list", "list-parts"],
        ..PLAIN
    },
    Refusal {
        id: "internal",
        status: 500,
        word: "internal",
        code: "E_INTERNAL",
        text: "something broke inside",
        ..PLAIN
    },
    Refusal {
        id: "unavailable",
        status: 503,
        word: "unavailable",
        code: "E_UNAVAILABLE",
        text: "the zone is not available",
        ..PLAIN
    },
    Refusal {
        id: "late-stock-out",
        status: 503,
        word: "lateStockOut",
        code: "E_LATE_STOCK",
        text: "the zone turned out to have no such machine to give",
        class: Class::QuotaExceeded,
        shows: Shows::Task,
        on: BEGINS,
        stands: |profile| detected(profile) && tells_late(profile),
        ..PLAIN
    },
    Refusal {
        id: "late-bad-image",
        status: 400,
        word: "lateBadImage",
        code: "E_LATE_IMAGE",
        text: "the image turned out not to boot",
        class: Class::Permanent,
        shows: Shows::Task,
        on: BEGINS,
        stands: tells_late,
        ..PLAIN
    },
    Refusal {
        id: "late-internal",
        status: 500,
        word: "lateInternal",
        code: "E_LATE",
        text: "something broke while it was being made",
        shows: Shows::Task,
        on: BEGINS,
        stands: tells_late,
        ..PLAIN
    },
];

fn detected(profile: &Profile) -> bool {
    profile.quota == Quota::Detected
}

fn tells_late(profile: &Profile) -> bool {
    profile.async_ops.contains(&AsyncOp::TaskHandle)
        && (profile.late_failures || profile.create_return == CreateReturn::Blocking)
}

/// Every native error of a cloud of that profile. A profile's catalogue is made once and kept, since catalogues
/// are static.
pub fn catalogue(profile: &Profile) -> Catalogue {
    static MADE: Mutex<BTreeMap<Vec<String>, Catalogue>> = Mutex::new(BTreeMap::new());
    let entries: Vec<(&Refusal, Vec<&'static str>)> = REFUSALS
        .iter()
        .filter(|refusal| (refusal.stands)(profile))
        .map(|refusal| {
            (refusal, refusal.on.iter().copied().filter(|kind| profile.call(kind).is_some()).collect())
        })
        .filter(|(_, on): &(_, Vec<_>)| !on.is_empty())
        .collect();
    let key = entries.iter().map(|(refusal, on)| format!("{}{on:?}{}", refusal.id, profile.not_found));
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    *made.entry(key.collect()).or_insert_with(|| {
        let errors: Vec<_> =
            entries.iter().map(|(refusal, on)| entry(refusal, on, profile.not_found)).collect();
        Catalogue(Box::leak(Box::new([&*errors.leak()])))
    })
}

fn entry(refusal: &Refusal, on: &[&'static str], style: NotFound) -> NativeError {
    let source = "the memory cloud's own table";
    let fields: &[_] = if refusal.id == RATE_LIMITED { &[("retry-after", "30")] } else { &[] };
    let error = NativeError::new(refusal.id, on.to_vec().leak(), refusal.class, source)
        .fields(fields)
        .text(refusal.text)
        .shows(refusal.shows)
        .tolerated_by(refusal.tolerated_by);
    match style {
        NotFound::Status404 => error.status(refusal.status).code(refusal.word),
        NotFound::ErrorCode => error.code(refusal.code),
    }
}

/// The error of that id, in the profile's style.
///
/// # Panics
/// When the table has no such id: whoever asks for it is at fault.
pub(crate) fn native(id: &str, profile: &Profile, target: &str) -> CloudError {
    if id == UNKNOWN_ERROR {
        return CloudError::unheard_of("nobody has ever heard of this");
    }
    let refusal = REFUSALS.iter().find(|refusal| refusal.id == id);
    let refusal = refusal.unwrap_or_else(|| panic!("the memory cloud has no native error {id:?}"));
    let (status, code) = match profile.not_found {
        NotFound::Status404 => (Some(refusal.status), refusal.word),
        NotFound::ErrorCode => (None, refusal.code),
    };
    CloudError {
        status,
        code: code.into(),
        text: refusal.text.replace("{target}", target).replace("{right}", "that it would need"),
        retry_after: (id == RATE_LIMITED).then_some(RETRY_AFTER),
    }
}

/// Where that error shows.
pub(super) fn shows(id: &str) -> Shows {
    REFUSALS.iter().find(|refusal| refusal.id == id).map_or(Shows::Answer, |refusal| refusal.shows)
}
