//! Saboteurs that report another's address.

use std::{net::IpAddr, sync::Arc};

use async_trait::async_trait;
use provider_api::{AddressPolicy, GetError, Instance, Provider, ProviderId, ProviderType, Registry, State};

use super::super::view::{Memory, View, seen_through};
use crate::{
    memory::cloud::Described,
    saboteur::{HONEST, Meddler, Saboteur, meddle},
};

pub(super) const SABOTEURS: &[Saboteur] = &[
    Saboteur {
        name: "takes-link-local-addresses",
        does: "makes a usable address of a link-local one",
        breaks: "get.own-address-only",
        cloud: |cloud| seen_through(cloud, LinkLocal),
        ..HONEST
    },
    Saboteur {
        name: "keeps-the-first-address",
        does: "reports the address that an instance had first for as long as it lives",
        breaks: "get.own-address-only",
        provider: |built, _| meddle(built, KeepsTheFirst::default()),
        ..HONEST
    },
    Saboteur {
        name: "ignores-address-ranges",
        does: "never learns of the entry's addressRanges",
        breaks: "get.address-family-and-ranges",
        types: |registry| with_policy(registry, |policy| policy.ranges.clear()),
        ..HONEST
    },
    Saboteur {
        name: "ignores-the-address-family",
        does: "never learns of the entry's addressFamily",
        breaks: "get.address-family-and-ranges",
        types: |registry| with_policy(registry, |policy| policy.family = Default::default()),
        ..HONEST
    },
];

#[derive(Default)]
struct KeepsTheFirst(Memory<IpAddr>);

#[async_trait]
impl Meddler for KeepsTheFirst {
    async fn get(&self, honest: &dyn Provider, id: &ProviderId) -> Result<Instance, GetError> {
        let mut instance = honest.get(id).await?;
        if let State::Running { address } = &mut instance.state {
            *address = self.0.first(id.as_str(), *address);
        }
        Ok(instance)
    }
}

struct LinkLocal;

impl View for LinkLocal {
    fn show(&self, mut described: Described) -> Option<Described> {
        for address in &mut described.addresses {
            if let IpAddr::V4(v4) = address
                && v4.is_link_local()
            {
                let [_, _, c, d] = v4.octets();
                *address = IpAddr::from([10, 254, c, d]);
            }
        }
        Some(described)
    }
}

/// Builds every provider with another policy than its entry's.
fn with_policy(registry: Registry, change: fn(&mut AddressPolicy)) -> Registry {
    registry.map(|honest| {
        let build = honest.build;
        ProviderType {
            build: Arc::new(move |shared, fields, context| {
                let mut shared = shared.clone();
                change(&mut shared.addresses);
                build(&shared, fields, context)
            }),
            ..honest
        }
    })
}
