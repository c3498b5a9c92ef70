//! A fresh fake for each case, the provider over it, and what the kit asks of both. What the API answers is `fake.rs`.

mod fake;

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use fake::{Api, MACHINE_TYPES, Machine, OTHER_IMAGE, TARGETS, VERSION, config, empty, nonsense};
use provider_api::{CreateRequest, Owner, Placement, ProviderType, Secret, Uid};
use provider_pond::{CATALOGUE, TYPE, profile};
use providertest::{
    fake::{
        On, Serving,
        hand::StoreHand,
        http::{Fake as _, Server},
        store::Shared,
    },
    harness::{Backend, Case, Hand, Harness, HarnessError, Setup, Shape, Thing, Unable},
};
use serde_json::{Value, json};

/// Makes fakes.
pub(crate) struct Fakes;

/// One fake, and the provider's way to it.
struct Served {
    store: Shared<Machine>,
    hand: StoreHand<Machine>,
    api: Arc<Api>,
    token_file: PathBuf,
    socket: PathBuf,
    /// Serves for as long as the case.
    _serving: Serving,
}

#[async_trait]
impl Harness for Fakes {
    fn provider(&self) -> &'static str {
        TYPE
    }

    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    fn setups(&self) -> Vec<Setup> {
        vec![Setup {
            name: VERSION,
            profile: profile(),
            catalogue: CATALOGUE,
            backend_version: format!("fake, API {VERSION}"),
        }]
    }

    async fn open(&self, setup: &Setup, case: &Case) -> Result<Box<dyn Backend>, HarnessError> {
        let folder = case.folder.path()?;
        let token_file = folder.join("token");
        let store = Shared::new(empty(StoreHand::<Machine>::token(case, 0)), Arc::clone(&case.clock));
        let hand = StoreHand::new(store.clone(), case).with_token_file(token_file.clone())?;
        let (api, socket) = (Arc::new(Api::new(store.clone())), folder.join("api.sock"));
        let server = Server::new(Arc::clone(&api) as _, case.wire.clone(), setup.catalogue);
        let serving = server.serve(On::Unix(socket.clone()));
        let serving = serving.map_err(|error| HarnessError(format!("cannot serve the fake: {error}")))?;
        Ok(Box::new(Served { store, hand, api, token_file, socket, _serving: serving }))
    }
}

#[async_trait]
impl Backend for Served {
    fn provider_type(&self) -> ProviderType {
        provider_pond::provider_type()
    }

    fn block(&self, shape: &[Shape]) -> Result<Value, Unable> {
        let without =
            |target: &str| shape.iter().any(|s| matches!(s, Shape::Without(other) if other == target));
        let retired =
            |target: &str| shape.iter().any(|s| matches!(s, Shape::Decommissioned(t) if t == target));
        let targets = TARGETS.iter().filter(|target| !without(target));
        let targets = targets.map(|target| json!({"name": target, "decommissioned": retired(target)}));
        let mut block = config();
        block["endpoint"] = json!(format!("unix:{}", self.socket.display()));
        block["regions"] = targets.collect();
        block["credentialsFile"] = json!(self.token_file);
        if shape.contains(&Shape::Broken) {
            block["colour"] = json!("red");
            block["machineTypes"] = json!(7);
        }
        Ok(block)
    }

    async fn everything(&self) -> Result<Vec<Thing>, HarnessError> {
        Ok(self.store.open().things())
    }

    fn request(&self, uid: &Uid) -> CreateRequest {
        let owner = Owner {
            namespace: "team-a".to_owned(),
            name: format!("proxy-of-{uid}"),
            api_version: "proxies.example/v1".to_owned(),
            kind: "Proxy".to_owned(),
        };
        // Not even text, so that it is clear whether it arrives byte for byte.
        let mut cloud_init = format!("#cloud-config\nfinal_message: this is for {uid} alone\n").into_bytes();
        cloud_init.extend([0, 0xfe, 0xff, b'\n']);
        let mut request = CreateRequest::new(uid.clone(), owner, Secret::new(cloud_init));
        request.placement = placement(TARGETS[0]);
        request
    }

    fn placements(&self) -> Vec<Placement> {
        TARGETS.map(placement).into()
    }

    fn targets(&self) -> Vec<String> {
        TARGETS.map(str::to_owned).into()
    }

    fn secrets(&self) -> Vec<Secret> {
        vec![Secret::new(self.store.open().token.clone())]
    }

    fn unsatisfiable(&self) -> Vec<(Placement, &'static str)> {
        let (good, nowhere) = (self.placements().remove(0), Some("nowhere".to_owned()));
        vec![
            (Placement { zone: nowhere.clone(), ..good.clone() }, "placement.zone"),
            (Placement { machine_type: nowhere.clone(), ..good.clone() }, "placement.machineType"),
            (Placement { image: nowhere, ..good }, "placement.image"),
        ]
    }

    fn uncatalogued_image(&self) -> Option<String> {
        Some(OTHER_IMAGE.to_owned())
    }

    fn hand(&self) -> &dyn Hand {
        self
    }
}

#[async_trait]
impl Hand for Served {
    fn below(&self) -> Option<&dyn Hand> {
        Some(&self.hand)
    }

    async fn send_nonsense(&self) -> Result<bool, Unable> {
        let nonsense = nonsense(&String::from_utf8_lossy(&self.store.open().token));
        let api = &self.api;
        Ok(api.answer(&nonsense).map_or(true, |answer| api.refuses(&answer)))
    }
}

fn placement(region: &str) -> Placement {
    Placement {
        region: None,
        zone: Some(region.to_owned()),
        machine_type: Some(MACHINE_TYPES[0].to_owned()),
        image: Some("squid".to_owned()),
    }
}
