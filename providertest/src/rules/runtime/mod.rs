//! The rules of the group `runtime`: what holds between operations, and between a provider and its program.

mod config;
mod hang;
mod life;

use futures::FutureExt;
use provider_api::profile::CredentialsFrom;

use crate::rule::{Absence, Caller, Check, Level, Rule, always, when};

pub use config::UNKNOWN_KEY;

/// The group's rules, in the order of the contract.
pub const RULES: &[Rule] = &[
    Rule {
        id: "runtime.shareable",
        level: Level::Must,
        says: "A provider can be shared by tasks.",
        caller: Caller::Everybody,
        applies: always,
        check: Check::ByType("provider_api::Provider"),
        absent: None,
        why: "Reconciles of many proxies run at once over one provider. If it could not be shared it would \
              stand behind one lock, and one slow create would stop all others.",
        tested: "The compiler holds it: `Provider` demands Send, Sync and a static life. A doctest with an \
                 `Rc` inside must not compile, beside a twin that must.",
        mend: "Keep what is shared behind `Arc`, and in locks that are held for no longer than a poll. Give \
               the handle of a C library a lock of its own inside the closure of `Seam::blocking`.",
    },
    Rule {
        id: "runtime.constructor-does-not-dial",
        level: Level::Must,
        says: "Building a provider makes no backend call, then or by itself later, and works while the backend is away.",
        caller: Caller::Operator,
        applies: always,
        check: Check::Case(|w| life::constructor_does_not_dial(w).boxed()),
        absent: None,
        why: "One backend is away while the operator restarts. A constructor that dials it fails the start, \
              and with it every provider that is well.",
        tested: "Builds the provider with every target cut off and, where the harness can, refused \
                 credentials, and lets a quarter of an hour go by with spawned tasks running. No backend \
                 call may come; once all is back a create must succeed.",
        mend: "Let the constructor read config and keep paths. Connect, log in and load catalogues in the \
               first operation that needs them, inside its `Seam::call`, and start no refresh loop.",
    },
    Rule {
        id: "runtime.no-work-after-drop",
        level: Level::Must,
        says: "Once a caller is gone and the one call in flight is over, nothing goes on changing the backend.",
        caller: Caller::Reconciler,
        applies: always,
        check: Check::Case(|w| life::no_work_after_drop(w).boxed()),
        absent: None,
        why: "After a cancelled create may come a delete, or another process with the lease. A detached task \
              that still works then makes an instance that nobody owns, or removes one that was just made.",
        tested: "Drops creates and deletes at the first and last call of each kind, once that has taken \
                 effect, and lets a quarter of an hour go by with spawned tasks running. No further call \
                 that changes something may come.",
        mend: "Do the work in the future that the caller holds. Put no changing step into `Seam::spawn`, \
               whose task outlives its caller, and let one closure of `Seam::blocking` make one call, no \
               sequence of them. A task that waits for an operation to answer takes it for an end when \
               that is dropped, and does not `expect` an answer.",
    },
    Rule {
        id: "runtime.one-hang-does-not-block-others",
        level: Level::Must,
        says: "A call that hangs delays no other instance, and a target that hangs no other target.",
        caller: Caller::Reconciler,
        applies: always,
        check: Check::Case(|w| hang::one_hang_does_not_block_others(w).boxed()),
        absent: None,
        why: "One hypervisor hangs, and creates on all the others wait behind it. With many tools one node \
              that is off has stopped the listing, and with it the creates, of a whole cluster.",
        tested: "Each kind of call of a create in turn is never answered, while a create of another instance \
                 runs beside it: that must succeed and take at most a second more than alone. Where there \
                 are two targets, one hangs as a whole, and the same must hold for a create on the other.",
        mend: "Hold nothing across a backend call but `Gate::name` and `Gate::target`, and keep one \
               connection, queue and pool a target. Read each part of a listing in a `Seam::bounded` that is \
               shorter than the whole's budget.",
    },
    Rule {
        id: "runtime.per-target-limit",
        level: Level::Must,
        says: "No more operations work on one target at once than the entry allows, and so many do.",
        caller: Caller::Operator,
        applies: always,
        check: Check::Case(|w| hang::per_target_limit(w).boxed()),
        absent: None,
        why: "A burst of SSH handshakes or of clones makes a host refuse or lock up, and the whole provider \
              looks broken. One at a time instead makes scaling crawl.",
        tested: "With `maxConcurrentPerTarget` at 2 and slow answers, six creates run at once. All must \
                 succeed, no target may ever have more than two operations at work, and one must have had \
                 two.",
        mend: "Give the entry's limit to `Context::gate`, take `Gate::target` for each call, and hold it for \
               that call only. Take the name's turn first, and room at one target at a time.",
    },
    Rule {
        id: "runtime.credentials-rotate",
        level: Level::Must,
        says: "New credentials count from the next operation on, without a restart.",
        caller: Caller::Operator,
        applies: |profile| when(profile.credentials != CredentialsFrom::None),
        check: Check::Case(|w| life::credentials_rotate(w).boxed()),
        absent: Some(Absence {
            check: |w| life::no_credentials(w).boxed(),
            shows: "there was no credential file, and nothing to rotate",
        }),
        why: "Keys are rotated on a schedule, and tickets lapse after hours. A client that keeps its first \
              one fails every call from then on, until somebody restarts the operator.",
        tested: "Rotates the credentials twice, on the backend and where the provider reads them: get, \
                 create and list must go on. With spoilt ones get must fail, and not as NotFound, and work \
                 again once mended. Where none are declared, there may be no credential file, and nothing to \
                 rotate.",
        mend: "Read the `CredentialFile` for each call; where a connection carries them, compare and make a \
               new one when the bytes have changed. When a session has lapsed log in again once, and then \
               answer the error.",
    },
    Rule {
        id: "runtime.reload-keeps-old-on-error",
        level: Level::Must,
        says: "A config that does not load changes nothing: the provider in force is the same one, and works.",
        caller: Caller::Operator,
        applies: always,
        check: Check::Case(|w| config::reload_keeps_old_on_error(w).boxed()),
        absent: None,
        why: "An admin saves a config with a typo. If reading it has already closed the old provider's \
              connections, every proxy is out of reach until the typo is found.",
        tested: "Puts a good config in force and creates an instance, then reloads a block with mistakes and \
                 a text that is no YAML. Both must be refused, with the very same entry in force and get \
                 still working; a reload of the good config must keep the same provider.",
        mend: "Let the constructor touch nothing outside the provider that it builds: no file, socket, \
               global or metric that the old one uses. Read the block through `Fields` before anything is \
               made, and reload through `Live::reload`.",
    },
    Rule {
        id: "runtime.strict-config",
        level: Level::Must,
        says: "An unknown key is an error at every level of the block, with its path.",
        caller: Caller::Operator,
        applies: always,
        check: Check::Case(|w| config::strict_config(w).boxed()),
        absent: None,
        why: "A mistyped key that is passed over leaves its default in force: no address range, no \
              allow-list. The admin believes in a setting that does not exist.",
        tested: "Puts an unknown key into each mapping of the provider's block, one at a time. The config \
                 must not load, and the report must name that key by its whole path.",
        mend: "Read the block and every nested mapping through `Fields` (`section`, `each`, `catalogue`): on \
               drop it reports the keys that nobody asked for. Take no raw `Node` and no free map where the \
               keys are known.",
    },
    Rule {
        id: "runtime.all-config-errors-at-once",
        level: Level::Must,
        says: "Everything that is wrong with a config is reported at once, each thing with its path.",
        caller: Caller::Operator,
        applies: always,
        check: Check::Case(|w| config::all_config_errors_at_once(w).boxed()),
        absent: None,
        why: "With one mistake told at a time, an admin needs six restarts to find six typos, and guesses \
              each time whether that was the last.",
        tested: "Puts an unknown key into every mapping of the block and the entry, with a second entry that \
                 is no good: all their paths must be in one report. Then the harness's own broken block must \
                 give at least two problems with paths, and all of them again with one mistake more.",
        mend: "Read every field and every block inside into an `Option` before giving up, also where a key is \
               unknown, and use `?` only after the last one. Report what you judge yourself with \
               `Fields::problem`, and go on.",
    },
];
