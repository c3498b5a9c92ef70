//! The profile: what a provider declares about itself. Docs, the matrix and rule gating come from it: what is declared is
//! tested to be there, what is declared absent is tested to be absent.
//!
//! The 19 axes are in `axes.rs`, the project's own in `own.rs`, calls, budgets and native states in `calls.rs`; `text.rs`
//! writes a profile out. An author starts from [`Profile::plain`], sets what differs, and asks
//! [`Profile::contradictions`].

mod axes;
mod calls;
mod own;
mod text;

use std::{collections::BTreeSet, time::Duration};

use serde::Serialize;

pub use axes::*;
pub use calls::*;
pub use own::*;

use crate::StateKind;

/// What a provider declares about itself. What is declared absent is tested too, so the question is never what looks good,
/// but what is true.
///
/// ```
/// use provider_api::{
///     CallBudget, CallKind, NativeState, Profile, StateKind,
///     profile::{DeleteReturn, Delivery, PlacementField, Quota, Readiness},
/// };
///
/// let mut profile = Profile::plain("acme");
/// profile.readiness = Readiness::ProvisioningWindow;
/// profile.delete_return = DeleteReturn::ReturnsEarly;
/// profile.quota = Quota::Detected;
/// profile.placement = [PlacementField::Zone, PlacementField::Image].into();
/// profile.cloud_init = Delivery::Delivered;
/// profile.states = [StateKind::Provisioning, StateKind::Running].into();
/// profile.native_states = vec![
///     NativeState::new("booting", StateKind::Provisioning),
///     NativeState::new("up", StateKind::Running),
/// ];
/// profile.calls = vec![
///     CallKind::upload("insert"),
///     CallKind::read("describe"),
///     CallKind::write("remove"),
///     CallKind::read("list"),
/// ];
/// profile.call_budget = CallBudget { create: 2, get: 1, delete: 2, list: 1, list_each: 0, check: 1 };
/// profile.id_pattern = "zones/{zone}/machines/{name}";
/// assert_eq!(profile.contradictions(), Vec::<String>::new());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Profile {
    /// The type's name in the config, and the prefix of its spans.
    pub provider: &'static str,
    /// How long an instance takes until it is usable.
    pub readiness: Readiness,
    /// When `create` returns: at once, or when the instance runs.
    pub create_return: CreateReturn,
    /// When `delete` returns; one that waits never answers Accepted (`delete.accepted-stays-visible`).
    pub delete_return: DeleteReturn,
    /// Where the address comes from.
    pub ip_source: IpSource,
    /// What carries the mark.
    pub gc_mark: GcMark,
    /// Where the creation time comes from: the backend, or the mark.
    pub created_at: CreatedAt,
    /// What a listing does when a part of the scope cannot be read (`list.partial-as-declared`).
    pub list_partial: ListPartial,
    /// Whether want of quota or capacity is told apart; where it is not, nothing is QuotaExceeded but `maxInstances`
    /// (`create.quota-reported`).
    pub quota: Quota,
    /// How the backend says that something does not exist.
    pub not_found: NotFound,
    /// What the backend knows an instance by. Where it is the name, two processes may create at once
    /// (`create.concurrent-same-name`).
    pub primary_key: PrimaryKey,
    /// Where provisioning shows.
    pub provisioning_state: ProvisioningState,
    /// What works on while the call that started it has returned: tasks, locks; nothing when empty.
    pub async_ops: BTreeSet<AsyncOp>,
    /// Whether an instance has parts of its own, and who removes them.
    pub secondary_resources: SecondaryResources,
    /// Where credentials come from; where there are some they rotate (`runtime.credentials-rotate`).
    pub credentials: CredentialsFrom,
    /// What talks to the backend.
    pub client_kind: ClientKind,
    /// What ends a call that takes too long (`create.bounded`, `create.budget-per-call`).
    pub timeouts: Timeouts,
    /// What the provider logs.
    pub logging: Logging,
    /// Where the spans below an operation come from (`observability.every-backend-call-has-a-child-span`).
    pub child_spans: ChildSpans,
    /// How it is tested against the real thing.
    pub backend_test: BackendTest,

    /// Whether instances move within the scope (`get.finds-moved-instance`).
    pub mobility: Mobility,
    /// How many targets an entry can have: hosts, zones, clusters. Of several one can leave the config, or be decommissioned
    /// (`delete.abandoned-is-said`, `delete.decommissioned-target`).
    pub targets: Targets,
    /// What a deletion is bound to (`delete.bound-to-incarnation`).
    pub delete_binding: DeleteBinding,
    /// Whether the backend shows something before the mark is on it, which is then recognised by its allocated id
    /// (`list.placeholder-not-listed`).
    pub visible_placeholder: bool,
    /// How old an answer of `get` from a shared listing may be; zero where none is shared. At most 10 s
    /// (`get.fresh-after-own-write`).
    pub listing_max_age: Duration,
    /// Whether the backend serves listings in pages (`list.all-pages`).
    pub listing_pages: bool,
    /// Whether these pages go by number over what stands when each is asked for, so that they shift when something comes or
    /// goes between two of them (`list.all-pages`).
    pub numbered_pages: bool,
    /// Whether the provider gives hints of changes, by [`Watch`](crate::Watch).
    pub watch: WatchSupport,
    /// The fields of a placement that count; the others have no effect (`create.ignored-placement-has-no-effect`).
    pub placement: BTreeSet<PlacementField>,
    /// Whether user data reaches the instance (`create.delivers-cloud-init`).
    pub cloud_init: Delivery,
    /// Whether allowed networks and credentials reach the instance (`create.delivers-access-and-port`).
    pub access: Delivery,
    /// Whether the port reaches the instance (`create.delivers-access-and-port`).
    pub port: Delivery,
    /// The states that `get` answers with; Running is among them.
    pub states: BTreeSet<StateKind>,
    /// What `get` makes of each native state (`get.native-state-table`). A deletion in progress is no row of it.
    pub native_states: Vec<NativeState>,
    /// What a check's targets are: `apiserver`, `host`, `node`.
    pub check_target: &'static str,
    /// The keys of the details that a check fills in.
    pub check_details: Vec<&'static str>,
    /// How long the backend may still show an old state. The kit waits so long, before it judges what somebody else did on
    /// the backend, and whether an instance that was made anew is found. It is no excuse for NotFound right after the
    /// first create.
    pub settle: Duration,
    /// Every kind of backend call that the provider makes.
    pub calls: Vec<CallKind>,
    /// The most calls of each operation (`get.call-budget`, `check.read-only-and-cheap`).
    pub call_budget: CallBudget,
    /// How long each operation and each call may take (`create.bounded`).
    pub budgets: Budgets,
    /// The waits inside operations, each bounded.
    pub waits: Vec<BoundedWait>,
    /// The shape of ids, as a [`Grammar`](crate::Grammar) has it (`create.returns-usable-id`).
    pub id_pattern: &'static str,
    /// From where an instance's address can be reached, in words; empty when nobody has said.
    pub reachable_from: &'static str,
    /// Whether each instance has an egress address of its own, in words; empty when nobody has said.
    pub distinct_egress: &'static str,
    /// Whether late failures can be found on the backend, and are answered by the next create
    /// (`create.late-failure-reported-until-acknowledged`).
    pub late_failures: bool,
}

impl Profile {
    /// The profile to start from: the plainest value on every axis, nothing delivered, no states and no calls. A provider
    /// sets what differs.
    ///
    /// Its budgets are 600 s for a create, 300 s for a delete, 120 s for a listing, 60 s for a get, 30 s for a backend call and
    /// 10 s for a connection: round numbers, to be replaced by what the backend is known to need.
    pub fn plain(provider: &'static str) -> Self {
        Self {
            provider,
            readiness: Readiness::Immediate,
            create_return: CreateReturn::Submit,
            delete_return: DeleteReturn::Waits,
            ip_source: IpSource::AssignedAtCreate,
            gc_mark: GcMark::NativeLabels,
            created_at: CreatedAt::BackendTimestamp,
            list_partial: ListPartial::NotApplicable,
            quota: Quota::Absent,
            not_found: NotFound::Status404,
            primary_key: PrimaryKey::NameIsKey,
            provisioning_state: ProvisioningState::Native,
            async_ops: BTreeSet::new(),
            secondary_resources: SecondaryResources::None,
            credentials: CredentialsFrom::None,
            client_kind: ClientKind::InProcess,
            timeouts: Timeouts::PerCall,
            logging: Logging::Tiered,
            child_spans: ChildSpans::SpanDecorator,
            backend_test: BackendTest::InProcess,
            mobility: Mobility::Fixed,
            targets: Targets::Several,
            delete_binding: DeleteBinding::Incarnation,
            visible_placeholder: false,
            listing_max_age: Duration::ZERO,
            listing_pages: false,
            numbered_pages: false,
            watch: WatchSupport::None,
            placement: BTreeSet::new(),
            cloud_init: Delivery::Ignored,
            access: Delivery::Ignored,
            port: Delivery::Ignored,
            states: BTreeSet::new(),
            native_states: Vec::new(),
            check_target: "backend",
            check_details: Vec::new(),
            settle: Duration::ZERO,
            calls: Vec::new(),
            call_budget: CallBudget { create: 1, get: 1, delete: 1, list: 1, list_each: 0, check: 1 },
            budgets: Budgets {
                create: Duration::from_secs(600),
                get: Duration::from_secs(60),
                delete: Duration::from_secs(300),
                list: Duration::from_secs(120),
                connect: Duration::from_secs(10),
                call: Duration::from_secs(30),
            },
            waits: Vec::new(),
            id_pattern: "{name}",
            reachable_from: "",
            distinct_egress: "",
            late_failures: false,
        }
    }

    /// The kind of call of that name, if the provider makes such calls.
    pub fn call(&self, name: &str) -> Option<&CallKind> {
        self.calls.iter().find(|call| call.name == name)
    }

    /// What is wrong with the profile itself: values that cannot go together, a sentence each. A provider's own tests hold it
    /// to nothing, and the suite does not start with any.
    pub fn contradictions(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut unless = |holds: bool, what: &str| {
            if !holds {
                wrong.push(what.to_owned());
            }
        };
        let blocks = self.create_return == CreateReturn::Blocking;
        unless(
            blocks || self.provisioning_state == ProvisioningState::Native,
            "provisioning-state create-blocks needs create-return blocking",
        );
        unless(self.listing_max_age <= Duration::from_secs(10), "listing-max-age is more than 10 s");
        unless(
            !self.late_failures || self.async_ops.contains(&AsyncOp::TaskHandle),
            "late failures need async-ops task-handle",
        );
        unless(
            !self.visible_placeholder || self.primary_key == PrimaryKey::AllocatedId,
            "a visible placeholder is recognised by its allocated id",
        );
        unless(
            self.listing_pages || !self.numbered_pages,
            "pages are numbered, but listings come without pages",
        );
        unless(self.states.contains(&StateKind::Running), "no instance could ever be Running");
        for row in &self.native_states {
            unless(
                !row.locked || self.async_ops.contains(&AsyncOp::BackendLock),
                &format!("native state {:?} is under a lock, which needs async-ops backend-lock", row.native),
            );
            unless(
                row.state().is_none_or(|state| self.states.contains(&state)),
                &format!("native state {:?} maps to a state that is not declared", row.native),
            );
        }
        for state in &self.states {
            unless(
                self.native_states.is_empty()
                    || self.native_states.iter().any(|row| row.state() == Some(*state)),
                &format!("no native state maps to {state:?}, which is declared"),
            );
        }
        for (what, names) in [
            ("call kind", self.calls.iter().map(|call| call.name).collect::<Vec<_>>()),
            ("native state", self.native_states.iter().map(|row| row.native).collect()),
        ] {
            let mut seen = BTreeSet::new();
            for name in names {
                unless(seen.insert(name), &format!("{what} {name:?} is declared twice"));
            }
        }
        for wait in &self.waits {
            unless(wait.every < wait.at_most, &format!("the wait for {} never polls", wait.for_what));
            unless(
                [self.budgets.create, self.budgets.delete].iter().any(|budget| wait.at_most <= *budget),
                &format!("the wait for {} is longer than any operation may take", wait.for_what),
            );
        }
        wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_nineteen_axes_and_a_profile_speaks_of_each() {
        assert_eq!(AXES.len(), 19);
        let rows = Profile::plain("x").axes();
        let keys: Vec<_> = rows.iter().map(|(key, _)| *key).collect();
        assert_eq!(keys, AXES.iter().map(|(key, _, _)| *key).collect::<Vec<_>>());
    }

    #[test]
    fn contradictions_are_named() {
        let mut profile = Profile::plain("x");
        profile.states = [StateKind::Running].into();
        assert_eq!(profile.contradictions(), Vec::<String>::new());
        profile.provisioning_state = ProvisioningState::CreateBlocks;
        profile.late_failures = true;
        assert_eq!(profile.contradictions().len(), 2);
    }
}
