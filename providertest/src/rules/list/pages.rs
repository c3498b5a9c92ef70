//! Listings that come in pages, also while something comes or goes between two of them.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use provider_api::{Error, Listing, Name, Profile, Wait};

use super::names;
use crate::{
    broken,
    harness::Planted,
    hold,
    rule::{Absence, Applies, Caller, Check, Checked, Level, Rule, Stop, when},
    world::{Tweaks, World},
};

pub(super) const ALL_PAGES: Rule = Rule {
    id: "list.all-pages",
    level: Level::Must,
    says: "A listing goes on to the last page, and has every instance once, whatever comes or goes meanwhile.",
    caller: Caller::Collector,
    applies: pages,
    check: Check::Case(|w| all_pages(w).boxed()),
    absent: Some(Absence {
        check: |w| no_pages(w).boxed(),
        shows: "the harness could serve no pages, and one answer had all instances",
    }),
    why: "A client that ignored the page token saw the first five hundred instances only. The others are \
          never collected and never counted, and look gone to whoever searches in the listing. So does what \
          moves to a page that was read already, when something before it goes.",
    tested: "Has twenty-five instances listed, five made by create and the others planted with our mark, \
             in pages of one, two and five, and where the harness can serve those, in pages of five with an \
             empty one before each. The listing must have all of them, once, and must have taken as many \
             calls as there are pages. Then, on a fake, a third of them goes while a listing is half-way, \
             and others come during the next: what stands all the time must be listed, and nothing twice. Where listings are declared to come without pages, the harness must \
             be unable to serve any, and one answer must have all five.",
    mend: "Follow the token until the backend gives none; a page may be short or empty before that, and no number \
           of pages is the last. When a token goes bad, drop what was read and begin anew, a bounded number of times, and then answer the \
           error. Pages by number shift: begin anew too when the total that comes with each has changed.",
};

fn pages(profile: &Profile) -> Applies {
    when(profile.listing_pages)
}

/// How many instances there are at least; in pages of one, as many pages.
const MANY: usize = 25;

async fn all_pages(w: &mut World) -> Checked {
    w.hand().set_page_size(1).await?;
    let mut made = five(w).await?;
    while made.len() < MANY {
        let planted = one_of_ours(w);
        w.hand().plant(&planted).await?;
        made.push(planted.name);
    }
    made.sort();
    let mut in_pages_of_one = Calls::default();
    for (size, pages_each) in [(1, 1), (2, 1), (5, 2)] {
        let empty = pages_each == 2 && w.hand().serve_empty_pages().await.is_ok();
        let (pages_each, with) = if empty { (2, ", each after an empty one,") } else { (1, "") };
        if !empty {
            w.hand().set_page_size(size).await?;
        }
        // Where the provider names the size, it reads it from its config.
        w.restart(&Tweaks::default())?;
        w.catch_up().await;
        let (moment, count) = (w.moment(), w.wire().call_count());
        let listed = names(&w.lists().await?);
        if size == 1 {
            in_pages_of_one = calls_since(w, count);
        }
        let lacks: Vec<_> = made.iter().filter(|name| !listed.contains(name)).collect();
        hold!(
            listed == made,
            "in pages of {size}{with} the listing has {} names of {} after {} calls{}",
            listed.len(),
            made.len(),
            w.cost(moment),
            few(&lacks)
        );
        let (calls, pages) = (w.cost(moment), pages_each * made.len().div_ceil(size) as u64);
        if calls < pages {
            return Err(Stop::Error(format!(
                "pages of {size}{with} make {pages} pages, but the listing took {calls} calls: the harness served no such \
                 pages"
            )));
        }
    }
    // Nobody can tell how far a real backend has come.
    if w.is_fake() { change_meanwhile(w, made, &in_pages_of_one).await } else { Ok(()) }
}

/// What somebody with our mark makes costs less than a create, and is listed like one.
fn one_of_ours(w: &mut World) -> Planted {
    let uid = w.uid();
    w.marked(Name::from_uid(&uid).as_str(), &uid, &w.identity().installation.clone())
}

/// How many calls of each kind there were at each target.
type Calls = BTreeMap<(String, String), usize>;

fn calls_since(w: &World, count: usize) -> Calls {
    let mut calls = Calls::new();
    for call in w.calls_since(count) {
        *calls.entry((call.kind, call.target)).or_default() += 1;
    }
    calls
}

/// How many instances are on a page while others come and go.
const SOME: usize = 5;
/// How long each answer takes meanwhile; no listing takes too long by it.
const ANSWER: Duration = Duration::from_millis(100);

/// What somebody else does while a listing is half-way.
enum Change {
    Go(Vec<Name>),
    Come(Vec<Planted>),
}

/// A third of the instances goes while a listing is half-way, and as many come during the next. Each is one change, so
/// that a listing which begins anew can come to its end.
async fn change_meanwhile(w: &mut World, made: Vec<String>, in_pages_of_one: &Calls) -> Checked {
    w.hand().set_page_size(SOME).await?;
    w.restart(&Tweaks::default())?;
    w.catch_up().await;
    let count = w.wire().call_count();
    w.lists().await?;
    let fewer = calls_since(w, count);
    // There are fewer of those calls that read pages, and no fewer of others.
    let mut reads: Vec<_> = in_pages_of_one.iter().filter(|(call, n)| fewer.get(*call) < Some(*n)).collect();
    reads.sort_by_key(|(_, n)| **n);
    let Some((reads, _)) = reads.pop() else {
        return Err(Stop::Error(format!("a listing takes no fewer calls in pages of {SOME} than of one")));
    };
    let (going, staying): (Vec<_>, Vec<_>) = made.into_iter().enumerate().partition(|(at, _)| at % 3 == 0);
    let staying: Vec<_> = staying.into_iter().map(|(_, name)| name).collect();
    let going: Vec<_> = going.iter().filter_map(|(_, name)| Name::parse(name).ok()).collect();
    let coming = going.iter().map(|_| one_of_ours(w)).collect();
    let half = |rows: usize| rows.div_ceil(SOME) / 2 + 1;
    let all = going.len() + staying.len();
    listed_once(w, (reads, half(all)), Change::Go(going), &staying).await?;
    w.catch_up().await;
    listed_once(w, (reads, half(staying.len())), Change::Come(coming), &staying).await
}

/// Lists, and lets a change come about once so many calls that read pages have been made. What stays must be listed, and
/// nothing twice.
async fn listed_once(
    w: &World,
    (reads, half): (&(String, String), usize),
    change: Change,
    staying: &[String],
) -> Checked {
    let (provider, over) = (Arc::clone(w.provider()), AtomicBool::new(false));
    let count = w.wire().call_count();
    w.wire().set_latency(ANSWER);
    let list: BoxFuture<'_, Checked<Option<Result<Listing, Error>>>> = async {
        let result = provider.list_by_tag().await;
        over.store(true, Ordering::Release);
        Ok(Some(result))
    }
    .boxed();
    let others = async {
        while calls_since(w, count).get(reads).is_none_or(|read| *read < half) {
            if over.load(Ordering::Acquire) {
                let (kind, target) = reads;
                return Err(Stop::Error(format!(
                    "the listing made less than {half} calls {kind} on {target}"
                )));
            }
            w.case().clock.sleep(ANSWER / 4, Wait::Idle).await;
        }
        for name in change.going() {
            w.hand().remove(name).await?;
        }
        for planted in change.coming() {
            w.hand().plant(planted).await?;
        }
        Ok(None)
    }
    .boxed();
    let mut listing = None;
    for ended in w.together(vec![list, others]).await? {
        listing = ended.done().transpose()?.flatten().or(listing);
    }
    w.wire().set_latency(Duration::ZERO);
    let how = match &change {
        Change::Go(going) => format!("{} others went", going.len()),
        Change::Come(coming) => format!("{} others came", coming.len()),
    };
    let listed = match listing {
        Some(Ok(listing)) => names(&listing),
        Some(Err(error)) => broken!("{how} while a listing was half-way, and it failed: {error}"),
        None => return Err(Stop::Error("the listing has no end".into())),
    };
    let twice: Vec<_> = listed.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| &pair[0]).collect();
    hold!(
        twice.is_empty(),
        "{how} while a listing was half-way, and it has {} names twice, {} for one",
        twice.len(),
        twice[0]
    );
    let lacks: Vec<_> = staying.iter().filter(|name| !listed.contains(name)).collect();
    hold!(
        lacks.is_empty(),
        "{how} while a listing was half-way, and of {} that stood all the time it has {}{}",
        staying.len(),
        staying.len() - lacks.len(),
        few(&lacks)
    );
    Ok(())
}

impl Change {
    fn going(&self) -> &[Name] {
        if let Self::Go(going) = self { going } else { &[] }
    }

    fn coming(&self) -> &[Planted] {
        if let Self::Come(coming) = self { coming } else { &[] }
    }
}

/// The first few of what a listing lacks.
fn few(lacks: &[&String]) -> String {
    let first: Vec<_> = lacks.iter().take(3).map(|name| name.as_str()).collect();
    match (first.join(", "), lacks.len()) {
        (_, 0) => String::new(),
        (first, n @ 1..=3) => format!(", and lacks {n}: {first}"),
        (first, n) => format!(", and lacks {n}: {first} and others"),
    }
}

/// A backend without pages: the harness cannot make it serve any, and one answer has everything.
async fn no_pages(w: &mut World) -> Checked {
    let made = five(w).await?;
    hold!(
        w.hand().set_page_size(2).await.is_err(),
        "the profile says that listings do not come in pages, but the backend serves pages"
    );
    let listed = names(&w.lists().await?);
    hold!(listed == made, "the listing has {listed:?}; {made:?} was due");
    Ok(())
}

async fn five(w: &mut World) -> Checked<Vec<String>> {
    let mut names = Vec::new();
    for _ in 0..5 {
        names.push(w.created().await?.0.name.to_string());
    }
    names.sort();
    Ok(names)
}
