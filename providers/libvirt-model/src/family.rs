//! Whose domains and volumes something is: the two providers keep apart what they make.

/// What tells one provider's domains and volumes from the other's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    /// In the names of its volumes.
    pub tag: &'static str,
    /// The namespace of its metadata element.
    pub namespace: &'static str,
}

/// What kvm makes.
pub const KVM: Family = Family { tag: "kvm", namespace: "urn:proxy-operator:kvm" };

/// What kvm2 makes.
pub const KVM2: Family = Family { tag: "kvm2", namespace: "urn:proxy-operator:kvm2" };
