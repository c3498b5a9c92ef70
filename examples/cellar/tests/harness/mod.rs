//! A fresh fake for each case, the provider over it, and what the kit asks of both. What the API answers is `fake.rs`.

mod fake;

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use fake::{Api, BASE, HOSTS, Machine, OTHER_BASE, empty};
use provider_api::{CreateRequest, Owner, Placement, ProviderType, Secret, Uid};
use provider_cellar::{CATALOGUE, TYPE, profile};
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
    token_file: PathBuf,
    /// One daemon for each host.
    daemons: Vec<Daemon>,
}

/// The daemon of one host. It serves for as long as the case.
struct Daemon {
    api: Arc<Api>,
    socket: PathBuf,
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
        vec![setup("r7", "fake, API revision 7")]
    }

    async fn open(&self, setup: &Setup, case: &Case) -> Result<Box<dyn Backend>, HarnessError> {
        let folder = case.folder.path()?;
        let token_file = folder.join("token");
        let store = Shared::new(empty(StoreHand::<Machine>::token(case, 0)), Arc::clone(&case.clock));
        let hand = StoreHand::new(store.clone(), case).with_token_file(token_file.clone())?;
        let serve = |host| {
            let api = Arc::new(Api { host, store: store.clone() });
            let server = Server::new(Arc::clone(&api) as _, case.wire.clone(), setup.catalogue);
            let socket = folder.join(format!("{host}.sock"));
            let serving = server.serve(On::Unix(socket.clone()));
            let serving = serving.map_err(|error| HarnessError(format!("cannot serve the fake: {error}")))?;
            Ok(Daemon { api, socket, _serving: serving })
        };
        let daemons = HOSTS.into_iter().map(serve).collect::<Result<_, HarnessError>>()?;
        Ok(Box::new(Served { store, hand, token_file, daemons }))
    }
}

#[async_trait]
impl Backend for Served {
    fn provider_type(&self) -> ProviderType {
        provider_cellar::provider_type()
    }

    fn block(&self, shape: &[Shape]) -> Result<Value, Unable> {
        let without = |host: &str| shape.iter().any(|s| matches!(s, Shape::Without(other) if other == host));
        let retired = |host: &str| shape.iter().any(|s| matches!(s, Shape::Decommissioned(z) if z == host));
        let hosts = self.daemons.iter().filter(|daemon| !without(daemon.api.host)).map(|daemon| {
            let (host, endpoint) = (daemon.api.host, format!("unix:{}", daemon.socket.display()));
            json!({"name": host, "endpoint": endpoint, "decommissioned": retired(host)})
        });
        let mut block = json!({
            "credentialsFile": self.token_file,
            "hosts": hosts.collect::<Vec<_>>(),
            "images": {"squid": BASE},
            "machineTypes": {"large": 4, "small": 1},
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
        request.placement = placement(HOSTS[0]);
        request
    }

    fn placements(&self) -> Vec<Placement> {
        HOSTS.map(placement).into()
    }

    fn targets(&self) -> Vec<String> {
        HOSTS.map(str::to_owned).into()
    }

    fn secrets(&self) -> Vec<Secret> {
        vec![Secret::new(self.store.open().token.clone())]
    }

    fn unsatisfiable(&self) -> Vec<(Placement, &'static str)> {
        let (good, nowhere) = (placement(HOSTS[0]), Some("nowhere".to_owned()));
        vec![
            (Placement { zone: nowhere.clone(), ..good.clone() }, "placement.zone"),
            (Placement { machine_type: nowhere.clone(), ..good.clone() }, "placement.machineType"),
            (Placement { image: nowhere, ..good }, "placement.image"),
        ]
    }

    fn uncatalogued_image(&self) -> Option<String> {
        Some(OTHER_BASE.to_owned())
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
        let token = String::from_utf8_lossy(&self.store.open().token).into_owned();
        let nonsense = http::Request::put("/boxes/nonsense")
            .header("authorization", format!("Bearer {token}"))
            .body(r#"{"labels": {}, "cpus": 0, "disks": ["no-such-disk"]}"#.into())
            .map_err(|_| Unable("write down nonsense"))?;
        let answer = self.daemons[0].api.answer(&Request::of(nonsense));
        Ok(answer.map_or(true, |answer| !answer.status().is_success()))
    }
}

fn placement(host: &str) -> Placement {
    Placement {
        region: None,
        zone: Some(host.to_owned()),
        machine_type: Some("small".to_owned()),
        image: Some("squid".to_owned()),
    }
}
