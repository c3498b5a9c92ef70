//! From a request's placement to what the Pod asks for. Everything that config and catalogue can tell is told here,
//! before any call (`create.rejects-unsatisfiable-before-any-call`).

use provider_api::{CreateRequest, Error, ImageRules, LeftBehind, Name, config::Shared};

use crate::{
    config::{Config, Resources, is_label_value},
    id::PodId,
};

/// A request's placement, resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) id: PodId,
    pub(crate) region: Option<String>,
    pub(crate) zone: Option<String>,
    pub(crate) image: String,
    pub(crate) resources: Resources,
}

/// Resolves a request.
pub(crate) fn place(request: &CreateRequest, config: &Config, shared: &Shared) -> Result<Placed, Error> {
    let resolve = || {
        Ok(Placed {
            id: id(request, config)?,
            region: topology("placement.region", &request.placement.region, "regions", &config.regions)?,
            zone: topology("placement.zone", &request.placement.zone, "zones", &config.zones)?,
            image: image(request, config, shared)?,
            resources: resources(request, config)?,
        })
    };
    resolve().map_err(|error: Error| error.coded("BadPlacement").leaving(LeftBehind::Nothing))
}

fn id(request: &CreateRequest, config: &Config) -> Result<PodId, Error> {
    if request.name != Name::from_uid(&request.uid) {
        let text = format!("name {} does not belong to uid {}", request.name, request.uid);
        return Err(Error::permanent(text));
    }
    let namespace = &request.owner.namespace;
    let id = PodId::new(namespace, &request.name)
        .map_err(|malformed| Error::permanent(format!("owner.namespace: {malformed}")))?;
    // A listing reads the configured namespaces only: what is made elsewhere would never be found again.
    if !config.namespaces.is_empty() && !config.namespaces.contains(namespace) {
        let known = config.namespaces.join(", ");
        let text = format!("owner.namespace {namespace} is not one of the entry's namespaces: {known}");
        return Err(Error::permanent(text));
    }
    Ok(id)
}

fn topology(
    field: &str,
    given: &Option<String>,
    key: &str,
    known: &[String],
) -> Result<Option<String>, Error> {
    let Some(value) = given else { return Ok(None) };
    if !is_label_value(value) {
        return Err(Error::permanent(format!("{field} {value:?} is not a label value")));
    }
    if !known.is_empty() && !known.contains(value) {
        let known = known.join(", ");
        return Err(Error::permanent(format!("{field} {value:?} is not one of the entry's {key}: {known}")));
    }
    Ok(Some(value.clone()))
}

fn image(request: &CreateRequest, config: &Config, shared: &Shared) -> Result<String, Error> {
    let Some(name) = &request.placement.image else { return Ok(config.image.clone()) };
    if let Some(image) = config.images.get(name) {
        return Ok(image.clone());
    }
    ImageRules { allowed_prefixes: shared.allowed_image_prefixes.clone() }.allow(name)?;
    Ok(name.clone())
}

fn resources(request: &CreateRequest, config: &Config) -> Result<Resources, Error> {
    let Some(name) = &request.placement.machine_type else { return Ok(config.default_resources.clone()) };
    config.machine_types.get(name).cloned().ok_or_else(|| {
        let known = config.machine_types.keys().cloned().collect::<Vec<_>>().join(", ");
        Error::permanent(format!(
            "placement.machineType {name:?} is not one of the entry's machineTypes: {known}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use provider_api::{FailureClass, Owner, Placement, ProviderName, Secret, Uid};

    use super::*;

    fn request() -> CreateRequest {
        let owner = Owner {
            namespace: "team-a".into(),
            name: "p".into(),
            api_version: "crawl.example.com/v1alpha1".into(),
            kind: "Proxy".into(),
        };
        CreateRequest::new(Uid::parse("uid-1").unwrap(), owner, Secret::new("x"))
    }

    fn config() -> Config {
        let mut config = Config::new(vec!["10.0.0.0/8".parse().unwrap()]);
        config.images = [("six".to_owned(), "registry.example/squid:6".to_owned())].into();
        let resources = |cpu: &str| Resources { cpu: cpu.into(), memory: "64Mi".into() };
        config.machine_types = [("small".to_owned(), resources("50m"))].into();
        config.regions = vec!["eu".into()];
        config.zones = vec!["eu-1".into(), "eu-2".into()];
        config.namespaces = vec!["team-a".into()];
        config
    }

    fn shared() -> Shared {
        let mut shared = Shared::placeholder(ProviderName::parse("k").unwrap());
        shared.allowed_image_prefixes = vec!["registry.example/team".into()];
        shared
    }

    #[test]
    fn names_of_the_catalogue_are_resolved() {
        let mut request = request();
        let plain = place(&request, &config(), &shared()).unwrap();
        assert_eq!(plain.image, Config::DEFAULT_IMAGE);
        assert_eq!((plain.region, plain.zone), (None, None));
        request.placement = Placement {
            region: Some("eu".into()),
            zone: Some("eu-2".into()),
            machine_type: Some("small".into()),
            image: Some("six".into()),
        };
        let placed = place(&request, &config(), &shared()).unwrap();
        assert_eq!(placed.image, "registry.example/squid:6");
        assert_eq!(placed.resources.cpu, "50m");
        request.placement.image = Some("registry.example/team/squid:7".into());
        assert_eq!(place(&request, &config(), &shared()).unwrap().image, "registry.example/team/squid:7");
    }

    #[test]
    fn what_config_can_tell_is_permanent_and_names_the_field() {
        let cases: [(&str, fn(&mut CreateRequest)); 9] = [
            ("placement.region", |r| r.placement.region = Some("mars".into())),
            ("placement.region", |r| r.placement.region = Some("a b".into())),
            ("placement.zone", |r| r.placement.zone = Some("eu-3".into())),
            ("placement.machineType", |r| r.placement.machine_type = Some("huge".into())),
            ("placement.image", |r| r.placement.image = Some("evil.example/x".into())),
            ("placement.image", |r| r.placement.image = Some("registry.example/team-evil/x".into())),
            ("owner.namespace", |r| r.owner.namespace = "kube-system".into()),
            ("owner.namespace", |r| r.owner.namespace = "a/b".into()),
            ("name", |r| r.name = Name::from_uid(&Uid::parse("other").unwrap())),
        ];
        for (field, spoil) in cases {
            let mut request = request();
            spoil(&mut request);
            let error = place(&request, &config(), &shared()).unwrap_err();
            assert_eq!(error.class(), FailureClass::Permanent, "{field}");
            assert_eq!(error.left_behind(), LeftBehind::Nothing, "{field}");
            assert!(error.message().contains(field), "{field}: {error}");
        }
    }
}
