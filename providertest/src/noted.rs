//! Somebody else's hand, with what it does told among a case's steps: a report without it shows only the provider's side.

use std::{collections::BTreeMap, fmt::Display, net::IpAddr, ops::Deref};

use async_trait::async_trait;
use provider_api::Name;

use crate::{
    harness::{Hand, Planted, Successor, Unable},
    world::World,
};

/// The hand of a world's backend. What it has done stands in the world's notes; what it lacks does not.
#[derive(Clone, Copy)]
pub struct Noted<'w>(&'w World);

impl<'w> Noted<'w> {
    pub(crate) fn new(world: &'w World) -> Self {
        Self(world)
    }

    fn bare(&self) -> &'w dyn Hand {
        self.0.backend().hand()
    }

    /// Notes what was done, unless it could not be.
    fn tell(&self, done: Result<(), Unable>, what: impl Display) -> Result<(), Unable> {
        if done.is_ok() {
            self.0.note(what.to_string());
        }
        done
    }
}

/// Callers use it as the hand that it stands for.
impl<'w> Deref for Noted<'w> {
    type Target = dyn Hand + 'w;

    fn deref(&self) -> &Self::Target {
        self
    }
}

#[async_trait]
impl Hand for Noted<'_> {
    fn below(&self) -> Option<&dyn Hand> {
        Some(self.bare())
    }

    async fn plant(&self, planted: &Planted) -> Result<(), Unable> {
        let done = self.bare().plant(planted).await;
        self.tell(
            done,
            format_args!("somebody else makes {}, with the marks {:?}", planted.name, planted.marks),
        )
    }

    async fn remove(&self, name: &Name) -> Result<(), Unable> {
        let done = self.bare().remove(name).await;
        self.tell(done, format_args!("somebody else removes {name}"))
    }

    async fn remove_instance_only(&self, name: &Name) -> Result<(), Unable> {
        let done = self.bare().remove_instance_only(name).await;
        self.tell(done, format_args!("somebody else removes {name}, and leaves its parts"))
    }

    async fn remove_part(&self, key: &str) -> Result<(), Unable> {
        let done = self.bare().remove_part(key).await;
        self.tell(done, format_args!("somebody else removes the part {key}"))
    }

    async fn replace(&self, name: &Name, by: Successor) -> Result<(), Unable> {
        let what = match by {
            Successor::Foreign => "something foreign, without a mark,",
            Successor::SameMarks => "another instance with the same marks",
        };
        let done = self.bare().replace(name, by).await;
        self.tell(done, format_args!("somebody else puts {what} in the place of {name}"))
    }

    async fn begin_deletion(&self, name: &Name) -> Result<(), Unable> {
        let done = self.bare().begin_deletion(name).await;
        self.tell(done, format_args!("somebody else begins the deletion of {name}, which stays in progress"))
    }

    async fn finish_deletion(&self, name: &Name) -> Result<(), Unable> {
        let done = self.bare().finish_deletion(name).await;
        self.tell(done, format_args!("the deletion of {name} comes to its end"))
    }

    async fn set_native_state(&self, name: &Name, native: &str) -> Result<(), Unable> {
        let done = self.bare().set_native_state(name, native).await;
        self.tell(done, format_args!("{name} is put in native state {native:?}"))
    }

    async fn set_addresses(&self, name: &Name, addresses: &[IpAddr]) -> Result<(), Unable> {
        let done = self.bare().set_addresses(name, addresses).await;
        self.tell(done, format_args!("{name} has the addresses {addresses:?}"))
    }

    async fn set_marks(&self, name: &Name, marks: &BTreeMap<String, String>) -> Result<(), Unable> {
        let done = self.bare().set_marks(name, marks).await;
        self.tell(done, format_args!("somebody else gives {name} the marks {marks:?}"))
    }

    async fn relocate(&self, name: &Name) -> Result<(), Unable> {
        let done = self.bare().relocate(name).await;
        self.tell(done, format_args!("{name} is moved"))
    }

    async fn spoil_created_at(&self, name: &Name) -> Result<(), Unable> {
        let done = self.bare().spoil_created_at(name).await;
        self.tell(done, format_args!("the creation time of {name} is made unreadable"))
    }

    async fn set_unreadable(&self, name: &Name, unreadable: bool) -> Result<(), Unable> {
        let done = self.bare().set_unreadable(name, unreadable).await;
        let how = if unreadable { "unreadable" } else { "readable again" };
        self.tell(done, format_args!("{name} is made {how}"))
    }

    async fn vanish_during_list(&self, name: &Name) -> Result<(), Unable> {
        let done = self.bare().vanish_during_list(name).await;
        self.tell(done, format_args!("{name} is to vanish once the next listing has seen it"))
    }

    async fn reference_parts(&self, name: &Name) -> Result<(), Unable> {
        let done = self.bare().reference_parts(name).await;
        self.tell(done, format_args!("somebody else's instance comes to need the parts of {name}"))
    }

    async fn set_quota(&self, quota: Option<usize>) -> Result<(), Unable> {
        let done = self.bare().set_quota(quota).await;
        match quota {
            Some(quota) => self.tell(done, format_args!("the quota is {quota} from here on")),
            None => self.tell(done, "the quota is lifted"),
        }
    }

    async fn fail_late(&self, native: Option<&str>) -> Result<(), Unable> {
        let done = self.bare().fail_late(native).await;
        match native {
            Some(native) => self.tell(done, format_args!("the next create is to fail late, with {native}")),
            None => self.tell(done, "no create is to fail late any more"),
        }
    }

    async fn set_page_size(&self, size: usize) -> Result<(), Unable> {
        let done = self.bare().set_page_size(size).await;
        self.tell(done, format_args!("listings come in pages of {size} from here on"))
    }

    async fn serve_empty_pages(&self) -> Result<(), Unable> {
        let done = self.bare().serve_empty_pages().await;
        self.tell(done, "listings come in pages of which every other one is empty")
    }

    async fn quote_payloads(&self, quote: bool) -> Result<(), Unable> {
        let done = self.bare().quote_payloads(quote).await;
        let how = if quote { "quote what was sent" } else { "quote nothing any more" };
        self.tell(done, format_args!("the backend's errors {how}"))
    }

    async fn revoke(&self, right: Option<&str>) -> Result<(), Unable> {
        let done = self.bare().revoke(right).await;
        match right {
            Some(right) => self.tell(done, format_args!("the right {right} is taken from the provider")),
            None => self.tell(done, "the provider has all rights again"),
        }
    }

    async fn set_check_fault(&self, reason: Option<&str>) -> Result<(), Unable> {
        let done = self.bare().set_check_fault(reason).await;
        match reason {
            Some(reason) => self.tell(done, format_args!("somebody provokes what is checked as {reason}")),
            None => self.tell(done, "what was provoked is mended"),
        }
    }

    async fn break_watch(&self) -> Result<(), Unable> {
        let done = self.bare().break_watch().await;
        self.tell(done, "the stream of hints is broken")
    }

    async fn spoil_credentials(&self, spoil: bool) -> Result<(), Unable> {
        let done = self.bare().spoil_credentials(spoil).await;
        let how = if spoil { "refused" } else { "accepted again" };
        self.tell(done, format_args!("the provider's credentials are {how}"))
    }
}
