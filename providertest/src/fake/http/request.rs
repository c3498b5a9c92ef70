//! A request as a fake reads it: whole, with its path in segments.

use bytes::Bytes;
use http::{HeaderMap, Method, Uri, request::Parts};
use percent_encoding::percent_decode_str;
use provider_api::CallId;
use serde_json::Value;

/// A request that has been read to its end.
#[derive(Clone, Debug)]
pub struct Request {
    method: Method,
    uri: Uri,
    segments: Vec<String>,
    query: Vec<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
}

impl Request {
    /// A request without headers and body, as a test of a fake makes it.
    ///
    /// # Panics
    /// When method or URI are none.
    pub fn new(method: &str, uri: &str) -> Self {
        let request = http::Request::builder().method(method).uri(uri).body(Bytes::new());
        Self::of(request.unwrap_or_else(|error| panic!("{method} {uri} is no request: {error}")))
    }

    /// With a header.
    ///
    /// # Panics
    /// When the value cannot stand in one.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: &str) -> Self {
        let value = value.parse().unwrap_or_else(|_| panic!("the header {name} cannot have that value"));
        self.headers.insert(name, value);
        self
    }

    /// With a body in JSON.
    #[must_use]
    pub fn with_json(self, body: &Value) -> Self {
        Self { body: body.to_string().into(), ..self }
    }

    /// A request of these parts.
    ///
    /// ```
    /// use providertest::fake::http::Request;
    ///
    /// let request = http::Request::put("/zones/north/machines/a%20b?wait=no").body("{}".into())?;
    /// let request = Request::of(request);
    /// assert_eq!(request.route(), ("PUT", vec!["zones", "north", "machines", "a b"]));
    /// assert_eq!(request.query("wait"), Some("no"));
    /// # Ok::<(), http::Error>(())
    /// ```
    pub fn of(request: http::Request<Bytes>) -> Self {
        let (parts, body) = request.into_parts();
        let Parts { method, uri, headers, .. } = parts;
        let decode = |segment: &str| percent_decode_str(segment).decode_utf8_lossy().into_owned();
        let segments = uri.path().split('/').filter(|segment| !segment.is_empty()).map(decode).collect();
        let query = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).into_owned().collect();
        Self { method, uri, segments, query, headers, body }
    }

    /// Method and path, to be matched: `("GET", ["machines", name])`. Segments are decoded, empty ones left out.
    pub fn route(&self) -> (&str, Vec<&str>) {
        (self.method.as_str(), self.segments.iter().map(String::as_str).collect())
    }

    /// The method, as [`Request::route`] has it as text.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// Path and query as they were sent.
    pub fn uri(&self) -> &Uri {
        &self.uri
    }

    /// The first value of a query parameter, decoded.
    pub fn query(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The headers. Those with credentials are among them.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The first header of that name, in any case, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The token of an `Authorization: Bearer` header.
    pub fn bearer(&self) -> Option<&str> {
        let (scheme, token) = self.header("authorization")?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    }

    /// The body, whole.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// The body as JSON; `None` when it is none. A fake that validates refuses it then.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// The first field of that name in a body in form encoding.
    pub fn form(&self, name: &str) -> Option<String> {
        form_urlencoded::parse(&self.body).find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    }

    /// The seam's call that sent it, by the header [`CallId::HEADER`]; `None` where the client does not say.
    pub fn call(&self) -> Option<CallId> {
        self.header(CallId::HEADER)?.parse().ok().map(CallId)
    }
}
