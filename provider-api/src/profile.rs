//! The profile: what a provider declares about itself. Docs, the matrix and rule gating come from it.
// long: one table of axes and the types it makes

use std::{collections::BTreeSet, fmt, time::Duration};

use serde::Serialize;

use crate::{Operation, StateKind};

macro_rules! axes {
    ($( $(#[$doc:meta])* $axis:ident = $key:literal, $kind:ident { $( $(#[$vdoc:meta])* $value:ident = $text:literal ),+ $(,)? } )+) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
            pub enum $axis { $( $(#[$vdoc])* #[serde(rename = $text)] $value ),+ }

            impl Axis for $axis {
                const KEY: &'static str = $key;
                const KIND: AxisKind = AxisKind::$kind;
                const ALL: &'static [Self] = &[$(Self::$value),+];
                fn as_str(self) -> &'static str { match self { $(Self::$value => $text),+ } }
            }

            impl fmt::Display for $axis {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(self.as_str()) }
            }
        )+

        /// Every axis with its kind and its values, in the order of the contract.
        pub const AXES: &[(&str, AxisKind, fn() -> Vec<&'static str>)] =
            &[$(($key, AxisKind::$kind, || $axis::ALL.iter().map(|value| value.as_str()).collect())),+];
    };
}

/// Whether a check can tell the values of an axis apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AxisKind {
    /// Rules depend on it.
    Behavioural,
    /// It is said for readers.
    Descriptive,
}

/// One axis of the profile.
pub trait Axis: Copy + Eq + fmt::Display + 'static {
    /// Its name.
    const KEY: &'static str;
    /// Whether rules depend on it.
    const KIND: AxisKind;
    /// Its values, in the order of the contract.
    const ALL: &'static [Self];

    /// The value as the contract spells it.
    fn as_str(self) -> &'static str;
}

axes! {
    /// How long an instance takes until it is usable.
    Readiness = "readiness", Behavioural {
        /// Seconds at most.
        Immediate = "immediate",
        /// A boot, or more.
        ProvisioningWindow = "provisioning-window",
    }
    /// When `create` returns.
    CreateReturn = "create-return", Behavioural {
        /// As soon as the request is submitted.
        Submit = "submit",
        /// When the instance runs.
        Blocking = "blocking",
    }
    /// When `delete` returns.
    DeleteReturn = "delete-return", Behavioural {
        /// As soon as the deletion is submitted.
        ReturnsEarly = "returns-early",
        /// When nothing is left.
        Waits = "waits",
    }
    /// Where the address comes from.
    IpSource = "ip-source", Behavioural {
        /// The backend assigns it and shows it.
        AssignedAtCreate = "assigned-at-create",
        /// It has to be found out: lease, agent, neighbour table.
        Discovered = "discovered",
    }
    /// What carries the mark.
    GcMark = "gc-mark", Behavioural {
        /// Labels of the backend, which it can select by.
        NativeLabels = "native-labels",
        /// Metadata written by the creating call.
        WrittenMetadata = "written-metadata",
    }
    /// Where the creation time comes from.
    CreatedAt = "created-at", Behavioural {
        /// The backend keeps it.
        BackendTimestamp = "backend-timestamp",
        /// It is part of the mark.
        WrittenAtCreate = "written-at-create",
    }
    /// What a listing does when a part of the scope cannot be read.
    ListPartial = "list-partial", Behavioural {
        /// There is one part only.
        NotApplicable = "not-applicable",
        /// It names the part in `unreachable` and answers with the rest.
        OmitUnreachable = "omit-unreachable",
        /// It is an error.
        FailWhole = "fail-whole",
    }
    /// Whether want of quota or capacity is told apart.
    Quota = "quota", Behavioural {
        /// It is not.
        Absent = "absent",
        /// It is answered as QuotaExceeded.
        Detected = "detected",
    }
    /// How the backend says that something does not exist.
    NotFound = "not-found", Behavioural {
        /// By the status 404.
        Status404 = "status-404",
        /// By a code or text of its own.
        ErrorCode = "error-code",
    }
    /// What the backend knows an instance by.
    PrimaryKey = "primary-key", Behavioural {
        /// The name.
        NameIsKey = "name-is-key",
        /// An id that is allocated for it.
        AllocatedId = "allocated-id",
    }
    /// Where provisioning shows.
    ProvisioningState = "provisioning-state", Behavioural {
        /// As a state of the backend.
        Native = "native",
        /// Inside a blocking create.
        CreateBlocks = "create-blocks",
    }
    /// What works on while the call that started it has returned; an empty set in the profile means none.
    AsyncOp = "async-ops", Behavioural {
        /// A handle that can be asked.
        TaskHandle = "task-handle",
        /// A lock on the instance that refuses other calls.
        BackendLock = "backend-lock",
    }
    /// Whether an instance has parts of its own: disks, seeds, addresses.
    SecondaryResources = "secondary-resources", Behavioural {
        /// It has none.
        None = "none",
        /// The backend removes them with it.
        Cascade = "cascade",
        /// The provider removes them.
        Explicit = "explicit",
    }
    /// Where credentials come from.
    CredentialsFrom = "credentials", Descriptive {
        /// None are needed.
        None = "none",
        /// The identity of the workload.
        WorkloadIdentity = "workload-identity",
        /// The environment's default credentials.
        Environment = "environment",
        /// Files, read when used.
        MountedFiles = "mounted-files",
    }
    /// What talks to the backend.
    ClientKind = "client-kind", Descriptive {
        /// A client library of the vendor's.
        VendorSdk = "vendor-sdk",
        /// An HTTP client and hand-written shapes.
        ThinClient = "thin-client",
        /// A remote procedure protocol through SSH.
        RpcOverSsh = "rpc-over-ssh",
        /// Nothing: the backend is in the process.
        InProcess = "in-process",
    }
    /// What ends a call that takes too long.
    Timeouts = "timeouts", Behavioural {
        /// The caller alone.
        CtxOnly = "ctx-only",
        /// A budget per backend call.
        PerCall = "per-call",
    }
    /// What the provider logs.
    Logging = "logging", Descriptive {
        /// Nothing.
        None = "none",
        /// Outcomes, calls and details, by level.
        Tiered = "tiered",
    }
    /// Where the spans below an operation come from.
    ChildSpans = "child-spans", Descriptive {
        /// There are none.
        None = "none",
        /// A wrapper of the transport.
        TransportWrapper = "transport-wrapper",
        /// The vendor's library.
        SdkInstrumentation = "sdk-instrumentation",
        /// The seam's decorator.
        SpanDecorator = "span-decorator",
    }
    /// How it is tested against the real thing.
    BackendTest = "backend-test", Descriptive {
        /// It is the real thing.
        InProcess = "in-process",
        /// In a cluster.
        ClusterE2e = "cluster-e2e",
        /// Against its API.
        ApiE2e = "api-e2e",
        /// By hand, after a runbook.
        ManualRunbook = "manual-runbook",
        /// By tests that the environment switches on.
        IntegrationTag = "integration-tag",
    }
}

/// Whether an instance can come to stand elsewhere inside the provider's scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mobility {
    /// It stays.
    Fixed,
    /// It may move, and `get` finds it again (`get.finds-moved-instance`).
    Moves,
}

/// What a deletion is bound to (`delete.bound-to-incarnation`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeleteBinding {
    /// The incarnation: the backend refuses when another one stands there.
    Incarnation,
    /// The name or number: the check stands directly before the call.
    Name,
}

/// Whether the provider gives hints of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WatchSupport {
    /// It does not.
    None,
    /// It does; see [`Watch`](crate::Watch).
    Hints,
}

/// What becomes of a part of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    /// It reaches the instance.
    Delivered,
    /// It has no effect, and the docs say so.
    Ignored,
}

/// A field of [`Placement`](crate::Placement).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum PlacementField {
    Region,
    Zone,
    MachineType,
    Image,
}

/// One kind of backend call that the provider makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct CallKind {
    /// Its name; spans are called `<type>.<name>`.
    pub name: &'static str,
    /// Whether it changes something on the backend.
    pub mutates: bool,
    /// Whether it carries a payload that must not be shown; of its errors only code and reason survive.
    pub payload: bool,
}

impl CallKind {
    /// A call that reads.
    pub const fn read(name: &'static str) -> Self {
        Self { name, mutates: false, payload: false }
    }

    /// A call that changes something.
    pub const fn write(name: &'static str) -> Self {
        Self { name, mutates: true, payload: false }
    }

    /// A call that changes something and carries cloud-init, keys or passwords.
    pub const fn upload(name: &'static str) -> Self {
        Self { name, mutates: true, payload: true }
    }
}

/// One row of the native-state table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct NativeState {
    /// The backend's state, with its reason where that decides, as the harness can set it.
    pub native: &'static str,
    /// What `get` answers when the backend shows an address.
    pub state: StateKind,
    /// Whether the answer carries a reason.
    pub reasoned: bool,
}

/// The most backend calls that an operation makes without faults, polls apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct CallBudget {
    /// For a create from nothing.
    pub create: u32,
    /// For a get.
    pub get: u32,
    /// For a delete of a running instance.
    pub delete: u32,
    /// For a listing, per target and page.
    pub list: u32,
    /// For a check, per target.
    pub check: u32,
}

/// How long each operation may take altogether (contract 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs)]
pub struct Budgets {
    pub create: Duration,
    pub get: Duration,
    pub delete: Duration,
    pub list: Duration,
    /// One backend call.
    pub call: Duration,
}

impl Budgets {
    /// The budget of an operation; leftovers are budgeted like a listing, a check has its caller's deadline.
    pub fn of(&self, operation: Operation) -> Option<Duration> {
        match operation {
            Operation::Create => Some(self.create),
            Operation::Get => Some(self.get),
            Operation::Delete => Some(self.delete),
            Operation::List | Operation::Leftovers => Some(self.list),
            Operation::Check => None,
        }
    }
}

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
            call_budget: CallBudget { create: 1, get: 1, delete: 1, list: 1, check: 1 },
            budgets: Budgets {
                create: Duration::from_secs(600),
                get: Duration::from_secs(60),
                delete: Duration::from_secs(300),
                list: Duration::from_secs(120),
                call: Duration::from_secs(30),
            },
            id_pattern: "{name}",
            reachable_from: "",
            distinct_egress: "",
            late_failures: false,
        }
    }

    /// The 19 axes of the contract with this profile's values, in order.
    pub fn axes(&self) -> Vec<(&'static str, String)> {
        let async_ops: Vec<_> = self.async_ops.iter().map(|op| op.as_str()).collect();
        let async_ops = if async_ops.is_empty() { "none".to_owned() } else { async_ops.join(", ") };
        fn row<A: Axis>(value: A) -> (&'static str, String) {
            (A::KEY, value.to_string())
        }
        vec![
            row(self.readiness),
            row(self.create_return),
            row(self.delete_return),
            row(self.ip_source),
            row(self.gc_mark),
            row(self.created_at),
            row(self.list_partial),
            row(self.quota),
            row(self.not_found),
            row(self.primary_key),
            row(self.provisioning_state),
            (AsyncOp::KEY, async_ops),
            row(self.secondary_resources),
            row(self.credentials),
            row(self.client_kind),
            row(self.timeouts),
            row(self.logging),
            row(self.child_spans),
            row(self.backend_test),
        ]
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
                self.states.contains(&row.state),
                &format!("native state {:?} maps to a state that is not declared", row.native),
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
