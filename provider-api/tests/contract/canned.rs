//! A provider with every ability whose answer a test sets, and the registry that builds it from a `toy` block.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use futures::{StreamExt as _, stream::BoxStream};
use provider_api::{
    Built, Checker, CreateRequest, Deadline, Deleted, Error, GetError, Hint, Instance, LeftoverId,
    LeftoverListing, Leftovers, Listing, Name, Owner, Profile, Provider, ProviderId, ProviderType, Reason,
    Registry, Secret, State, TargetStatus, Uid, Watch, reasons,
};

/// What every operation answers.
#[derive(Clone, Default)]
pub(crate) enum Answer {
    #[default]
    Good,
    Bad(Error),
    Gone,
    Never,
    Panic,
}

pub(crate) struct Canned {
    profile: Profile,
    answer: Answer,
}

impl Canned {
    /// All four abilities.
    pub(crate) fn built(answer: Answer) -> Built {
        let this = Arc::new(Self { profile: Profile::plain("toy"), answer });
        Built {
            provider: Arc::clone(&this) as _,
            checker: Some(Arc::clone(&this) as _),
            leftovers: Some(Arc::clone(&this) as _),
            watch: Some(this),
        }
    }

    async fn answer<T>(&self, good: T) -> Result<T, Error> {
        match &self.answer {
            Answer::Good | Answer::Gone => Ok(good),
            Answer::Bad(error) => Err(error.clone()),
            Answer::Never => std::future::pending().await,
            Answer::Panic => panic!("swordfish"),
        }
    }
}

#[async_trait]
impl Provider for Canned {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    async fn create(&self, request: &CreateRequest) -> Result<ProviderId, Error> {
        self.answer(ProviderId::new(request.name.as_str())).await
    }

    async fn get(&self, id: &ProviderId) -> Result<Instance, GetError> {
        if let Answer::Gone = self.answer {
            return Err(GetError::NotFound);
        }
        let uid = uid();
        let state = State::Running { address: [192, 0, 2, 7].into() };
        let name = Name::from_uid(&uid);
        let id = id.clone();
        Ok(self.answer(Instance { id, name, uid, created_at: None, state, decommissioned: false }).await?)
    }

    async fn delete(&self, _: &ProviderId) -> Result<Deleted, Error> {
        self.answer(Deleted::Gone).await
    }

    async fn list_by_tag(&self) -> Result<Listing, Error> {
        self.answer(Listing::default()).await
    }
}

#[async_trait]
impl Checker for Canned {
    async fn check(&self, _: Deadline) -> Vec<TargetStatus> {
        let (ready, code) = match self.answer(()).await {
            Ok(()) => (true, reasons::REACHABLE),
            Err(_) => (false, reasons::UNREACHABLE),
        };
        vec![TargetStatus::new("host", "192.0.2.1", ready, Reason::new(code, "as it was set"))]
    }
}

#[async_trait]
impl Leftovers for Canned {
    async fn list(&self) -> Result<LeftoverListing, Error> {
        self.answer(LeftoverListing::default()).await
    }

    async fn delete(&self, _: &LeftoverId) -> Result<(), Error> {
        self.answer(()).await
    }
}

impl Watch for Canned {
    fn hints(&self) -> BoxStream<'static, Hint> {
        futures::stream::repeat(Hint::Resync).boxed()
    }
}

pub(crate) fn uid() -> Uid {
    Uid::parse("uid-1").unwrap()
}

pub(crate) fn request() -> CreateRequest {
    let owner = Owner {
        namespace: "ns".into(),
        name: "p".into(),
        api_version: "example.org/v1".into(),
        kind: "Proxy".into(),
    };
    CreateRequest::new(uid(), owner, Secret::new("#cloud-config\n"))
}

/// A registry with the type `toy`, whose block needs `size`, and the count of what it built.
pub(crate) fn registry() -> (Registry, Arc<AtomicUsize>) {
    let count = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&count);
    let mut registry = Registry::default();
    registry.register(ProviderType {
        name: "toy",
        profile: || Profile::plain("toy"),
        build: Arc::new(move |_, fields, _| {
            let size = fields.required::<u32>("size");
            fields.optional::<String>("note");
            for mut part in fields.each("parts") {
                part.required::<String>("kind");
            }
            size?;
            counted.fetch_add(1, Ordering::Relaxed);
            Some(Canned::built(Answer::Good))
        }),
    });
    (registry, count)
}
