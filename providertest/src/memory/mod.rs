//! The memory cloud and the provider over it: a reference backend that can take any profile.

/// What the memory provider sees of its cloud; saboteurs wrap it.
pub trait Cloud: Send + Sync + 'static {}

/// The profile of the memory provider when nothing else is asked for.
pub fn profile() -> provider_api::Profile {
    provider_api::Profile::plain("memory")
}
