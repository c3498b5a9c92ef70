//! Asking a provider. A create is made from what stands in the cluster now, not from a record.

use std::sync::Arc;

use futures::future::BoxFuture;
use provider_api::{Built, Error, LeftoverListing, Listing, ProviderId, Unreachable};

use super::{Shell, inputs};
use crate::{
    resource::Proxy,
    step::{Answer, Call, Operation},
};

/// The answer to a call; `None` when what it was decided on is no longer so.
pub(super) fn ask(shell: Arc<Shell>, proxy: Arc<Proxy>, call: Call) -> BoxFuture<'static, Option<Answer>> {
    Box::pin(async move {
        let entry = Arc::clone(shell.providers.current().get(&call.provider)?);
        let built = &entry.built;
        let answer = match &call.what {
            Operation::Create { spec_hash, acknowledged } => {
                let request = inputs::request(&shell, &proxy, spec_hash, acknowledged.as_deref()).await?;
                Answer::Created(built.provider.create(&request).await)
            }
            Operation::Get(id) => Answer::Got(built.provider.get(id).await),
            Operation::Delete(id) => Answer::Deleted(built.provider.delete(id).await),
            Operation::Search => Answer::Found(search(built, &proxy).await),
        };
        Some(answer)
    })
}

/// What carries the Proxy's UID in the whole scope. Where nothing does, leftovers of its name go.
async fn search(built: &Built, proxy: &Proxy) -> Result<Vec<ProviderId>, Error> {
    let Listing { items, unreachable, .. } = built.provider.list_by_tag().await?;
    let ours: Vec<_> = items.into_iter().filter(|item| item.uid == proxy.uid).map(|item| item.id).collect();
    if !ours.is_empty() {
        return Ok(ours);
    }
    whole(&unreachable)?;
    if let Some(leftovers) = &built.leftovers {
        let LeftoverListing { items, unreachable, .. } = leftovers.list().await?;
        whole(&unreachable)?;
        for leftover in items.iter().filter(|leftover| leftover.owner == proxy.instance_name()) {
            leftovers.delete(&leftover.id).await?;
        }
    }
    Ok(Vec::new())
}

/// What cannot be read may hold what is looked for.
fn whole(unreachable: &[Unreachable]) -> Result<(), Error> {
    if unreachable.is_empty() {
        return Ok(());
    }
    let parts: Vec<_> = unreachable.iter().map(|part| format!("{} ({})", part.target, part.reason)).collect();
    Err(Error::transient(format!("an instance may be where nobody can look: {}", parts.join(", "))))
}
