//! What a host's refusals mean: in the handshake, at the end of a session, and of a channel.

use russh::ChannelOpenFailure;

use crate::{
    DialError, Stage,
    error::Errors,
    wire::{Wire, plain},
};

/// Why a session ended, in words that say no more than that.
pub(crate) fn ending(error: &russh::Error) -> String {
    match error {
        russh::Error::IO(error) => format!("the connection broke: {error}"),
        russh::Error::HUP | russh::Error::Disconnect => "the host closed the connection".to_owned(),
        error => format!("the SSH protocol failed: {}", plain(&error.to_string())),
    }
}

/// Why the handshake failed.
pub(crate) fn handshake_error(errors: &Errors, wire: &Wire, error: &russh::Error) -> DialError {
    let stage = Stage::Handshake;
    if let Some(code) = wire.goodbye() {
        return goodbye(errors, stage, code, wire);
    }
    let (greeted, said) = wire.greeting();
    match error {
        russh::Error::NoCommonAlgo { kind, ours, theirs } => {
            let (ours, theirs) = (ours.join(", "), plain(&theirs.join(", ")));
            let kind = format!("{kind:?}").to_lowercase();
            let what = format!("no {kind} algorithm in common: we offer {ours}; the host offers {theirs}");
            errors.unusable(stage, "SSH_DISCONNECT_KEY_EXCHANGE_FAILED", what)
        }
        russh::Error::WrongServerSig => {
            let what = "the host signed with another key than it showed".to_owned();
            errors.unauthorized(Stage::HostKey, "HostKeyMismatch", what)
        }
        russh::Error::Version => {
            errors.unreachable(stage, "Version", format!("whoever answers does not speak SSH 2: {said:?}"))
        }
        _ if !greeted => {
            let said = if said.is_empty() { String::new() } else { format!("; it said {said:?}") };
            let what = "the host closed the connection before its greeting: sshd drops some when many come at once \
                        (MaxStartups), and guards such as fail2ban do it too";
            errors.unreachable(stage, "closed before the version exchange", format!("{what}{said}"))
        }
        russh::Error::IO(error) => errors.io(stage, error),
        error => errors.unreachable(stage, "SSH_PROTOCOL", format!("{} during the handshake", ending(error))),
    }
}

/// The host ended it with a message of its own (RFC 4253, section 11.1).
pub(crate) fn goodbye(errors: &Errors, stage: Stage, code: u32, wire: &Wire) -> DialError {
    let why = wire.ended().unwrap_or_default();
    match code {
        1 => errors.unauthorized(stage, "SSH_DISCONNECT_HOST_NOT_ALLOWED_TO_CONNECT", &*why),
        3 => errors.unusable(stage, "SSH_DISCONNECT_KEY_EXCHANGE_FAILED", &*why),
        12 => errors.unreachable(stage, "SSH_DISCONNECT_TOO_MANY_CONNECTIONS", &*why),
        // How sshd answers too many attempts, or a user that it does not take.
        2 | 13..=15 if stage == Stage::Auth => {
            errors.unauthorized(stage, &format!("SSH_DISCONNECT_{code}"), &*why)
        }
        code => errors.unreachable(stage, &format!("SSH_DISCONNECT_{code}"), &*why),
    }
}

/// Why there is no channel to `path`.
pub(crate) fn channel_refusal(errors: &Errors, path: &str, failure: &ChannelOpenFailure) -> DialError {
    let stage = Stage::Channel;
    match failure {
        ChannelOpenFailure::AdministrativelyProhibited => errors.forbidden(
            stage,
            "SSH_OPEN_ADMINISTRATIVELY_PROHIBITED",
            format!("sshd forbids a channel to {path}: check AllowStreamLocalForwarding, DisableForwarding and the key's options"),
        ),
        ChannelOpenFailure::ConnectFailed => errors.unreachable(
            stage,
            "SSH_OPEN_CONNECT_FAILED",
            format!(
                "the host cannot connect to {path}: nothing listens there, the user may not use it, or sshd forbids it \
                 (AllowStreamLocalForwarding, DisableForwarding)"
            ),
        ),
        ChannelOpenFailure::ResourceShortage => {
            errors.unreachable(stage, "SSH_OPEN_RESOURCE_SHORTAGE", format!("the host is short of channels for {path}"))
        }
        ChannelOpenFailure::UnknownChannelType => errors.unusable(
            stage,
            "SSH_OPEN_UNKNOWN_CHANNEL_TYPE",
            format!("the SSH server cannot forward to unix sockets such as {path}; OpenSSH can since 6.7"),
        ),
        ChannelOpenFailure::Other { code, reason } => {
            let reason = plain(reason);
            errors.unreachable(stage, &format!("SSH_OPEN_{code}"), format!("the host refused a channel to {path}: {reason}"))
        }
    }
}
