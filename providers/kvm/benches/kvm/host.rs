//! The host, as the environment says where it is, with a pool of the benchmark's own in memory: no disk is measured.

use std::{
    env, fmt,
    fs::{self, File, Permissions},
    io::Write as _,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::{self, Command},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use libvirt_model::Config;
use provider_api::{
    Built, Context, CreateRequest, Identity, InstallationId, Owner, Placement, ProviderName, Registry,
    Secret, SystemClock, TokioSpawner, Uid, config::read,
};
use provider_kvm::{TYPE, register, upload};
use serde_json::{Value, json};

use crate::{server, timed};

/// How the provider gets to the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Socket,
    Ssh,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Socket => "socket",
            Self::Ssh => "SSH",
        })
    }
}

pub(crate) struct Host {
    pool: String,
    folder: PathBuf,
}

/// What uploads fill that are measured by themselves.
const VOLUME: &str = "volume";

fn surroundings(name: &ProviderName) -> Context {
    let identity = Identity::new(InstallationId::parse("bench").unwrap());
    Context::new(name.clone(), identity, Arc::<SystemClock>::default(), Arc::new(TokioSpawner))
}

fn offered(variable: &str) -> String {
    env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} is not set; `cargo xtask bench kvm` brings a host"))
}

fn virsh(words: &[&str]) {
    let uri = format!("qemu+unix:///system?socket={}", offered("KVM_TEST_LIBVIRT_SOCKET"));
    let done = Command::new("virsh").args(["-q", "-c", &uri]).args(words).output().unwrap();
    assert!(done.status.success(), "virsh {words:?}: {}", String::from_utf8_lossy(&done.stderr));
}

impl Host {
    /// With a pool in a folder of /run, which is memory; this process and the daemon both see it.
    pub(crate) fn offered() -> Self {
        let pool = format!("bench-{}", process::id());
        let folder = Path::new("/run").join(&pool);
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o711)).unwrap();
        virsh(&["pool-create-as", &pool, "dir", "--target", folder.to_str().unwrap()]);
        Self { pool, folder }
    }

    /// The entry's block, with one image in its catalogue.
    fn config(&self, way: Way, url: &str, sha256: &str, mib: u64) -> Value {
        let mut host = json!({"name": "h1", "pool": self.pool, "network": offered("KVM_TEST_NETWORK")});
        match way {
            Way::Socket => host["socket"] = offered("KVM_TEST_LIBVIRT_SOCKET").into(),
            Way::Ssh => {
                host["address"] = offered("KVM_TEST_ADDRESS").into();
                host["user"] = offered("KVM_TEST_USER").into();
                host["socket"] = offered("KVM_TEST_SOCKET").into();
            }
        }
        let image = json!({"url": url, "sha256": sha256, "format": "raw", "firmware": "bios"});
        json!({
            "sshKeyFile": offered("KVM_TEST_SSH_KEY_FILE"),
            "knownHostsFile": offered("KVM_TEST_KNOWN_HOSTS_FILE"),
            "allowEmulation": true,
            "diskSizeGb": mib.div_ceil(1024),
            "images": {"image": image},
            "machineTypes": {"small": {"vcpus": 1, "memoryMiB": 128}},
            "hosts": [host],
        })
    }

    /// The provider.
    pub(crate) fn provider(&self, way: Way, url: &str, sha256: &str, mib: u64) -> Built {
        let block = self.config(way, url, sha256, mib);
        let config = json!({"providers": [{"name": "bench", "type": TYPE, TYPE: block}]});
        let mut registry = Registry::default();
        register(&mut registry);
        let providers = registry.load(&config.to_string(), |_| {}, surroundings).unwrap();
        let (_, entry) = providers.iter().next().unwrap();
        entry.built.clone()
    }

    /// Creates an instance and removes it with the image that it took. Says how long it was until the image was whole.
    pub(crate) async fn bring(&self, built: &Built) -> Duration {
        let owner = Owner {
            namespace: "bench".into(),
            name: "bench".into(),
            api_version: "crawl.example.com/v1alpha1".into(),
            kind: "Proxy".into(),
        };
        let uid = Uid::parse(&format!("bench-{}", process::id())).unwrap();
        let mut request = CreateRequest::new(uid, owner, Secret::new("#cloud-config\n"));
        request.placement = Placement {
            image: Some("image".to_owned()),
            machine_type: Some("small".to_owned()),
            ..Placement::default()
        };
        let began = Instant::now();
        let folder = self.folder.clone();
        let whole = thread::spawn(move || {
            while !names(&folder).iter().any(|name| name.ends_with(".whole")) {
                assert!(began.elapsed() < Duration::from_secs(120), "no image has come");
                thread::sleep(Duration::from_millis(2));
            }
            began.elapsed()
        });
        let created = built.provider.create(&request).await;
        let took = whole.join().unwrap();
        built.provider.delete(&created.unwrap()).await.unwrap();
        for name in names(&self.folder) {
            virsh(&["vol-delete", "--pool", &self.pool, &name]);
        }
        took
    }

    /// Fills a volume from a file in memory, and says how long that took.
    pub(crate) async fn upload(&self, mib: u64) -> Duration {
        let block = self.config(Way::Socket, "http://127.0.0.1/", &"0".repeat(64), mib).to_string();
        let config = read(&block, |fields| Config::read(fields, &|_, _| Ok(()))).unwrap();
        let context = surroundings(&ProviderName::parse("bench").unwrap());
        let file = File::open(self.file(mib)).unwrap();
        self.volume(mib);
        let began = Instant::now();
        upload(config, context, VOLUME, file).await.unwrap();
        let took = began.elapsed();
        assert_eq!(fs::metadata(self.folder.join(VOLUME)).unwrap().blocks() / 2048, mib, "all is there");
        self.no_volume();
        took
    }

    /// Lets `virsh` do the same, and says how long that took.
    pub(crate) fn vol_upload(&self, mib: u64) -> Duration {
        let file = self.file(mib);
        self.volume(mib);
        let took = timed(|| virsh(&["vol-upload", "--pool", &self.pool, VOLUME, file.to_str().unwrap()]));
        self.no_volume();
        took
    }

    /// A file in memory, written when it is first needed.
    fn file(&self, mib: u64) -> PathBuf {
        let path = self.folder.with_extension("image");
        if !path.exists() {
            let (mut file, block) = (File::create(&path).unwrap(), server::block());
            for _ in 0..mib {
                file.write_all(&block).unwrap();
            }
        }
        path
    }

    fn volume(&self, mib: u64) {
        let size = format!("{mib}MiB");
        virsh(&["vol-create-as", &self.pool, VOLUME, &size, "--allocation", "0", "--format", "raw"]);
    }

    fn no_volume(&self) {
        virsh(&["vol-delete", "--pool", &self.pool, VOLUME]);
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        virsh(&["pool-destroy", &self.pool]);
        let _ = fs::remove_file(self.folder.with_extension("image"));
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}
