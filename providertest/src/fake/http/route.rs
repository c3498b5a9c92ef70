//! The calls of a backend as a table: what each is called, how it is sent, and what it takes.

use super::Request;
use crate::fake::Reading;

/// A call as it comes over HTTP. A fake's table of them is what [`Fake::read`](super::Fake::read) reads requests by, and
/// what [`Fake::answer`](super::Fake::answer) branches on.
///
/// A path has names in braces. `{target}` is the part of the backend that can fail on its own; the last other one is
/// what the call is about. A query parameter, a field of the body or a field's value that tells two calls of one path apart is named too.
/// The first row that fits is the one.
///
/// ```
/// use providertest::fake::http::{Request, Route};
/// use serde_json::json;
///
/// const ROUTES: &[Route] = &[
///     Route::new("find", "GET", "/zones/{target}/machines?name={name}").needs("read"),
///     Route::new("list", "GET", "/zones/{target}/machines").needs("read"),
///     Route::new("create", "POST", "/zones/{target}/machines").needs("write").with_payload().named_by("name"),
///     Route::new("delete", "DELETE", "/zones/{target}/machines/{name}").needs("write"),
/// ];
///
/// let found = Route::find(ROUTES, &Request::new("GET", "/zones/north/machines?name=a")).unwrap();
/// assert_eq!((found.route.kind, found.route.right), ("find", Some("read")));
/// assert_eq!((found.part("target"), found.part("name")), ("north", "a"));
/// let create = Request::new("POST", "/zones/north/machines").with_json(&json!({"name": "b"}));
/// assert_eq!(Route::find(ROUTES, &create).unwrap().subject(), "b");
/// assert!(Route::find(ROUTES, &Request::new("PUT", "/zones")).is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// What the call is called in profile and catalogue.
    pub kind: &'static str,
    /// Its method.
    pub method: &'static str,
    /// Its path, with names in braces.
    pub path: &'static str,
    /// The right that it takes.
    pub right: Option<&'static str>,
    payload: bool,
    named_by: Option<&'static str>,
    field: Option<&'static str>,
    value: Option<&'static str>,
}

/// A request with the route that it came by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routed {
    /// The route.
    pub route: Route,
    parts: Vec<(&'static str, String)>,
    named: Option<String>,
}

impl Route {
    /// A call of that kind, by that method and path. It takes no right and carries nothing secret; every method but GET
    /// and HEAD changes something.
    pub const fn new(kind: &'static str, method: &'static str, path: &'static str) -> Self {
        Self { kind, method, path, right: None, payload: false, named_by: None, field: None, value: None }
    }

    /// It takes that right.
    #[must_use]
    pub const fn needs(self, right: &'static str) -> Self {
        Self { right: Some(right), ..self }
    }

    /// It carries user data or credentials, which a refusal may quote.
    #[must_use]
    pub const fn with_payload(self) -> Self {
        Self { payload: true, ..self }
    }

    /// What it is about stands in that field of its body.
    #[must_use]
    pub const fn named_by(self, field: &'static str) -> Self {
        Self { named_by: Some(field), ..self }
    }

    /// Its body has that field; a body without it is of another call.
    #[must_use]
    pub const fn with_field(self, field: &'static str) -> Self {
        Self { field: Some(field), ..self }
    }

    /// Its body says that in that field; a body that says something else is of another call.
    #[must_use]
    pub const fn with_value(self, field: &'static str, value: &'static str) -> Self {
        Self { field: Some(field), value: Some(value), ..self }
    }

    /// The first of these routes that a request came by.
    pub fn find(routes: &[Self], request: &Request) -> Option<Routed> {
        routes.iter().find_map(|route| route.fits(request))
    }

    /// What the wire is to record of a request: `nonsense` where no route fits. `target` is what a path without
    /// `{target}` leads to.
    pub fn read(routes: &[Self], request: &Request, target: &str) -> Reading {
        let Some(found) = Self::find(routes, request) else { return Reading::new("nonsense", target) };
        let at = if found.has("target") { found.part("target") } else { target };
        let mut reading = Reading::new(found.route.kind, at).about(found.subject());
        if !matches!(found.route.method, "GET" | "HEAD") {
            reading = reading.mutates();
        }
        if found.route.payload { reading.with_payload() } else { reading }
    }

    fn fits(&self, request: &Request) -> Option<Routed> {
        let (method, segments) = request.route();
        let (path, query) = self.path.split_once('?').unwrap_or((self.path, ""));
        let pattern: Vec<_> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        if method != self.method || pattern.len() != segments.len() {
            return None;
        }
        let mut parts = Vec::new();
        for (pattern, segment) in pattern.into_iter().zip(segments) {
            match name(pattern) {
                Some(name) => parts.push((name, segment.to_owned())),
                None if pattern == segment => {}
                None => return None,
            }
        }
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, pattern) = pair.split_once('=').unwrap_or((pair, ""));
            let value = request.query(key)?;
            match name(pattern) {
                Some(name) => parts.push((name, value.to_owned())),
                None if pattern.is_empty() || pattern == value => {}
                None => return None,
            }
        }
        let body = request.json().unwrap_or_default();
        if self.field.is_some_and(|field| body[field].is_null()) {
            return None;
        }
        if self.value.is_some() && self.value != self.field.and_then(|field| body[field].as_str()) {
            return None;
        }
        let named = self.named_by.map(|field| body[field].as_str().unwrap_or_default().to_owned());
        Some(Routed { route: *self, parts, named })
    }
}

impl Routed {
    /// What stands in the path or query under that name; empty where the route has no such name.
    pub fn part(&self, name: &str) -> &str {
        self.parts.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value.as_str())
    }

    /// What the call is about: what the body says where the route is named by a field of it, otherwise the last name of
    /// the path that is not the target.
    pub fn subject(&self) -> &str {
        let mut names = self.parts.iter().rev().filter(|(name, _)| *name != "target");
        self.named.as_deref().or_else(|| Some(names.next()?.1.as_str())).unwrap_or_default()
    }

    fn has(&self, name: &str) -> bool {
        self.parts.iter().any(|(known, _)| *known == name)
    }
}

/// The name that a pattern has in braces.
fn name(pattern: &'static str) -> Option<&'static str> {
    pattern.strip_prefix('{')?.strip_suffix('}')
}
