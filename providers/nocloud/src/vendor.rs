//! Vendor data that providers may add.

/// Installs and starts the QEMU guest agent, beside whatever the user data asks for.
///
/// It is a script, not `#cloud-config`: there cloud-init drops a list of the vendor's, `packages` or `runcmd`, where the
/// user data has one of the same name, whatever `merge_how` says. It runs after the user's packages and before the
/// user's commands. Where the agent is there already it needs no network.
pub const GUEST_AGENT: &str = "\
#!/bin/sh
set -e
has() { command -v \"$1\" >/dev/null 2>&1; }
if ! has qemu-ga; then
  if has apt-get; then
    apt-get update -q
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q qemu-guest-agent
  elif has dnf; then
    dnf install -y -q qemu-guest-agent
  elif has yum; then
    yum install -y -q qemu-guest-agent
  elif has zypper; then
    zypper --non-interactive install qemu-guest-agent
  elif has apk; then
    apk add qemu-guest-agent
  else
    echo 'no package manager that is known; qemu-guest-agent is not installed' >&2
    exit 1
  fi
fi
if has systemctl; then
  systemctl start --no-block qemu-guest-agent
else
  rc-service qemu-guest-agent start
fi
";

#[cfg(test)]
mod tests {
    use super::*;

    /// cloud-init tells by the first line what it has.
    #[test]
    fn it_is_a_script_that_a_shell_can_read() {
        assert!(GUEST_AGENT.starts_with("#!/bin/sh\n"));
        let parsed = std::process::Command::new("sh").args(["-n", "-c", GUEST_AGENT]).status().unwrap();
        assert!(parsed.success());
    }
}
