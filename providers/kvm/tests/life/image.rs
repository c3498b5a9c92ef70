//! The image to boot: a URL, or a file that is served on loopback for as long as the test lives.

use std::{env, path::Path, process::Command, sync::OnceLock};

use crate::{host::offered, outside::image};

const URL: &str = "KVM_TEST_IMAGE_URL";
const SHA256: &str = "KVM_TEST_IMAGE_SHA256";
const FILE: &str = "KVM_TEST_IMAGE_FILE";

/// Where the provider finds an image, and the sum of its bytes where that is known.
#[derive(Clone)]
pub(crate) struct Image {
    pub(crate) url: String,
    pub(crate) sha256: Option<String>,
}

impl Image {
    /// The one of a URL, or else of a file.
    pub(crate) fn offered() -> Self {
        if let Ok(url) = env::var(URL) {
            return Self { url, sha256: env::var(SHA256).ok() };
        }
        static SERVED: OnceLock<Image> = OnceLock::new();
        SERVED.get_or_init(|| serve(offered(FILE).as_ref())).clone()
    }

    /// Offers the same image to a child, whoever serves it.
    pub(crate) fn give<'c>(&self, child: &'c mut Command) -> &'c mut Command {
        if let Some(sum) = &self.sha256 {
            child.env(SHA256, sum);
        }
        child.env(URL, &self.url)
    }
}

fn serve(file: &Path) -> Image {
    let served = image::serve(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    Image { url: format!("http://{}/guest.qcow2", served.at), sha256: Some(served.sha256) }
}
