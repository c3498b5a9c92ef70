//! Our crates as packages: packed as for a registry, and unpacked where nothing else of this workspace is.

use super::standalone::KIT;
use crate::cache::cannot_write;
use crate::outcome::{Outcome, Stop};
use crate::run;
use crate::workspace::Workspace;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Packs the crates that an author depends on, and unpacks each into a folder of its name below `folder`.
///
/// Cargo does not build them here: whoever depends on what was unpacked does.
pub(super) fn unpack(workspace: &Workspace, folder: &Path) -> Outcome {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| cannot_write(folder, &error))?;
    }
    fs::create_dir_all(folder).map_err(|error| cannot_write(folder, &error))?;
    let mut cargo = workspace.cargo();
    // What is not committed yet is packed too, since it is what is tested.
    cargo.args(["package", "--locked", "--offline", "--no-verify", "--allow-dirty", "--quiet"]);
    for name in KIT {
        cargo.args(["-p", name]);
    }
    run::check(&mut cargo)?;
    for name in KIT {
        let version = workspace
            .version(name)
            .ok_or_else(|| Stop::cannot(format!("cargo knows no package {name}, which authors depend on")))?;
        let stem = format!("{name}-{version}");
        let packed = workspace.target.join("package").join(format!("{stem}.crate"));
        // Packed files are all of one old time, by which cargo would take changed ones for those that it has compiled.
        run::read(Command::new("tar").arg("-xzmf").arg(&packed).arg("-C").arg(folder))?;
        let (from, to) = (folder.join(&stem), folder.join(name));
        fs::rename(&from, &to).map_err(|error| cannot_write(&to, &error))?;
        for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            if !to.join(file).is_file() {
                return Err(Stop::failed(format!("the package {name} has no {file}")));
            }
        }
    }
    Ok(())
}
