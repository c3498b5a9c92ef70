//! The hand of others on the cloud: what the store gives, and what is this cloud's own.

use async_trait::async_trait;
use provider_api::profile::AsyncOp;

use super::backend::MemoryBackend;
use crate::{
    harness::{Hand, Unable},
    memory::{
        cloud::{At, Cloud, NewInstance, RIGHTS},
        profile::{has_parts, waits_for_tasks},
    },
};

#[async_trait]
impl Hand for MemoryBackend {
    fn below(&self) -> Option<&dyn Hand> {
        Some(&self.hand)
    }

    async fn fail_late(&self, native: Option<&str>) -> Result<(), Unable> {
        let shows = self.profile.late_failures || waits_for_tasks(&self.profile);
        if !shows || !self.profile.async_ops.contains(&AsyncOp::TaskHandle) {
            return Err(Unable("let a create fail late: there are no tasks to fail"));
        }
        self.hand.fail_late(native).await
    }

    fn rights(&self) -> Vec<&'static str> {
        let parts = has_parts(&self.profile);
        RIGHTS.iter().copied().filter(|right| parts || !right.starts_with("parts.")).collect()
    }

    async fn send_nonsense(&self) -> Result<bool, Unable> {
        let (zone, token) = {
            let store = self.cloud.store();
            (store.places[0].clone(), provider_api::Secret::new(store.token.clone()))
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
