//! `list_by_tag`: every Pod of this installation in every namespace of the scope, page by page, metadata only.

use provider_api::{Error, Listed, Listing, Name, Ownership, Reason, Unreachable};

use crate::{
    backend::{POD_LIST, read_item},
    error::refusal,
    id::PodId,
    mark,
    provider::Kubernetes,
    view::MetaView,
};

/// How often a listing whose page token expired is begun anew.
const RESTARTS: u32 = 3;

impl Kubernetes {
    /// The whole scope (`list.whole-scope`), or an error: a listing of the first pages is no listing.
    pub(crate) async fn list_all(&self) -> Result<Listing, Error> {
        let mut listing = Listing::default();
        if self.config.namespaces.is_empty() {
            self.list_in(None, &mut listing).await?;
        }
        for namespace in &self.config.namespaces {
            self.list_in(Some(namespace), &mut listing).await?;
        }
        Ok(listing)
    }

    async fn list_in(&self, namespace: Option<&str>, listing: &mut Listing) -> Result<(), Error> {
        let selector = mark::selector(&self.context.identity);
        let mut found = Listing::default();
        let (mut token, mut restarts) = (None::<String>, 0);
        loop {
            let page = self.config.page_size;
            let page = self.backend.pod_list(&self.seam, namespace, &selector, page, token.as_deref()).await;
            let page = match page {
                Ok(page) => page,
                // list.never-silently-short: the same token would fail for ever, and what was read so far is of no
                // one moment any more.
                Err(error) if refusal(&error).is_some_and(|r| r.is_expired()) && restarts < RESTARTS => {
                    restarts += 1;
                    token = None;
                    found = Listing::default();
                    continue;
                }
                Err(error) => return Err(self.failed(POD_LIST, "cannot list the Pods", &error)),
            };
            for item in page.items {
                self.take(item, &mut found);
            }
            token = page.metadata.token.filter(|token| !token.is_empty());
            if token.is_none() {
                listing.items.append(&mut found.items);
                listing.unreachable.append(&mut found.unreachable);
                return Ok(());
            }
        }
    }

    fn take(&self, item: serde_json::Value, listing: &mut Listing) {
        let MetaView { metadata } = match read_item(item) {
            Ok(view) => view,
            Err(target) => {
                // list.one-unreadable-is-reported
                let reason = Reason::new("Unreadable", "the Pod's metadata cannot be read");
                return listing.unreachable.push(Unreachable { target, reason });
            }
        };
        // list.inherited-mark-is-not-listed, list.only-this-installation
        let Ownership::Ours(mark) = mark::ownership(&metadata, &self.context.identity) else { return };
        let name = Name::from_uid(&mark.uid);
        match PodId::new(&metadata.namespace, &name) {
            Ok(id) => listing.items.push(Listed {
                id: id.to_id(),
                name,
                uid: mark.uid,
                created_at: metadata.creation_timestamp,
            }),
            Err(malformed) => listing.unreachable.push(Unreachable {
                target: name.to_string(),
                reason: Reason::new("Unreadable", malformed.to_string()),
            }),
        }
    }
}
