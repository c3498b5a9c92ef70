//! Leftovers: parts of ours that no machine uses. A machine uses its parts for as long as it stands, so the parts alone
//! tell.

use async_trait::async_trait;
use provider_api::{
    Error, Grammar, LeftBehind, Leftover, LeftoverId, LeftoverListing, Leftovers, Operation, ProviderId,
};

use crate::{
    backend::PART_LIST,
    error::{Meaning, tolerate},
    parts,
    provider::Newcloud,
    view::{Part, read},
};

/// The part's id is in it, so that an old id never takes one that was made anew (`list.leftovers-spare-the-living`).
const IDS: Grammar = Grammar::new("newzones/{newzone}/newdisks/{name}/{id}");

#[async_trait]
impl Leftovers for Newcloud {
    async fn list(&self) -> Result<LeftoverListing, Error> {
        let ours = |target: &str, item| {
            let part = read::<Part>(item)?;
            let Some(owner) = parts::owner(&part.name, &self.identity) else { return Ok(None) };
            let id = IDS.format([target, &part.name, &part.id]).map_err(|_| part.name.clone())?;
            let (id, created_at) = (LeftoverId::new(id.as_str()), part.created_at());
            Ok(part.used_by.is_none().then_some(Leftover { id, owner, created_at }))
        };
        let work = self.every(PART_LIST, ours);
        let (items, unreachable) = self.bounded(Operation::Leftovers, "every leftover", work).await?;
        Ok(LeftoverListing { items, unreachable })
    }

    async fn delete(&self, id: &LeftoverId) -> Result<(), Error> {
        let work = async {
            let malformed =
                |why: String| Error::permanent(why).coded("MalformedId").leaving(LeftBehind::Nothing);
            let text = ProviderId::new(id.as_str());
            let [target, part, id] = IDS.parse::<3>(&text).map_err(|error| malformed(error.to_string()))?;
            let owner = parts::owner(part, &self.identity);
            let owner = owner.ok_or_else(|| malformed(format!("{part:?} is no newdisk of ours")))?;
            if self.config.target(target).is_none() {
                let text = format!("newzone {target} is not configured");
                return Err(Error::permanent(text).coded("NotConfigured"));
            }
            let _turn = self.gate.name(owner.as_str()).await;
            // It is refused while a machine uses it.
            tolerate(self.backend.part_delete(target, part, id).await, &[Meaning::Absent])?;
            Ok(())
        };
        self.bounded(Operation::Leftovers, id.as_str(), work).await
    }
}
