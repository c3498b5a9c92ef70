//! What a request asks for, checked against config and catalogue before any call is made
//! (`create.rejects-unsatisfiable-before-any-call`).

use provider_api::{CreateRequest, Error, ImageRules, LeftBehind, Name};

use crate::{config::Config, id::MachineId};

/// A request that can be satisfied as far as can be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) id: MachineId,
    pub(crate) place: String,
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
            id: MachineId::new(&request.name),
            place: one_of("placement.zone", request.placement.zone.as_deref(), &config.places)?,
            image: image(request, config, images)?,
            machine_type: one_of(
                "placement.machineType",
                request.placement.machine_type.as_deref(),
                &config.machine_types,
            )?,
        })
    };
    resolve().map_err(|error| error.coded("BadPlacement").leaving(LeftBehind::Nothing))
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

/// What is asked for, if the config has it; the first that it has, where nothing is.
fn one_of(field: &str, asked: Option<&str>, known: &[String]) -> Result<String, Error> {
    let found = known.iter().find(|name| asked.is_none_or(|asked| asked == *name));
    found.cloned().ok_or_else(|| {
        let (asked, known) = (asked.unwrap_or("none"), known.join(", "));
        Error::permanent(format!("{field} {asked:?} is not one of the entry's: {known}"))
    })
}
