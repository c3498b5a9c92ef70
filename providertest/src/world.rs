//! The world of one case: a fresh backend, a provider over it, and the verbs that rules are written in.
//!
//! A verb in the infinitive (`create`) answers with what the provider answered; one in the third person (`creates`)
//! stops the check as broken when the provider failed.
// long: all that a check may do to its case, in the one place where check authors look

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures::future::{BoxFuture, join_all};
use provider_api::{
    Built, ConfigReport, Context, CreateRequest, Deadline, Deleted, Error, GetError, Identity,
    InstallationId, Instance, Leftover, LeftoverListing, Listing, Metrics, Name, OperationId, Profile,
    Provider, ProviderId, ProviderName, Registry, Spawner, State, TargetStatus, Tracker, Uid,
    within_operation,
};
use serde_json::{Map, Value, json};

use crate::{
    drive::{self, Ended},
    faults::{Call, Fault},
    harness::{Backend, Case, Setup, Shape, Thing, ThingKind},
    look::spelt,
    looks::Looks,
    noted::Noted,
    report::BackendKind,
    rule::{Checked, Stop},
    saboteur::Saboteur,
    story::{acknowledging, said},
    wire::Wire,
};

/// How often an instance is looked at until it has come up or gone.
const PATIENCE: usize = 90;
/// What lies between two looks.
const PAUSE: Duration = Duration::from_secs(2);
/// From here on the steps tell of time that passes.
const TOLD: Duration = Duration::from_secs(60);

/// How a provider is built in a case.
#[derive(Clone, Debug, Default)]
pub struct Tweaks {
    /// How its own block differs.
    pub shape: Vec<Shape>,
    /// Further common fields of its entry, as the config spells them.
    pub common: Map<String, Value>,
    /// The installations that the provider is to adopt.
    pub adopt: Vec<InstallationId>,
    /// Another installation than the case's own.
    pub installation: Option<InstallationId>,
}

impl Tweaks {
    /// With one more common field.
    pub fn common(key: &str, value: impl Into<Value>) -> Self {
        Self { common: Map::from_iter([(key.to_owned(), value.into())]), ..Self::default() }
    }

    /// One difference of the block.
    pub fn shape(shape: Shape) -> Self {
        Self { shape: vec![shape], ..Self::default() }
    }
}

/// The world of one case.
pub struct World {
    setup: Arc<Setup>,
    case: Case,
    backend: Box<dyn Backend>,
    kind: BackendKind,
    decorated: bool,
    saboteur: Saboteur,
    context: Context,
    built: Built,
    operations: AtomicU64,
    uids: u64,
    notes: Mutex<Vec<(usize, String)>>,
    /// The first operation that only tells why a rule was broken.
    telling: AtomicU64,
    /// What each operation began with, where the case is played to see that.
    beginnings: Option<Mutex<Vec<(u64, Vec<Thing>)>>>,
}

/// What a world is opened from.
pub(crate) struct Opening {
    pub(crate) setup: Arc<Setup>,
    pub(crate) case: Case,
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) kind: BackendKind,
    pub(crate) decorated: bool,
    pub(crate) saboteur: Saboteur,
    pub(crate) spawner: Arc<dyn Spawner>,
    /// Whether to look at the backend before each operation.
    pub(crate) looking: bool,
}

impl World {
    /// The configured name of the provider under test; deliberately not the name of its type.
    pub const PROVIDER: &'static str = "under-test-7";

    pub(crate) fn open(opening: Opening) -> Checked<Self> {
        let Opening { setup, case, backend, kind, decorated, saboteur, spawner, looking } = opening;
        let name = ProviderName::parse(Self::PROVIDER).expect("a DNS label");
        let installation = InstallationId::parse(&format!("{}-installation", case.tag))
            .map_err(|error| Stop::Error(error.to_string()))?;
        let mut context = Context::new(name, Identity::new(installation), Arc::clone(&case.clock), spawner);
        if kind == BackendKind::Fake {
            let ledger: Arc<dyn Tracker> = Arc::new(case.wire.ledger().clone());
            context.tracker = Some(ledger);
        }
        let mut world = Self {
            setup,
            case,
            backend,
            kind,
            decorated,
            saboteur,
            context,
            // Replaced below; a world never leaves this function without its provider.
            built: Built::new(Arc::new(Unbuilt)),
            operations: AtomicU64::new(0),
            uids: 0,
            notes: Mutex::default(),
            telling: AtomicU64::new(u64::MAX),
            beginnings: looking.then(Mutex::default),
        };
        world.built = world.build(&Tweaks::default())?;
        Ok(world)
    }

    // --- what there is

    /// What the provider declares in this setup.
    pub fn profile(&self) -> &Profile {
        &self.setup.profile
    }

    /// The setup that the case runs on.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The provider and its abilities.
    pub fn built(&self) -> &Built {
        &self.built
    }

    /// The provider as it was last built, bare unless the rule is about the decorated one.
    pub fn provider(&self) -> &Arc<dyn Provider> {
        &self.built.provider
    }

    /// The backend of the case.
    pub fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// Somebody else's hand on the backend; what it does is noted.
    pub fn hand(&self) -> Noted<'_> {
        Noted::new(self)
    }

    /// The wire of the case; on a real backend nothing passes it.
    pub fn wire(&self) -> &Wire {
        &self.case.wire
    }

    /// What the backend was made from: clock, wire, seed, tag, folder.
    pub fn case(&self) -> &Case {
        &self.case
    }

    /// The surroundings that the provider was built in.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Where the provider's operations and calls are counted.
    pub fn metrics(&self) -> &Metrics {
        &self.context.metrics
    }

    /// Whether the backend is the embedded fake.
    pub fn is_fake(&self) -> bool {
        self.kind == BackendKind::Fake
    }

    /// A UID that no other case of the run has.
    pub fn uid(&mut self) -> Uid {
        self.uids += 1;
        Uid::parse(&format!("{}-{}", self.case.tag, self.uids)).expect("a tag and a number are a label value")
    }

    /// A request for a fresh owner, which the backend can satisfy.
    pub fn request(&mut self) -> CreateRequest {
        let uid = self.uid();
        self.backend.request(&uid)
    }

    // --- building

    /// Builds the provider anew over the same backend: a restart.
    ///
    /// # Errors
    /// An error of the suite when the config does not load.
    pub fn restart(&mut self, tweaks: &Tweaks) -> Checked {
        self.note(format!("the provider is restarted{tweaks}"));
        self.built = self.build(tweaks)?;
        Ok(())
    }

    /// Builds a provider without putting it in place: a second process.
    ///
    /// # Errors
    /// An error of the suite when the config does not load; blocked when the harness has no such shape.
    pub fn build(&self, tweaks: &Tweaks) -> Checked<Built> {
        let yaml = self.config(tweaks)?;
        self.load(tweaks, &yaml)
            .map_err(|report| Stop::Error(format!("the harness's config does not load: {report}")))
    }

    /// The config file of this case, as text.
    ///
    /// # Errors
    /// Blocked when the harness has no such shape.
    pub fn config(&self, tweaks: &Tweaks) -> Checked<String> {
        let name = self.registry().types()[0].name;
        let mut entry =
            json!({ "name": Self::PROVIDER, "type": name, name: self.backend.block(&tweaks.shape)? });
        if let Some(fields) = entry.as_object_mut() {
            fields.extend(tweaks.common.clone());
        }
        Ok(json!({ "providers": [entry] }).to_string())
    }

    /// The registry with the type under test, broken where a saboteur breaks it.
    pub fn registry(&self) -> Registry {
        let mut registry = Registry::default();
        registry.register(self.backend.provider_type());
        (self.saboteur.types)(registry)
    }

    /// Loads a config file as a program would.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn load(&self, tweaks: &Tweaks, yaml: &str) -> Result<Built, ConfigReport> {
        let mut context = self.context.clone();
        context.identity.adopt = tweaks.adopt.clone();
        if let Some(installation) = &tweaks.installation {
            context.identity.installation = installation.clone();
        }
        let finish = |built: Built, context: &Context| self.finish(built, context);
        let surroundings = |_: &ProviderName| context.clone();
        let providers =
            self.registry().load_finished(&Default::default(), yaml, |_| {}, surroundings, finish)?;
        let entry = providers.iter().next().map(|(_, entry)| entry.built.clone());
        entry.ok_or_else(|| {
            ConfigReport(vec![provider_api::config::Problem {
                path: "providers".into(),
                line: None,
                message: "is empty".into(),
            }])
        })
    }

    fn finish(&self, built: Built, context: &Context) -> Built {
        let built = (self.saboteur.provider)(built, context);
        if self.decorated { (self.saboteur.decorate)(built, context) } else { built }
    }

    // --- operations

    /// Drives operations together to their end; late effects of earlier operations land after them.
    ///
    /// # Errors
    /// An error of the suite when nothing is left that could go on.
    pub async fn together<'f, T: Send + 'f>(
        &self,
        operations: Vec<BoxFuture<'f, T>>,
    ) -> Checked<Vec<Ended<T>>> {
        let count = operations.len() as u64;
        let first = self.operations.fetch_add(count, Ordering::Relaxed);
        let operations = operations.into_iter().enumerate().map(|(i, f)| (OperationId(first + i as u64), f));
        if self.kind == BackendKind::Real {
            let ended = join_all(operations.map(|(id, future)| within_operation(Some(id), future))).await;
            return Ok(ended.into_iter().map(Ended::Done).collect());
        }
        if let Some(beginnings) = &self.beginnings {
            let things = self.everything().await?;
            beginnings.lock().unwrap_or_else(PoisonError::into_inner).push((first, things));
        }
        let ended = drive::drive(self.wire().ledger(), operations.collect()).await;
        let ended = ended.map_err(|stuck| Stop::Error(stuck.to_string()))?;
        self.settle().await;
        self.wire().land(Some(OperationId(first)));
        Ok(ended)
    }

    /// Drives one operation; a fault that drops its caller is an error of the plan here.
    ///
    /// # Errors
    /// As for [`World::together`].
    pub async fn alone<'f, T: Send + 'f>(
        &self,
        operation: impl Future<Output = T> + Send + 'f,
    ) -> Checked<T> {
        let ended = self.together(vec![Box::pin(operation)]).await?.pop();
        ended
            .and_then(Ended::done)
            .ok_or_else(|| Stop::Error("a fault dropped a caller that was to wait".into()))
    }

    /// The id that the next operation will have.
    pub fn next_operation(&self) -> u64 {
        self.operations.load(Ordering::Relaxed)
    }

    /// Waits until nothing that dropped callers left behind is still at work.
    pub async fn settle(&self) {
        drive::settle(self.wire().ledger()).await;
    }

    /// Creates.
    ///
    /// # Errors
    /// As for [`World::together`].
    pub async fn create(&self, request: &CreateRequest) -> Checked<Result<ProviderId, Error>> {
        let provider = Arc::clone(self.provider());
        let line = self.begins(format_args!("create {}{}", request.name, acknowledging(request)));
        let result = self.alone(async move { provider.create(request).await }).await?;
        line.ends(said(&result));
        Ok(result)
    }

    /// Creates, and must succeed.
    ///
    /// # Errors
    /// Broken when it does not.
    pub async fn creates(&self, request: &CreateRequest) -> Checked<ProviderId> {
        let result = self.create(request).await?;
        result.map_err(|error| {
            Stop::Broken(format!("create {} failed: {error} [{:?}]", request.name, error.class()))
        })
    }

    /// Creates for a fresh owner, and must succeed.
    ///
    /// # Errors
    /// Broken when it does not; an error when the observer does not see the instance.
    pub async fn created(&mut self) -> Checked<(CreateRequest, ProviderId)> {
        let request = self.request();
        let id = self.creates(&request).await?;
        Ok((request, id))
    }

    /// Creates for a fresh owner and waits until the instance runs.
    ///
    /// # Errors
    /// Broken when either does not come about.
    pub async fn running(&mut self) -> Checked<(CreateRequest, ProviderId, Instance)> {
        let (request, id) = self.created().await?;
        let instance = self.runs(&request.name, &id).await?;
        Ok((request, id, instance))
    }

    /// Gets.
    ///
    /// # Errors
    /// As for [`World::together`].
    pub async fn get(&self, id: &ProviderId) -> Checked<Result<Instance, GetError>> {
        let provider = Arc::clone(self.provider());
        let line = self.begins(format_args!("get {id}"));
        let result = self.alone(async move { provider.get(id).await }).await?;
        line.ends(said(&result.as_ref().map(|instance| format!("{:?}", instance.state))));
        Ok(result)
    }

    /// Gets, and must succeed.
    ///
    /// # Errors
    /// Broken when it does not.
    pub async fn gets(&self, id: &ProviderId) -> Checked<Instance> {
        let result = self.get(id).await?;
        result.map_err(|error| Stop::Broken(format!("get {id} failed: {error} [{:?}]", error.class())))
    }

    /// Deletes.
    ///
    /// # Errors
    /// As for [`World::together`].
    pub async fn delete(&self, id: &ProviderId) -> Checked<Result<Deleted, Error>> {
        let provider = Arc::clone(self.provider());
        let line = self.begins(format_args!("delete {id}"));
        let result = self.alone(async move { provider.delete(id).await }).await?;
        line.ends(said(&result.as_ref().map(|deleted| format!("{deleted:?}"))));
        Ok(result)
    }

    /// Deletes, and must succeed.
    ///
    /// # Errors
    /// Broken when it does not.
    pub async fn deletes(&self, id: &ProviderId) -> Checked<Deleted> {
        let result = self.delete(id).await?;
        result.map_err(|error| Stop::Broken(format!("delete {id} failed: {error} [{:?}]", error.class())))
    }

    /// Lists.
    ///
    /// # Errors
    /// As for [`World::together`].
    pub async fn list(&self) -> Checked<Result<Listing, Error>> {
        let provider = Arc::clone(self.provider());
        let line = self.begins("list");
        let result = self.alone(async move { provider.list_by_tag().await }).await?;
        line.ends(said(&result.as_ref().map(|listing| {
            format!("{} items, {} unreachable", listing.items.len(), listing.unreachable.len())
        })));
        Ok(result)
    }

    /// Lists, and must succeed with the whole scope.
    ///
    /// # Errors
    /// Broken when it does not.
    pub async fn lists(&self) -> Checked<Listing> {
        let result = self.list().await?;
        let listing =
            result.map_err(|error| Stop::Broken(format!("list failed: {error} [{:?}]", error.class())))?;
        match listing.unreachable.first() {
            Some(part) => Err(Stop::Broken(format!("list left out {}: {}", part.target, part.reason))),
            None => Ok(listing),
        }
    }

    /// Lists leftovers, and must succeed; empty where the provider has no such ability.
    ///
    /// # Errors
    /// Broken when it does not.
    pub async fn leftovers(&self) -> Checked<LeftoverListing> {
        let Some(leftovers) = self.built.leftovers.clone() else {
            self.note("leftovers -> none, the provider has no such ability".into());
            return Ok(LeftoverListing::default());
        };
        let line = self.begins("leftovers");
        let result = self.alone(async move { leftovers.list().await }).await?;
        line.ends(said(&result.as_ref().map(|l| format!("{} items", l.items.len()))));
        result
            .map_err(|error| Stop::Broken(format!("listing leftovers failed: {error} [{:?}]", error.class())))
    }

    /// Deletes one leftover.
    ///
    /// # Errors
    /// As for [`World::together`].
    pub async fn delete_leftover(&self, leftover: &Leftover) -> Checked<Result<(), Error>> {
        let Some(leftovers) = self.built.leftovers.clone() else { return Ok(Ok(())) };
        let id = &leftover.id;
        let line = self.begins(format_args!("delete leftover {id}"));
        let result = self.alone(async move { leftovers.delete(id).await }).await?;
        line.ends(said(&result.as_ref().map(|()| "done")));
        Ok(result)
    }

    /// Checks, within that time; `None` where the provider has no check.
    ///
    /// # Errors
    /// As for [`World::together`].
    pub async fn check(&self, within: Duration) -> Checked<Option<Vec<TargetStatus>>> {
        let Some(checker) = self.built.checker.clone() else { return Ok(None) };
        let by = Deadline::within(&*self.case.clock, within);
        let line = self.begins("check");
        let targets = self.alone(async move { checker.check(by).await }).await?;
        let text: Vec<_> = targets.iter().map(|t| format!("{}: {}", t.name, t.reason.code)).collect();
        line.ends(text.join(", "));
        Ok(Some(targets))
    }

    // --- waiting

    /// Lets time pass: on a fake by its clock alone, on a real backend for real. What is more than a pause is told among
    /// the steps, for much may hang on it.
    pub async fn pass(&self, how_long: Duration) {
        if how_long >= TOLD {
            self.note(format!("{} later", spelt(how_long)));
        }
        match self.kind {
            BackendKind::Fake => self.wire().ledger().pass(how_long),
            BackendKind::Real => tokio::time::sleep(how_long).await,
        }
    }

    /// Lets an instance come up and waits until the provider says that it runs.
    ///
    /// # Errors
    /// Broken when it never does.
    pub async fn runs(&self, name: &Name, id: &ProviderId) -> Checked<Instance> {
        // A harness that needs no hand for it lacks that power rightly.
        let _ = self.hand().bring_up(name).await;
        let mut last = None;
        let mut looks = Looks::new(PATIENCE, PAUSE);
        while looks.again(self).await {
            let instance = self.gets(id).await?;
            if matches!(instance.state, State::Running { .. }) {
                return Ok(instance);
            }
            last = Some(instance.state);
        }
        Err(Stop::Broken(format!("{id} did not come to run; its last state was {last:?}")))
    }

    /// Deletes until `get` proves the instance gone.
    ///
    /// # Errors
    /// Broken when it never is.
    pub async fn goes(&self, id: &ProviderId) -> Checked {
        let mut looks = Looks::new(PATIENCE, PAUSE);
        while looks.again(self).await {
            let deleted = self.deletes(id).await?;
            match self.get(id).await? {
                Err(GetError::NotFound) => return Ok(()),
                Err(GetError::Failed(error)) => {
                    return Err(Stop::Broken(format!("get {id} failed while deleting: {error}")));
                }
                Ok(_) if deleted == Deleted::Gone => {
                    return Err(Stop::Broken(format!("delete {id} said Gone, but get still finds it")));
                }
                Ok(_) => {}
            }
        }
        Err(Stop::Broken(format!("{id} did not go")))
    }

    // --- looking

    /// Everything on the backend, as the observer sees it.
    ///
    /// # Errors
    /// When the backend cannot be looked at.
    pub async fn everything(&self) -> Checked<Vec<Thing>> {
        Ok(self.backend.everything().await?)
    }

    /// The instances of that name.
    ///
    /// # Errors
    /// When the backend cannot be looked at.
    pub async fn instances(&self, name: &Name) -> Checked<Vec<Thing>> {
        let mut things = self.everything().await?;
        things.retain(|thing| thing.kind == ThingKind::Instance && thing.name == name.as_str());
        Ok(things)
    }

    /// The one instance of that name.
    ///
    /// # Errors
    /// Broken when there are several; an error when the observer sees none though the provider made one.
    pub async fn instance(&self, name: &Name) -> Checked<Thing> {
        let mut things = self.instances(name).await?;
        match (things.pop(), things.len()) {
            (Some(thing), 0) => Ok(thing),
            (None, _) => {
                Err(Stop::Error(format!("the observer does not see {name}, which the provider made")))
            }
            (Some(_), more) => Err(Stop::Broken(format!("there are {} instances called {name}", more + 1))),
        }
    }

    /// What stands on the backend that belongs to one instance or was marked as ours: everything but shared things.
    ///
    /// # Errors
    /// When the backend cannot be looked at.
    pub async fn left(&self) -> Checked<Vec<Thing>> {
        let mut things = self.everything().await?;
        things.retain(|thing| thing.kind != ThingKind::Shared);
        Ok(things)
    }

    // --- faults and evidence

    /// Arms faults on the wire; each waits for its call.
    pub fn arm(&self, faults: impl IntoIterator<Item = Fault>) {
        self.wire().arm(faults);
    }

    /// Every call on the wire so far, in the order of arrival.
    pub fn calls(&self) -> Vec<Call> {
        self.wire().calls()
    }

    /// Writes a line into the case's story.
    pub fn note(&self, line: String) {
        let after = self.wire().call_count();
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push((after, line));
    }

    /// Says that the rule is broken: what is asked from here on only tells why, and is no part of what broke it.
    pub fn asks_why(&self) {
        self.note("by now the rule is broken; what follows is asked for this report".into());
        self.telling.store(self.next_operation(), Ordering::Relaxed);
    }

    /// The case's story so far, each line with the number of calls that came before it.
    pub fn notes(&self) -> Vec<(usize, String)> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What stood on the backend when that operation began, or the ones that it ran together with; the last operation
    /// that broke the rule when none is named. `None` where nobody looked.
    pub(crate) fn beginning(&self, operation: Option<u64>) -> Option<(u64, Vec<Thing>)> {
        let beginnings = self.beginnings.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        let up_to = operation.unwrap_or(self.telling.load(Ordering::Relaxed).saturating_sub(1));
        beginnings.iter().rev().find(|(first, _)| *first <= up_to).cloned()
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("setup", &self.setup.name).finish_non_exhaustive()
    }
}

/// Stands in for the provider until it is built.
struct Unbuilt;

#[async_trait::async_trait]
impl Provider for Unbuilt {
    fn profile(&self) -> &Profile {
        unreachable!("a world is not handed out before its provider is built")
    }
    async fn create(&self, _: &CreateRequest) -> Result<ProviderId, Error> {
        unreachable!("a world is not handed out before its provider is built")
    }
    async fn get(&self, _: &ProviderId) -> Result<Instance, GetError> {
        unreachable!("a world is not handed out before its provider is built")
    }
    async fn delete(&self, _: &ProviderId) -> Result<Deleted, Error> {
        unreachable!("a world is not handed out before its provider is built")
    }
    async fn list_by_tag(&self) -> Result<Listing, Error> {
        unreachable!("a world is not handed out before its provider is built")
    }
}
