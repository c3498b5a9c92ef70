//! Points in time and deadlines. The clock that gives them is in `clock.rs`.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

/// A point in time, to the second or finer, in UTC; written as RFC 3339 (`2026-11-05T06:07:08Z`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Timestamp(jiff::Timestamp);

impl Timestamp {
    /// The start of the Unix epoch.
    pub const UNIX_EPOCH: Self = Self(jiff::Timestamp::UNIX_EPOCH);

    /// A point in time by seconds since the Unix epoch; what is out of range becomes the nearest that is not.
    pub fn from_unix(seconds: i64) -> Self {
        let limits = jiff::Timestamp::MIN.as_second()..=jiff::Timestamp::MAX.as_second();
        let seconds = seconds.clamp(*limits.start(), *limits.end());
        Self(jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::UNIX_EPOCH))
    }

    /// Seconds since the Unix epoch, fractions cut.
    pub fn as_unix(self) -> i64 {
        self.0.as_second()
    }

    /// This point in time and `how_long` more; stays at the end of time when it would pass it.
    pub fn after(self, how_long: Duration) -> Self {
        Self(self.0.saturating_add(how_long).unwrap_or(jiff::Timestamp::MAX))
    }

    /// How long ago `earlier` was; zero when it lies ahead.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::try_from(self.0.duration_since(earlier.0)).unwrap_or(Duration::ZERO)
    }

    /// The age of something whose creation time may be unknown: unknown counts as older than anything
    /// (`get.unknown-age-is-old`).
    ///
    /// ```
    /// use provider_api::Timestamp;
    /// use std::time::Duration;
    /// let now = Timestamp::from_unix(1_000);
    /// assert_eq!(Timestamp::age(now, Some(Timestamp::from_unix(940))), Duration::from_secs(60));
    /// assert_eq!(Timestamp::age(now, None), Duration::MAX);
    /// assert_eq!(Timestamp::age(now, Some(Timestamp::from_unix(2_000))), Duration::ZERO, "a clock that runs ahead");
    /// ```
    /// ```compile_fail
    /// # use provider_api::Timestamp;
    /// fn age(now: Timestamp, created_at: Option<Timestamp>) -> std::time::Duration { now.since(created_at) }
    /// ```
    pub fn age(now: Self, created_at: Option<Self>) -> Duration {
        created_at.map_or(Duration::MAX, |created_at| now.since(created_at))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A text that is no RFC 3339 point in time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an RFC 3339 point in time")]
pub struct BadTimestamp;

impl FromStr for Timestamp {
    type Err = BadTimestamp;
    fn from_str(text: &str) -> Result<Self, BadTimestamp> {
        text.parse().map(Self).map_err(|_| BadTimestamp)
    }
}

impl TryFrom<String> for Timestamp {
    type Error = BadTimestamp;
    fn try_from(text: String) -> Result<Self, BadTimestamp> {
        text.parse()
    }
}

impl From<Timestamp> for String {
    fn from(value: Timestamp) -> Self {
        value.to_string()
    }
}

impl From<jiff::Timestamp> for Timestamp {
    fn from(value: jiff::Timestamp) -> Self {
        Self(value)
    }
}

impl From<Timestamp> for jiff::Timestamp {
    fn from(value: Timestamp) -> Self {
        value.0
    }
}

/// A point on the monotonic clock by which an answer is due: what [`Checker::check`](crate::Checker::check) is given.
///
/// It means something on the clock that it was made with only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Duration);

impl Deadline {
    /// The deadline at a reading of [`Clock::monotonic`](crate::Clock::monotonic).
    pub fn at(monotonic: Duration) -> Self {
        Self(monotonic)
    }

    /// The deadline `how_long` from now.
    pub fn within(clock: &dyn crate::Clock, how_long: Duration) -> Self {
        Self(clock.monotonic().saturating_add(how_long))
    }

    /// What is left; zero once it has passed.
    pub fn remaining(self, clock: &dyn crate::Clock) -> Duration {
        self.0.saturating_sub(clock.monotonic())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_age_is_old() {
        let now = Timestamp::from_unix(1_000);
        assert_eq!(Timestamp::age(now, Some(Timestamp::from_unix(990))), Duration::from_secs(10));
        assert_eq!(Timestamp::age(now, Some(Timestamp::from_unix(1_010))), Duration::ZERO);
        assert_eq!(Timestamp::age(now, None), Duration::MAX);
    }

    #[test]
    fn text_round_trips() {
        let text = "2026-11-05T06:07:08Z";
        assert_eq!(text.parse::<Timestamp>().unwrap().to_string(), text);
        assert!("yesterday".parse::<Timestamp>().is_err());
        assert!(Timestamp::from_unix(i64::MAX) > Timestamp::from_unix(0));
    }
}
