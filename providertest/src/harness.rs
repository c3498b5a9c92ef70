//! What an author gives the kit: a way to make a fresh backend, a provider type over it, an observer that is not the
//! provider, and the hand of somebody else who works on the same backend.
//!
//! A [`Harness`] stands for the provider's crate, a [`Backend`] for one backend of one case, its [`Hand`] for other people
//! and programs. For fakes on the kit's store most of it is ready made: [`StoreHand`](crate::fake::hand::StoreHand) is the
//! hand, [`Store::things`](crate::fake::store::Store::things) the observer.
// long: everything that an author implements, in the one place where authors look

use std::{
    collections::BTreeMap,
    net::IpAddr,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use async_trait::async_trait;
use ipnet::IpNet;
use provider_api::{
    Catalogue, Clock, CreateRequest, Credentials, Name, Placement, Profile, ProviderType, Secret, Uid,
};
use serde::Serialize;
use serde_json::Value;
use tempfile::TempDir;

use crate::wire::Wire;

/// Makes backends for cases. One per provider crate; [`main`](crate::main) takes it.
///
/// ```
/// use provider_api::{Catalogue, Class, NativeError, Profile};
/// use providertest::harness::{Backend, Case, Harness, HarnessError, Setup};
/// # const TABLE: &[NativeError] = &[NativeError::new("off", &["insert"], Class::Transient, "seen")];
/// # fn profile() -> Profile { Profile::plain("acme") }
/// # fn fake(_: &Setup, case: &Case) -> Result<Box<dyn Backend>, HarnessError> {
/// #     Err(HarnessError(format!("no fake at {}", case.folder.path()?.display())))
/// # }
///
/// struct Fakes;
///
/// #[async_trait::async_trait]
/// impl Harness for Fakes {
///     fn provider(&self) -> &'static str {
///         "acme"
///     }
///     fn version(&self) -> &'static str {
///         env!("CARGO_PKG_VERSION")
///     }
///     fn setups(&self) -> Vec<Setup> {
///         let (profile, catalogue) = (profile(), Catalogue(&[TABLE]));
///         vec![Setup { name: "v3", profile, catalogue, backend_version: "fake, API 3.2".into() }]
///     }
///     async fn open(&self, setup: &Setup, case: &Case) -> Result<Box<dyn Backend>, HarnessError> {
///         fake(setup, case) // a store on the case's clock, a server on its wire, a socket in its folder
///     }
/// }
/// ```
#[async_trait]
pub trait Harness: Send + Sync + 'static {
    /// The provider's name, as reports and replay lines give it: of the package `provider-NAME`.
    fn provider(&self) -> &'static str;

    /// The version of the provider's crate, for reports: `env!("CARGO_PKG_VERSION")`.
    fn version(&self) -> &'static str;

    /// The setups, each with its own verdict; at least one. A provider that is to work with two versions of its backend has
    /// two.
    fn setups(&self) -> Vec<Setup>;

    /// Makes a fresh backend that no other case touches. Cases are opened on many threads at once, so it shares nothing
    /// that changes: its store, servers, sockets and files are the case's own.
    ///
    /// # Errors
    /// When it cannot be had; the case is then an error, never a pass.
    async fn open(&self, setup: &Setup, case: &Case) -> Result<Box<dyn Backend>, HarnessError>;

    /// The harness for the real backend that the file of `--config` describes. Its cases wait in real time, and whatever
    /// powers they lack leave rules blocked.
    ///
    /// # Errors
    /// When there is no such harness, or the file does not describe a backend.
    fn real(&self, config: &Path) -> Result<Arc<dyn Harness>, HarnessError> {
        let _ = config;
        Err(HarnessError(format!(
            "{} has no harness for a real backend; leave out --backend real to run on its embedded fake",
            self.provider()
        )))
    }

    /// Whether this is the reference that saboteurs stand over: only the kit's own memory provider is.
    fn is_reference(&self) -> bool {
        false
    }

    /// The rules that the provider leaves out, by id, each with its reason, which the report shows. A waiver that waives
    /// nothing is an error: its rule passes in every setup, is unsupported there, or is held by the compiler.
    fn waivers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

/// One variant of a backend: a version, an API style, a firmware.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Its name, for `--setup` and reports: `pve-9`.
    pub name: &'static str,
    /// What the provider declares there. It must be the one that the built provider answers
    /// (`observability.decorator-drops-none`).
    pub profile: Profile,
    /// Every error that the backend can give there. A run does not start when it and the profile contradict each other.
    pub catalogue: Catalogue,
    /// The backend's version, for reports; a fake says that it is one.
    pub backend_version: String,
}

/// What a backend of one case is made from. Cases run beside each other, and none sees another's.
#[derive(Clone)]
pub struct Case {
    /// The case's clock; a fake takes its time from it and from nowhere else.
    pub clock: Arc<dyn Clock>,
    /// The wire that a fake passes each request through; all servers of a case share it.
    pub wire: Wire,
    /// The case's own seed, made from the run's. What a fake chooses at random it derives from it.
    pub seed: u64,
    /// A tag that everything which this case makes on a real backend carries.
    pub tag: String,
    /// A folder of the case's own for credential files and sockets.
    pub folder: Arc<Folder>,
}

/// A folder of a case's own, made at its first use and removed with the case.
#[derive(Debug, Default)]
pub struct Folder(OnceLock<TempDir>);

impl Folder {
    /// Where it is; it is made now, if it was not before. It stands in memory where the system has such a folder, unless
    /// `TMPDIR` says otherwise.
    ///
    /// # Errors
    /// When no folder can be made: a full disk, a missing `TMPDIR`.
    pub fn path(&self) -> Result<&Path, HarnessError> {
        if let Some(made) = self.0.get() {
            return Ok(made.path());
        }
        let home = Self::home();
        let made = tempfile::Builder::new().prefix("conformance-").tempdir_in(&home);
        let made = made.map_err(|error| {
            HarnessError(format!("cannot make a folder under {}: {error}", home.display()))
        })?;
        Ok(self.0.get_or_init(|| made).path())
    }

    /// Where `TMPDIR` says; otherwise in memory where the system has such a folder, for a run makes thousands.
    fn home() -> PathBuf {
        let memory = Path::new("/dev/shm");
        match std::env::var_os("TMPDIR") {
            None if memory.is_dir() => memory.to_owned(),
            _ => std::env::temp_dir(),
        }
    }
}

/// A backend could not be had, or could not be looked at: a sentence that says why. The case is then an error.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct HarnessError(pub String);

/// A power that a harness lacks, as the end of "the harness cannot": `Unable("move an instance")`. The rule that needs it
/// is blocked, which on a fake keeps the run from being conformant.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the harness cannot {0}")]
pub struct Unable(pub &'static str);

/// One backend of one case, with the provider's way to it. It goes away with the case, and with it every server that it
/// holds.
#[async_trait]
pub trait Backend: Send + Sync {
    /// The provider type wired to this backend, as the crate registers it; building it again is a restart.
    fn provider_type(&self) -> ProviderType;

    /// The provider's own config block for this backend, as JSON, with what `shape` asks for. It names the files and sockets
    /// of the case; the rest of the entry is the kit's.
    ///
    /// # Errors
    /// [`Unable`] when a shape cannot be had, which blocks the rule.
    fn block(&self, shape: &[Shape]) -> Result<Value, Unable>;

    /// What the observer sees: everything that stands on the backend, foreign things too. It looks by a way of its own,
    /// never through the provider, and never cleans up. On a fake it reads the store, and passes no wire.
    ///
    /// # Errors
    /// When the backend cannot be looked at.
    async fn everything(&self) -> Result<Vec<Thing>, HarnessError>;

    /// Whether an instance lets a user in with these credentials; `None` when it cannot be told
    /// (`create.delivers-access-and-port`).
    fn admits(&self, instance: &Thing, credentials: &Credentials) -> Option<bool> {
        let _ = (instance, credentials);
        None
    }

    /// A request for `uid` that this backend can satisfy, with a payload that no other request has: best one that is no
    /// text, so that it shows whether it arrives byte for byte.
    fn request(&self, uid: &Uid) -> CreateRequest;

    /// One placement for each part of the scope that instances can be made in: one for each zone or host, say.
    fn placements(&self) -> Vec<Placement>;

    /// The parts that can fail on their own, as requests name them ([`Reading::new`](crate::fake::Reading::new)): hosts,
    /// zones, `apiserver`. The kit cuts off and hangs each by its name.
    fn targets(&self) -> Vec<String>;

    /// The names of a check's entries, in any order: what can fail on its own as the check sees it. The targets, unless it
    /// sees something else.
    fn checked(&self) -> Vec<String> {
        self.targets()
    }

    /// What the provider is configured with and must not show: tokens, keys, passwords, as they are now. Errors, lines and
    /// checks are searched for them (`errors.hides-secrets`).
    fn secrets(&self) -> Vec<Secret> {
        Vec::new()
    }

    /// Placements that config or catalogue can tell to be unsatisfiable, each with the field that is wrong, as an error must
    /// name it: `placement.zone` (`create.rejects-unsatisfiable-before-any-call`).
    fn unsatisfiable(&self) -> Vec<(Placement, &'static str)>;

    /// An image that the backend has and no catalogue names, as `allowedImagePrefixes` could let it through: with a `/`, `:`
    /// or `@` in it, before which the prefix ends (`create.image-allow-list`).
    fn uncatalogued_image(&self) -> Option<String> {
        None
    }

    /// Removes what carries the case's tag from a real backend, after the case, and nothing else; a fake goes away with its
    /// case.
    ///
    /// # Errors
    /// When something cannot be removed; the report then says so.
    async fn clean(&self) -> Result<(), HarnessError> {
        Ok(())
    }

    /// Somebody else's hand on the backend; often the backend itself, with a ready made one below it.
    fn hand(&self) -> &dyn Hand;
}

/// How a config block differs from the plain one: what [`Backend::block`] is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Without that target, as if its entry had been deleted.
    Without(String),
    /// With that target marked as decommissioned.
    Decommissioned(String),
    /// With an unknown key and a malformed value in the block: two problems, whose paths are reported
    /// (`runtime.all-config-errors-at-once`).
    Broken,
}

/// What stands on a backend, ours or not, as an observer sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Thing {
    /// What tells it from all else, an incarnation included: two lives of one name have two keys.
    pub key: String,
    /// What it is.
    pub kind: ThingKind,
    /// Its name on the backend.
    pub name: String,
    /// Where it stands: one of [`Backend::targets`].
    pub target: String,
    /// The marks that it carries, under the keys of [`provider_api::mark`], however the backend spells them.
    pub marks: BTreeMap<String, String>,
    /// The backend's own state, for reports.
    pub native_state: String,
    /// Whether its deletion is in progress.
    pub deleting: bool,
    /// The keys of what it needs: its disks, the base image.
    pub references: Vec<String>,
    /// What has reached it.
    pub delivered: Delivered,
}

/// What a thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThingKind {
    /// An instance.
    Instance,
    /// What is on the way to being one and carries no mark yet (visible-placeholder).
    Placeholder,
    /// A resource of one instance's.
    Secondary,
    /// A resource that many share: a base image, a firewall rule.
    Shared,
}

/// What has reached an instance; `None` for what has not, which is what a part that is declared ignored must be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Delivered {
    /// The user data, byte for byte. Reports do not show it.
    #[serde(skip)]
    pub cloud_init: Option<Vec<u8>>,
    /// The port that the proxy listens on.
    pub port: Option<u16>,
    /// The networks it may be used from.
    pub allowed_sources: Option<Vec<IpNet>>,
}

/// Something that somebody else makes on the backend, and that runs at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planted {
    /// Its name, which need not be one of ours.
    pub name: String,
    /// Its marks, under the keys of [`provider_api::mark`]; none, half or whole.
    pub marks: BTreeMap<String, String>,
    /// Where; the place where a plain request would be made when empty.
    pub placement: Placement,
}

/// What takes an instance's place under the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Successor {
    /// Something foreign, without a mark.
    Foreign,
    /// Something with the same name and marks, but another incarnation.
    SameMarks,
}

/// The native state that no table lists: [`Hand::set_native_state`] takes it as any other
/// (`get.unknown-state-is-stopped`).
pub const UNKNOWN_STATE: &str = "never-heard-of";

/// The id of a native error that no catalogue lists. A fake that is asked for it answers with a status, a code and a
/// text that nobody has heard of.
pub const UNKNOWN_ERROR: &str = "never-heard-of";

type Done = Result<(), Unable>;

/// What people, other programs and the backend itself do beside the provider. Each method that a harness leaves out
/// blocks the rules that need it; a harness for a fake has all that its backend has. What a backend cannot do at all, such
/// as move instances, is rightly [`Unable`]: the rules about it then check that it is declared absent.
///
/// Instances are named by their backend name. A hand may stand on another, which has what it leaves out
/// ([`Hand::below`]); for a fake on a store there is [`StoreHand`](crate::fake::hand::StoreHand).
#[async_trait]
pub trait Hand: Send + Sync {
    /// The hand that has what this one leaves out; none, unless said otherwise.
    fn below(&self) -> Option<&dyn Hand> {
        None
    }
    /// Makes an instance that the provider did not make, running, past quotas and tasks.
    async fn plant(&self, planted: &Planted) -> Done {
        match self.below() {
            Some(below) => below.plant(planted).await,
            None => Err(Unable("make foreign instances")),
        }
    }
    /// Removes an instance with everything that is its own, at once and past every lock.
    async fn remove(&self, name: &Name) -> Done {
        match self.below() {
            Some(below) => below.remove(name).await,
            None => Err(Unable("remove an instance")),
        }
    }
    /// Removes an instance and leaves its secondary resources.
    async fn remove_instance_only(&self, name: &Name) -> Done {
        match self.below() {
            Some(below) => below.remove_instance_only(name).await,
            None => Err(Unable("remove an instance without its parts")),
        }
    }
    /// Removes one secondary resource, by the key of its [`Thing`].
    async fn remove_part(&self, key: &str) -> Done {
        match self.below() {
            Some(below) => below.remove_part(key).await,
            None => Err(Unable("remove a part of an instance")),
        }
    }
    /// Puts something else in the place of an instance, under the same id and as another life.
    async fn replace(&self, name: &Name, by: Successor) -> Done {
        match self.below() {
            Some(below) => below.replace(name, by).await,
            None => Err(Unable("replace an instance")),
        }
    }
    /// Begins a deletion that stays in progress until [`Hand::finish_deletion`]; the observer then sees
    /// [`Thing::deleting`].
    async fn begin_deletion(&self, name: &Name) -> Done {
        match self.below() {
            Some(below) => below.begin_deletion(name).await,
            None => Err(Unable("begin a deletion and keep it in progress")),
        }
    }
    /// Lets the deletion of an instance come to its end.
    async fn finish_deletion(&self, name: &Name) -> Done {
        match self.below() {
            Some(below) => below.finish_deletion(name).await,
            None => Err(Unable("finish a deletion")),
        }
    }
    /// Puts an instance in a native state: one of the profile's table, or [`UNKNOWN_STATE`]. It stays so until somebody
    /// starts, stops or removes it.
    async fn set_native_state(&self, name: &Name, native: &str) -> Done {
        match self.below() {
            Some(below) => below.set_native_state(name, native).await,
            None => Err(Unable("set native states")),
        }
    }
    /// Gives an instance these addresses, most trusted source first; none at all when empty.
    async fn set_addresses(&self, name: &Name, addresses: &[IpAddr]) -> Done {
        match self.below() {
            Some(below) => below.set_addresses(name, addresses).await,
            None => Err(Unable("set addresses")),
        }
    }
    /// Puts these marks in the place of those that an instance carries.
    async fn set_marks(&self, name: &Name, marks: &BTreeMap<String, String>) -> Done {
        match self.below() {
            Some(below) => below.set_marks(name, marks).await,
            None => Err(Unable("change the marks of an instance")),
        }
    }
    /// Lets an instance come up: what a kubelet, a boot or a scheduler would do in time.
    async fn bring_up(&self, name: &Name) -> Done {
        match self.below() {
            Some(below) => below.bring_up(name).await,
            None => Err(Unable("bring an instance up")),
        }
    }
    /// Moves an instance to another place inside the provider's scope.
    async fn relocate(&self, name: &Name) -> Done {
        match self.below() {
            Some(below) => below.relocate(name).await,
            None => Err(Unable("move an instance")),
        }
    }
    /// Makes the creation time of an instance unreadable, wherever it stands: in the backend's record or in the mark.
    async fn spoil_created_at(&self, name: &Name) -> Done {
        match self.below() {
            Some(below) => below.spoil_created_at(name).await,
            None => Err(Unable("spoil a creation time")),
        }
    }
    /// Makes one instance unreadable in listings, or readable again.
    async fn set_unreadable(&self, name: &Name, unreadable: bool) -> Done {
        match self.below() {
            Some(below) => below.set_unreadable(name, unreadable).await,
            None => Err(Unable("make one instance unreadable")),
        }
    }
    /// Lets an instance vanish once a listing that is under way has seen it.
    async fn vanish_during_list(&self, name: &Name) -> Done {
        match self.below() {
            Some(below) => below.vanish_during_list(name).await,
            None => Err(Unable("let an instance vanish during a listing")),
        }
    }
    /// Makes another instance, not the provider's, need the parts of this one.
    async fn reference_parts(&self, name: &Name) -> Done {
        match self.below() {
            Some(below) => below.reference_parts(name).await,
            None => Err(Unable("reference the parts of an instance")),
        }
    }
    /// Limits how many instances there may be on the whole backend; `None` lifts the limit.
    async fn set_quota(&self, quota: Option<usize>) -> Done {
        match self.below() {
            Some(below) => below.set_quota(quota).await,
            None => Err(Unable("set a quota")),
        }
    }
    /// Lets the next making be accepted and fail later, with the catalogued error of that id; `None` mends it.
    async fn fail_late(&self, native: Option<&str>) -> Done {
        match self.below() {
            Some(below) => below.fail_late(native).await,
            None => Err(Unable("let a create fail late")),
        }
    }
    /// Serves listings in pages of that size, of instances and of parts. A backend without pages must be [`Unable`], for
    /// what is declared absent is checked to be absent (`list.all-pages`).
    async fn set_page_size(&self, size: usize) -> Done {
        match self.below() {
            Some(below) => below.set_page_size(size).await,
            None => Err(Unable("set the page size")),
        }
    }
    /// Serves listings in pages with an empty one before each, until the page size is set again: a page with nothing on
    /// it and the token of the next.
    async fn serve_empty_pages(&self) -> Done {
        match self.below() {
            Some(below) => below.serve_empty_pages().await,
            None => Err(Unable("serve empty pages")),
        }
    }
    /// Makes error answers to calls with a payload quote that payload, and refused logins the credentials; `false` ends it.
    async fn quote_payloads(&self, quote: bool) -> Done {
        match self.below() {
            Some(below) => below.quote_payloads(quote).await,
            None => Err(Unable("quote payloads in error answers")),
        }
    }
    /// Replaces the credentials on the backend and where the provider reads them; the old ones no longer work.
    async fn rotate_credentials(&self) -> Done {
        match self.below() {
            Some(below) => below.rotate_credentials().await,
            None => Err(Unable("rotate credentials")),
        }
    }
    /// Makes the provider's credentials unacceptable; `false` mends it.
    async fn spoil_credentials(&self, spoil: bool) -> Done {
        match self.below() {
            Some(below) => below.spoil_credentials(spoil).await,
            None => Err(Unable("spoil the credentials")),
        }
    }
    /// The rights that can be taken away, as the backend names them; none where there are no rights
    /// (`check.missing-right-named`).
    fn rights(&self) -> Vec<&'static str> {
        self.below().map(|below| below.rights()).unwrap_or_default()
    }
    /// Takes the right of that name away; `None` gives all back.
    async fn revoke(&self, right: Option<&str>) -> Done {
        match self.below() {
            Some(below) => below.revoke(right).await,
            None => Err(Unable("take rights away")),
        }
    }
    /// The codes of the reasons that checks can give here beside Reachable, each of which [`Hand::set_check_fault`] can
    /// provoke and mend again (`check.reasons-table`).
    fn check_faults(&self) -> Vec<&'static str> {
        self.below().map(|below| below.check_faults()).unwrap_or_default()
    }
    /// Provokes the check reason of that code, on every target; `None` mends it.
    async fn set_check_fault(&self, reason: Option<&str>) -> Done {
        match self.below() {
            Some(below) => below.set_check_fault(reason).await,
            None => Err(Unable("provoke check reasons")),
        }
    }
    /// Breaks the stream of hints once; what happens meanwhile is missed.
    async fn break_watch(&self) -> Done {
        match self.below() {
            Some(below) => below.break_watch().await,
            None => Err(Unable("break the watch")),
        }
    }
    /// Sends a request that makes no sense past the provider, and says whether the fake refused it. One that accepts it makes
    /// `errors.table` an error.
    async fn send_nonsense(&self) -> Result<bool, Unable> {
        match self.below() {
            Some(below) => below.send_nonsense().await,
            None => Err(Unable("send nonsense")),
        }
    }
}
