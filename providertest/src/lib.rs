//! The provider contract as checks.
