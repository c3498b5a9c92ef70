//! The profile and the error catalogue of the provider kvm2.
