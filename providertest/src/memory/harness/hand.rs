//! The hand of others: what people, other programs and the cloud itself do beside the provider.

use std::{collections::BTreeMap, net::IpAddr, time::Duration};

use async_trait::async_trait;
use provider_api::{
    Name, mark,
    profile::{AsyncOp, Mobility, PrimaryKey, SecondaryResources},
    reasons,
};

use super::backend::{MemoryBackend, token};
use crate::{
    harness::{Hand, Planted, Successor, Unable},
    memory::{
        cloud::{At, Cloud, HELD, NewInstance, RIGHTS, Record, Source, Store},
        profile::{has_parts, waits_for_tasks},
    },
    wire::Condition,
};

type Done = Result<(), Unable>;

impl MemoryBackend {
    fn change(&self, name: &Name, change: impl FnOnce(&mut Record, Duration)) -> Done {
        let mut store = self.cloud.store();
        let now = store.now;
        let record = store.named(name)?;
        change(record, now);
        let record = record.clone();
        store.tell(&record);
        Ok(())
    }

    fn write_token(&self, token: &[u8]) -> Done {
        std::fs::write(&self.token_file, token).map_err(|_| Unable("write the token file"))
    }

    /// Makes an instance that nobody asked for, running.
    fn put(&self, store: &mut Store, zone: &str, key: &str, planted: &Planted, parts: Vec<String>) -> Done {
        let new = NewInstance {
            key: key.to_owned(),
            name: planted.name.clone(),
            marks: planted.marks.clone(),
            image: "base-image".to_owned(),
            machine_type: "small".to_owned(),
            cloud_init: None,
            port: None,
            access: None,
            parts: Vec::new(),
        };
        let quota = store.quota.take();
        let made = store.make(zone, new, false);
        store.quota = quota;
        made.map_err(|_| Unable("make an instance where one stands"))?;
        store.tasks.pop_if(|task| !task.over && task.name == planted.name);
        let now = store.now;
        if let Some(record) = store.find_mut(zone, key) {
            (record.up_at, record.made_at, record.locked_until, record.parts) = (Some(now), now, None, parts);
        }
        Ok(())
    }
}

#[async_trait]
impl Hand for MemoryBackend {
    async fn plant(&self, planted: &Planted) -> Done {
        let mut store = self.cloud.store();
        let zone = planted.placement.zone.clone().filter(|zone| store.zones.contains(zone));
        let zone = zone.unwrap_or_else(|| store.zones[0].clone());
        let key = match self.profile.primary_key {
            PrimaryKey::NameIsKey => planted.name.clone(),
            // Beyond the numbers that the provider would choose.
            PrimaryKey::AllocatedId => (1_000_000_000 + store.count()).to_string(),
        };
        self.put(&mut store, &zone, &key, planted, Vec::new())
    }

    async fn remove(&self, name: &Name) -> Done {
        let mut store = self.cloud.store();
        let record = store.named(name)?.clone();
        store.erase(record.incarnation);
        let used = |store: &Store, part: &str| store.is_used(&record.zone, part);
        let kept: Vec<_> = record.parts.iter().filter(|part| used(&store, part)).cloned().collect();
        store.parts.retain(|part| !record.parts.contains(&part.name) || kept.contains(&part.name));
        Ok(())
    }

    async fn remove_instance_only(&self, name: &Name) -> Done {
        let mut store = self.cloud.store();
        let record = store.named(name)?.clone();
        store.instances.retain(|other| other.incarnation != record.incarnation);
        store.tell(&record);
        Ok(())
    }

    async fn remove_part(&self, key: &str) -> Done {
        let mut store = self.cloud.store();
        let before = store.parts.len();
        store.parts.retain(|part| super::backend::key_of(part.incarnation) != key);
        if store.parts.len() < before { Ok(()) } else { Err(Unable("remove a part that is not there")) }
    }

    async fn replace(&self, name: &Name, by: Successor) -> Done {
        let mut store = self.cloud.store();
        let old = store.named(name)?.clone();
        store.instances.retain(|other| other.incarnation != old.incarnation);
        let marks = match by {
            Successor::Foreign => Default::default(),
            Successor::SameMarks => old.marks.clone(),
        };
        let planted = Planted { name: old.name.clone(), marks, placement: Default::default() };
        self.put(&mut store, &old.zone, &old.key, &planted, Vec::new())
    }

    async fn begin_deletion(&self, name: &Name) -> Done {
        self.change(name, |record, _| record.gone_at = Some(HELD))
    }

    async fn finish_deletion(&self, name: &Name) -> Done {
        self.change(name, |record, now| record.gone_at = Some(now))
    }

    async fn set_native_state(&self, name: &Name, native: &str) -> Done {
        self.change(name, |record, now| {
            record.pinned = Some(native.to_owned());
            record.up_at = Some(record.up_at.map_or(now, |at| at.min(now)));
            record.locked_until = None;
        })
    }

    async fn set_addresses(&self, name: &Name, addresses: &[IpAddr]) -> Done {
        let sources = [Source::Lease, Source::Agent].into_iter().chain(std::iter::repeat(Source::Neighbour));
        let addresses: Vec<_> = sources.zip(addresses.iter().copied()).collect();
        self.change(name, |record, _| record.addresses = addresses)
    }

    async fn set_marks(&self, name: &Name, marks: &BTreeMap<String, String>) -> Done {
        self.change(name, |record, _| record.marks = marks.clone())
    }

    async fn bring_up(&self, name: &Name) -> Done {
        self.change(name, |record, now| {
            (record.pinned, record.locked_until) = (None, None);
            (record.made_at, record.up_at) = (record.made_at.min(now), Some(now));
        })
    }

    async fn relocate(&self, name: &Name) -> Done {
        if self.profile.mobility != Mobility::Moves {
            return Err(Unable("move an instance: they stay where they are"));
        }
        let mut store = self.cloud.store();
        let record = store.named(name)?.clone();
        let from = store.zones.iter().position(|zone| *zone == record.zone).unwrap_or(0);
        let to = store.zones[(from + 1) % store.zones.len()].clone();
        for part in store.parts.iter_mut().filter(|p| p.zone == record.zone && record.parts.contains(&p.name))
        {
            part.zone = to.clone();
        }
        store.named(name)?.zone = to;
        Ok(())
    }

    async fn spoil_created_at(&self, name: &Name) -> Done {
        self.change(name, |record, _| {
            record.created = "the day before yesterday".to_owned();
            if let Some(at) = record.marks.get_mut(mark::CREATED_AT) {
                *at = "the day before yesterday".to_owned();
            }
        })
    }

    async fn set_unreadable(&self, name: &Name, unreadable: bool) -> Done {
        self.change(name, |record, _| record.unreadable = unreadable)
    }

    async fn vanish_during_list(&self, name: &Name) -> Done {
        self.cloud.store().vanishing = Some(name.to_string());
        Ok(())
    }

    async fn reference_parts(&self, name: &Name) -> Done {
        if self.profile.secondary_resources == SecondaryResources::None {
            return Err(Unable("reference parts: instances have none"));
        }
        let mut store = self.cloud.store();
        let record = store.named(name)?.clone();
        let other = format!("somebody-elses-{}", store.count());
        let planted = Planted { name: other, marks: Default::default(), placement: Default::default() };
        let key = match self.profile.primary_key {
            PrimaryKey::NameIsKey => planted.name.clone(),
            PrimaryKey::AllocatedId => (1_000_000_000 + store.count()).to_string(),
        };
        self.put(&mut store, &record.zone, &key, &planted, record.parts)
    }

    async fn set_quota(&self, quota: Option<usize>) -> Done {
        self.cloud.store().quota = quota;
        Ok(())
    }

    async fn fail_late(&self, native: Option<&str>) -> Done {
        let shows = self.profile.late_failures || waits_for_tasks(&self.profile);
        if !shows || !self.profile.async_ops.contains(&AsyncOp::TaskHandle) {
            return Err(Unable("let a create fail late: there are no tasks to fail"));
        }
        self.cloud.store().next_fails = native.map(str::to_owned);
        Ok(())
    }

    async fn set_page_size(&self, size: usize) -> Done {
        self.cloud.store().page_size = size.max(1);
        Ok(())
    }

    async fn quote_payloads(&self, quote: bool) -> Done {
        self.cloud.store().quote_payloads = quote;
        Ok(())
    }

    async fn rotate_credentials(&self) -> Done {
        let mut store = self.cloud.store();
        let number = store.count() as usize + 1;
        store.token = token(&self.case, number);
        self.write_token(&store.token)
    }

    async fn spoil_credentials(&self, spoil: bool) -> Done {
        let store = self.cloud.store();
        self.write_token(if spoil { b"a token that nobody knows" } else { &store.token })
    }

    fn rights(&self) -> Vec<&'static str> {
        let parts = has_parts(&self.profile);
        RIGHTS.iter().copied().filter(|right| parts || !right.starts_with("parts.")).collect()
    }

    async fn revoke(&self, right: Option<&str>) -> Done {
        let known = right.map(|right| RIGHTS.iter().copied().find(|known| *known == right));
        if known == Some(None) {
            return Err(Unable("take away a right that nobody has"));
        }
        self.cloud.store().revoked = known.flatten();
        Ok(())
    }

    fn check_faults(&self) -> Vec<&'static str> {
        vec![
            reasons::TIMEOUT,
            reasons::UNREACHABLE,
            reasons::UNAUTHORIZED,
            reasons::FORBIDDEN,
            reasons::API_ERROR,
            reasons::CREDENTIALS_UNAVAILABLE,
        ]
    }

    async fn set_check_fault(&self, reason: Option<&str>) -> Done {
        let condition = match reason {
            Some(reasons::TIMEOUT) => Some(Condition::Hangs),
            Some(reasons::UNREACHABLE) => Some(Condition::Cut),
            _ => None,
        };
        for (zone, _) in self.zones() {
            self.case.wire.set_condition(zone, condition);
        }
        self.spoil_credentials(reason == Some(reasons::UNAUTHORIZED)).await?;
        self.revoke((reason == Some(reasons::FORBIDDEN)).then_some(RIGHTS[0])).await?;
        self.cloud.store().about_fails = reason == Some(reasons::API_ERROR);
        if reason == Some(reasons::CREDENTIALS_UNAVAILABLE) {
            std::fs::remove_file(&self.token_file).map_err(|_| Unable("take the token file away"))?;
        }
        Ok(())
    }

    async fn break_watch(&self) -> Done {
        self.cloud.store().watchers.clear();
        Ok(())
    }

    async fn send_nonsense(&self) -> Result<bool, Unable> {
        let (zone, token) = {
            let store = self.cloud.store();
            (store.zones[0].clone(), provider_api::Secret::new(store.token.clone()))
        };
        let nonsense = NewInstance {
            key: String::new(),
            name: String::new(),
            marks: Default::default(),
            image: "no-such-image".to_owned(),
            machine_type: String::new(),
            cloud_init: None,
            port: None,
            access: None,
            parts: Vec::new(),
        };
        Ok(self.cloud.insert(At { zone, token }, nonsense).await.is_err())
    }
}

impl Store {
    /// The instance or placeholder of that name.
    fn named(&mut self, name: &Name) -> Result<&mut Record, Unable> {
        let found = self.instances.iter_mut().find(|record| record.name == name.as_str());
        found.ok_or(Unable("find an instance of that name"))
    }
}
