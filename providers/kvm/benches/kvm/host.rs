//! The host, as the environment says where it is, with a pool of the benchmark's own in memory: no disk is measured.

use std::{
    env, fmt,
    fs::{self, File, Permissions},
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{self, Command},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use provider_api::{
    Built, Context, CreateRequest, Identity, InstallationId, Owner, Placement, ProviderName, Registry,
    Secret, SystemClock, TokioSpawner, Uid,
};
use provider_kvm::{TYPE, register};
use serde_json::json;

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

    /// The provider, with one image in its catalogue.
    pub(crate) fn provider(&self, way: Way, url: &str, sha256: &str, mib: u64) -> Built {
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
        let block = json!({
            "sshKeyFile": offered("KVM_TEST_SSH_KEY_FILE"),
            "knownHostsFile": offered("KVM_TEST_KNOWN_HOSTS_FILE"),
            "allowEmulation": true,
            "diskSizeGb": mib.div_ceil(1024),
            "images": {"image": image},
            "machineTypes": {"small": {"vcpus": 1, "memoryMiB": 128}},
            "hosts": [host],
        });
        let config = json!({"providers": [{"name": "bench", "type": TYPE, TYPE: block}]});
        let mut registry = Registry::default();
        register(&mut registry);
        let surroundings = |name: &ProviderName| {
            let identity = Identity::new(InstallationId::parse("bench").unwrap());
            Context::new(name.clone(), identity, Arc::<SystemClock>::default(), Arc::new(TokioSpawner))
        };
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

    /// Lets `virsh` fill a volume from a file in memory, and says how long that took.
    pub(crate) fn vol_upload(&self, mib: u64) -> Duration {
        let path = self.folder.with_extension("image");
        let (mut file, block) = (File::create(&path).unwrap(), server::block());
        for _ in 0..mib {
            file.write_all(&block).unwrap();
        }
        let (pool, size) = (&*self.pool, format!("{mib}MiB"));
        virsh(&["vol-create-as", pool, "volume", &size, "--allocation", "0", "--format", "raw"]);
        let took = timed(|| virsh(&["vol-upload", "--pool", pool, "volume", path.to_str().unwrap()]));
        virsh(&["vol-delete", "--pool", pool, "volume"]);
        fs::remove_file(&path).unwrap();
        took
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        virsh(&["pool-destroy", &self.pool]);
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}
