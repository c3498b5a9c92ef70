//! The two images of the one-node cluster, made here since there is no registry: a pause program that holds a Pod's
//! namespaces, and Debian with Squid in it.

use crate::cache::{self, cannot_write};
use crate::outcome::Outcome;
use crate::run::{self, Progress};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Changes when what is in the images changes.
const NAME: &str = "kube-node-images-1";

const BUILD_NEEDS_MIB: u64 = 1_500;

/// The pause program's source: it waits for a signal and collects the Pod's dead processes meanwhile.
const PAUSE: &str = include_str!("pause.go");

/// A folder with `pause.tar` and `squid.tar`, each a root file system.
pub(crate) fn images(progress: &Progress) -> Outcome<PathBuf> {
    if let Some(folder) = cache::existing(NAME)? {
        return Ok(folder);
    }
    cache::entry(NAME, BUILD_NEEDS_MIB, |result, work| {
        progress.say(&format!(
            "building the images of the one-node cluster, once, into {} (about 30 seconds)",
            cache::folder()?.join(NAME).display()
        ));
        let source = work.join("pause.go");
        fs::write(&source, PAUSE).map_err(|error| cannot_write(&source, &error))?;
        run::read(
            Command::new("/usr/lib/go-1.19/bin/go")
                .args(["build", "-ldflags", "-s -w", "-o", "pause", "pause.go"])
                .current_dir(work)
                .env("GO111MODULE", "off")
                .env("GOFLAGS", "")
                .env("GOROOT", "/usr/lib/go-1.19")
                .env("GOCACHE", work.join("objects"))
                .env("CGO_ENABLED", "0"),
        )?;
        run::read(
            Command::new("tar").arg("-cf").arg(result.join("pause.tar")).arg("pause").current_dir(work),
        )?;
        run::read(
            Command::new("mmdebstrap")
                .args(["--quiet", "--variant=minbase", "--include=squid"])
                // No sync after every file: what is cut off is built again anyway.
                .args(["--dpkgopt=force-unsafe-io", "bookworm", "squid.tar"])
                .current_dir(result),
        )
        .map(drop)
    })
}
