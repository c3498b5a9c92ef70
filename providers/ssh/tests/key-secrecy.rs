//! Nothing of a private key or a passphrase is in an error, in a `Debug` or in a log, ours or the library's. It listens
//! to all logs of its process, so it has one of its own.
#![allow(clippy::unwrap_used)]

#[path = "dial/clock.rs"]
#[allow(dead_code)]
mod clock;
#[path = "dial/server.rs"]
#[allow(dead_code)]
mod server;
#[path = "dial/site.rs"]
#[allow(dead_code)]
mod site;

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use data_encoding::BASE64_NOPAD;
use provider_api::CredentialFile;
use russh::keys::{key::safe_rng, ssh_key::LineEnding};
use ssh::{Access, HostKeys, Target};

use server::Manners;
use site::Site;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Catches what the library says by `log`, which is not ours.
struct Library(Log);

impl log::Log for Library {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }
    fn log(&self, record: &log::Record<'_>) {
        let _ = writeln!(self.0.clone(), "{} {}", record.target(), record.args());
    }
    fn flush(&self) {}
}

#[tokio::test]
async fn nothing_of_the_key_is_shown() {
    let log = Log::default();
    log::set_boxed_logger(Box::new(Library(log.clone()))).unwrap();
    log::set_max_level(log::LevelFilter::Trace);
    let ours = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || ours.clone())
        .with_ansi(false)
        .finish();
    tracing::subscriber::set_global_default(subscriber).unwrap();

    let site = Site::new();
    let passphrase = "correct horse battery staple";
    let locked = site.user.encrypt(&mut safe_rng(), passphrase).unwrap();
    let locked = locked.to_openssh(LineEnding::LF).unwrap().as_bytes().to_vec();
    let open = site.user.to_openssh(LineEnding::LF).unwrap().as_bytes().to_vec();
    site.write("passphrase", passphrase.as_bytes());
    site.write("wrong", b"swordfish swordfish");

    let server = site.server(site.manners()).await;
    let stranger = site.server(Manners { users: Vec::new(), ..site.manners() }).await;
    let (here, there) = (server.address.to_string(), stranger.address.to_string());
    let key = site.host.public_key().to_openssh().unwrap();
    site.write("known_hosts", format!("127.0.0.1 {key}\n").as_bytes());

    let mut texts = Vec::new();
    let with = |passphrase: Option<&str>, host_keys: HostKeys| Access {
        passphrase: passphrase.map(|name| CredentialFile::new(site.path(name))),
        host_keys,
        ..site.access()
    };
    let half = locked[..locked.len() / 2].to_vec();
    for (key, passphrase) in [
        (&open, None),
        (&locked, Some("passphrase")),
        (&locked, Some("wrong")),
        (&locked, None),
        (&half, Some("wrong")),
    ] {
        for address in [&here, &there] {
            for host_keys in [site.access().host_keys, HostKeys::InsecureIgnore] {
                site.write("id", key);
                let (target, access) =
                    (Target::parse(address, "libvirt").unwrap(), with(passphrase, host_keys));
                texts.push(format!("{access:?}"));
                match site.dialer().dial(&target, &access).await {
                    Ok(session) => {
                        let channel = session.streamlocal("/run/x").await.unwrap();
                        texts.push(format!("{session:?} {channel:?} {}", session.host_key()));
                        session.close().await;
                    }
                    Err(error) => texts.push(format!("{error} {error:?} {:?}", error.to_error())),
                }
            }
        }
    }
    drop((server, stranger));
    texts.push(String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned());
    let all = texts.join("\n");
    assert!(all.contains("russh") && all.contains("insecureIgnoreHostKey"), "the logs were not caught");

    let russh::keys::ssh_key::private::KeypairData::Ed25519(pair) = site.user.key_data() else {
        panic!("its type")
    };
    let secret = pair.private.to_bytes();
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let decimal = secret.iter().map(u8::to_string).collect::<Vec<_>>();
    let mut needles = vec![
        hex(&secret),
        hex(&secret).to_uppercase(),
        BASE64_NOPAD.encode(&secret),
        decimal[..8].join(", "),
    ];
    needles.extend([passphrase.to_owned(), "swordfish".to_owned(), "PRIVATE KEY".to_owned()]);
    for file in [&open, &locked] {
        // Every line but the first ones, which hold only the format and the public key.
        needles.extend(
            String::from_utf8_lossy(file).lines().skip(2).map(str::to_owned).filter(|line| line.len() > 8),
        );
    }
    assert!(needles.len() > 12, "the files were not cut into lines");
    for needle in needles {
        assert!(!all.contains(&needle), "{needle} is in what was shown");
    }
}
