//! Looks at what comes about by itself, with pauses between them.

use std::time::Duration;

use crate::world::World;

/// The shortest pause on a real backend; each one after it is twice as long, up to the whole one.
const SHORTEST: Duration = Duration::from_millis(100);
/// How much longer a real backend may take than a fake.
const SLOWER: u32 = 3;

/// So many looks with a pause between them. On a fake a pause costs nothing. On a real one what is waited for may be
/// there at once, so that the first pauses are short; in all there is more time.
#[derive(Debug)]
pub struct Looks {
    rounds: u32,
    pause: Duration,
    next: Option<Duration>,
    waited: Duration,
}

impl Looks {
    /// `rounds` looks, and `pause` between them.
    pub fn new(rounds: usize, pause: Duration) -> Self {
        Self { rounds: u32::try_from(rounds).unwrap_or(u32::MAX), pause, next: None, waited: Duration::ZERO }
    }

    /// Whether to look again, once it is time to; the first look is due at once.
    pub async fn again(&mut self, w: &World) -> bool {
        let Some(next) = self.next else {
            self.next = Some(if w.is_fake() { self.pause } else { SHORTEST.min(self.pause) });
            return self.rounds > 0;
        };
        let slower = if w.is_fake() { 1 } else { SLOWER };
        if self.waited + next >= self.pause * self.rounds.saturating_mul(slower) {
            return false;
        }
        w.pass(next).await;
        self.waited += next;
        self.next = Some((next * 2).min(self.pause));
        true
    }
}
