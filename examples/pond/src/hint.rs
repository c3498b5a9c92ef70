//! When to come back, as the headers of a refusal say it: in some seconds, or at a time.

use std::time::Duration;

use provider_api::Timestamp;
use reqwest::header::{HeaderMap, RETRY_AFTER};

/// When to come back. A time stays one until the error is made: the clock is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hint {
    /// In so long.
    In(Duration),
    /// At that time.
    At(Timestamp),
}

impl Hint {
    /// What a refusal says in `Retry-After`, where it has that.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let text = headers.get(RETRY_AFTER)?.to_str().ok()?;
        text.parse()
            .map_or_else(|_| date(text).map(Self::At), |seconds| Some(Self::In(Duration::from_secs(seconds))))
    }

    /// How long that is, seen from now: none where the time is over.
    pub(crate) fn wait(self, now: Timestamp) -> Duration {
        match self {
            Self::In(how_long) => how_long,
            // It has whole seconds, and nobody is to come too early for a part of one.
            Self::At(time) => time.since(Timestamp::from_unix(now.as_unix())),
        }
    }
}

/// A date as HTTP has it: `Sun, 06 Nov 1994 08:49:37 GMT`.
fn date(text: &str) -> Option<Timestamp> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let [_, day, month, year, time, "GMT"] = text.split(' ').collect::<Vec<_>>()[..] else { return None };
    let month = MONTHS.iter().position(|known| *known == month)? + 1;
    format!("{year}-{month:02}-{day}T{time}Z").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_a_time_from_now() {
        let hint = |name: &'static str, text: &str| {
            let headers = HeaderMap::from_iter([(name.parse().unwrap(), text.parse().unwrap())]);
            let hint = Hint::of(&headers);
            hint.map(|hint| hint.wait("1994-11-06T08:49:07.5Z".parse().unwrap()).as_secs())
        };
        for (text, seconds) in [
            ("120", Some(120)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(30)),
            ("Sun, 06 Nov 1994 08:49:00 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:49:37", None),
            ("soon", None),
        ] {
            assert_eq!(hint("retry-after", text), seconds, "{text}");
        }
    }
}
