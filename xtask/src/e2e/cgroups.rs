//! A cgroup of our own, so that what containers leave can be found and removed: in every hierarchy of cgroup v1, or in
//! the one of v2.

use super::reaper::Reaper;
use crate::cache::cannot_write;
use crate::outcome::{Outcome, Stop};
use std::fs;
use std::path::Path;

/// Makes one called `name`; the reaper removes it.
pub(super) fn make(reaper: &mut Reaper, name: &str) -> Outcome {
    let root = Path::new("/sys/fs/cgroup");
    if root.join("cgroup.controllers").exists() {
        // Whoever puts a process in it makes it.
        return reaper.cgroup(&root.join(name));
    }
    let entries = fs::read_dir(root)
        .map_err(|error| Stop::cannot(format!("cannot read {}: {error}", root.display())))?;
    for hierarchy in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        if !hierarchy.is_dir() || hierarchy.is_symlink() {
            continue;
        }
        let folder = hierarchy.join(name);
        reaper.cgroup(&folder)?;
        // In the hierarchy of cgroup v2, where it is mounted beside the others, runc makes its own.
        if hierarchy.ends_with("unified") {
            continue;
        }
        fs::create_dir(&folder).map_err(|error| cannot_write(&folder, &error))?;
        // A new cpuset is empty and takes no process until it has both.
        for file in ["cpuset.cpus", "cpuset.mems"] {
            if folder.join(file).exists() {
                let copied =
                    fs::read(hierarchy.join(file)).and_then(|value| fs::write(folder.join(file), value));
                copied.map_err(|error| cannot_write(&folder.join(file), &error))?;
            }
        }
    }
    Ok(())
}
