//! What of the request reaches the instance, and what is declared ignored and has no effect.

use std::{collections::BTreeSet, fmt::Debug, num::NonZeroU16};

use futures::FutureExt;
use provider_api::{
    Access, CreateRequest, Credentials, Placement, Profile, Secret,
    profile::{Delivery, PlacementField},
};

use crate::{
    broken, hold,
    rule::{Absence, Applies, Caller, Check, Checked, Level, Rule, when},
    world::World,
};

pub(super) const CLOUD_INIT: Rule = Rule {
    id: "create.delivers-cloud-init",
    level: Level::Must,
    says: "The user data reaches the instance byte for byte.",
    caller: Caller::Operator,
    applies: |profile| delivered(profile.cloud_init),
    check: Check::Case(|w| delivers_cloud_init(w).boxed()),
    absent: Some(Absence {
        check: |w| ignores_cloud_init(w).boxed(),
        shows: "no user data reached an instance, and other user data led to the same one",
    }),
    why: "Cloud-init holds scripts, keys and MIME parts. With one line break trimmed or one character \
          converted the instance boots, looks healthy and never opens its port, and no error says why.",
    tested: "Sends user data with quotes, templates, CRLF, Unicode and MIME, then bytes that are no UTF-8 \
             and 31 kB of text. The observer must find the same bytes in the instance; only the last two may \
             be refused instead. Where it is declared ignored, nothing may arrive, and another payload must \
             lead to the same instance.",
    mend: "Carry the `Secret` from the request to the one call that uploads it, and `reveal` it there as \
           bytes. Encode it whole where the format takes only text, by base64 or as an ISO; put it through \
           no template, no `String`, no trimming and no line reader. What the backend cannot hold, since it \
           is too long or no text, refuse as `Error::permanent` before the first call that changes \
           something; cut and replace nothing. A provider that delivers none declares `Delivery::Ignored` \
           and sends none.",
};

fn delivered(delivery: Delivery) -> Applies {
    when(delivery == Delivery::Delivered)
}

/// What formats, templates and shells are tempted to change.
const TRICKY: [&str; 4] = [
    "\n# quotes \" ' ` and {{ .Values }} ${HOME} $(reboot) %s %2e \\n \\u0041 <a b=\"c\">&amp;</a> ]]>\n\n\n",
    "\r\n# lines\tof\r\nDOS and a last one without its end   ",
    "\n# gr\u{fc}\u{df}e \u{65e5}\u{672c} \u{1f980} e\u{301} \u{feff}\u{202e}\n",
    "\n--==MIME==\nContent-Type: text/x-shellscript\n\n#!/bin/sh\n--==MIME==--\n",
];

async fn delivers_cloud_init(w: &mut World) -> Checked {
    for tail in TRICKY {
        let mut request = w.request();
        let mut bytes = request.cloud_init.reveal().to_vec();
        bytes.extend_from_slice(tail.as_bytes());
        request.cloud_init = Secret::new(bytes);
        w.creates(&request).await?;
        exact(w, &request).await?;
    }
    let long = "# more than some backends take\n".repeat(1_000);
    for tail in [b"\n# \xff\xfe not UTF-8\n".as_slice(), long.as_bytes()] {
        let mut request = w.request();
        request.cloud_init = Secret::new([request.cloud_init.reveal(), tail].concat());
        // A backend that cannot hold it may be the reason to refuse, never one to deliver something else.
        if w.create(&request).await?.is_ok() {
            exact(w, &request).await?;
        }
    }
    Ok(())
}

async fn exact(w: &World, request: &CreateRequest) -> Checked {
    let thing = w.instance(&request.name).await?;
    let sent = request.cloud_init.reveal();
    let Some(arrived) = thing.delivered.cloud_init else {
        broken!("{} bytes of user data were sent, and nothing has reached {}", sent.len(), request.name)
    };
    if arrived != sent {
        broken!(
            "{} bytes of user data were sent and due in {}, {} arrived: {}",
            sent.len(),
            request.name,
            arrived.len(),
            difference(sent, &arrived)
        );
    }
    Ok(())
}

/// What has been done to a payload, as far as it can be told without showing it.
fn difference(sent: &[u8], arrived: &[u8]) -> String {
    let at = arrived.iter().zip(sent).take_while(|(a, b)| a == b).count();
    let text = String::from_utf8_lossy(sent);
    if at == arrived.len() {
        let lost = &sent[at..];
        let what = if lost.iter().all(u8::is_ascii_whitespace) {
            ", white space, were trimmed"
        } else {
            " were cut off"
        };
        format!("the last {}{what}", lost.len())
    } else if arrived == text.as_bytes() {
        "what is no UTF-8 was replaced, as by a conversion to text".into()
    } else if arrived == text.replace("\r\n", "\n").as_bytes() {
        "its line ends were changed".into()
    } else {
        format!("they differ from byte {at} on")
    }
}

async fn ignores_cloud_init(w: &mut World) -> Checked {
    let (request, id) = w.created().await?;
    let mut other = w.request();
    other.cloud_init = Secret::new(*b"\xff\xfe neither text nor YAML: [");
    w.creates(&other).await?;
    for request in [&request, &other] {
        let thing = w.instance(&request.name).await?;
        if let Some(bytes) = thing.delivered.cloud_init {
            let count = bytes.len();
            broken!("cloud-init is declared ignored, and {count} bytes of it have reached {}", request.name);
        }
    }
    let mut changed = request.clone();
    changed.cloud_init = other.cloud_init;
    let again = w.creates(&changed).await?;
    hold!(again == id, "cloud-init is declared ignored, and another one led from {id} to {again}");
    Ok(())
}

pub(super) const ACCESS_AND_PORT: Rule = Rule {
    id: "create.delivers-access-and-port",
    level: Level::Must,
    says: "The port, the allowed networks and the credentials reach the instance as the profile declares.",
    caller: Caller::Operator,
    applies: |profile| when(profile.access == Delivery::Delivered || profile.port == Delivery::Delivered),
    check: Check::Case(|w| access_and_port(w).boxed()),
    absent: Some(Absence {
        check: |w| access_and_port(w).boxed(),
        shows: "neither port nor networks reached the instance",
    }),
    why: "A proxy on the wrong port cannot be reached. One that drops the allowed networks or the password \
          is an open proxy on the internet, and strangers use it at the admin's cost.",
    tested: "Creates with port 8123, two allowed networks and a password full of special characters. The \
             observer must find port and networks as sent where they are declared delivered, and none where \
             they are declared ignored; the instance must let that user in and refuse a wrong password, \
             where the harness can tell.",
    mend: "Carry `port`, `access.allowed_sources` and `access.credentials` from the request, none of them from a \
           default, into what the instance is made from: labels, firewall rules, the config in its seed. \
           Quote the password by the rules of its format, and declare as ignored in the profile what the \
           backend cannot take.",
};

async fn access_and_port(w: &mut World) -> Checked {
    let Profile { access, port, .. } = w.profile().clone();
    let mut request = w.request();
    let credentials =
        Credentials { username: "user-7".into(), password: Secret::new(*b"p:a\"s's $w{o}r<d> \\ %41 &amp;") };
    let sources = ["192.0.2.0/24", "198.51.100.7/32"].map(|net| net.parse().expect("a network"));
    request.port = NonZeroU16::new(8_123).expect("8123 is not zero");
    request.access = Access { allowed_sources: sources.to_vec(), credentials: Some(credentials.clone()) };
    w.creates(&request).await?;
    let thing = w.instance(&request.name).await?;

    let expected = (port == Delivery::Delivered).then_some(request.port.get());
    let seen = thing.delivered.port;
    hold!(
        seen == expected,
        "port is declared {port}: {} was sent, so {} was due in the instance, but {} has reached it",
        request.port,
        expected.map_or("nothing".into(), |_| "that".to_owned()),
        told(&seen)
    );

    let seen = thing.delivered.allowed_sources.clone().map(BTreeSet::from_iter);
    let expected = (access == Delivery::Delivered).then(|| BTreeSet::from(sources));
    hold!(
        seen == expected,
        "access is declared {access}: the networks {sources:?} were sent and {} was due in the instance, but {} has \
         reached it",
        told(&expected),
        told(&seen)
    );

    let wrong = Credentials { password: Secret::new(*b"not the password"), ..credentials.clone() };
    let admits = |credentials: &Credentials| w.backend().admits(&thing, credentials);
    if access == Delivery::Delivered {
        hold!(
            admits(&credentials) != Some(false),
            "access is declared {access}, so {:?} with the password that was sent was due to be let in by {}, and is \
             not; {}",
            credentials.username,
            request.name,
            spoilt(&credentials, admits)
        );
        hold!(
            admits(&wrong) != Some(true),
            "access is declared {access}, but {} lets {:?} in with another password than the one that was sent",
            request.name,
            credentials.username
        );
    }
    Ok(())
}

/// What became of credentials that do not let their user in, by what does.
fn spoilt(sent: &Credentials, admits: impl Fn(&Credentials) -> Option<bool>) -> String {
    let password = sent.password.reveal_str().unwrap_or_default();
    let cuts = password.char_indices().filter(|(_, c)| !c.is_alphanumeric()).map(|(at, _)| &password[..at]);
    let edited = [password.replace("&amp;", "&"), password.replace('\\', ""), password.replace("%41", "A")];
    let forms = cuts.map(str::to_owned).chain(edited);
    for form in forms {
        let credentials = Credentials { password: Secret::new(form.clone()), ..sent.clone() };
        if form != password && admits(&credentials) == Some(true) {
            return format!("the password {form:?} does it: {password:?} was cut or converted on its way");
        }
    }
    "nor does any beginning of it: most likely no credentials have reached the instance at all".into()
}

fn told<T: Debug>(value: &Option<T>) -> String {
    value.as_ref().map_or_else(|| "nothing".to_owned(), |value| format!("{value:?}"))
}

pub(super) const IGNORED_PLACEMENT: Rule = Rule {
    id: "create.ignored-placement-has-no-effect",
    level: Level::Must,
    says: "A placement field that the profile does not name changes nothing, whatever stands in it.",
    caller: Caller::Operator,
    applies: |profile| when(FIELDS.iter().any(|field| !profile.placement.contains(field))),
    check: Check::Case(|w| ignored_placement(w).boxed()),
    absent: Some(Absence {
        check: |w| every_field_counts(w).boxed(),
        shows: "nonsense in each field of the placement made a create fail",
    }),
    why: "A user fills in a zone that this provider ignores. If it counts all the same, two proxies of one \
          spec differ, or an edit of the field fails with an error that no page explains.",
    tested: "For each placement field that the profile does not name: a create with nonsense in it must \
             answer the id of the instance that stands, and after a delete make one on the same target with \
             as many parts. Where every field counts, nonsense in each must make a create fail.",
    mend: "Read the fields in one function that asks `Profile::placement` first and gives nothing for the \
           others. Derive no name and no default from a field that is not declared; declare it if it is to \
           count.",
};

const FIELDS: [PlacementField; 4] =
    [PlacementField::Region, PlacementField::Zone, PlacementField::MachineType, PlacementField::Image];
const NONSENSE: &str = "no-such-thing-7";

fn with(placement: &Placement, field: PlacementField) -> Placement {
    let mut placement = placement.clone();
    let slot = match field {
        PlacementField::Region => &mut placement.region,
        PlacementField::Zone => &mut placement.zone,
        PlacementField::MachineType => &mut placement.machine_type,
        PlacementField::Image => &mut placement.image,
    };
    *slot = Some(NONSENSE.to_owned());
    placement
}

async fn ignored_placement(w: &mut World) -> Checked {
    for field in FIELDS {
        if w.profile().placement.contains(&field) {
            continue;
        }
        let (mut request, id) = w.created().await?;
        let plain = w.instance(&request.name).await?;
        request.placement = with(&request.placement, field);
        let what = format!("{} is declared ignored, and {NONSENSE:?} in it", field.as_str());
        match w.create(&request).await? {
            Ok(again) => hold!(again == id, "{what} led from {id} to {again}"),
            Err(error) => broken!("{what} made create fail: {error}"),
        }
        w.goes(&id).await?;
        if let Err(error) = w.create(&request).await? {
            broken!("{what} made create fail: {error}");
        }
        let other = w.instance(&request.name).await?;
        let differs = other.target != plain.target || other.references.len() != plain.references.len();
        hold!(
            !differs,
            "{what} led from {} with {:?} to {} with {:?}",
            plain.target,
            plain.references,
            other.target,
            other.references
        );
    }
    Ok(())
}

async fn every_field_counts(w: &mut World) -> Checked {
    for field in FIELDS {
        let mut request = w.request();
        request.placement = with(&request.placement, field);
        let made = w.create(&request).await?;
        hold!(
            made.is_err(),
            "{} is declared as used, and {NONSENSE:?} in it makes no difference",
            field.as_str()
        );
    }
    Ok(())
}
