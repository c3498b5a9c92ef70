//! The way to the API under TLS: who vouches for it is the CA file as it is now.
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
#[path = "harness/fake.rs"]
mod fake;

use std::{sync::Arc, time::Duration};

use fake::{Api, TARGETS, config, empty};
use provider_api::{
    Context, Deadline, Identity, InstallationId, Registry, SystemClock, TokioSpawner, reasons,
};
use provider_pond::{CATALOGUE, TYPE, register};
use providertest::{
    fake::{Certificate, On, Tls, http::Server, store::Shared},
    harness::Folder,
    ledger::Ledger,
    wire::Wire,
};
use serde_json::json;

#[test]
fn a_certificate_is_good_when_the_ca_file_vouches_for_it() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let folder = Folder::default();
        let (token, ca) = (folder.path().unwrap().join("token"), folder.path().unwrap().join("ca.pem"));
        std::fs::write(&token, "a token\n").unwrap();
        let clock = Arc::new(SystemClock::default());
        let store = Shared::new(empty(b"a token".to_vec()), clock.clone());
        let api = Arc::new(Api::new(store));
        let tls = Tls::new(&[]).unwrap();
        let server = Server::new(api, Wire::new(Ledger::default()), CATALOGUE);
        let serving = server.serve(On::Tls(tls.clone())).unwrap();

        let mut registry = Registry::default();
        register(&mut registry);
        let mut block = config();
        block["regions"] = json!([{"name": TARGETS[0]}]);
        block["endpoint"] = json!(serving.url());
        (block["caFile"], block["credentialsFile"]) = (json!(ca), json!(token));
        let config = json!({"providers": [{"name": "a", "type": TYPE, TYPE: block}]}).to_string();
        let identity = Identity::new(InstallationId::parse("test").unwrap());
        let providers = registry.load(
            &config,
            |_| {},
            |name| Context::new(name.clone(), identity.clone(), clock.clone(), Arc::new(TokioSpawner)),
        );
        let (_, entry) = providers.as_ref().unwrap().iter().next().unwrap();
        let checker = entry.built.checker.clone().unwrap();
        let check = || async {
            let by = Deadline::within(&*clock, Duration::from_secs(20));
            checker.check(by).await.remove(0).reason.code
        };

        assert_eq!(check().await, reasons::CREDENTIALS_UNAVAILABLE, "there is no CA file yet");
        Tls::new(&[]).unwrap().write_ca(&ca).unwrap();
        assert_eq!(check().await, reasons::CERTIFICATE_INVALID, "another CA");
        tls.write_ca(&ca).unwrap();
        assert_eq!(check().await, reasons::REACHABLE, "the file is read again");
        for (lines, bad) in [Certificate::Expired, Certificate::WrongName].into_iter().enumerate() {
            tls.show(bad).unwrap();
            // Another text of the same CA makes another client, which keeps no connection of before.
            std::fs::write(&ca, "\n".repeat(lines + 1) + tls.ca_pem()).unwrap();
            assert_eq!(check().await, reasons::CERTIFICATE_INVALID, "{bad:?}");
        }
    });
}
