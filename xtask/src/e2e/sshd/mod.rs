//! A real SSH server inside, with host keys of two types, and one user who may reach unix sockets and nothing else.
//! Everything is generated for the run and ends with it.

use super::inside::Inside;
use super::libvirtd::{GROUP, new_folder, write};
use super::process::Server;
use super::reaper::Reaper;
use crate::outcome::{Outcome, Stop};
use crate::run;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the server listens.
pub(super) const ADDRESS: &str = "127.0.0.1:2222";
/// Who logs in.
pub(super) const USER: &str = "egress";

/// The types of host keys; a client takes the one that it likes best.
const HOST_KEYS: [&str; 2] = ["ed25519", "rsa"];

/// What a client needs.
pub(super) struct Access {
    folder: PathBuf,
}

impl Access {
    /// The user's private key.
    pub(super) fn key(&self) -> PathBuf {
        self.folder.join("user")
    }

    /// The server's public keys, as OpenSSH keeps them.
    pub(super) fn known_hosts(&self) -> PathBuf {
        self.folder.join("known_hosts")
    }
}

/// Starts it; `logs` gets its log, `folder` its keys.
pub(super) fn start(
    inside: &Inside,
    reaper: &mut Reaper,
    logs: &Path,
    folder: &Path,
) -> Outcome<(Access, Server)> {
    let access = Access { folder: new_folder(&folder.join("ssh"), 0o700)? };
    let host_names = access.make_keys()?;
    write(&access.known_hosts(), &host_names)?;
    let config = access.folder.join("sshd_config");
    let text = include_str!("sshd_config").replace("FOLDER", &access.folder.display().to_string());
    write(&config, &text)?;
    add_user(inside, folder)?;
    inside.run("mkdir", &["-p", "-m", "755", "/run/sshd"])?;
    // The server reads it as that user, who cannot enter our folder.
    let keys = access.folder.join("authorized_keys").display().to_string();
    inside.run("install", &["-m", "644", &keys, "/run/authorized_keys"])?;
    let mut command = inside.command("/usr/sbin/sshd");
    let mut server = Server::start(reaper, logs, "sshd", command.args(["-D", "-e", "-f"]).arg(&config))?;
    server.wait_to_say("Server listening on 127.0.0.1")?;
    Ok((access, server))
}

impl Access {
    /// Makes all keys; returns the lines of `known_hosts`.
    fn make_keys(&self) -> Outcome<String> {
        let mut lines = String::new();
        for kind in HOST_KEYS {
            let public = self.make_key(&format!("host_{kind}"), kind)?;
            lines.push_str(&format!("[127.0.0.1]:2222 {public}\n"));
        }
        // It can forward and nothing else, whatever the server's own config says.
        let user = self.make_key("user", "ed25519")?;
        write(&self.folder.join("authorized_keys"), &format!("restrict,port-forwarding {user}\n"))?;
        Ok(lines)
    }

    /// Makes a key; returns its public half as type and base64.
    fn make_key(&self, name: &str, kind: &str) -> Outcome<String> {
        let path = self.folder.join(name);
        run::read(
            Command::new("ssh-keygen").args(["-q", "-t", kind, "-N", "", "-C", ""]).arg("-f").arg(&path),
        )?;
        let public = path.with_extension("pub");
        let text = fs::read_to_string(&public)
            .map_err(|error| Stop::cannot(format!("cannot read {}: {error}", public.display())))?;
        Ok(text.trim().to_owned())
    }
}

/// Lets the machine have one more user inside, who is in libvirt's group.
fn add_user(inside: &Inside, folder: &Path) -> Outcome {
    let read = |file| run::read(inside.command("cat").arg(file));
    let groups = read("/etc/group")?;
    let of_group = groups.lines().find_map(|line| line.strip_prefix(&format!("{GROUP}:")));
    let id = of_group.and_then(|rest| rest.split(':').nth(1)).ok_or_else(|| {
        Stop::cannot(format!(
            "there is no group {GROUP}, which Debian's libvirt packages bring: install them anew"
        ))
    })?;
    // Locked passwords begin with `!`, and sshd lets nobody in who has one: `*` is none.
    let user = format!("{USER}:*:64231:{id}::/nonexistent:/usr/sbin/nologin\n");
    let own = folder.join("passwd");
    write(&own, &format!("{}\n{user}", read("/etc/passwd")?.trim_end()))?;
    fs::set_permissions(&own, Permissions::from_mode(0o644))
        .map_err(|error| crate::cache::cannot_write(&own, &error))?;
    inside.run("mount", &["--bind", &own.display().to_string(), "/etc/passwd"])
}

#[cfg(test)]
mod tests {
    /// Only the path of the keys differs.
    #[test]
    fn the_docs_advise_what_is_tested() {
        let block = |text: &str| {
            let lines = text.lines().skip_while(|line| !line.starts_with("Match User"));
            let lines = lines.take_while(|line| line.starts_with("Match") || line.starts_with(' '));
            lines.filter(|line| !line.contains("AuthorizedKeysFile")).map(str::to_owned).collect::<Vec<_>>()
        };
        let tested = block(include_str!("sshd_config"));
        assert_eq!(tested.len(), 8);
        assert_eq!(block(include_str!("../../../../docs/kvm.md")), tested);
    }
}
