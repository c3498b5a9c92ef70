//! The axes of the profile: the 19 of the contract, each an enum with the contract's spelling. The project's own axes
//! are in `own.rs`.

use std::fmt;

use serde::Serialize;

/// Makes one enum per axis, and a list of them all.
macro_rules! axes {
    (
        $(#[$ldoc:meta])* $list:ident:
        $( $(#[$doc:meta])* $axis:ident = $key:literal, $kind:ident { $( $(#[$vdoc:meta])* $value:ident = $text:literal ),+ $(,)? } )+
    ) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
            pub enum $axis { $( $(#[$vdoc])* #[serde(rename = $text)] $value ),+ }

            impl $crate::profile::Axis for $axis {
                const KEY: &'static str = $key;
                const KIND: $crate::profile::AxisKind = $crate::profile::AxisKind::$kind;
                const ALL: &'static [Self] = &[$(Self::$value),+];
                fn as_str(self) -> &'static str { match self { $(Self::$value => $text),+ } }
            }

            impl std::fmt::Display for $axis {
                fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str($crate::profile::Axis::as_str(*self))
                }
            }
        )+

        $(#[$ldoc])*
        pub const $list: &[$crate::profile::AxisEntry] = &[
            $(($key, $crate::profile::AxisKind::$kind, || {
                <$axis as $crate::profile::Axis>::ALL.iter().map(|value| $crate::profile::Axis::as_str(*value)).collect()
            })),+
        ];
    };
}
pub(super) use axes;

/// Whether the values of an axis differ in what a provider does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AxisKind {
    /// They do. The kit's self-check runs its reference provider under pairs of such values.
    Behavioural,
    /// They are said for readers; a check can tell at most that there is none.
    Descriptive,
}

/// An axis as the lists of axes have it, for docs and tests: its key, its kind, and its values in the order of the contract.
pub type AxisEntry = (&'static str, AxisKind, fn() -> Vec<&'static str>);

/// One axis of the profile.
///
/// ```
/// use provider_api::profile::{Axis, DeleteReturn};
/// assert_eq!(DeleteReturn::KEY, "delete-return");
/// assert_eq!(DeleteReturn::ReturnsEarly.to_string(), "returns-early");
/// ```
pub trait Axis: Copy + Eq + fmt::Display + 'static {
    /// Its name, as the contract spells it: `delete-return`.
    const KEY: &'static str;
    /// Whether its values differ in what a provider does.
    const KIND: AxisKind;
    /// Its values, in the order of the contract.
    const ALL: &'static [Self];

    /// The value as the contract spells it.
    fn as_str(self) -> &'static str;
}

axes! {
    /// The 19 axes that every provider has a value on, in the order of the contract.
    AXES:
    /// How long an instance takes until it is usable.
    Readiness = "readiness", Behavioural {
        /// Seconds at most.
        Immediate = "immediate",
        /// A boot, or more: `get` answers Provisioning for a while.
        ProvisioningWindow = "provisioning-window",
    }
    /// When `create` returns.
    CreateReturn = "create-return", Behavioural {
        /// As soon as the request is submitted; the instance may be on its way for long.
        Submit = "submit",
        /// When the instance runs, after a declared wait.
        Blocking = "blocking",
    }
    /// When `delete` returns.
    DeleteReturn = "delete-return", Behavioural {
        /// As soon as the deletion is submitted, with Accepted; callers ask again until Gone.
        ReturnsEarly = "returns-early",
        /// When nothing is left, after a declared wait.
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
        /// Any other text that the creating call writes: a description, notes, metadata. A listing may have to look at each
        /// row for it, see [`CallBudget::list_each`](crate::CallBudget).
        WrittenMetadata = "written-metadata",
    }
    /// Where the creation time comes from.
    CreatedAt = "created-at", Behavioural {
        /// The backend keeps it.
        BackendTimestamp = "backend-timestamp",
        /// It is part of the mark, written from the injected clock.
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
        /// It is not: no error of the backend is QuotaExceeded, a rate limit neither.
        Absent = "absent",
        /// It is answered as QuotaExceeded, a rate limit too.
        Detected = "detected",
    }
    /// How the backend says that something does not exist.
    NotFound = "not-found", Behavioural {
        /// By the status 404.
        Status404 = "status-404",
        /// By a code or text of its own, or by an answer that is empty in its own form.
        ErrorCode = "error-code",
    }
    /// What the backend knows an instance by.
    PrimaryKey = "primary-key", Behavioural {
        /// The name: calls are addressed by it, and a second one is refused.
        NameIsKey = "name-is-key",
        /// An id that is allocated for it, by the backend or by the provider; the id holds it beside the name.
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
        /// A handle that can be asked for its end; late failures need one.
        TaskHandle = "task-handle",
        /// A lock on the instance that refuses other calls; operations wait for it, in declared waits.
        BackendLock = "backend-lock",
    }
    /// Whether an instance has parts of its own: disks, seeds, addresses.
    SecondaryResources = "secondary-resources", Behavioural {
        /// It has none.
        None = "none",
        /// The backend removes them with it.
        Cascade = "cascade",
        /// The provider makes and removes them, and offers [`Leftovers`](crate::Leftovers).
        Explicit = "explicit",
    }
    /// Where credentials come from.
    CredentialsFrom = "credentials", Descriptive {
        /// None are needed.
        None = "none",
        /// The identity of the workload, exchanged for a token.
        WorkloadIdentity = "workload-identity",
        /// The environment's default credentials, as the vendor's tools find them.
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
        /// The caller alone, by dropping the operation.
        CtxOnly = "ctx-only",
        /// A budget for each backend call, and one for the whole operation.
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
