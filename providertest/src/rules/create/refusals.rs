//! What create refuses by itself, and what a refusal leaves.

use futures::FutureExt;
use provider_api::{Class, FailureClass, Profile, profile::PlacementField};

use super::verbs::{calls_of_a_create, meets, native_errors, nothing_of, refused_at_once};
use crate::{
    broken,
    faults::Answer,
    hold,
    rule::{Absence, Applies, Caller, Check, Checked, Level, Rule, Stop, always, when},
    world::{Tweaks, World},
};

pub(super) const REJECTS_UNSATISFIABLE: Rule = Rule {
    id: "create.rejects-unsatisfiable-before-any-call",
    level: Level::Must,
    says: "What config or catalogue can tell to be unsatisfiable is Permanent, names the field, and costs no call.",
    caller: Caller::Reconciler,
    applies: uses_placement,
    check: Check::Case(|w| rejects_unsatisfiable(w).boxed()),
    absent: Some(Absence {
        check: |w| any_placement_will_do(w).boxed(),
        shows: "a create with nonsense in every field of its placement succeeded",
    }),
    why: "A user mistypes a zone. If that shows only on the backend, the reconciler retries it like an \
          outage, and the user waits for a proxy that never comes instead of reading which field is wrong.",
    tested: "Creates with each placement that the harness calls unsatisfiable. The answer must be Permanent \
             and name the wrong field, without a backend call and with nothing changed. Where the profile \
             uses no placement field, a create with nonsense in all of them must succeed.",
    mend: "Resolve the whole placement against config and catalogue in one function at the start of create, \
           before the gate and the first `Seam::call`. Answer `Error::permanent` with the field, the value \
           and what is known, leaving `LeftBehind::Nothing`.",
};

fn uses_placement(profile: &Profile) -> Applies {
    when(!profile.placement.is_empty())
}

async fn rejects_unsatisfiable(w: &mut World) -> Checked {
    let wrong = w.backend().unsatisfiable();
    if wrong.is_empty() {
        let text = "placement fields are used, but the harness knows no placement that cannot be satisfied";
        return Err(Stop::Error(text.into()));
    }
    for (placement, field) in wrong {
        let mut request = w.request();
        let why = format!("its placement {placement:?} cannot be satisfied");
        request.placement = placement;
        let error = refused_at_once(w, &request, &why).await?;
        hold!(error.to_string().contains(field), "the error does not name the field {field}: {error}");
    }
    Ok(())
}

async fn any_placement_will_do(w: &mut World) -> Checked {
    let mut request = w.request();
    let nowhere = Some("no-such-place".to_owned());
    request.placement.region = nowhere.clone();
    request.placement.zone = nowhere.clone();
    request.placement.machine_type = nowhere.clone();
    request.placement.image = nowhere;
    w.creates(&request).await?;
    Ok(())
}

pub(super) const IMAGE_ALLOW_LIST: Rule = Rule {
    id: "create.image-allow-list",
    level: Level::Must,
    says: "An image that is not in the catalogue is used only under an allowed prefix, and a URL only if it is safe.",
    caller: Caller::Operator,
    applies: uses_images,
    check: Check::Case(|w| image_allow_list(w).boxed()),
    absent: Some(Absence {
        check: |w| any_image_will_do(w).boxed(),
        shows: "a create with an internal address as its image succeeded, and fetched nothing",
    }),
    why: "A user who may name any image makes the operator boot what they like, or fetch from inside the \
          admin's network: the metadata service of a cloud, say, which hands out credentials.",
    tested: "Images outside the catalogue, imitations of an allowed prefix, internal addresses and a URL \
             without a checksum must each be Permanent, without a call, naming the field; an image under an \
             allowed prefix must work where the harness has one. Where images are declared ignored, an \
             internal URL must change nothing and be fetched by nobody.",
    mend: "Look in the entry's catalogue first, and give everything else to `ImageRules::allow` before any \
           call. Fetch the URL that `pinned_url` answers, and check the bytes against its sum; change \
           nothing about the name after it was judged.",
};

fn uses_images(profile: &Profile) -> Applies {
    when(profile.placement.contains(&PlacementField::Image))
}

async fn image_allow_list(w: &mut World) -> Checked {
    let known = w.backend().uncatalogued_image();
    let image = known.clone().unwrap_or_else(|| "registry.example/team/squid:6".to_owned());
    refuses_image(w, &image, "no prefix is allowed").await?;

    let prefix = image.rsplit_once(['/', ':', '@']).map_or(image.as_str(), |(prefix, _)| prefix);
    w.restart(&Tweaks::common("allowedImagePrefixes", vec![prefix]))?;
    let evil = [
        "other.example/team/squid:6".to_owned(),
        format!("{prefix}-evil/squid"),
        format!("{prefix}/../evil/squid"),
        format!("evil/{prefix}/squid"),
        format!("{prefix}/a b"),
        format!("{prefix}/a\nb"),
    ];
    for image in evil {
        refuses_image(w, &image, &format!("only {prefix} is allowed")).await?;
    }
    if known.is_some() {
        let mut request = w.request();
        request.placement.image = Some(image);
        let id = w.creates(&request).await?;
        w.goes(&id).await?;
    }

    w.restart(&Tweaks::common("allowedImagePrefixes", vec!["http://", "https://"]))?;
    let sum = format!("#sha256={}", "0f".repeat(32));
    for url in
        ["http://169.254.169.254/latest", "http://10.0.0.1/a", "https://[::1]/a", "http://2130706433/a"]
    {
        refuses_image(w, &format!("{url}{sum}"), "it leads inside").await?;
    }
    refuses_image(w, "https://img.example/squid.qcow2", "it has no checksum").await
}

async fn refuses_image(w: &mut World, image: &str, why: &str) -> Checked {
    let mut request = w.request();
    request.placement.image = Some(image.to_owned());
    let error = refused_at_once(w, &request, &format!("the image {image:?} may not be used: {why}")).await?;
    hold!(error.to_string().contains("image"), "the error does not name the field image: {error}");
    Ok(())
}

async fn any_image_will_do(w: &mut World) -> Checked {
    let mut request = w.request();
    request.placement.image = Some("http://169.254.169.254/latest".into());
    w.creates(&request).await?;
    let fetched = w.calls().into_iter().find(|call| call.subject.contains("169.254"));
    hold!(fetched.is_none(), "images are declared ignored, yet one was used: {fetched:?}");
    Ok(())
}

pub(super) const NOTHING_LEFT_ON_PERMANENT_FAILURE: Rule = Rule {
    id: "create.nothing-left-on-permanent-failure",
    level: Level::Must,
    says: "A create that the backend refuses for good leaves nothing behind.",
    caller: Caller::Collector,
    applies: always,
    check: Check::Case(|w| nothing_left_on_permanent_failure(w).boxed()),
    absent: None,
    why: "Permanent ends the retries, so nobody comes back to tidy up. A half-made disk or definition stays \
          on the bill and in the way: the next create of the name fails because its volume exists already.",
    tested: "Each kind of call of a create meets each catalogued error that means Permanent. Whenever the \
             create then is Permanent, nothing that bears its name may stand on the backend; at least one of \
             them must come to that.",
    mend: "Ask for what can be refused (image, rights, name) before the first call that changes something. \
           When a later call is refused, remove what this create began, and then answer with the class of \
           the refusal; or, where the instance can be had in spite of it, go on and make it, and say so by \
           `NativeError::tolerated_by`. Another class in the place of the removal is no way out: \
           `create.classifies-faults` and `errors.table` ask for the catalogue's. Only where the removal was \
           refused as well the answer is Transient, so that a repeat can tidy up.",
};

async fn nothing_left_on_permanent_failure(w: &mut World) -> Checked {
    let calls = calls_of_a_create(w).await?;
    let mut refused = 0;
    for (call, native) in native_errors(w, &calls, |native| native.class == Class::Permanent)? {
        let request = w.request();
        let Some(met) = meets(w, request, &call, Answer::Native(native.id.into())).await? else { continue };
        let Err(error) = &met.result else { continue };
        if error.class() == FailureClass::Permanent {
            refused += 1;
            let when = format!("{} was answered with {}, and create failed for good", call.kind, native.id);
            nothing_of(w, &met.request, &when).await?;
        }
    }
    if refused == 0 {
        broken!("no permanent error of the catalogue made a create fail for good");
    }
    Ok(())
}
