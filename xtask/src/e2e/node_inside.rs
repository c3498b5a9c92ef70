//! What the one-node cluster finds inside: the machine's folders, written to in the run's own, the kernel's settings as
//! kubelet wants them, names that resolve without DNS, and a bridge that is the node's network.

use super::inside::Inside;
use crate::cache::cannot_write;
use crate::outcome::{Outcome, Stop};
use std::fs;
use std::path::{Path, PathBuf};

/// The node's address, on a bridge that has no other end.
pub(super) const ADDRESS: &str = "10.77.0.1";

/// Folders whose writes go to the run's folder instead of the machine's disk.
const OVERLAID: [&str; 4] = ["/var", "/etc", "/opt", "/usr/libexec"];

/// What kubelet writes for the whole machine; it leaves alone what already reads right.
const SYSCTLS: [(&str, &str); 6] = [
    ("vm/overcommit_memory", "1"),
    ("vm/panic_on_oom", "0"),
    ("kernel/panic", "10"),
    ("kernel/panic_on_oops", "1"),
    ("kernel/keys/root_maxkeys", "1000000"),
    ("kernel/keys/root_maxbytes", "25000000"),
];

/// Fails where `folder`, which takes what is written, would itself be covered.
pub(super) fn can_take(folder: &Path) -> Outcome {
    if let Some(above) = OVERLAID.iter().find(|above| folder.starts_with(above)) {
        return Err(Stop::cannot(format!(
            "{} lies under {above}, which is covered inside: set CARGO_TARGET_DIR to a folder elsewhere",
            folder.display()
        )));
    }
    Ok(())
}

/// Makes the inside a node; `folder` takes what is written.
pub(super) fn furnish(inside: &Inside, folder: &Path) -> Outcome {
    mount(inside, folder)?;
    connect(inside)
}

fn mount(inside: &Inside, folder: &Path) -> Outcome {
    for lower in OVERLAID.iter().filter(|lower| Path::new(lower).is_dir()) {
        let upper = new_folder(folder.join(format!("overlay{}", lower.replace('/', "-"))))?;
        let work = new_folder(upper.with_extension("work"))?;
        let options = format!("lowerdir={lower},upperdir={},workdir={}", upper.display(), work.display());
        inside.run("mount", &["-t", "overlay", "overlay", "-o", &options, lower]).map_err(|stop| {
            Stop::cannot(format!(
                "{}: {} lies on a file system that an overlay cannot write to (it takes ext4 or xfs); set \
                 CARGO_TARGET_DIR to one that is",
                stop.says,
                folder.display()
            ))
        })?;
    }
    inside.run("mount", &["-t", "tmpfs", "tmpfs", "/run"])?;
    inside.run("mkdir", &["-p", "/run/lock"])?;
    let values = new_folder(folder.join("sysctl"))?;
    for (name, value) in SYSCTLS {
        let file = values.join(name.replace('/', "-"));
        fs::write(&file, value).map_err(|error| cannot_write(&file, &error))?;
        inside.run("mount", &["--bind", &file.display().to_string(), &format!("/proc/sys/{name}")])?;
    }
    // No DNS inside: a refusal at once, where a lost packet would be a wait.
    inside.run("sh", &["-c", "echo nameserver 127.0.0.1 >/etc/resolv.conf"])?;
    inside.run("sh", &["-c", &format!("printf '127.0.0.1 localhost\\n{ADDRESS} n1\\n' >/etc/hosts")])?;
    inside.run("mount", &["--make-rshared", "/"])
}

fn connect(inside: &Inside) -> Outcome {
    inside.run("ip", &["link", "add", "node0", "type", "bridge"])?;
    inside.run("ip", &["address", "add", &format!("{ADDRESS}/24"), "dev", "node0"])?;
    inside.run("ip", &["link", "set", "node0", "up"])?;
    inside.run("ip", &["route", "add", "default", "dev", "node0"])
}

fn new_folder(folder: PathBuf) -> Outcome<PathBuf> {
    fs::create_dir_all(&folder).map_err(|error| cannot_write(&folder, &error))?;
    Ok(folder)
}
