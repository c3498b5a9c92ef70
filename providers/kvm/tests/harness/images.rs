//! The server of images, as small as images can be. It answers with errors of the catalogue where a fault says so.

use std::sync::Arc;

use data_encoding::HEXLOWER;
use futures::{StreamExt as _, stream};
use http::{HeaderValue, Method, Response, StatusCode, header::CONTENT_LENGTH};
use provider_api::{Catalogue, NativeError};
use providertest::{
    fake::http::{self as fake, Answer, Body, Fake, Reading, Refused, Request, Server},
    harness::Case,
};
use sha2::{Digest, Sha256};

/// What a guest sees of the image.
const CAPACITY: u64 = 2 << 30;

/// The bytes of every image that is served: an empty disk as QEMU lays it out.
pub(crate) fn bytes() -> Vec<u8> {
    let mut bytes = vec![0; 8 << 10];
    bytes[..4].copy_from_slice(b"QFI\xfb");
    bytes[4..8].copy_from_slice(&3_u32.to_be_bytes());
    bytes[20..24].copy_from_slice(&16_u32.to_be_bytes());
    bytes[24..32].copy_from_slice(&CAPACITY.to_be_bytes());
    bytes[100..104].copy_from_slice(&104_u32.to_be_bytes());
    bytes
}

/// What they hash to.
pub(crate) fn sha256() -> String {
    HEXLOWER.encode(&Sha256::digest(bytes()))
}

/// The server of a case.
pub(crate) fn server(case: &Case, catalogue: Catalogue) -> Server {
    Server::new(Arc::new(Images), case.wire.clone(), catalogue)
}

struct Images;

impl Fake for Images {
    fn read(&self, request: &Request) -> Reading {
        let kind = if request.method() == Method::HEAD { "image head" } else { "image get" };
        Reading::new(kind, "images").about(request.uri().path())
    }

    fn answer(&self, request: &Request) -> Result<Answer, Refused> {
        match request.route() {
            ("HEAD", _) => Ok(sent(Vec::new(), bytes().len())),
            ("GET", _) => Ok(sent(bytes(), bytes().len())),
            _ => Err(Refused("no-head")),
        }
    }

    fn native(&self, request: &Request, error: &NativeError) -> Answer {
        let all = bytes();
        match error.id {
            "image-cut-off" => sent(all[..100].to_vec(), all.len()),
            "image-not-as-promised" => sent(vec![7; all.len()], all.len()),
            _ if request.method() == Method::HEAD => {
                let status = error.status.and_then(|status| u16::try_from(status).ok()).unwrap_or(500);
                let mut answer = sent(Vec::new(), 0);
                *answer.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
                answer
            }
            _ => fake::refusal(error, error.text.to_owned(), &serde_json::Value::Null),
        }
    }
}

/// An answer that promises so many bytes.
fn sent(bytes: Vec<u8>, promised: usize) -> Answer {
    let body =
        stream::iter([bytes::Bytes::from(bytes)]).filter(|bytes| std::future::ready(!bytes.is_empty()));
    let mut answer = Response::new(Body::Stream(body.boxed()));
    answer.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(promised));
    answer
}
