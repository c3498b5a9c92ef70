//! `list_by_tag`: every instance of this installation, in every state, from every zone, across all pages. It changes
//! nothing (`list.read-only`).

use futures::future::join_all;
use provider_api::{
    Error, FailureClass, Listed, Listing, Name, Ownership, Reason, Unreachable, profile::ListPartial, reasons,
};

use super::{
    cloud::{Content, Described, Row},
    error::{Meaning, Refused, tolerate},
    mark,
    pages::Pages,
    provider::MemoryProvider,
};

impl MemoryProvider {
    /// The listing, and what of the scope could not be read (`list.never-silently-short`).
    pub(super) async fn list_instances(&self) -> Result<Listing, Error> {
        let zones = self.config.zones.iter();
        let parts = join_all(
            zones.map(|zone| async { (&zone.name, self.in_time(self.list_zone(&zone.name)).await) }),
        )
        .await;
        let mut listing = Listing::default();
        for (zone, part) in parts {
            match part {
                Ok(part) => {
                    listing.items.extend(part.items);
                    listing.unreachable.extend(part.unreachable);
                }
                Err(error) => listing.unreachable.push(self.left_out(zone, error)?),
            }
        }
        Ok(listing)
    }

    /// Reads one zone. It gets half of the budget, so that one that hangs does not take the answers of the others with
    /// it (`runtime.one-hang-does-not-block-others`).
    pub(super) async fn in_time<T>(&self, zone: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        match self.seam.bounded(self.budgets.list / 2, zone).await {
            Ok(result) => result,
            Err(overlong) => Err(Error::transient(overlong.to_string()).coded(reasons::TIMEOUT)),
        }
    }

    /// A zone that could not be read, as an entry of the listing where the profile allows it and as an error where
    /// it does not (`list.partial-as-declared`). A right that is missing in one zone is missing for good.
    pub(super) fn left_out(&self, zone: &str, error: Error) -> Result<Unreachable, Error> {
        let partial = self.profile.list_partial == ListPartial::OmitUnreachable;
        if !partial || error.class() == FailureClass::Permanent {
            return Err(error);
        }
        let code = error.code().unwrap_or("Unreachable").to_owned();
        Ok(Unreachable { target: zone.to_owned(), reason: Reason::new(code, error.to_string()) })
    }

    async fn list_zone(&self, zone: &str) -> Result<Listing, Error> {
        let mut listing = Listing::default();
        for row in self.rows(zone).await? {
            let target = format!("{zone}/{}", row.name);
            match self.content(zone, row).await? {
                Content::Whole(described) => listing.items.extend(self.listed(zone, &described)),
                Content::Unreadable(why) => {
                    // list.one-unreadable-is-reported
                    let reason = Reason::new("Unreadable", why);
                    listing.unreachable.push(Unreachable { target, reason });
                }
                Content::NameOnly => {}
            }
        }
        Ok(listing)
    }

    /// Every row of a zone, across all pages (`list.all-pages`).
    pub(super) async fn rows(&self, zone: &str) -> Result<Vec<Row>, Refused> {
        let mut pages = Pages::new();
        while pages.add(self.backend.list(zone, pages.token()).await)? {}
        Ok(pages.items())
    }

    /// What there is to know about a row. Where the listing gives names alone, each that could be ours is looked at;
    /// one that cannot be read is said, one that is gone by then is not listed (`list.vanishing-during-list`).
    pub(super) async fn content(&self, zone: &str, row: Row) -> Result<Content, Error> {
        let could_be_ours = Name::parse(&row.name).is_ok();
        if row.content != Content::NameOnly || !could_be_ours {
            return Ok(row.content);
        }
        let described = tolerate(self.backend.describe(zone, &row.key).await, &[Meaning::Absent]);
        match described {
            Ok(Some(described)) => Ok(Content::Whole(Box::new(described))),
            Ok(None) => Ok(Content::NameOnly),
            Err(refused) if refused.meaning == Meaning::Unreadable => {
                Ok(Content::Unreadable(refused.error.message().to_owned()))
            }
            Err(refused) => Err(refused.error),
        }
    }

    fn listed(&self, zone: &str, described: &Described) -> Option<Listed> {
        let Ownership::Ours(mark) = mark::owner(described, &self.identity) else { return None };
        let name = Name::from_uid(&mark.uid);
        Some(Listed {
            id: self.id(zone, &described.key, &name),
            created_at: mark::created_at(&self.profile, described, &mark),
            name,
            uid: mark.uid,
        })
    }
}
