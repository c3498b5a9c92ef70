//! What tests on a real host bring along, and the provider knows nothing of: OpenSSH's own way there, and a server of one
//! image.

pub(crate) mod image;
pub(crate) mod tunnel;
