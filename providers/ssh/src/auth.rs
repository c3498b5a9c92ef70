//! Logging in with the key.

use std::sync::Arc;

use russh::{
    MethodKind,
    client::{AuthResult, Handle},
    keys::{HashAlg, PrivateKeyWithHashAlg},
};

use crate::{
    DialError, Stage, Target, access::Material, ear::Ear, error::Errors, refusal::goodbye, wire::Wire,
};

/// Tries the key until the host lets us in or says no for good.
pub(crate) async fn authenticate(
    errors: &Errors,
    target: &Target,
    material: &Material,
    handle: &mut Handle<Ear>,
    wire: &Wire,
) -> Result<(), DialError> {
    // Which hash an RSA key may sign with a server says too late or not at all, so both are tried, never SHA-1.
    let hashes: &[_] = if material.key.algorithm().is_rsa() {
        &[Some(HashAlg::Sha512), Some(HashAlg::Sha256)]
    } else {
        &[None]
    };
    let mut offers = Vec::new();
    for hash in hashes {
        let key = PrivateKeyWithHashAlg::new(Arc::clone(&material.key), *hash);
        match handle.authenticate_publickey(target.user(), key).await {
            Ok(AuthResult::Success) => return Ok(()),
            Ok(AuthResult::Failure { remaining_methods, partial_success }) if wire.ended().is_none() => {
                if partial_success {
                    let what = format!("the host took the key and wants more than that of {}", target.user());
                    return Err(errors.unauthorized(Stage::Auth, "SSH_MSG_USERAUTH_FAILURE", what));
                }
                offers = remaining_methods.iter().map(|kind| <&str>::from(kind).to_owned()).collect();
                if !remaining_methods.contains(&MethodKind::PublicKey) {
                    break;
                }
            }
            Ok(_) | Err(_) => {
                if let Some(code) = wire.goodbye() {
                    return Err(goodbye(errors, Stage::Auth, code, wire));
                }
                let why = wire.ended().unwrap_or_else(|| "the connection ended".into());
                return Err(errors.unreachable(
                    Stage::Auth,
                    "ECONNRESET",
                    format!("{why}, while logging in"),
                ));
            }
        }
    }
    let offers = if offers.is_empty() { "nothing else".to_owned() } else { offers.join(", ") };
    let what =
        format!("the host refused the key {} for {}; it takes {offers}", material.shown_key, target.user());
    Err(errors.unauthorized(Stage::Auth, "SSH_MSG_USERAUTH_FAILURE", what))
}
