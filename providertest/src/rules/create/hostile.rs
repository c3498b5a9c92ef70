//! Requests whose names somebody chose in order to break something.

use futures::{FutureExt, future::ready};
use provider_api::{CreateRequest, Credentials, FailureClass, FailureId, Secret, mark};

use super::verbs::nothing_of;
use crate::{
    broken,
    faults::FaultPlan,
    hold,
    rule::{Caller, Check, Checked, Level, Rule, Stop, always},
    rules::sweeps::verbs::{nothing_left, one_whole_instance},
    world::World,
};

pub(super) const HOSTILE_NAMES: Rule = Rule {
    id: "create.hostile-names",
    level: Level::Must,
    says: "Whatever stands in names, placement and user name, create makes the plain instance or refuses for good.",
    caller: Caller::Operator,
    applies: always,
    check: Check::Sweep {
        plans: |_| ready(Ok(FIELDS.map(|(field, _)| FaultPlan::faultless(field)).to_vec())).boxed(),
        run: |w, plan| hostile_names(w, plan).boxed(),
    },
    absent: None,
    why: "Users choose these texts. Pasted into XML, a URL or a shell they change what is made; raw in an \
          error they forge log lines. A label that a cloud refuses has been sent to it 76 times in 16 hours.",
    tested: "A sweep with a case for each hostile text in each field of a request that takes any text: \
             markup, templates, paths, control characters, 70 kB. Create must make the plain marked \
             instance, which get knows and a delete removes without a trace, or be Permanent with nothing \
             left and no control character in the error.",
    mend: "Build XML, YAML, URLs and queries with a writer that escapes, and commands as lists of arguments. \
           Let only `Name` and `Uid` into backend names and labels, judge placement by catalogue and \
           `ImageRules` first, and quote with `{:?}` what an error repeats. Cut a text by characters: an index \
           into it panics where it is short, or inside of a character.",
};

/// What parsers, shells, templates, paths and log readers fall over.
const HOSTILE: [&str; 13] = [
    "",
    "quotes\"'`",
    "a\nmanaged: true\r\n# b",
    "</name><evil/><!--]]>",
    "&lt;&amp;&#0;",
    "{{ .Values }} ${jndi:x} $(reboot) %s%n",
    "../../../etc/passwd",
    "zones/z/instances/x?a=b&c=d#e",
    "'; DROP TABLE vms; --",
    "-rf --privileged",
    "nul\0bell\u{7}esc\u{1b}[31m",
    "\u{202e}gnp.\u{200b}\u{feff}\u{fffd}\u{1f980}",
    " leading and trailing ",
];

/// One field of a request that takes any text.
type Put = fn(&mut CreateRequest, String);

const FIELDS: [(&str, Put); 10] = [
    ("owner.namespace", |request, text| request.owner.namespace = text),
    ("owner.name", |request, text| request.owner.name = text),
    ("owner.apiVersion", |request, text| request.owner.api_version = text),
    ("owner.kind", |request, text| request.owner.kind = text),
    ("placement.region", |request, text| request.placement.region = Some(text)),
    ("placement.zone", |request, text| request.placement.zone = Some(text)),
    ("placement.machineType", |request, text| request.placement.machine_type = Some(text)),
    ("placement.image", |request, text| request.placement.image = Some(text)),
    ("acknowledgedFailure", |request, text| request.acknowledged_failure = Some(FailureId::new(text))),
    ("access.credentials.username", |request, username| {
        request.access.credentials = Some(Credentials { username, password: Secret::new(*b"password") })
    }),
];

async fn hostile_names(w: &mut World, plan: &FaultPlan) -> Checked {
    let field = plan.variant.as_deref().unwrap_or_default();
    let Some((field, put)) = FIELDS.into_iter().find(|(name, _)| *name == field) else {
        return Err(Stop::Error(format!("no field of a request is called {field:?}")));
    };
    w.note(format!("one hostile text after another is to stand in {field} of a request"));
    let (request, id) = w.created().await?;
    let plain = w.instance(&request.name).await?;
    let keys: Vec<_> = plain.marks.keys().cloned().collect();
    w.goes(&id).await?;
    let long = "x".repeat(70_000);
    let mut texts: Vec<&str> = HOSTILE.to_vec();
    texts.push(&long);
    // Instances of a real backend cost time and money; the worst three have to do.
    let texts = if w.is_fake() { &texts[..] } else { &texts[1..4] };
    for text in texts {
        let mut request = w.request();
        put(&mut request, (*text).to_owned());
        let short: String = text.chars().take(40).collect();
        w.note(format!("the next request's {field} is {short:?}"));
        survives(w, &request, &format!("{field} was {short:?}"), &keys).await?;
    }
    Ok(())
}

async fn survives(w: &World, request: &CreateRequest, when: &str, keys: &[String]) -> Checked {
    let id = match w.create(request).await? {
        Ok(id) => id,
        Err(error) => {
            let class = error.class();
            hold!(
                class == FailureClass::Permanent,
                "{when}, and create answered {class:?}, as if it could pass"
            );
            let text = error.to_string();
            hold!(!text.chars().any(char::is_control), "{when}, and the error repeats it raw: {text:?}");
            return nothing_of(w, request, &format!("{when}, and create refused")).await;
        }
    };
    one_whole_instance(w, &request.name).await?;
    let thing = w.instance(&request.name).await?;
    let seen: Vec<_> = thing.marks.keys().cloned().collect();
    hold!(seen == keys, "{when}, and the instance carries the marks {seen:?} where others carry {keys:?}");
    let uid = thing.marks.get(mark::UID).map(String::as_str);
    hold!(uid == Some(request.uid.as_str()), "{when}, and the instance is marked for {uid:?}");
    if let Some(arrived) = &thing.delivered.cloud_init {
        hold!(arrived == request.cloud_init.reveal(), "{when}, and other user data has reached the instance");
    }
    let instance = w.gets(&id).await?;
    if instance.uid != request.uid || instance.name != request.name {
        broken!("{when}, and get of {id} answered with {} of {}", instance.name, instance.uid);
    }
    w.goes(&id).await?;
    nothing_left(w, when).await
}
