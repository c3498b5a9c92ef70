//! Secondary resources that outlived their instance.

use futures::FutureExt;
use provider_api::{CreateRequest, Leftover, LeftoverId, Profile, profile::SecondaryResources};

use crate::{
    broken,
    harness::{Thing, ThingKind},
    hold,
    rule::{Absence, Applies, Caller, Check, Checked, Level, Rule, Stop, when},
    world::{Tweaks, World},
};

/// Whether parts can outlive their instance: where the provider removes them itself.
fn explicit(profile: &Profile) -> Applies {
    when(profile.secondary_resources == SecondaryResources::Explicit)
}

/// Where there are no parts, or the backend takes them away, a delete leaves none, and none are listed.
async fn nothing_outlives(w: &mut World) -> Checked {
    let (request, id, _) = w.running().await?;
    let instance = w.instance(&request.name).await?;
    let parts = w.parts(&instance).await?;
    if w.profile().secondary_resources == SecondaryResources::None {
        hold!(
            parts.is_empty(),
            "the profile has no secondary resources, but {} needs {parts:?}",
            request.name
        );
    }
    w.goes(&id).await?;
    let things = w.everything().await?;
    let left = things.iter().find(|thing| parts.iter().any(|part| part.key == thing.key));
    hold!(left.is_none(), "the profile says that nothing outlives an instance, but this does: {left:?}");
    let leftovers = w.leftovers().await?;
    hold!(leftovers.items.is_empty(), "nothing is left, but leftovers are listed: {:?}", leftovers.items);
    Ok(())
}

pub(super) const LEFTOVERS_LISTED: Rule = Rule {
    id: "list.leftovers-listed",
    level: Level::Should,
    says: "Every secondary resource whose instance is gone is listed as a leftover, with its owner and its age.",
    caller: Caller::Collector,
    applies: explicit,
    check: Check::Case(|w| listed(w).boxed()),
    absent: Some(Absence {
        check: |w| nothing_outlives(w).boxed(),
        shows: "a delete left no part behind, and no leftover was listed",
    }),
    why: "An instance went by somebody's hand, and its disk stayed. If no listing shows that, it stays on \
          the bill, and the next create of the name fails over it.",
    tested: "Removes an instance and leaves its parts, which are served in pages of one, and where the \
             harness can serve those, with empty pages between. Each part that the observer sees must be a \
             leftover with owner and creation time, after a restart too, and another installation must see \
             none. Where the provider removes no parts itself, a delete must leave none, and no leftover be \
             listed.",
    mend: "Implement `Leftovers`: list what bears our mark, or our name (`Name`, `InstallationId::short`, \
           kind), each part as an item of its own, of every kind, page after page until no token is left, \
           empty ones too, and take away what a living instance needs. Fill `created_at` from the part's own \
           record. Read parts before instances, so that an instance made in between protects its own.",
};

async fn listed(w: &mut World) -> Checked {
    w.in_pages_of_one().await?;
    let clock = std::sync::Arc::clone(&w.case().clock);
    let from = clock.now();
    let (request, left, leftovers) = torn(w).await?;
    let to = clock.now();
    if leftovers.len() != left.len() {
        let short = leftovers.len() < left.len();
        let how = if short { how_short(w, &request, left.len()).await.unwrap_or_default() } else { "" };
        broken!(
            "{} is gone and these {} of its parts are left, each due to be a leftover: {}; listed are {}{how}",
            request.name,
            left.len(),
            words(&left),
            ids(&leftovers)
        );
    }
    for leftover in &leftovers {
        w.made_between(leftover.created_at, from, to, &format!("leftover {}", leftover.id))?;
    }
    let all = w.leftovers().await?;
    hold!(
        all.items.len() == leftovers.len() && all.unreachable.is_empty(),
        "of one gone instance {} leftovers were due and nothing unreachable; listed are {all:?}",
        leftovers.len()
    );
    if w.hand().serve_empty_pages().await.is_ok() {
        let among = of(w, &request).await?;
        hold!(
            among == leftovers,
            "with an empty page before each page the leftovers are {}; in pages of one they were {}, as was due",
            ids(&among),
            ids(&leftovers)
        );
    }
    w.restart(&Tweaks::default())?;
    let again = of(w, &request).await?;
    hold!(again == leftovers, "after a restart the leftovers are {again:?}, before it {leftovers:?}");
    // Another installation on the same backend must not see them.
    w.restart(&Tweaks { installation: Some(w.other_installation()?), ..Tweaks::default() })?;
    let theirs = w.leftovers().await?;
    hold!(theirs.items.is_empty(), "another installation lists leftovers of ours: {:?}", theirs.items);
    Ok(())
}

/// What a listing of leftovers that is short of one's parts leaves out, as far as further listings tell.
async fn how_short(w: &mut World, request: &CreateRequest, due: usize) -> Checked<&'static str> {
    let paged = w.in_one_page().await?;
    let all = w.leftovers().await?.items;
    if paged && all.iter().filter(|leftover| leftover.owner == request.name).count() == due {
        return Ok(". In one page all are listed: the pages after the first are not read");
    }
    torn(w).await?;
    let more = w.leftovers().await?.items;
    Ok(if more.len() == all.len() {
        ". With another instance's parts left too, the listing is no longer than before"
    } else {
        ""
    })
}

pub(super) const LEFTOVERS_DELETABLE: Rule = Rule {
    id: "list.leftovers-deletable",
    level: Level::Should,
    says: "Every leftover can be deleted by its id, again without error, and nothing else goes with it; another \
           installation's is left alone, and so is everything at an id that nobody wrote.",
    caller: Caller::Collector,
    applies: explicit,
    check: Check::Case(|w| deletable(w).boxed()),
    absent: Some(Absence {
        check: |w| nothing_outlives(w).boxed(),
        shows: "a delete left no part behind, and no leftover was listed",
    }),
    why: "A leftover that cannot be deleted comes back at every round of the collector. One whose delete \
          takes more along destroys the disk of a living proxy.",
    tested: "Asks for ids that nobody wrote, and lets another installation ask for ours: everything must \
             stand. Then deletes each leftover of a removed instance by its id, twice, beside a living \
             instance. No delete may fail, the parts must be gone, all else must stand, and no leftover be \
             listed. Where the provider removes no parts itself, a delete must leave none, and no leftover \
             be listed.",
    mend: "Parse the `LeftoverId` strictly by a `Grammar`, with no index or `unwrap` for other texts to break, \
           and compare the installation in it, or in the part's mark, with the `Identity` of the `Context`: \
           what is another's stays. Take the owner's turn at `Gate::name`, delete the one resource that the \
           id names, and take its absence as success.",
};

async fn deletable(w: &mut World) -> Checked {
    let (living, _, _) = w.running().await?;
    let (request, left, leftovers) = torn(w).await?;
    let before = w.everything().await?;
    spared(w, &leftovers, &before).await?;
    for time in ["for the first time", "again, where success was due"] {
        for leftover in &leftovers {
            if let Err(error) = w.delete_leftover(leftover).await? {
                broken!(
                    "leftover {} of {} was deleted {time}, and that failed: {error}",
                    leftover.id,
                    request.name
                );
            }
        }
    }
    let after = w.everything().await?;
    let still = after.iter().find(|thing| left.iter().any(|part| part.key == thing.key));
    hold!(
        still.is_none(),
        "every leftover of {} was deleted without an error, but this part still stands: {}",
        request.name,
        still.map(|thing| thing.name.as_str()).unwrap_or_default()
    );
    for thing in before.iter().filter(|thing| left.iter().all(|part| part.key != thing.key)) {
        hold!(
            after.iter().any(|other| other.key == thing.key),
            "deleting the leftovers of {} took {:?} {} away",
            request.name,
            thing.kind,
            thing.name
        );
    }
    w.instance(&living.name).await?;
    let again = of(w, &request).await?;
    hold!(again.is_empty(), "every leftover was deleted, but listed are {again:?}");
    Ok(())
}

/// Ids that nobody wrote, and the ids of ours in another installation's hand: whatever is answered, nothing goes.
async fn spared(w: &World, leftovers: &[Leftover], before: &[Thing]) -> Checked {
    let elsewhere = w.other_installation()?;
    let tweaks = Tweaks { installation: Some(elsewhere.clone()), ..Tweaks::default() };
    let theirs = w.build(&tweaks)?.leftovers;
    let ours = w.built().leftovers.clone();
    let nonsense = NONSENSE.map(LeftoverId::new);
    let long = LeftoverId::new("a".repeat(10_000));
    let asked = nonsense.iter().chain([&long]).map(|id| (&ours, id, "an id that nobody wrote"));
    let how = format!("which is ours, asked for as the installation {elsewhere}");
    let others = leftovers.iter().map(|leftover| (&theirs, &leftover.id, how.as_str()));
    for (provider, id, how) in asked.chain(others) {
        let Some(provider) = provider.clone() else { continue };
        let shown: String = id.as_str().chars().take(100).collect();
        let line = w.begins(format_args!("delete leftover {shown:?}, {how}"));
        let result = w.alone(async move { provider.delete(id).await }).await?;
        let said = result.map_or_else(|error| format!("error: {error}"), |()| "done".to_owned());
        line.ends(&said);
        let after = w.everything().await?;
        let lost = before.iter().find(|thing| !after.iter().any(|other| other.key == thing.key));
        if let Some(lost) = lost {
            broken!(
                "leftover {shown:?}, {how}, was deleted ({said}), and {:?} {} is gone; nothing was due to go",
                lost.kind,
                lost.name
            );
        }
    }
    Ok(())
}

const NONSENSE: [&str; 6] = ["", "/", "no such/ id//", "../../x", "zones/é/parts/é-é-disk", "a/b/c/d/e/f"];

pub(super) const LEFTOVERS_SPARE_THE_LIVING: Rule = Rule {
    id: "list.leftovers-spare-the-living",
    level: Level::Must,
    says: "What a living instance needs is not listed as a leftover, and not deleted as one by an older id.",
    caller: Caller::Collector,
    applies: explicit,
    check: Check::Case(|w| spare_the_living(w).boxed()),
    absent: Some(Absence {
        check: |w| nothing_outlives(w).boxed(),
        shows: "a delete left no part behind, and no leftover was listed",
    }),
    why: "The collector has listed leftovers; their owner comes back, and its create takes the parts up \
          again. Deleted by the older ids, a running proxy loses its disk.",
    tested: "No leftover may be listed beside a living instance. Another loses its instance and is created \
             again; deletes of its former leftovers may fail or do nothing, but every part of the new one \
             must stand, and get know both. Where the provider removes no parts itself, a delete must leave \
             none, and no leftover be listed.",
    mend: "Let `Leftovers::list` judge each part by the instances of the same listing, and remember none. In \
           `Leftovers::delete` take the owner's turn at `Gate::name`, look directly before the call \
           whether its instance lives or the part is used, and bind the call to the incarnation that was \
           looked at, or have the backend refuse what is in use.",
};

async fn spare_the_living(w: &mut World) -> Checked {
    let (living, id, _) = w.running().await?;
    let leftovers = w.leftovers().await?.items;
    hold!(leftovers.is_empty(), "{} lives, but leftovers are listed: {leftovers:?}", living.name);

    let (request, _, leftovers) = torn(w).await?;
    // Its owner wants it back: the parts may be taken up again, and the ids in the collector's hand are old.
    let again = w.creates(&request).await?;
    w.runs(&request.name, &again).await?;
    let instance = w.instance(&request.name).await?;
    let needed = w.parts(&instance).await?;
    if needed.is_empty() {
        return Err(Stop::Error(format!("the observer sees no part of {}", request.name)));
    }
    w.note("its leftovers are deleted by the ids from before".into());
    for leftover in &leftovers {
        // Refusing is as good as doing nothing.
        let _ = w.delete_leftover(leftover).await?;
    }
    let things = w.everything().await?;
    let lost = needed.iter().find(|part| !things.iter().any(|thing| thing.key == part.key));
    hold!(
        lost.is_none(),
        "{} lives again; deleting leftovers of its former self took this away: {}",
        request.name,
        lost.map(|part| part.name.as_str()).unwrap_or_default()
    );
    let listed = w.leftovers().await?.items;
    let old = listed.iter().all(|item| leftovers.iter().any(|leftover| leftover.id == item.id));
    hold!(
        listed.is_empty(),
        "{} and {} live, but leftovers are listed: {}{}",
        living.name,
        request.name,
        ids(&listed),
        if old { ", which were leftovers before the second was created again and took them up" } else { "" }
    );
    for (name, id) in [(&living.name, &id), (&request.name, &again)] {
        let instance = w.gets(id).await?;
        hold!(instance.name == *name, "get {id} answered for {}", instance.name);
    }
    Ok(())
}

/// An instance whose parts alone are left, the parts as the observer sees them, and the leftovers listed for it.
async fn torn(w: &mut World) -> Checked<(CreateRequest, Vec<Thing>, Vec<Leftover>)> {
    if w.built().leftovers.is_none() {
        broken!("the profile says secondary-resources explicit, but the provider lists no leftovers");
    }
    let (request, _, _) = w.running().await?;
    let instance = w.instance(&request.name).await?;
    let parts = w.parts(&instance).await?;
    w.hand().remove_instance_only(&request.name).await?;
    let mut left = w.everything().await?;
    left.retain(|thing| thing.kind == ThingKind::Secondary && parts.iter().any(|part| part.key == thing.key));
    if left.is_empty() {
        return Err(Stop::Error(format!("the observer sees no part that {} left behind", request.name)));
    }
    w.catch_up().await;
    let leftovers = of(w, &request).await?;
    Ok((request, left, leftovers))
}

async fn of(w: &World, request: &CreateRequest) -> Checked<Vec<Leftover>> {
    let mut leftovers = w.leftovers().await?.items;
    leftovers.retain(|leftover| leftover.owner == request.name);
    leftovers.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(leftovers)
}

fn ids(leftovers: &[Leftover]) -> String {
    if leftovers.is_empty() {
        return "none".into();
    }
    leftovers.iter().map(|leftover| leftover.id.as_str()).collect::<Vec<_>>().join(", ")
}

fn words(things: &[Thing]) -> String {
    things.iter().map(|thing| thing.name.as_str()).collect::<Vec<_>>().join(", ")
}
