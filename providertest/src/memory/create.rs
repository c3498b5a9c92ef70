//! `create`: looks for what is there, makes what is missing, and brings it up. Each step can be the last before a
//! crash; a repetition takes up where it ended (`create.crash-resumable`, `create.cancel-safe`).

use provider_api::{
    CreateRequest, Error, FailureClass, LeftBehind, Ownership, ProviderId, StateKind,
    profile::{CreateReturn, Delivery, SecondaryResources},
};

use super::{
    backend::Backend,
    cloud::{Accepted, Described, NewPart},
    error::{Meaning, Refused, tolerate},
    id, mark,
    order::Order,
    profile::{self, UNLOCKED},
    provider::MemoryProvider,
    state,
    wait::{Patience, beyond_recovery},
};

/// What of an instance is there.
enum Stands {
    /// Nothing.
    Nowhere,
    /// A bare copy of the image.
    Bare(Place),
    /// The instance, at rest.
    AtRest(Place),
    /// The instance, running or on its way.
    Started(Place),
}

#[derive(Clone)]
struct Place {
    zone: String,
    key: String,
}

impl MemoryProvider {
    /// Makes the instance, or adopts the one that is there.
    pub(super) async fn create_instance(&self, request: &CreateRequest) -> Result<ProviderId, Error> {
        let order = self.order(request)?;
        let _turn = self.gate.name(request.name.as_str()).await; // create.concurrent-same-name
        let _writing = self.shared.writing(&request.name);
        let _room = self.gate.admit(self.max_instances, &request.name, self.list_instances()).await?;
        let backend = self.backend.hiding(request.scrubber()); // create.hides-secrets
        if let Some(failure) = self.late_failure(&backend, &order.zone, request).await? {
            // The instance went by itself; its parts are still ours to remove.
            self.remove_parts(&[order.zone.as_str()], &request.name).await?;
            return Err(failure.leaving(LeftBehind::Nothing));
        }
        let mut making = Making { provider: self, backend, order, began: false };
        match making.run().await {
            Err(error) if making.began && error.class() != FailureClass::Transient => {
                Err(making.undo(error).await)
            }
            result => result,
        }
    }
}

/// One create under way.
struct Making<'c> {
    provider: &'c MemoryProvider,
    backend: Backend,
    order: Order<'c>,
    /// Whether this call has made anything.
    began: bool,
}

impl Making<'_> {
    async fn run(&mut self) -> Result<ProviderId, Error> {
        let mut stands = self.find().await?;
        if let Stands::Nowhere = stands {
            stands = self.make().await?;
        }
        if let Stands::Bare(place) = stands {
            stands = self.configure(place).await?;
        }
        let place = match stands {
            Stands::AtRest(place) => self.start(place).await?,
            Stands::Started(place) | Stands::Bare(place) => place,
            Stands::Nowhere => return Err(Error::transient("it was made, and is not there")),
        };
        if self.provider.profile.create_return == CreateReturn::Blocking {
            self.provider.until_running(&self.backend, &place.zone, &place.key).await?;
        }
        Ok(self.provider.id(&place.zone, &place.key, &self.order.request.name))
    }

    /// Looks for what is there under the name: where the cloud says, or where it would be made.
    async fn find(&self) -> Result<Stands, Error> {
        let name = self.order.request.name.as_str();
        let places = if profile::locates(&self.provider.profile) {
            let located = self.backend.locate(name).await?;
            located.into_iter().map(|located| Place { zone: located.zone, key: located.key }).collect()
        } else {
            vec![Place { zone: self.order.zone.clone(), key: self.key(0) }]
        };
        for place in places {
            let looked = self.backend.describe(&place.zone, &place.key).await;
            if let Some(described) = tolerate(looked, &[Meaning::Absent])? {
                return self.adopt(place, &described);
            }
        }
        Ok(Stands::Nowhere)
    }

    /// Takes over what is its own, and nothing else (`create.refuses-foreign`, `create.refuses-unmarked`,
    /// `create.refuses-other-installation`, `create.adopts-own-partial`).
    fn adopt(&self, place: Place, described: &Described) -> Result<Stands, Error> {
        let provider = self.provider;
        if described.deleting {
            // create.not-while-deleting
            let text = "an instance of that name is being deleted; its name is not free yet";
            return Err(Error::transient(text).coded("Deleting").leaving(LeftBehind::Nothing));
        }
        if mark::is_our_placeholder(&provider.profile, &provider.identity, described) {
            return Ok(Stands::Bare(place));
        }
        let owner = mark::owner(described, &provider.identity);
        if !matches!(owner, Ownership::Ours(_)) {
            let why = owner.why_not();
            let text =
                format!("in {} there is an instance of that name that {why}; it is left alone", place.zone);
            return Err(Error::permanent(text).coded("ForeignInstance").leaving(LeftBehind::Nothing));
        }
        match state::kind(&described.state) {
            StateKind::Provisioning | StateKind::Running => Ok(Stands::Started(place)),
            StateKind::Stopped => Ok(Stands::AtRest(place)),
            StateKind::Terminated => Err(beyond_recovery(described)),
        }
    }

    /// Makes the instance, or its placeholder. The call that makes it visible writes the marks; the next number is
    /// tried where somebody else's stands under the first.
    async fn make(&mut self) -> Result<Stands, Error> {
        self.put_parts().await?;
        for nth in 0..id::KEYS {
            let place = Place { zone: self.order.zone.clone(), key: self.key(nth) };
            match self.ask(&place).await {
                Ok(accepted) => {
                    self.began = true;
                    if let Some(task) =
                        accepted.task.filter(|_| profile::waits_for_tasks(&self.provider.profile))
                    {
                        self.provider.until_done(&self.backend, &place.zone, task).await?;
                    }
                    let bare = self.provider.profile.visible_placeholder;
                    return Ok(if bare { Stands::Bare(place) } else { Stands::Started(place) });
                }
                Err(refused) if refused.meaning == Meaning::Exists => match self.find().await? {
                    Stands::Nowhere if self.key(nth + 1) != place.key => {}
                    Stands::Nowhere => return Err(refused.error),
                    found => return Ok(found),
                },
                Err(refused) => return Err(refused.error),
            }
        }
        Err(Error::transient("every number that it may have is taken"))
    }

    async fn ask(&self, place: &Place) -> Result<Accepted, Refused> {
        let Order { request, image, .. } = &self.order;
        if self.provider.profile.visible_placeholder {
            return self.backend.clone_image(&place.zone, &place.key, request.name.as_str(), image).await;
        }
        let new = self.provider.new_instance(&self.order, place.key.clone());
        self.backend.insert(&place.zone, new).await
    }

    /// Makes the parts that the cloud does not make by itself. They come first, named after the instance, so that
    /// whatever happens next they can be told to be its own.
    async fn put_parts(&mut self) -> Result<(), Error> {
        let provider = self.provider;
        if provider.profile.secondary_resources != SecondaryResources::Explicit {
            return Ok(());
        }
        let Order { request, zone, image, .. } = &self.order;
        for kind in provider.part_kinds() {
            let seed = *kind == mark::SEED;
            let delivered = provider.profile.cloud_init == Delivery::Delivered;
            let part = NewPart {
                name: mark::part_name(&request.name, &provider.identity.installation, kind),
                image: (!seed).then(|| image.clone()),
                payload: (seed && delivered).then(|| request.cloud_init.clone()),
            };
            // One that is in use belongs to an instance that came in between, and is found in the next step.
            tolerate(self.backend.put_part(zone, part).await, &[Meaning::InUse])?;
            self.began = true;
        }
        Ok(())
    }

    /// Makes an instance of the placeholder.
    async fn configure(&mut self, place: Place) -> Result<Stands, Error> {
        if !self.began {
            // A copy from an earlier call; its parts may be gone by now.
            self.began = true;
            self.put_parts().await?;
        }
        let patience = Patience::new(&self.provider.seam, UNLOCKED);
        loop {
            let new = self.provider.new_instance(&self.order, place.key.clone());
            match self.backend.configure(&place.zone, new).await {
                Ok(()) => return Ok(Stands::AtRest(place)),
                Err(refused) if refused.meaning == Meaning::Locked => patience.pause("a locked copy").await?,
                Err(refused) if refused.meaning == Meaning::Exists => match self.find().await? {
                    Stands::Bare(_) | Stands::Nowhere => return Err(refused.error),
                    found => return Ok(found),
                },
                Err(refused) => return Err(refused.error),
            }
        }
    }

    async fn start(&self, place: Place) -> Result<Place, Error> {
        let patience = Patience::new(&self.provider.seam, UNLOCKED);
        loop {
            match self.backend.start(&place.zone, &place.key).await {
                Ok(()) => return Ok(place),
                Err(refused) if refused.meaning == Meaning::Locked => {
                    patience.pause("a locked instance").await?
                }
                Err(refused) => return Err(refused.error),
            }
        }
    }

    /// Removes what this create began, since it cannot go on (`create.nothing-left-on-permanent-failure`). Where that
    /// fails too, the error is Transient: a repetition gets to the same point, and tries to clean up again.
    async fn undo(&self, error: Error) -> Error {
        match self.remove_begun().await {
            Ok(()) => error.leaving(LeftBehind::Nothing),
            Err(undoing) => {
                let (first, then) = (error.message(), undoing.message());
                Error::transient(format!("{first}; and what was begun is still there: {then}"))
            }
        }
    }

    async fn remove_begun(&self) -> Result<(), Error> {
        let provider = self.provider;
        if let Stands::Bare(place) | Stands::AtRest(place) | Stands::Started(place) = self.find().await? {
            let name = &self.order.request.name;
            if let Some(removal) = provider.remove_own(&place.zone, &place.key, name).await? {
                provider.until_gone(&place.zone, &place.key, removal).await?;
            }
        }
        provider.remove_parts(&[self.order.zone.as_str()], &self.order.request.name).await
    }

    fn key(&self, nth: u64) -> String {
        let MemoryProvider { profile, identity, .. } = self.provider;
        id::key(profile, &self.order.request.name, &identity.installation, nth)
    }
}
