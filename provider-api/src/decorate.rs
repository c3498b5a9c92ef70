//! The one decorator: operation spans, outcome lines and metrics for everything that the registry built.

use std::{
    future::Future,
    panic::{AssertUnwindSafe, resume_unwind},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use futures::{FutureExt, stream::BoxStream};
use tracing::{Instrument, Span};

use crate::{
    Built, Checker, Context, CreateRequest, Deadline, Deleted, Error, GetError, Hint, Instance, LeftoverId,
    LeftoverListing, Leftovers, Listing, Operation, Profile, Provider, ProviderId, TargetStatus, Watch,
};

/// Wraps a provider and every ability it has; it drops none (`observability.decorator-drops-none`).
///
/// Each operation then has a span, `provider.create` and so on, one line `operation ended` at debug with provider,
/// operation, subject and class, and its metrics (`observability.one-outcome-line`, `observability.metrics-by-class`). A
/// dropped operation ends as `Cancelled`, one that panicked as `Panicked`, and the panic goes on. Nothing is retried or
/// cached. The [`Registry`](crate::Registry) does this to what it builds.
pub fn decorate(built: Built, context: &Context) -> Built {
    let observer = Observer { context: context.clone() };
    let wrap = || observer.clone();
    Built {
        provider: Arc::new(Decorated { inner: built.provider, observer: wrap() }),
        checker: built.checker.map(|inner| Arc::new(Decorated { inner, observer: wrap() }) as _),
        leftovers: built.leftovers.map(|inner| Arc::new(Decorated { inner, observer: wrap() }) as _),
        watch: built.watch.map(|inner| Arc::new(Decorated { inner, observer: wrap() }) as _),
    }
}

struct Decorated<T: ?Sized> {
    inner: Arc<T>,
    observer: Observer,
}

#[derive(Clone)]
struct Observer {
    context: Context,
}

impl Observer {
    /// Runs one operation in its span, and says and counts how it ended.
    async fn observe<T>(
        &self,
        operation: Operation,
        subject: &str,
        outcome: impl Fn(&T) -> (&'static str, Option<String>),
        future: impl Future<Output = T>,
    ) -> T {
        let Context { name, clock, metrics, .. } = &self.context;
        let span = span(operation, name.as_str(), subject);
        metrics.operation_started(name, operation);
        let started = clock.monotonic();
        let mut under_way =
            UnderWay { observer: self, operation, subject, span: span.clone(), started, ended: false };
        // A panic goes on to the caller, and is no cancellation. What it says is not repeated: it may quote anything.
        match AssertUnwindSafe(future.instrument(span)).catch_unwind().await {
            Ok(value) => {
                let (class, error) = outcome(&value);
                under_way.end(class, error);
                value
            }
            Err(panic) => {
                under_way.end("Panicked", Some("the provider panicked".into()));
                resume_unwind(panic)
            }
        }
    }
}

/// One operation; dropped before its end it was cancelled, which is an outcome too.
struct UnderWay<'o> {
    observer: &'o Observer,
    operation: Operation,
    subject: &'o str,
    span: Span,
    started: Duration,
    ended: bool,
}

impl UnderWay<'_> {
    fn end(&mut self, class: &'static str, error: Option<String>) {
        self.ended = true;
        let Context { name, clock, metrics, .. } = &self.observer.context;
        let elapsed = clock.monotonic().saturating_sub(self.started);
        metrics.operation_ended(name, self.operation, class, elapsed);
        // The line belongs to the operation's span, also when the caller went away outside of it.
        let _entered = self.span.enter();
        if !["OK", "NotFound", "Cancelled"].contains(&class) {
            self.span.record("otel.status_code", "ERROR");
        }
        tracing::debug!(
            provider = %name,
            operation = self.operation.as_str(),
            subject = self.subject,
            class,
            elapsed_ms = elapsed.as_millis() as u64,
            error = error.as_deref(),
            "operation ended"
        );
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.end("Cancelled", None);
        }
    }
}

fn span(operation: Operation, provider: &str, subject: &str) -> Span {
    macro_rules! operation_span {
        ($name:literal) => {
            tracing::info_span!($name, provider, subject, otel.status_code = tracing::field::Empty)
        };
    }
    match operation {
        Operation::Create => operation_span!("provider.create"),
        Operation::Get => operation_span!("provider.get"),
        Operation::Delete => operation_span!("provider.delete"),
        Operation::List => operation_span!("provider.list"),
        Operation::Leftovers => operation_span!("provider.leftovers"),
        Operation::Check => operation_span!("provider.check"),
    }
}

fn result_class<T>(result: &Result<T, Error>) -> (&'static str, Option<String>) {
    match result {
        Ok(_) => ("OK", None),
        Err(error) => (crate::Class::from(error.class()).as_str(), Some(error.to_string())),
    }
}

#[async_trait]
impl Provider for Decorated<dyn Provider> {
    fn profile(&self) -> &Profile {
        self.inner.profile()
    }

    async fn create(&self, request: &CreateRequest) -> Result<ProviderId, Error> {
        let operation = self.inner.create(request);
        self.observer.observe(Operation::Create, request.name.as_str(), result_class, operation).await
    }

    async fn get(&self, id: &ProviderId) -> Result<Instance, GetError> {
        let class = |result: &Result<Instance, GetError>| match result {
            Ok(_) => ("OK", None),
            // Proven absent is an answer, not an error.
            Err(GetError::NotFound) => ("NotFound", None),
            Err(error) => (error.class().as_str(), Some(error.to_string())),
        };
        self.observer.observe(Operation::Get, id.as_str(), class, self.inner.get(id)).await
    }

    async fn delete(&self, id: &ProviderId) -> Result<Deleted, Error> {
        self.observer.observe(Operation::Delete, id.as_str(), result_class, self.inner.delete(id)).await
    }

    async fn list_by_tag(&self) -> Result<Listing, Error> {
        self.observer.observe(Operation::List, "", result_class, self.inner.list_by_tag()).await
    }
}

#[async_trait]
impl Checker for Decorated<dyn Checker> {
    async fn check(&self, by: Deadline) -> Vec<TargetStatus> {
        let class = |targets: &Vec<TargetStatus>| match targets.iter().find(|target| !target.ready) {
            None => ("OK", None),
            Some(target) => ("NotReady", Some(format!("{}: {}", target.name, target.reason))),
        };
        self.observer.observe(Operation::Check, "", class, self.inner.check(by)).await
    }
}

#[async_trait]
impl Leftovers for Decorated<dyn Leftovers> {
    async fn list(&self) -> Result<LeftoverListing, Error> {
        self.observer.observe(Operation::Leftovers, "", result_class, self.inner.list()).await
    }

    async fn delete(&self, id: &LeftoverId) -> Result<(), Error> {
        self.observer.observe(Operation::Leftovers, id.as_str(), result_class, self.inner.delete(id)).await
    }
}

impl Watch for Decorated<dyn Watch> {
    fn hints(&self) -> BoxStream<'static, Hint> {
        self.inner.hints()
    }
}

impl std::fmt::Debug for Observer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.context.fmt(f)
    }
}
