//! The one folder outside `target/` that xtask writes to: server binaries and images, keyed by version.

use crate::e2e::reaper::Reaper;
use crate::outcome::{Outcome, Stop};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// `$XDG_CACHE_HOME/egress-providers`, or the same under `~/.cache`.
pub(crate) fn folder() -> Outcome<PathBuf> {
    let base = match env::var_os("XDG_CACHE_HOME").filter(|value| Path::new(value).is_absolute()) {
        Some(base) => PathBuf::from(base),
        None => env::var_os("HOME")
            .map(|home| PathBuf::from(home).join(".cache"))
            .ok_or_else(|| Stop::cannot("there is no cache folder: set HOME or XDG_CACHE_HOME"))?,
    };
    Ok(base.join("egress-providers"))
}

/// The entry `name`, if it is there.
pub(crate) fn existing(name: &str) -> Outcome<Option<PathBuf>> {
    Ok(Some(folder()?.join(name)).filter(|entry| entry.is_dir()))
}

/// The entry `name`, filled by `fill` unless it is there already. `fill` is given the folder that becomes the entry
/// when all went well, and one for its work; a build that is cut off leaves neither.
pub(crate) fn entry(
    name: &str,
    needs_mib: u64,
    fill: impl FnOnce(&Path, &Path) -> Outcome,
) -> Outcome<PathBuf> {
    let folder = folder()?;
    let entry = folder.join(name);
    if entry.is_dir() {
        return Ok(entry);
    }
    let partial = folder.join(format!("{name}.partial-{}", std::process::id()));
    let mut reaper = Reaper::start()?;
    reaper.folder(&partial)?;
    let (result, work) = (partial.join("result"), partial.join("work"));
    for folder in [&result, &work] {
        fs::create_dir_all(folder).map_err(|error| cannot_write(folder, &error))?;
    }
    enough_space(&folder, needs_mib)?;
    fill(&result, &work)?;
    match fs::rename(&result, &entry) {
        // Somebody else was faster; theirs is as good.
        Err(_) if entry.is_dir() => {}
        renamed => renamed.map_err(|error| cannot_write(&entry, &error))?,
    }
    // Gigabytes in small files: some disks take minutes to remove them, and nobody has to wait for that.
    reaper.let_go();
    Ok(entry)
}

/// A write that failed, said so that a full disk is told from a missing right.
pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> Stop {
    let advice = match error.kind() {
        io::ErrorKind::StorageFull => "the disk is full: free some space and run it again".to_owned(),
        io::ErrorKind::PermissionDenied => "no right to write there: run it as the folder's owner".to_owned(),
        _ => error.to_string(),
    };
    Stop::cannot(format!("cannot write {}: {advice}", path.display()))
}

fn enough_space(folder: &Path, needs_mib: u64) -> Outcome {
    // A machine without `df` is not stopped here: the write itself would say that the disk is full.
    let Ok(output) = Command::new("df").arg("-Pk").arg(folder).output() else { return Ok(()) };
    match free_mib(&String::from_utf8_lossy(&output.stdout)) {
        Some(free) if free < needs_mib => Err(Stop::cannot(format!(
            "{} needs {needs_mib} MiB for this build and has {free}: free some space, or set XDG_CACHE_HOME to a \
             larger disk",
            folder.display()
        ))),
        _ => Ok(()),
    }
}

fn free_mib(df: &str) -> Option<u64> {
    let kib: u64 = df.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()?;
    Some(kib / 1024)
}

#[cfg(test)]
mod tests {
    use super::free_mib;

    #[test]
    fn reads_the_free_space_that_df_prints() {
        let df = "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/vda 263940717 1 83886080 14% /\n";
        assert_eq!(free_mib(df), Some(81920));
        assert_eq!(free_mib("df: no such file\n"), None);
    }
}
