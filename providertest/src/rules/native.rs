//! Instances in native states, one state after another.

use provider_api::{CreateRequest, ProviderId};

use crate::{harness::Unable, rule::Checked, world::World};

/// Goes through native states. What a harness cannot bring about is passed over, so that the rest is judged all the same.
#[derive(Debug, Default)]
pub(super) struct NativeStates {
    /// An instance that runs, and that no state could be made of.
    spare: Option<(CreateRequest, ProviderId)>,
    beyond: Option<Unable>,
}

impl NativeStates {
    /// A running instance, put in that state; none where the harness cannot bring it about.
    pub(super) async fn instance(
        &mut self,
        w: &mut World,
        native: &str,
    ) -> Checked<Option<(CreateRequest, ProviderId)>> {
        let (request, id) = match self.spare.take() {
            Some(spare) => spare,
            None => {
                let (request, id, _) = w.running().await?;
                (request, id)
            }
        };
        if let Err(unable) = w.hand().set_native_state(&request.name, native).await {
            self.beyond.get_or_insert(unable);
            self.spare = Some((request, id));
            return Ok(None);
        }
        w.catch_up().await;
        Ok(Some((request, id)))
    }

    /// Ends it: blocked where a state was passed over.
    pub(super) fn all_seen(self) -> Checked {
        self.beyond.map_or(Ok(()), |unable| Err(unable.into()))
    }
}
