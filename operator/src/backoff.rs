//! How long to wait after failures in a row.

use std::time::Duration;

/// Doubles from `first` to `most`, and spreads each wait over its upper half, so that what failed together does not come
/// back together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// After the first failure.
    pub first: Duration,
    /// At most.
    pub most: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { first: Duration::from_secs(2), most: Duration::from_secs(5 * 60) }
    }
}

impl Backoff {
    /// The wait after so many failures in a row, of which there is at least one; `chance` is in `0.0..1.0`.
    pub fn after(&self, failures: u32, chance: f64) -> Duration {
        let doublings = failures.saturating_sub(1).min(20);
        let whole = self.first.saturating_mul(1 << doublings).min(self.most);
        whole.mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_up_to_the_most_and_is_spread_over_the_upper_half() {
        let backoff = Backoff::default();
        let whole: Vec<_> = (1..=10).map(|failures| backoff.after(failures, 1.0).as_secs()).collect();
        assert_eq!(whole, [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        assert_eq!(backoff.after(3, 0.0).as_secs(), 4);
        assert_eq!(backoff.after(u32::MAX, 1.0).as_secs(), 300);
    }
}
