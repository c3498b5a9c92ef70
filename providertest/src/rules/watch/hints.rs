//! What the stream of hints is held to.

use std::time::Duration;

use futures::{
    FutureExt, StreamExt,
    future::{Either, select},
    stream::BoxStream,
};
use provider_api::{Class, Hint, Profile, StateKind, Wait, profile::WatchSupport};

use crate::{
    broken, hold,
    rule::{Absence, Applies, Caller, Check, Checked, Level, Rule, when},
    wire::Condition,
    world::World,
};

/// How long a hint, or a new connection, may take.
const PATIENCE: Duration = Duration::from_secs(120);

fn watched(profile: &Profile) -> Applies {
    when(profile.watch == WatchSupport::Hints)
}

async fn no_watch(w: &mut World) -> Checked {
    hold!(w.built().watch.is_none(), "the profile says that there are no hints, but the provider gives some");
    Ok(())
}

/// A stream, with what it has said.
struct Stream(BoxStream<'static, Hint>);

/// What a stream did within a time.
enum Said {
    Hint(Hint),
    Nothing,
    End,
}

impl Stream {
    fn open(w: &World) -> Checked<Self> {
        match &w.built().watch {
            Some(watch) => Ok(Self(watch.hints())),
            None => broken!("the profile says that there are hints, but the provider gives none"),
        }
    }

    /// Waits for one hint.
    async fn next(&mut self, w: &World, within: Duration) -> Checked<Said> {
        let timer = w.case().clock.sleep(within, Wait::Idle);
        let stream = &mut self.0;
        let said = w
            .alone(async move {
                match select(stream.next(), timer).await {
                    Either::Left((Some(hint), _)) => Said::Hint(hint),
                    Either::Left((None, _)) => Said::End,
                    Either::Right(_) => Said::Nothing,
                }
            })
            .await?;
        w.note(match &said {
            Said::Hint(hint) => format!("the stream says {hint:?}"),
            Said::Nothing => format!("the stream says nothing for {within:?}"),
            Said::End => "the stream ends".into(),
        });
        Ok(said)
    }

    /// Reads until nothing more comes for a moment; what came.
    async fn drain(&mut self, w: &World) -> Checked<Vec<Hint>> {
        let mut hints = Vec::new();
        loop {
            match self.next(w, Duration::from_secs(1)).await? {
                Said::Hint(hint) => hints.push(hint),
                Said::Nothing => return Ok(hints),
                Said::End => broken!("the stream of hints ended after {hints:?}"),
            }
            // A stream that never rests would make callers poll without end.
            hold!(hints.len() < 1_000, "the stream gave a thousand hints within a second each");
        }
    }

    /// Waits for a hint that suits.
    async fn until(&mut self, w: &World, what: &str, suits: impl Fn(&Hint) -> bool) -> Checked {
        let clock = &w.case().clock;
        let end = clock.monotonic() + PATIENCE;
        let mut seen = Vec::new();
        loop {
            match self.next(w, end.saturating_sub(clock.monotonic())).await? {
                Said::Hint(hint) if suits(&hint) => return Ok(()),
                Said::Hint(hint) => seen.push(hint),
                Said::Nothing if seen.is_empty() => {
                    broken!("{what}; within {PATIENCE:?} the stream said nothing")
                }
                Said::Nothing => broken!("{what}; within {PATIENCE:?} the stream said only {seen:?}"),
                Said::End => broken!("{what}; the stream ended after {seen:?}"),
            }
        }
    }
}

pub(super) const HINTS_ARE_NOT_TRUTH: Rule = Rule {
    id: "watch.hints-are-not-truth",
    level: Level::Must,
    says: "A hint only says where to look sooner: get and list answer the same whether hints are read, late or missed.",
    caller: Caller::Reconciler,
    applies: watched,
    check: Check::Case(|w| hints_are_not_truth(w).boxed()),
    absent: Some(Absence {
        check: |w| no_watch(w).boxed(),
        shows: "the provider gave out no stream of hints",
    }),
    why: "Streams break and lose events. A provider that answers get from what its stream has told shows for \
          ever an instance whose removal it missed.",
    tested: "Removes an instance while the stream is read: a hint must come, and get be NotFound. Then \
             breaks it unread, takes another's address and removes that one too: get and list must tell the \
             truth all the same, and get take every id that was hinted at. Where no hints are declared, the \
             provider must give none.",
    mend: "Let get and list ask the backend, or a shared listing no older than `listing_max_age`. Turn \
           events into `Hint::Changed` and into nothing else: no cache may wait for an event to be cleared.",
};

async fn hints_are_not_truth(w: &mut World) -> Checked {
    let mut stream = Stream::open(w)?;
    stream.drain(w).await?;
    let (first, first_id, _) = w.running().await?;
    let (second, second_id, _) = w.running().await?;
    // A hint of one's own doing may say where to look; it names an id that get knows, or all.
    for hint in stream.drain(w).await? {
        if let Hint::Changed(id) = &hint
            && let Err(error) = w.get(id).await?
        {
            hold!(
                error.class() == Class::NotFound,
                "the stream says {hint:?}, whose id get refuses: {error}"
            );
        }
    }
    // Changes come to be hinted at,
    w.hand().remove(&first.name).await?;
    let of_it = |hint: &Hint| *hint == Hint::Changed(first_id.clone()) || *hint == Hint::Resync;
    stream.until(w, &format!("{} was removed", first.name), of_it).await?;
    w.catch_up().await;
    w.is_gone(&first_id, "somebody else removed it, and a hint said so").await?;
    // and where no hint comes, because nobody reads the stream and it breaks meanwhile, the answers are as true.
    w.gets(&second_id).await?;
    w.hand().break_watch().await?;
    w.hand().set_addresses(&second.name, &[]).await?;
    w.catch_up().await;
    let state = w.gets(&second_id).await?.state;
    hold!(
        state.kind() == StateKind::Provisioning,
        "{} lost its address while the stream was broken; get still answers {state:?}",
        second.name
    );
    w.hand().remove(&second.name).await?;
    w.catch_up().await;
    w.is_gone(&second_id, "somebody else removed it while the stream was broken").await?;
    let listed = w.lists().await?.items;
    hold!(listed.is_empty(), "both are gone, and no hint was read; the listing has {listed:?}");
    Ok(())
}

pub(super) const RECONNECTS_AND_RESYNCS: Rule = Rule {
    id: "watch.reconnects-and-resyncs",
    level: Level::Must,
    says: "After a break the stream connects again by itself, and says Resync, since it may have missed something.",
    caller: Caller::Reconciler,
    applies: watched,
    check: Check::Case(|w| reconnects(w).boxed()),
    absent: Some(Absence {
        check: |w| no_watch(w).boxed(),
        shows: "the provider gave out no stream of hints",
    }),
    why: "The API server restarts, and the stream comes back. What happened meanwhile is in no event; \
          without Resync the reconciler learns of it only at its next slow round.",
    tested: "Breaks the stream twice, with an instance removed during the first break. Each time Resync must \
             come within two minutes; a later removal must be hinted at, by its id or by Resync. Where no \
             hints are declared, the provider must give none.",
    mend: "Say `Hint::Resync` after every connection but the first, however many there were, before any \
           other hint of it, and when the backend says that the stream's position is too old. After a break \
           pause with `Seam::pause` and connect again.",
};

async fn reconnects(w: &mut World) -> Checked {
    let (missed, _, _) = w.running().await?;
    let (later, later_id, _) = w.running().await?;
    let mut stream = Stream::open(w)?;
    stream.drain(w).await?;
    for (first, what) in [
        (true, "the stream was broken, and Resync was due"),
        (false, "the stream was broken a second time, and Resync was due again"),
    ] {
        w.hand().break_watch().await?;
        if first {
            w.hand().remove(&missed.name).await?;
        }
        stream.until(w, what, |hint| *hint == Hint::Resync).await?;
        stream.drain(w).await?;
    }
    w.hand().remove(&later.name).await?;
    let what = format!("{} was removed after the stream had come back", later.name);
    stream.until(w, &what, |hint| *hint == Hint::Changed(later_id.clone()) || *hint == Hint::Resync).await
}

pub(super) const NEVER_ENDS: Rule = Rule {
    id: "watch.never-ends",
    level: Level::Must,
    says: "The stream of hints never ends, whatever becomes of the backend.",
    caller: Caller::Reconciler,
    applies: watched,
    check: Check::Case(|w| never_ends(w).boxed()),
    absent: Some(Absence {
        check: |w| no_watch(w).boxed(),
        shows: "the provider gave out no stream of hints",
    }),
    why: "A stream that has ended looks like one without news. Callers fall back to slow polling, and nobody \
          notices until the next restart.",
    tested: "Breaks the stream again and again, on a fake with every target cut off or hanging for ten \
             minutes, then with refused credentials where the harness can. It must not end and not flood, \
             and must hint at a removal once all is mended. Where no hints are declared, the provider must \
             give none.",
    mend: "Turn every failure of the connection, refused credentials too, into a debug line, a `Seam::pause` \
           and a new attempt, in a `stream::unfold` that always goes on. Count no attempts and set no limit \
           to them. Read the credentials anew for each attempt.",
};

async fn never_ends(w: &mut World) -> Checked {
    let (request, id, _) = w.running().await?;
    let mut stream = Stream::open(w)?;
    stream.drain(w).await?;
    let mut breaks = 0;
    for _ in 0..3 {
        w.hand().break_watch().await?;
        stream.drain(w).await?;
        breaks += 1;
    }
    if w.is_fake() {
        let targets = w.backend().targets();
        for condition in [Condition::Cut, Condition::Hangs] {
            targets.iter().for_each(|target| w.wire().set_condition(target, Some(condition)));
            w.hand().break_watch().await?;
            breaks += 1;
            // Long enough for it to try again many times, and to give up if it ever does.
            let clock = &w.case().clock;
            let end = clock.monotonic() + Duration::from_secs(600);
            let mut said = 0;
            while clock.monotonic() < end {
                said += 1;
                hold!(said < 10_000, "while every target {condition}, the stream says more than can be read");
                if let Said::End = stream.next(w, end.saturating_sub(clock.monotonic())).await? {
                    broken!(
                        "the stream of hints came back after {} breaks and ended at the next, while every target \
                         {condition}; it was due to try again, without end",
                        breaks - 1
                    );
                }
            }
            targets.iter().for_each(|target| w.wire().set_condition(target, None));
        }
    }
    if w.hand().spoil_credentials(true).await.is_ok() {
        w.hand().break_watch().await?;
        if let Said::End = stream.next(w, PATIENCE).await? {
            broken!("with credentials that the backend refuses, the stream of hints ended");
        }
        w.hand().spoil_credentials(false).await?;
    }
    w.hand().remove(&request.name).await?;
    let what = format!("all is mended, and {} was removed", request.name);
    stream.until(w, &what, |hint| *hint == Hint::Changed(id.clone()) || *hint == Hint::Resync).await
}
