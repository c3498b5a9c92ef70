//! The profile: what a provider declares about itself. Docs, the matrix and rule gating come from it.
//!
//! The 19 axes are in `axes.rs`, the project's own in `own.rs`, calls, budgets and native states in `calls.rs`; `text.rs`
//! writes a profile out.

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

/// What a provider declares about itself. What is declared absent is tested too.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
#[allow(missing_docs)]
pub struct Profile {
    /// The type's name in the config, and the prefix of its spans.
    pub provider: &'static str,
    pub readiness: Readiness,
    pub create_return: CreateReturn,
    pub delete_return: DeleteReturn,
    pub ip_source: IpSource,
    pub gc_mark: GcMark,
    pub created_at: CreatedAt,
    pub list_partial: ListPartial,
    pub quota: Quota,
    pub not_found: NotFound,
    pub primary_key: PrimaryKey,
    pub provisioning_state: ProvisioningState,
    pub async_ops: BTreeSet<AsyncOp>,
    pub secondary_resources: SecondaryResources,
    pub credentials: CredentialsFrom,
    pub client_kind: ClientKind,
    pub timeouts: Timeouts,
    pub logging: Logging,
    pub child_spans: ChildSpans,
    pub backend_test: BackendTest,

    pub mobility: Mobility,
    pub delete_binding: DeleteBinding,
    /// Whether the backend shows something before the mark is on it.
    pub visible_placeholder: bool,
    /// How old an answer of `get` from a shared listing may be; zero where none is shared. At most 10 s.
    pub listing_max_age: Duration,
    /// Whether the backend serves listings in pages (`list.all-pages`).
    pub listing_pages: bool,
    pub watch: WatchSupport,
    pub placement: BTreeSet<PlacementField>,
    pub cloud_init: Delivery,
    pub access: Delivery,
    pub port: Delivery,
    pub states: BTreeSet<StateKind>,
    pub native_states: Vec<NativeState>,
    /// What a check's targets are: `apiserver`, `host`, `node`.
    pub check_target: &'static str,
    /// The details that a check fills in.
    pub check_details: Vec<&'static str>,
    /// How long after a create NotFound may still be the backend's delay.
    pub settle: Duration,
    pub calls: Vec<CallKind>,
    pub call_budget: CallBudget,
    pub budgets: Budgets,
    /// The waits inside operations, each bounded.
    pub waits: Vec<BoundedWait>,
    pub id_pattern: &'static str,
    pub reachable_from: &'static str,
    pub distinct_egress: &'static str,
    /// Whether late failures can be found on the backend (contract 2.1).
    pub late_failures: bool,
}

impl Profile {
    /// The profile to start from: the plainest value on every axis. A provider sets what differs.
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
            delete_binding: DeleteBinding::Incarnation,
            visible_placeholder: false,
            listing_max_age: Duration::ZERO,
            listing_pages: false,
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

    /// The kind of call with that name.
    pub fn call(&self, name: &str) -> Option<&CallKind> {
        self.calls.iter().find(|call| call.name == name)
    }

    /// What is wrong with the profile itself: values that cannot go together.
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
        unless(self.states.contains(&StateKind::Running), "no instance could ever be Running");
        for row in &self.native_states {
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
