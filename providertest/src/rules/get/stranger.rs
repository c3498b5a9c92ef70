//! Whether a get that takes what is not ours for its own believes what it reads, or an earlier look. It is asked once a rule
//! is broken already, for its report; what must hold is in `identity.rs`.

use std::collections::BTreeMap;

use provider_api::{GetError, Name, ProviderId, Uid, mark};

use crate::{harness::Planted, rule::Checked, world::World};

/// Whether get takes the like of what stands under that name for its own where it has never seen it. `None` where such a
/// one cannot be made, or not be asked for.
pub(super) async fn takes_a_stranger(w: &mut World, id: &ProviderId, name: &Name) -> Checked<Option<bool>> {
    w.asks_why();
    let marks = w.instance(name).await?.marks;
    let uid = w.uid();
    let ours = w.marked(Name::from_uid(&uid).as_str(), &uid, &w.identity().installation).marks;
    // Ids hold more than names on some backends; one of ours shows whether it can be asked for in this way.
    if asked(w, id, name, &uid, ours).await? != Some(true) {
        return Ok(None);
    }
    let uid = w.uid();
    let mut like = marks;
    // Its own uid goes with its own name. One that it had from another, or none, stays what it is.
    let own = like.get(mark::UID).and_then(|uid| Uid::parse(uid).ok());
    if own.is_some_and(|own| Name::from_uid(&own) == *name) {
        like.insert(mark::UID.to_owned(), uid.to_string());
    }
    asked(w, id, name, &uid, like).await
}

/// Whether get finds what is made with these marks under the name of that uid, by an id made after another's.
async fn asked(
    w: &World,
    id: &ProviderId,
    name: &Name,
    uid: &Uid,
    marks: BTreeMap<String, String>,
) -> Checked<Option<bool>> {
    let other = Name::from_uid(uid);
    let placement = w.backend().request(uid).placement;
    let planted = Planted { name: other.to_string(), marks, placement };
    let strange = ProviderId::new(id.as_str().replace(name.as_str(), other.as_str()));
    if strange == *id || w.hand().plant(&planted).await.is_err() {
        return Ok(None);
    }
    w.catch_up().await;
    Ok(match w.get(&strange).await? {
        Ok(_) => Some(true),
        Err(GetError::NotFound) => Some(false),
        Err(GetError::Failed(_)) => None,
    })
}
