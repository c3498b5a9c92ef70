//! The rules of the group `errors`: what an error says, and that it is true. What provokes them is in `acts.rs`; the
//! wider sweep over every fault of a create is in `sweeps/`.

mod acts;
mod classes;
mod left;
mod secrecy;
mod table;
mod words;

use futures::FutureExt;

use crate::rule::{Absence, Caller, Check, Level, Rule, always, when};

/// The group's rules, in the order of the contract.
pub const RULES: &[Rule] = &[
    Rule {
        id: "errors.one-class",
        level: Level::Must,
        says: "Every error has exactly one class.",
        caller: Caller::Everybody,
        applies: always,
        check: Check::ByType("provider_api::Error"),
        absent: None,
        why: "Callers branch on the class and on nothing else. Without one, the reconciler would have to \
              guess between trying for ever and giving up.",
        tested: "The compiler holds it: an `Error` is built from a `FailureClass`. A doctest that leaves it \
                 out must not compile, beside a twin that must.",
        mend: "Build errors with `Error::new` from the class that `classify` gives, or with `Error::quota`, \
               `Error::transient` and `Error::permanent`. There is no other way.",
    },
    Rule {
        id: "errors.configured-name",
        level: Level::Must,
        says: "Every error carries the name under which the provider is configured.",
        caller: Caller::Operator,
        applies: always,
        check: Check::Case(|w| words::configured_name(w).boxed()),
        absent: None,
        why: "Four entries of the type gcp are configured, and an alert says gcp. Only the configured name \
              tells an admin which account or region to look at.",
        tested: "Provokes errors of every operation: by malformed ids, unsatisfiable placements and a \
                 foreign instance in the way, and on a fake with the backend out of reach. Each must carry \
                 the configured name, which is not the type's, as a field and in its text.",
        mend: "Pass the result of every operation through one wrapper that ends in `Error::at`, with the \
               name of the `Context`. The name of the type, and the profile's, are others.",
    },
    Rule {
        id: "errors.operation-and-id",
        level: Level::Must,
        says: "Every error says which operation failed, and for which id or name.",
        caller: Caller::Operator,
        applies: always,
        check: Check::Case(|w| words::operation_and_id(w).boxed()),
        absent: None,
        why: "A log says that permission was denied. Without operation and subject nobody can tell which of \
              a hundred proxies it was about, nor whether that was being made or deleted.",
        tested: "Provokes errors of every operation, by malformed ids, unsatisfiable placements, a foreign \
                 instance, and on a fake with the backend out of reach. Each must say its operation, and \
                 exactly the name or id that it was asked about; a listing is about none.",
        mend: "Say both with `Error::at` in one wrapper around the four operations and the leftovers, from \
               the arguments as they came: the request's name, the id's text.",
    },
    Rule {
        id: "errors.source-chain",
        level: Level::Should,
        says: "An error that the backend gave rise to has the backend's own words, or its code, as its source.",
        caller: Caller::Operator,
        applies: always,
        check: Check::Case(|w| words::source_chain(w).boxed()),
        absent: None,
        why: "The message says that a create failed; what an admin searches for is what the backend said. \
              Without it they need access to the backend's own logs, and luck.",
        tested: "A call of a create, a get and a delete each is answered with a catalogued error. The \
                 error's chain of sources must not be empty, and must hold the backend's code, its status, \
                 or the longest fixed part of its text.",
        mend: "Give `Error::caused_by` what `CallError::scrubbed` makes of the client's error: the whole \
               chain, or the code alone for calls with a payload. Implement `BackendError::code` so that it \
               names code and reason.",
    },
    Rule {
        id: "errors.table",
        level: Level::Must,
        says: "Every native error of the catalogue, on every call that can be answered with it, has the class it means.",
        caller: Caller::Reconciler,
        applies: always,
        check: Check::Sweep {
            plans: |w| table::plans(w).boxed(),
            run: |w, plan| table::judge(w, plan).boxed(),
        },
        absent: None,
        why: "One status means many things: a 403 may be a rate limit, a quota, a missing right or a closing \
              namespace. Read wrong, what passes is given up for good, and what is hopeless is tried for an \
              hour.",
        tested: "A sweep with a case for each act, each kind of call that it makes and each catalogued \
                 error: all such calls are answered so. The class must be the catalogue's; get alone may \
                 call the absent NotFound. A catalogue that names a call which nothing here makes, or a fake \
                 that takes nonsense, ends the rule as an error.",
        mend: "Map code and reason to a class in one `classify` function, by text only where there is \
               nothing else, and test it against each row of the `Catalogue`. Where an operation rightly \
               goes on, say so with `NativeError::tolerated_by`; correct a row only by what a real backend \
               shows.",
    },
    Rule {
        id: "errors.every-class-reachable",
        level: Level::Must,
        says: "Each class that the profile speaks of is answered when its cause is there.",
        caller: Caller::Reconciler,
        applies: always,
        check: Check::Case(|w| classes::every_class_reachable(w).boxed()),
        absent: None,
        why: "A provider that calls everything Transient never looks wrong, and is of no use: no finalizer \
              is released, bad config is tried for ever, and no user reads that the quota is used up.",
        tested: "Get by a malformed id must be Permanent, get of what was deleted NotFound, get with the \
                 backend out of reach Transient. Where the profile says that quota is detected, create must \
                 become QuotaExceeded with the quota used up, late ones included.",
        mend: "Tell the causes apart in `classify`: absent, out of quota, may pass, will not pass. Where a \
               class never comes, its codes are missing there: find them on the backend and enter them in \
               the `Catalogue`.",
    },
    Rule {
        id: "errors.unknown-is-transient",
        level: Level::Must,
        says: "What nobody has heard of is Transient: an unlisted answer, a broken connection, silence.",
        caller: Caller::Reconciler,
        applies: always,
        check: Check::Sweep {
            plans: |w| classes::unknown_plans(w).boxed(),
            run: |w, plan| classes::unknown_is_transient(w, plan).boxed(),
        },
        absent: None,
        why: "Backends grow new answers. A webhook that broke off, a storage that was still starting: taken \
              for final because no table had them, they have failed tasks that another try would have done.",
        tested: "A sweep with a case for each act and kind of call: it is answered with a status and text \
                 that nobody has heard of, broken off, or never answered, each time. An act that fails must \
                 be Transient, and NotFound is broken. A listing that names the part, or an act that does \
                 without the call, is right.",
        mend: "Let the last arm of `classify` be `FailureClass::Transient`, and give the same to \
               `CallError::Overlong`, broken connections and answers that cannot be parsed.",
    },
    Rule {
        id: "errors.hides-secrets",
        level: Level::Must,
        says: "No error of any operation shows user data, passwords or the provider's own credentials.",
        caller: Caller::Everybody,
        applies: always,
        check: Check::Sweep {
            plans: |w| secrecy::plans(w).boxed(),
            run: |w, plan| secrecy::hides_secrets(w, plan).boxed(),
        },
        absent: None,
        why: "Errors go into statuses, events and tickets. A backend that quotes the request, or a client \
              that prints its headers, shows the proxy's password or the provider's own token to everybody \
              who reads one.",
        tested: "A sweep with a case for each act, kind of call and catalogued error, while the fake quotes \
                 payloads. The error's Debug text and every cause are searched for each line of the user \
                 data, the password, and what stands in the credential files.",
        mend: "Let one `Scrubber` know the request's secrets (`CreateRequest::scrubber`) and, by `hide`, the \
               credentials of the call; give it to `Seam::hiding`, and make causes by `CallError::scrubbed` \
               alone. Put no client error into a message by `{:?}`, and keep no request beyond its operation.",
    },
    Rule {
        id: "errors.retry-after-kept",
        level: Level::Must,
        says: "When the backend says how long to wait the error says so, and no error makes a time up.",
        caller: Caller::Reconciler,
        applies: always,
        check: Check::Case(|w| words::retry_after_kept(w).boxed()),
        absent: None,
        why: "A rate limit says to wait a minute. Without that hint the reconciler comes back too soon and \
              is limited again; with one that was made up it stays away though the backend is well.",
        tested: "Create, get, delete and list each meet a catalogued error with a retry-after field: the \
                 error must say exactly that time. With the backend out of reach nobody gives a hint, and \
                 the error must have none.",
        mend: "Read the header or field where the answer is parsed, carry it in the client's error, and give \
               it to `Error::retry_after`. Where the backend gave none pass `None`: the reconciler has a \
               back-off of its own.",
    },
    Rule {
        id: "errors.failure-id-kept",
        level: Level::Must,
        says: "A failure that the backend reports late has one id, the same each time and after a restart.",
        caller: Caller::Reconciler,
        applies: |profile| when(profile.late_failures),
        check: Check::Case(|w| words::failure_id_kept(w).boxed()),
        absent: Some(Absence {
            check: |w| words::no_failure_id(w).boxed(),
            shows: "no provoked error carried the id of a failure",
        }),
        why: "The reconciler acknowledges a late failure by its id. An id that changes can never be \
              acknowledged: the proxy stays failed, and the user reads the same failure as news.",
        tested: "Lets a create fail late with a catalogued error. The error that reports it must carry an \
                 id, and two more creates, the second by a new process, must have the same id and class. \
                 Where late failures are declared absent, no provoked error of any operation may carry one.",
        mend: "Make the `FailureId` from the backend's own record, its operation or task id, and attach it \
               with `Error::for_failure` wherever that failure is answered. Draw no number and take no time \
               for it.",
    },
    Rule {
        id: "errors.left-behind-is-true",
        level: Level::Must,
        says: "An error that says nothing is left, or that a delete by id takes it, is right.",
        caller: Caller::Collector,
        applies: always,
        check: Check::Sweep {
            plans: |w| left::plans(w).boxed(),
            run: |w, plan| left::is_true(w, plan).boxed(),
        },
        absent: None,
        why: "After a failure the collector and the admin go by this. Nothing, where a disk stands, hides \
              what costs money; deletable by id, where a delete misses a part, sends them round in circles.",
        tested: "A sweep: a create and a delete, each kind of call with every catalogued error and with its \
                 answer lost before, at and after its effect, which then lands. Where the error says \
                 nothing, nothing of the instance may stand; where it says deletable by id, a delete by id \
                 must take it all. Unknown is always right.",
        mend: "Say `Error::leaving` only where it is certain: `LeftBehind::Nothing` before the first \
               changing call or after a clean-up that worked, `LeftBehind::DeletableById` when all that \
               stands is found by the id. After a lost answer leave it at `Unknown`.",
    },
];
