//! Whether it matters how a Proxy came to be what it is: it must not. One that was asked to be A and then B ends like one that
//! was only ever asked to be B; one whose spec was refused in between ends as if it had not been; and while it is refused
//! everything stays as it was.

use crate::{
    plan::{Deed, Plan, Setup, Spoil},
    saboteur::Build,
    watchdog::{Invariant, Violation},
    world::{Outcome, play},
};

/// Two plans that must end alike.
#[derive(Clone, Debug)]
pub struct Pair {
    /// What it shows.
    pub shows: Shows,
    /// The long way.
    pub long: Plan,
    /// The short way.
    pub short: Plan,
}

/// What two plans show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// A then B ends like B alone.
    PathIndependence,
    /// A, B, and A again ends like A alone.
    Rollback,
    /// A refused spec changes nothing while it stands.
    RefusedEdit,
    /// A refused spec that is mended leaves nothing behind.
    MendedEdit,
}

/// How many specs there are: each of four fields has two values.
pub const SPECS: u32 = 16;

const MINUTE: u64 = 60_000;
/// How long it takes until a Proxy is what it was asked to be; and a while in which it is not yet.
const GAPS: [u64; 2] = [3 * MINUTE, 700];

/// Every pair over the specs below `specs`, on every kind of backend.
pub fn pairs(specs: u32) -> Vec<Pair> {
    let setups = [Setup::Submit, Setup::Blocking, Setup::Plain];
    setups.into_iter().flat_map(|setup| of(setup, specs)).collect()
}

fn of(setup: Setup, specs: u32) -> Vec<Pair> {
    let plan = |deeds: &[(u64, Deed)]| {
        let begin = [(1_000, Deed::Create(1))].into_iter();
        Plan::calm(11, setup, begin.chain(deeds.iter().cloned()).collect(), 12 * MINUTE)
    };
    let ask = |at: u64, spec: u32| (1_000 + at, Deed::Ask(1, spec));
    let mut pairs = Vec::new();
    for gap in GAPS {
        for a in 0..specs {
            for b in (0..specs).filter(|b| *b != a) {
                pairs.push(Pair {
                    shows: Shows::PathIndependence,
                    long: plan(&[ask(0, a), ask(gap, b)]),
                    short: plan(&[ask(0, b)]),
                });
                pairs.push(Pair {
                    shows: Shows::Rollback,
                    long: plan(&[ask(0, a), ask(gap, b), ask(2 * gap, a)]),
                    short: plan(&[ask(0, a)]),
                });
            }
        }
    }
    for spoil in Spoil::ALL {
        let spoils = (1_000 + GAPS[0], Deed::Spoil(1, spoil));
        let short = plan(&[ask(0, 0)]);
        // A provider that nobody has configured is nothing that a spec is refused for: the instance goes there.
        if !matches!(spoil, Spoil::Provider) {
            pairs.push(Pair {
                shows: Shows::RefusedEdit,
                long: plan(&[ask(0, 0), spoils.clone()]),
                short: short.clone(),
            });
        }
        pairs.push(Pair {
            shows: Shows::MendedEdit,
            long: plan(&[ask(0, 0), spoils, ask(2 * GAPS[0], 0)]),
            short,
        });
    }
    pairs
}

impl Pair {
    /// Plays both. What differs, and whatever else is broken.
    pub fn play(&self, build: Build) -> Vec<Violation> {
        let (long, short) = (play(&self.long, build, false), play(&self.short, build, false));
        let mut violations = long.violations.clone();
        violations.extend(short.violations.iter().cloned());
        if let Some(what) = self.differs(&long, &short) {
            violations.push(Violation { invariant: Invariant::PathIndependence, at: long.took, what });
        }
        violations
    }

    fn differs(&self, long: &Outcome, short: &Outcome) -> Option<String> {
        let (mut ends, mut wanted) = (long.end.clone(), short.end.clone());
        if self.shows == Shows::RefusedEdit {
            // It says so, and asks for something else.
            for one in ends.0.values_mut().chain(wanted.0.values_mut()) {
                one.spec = serde_json::Value::Null;
                one.conditions
                    .retain(|(kind, ..)| *kind != proxy_operator::resource::ConditionKind::Progressing);
            }
            if long.lives != short.lives {
                return Some(format!(
                    "a refused spec: {:?} lives, and without {:?}",
                    long.lives, short.lives
                ));
            }
        }
        (ends != wanted)
            .then(|| format!("{:?}: it ends as {ends:?}, and the short way as {wanted:?}", self.shows))
    }
}
