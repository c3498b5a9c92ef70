//! What providers are made from: the config of each entry, and the files that it names, credentials above all. When either
//! changes the shell is told the digest of both, and a failure that rested on the old one is over.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use futures::channel::{mpsc::UnboundedSender, oneshot};
use provider_api::{Clock, CredentialFile, Live, ProviderName, Spawner, Wait};

use crate::{
    resource::{Digest, Digester},
    shell::Told,
};

/// What the watch over inputs is made from.
pub struct Parts {
    /// The configured providers.
    pub providers: Arc<Live>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Where files are read.
    pub spawner: Arc<dyn Spawner>,
    /// The shell's ears.
    pub told: UnboundedSender<Told>,
    /// What lies between two looks: 10 s.
    pub every: Duration,
}

/// The watch over what providers are made from. A file is read whole each time, since its times tell nothing certain: a mounted
/// Secret changes by a link.
pub struct Inputs {
    parts: Parts,
    known: BTreeMap<ProviderName, Digest>,
}

impl Inputs {
    /// Nothing was told yet.
    pub fn new(parts: Parts) -> Self {
        Self { parts, known: BTreeMap::new() }
    }

    /// Looks at once, and then every [`Parts::every`], for as long as it is polled.
    pub async fn run(mut self) {
        loop {
            self.round().await;
            self.parts.clock.sleep(self.parts.every, Wait::Idle).await;
        }
    }

    /// One look.
    pub async fn round(&mut self) {
        let providers = self.parts.providers.current();
        let entries: Vec<_> = providers
            .iter()
            .map(|(name, entry)| {
                let files: Vec<_> = entry.files().map(ToOwned::to_owned).collect();
                (name.clone(), entry.digest(), files)
            })
            .collect();
        let (send, receive) = oneshot::channel();
        self.parts.spawner.spawn_blocking(Box::new(move || {
            let digests = entries.into_iter().map(|(name, config, files)| (name, digest(&config, &files)));
            // Whoever has asked may be gone.
            let _ = send.send(digests.collect::<BTreeMap<_, _>>());
        }));
        // A runtime that shuts down drops the closure unrun.
        let Ok(now) = receive.await else { return };
        for (name, digest) in &now {
            if self.known.get(name) != Some(digest) {
                self.tell(name, Some(digest.clone()));
            }
        }
        for name in self.known.keys().filter(|name| !now.contains_key(*name)) {
            self.tell(name, None);
        }
        self.known = now;
    }

    fn tell(&self, name: &ProviderName, digest: Option<Digest>) {
        // Whoever would hear it may be gone, and with it everything that waits for it.
        let _ = self.parts.told.unbounded_send(Told::Config(name.clone(), digest));
    }
}

/// Of the config, and of each file that can be read as a credential is; of one that cannot, that it cannot.
fn digest(config: &[u8; 32], files: &[PathBuf]) -> Digest {
    let mut digester = Digester::new("provider/1");
    digester.text("config", Digest::of(config).as_str());
    for file in files {
        let contents = CredentialFile::new(file).read();
        let contents = contents.map(|secret| Digest::of(secret.reveal()));
        digester.text(&file.to_string_lossy(), contents.as_ref().map_or("", Digest::as_str));
    }
    digester.digest()
}

#[cfg(test)]
mod tests {
    use futures::channel::mpsc::{UnboundedReceiver, unbounded};
    use provider_api::{Context, Identity, InstallationId};

    use super::*;
    use crate::doubles::{AtOnce, Hand, registry};

    struct World {
        clock: Hand,
        live: Arc<Live>,
        told: UnboundedReceiver<Told>,
        inputs: Inputs,
    }

    impl World {
        fn new() -> Self {
            let (sender, told) = unbounded();
            let (clock, live) = (Hand::default(), Arc::<Live>::default());
            let parts = Parts {
                providers: Arc::clone(&live),
                clock: Arc::new(clock.clone()),
                spawner: Arc::new(AtOnce),
                told: sender,
                every: Duration::from_secs(10),
            };
            Self { clock, live, told, inputs: Inputs::new(parts) }
        }

        fn load(&self, yaml: &str) {
            let surroundings = |name: &ProviderName| {
                let identity = Identity::new(InstallationId::parse("us").unwrap());
                Context::new(name.clone(), identity, Arc::new(Hand::default()), Arc::new(AtOnce))
            };
            self.live.reload(&registry(BTreeMap::new()), yaml, |_| {}, surroundings).unwrap();
        }

        /// Whose digest is told in one look, and whether there is one.
        fn told(&mut self) -> Vec<(String, bool)> {
            self.clock.drive(self.inputs.round());
            self.heard()
        }

        fn heard(&mut self) -> Vec<(String, bool)> {
            let mut heard = Vec::new();
            while let Ok(told) = self.told.try_recv() {
                let Told::Config(name, digest) = told else { panic!("only configs are told") };
                heard.push((name.to_string(), digest.is_some()));
            }
            heard
        }
    }

    fn yes(name: &str) -> (String, bool) {
        (name.to_owned(), true)
    }

    #[test]
    fn a_changed_entry_is_told_and_only_that() {
        let mut world = World::new();
        world.load("providers: [{name: a, type: plain}, {name: b, type: plain}]");
        assert_eq!(world.told(), [yes("a"), yes("b")]);
        assert_eq!(world.told(), []);
        world.load("providers: [{name: b, type: plain, maxInstances: 7}, {name: a, type: plain}]");
        assert_eq!(world.told(), [yes("b")]);
        world.load("providers: [{name: a, type: plain}]");
        assert_eq!(world.told(), [("b".to_owned(), false)]);
        assert_eq!(world.told(), []);
    }

    #[test]
    fn o12_a_changed_credential_is_told_without_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let token = folder.path().join("token");
        let mut world = World::new();
        world.load(&format!("providers: [{{name: a, type: plain, plain: {{tokenFile: {token:?}}}}}]"));
        assert_eq!(world.told(), [yes("a")]);
        for contents in ["one", "two"] {
            std::fs::write(&token, contents).unwrap();
            assert_eq!(world.told(), [yes("a")], "{contents}");
            assert_eq!(world.told(), []);
        }
        std::fs::remove_file(&token).unwrap();
        assert_eq!(world.told(), [yes("a")]);
    }

    #[test]
    fn it_looks_at_the_start_and_every_ten_seconds() {
        let mut world = World::new();
        world.load("providers: [{name: a, type: plain}]");
        let inputs = std::mem::replace(&mut world.inputs, World::new().inputs);
        let (clock, mut run) = (world.clock.clone(), Box::pin(inputs.run()));
        clock.drive_until(Duration::from_secs(9), run.as_mut());
        assert_eq!(world.heard(), [yes("a")]);
        world.load("providers: [{name: a, type: plain, maxInstances: 7}]");
        clock.drive_until(Duration::from_millis(9_900), run.as_mut());
        assert_eq!(world.heard(), []);
        clock.drive_until(Duration::from_secs(10), run.as_mut());
        assert_eq!(world.heard(), [yes("a")]);
    }
}
