//! Counts and durations of operations, and counts of backend calls. Labels are of low cardinality: no instance names, no
//! messages (`observability.metrics-by-class`).

use std::time::Duration;

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Registry, Unit},
};

use crate::{Operation, ProviderName};

/// The metrics of all providers of a program. Cheap to clone; clones count together. A program makes one, registers it,
/// and puts a clone in each [`Context`](crate::Context); decorator and seam do the counting.
///
/// | metric | labels |
/// |---|---|
/// | `provider_operations_total` | provider, operation, class |
/// | `provider_operation_duration_seconds` | provider, operation |
/// | `provider_operations_in_flight` | provider, operation |
/// | `provider_backend_calls_total` | provider, call |
///
/// The class is `OK`, one of [`Class`](crate::Class), `Cancelled` for an operation whose caller went away, `Panicked`, and
/// `NotReady` for a check with a target that is not ready.
#[derive(Clone, Debug)]
pub struct Metrics {
    operations: Family<Outcome, Counter>,
    duration: Family<Labels, Histogram>,
    in_flight: Family<Labels, Gauge>,
    calls: Family<Call, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    provider: String,
    operation: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    provider: String,
    operation: &'static str,
    class: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Call {
    provider: String,
    call: &'static str,
}

impl Default for Metrics {
    fn default() -> Self {
        let seconds = || Histogram::new([0.005, 0.02, 0.1, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 180.0, 600.0]);
        Self {
            operations: Family::default(),
            duration: Family::new_with_constructor(seconds),
            in_flight: Family::default(),
            calls: Family::default(),
        }
    }
}

impl Metrics {
    /// Enters them in a registry, for a program's `/metrics`.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("provider_operations", "Operations by result class", self.operations.clone());
        registry.register_with_unit(
            "provider_operation_duration",
            "How long operations took",
            Unit::Seconds,
            self.duration.clone(),
        );
        registry.register("provider_operations_in_flight", "Operations under way", self.in_flight.clone());
        registry.register("provider_backend_calls", "Backend calls by kind", self.calls.clone());
    }

    /// How many operations of a provider ended with a class so far; `OK` is the class of success.
    pub fn operations(&self, provider: &ProviderName, operation: Operation, class: &'static str) -> u64 {
        let outcome = Outcome { provider: provider.to_string(), operation: operation.as_str(), class };
        self.operations.get_or_create(&outcome).get()
    }

    /// How many operations of a provider are under way.
    pub fn in_flight(&self, provider: &ProviderName, operation: Operation) -> i64 {
        self.in_flight.get_or_create(&labels(provider, operation)).get()
    }

    /// How many backend calls of a kind a provider has begun so far.
    pub fn calls(&self, provider: &ProviderName, call: &'static str) -> u64 {
        self.calls.get_or_create(&Call { provider: provider.to_string(), call }).get()
    }

    pub(crate) fn call_started(&self, provider: &ProviderName, call: &'static str) {
        self.calls.get_or_create(&Call { provider: provider.to_string(), call }).inc();
    }

    pub(crate) fn operation_started(&self, provider: &ProviderName, operation: Operation) {
        self.in_flight.get_or_create(&labels(provider, operation)).inc();
    }

    pub(crate) fn operation_ended(
        &self,
        provider: &ProviderName,
        operation: Operation,
        class: &'static str,
        elapsed: Duration,
    ) {
        let outcome = Outcome { provider: provider.to_string(), operation: operation.as_str(), class };
        self.operations.get_or_create(&outcome).inc();
        self.in_flight.get_or_create(&labels(provider, operation)).dec();
        self.duration.get_or_create(&labels(provider, operation)).observe(elapsed.as_secs_f64());
    }
}

fn labels(provider: &ProviderName, operation: Operation) -> Labels {
    Labels { provider: provider.to_string(), operation: operation.as_str() }
}
