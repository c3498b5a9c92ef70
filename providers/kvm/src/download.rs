//! Images on their way from their server: how large one is, and its bytes, hashed as they come. The client has no timer,
//! no retry and no proxy of its own.

use std::{
    collections::BTreeMap,
    fmt,
    net::IpAddr,
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use libvirt_model::{BEGINNING, Image, reaches_out};
use provider_api::{CallId, Error, Seam, current_call, is_internal, reasons};
use reqwest::{Client, Method, Response, Url, header::LOCATION, redirect, retry};
use rustls::{ClientConfig, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt as _;
use sha2::{Digest, Sha256};

use crate::{
    backend::{DOWNLOAD, DOWNLOAD_HEAD},
    client::{Feeder, NobodyTakes},
    error::{ClientError, ImageError, Refused},
};

/// How often a server may send on elsewhere.
const HOPS: usize = 5;

/// Who is believed in TLS. The platform's roots are read once: hundreds of files, on some platforms.
static TLS: OnceLock<ClientConfig> = OnceLock::new();

/// The way to image servers. It dials nothing until it is used (`runtime.constructor-does-not-dial`).
pub(crate) struct Images {
    /// Where a test serves all images.
    socket: Option<PathBuf>,
    /// Whether a test's ledger wants the call's id on the wire.
    tracked: bool,
    /// The entry's catalogue, for the names that people know images by.
    catalogue: BTreeMap<String, Image>,
    client: OnceLock<Client>,
}

/// An image whose first byte has come.
pub(crate) struct Coming {
    response: Response,
    /// What goes on, for errors.
    doing: String,
    hash: Sha256,
    /// How many bytes there will be, where the server says so.
    pub(crate) length: Option<u64>,
    came: u64,
    /// What came first, as much of it as tells what the image needs.
    beginning: Vec<u8>,
}

impl Images {
    pub(crate) fn new(socket: Option<PathBuf>, tracked: bool, catalogue: BTreeMap<String, Image>) -> Self {
        Self { socket, tracked, catalogue, client: OnceLock::new() }
    }

    /// What goes on, in words: the image by its name in the catalogue, where it has one, and its server.
    fn doing(&self, what: &str, image: &Image) -> String {
        let named = self.catalogue.iter().find(|(_, known)| *known == image);
        let called = named.map_or_else(|| "an image".to_owned(), |(name, _)| format!("the image {name}"));
        format!("{what} {called} from {}", host_of(image))
    }

    /// How many bytes an image has, where its server says so beforehand. Only what no download could mend is an error.
    pub(crate) async fn length(&self, seam: &Seam, image: &Image) -> Result<Option<u64>, Refused> {
        let asking = async {
            match self.ask(Method::HEAD, image).await {
                Ok(response) => Ok(length_of(&response)),
                // Many servers do not answer so, or not to everybody, and give the image all the same.
                Err(ImageError::Status(status)) if !matches!(status, 404 | 410 | 429 | 500..) => Ok(None),
                Err(error) => Err(ClientError::Image(error)),
            }
        };
        let asked = seam.call(DOWNLOAD_HEAD, &host_of(image), asking).await;
        asked
            .map_err(|error| Refused::of(&error, DOWNLOAD_HEAD, &self.doing("asking for the size of", image)))
    }

    /// Asks for an image.
    pub(crate) async fn fetch(&self, seam: &Seam, image: &Image) -> Result<Coming, Refused> {
        let asking = async { self.ask(Method::GET, image).await.map_err(ClientError::Image) };
        let asked = seam.call(DOWNLOAD, &host_of(image), asking).await;
        let doing = self.doing("downloading", image);
        let response = asked.map_err(|error| Refused::of(&error, DOWNLOAD, &doing))?;
        let length = length_of(&response);
        let beginning = Vec::with_capacity(BEGINNING);
        Ok(Coming { response, doing, hash: Sha256::new(), length, came: 0, beginning })
    }

    /// One request, and those that its answer leads to. Where a server sends on to is its admin's word, not ours: never to
    /// an internal address but its own, nor to where an encrypted way ends.
    async fn ask(&self, method: Method, image: &Image) -> Result<Response, ImageError> {
        let client = self.client().map_err(|error| ImageError::Undelivered(error.message().to_owned()))?;
        let mut url = Url::parse(&image.url).map_err(|error| ImageError::Forbidden(error.to_string()))?;
        for _ in 0..=HOPS {
            let mut request = client.request(method.clone(), url.clone());
            if let Some(CallId(call)) = current_call().filter(|_| self.tracked) {
                request = request.header(CallId::HEADER, call);
            }
            let response = request.send().await.map_err(|error| ImageError::Undelivered(said(error)))?;
            let status = response.status();
            if status.is_success() {
                return Ok(response);
            }
            let next = response.headers().get(LOCATION).filter(|_| status.is_redirection());
            let Some(next) = next.and_then(|next| next.to_str().ok()) else {
                return Err(ImageError::Status(status.as_u16()));
            };
            url = leads_on(&url, next)?;
        }
        Err(ImageError::Forbidden(format!("the image server sends on more than {HOPS} times")))
    }

    fn client(&self) -> Result<&Client, Error> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let builder = Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .pool_idle_timeout(None)
            .user_agent(concat!("proxy-operator/", env!("CARGO_PKG_VERSION")))
            .tls_backend_preconfigured(tls()?);
        let builder = match &self.socket {
            Some(socket) => builder.unix_socket(socket.as_path()),
            None => builder,
        };
        let made =
            builder.build().map_err(|error| unusable(format!("no HTTP client can be made: {error}")))?;
        Ok(self.client.get_or_init(|| made))
    }
}

impl Coming {
    /// Hands the bytes over as they come, and at the end whether they are those that were promised. Nobody holds more of
    /// them than a few pieces, and no more are taken than there is `room` for: a server that does not say how many there
    /// are may never end, and guests write to the same pool.
    pub(crate) async fn into(mut self, mut feeder: Feeder, image: &Image, room: u64) -> Result<(), Error> {
        let failed =
            |error, doing: &str| Refused::of(&ClientError::Image(error).into(), DOWNLOAD, doing).error;
        loop {
            let chunk = self.response.chunk().await;
            let chunk = chunk.map_err(|error| failed(ImageError::CutOff(said(error)), &self.doing))?;
            let Some(chunk) = chunk else { break };
            self.came += chunk.len() as u64;
            if self.came > room {
                let text = format!("it is larger than the {} MiB that the pool has for it", room >> 20);
                return Err(failed(ImageError::NoRoom(text), &self.doing));
            }
            self.hash.update(&chunk);
            let more = BEGINNING - self.beginning.len();
            self.beginning.extend(chunk.iter().take(more));
            if more > 0 && reaches_out(&self.beginning) {
                let text = "it needs another file, which would be one of the host's";
                return Err(failed(ImageError::Forbidden(text.to_owned()), &self.doing));
            }
            feeder.put(&chunk).await.map_err(nobody)?;
        }
        // The client counts too; this holds where it was not told beforehand.
        if self.length.is_some_and(|length| length != self.came) {
            let text = format!("{} bytes came of {}", self.came, self.length.unwrap_or_default());
            return Err(failed(ImageError::CutOff(text), &self.doing));
        }
        let seen = hex(&self.hash.finalize());
        if let Some(due) = image.sha256.clone().filter(|due| *due != seen) {
            return Err(failed(ImageError::Mismatch { due, seen }, &self.doing));
        }
        feeder.end().await.map_err(nobody)
    }
}

/// Where an answer sends on to.
fn leads_on(from: &Url, to: &str) -> Result<Url, ImageError> {
    let refused = |why: &str| ImageError::Forbidden(format!("the image server sends on to {why}"));
    let url = from.join(to).map_err(|_| refused("what is no URL"))?;
    if !matches!((from.scheme(), url.scheme()), ("http", "http" | "https") | ("https", "https")) {
        return Err(refused("where the way is not encrypted"));
    }
    // A name may end in a dot, and is the same.
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>().ok();
    let inside = address.is_some_and(is_internal) || host == "localhost" || host.ends_with(".localhost");
    if inside && url.host_str() != from.host_str() {
        return Err(refused("an internal address"));
    }
    Ok(url)
}

/// The transfer took no more; why, the transfer itself says.
fn nobody(_: NobodyTakes) -> Error {
    Error::transient("the upload ended before the image did").coded("UploadEnded")
}

/// The server, for log lines: a URL may have a token in it.
fn host_of(image: &Image) -> String {
    Url::parse(&image.url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
}

fn length_of(response: &Response) -> Option<u64> {
    let header = response.headers().get(reqwest::header::CONTENT_LENGTH)?;
    header.to_str().ok()?.parse().ok()
}

fn tls() -> Result<ClientConfig, Error> {
    if let Some(tls) = TLS.get() {
        return Ok(tls.clone());
    }
    let made = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(error.to_string()))?
        .with_platform_verifier()
        .map_err(|error| unusable(format!("the platform has no roots: {error}")))?
        .with_no_client_auth();
    Ok(TLS.get_or_init(|| made).clone())
}

fn unusable(why: String) -> Error {
    Error::transient(why).coded(reasons::CERTIFICATE_INVALID)
}

/// An error of the client's with its causes, and without its URL.
fn said(error: reqwest::Error) -> String {
    let error = error.without_url();
    let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

impl fmt::Debug for Images {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Images").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_sends_on_only_to_where_the_admin_could_have_meant() {
        let leads =
            |from: &str, to: &str| leads_on(&Url::parse(from).unwrap(), to).map(|url| url.to_string());
        let from = "https://img.example/a";
        assert_eq!(leads(from, "https://mirror.example/b").unwrap(), "https://mirror.example/b");
        assert_eq!(leads(from, "/b").unwrap(), "https://img.example/b");
        for to in [
            "http://img.example/b",
            "https://169.254.169.254/b",
            "https://[::1]/b",
            "https://localhost/",
            "https://localhost./",
            "https://a.localhost./",
            "https://127.0.0.1./",
            "https://0x7f.1/",
            "ftp://x/",
        ] {
            assert!(leads(from, to).is_err(), "{to}");
        }
        assert!(leads("http://10.0.0.7/a", "/b").is_ok(), "the admin has named that address");
    }
}
