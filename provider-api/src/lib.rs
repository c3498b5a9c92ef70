//! The provider contract as types.
