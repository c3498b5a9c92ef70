//! What a request asks for, checked against config and catalogue before any call is made
//! (`create.rejects-unsatisfiable-before-any-call`).

use provider_api::{CreateRequest, Error, ImageRules, LeftBehind, Name};

use crate::{Config, DomainId, Host, Image, MachineType, image};

/// A request that can be satisfied as far as can be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The id that the domain will have.
    pub id: DomainId,
    /// The image that it boots from.
    pub image: Image,
    /// Its size.
    pub machine: MachineType,
}

/// Resolves a request.
///
/// # Errors
/// Permanent, naming the field, with nothing left.
pub fn place(request: &CreateRequest, config: &Config, rules: &ImageRules) -> Result<Placed, Error> {
    let resolve = || {
        if request.name != Name::from_uid(&request.uid) {
            let text = format!("name {} does not belong to uid {}", request.name, request.uid);
            return Err(Error::permanent(text));
        }
        let placement = &request.placement;
        Ok(Placed {
            id: DomainId::new(&host(placement.zone.as_deref(), config)?.name, &request.name),
            image: image::resolve(placement.image.as_deref(), &config.images, rules)?,
            machine: machine(placement.machine_type.as_deref(), config)?,
        })
    };
    resolve().map_err(|error| error.coded("BadPlacement").leaving(LeftBehind::Nothing))
}

/// A zone is a host. Where only one takes creates it need not be named.
fn host<'c>(asked: Option<&str>, config: &'c Config) -> Result<&'c Host, Error> {
    let open: Vec<_> = config.hosts.iter().filter(|host| !host.decommissioned).collect();
    let host = match (asked, config.hosts.as_slice()) {
        (None, [only]) => Some(only),
        (None, _) if open.len() == 1 => Some(open[0]),
        (asked, hosts) => hosts.iter().find(|host| Some(host.name.as_str()) == asked),
    };
    let names = config.hosts.iter().map(|host| host.name.as_str());
    let host = host.ok_or_else(|| unknown("placement.zone", asked, names))?;
    if host.decommissioned {
        // delete.decommissioned-target
        let text = format!("placement.zone {:?} is decommissioned, and nothing new is made there", host.name);
        return Err(Error::permanent(text));
    }
    Ok(host)
}

fn machine(asked: Option<&str>, config: &Config) -> Result<MachineType, Error> {
    let known = asked.and_then(|asked| config.machine_types.get(asked));
    let names = config.machine_types.keys().map(String::as_str);
    known.copied().ok_or_else(|| unknown("placement.machineType", asked, names))
}

fn unknown<'k>(field: &str, asked: Option<&str>, known: impl Iterator<Item = &'k str>) -> Error {
    let known = known.collect::<Vec<_>>().join(", ");
    Error::permanent(match asked {
        Some(asked) => format!("{field} {asked:?} is not one of the entry's: {known}"),
        None => format!("{field} is missing; the entry's are: {known}"),
    })
}
