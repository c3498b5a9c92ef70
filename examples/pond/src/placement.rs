//! What a request asks for, checked against config and catalogue before any call is made
//! (`create.rejects-unsatisfiable-before-any-call`).

use provider_api::{CreateRequest, Error, ImageRules, LeftBehind, Name};

use crate::{config::Config, id::MachineId};

/// A request that can be satisfied as far as can be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) id: MachineId,
    /// The backend's name of it.
    pub(crate) image: String,
    pub(crate) machine_type: String,
}

/// Resolves a request.
pub(crate) fn place(request: &CreateRequest, config: &Config, images: &ImageRules) -> Result<Placed, Error> {
    let resolve = || {
        if request.name != Name::from_uid(&request.uid) {
            let text = format!("name {} does not belong to uid {}", request.name, request.uid);
            return Err(Error::permanent(text));
        }
        Ok(Placed {
            id: MachineId::new(target(request, config)?, &request.name),
            image: image(request, config, images)?,
            machine_type: machine_type(request, config)?,
        })
    };
    resolve().map_err(|error| error.coded("BadPlacement").leaving(LeftBehind::Nothing))
}

fn target<'c>(request: &CreateRequest, config: &'c Config) -> Result<&'c str, Error> {
    let asked = request.placement.zone.as_deref();
    let first = config.targets.iter().find(|target| !target.decommissioned);
    let target = asked.map_or(first, |asked| config.target(asked));
    let known = || config.targets.iter().map(|target| target.name.as_str());
    let target = target.ok_or_else(|| unknown("placement.zone", asked.unwrap_or("none"), known()))?;
    if target.decommissioned {
        let text =
            format!("placement.zone {:?} is decommissioned, and nothing new is made there", target.name);
        return Err(Error::permanent(text));
    }
    Ok(&target.name)
}

/// The image: of the catalogue, or one that `allowedImagePrefixes` lets through (`create.image-allow-list`).
fn image(request: &CreateRequest, config: &Config, images: &ImageRules) -> Result<String, Error> {
    let Some(asked) = &request.placement.image else {
        return Ok(config.images.values().next().cloned().unwrap_or_default());
    };
    if let Some(image) = config.images.get(asked) {
        return Ok(image.clone());
    }
    images.allow(asked).map(|()| asked.clone())
}

fn machine_type(request: &CreateRequest, config: &Config) -> Result<String, Error> {
    let asked = request.placement.machine_type.as_deref();
    let mut types = config.machine_types.iter();
    let found = types.find(|name| asked.is_none_or(|asked| asked == *name));
    let known = || config.machine_types.iter().map(String::as_str);
    found.cloned().ok_or_else(|| unknown("placement.machineType", asked.unwrap_or("none"), known()))
}

fn unknown<'k>(field: &str, asked: &str, known: impl Iterator<Item = &'k str>) -> Error {
    let known = known.collect::<Vec<_>>().join(", ");
    Error::permanent(format!("{field} {asked:?} is not one of the entry's: {known}"))
}
