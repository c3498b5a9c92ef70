//! Saboteurs that do not keep the budgets of get, delete and list. Those of create are in `create/`.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use provider_api::{Error, Listing, Provider, Registry, Seam, config::Shared};

use crate::saboteur::{HONEST, Meddler, Saboteur, meddle};

/// The saboteurs of budgets.
pub const SABOTEURS: &[Saboteur] = &[
    Saboteur {
        name: "takes-its-time-to-look",
        does: "does not read the budget that the config gives a get",
        breaks: "get.call-budget",
        types: |registry| with_shared(registry, |shared| shared.budgets.get = None),
        ..HONEST
    },
    Saboteur {
        name: "takes-its-time-to-delete",
        does: "does not read the budget that the config gives a delete",
        breaks: "delete.gone-means-gone",
        types: |registry| with_shared(registry, |shared| shared.budgets.delete = None),
        ..HONEST
    },
    Saboteur {
        name: "takes-its-time-to-list",
        does: "does not read the budget that the config gives a listing",
        breaks: "list.partial-as-declared",
        types: |registry| with_shared(registry, |shared| shared.budgets.list = None),
        ..HONEST
    },
    Saboteur {
        name: "gives-one-zone-all-the-time",
        does: "lets each zone take a listing's whole budget, so that a slow one takes the answers of the others along",
        breaks: "list.partial-as-declared",
        // A zone gets half of what the provider believes that it has.
        types: |registry| with_shared(registry, |shared| shared.budgets.list = Some(LIST * 2)),
        provider: |built, context| meddle(built, AllTogether(context.seam("memory", LIST))),
        ..HONEST
    },
];

/// What a listing has by its profile.
const LIST: Duration = Duration::from_secs(120);

/// Builds with other common fields than the config has.
pub(super) fn with_shared(registry: Registry, change: fn(&mut Shared)) -> Registry {
    registry.map(|mut known| {
        let build = Arc::clone(&known.build);
        known.build = Arc::new(move |shared, fields, context| {
            let mut shared = shared.clone();
            change(&mut shared);
            build(&shared, fields, context)
        });
        known
    })
}

struct AllTogether(Seam);

#[async_trait]
impl Meddler for AllTogether {
    async fn list_by_tag(&self, honest: &dyn Provider) -> Result<Listing, Error> {
        let listing = self.0.bounded(LIST, honest.list_by_tag()).await;
        listing.unwrap_or_else(|overlong| Err(Error::transient(overlong.to_string())))
    }
}
