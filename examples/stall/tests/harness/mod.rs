//! A fresh fake for each case, the provider over it, and what the kit asks of both. What the API answers is `fake.rs`.

mod fake;

use std::{net::IpAddr, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use fake::{Api, IMAGE, MACHINE_TYPES, Machine, ZONES, empty};
use provider_api::{CreateRequest, Name, Owner, Placement, ProviderType, Secret, Uid};
use provider_stall::{CATALOGUE, TYPE, profile};
use providertest::{
    fake::{
        On, Serving,
        hand::StoreHand,
        http::{Fake as _, Request, Server},
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
        let setup = |name, version: &str| Setup {
            name,
            profile: profile(),
            catalogue: CATALOGUE,
            backend_version: version.to_owned(),
        };
        vec![setup("v2", "fake, API version 2")]
    }

    async fn open(&self, setup: &Setup, case: &Case) -> Result<Box<dyn Backend>, HarnessError> {
        let folder = case.folder.path()?;
        let (token_file, socket) = (folder.join("token"), folder.join("api.sock"));
        let store = Shared::new(empty(StoreHand::<Machine>::token(case, 0)), Arc::clone(&case.clock));
        let hand = StoreHand::new(store.clone(), case).with_token_file(token_file.clone())?;
        let api = Arc::new(Api::new(store.clone()));
        let server = Server::new(Arc::clone(&api) as _, case.wire.clone(), setup.catalogue);
        let serving = server.serve(On::Unix(socket.clone()));
        let serving = serving.map_err(|error| HarnessError(format!("cannot serve the fake: {error}")))?;
        Ok(Box::new(Served { store, hand, api, token_file, socket, _serving: serving }))
    }
}

#[async_trait]
impl Backend for Served {
    fn provider_type(&self) -> ProviderType {
        provider_stall::provider_type()
    }

    fn block(&self, shape: &[Shape]) -> Result<Value, Unable> {
        let without = |zone: &str| shape.iter().any(|s| matches!(s, Shape::Without(other) if other == zone));
        let retired = |zone: &str| shape.iter().any(|s| matches!(s, Shape::Decommissioned(z) if z == zone));
        let zones = ZONES.iter().filter(|zone| !without(zone));
        let zones: Vec<_> =
            zones.map(|zone| json!({"name": zone, "decommissioned": retired(zone)})).collect();
        let mut block = json!({
            "endpoint": format!("unix:{}", self.socket.display()),
            "credentialsFile": self.token_file,
            "zones": zones,
            "images": {"squid": IMAGE},
            "machineTypes": MACHINE_TYPES,
        });
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
        request.placement = placement(ZONES[0]);
        request
    }

    fn placements(&self) -> Vec<Placement> {
        ZONES.map(placement).into()
    }

    fn targets(&self) -> Vec<String> {
        ZONES.map(str::to_owned).into()
    }

    fn secrets(&self) -> Vec<Secret> {
        vec![Secret::new(self.store.open().token.clone())]
    }

    fn unsatisfiable(&self) -> Vec<(Placement, &'static str)> {
        let (good, nowhere) = (placement(ZONES[0]), Some("nowhere".to_owned()));
        vec![
            (Placement { zone: nowhere.clone(), ..good.clone() }, "placement.zone"),
            (Placement { machine_type: nowhere.clone(), ..good.clone() }, "placement.machineType"),
            (Placement { image: nowhere, ..good }, "placement.image"),
        ]
    }

    fn uncatalogued_image(&self) -> Option<String> {
        Some("elsewhere.example/squid:7".to_owned())
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

    async fn set_addresses(&self, name: &Name, addresses: &[IpAddr]) -> Result<(), Unable> {
        if addresses.len() > 1 {
            return Err(Unable("give a machine several addresses: it has one"));
        }
        self.hand.set_addresses(name, addresses).await
    }

    async fn send_nonsense(&self) -> Result<bool, Unable> {
        let token = String::from_utf8_lossy(&self.store.open().token).into_owned();
        let nonsense = http::Request::post(format!("/v2/halls/{}/machines", ZONES[0]))
            .header("x-stall-key", token)
            .body(r#"{"name": "", "size": "no-such-size"}"#.into())
            .map_err(|_| Unable("write down nonsense"))?;
        let answer = self.api.answer(&Request::of(nonsense));
        Ok(answer.is_err())
    }
}

fn placement(zone: &str) -> Placement {
    Placement {
        region: None,
        zone: Some(zone.to_owned()),
        machine_type: Some(MACHINE_TYPES[0].to_owned()),
        image: Some("squid".to_owned()),
    }
}
