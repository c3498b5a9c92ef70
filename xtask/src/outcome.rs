//! How a command ends other than well: a sentence for a person and an exit code for a script.

/// What every command and step returns.
pub(crate) type Outcome<T = ()> = Result<T, Stop>;

/// Why a command ended, and with which exit code.
#[derive(Debug)]
pub(crate) struct Stop {
    /// 1 a check failed, 2 it could not run, 3 something was left out; others are a child's own.
    pub(crate) code: u8,
    /// One sentence that says what to do. Empty where the child has already said all.
    pub(crate) says: String,
}

impl Stop {
    /// A check ran and did not hold.
    pub(crate) fn failed(says: impl Into<String>) -> Self {
        Self { code: 1, says: says.into() }
    }

    /// Nothing was checked: the machine, the flags or the tree do not allow it.
    pub(crate) fn cannot(says: impl Into<String>) -> Self {
        Self { code: 2, says: says.into() }
    }

    /// What ran was well, but not all that was asked for ran.
    pub(crate) fn left_out(says: impl Into<String>) -> Self {
        Self { code: 3, says: says.into() }
    }

    /// A child's exit code, handed on.
    pub(crate) fn code(code: u8) -> Self {
        Self { code, says: String::new() }
    }
}
