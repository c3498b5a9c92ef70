//! The watch of an operator: Proxies, and the Secrets that they name, in one stream.

use std::{collections::VecDeque, sync::Arc};

use futures::{
    FutureExt, StreamExt, select_biased,
    stream::{self, BoxStream},
};
use provider_api::Uid;
use serde_json::value::RawValue;

use super::{
    call::Caller,
    follow::{Pace, Read, Seen, follow},
    object,
    proxies::everywhere,
    secrets::Named,
};
use crate::{cluster::Change, resource::Proxy};

struct Feed {
    proxies: BoxStream<'static, Seen<Arc<Proxy>>>,
    named: Named,
    next: VecDeque<Change>,
}

/// Every Proxy and every change, for ever.
pub(super) fn feed(caller: Arc<Caller>, pace: Pace) -> BoxStream<'static, Change> {
    let read: Read<Arc<Proxy>> = kept;
    let proxies = follow(Arc::clone(&caller), everywhere(), pace, read, None);
    let feed = Feed { proxies, named: Named::new(caller, pace), next: VecDeque::new() };
    Box::pin(stream::unfold(feed, |mut feed| async move {
        let change = feed.next().await;
        Some((change, feed))
    }))
}

/// A Proxy as it is kept: the texts in it may be long, and there may be many.
fn kept(text: &RawValue) -> Option<Arc<Proxy>> {
    object::proxy(text).map(|proxy| Arc::new(proxy.to_keep()))
}

impl Feed {
    async fn next(&mut self) -> Change {
        loop {
            if let Some(change) = self.next.pop_front() {
                return change;
            }
            let seen = select_biased! {
                seen = self.proxies.next().fuse() => seen,
                secrets = self.named.next().fuse() => {
                    self.next.extend(secrets.into_iter().map(Change::Secret));
                    continue;
                }
            };
            let change = match seen {
                None => return std::future::pending().await,
                Some(Seen::All(all)) => {
                    self.named.all(&all).await;
                    Change::All(all)
                }
                Some(Seen::Changed(proxy)) => {
                    self.named.changed(&proxy).await;
                    Change::Changed(proxy)
                }
                Some(Seen::Gone(proxy)) => {
                    self.named.gone(&proxy.key);
                    let uid: Uid = proxy.uid.clone();
                    Change::Gone(proxy.key.clone(), uid)
                }
            };
            return change;
        }
    }
}
