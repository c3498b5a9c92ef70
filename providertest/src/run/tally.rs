//! Collects the outcomes of cases into one report per rule, and those into verdicts.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use super::{
    Options,
    case::{Kind, Mode, Outcome},
};
use crate::{
    report::{ABSENT, BackendKind, Evidence, NOT_RUN, RuleReport, Status, Verdict},
    rule::{Level, Rule, Stop},
};

/// The outcomes so far, by setup and rule.
pub(super) struct Tally(Vec<Vec<Mutex<Count>>>);

#[derive(Default)]
struct Count {
    mode: Option<Mode>,
    cases: usize,
    backend_calls: usize,
    micros: u128,
    worst: Option<(Stop, Option<Evidence>)>,
    /// What the worst case ran, where it can be played again.
    broken: Option<Kind>,
    red: usize,
}

impl Tally {
    pub(super) fn new(setups: usize, rules: usize) -> Self {
        Self((0..setups).map(|_| (0..rules).map(|_| Mutex::default()).collect()).collect())
    }

    pub(super) fn add(&self, setup: usize, rule: usize, outcome: Outcome) {
        let mut count = self.0[setup][rule].lock().unwrap_or_else(PoisonError::into_inner);
        count.mode = Some(outcome.mode);
        count.cases += 1;
        count.backend_calls += outcome.backend_calls;
        count.micros += outcome.elapsed.as_micros();
        count.red += usize::from(outcome.is_red());
        if let Err(stop) = outcome.result {
            // The gravest is told; of equals the one with the shortest plan, so that a run's report is stable.
            let size = |evidence: &Option<Evidence>| {
                evidence.as_ref().map_or((0, String::new()), |e| (e.replay.len(), e.replay.clone()))
            };
            let rank =
                |stop: &Stop, evidence: &Option<Evidence>| (gravity(stop), std::cmp::Reverse(size(evidence)));
            let graver = count
                .worst
                .as_ref()
                .is_none_or(|(old, evidence)| rank(&stop, &outcome.evidence) > rank(old, evidence));
            if graver {
                count.worst = Some((stop, outcome.evidence));
                count.broken = outcome.broken;
            }
        }
    }

    /// The case of a rule that the report will tell, where it broke the rule and can be played again.
    pub(super) fn broken(&self, setup: usize, rule: usize) -> Option<Kind> {
        self.0[setup][rule].lock().unwrap_or_else(PoisonError::into_inner).broken.clone()
    }

    pub(super) fn rule(&self, setup: usize, index: usize, rule: &Rule) -> RuleReport {
        let mut count = self.0[setup][index].lock().unwrap_or_else(PoisonError::into_inner);
        let worst = count.worst.take();
        let (status, reason, mut evidence) = match worst {
            Some((Stop::Broken(text) | Stop::Error(text), evidence)) if rule.level == Level::Provisional => {
                (Status::Provisional, Some(text), evidence)
            }
            Some((Stop::Broken(text), evidence)) => (Status::Fail, Some(text), evidence),
            Some((Stop::Error(text), evidence)) => (Status::Error, Some(text), evidence),
            Some((Stop::Blocked(text), _)) => (Status::Blocked, Some(text), None),
            None => match count.mode {
                Some(Mode::Present) => (Status::Pass, None, None),
                Some(Mode::Absent) => {
                    let shows = rule.absent.map_or("it is absent", |absence| absence.shows);
                    (Status::Unsupported, Some(format!("{ABSENT}{shows}")), None)
                }
                Some(Mode::ByType) => (Status::ByType, Some("held by the compiler".into()), None),
                None => (Status::Blocked, Some(NOT_RUN.into()), None),
            },
        };
        if let Some(evidence) = &mut evidence {
            evidence.more = count.red.saturating_sub(1);
        }
        RuleReport {
            id: rule.id,
            level: rule.level,
            caller: rule.caller,
            says: rule.says,
            why: rule.why,
            status,
            reason,
            cases: count.cases,
            backend_calls: count.backend_calls,
            millis: u64::try_from(count.micros / 1_000).unwrap_or(u64::MAX),
            evidence,
        }
    }
}

/// Takes what fails as waived where the harness says why. A waiver that excuses nothing in any setup is an error; when
/// not all setups were run, `whole` says so, one of the others may need it.
pub(super) fn waive(setups: &mut [Vec<RuleReport>], waivers: &[(&'static str, &'static str)], whole: bool) {
    for (id, why) in waivers {
        let of_it = || setups.iter().flatten().filter(|rule| rule.id == *id);
        let broken = |status| matches!(status, Status::Fail | Status::Provisional);
        let excuses = of_it().any(|rule| broken(rule.status));
        // What was blocked, or went wrong in the suite, tells nothing about the waiver.
        let told = of_it().all(|rule| !matches!(rule.status, Status::Blocked | Status::Error));
        for rule in setups.iter_mut().flatten().filter(|rule| rule.id == *id) {
            let moot = match rule.status {
                Status::Fail | Status::Provisional => {
                    let seen = rule.reason.take().unwrap_or_default();
                    (rule.status, rule.reason) = (Status::Waived, Some(format!("{why} (seen: {seen})")));
                    continue;
                }
                Status::Pass => "holds",
                Status::Unsupported => "is unsupported here, and found to be",
                Status::ByType => "is held by the compiler",
                Status::Waived | Status::Blocked | Status::Error => continue,
            };
            if whole && told && !excuses {
                let text = format!("it is waived ({why}), but {moot}: take the waiver away");
                (rule.status, rule.reason) = (Status::Error, Some(text));
            }
        }
    }
}

fn gravity(stop: &Stop) -> u8 {
    match stop {
        Stop::Blocked(_) => 0,
        Stop::Broken(_) => 1,
        Stop::Error(_) => 2,
    }
}

/// How many rules have which status.
pub(super) fn counts(rules: &[RuleReport]) -> BTreeMap<Status, usize> {
    let mut counts = BTreeMap::new();
    for rule in rules {
        *counts.entry(rule.status).or_default() += 1;
    }
    counts
}

/// The verdict over one setup.
pub(super) fn verdict(rules: &[RuleReport], options: &Options) -> Verdict {
    // What was blocked was begun and not checked; what the compiler holds was not run; what is provisional and broken does
    // not count.
    let counts = |status| !matches!(status, Status::Blocked | Status::Provisional);
    let checked = |rule: &&RuleReport| rule.cases > 0 && counts(rule.status);
    let ran = rules.iter().filter(checked).count();
    let count = |status| rules.iter().filter(|rule| rule.status == status).count();
    let nothing_ran = ran == 0 || options.complete && ran == count(Status::ByType);
    let red = count(Status::Fail) + count(Status::Error);
    let must = |status| rules.iter().any(|rule| rule.level == Level::Must && rule.status == status);
    if nothing_ran || red > 0 || must(Status::Waived) {
        return Verdict::NotConformant;
    }
    match (options.backend, options.complete) {
        (BackendKind::Real, _) => Verdict::NoViolationFound { blocked: count(Status::Blocked) },
        (BackendKind::Fake, _) if must(Status::Blocked) => Verdict::NotConformant,
        (BackendKind::Fake, true) => Verdict::Conformant,
        (BackendKind::Fake, false) => {
            let moot = rules.iter().filter(checked);
            let moot = moot.filter(|rule| matches!(rule.status, Status::Unsupported | Status::ByType));
            Verdict::PartHolds { ran, moot: moot.count() }
        }
    }
}

/// The verdict over all setups: the worst of them.
pub(super) fn overall<'v>(verdicts: impl Iterator<Item = &'v Verdict>) -> Verdict {
    let rank = |verdict: &Verdict| match verdict {
        Verdict::Conformant => 0,
        Verdict::PartHolds { .. } => 1,
        Verdict::NoViolationFound { blocked } => 2 + blocked,
        Verdict::NotConformant => usize::MAX,
    };
    verdicts.max_by_key(|verdict| rank(verdict)).cloned().unwrap_or(Verdict::NotConformant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::rule;

    fn real() -> Options {
        Options { backend: BackendKind::Real, ..Options::all() }
    }

    #[test]
    fn a_run_in_which_everything_was_blocked_has_checked_nothing() {
        let blocked = || rule("create.idempotent", Status::Blocked);
        let by_type = || rule("errors.one-class", Status::ByType);
        for options in [real(), Options { complete: false, ..real() }, Options::all()] {
            assert_eq!(verdict(&[blocked(), blocked()], &options), Verdict::NotConformant);
        }
        assert_eq!(verdict(&[blocked(), by_type()], &real()), Verdict::NotConformant);
        let pass = rule("get.read-only", Status::Pass);
        assert_eq!(verdict(&[blocked(), pass], &real()), Verdict::NoViolationFound { blocked: 1 });
    }

    fn waived(setups: &[&[Status]], whole: bool) -> Vec<Vec<Status>> {
        let of = |status: &Status| rule("create.idempotent", *status);
        let mut setups: Vec<Vec<_>> =
            setups.iter().map(|statuses| statuses.iter().map(of).collect()).collect();
        waive(&mut setups, &[("create.idempotent", "it cannot"), ("get.read-only", "nor that")], whole);
        setups.iter().map(|rules| rules.iter().map(|rule| rule.status).collect()).collect()
    }

    #[test]
    fn a_waiver_that_waives_nothing_is_an_error() {
        for moot in [Status::Pass, Status::Unsupported, Status::ByType] {
            assert_eq!(waived(&[&[moot]], true), [[Status::Error]], "{moot}");
            // One of the setups that were not run may need it.
            assert_eq!(waived(&[&[moot]], false), [[moot]], "{moot}");
            // Another setup does need it.
            assert_eq!(waived(&[&[moot], &[Status::Fail]], true), [[moot], [Status::Waived]], "{moot}");
            assert_eq!(waived(&[&[moot], &[Status::Blocked]], true), [[moot], [Status::Blocked]], "{moot}");
        }
        assert_eq!(waived(&[&[Status::Error]], true), [[Status::Error]]);
    }

    #[test]
    fn what_is_provisional_and_broken_changes_no_verdict() {
        let provisional = || rule("get.read-only", Status::Provisional);
        let pass = || rule("create.idempotent", Status::Pass);
        let part = Options { complete: false, ..Options::all() };
        assert_eq!(verdict(&[pass(), provisional()], &Options::all()), Verdict::Conformant);
        assert_eq!(verdict(&[pass(), provisional()], &real()), Verdict::NoViolationFound { blocked: 0 });
        assert_eq!(verdict(&[pass(), provisional()], &part), Verdict::PartHolds { ran: 1, moot: 0 });
        // Asked for alone, nothing that counts was checked.
        assert_eq!(verdict(&[provisional()], &part), Verdict::NotConformant);
        assert_eq!(waived(&[&[Status::Provisional]], true), [[Status::Waived]]);
    }

    #[test]
    fn what_was_blocked_is_not_counted_as_checked() {
        let mut blocked = rule("create.idempotent", Status::Blocked);
        blocked.level = Level::Should;
        let part = Options { complete: false, ..Options::all() };
        let rules = [blocked, rule("get.read-only", Status::Pass)];
        assert_eq!(verdict(&rules, &part), Verdict::PartHolds { ran: 1, moot: 0 });
    }

    #[test]
    fn what_says_nothing_of_the_provider_is_told_apart() {
        let part = Options { complete: false, ..Options::all() };
        let [pass, absent, by_type] = [Status::Pass, Status::Unsupported, Status::ByType];
        let said = |statuses: &[Status]| {
            let rules: Vec<_> = statuses.iter().map(|status| rule("get.read-only", *status)).collect();
            verdict(&rules, &part).to_string()
        };
        assert_eq!(said(&[pass]), "1 rule checked, and it holds");
        assert_eq!(said(&[pass, pass]), "2 rules checked, and all hold");
        assert_eq!(
            said(&[pass, absent, pass, by_type]),
            "4 rules checked, and all hold, 2 of them as unsupported or by-type"
        );
        assert_eq!(
            said(&[absent]),
            "1 rule checked, and it says nothing of this provider: unsupported or by-type"
        );
        assert_eq!(
            said(&[absent, by_type]),
            "2 rules checked, and none says anything of this provider: all unsupported or by-type"
        );
    }
}
