//! Plans by chance: what people do, and what goes wrong, mostly around what they do.

use std::time::Duration;

use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};

use crate::plan::{Deed, Fault, Mishap, Plan, Scribble, Setup, Spoil};

impl Plan {
    /// A plan by chance: so many Proxies through their lives within `length`, and faults for two thirds of it.
    pub fn random(seed: u64, proxies: u32, length: Duration) -> Self {
        let mut chance = StdRng::seed_from_u64(seed);
        let length = u64::try_from(length.as_millis()).unwrap_or(u64::MAX / 2);
        let setups = [Setup::Submit, Setup::Blocking, Setup::Plain];
        let setup = *setups.choose(&mut chance).unwrap_or(&Setup::Plain);
        let mut plan = Self::calm(seed, setup, Vec::new(), length);
        plan.operators = if chance.random_bool(0.4) { 2 } else { 1 };
        let until = length * 2 / 3;
        for proxy in 0..proxies {
            plan.live(proxy, proxies, until, &mut chance);
        }
        plan.script.sort_by_key(|(at, _)| *at);
        for operator in 0..plan.operators {
            if chance.random_bool(0.3) {
                let (offset, rate) = (chance.random_range(-1_200..1_200), chance.random_range(975..=1025));
                plan.faults.push(Fault::Skew { operator, offset, rate });
            }
        }
        for _ in 0..chance.random_range(0..5_u32) {
            let fault = plan.fault(until, &mut chance);
            plan.faults.push(fault);
        }
        plan
    }

    fn live(&mut self, proxy: u32, proxies: u32, until: u64, chance: &mut StdRng) {
        let mut at = chance.random_range(0..until / 3);
        self.script.push((at, Deed::Create(proxy)));
        for _ in 0..chance.random_range(0..5_u32) {
            // Often while what was asked for last is still under way.
            let most = if chance.random_bool(0.4) { 30_000.min(until / 4) } else { until / 4 };
            at += chance.random_range(1..most);
            let deed = deed(proxy, proxies, chance);
            let mended = at + chance.random_range(1..120_000);
            match &deed {
                Deed::Spoil(..) => self.script.push((mended, Deed::Revert(proxy))),
                Deed::Scribble(_, Scribble::Provider) => {
                    self.script.push((mended, Deed::Scribble(proxy, Scribble::NoInstance)));
                }
                Deed::Unmake(_) => self.script.push((mended, Deed::Rotate(proxy))),
                Deed::Annotate(_, key, Some(_)) if key.ends_with("paused") => {
                    self.script.push((mended, Deed::Annotate(proxy, key.clone(), None)));
                }
                _ => {}
            }
            self.script.push((at.min(until), deed));
        }
        if chance.random_bool(0.5) {
            at += chance.random_range(1..until / 4);
            if chance.random_bool(0.1) {
                let skip = ("crawl.example.com/skip-cleanup".to_owned(), Some("true".to_owned()));
                self.script.push((at.min(until), Deed::Annotate(proxy, skip.0, skip.1)));
            }
            self.script.push((at.min(until), Deed::Delete(proxy)));
            match chance.random_range(0..4) {
                0 => self.script.push((at.min(until) + chance.random_range(1..30_000), Deed::Unhold(proxy))),
                // The name once more.
                1 => self.script.push((at.min(until) + chance.random_range(1..120_000), Deed::Create(proxy))),
                _ => {}
            }
        }
    }

    fn fault(&self, until: u64, chance: &mut StdRng) -> Fault {
        let operator = chance.random_range(0..self.operators);
        // Most things go wrong around what people do.
        let around = self.script.choose(chance).map_or(0, |(at, _)| *at).min(until * 3 / 4);
        let from = match chance.random_bool(0.6) {
            true => around.saturating_sub(chance.random_range(0..2_000)) + chance.random_range(0..30_000),
            false => chance.random_range(0..until * 3 / 4),
        };
        let until = from + chance.random_range(1..until / 4);
        let provider = chance.random_range(0..2);
        let zone = chance.random_bool(0.3).then(|| format!("z{}", chance.random_range(1..=3)));
        match chance.random_range(0..19) {
            0 | 1 => Fault::Storm { from, until, percent: chance.random_range(2..40) },
            2 | 3 => Fault::Crash {
                operator,
                at: from,
                away: chance.random_range(100..120_000),
                behind: match chance.random_range(0..4) {
                    0 => 0,
                    // From just after what was done there.
                    1 | 2 => from.saturating_sub(around) + chance.random_range(0..500),
                    _ => chance.random_range(1..60_000),
                },
            },
            4 | 5 => Fault::Request {
                operator,
                number: chance.random_range(0..12 * (1 + self.script.len() as u32)),
                how: *Mishap::ALL.choose(chance).unwrap_or(&Mishap::Crash),
            },
            6 => Fault::Frozen { operator, from, until: until.min(from + 300_000) },
            7 => Fault::ApiDown { from, until: until.min(from + 300_000) },
            8 => Fault::Cut { operator, from, until: until.min(from + 300_000) },
            9 | 10 => Fault::Outage { provider, zone, from, until: until.min(from + 600_000) },
            11 => Fault::Hang { provider, zone, from, until: until.min(from + 300_000) },
            12 => Fault::Slow {
                provider,
                zone,
                from,
                until,
                takes: chance.random_bool(0.7).then(|| chance.random_range(1_000..90_000)),
            },
            13 | 14 => {
                let by = if chance.random_bool(0.5) { 20_000 } else { 600_000 };
                Fault::Late { provider, from, until, by: chance.random_range(1..by) }
            }
            15 => Fault::Jump { operator, at: from, by: chance.random_range(-1_200..1_200) },
            16 => Fault::Stop { operator, at: from, away: chance.random_range(100..120_000) },
            17 => Fault::Breaks {
                operator,
                from,
                until,
                percent: chance.random_range(2..40),
                behind: chance.random_range(0..3_000),
            },
            _ => Fault::Blind { operator, from, until },
        }
    }
}

/// Something that people do to a Proxy that is there.
fn deed(proxy: u32, proxies: u32, chance: &mut StdRng) -> Deed {
    let annotate = |key: &str, value: &str| {
        Deed::Annotate(proxy, format!("crawl.example.com/{key}"), Some(value.to_owned()))
    };
    match chance.random_range(0..20) {
        0..4 => Deed::Edit(proxy),
        4 | 5 => Deed::Revert(proxy),
        6 | 7 => Deed::Move(proxy),
        8 => Deed::Place(proxy, chance.random_range(0..3)),
        9 | 10 => Deed::Spoil(proxy, *Spoil::ALL.choose(chance).unwrap_or(&Spoil::Port)),
        11 => Deed::Rotate(proxy / 3 * 3),
        12 => Deed::Unmake(proxy / 3 * 3),
        13 => Deed::Stop(proxy),
        14 => Deed::Remove(proxy),
        15 => annotate("paused", "true"),
        16 => match chance.random_range(0..3) {
            0 => annotate("retry", &"now".repeat(80_000)),
            1 => Deed::Annotate(proxy, "x".repeat(317), Some("y".repeat(200_000))),
            _ => annotate("retry", "now"),
        },
        17 if proxies > 1 => Deed::Scribble(proxy, Scribble::AnothersId),
        _ => Deed::Scribble(proxy, *Scribble::ALL.choose(chance).unwrap_or(&Scribble::Empty)),
    }
}
