//! The scrubber keeps secrets out of what people read (`create.hides-secrets`, `errors.hides-secrets`).

use data_encoding::{BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD};
use proptest::prelude::*;
use provider_api::{Credentials, Scrubbed, Scrubber, Secret};

use crate::canned::request;

fn scrubber(secrets: &[&[u8]]) -> Scrubber {
    let mut scrubber = Scrubber::default();
    secrets.iter().for_each(|secret| scrubber.hide(secret));
    scrubber
}

/// What must not be found again: the secret and its lines, where they are long enough to be one.
fn findable(secret: &str) -> Vec<&str> {
    let parts = secret.lines().map(str::trim).chain([secret]);
    parts.filter(|part| part.len() >= Scrubber::SHORTEST && !Scrubber::MARK.contains(part)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_secret_and_no_line_of_it_survives(
        secret in "([ -~äß€]{0,20}\r?\n){0,3}[ -~äß€]{6,30}",
        other in "[ -~]{6,20}",
        before in ".{0,20}",
        after in ".{0,20}",
    ) {
        let scrubber = scrubber(&[secret.as_bytes(), other.as_bytes()]);
        let as_json = serde_json::Value::from(secret.as_str()).to_string();
        for quoted in [secret.as_str(), &as_json, &other, &format!("{secret}{other}")] {
            let clean = scrubber.scrub(&format!("{before}{quoted}{after}"));
            for part in findable(&secret).into_iter().chain(findable(&other)) {
                prop_assert!(!clean.contains(part), "{part:?} survives in {clean:?}");
            }
        }
    }

    #[test]
    fn no_base64_of_it_survives(secret in proptest::collection::vec(any::<u8>(), 6..60), before in any::<u8>()) {
        let scrubber = scrubber(&[&secret]);
        for base in [BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD] {
            let text = base.encode(&secret);
            let clean = scrubber.scrub(&format!("body={text}&x"));
            prop_assert!(!clean.contains(&text), "{text} survives");
            // Inside something longer, as a password is in an Authorization header.
            for offset in 0..4 {
                let mut longer = vec![before; offset];
                longer.extend_from_slice(&secret);
                longer.push(before);
                let clean = scrubber.scrub(&base.encode(&longer));
                prop_assert!(clean.contains(Scrubber::MARK), "{offset}: {clean}");
            }
        }
    }

    #[test]
    fn what_holds_no_secret_is_left_as_it_is(text in "[a-z ]{0,60}") {
        prop_assert_eq!(scrubber(&[b"SWORDFISH-1234"]).scrub(&text), text);
    }
}

#[test]
fn a_request_knows_all_of_its_secrets() {
    let mut request = request();
    request.cloud_init = Secret::new("#cloud-config\nwrite_files: [swordfish]\n");
    request.access.credentials =
        Some(Credentials { username: "u".into(), password: Secret::new("hunter2-hunter2") });
    let clean = request.scrubber().scrub("bad: write_files: [swordfish], and u:hunter2-hunter2");
    assert_eq!(clean, "bad: [redacted], and u:[redacted]");
}

#[test]
fn causes_are_scrubbed_all_the_way_down() {
    #[derive(Debug)]
    struct Layer(&'static str, Option<Box<Layer>>);
    impl std::fmt::Display for Layer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(self.0)
        }
    }
    impl std::error::Error for Layer {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            self.1.as_deref().map(|layer| layer as _)
        }
    }
    let error = Layer("outer hunter2-hunter2", Some(Box::new(Layer("inner hunter2-hunter2", None))));
    let clean = Scrubbed::chain(&error, &scrubber(&[b"hunter2-hunter2"]));
    let inner = std::error::Error::source(&clean).unwrap();
    assert_eq!(
        (clean.to_string(), inner.to_string()),
        ("outer [redacted]".into(), "inner [redacted]".into())
    );
    assert!(!format!("{clean:?}").contains("hunter2"));
    assert!(!format!("{:?}", scrubber(&[b"hunter2-hunter2"])).contains("hunter2"));
}
