//! Every native error of the API server that the provider knows, with the class it means. The tests of `error.rs` walk
//! it; fakes answer from it.

use provider_api::{Catalogue, Class, NativeError, Operation};

/// The call kinds that an error answers. They are called as in `backend.rs`.
const CREATE: &[&str] = &["pod_create"];
const ON_ONE: &[&str] = &["pod_get", "pod_delete"];
const LIST: &[&str] = &["pod_list"];
const ANY: &[&str] =
    &["pod_create", "pod_get", "pod_delete", "pod_list", "version", "access_review", "quota_list"];

const SOURCES: &str = "kubernetes 1.37: apiserver, apimachinery, pod-security-admission";
const RECORDED: &str = "recorded from kube-apiserver 1.20.2";
const BALANCERS: &str = "load balancers before an API server";

/// Admission runs before the name is looked up, so a create whose Pod is there is answered so too, and goes on.
const REPEATED: &[Operation] = &[Operation::Create];

/// Every native error. One without a code is an answer in plain text. `{name}` and `{namespace}` stand for the Pod's;
/// the field `retry-after` is the header, `kind` is `details.kind` where it is not `pods`, `cause` the reason of the one
/// cause.
pub const CATALOGUE: Catalogue = Catalogue(&[QUOTA, RIGHTS, ADMISSION, STATE, SERVER]);

/// Quotas, which share status and reason with missing rights.
const QUOTA: &[NativeError] = &[
    NativeError::new("quota-exceeded", CREATE, Class::QuotaExceeded, RECORDED)
        .status(403)
        .code("Forbidden")
        .text(
            "pods \"{name}\" is forbidden: exceeded quota: rq, requested: pods=1, used: pods=2, \
             limited: pods=2",
        )
        .tolerated_by(REPEATED),
    NativeError::new("quota-insufficient", CREATE, Class::QuotaExceeded, SOURCES)
        .status(403)
        .code("Forbidden")
        .text("pods \"{name}\" is forbidden: insufficient quota to consume: requests.nvidia.com/gpu")
        .tolerated_by(REPEATED),
    NativeError::new("quota-uncounted", CREATE, Class::Transient, SOURCES)
        .status(403)
        .code("Forbidden")
        .text("pods \"{name}\" is forbidden: status unknown for quota: rq, resources: pods")
        .tolerated_by(REPEATED),
    NativeError::new("quota-demands-limits", CREATE, Class::Permanent, RECORDED)
        .status(403)
        .code("Forbidden")
        .text("pods \"{name}\" is forbidden: failed quota: rq: must specify limits.memory,requests.cpu")
        .tolerated_by(REPEATED),
    NativeError::new("quota-contention", CREATE, Class::Transient, SOURCES)
        .status(409)
        .code("Conflict")
        .fields(&[("kind", "resourcequotas")])
        .text(
            "Operation cannot be fulfilled on resourcequotas \"rq\": the object has been modified; \
             please apply your changes to the latest version and try again",
        )
        .tolerated_by(REPEATED),
    NativeError::new("quota-slow", CREATE, Class::Transient, SOURCES)
        .status(500)
        .code("InternalError")
        .text("Internal error occurred: resource quota evaluation timed out"),
];

/// Who may do what.
const RIGHTS: &[NativeError] = &[
    NativeError::new("unauthorized", ANY, Class::Permanent, SOURCES)
        .status(401)
        .code("Unauthorized")
        .text("Unauthorized"),
    NativeError::new("no-right-to-create", CREATE, Class::Permanent, SOURCES)
        .status(403)
        .code("Forbidden")
        .text(
            "pods is forbidden: User \"system:serviceaccount:op:op\" cannot create resource \"pods\" \
             in API group \"\" in the namespace \"{namespace}\"",
        )
        .tolerated_by(REPEATED),
    NativeError::new("no-right-on-the-pod", ON_ONE, Class::Permanent, SOURCES)
        .status(403)
        .code("Forbidden")
        .text(
            "pods \"{name}\" is forbidden: User \"system:serviceaccount:op:op\" cannot get resource \
             \"pods\" in API group \"\" in the namespace \"{namespace}\"",
        ),
    NativeError::new("no-right-to-list", LIST, Class::Permanent, RECORDED)
        .status(403)
        .code("Forbidden")
        .text(
            "pods is forbidden: User \"system:serviceaccount:op:op\" cannot list resource \"pods\" in \
             API group \"\" at the cluster scope",
        ),
];

/// What admission says no to.
const ADMISSION: &[NativeError] = &[
    NativeError::new("namespace-terminating", CREATE, Class::Transient, SOURCES)
        .status(403)
        .code("Forbidden")
        .fields(&[("cause", "NamespaceTerminating")])
        .text(
            "pods \"{name}\" is forbidden: unable to create new content in namespace {namespace} \
             because it is being terminated",
        )
        .tolerated_by(REPEATED),
    NativeError::new("namespace-missing", CREATE, Class::Permanent, RECORDED)
        .status(404)
        .code("NotFound")
        .fields(&[("kind", "namespaces")])
        .text("namespaces \"{namespace}\" not found")
        .tolerated_by(REPEATED),
    NativeError::new("service-account-missing", CREATE, Class::Transient, SOURCES)
        .status(403)
        .code("Forbidden")
        .text(
            "pods \"{name}\" is forbidden: error looking up service account {namespace}/default: \
             serviceaccount \"default\" not found",
        )
        .tolerated_by(REPEATED),
    NativeError::new("priority-class-missing", CREATE, Class::Permanent, SOURCES)
        .status(403)
        .code("Forbidden")
        .text("pods \"{name}\" is forbidden: no PriorityClass with name p was found")
        .tolerated_by(REPEATED),
    NativeError::new("pod-security", CREATE, Class::Permanent, SOURCES)
        .status(403)
        .code("Forbidden")
        .text(
            "pods \"{name}\" is forbidden: violates PodSecurity \"restricted:latest\": \
             allowPrivilegeEscalation != false",
        )
        .tolerated_by(REPEATED),
    NativeError::new("webhook-denied", CREATE, Class::Permanent, SOURCES)
        .status(403)
        .code("Forbidden")
        .text("admission webhook \"policy.example.com\" denied the request: exceeded quota: of patience")
        .tolerated_by(REPEATED),
    NativeError::new("webhook-unreachable", CREATE, Class::Transient, SOURCES)
        .status(500)
        .code("InternalError")
        .text(
            "Internal error occurred: failed calling webhook \"policy.example.com\": failed to call \
             webhook: Post \"https://policy.default.svc:443/v\": EOF",
        ),
    NativeError::new("policy-denied", CREATE, Class::Permanent, SOURCES)
        .status(422)
        .code("Invalid")
        .text(
            "pods \"{name}\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied \
             request: no",
        )
        .tolerated_by(REPEATED),
    NativeError::new("invalid", CREATE, Class::Permanent, SOURCES)
        .status(422)
        .code("Invalid")
        .fields(&[("kind", "Pod")])
        .text("Pod \"{name}\" is invalid: spec.containers[0].image: Required value")
        .tolerated_by(REPEATED),
    NativeError::new("bad-request", ANY, Class::Permanent, SOURCES)
        .status(400)
        .code("BadRequest")
        .text("the server rejected our request"),
];

/// What stands in the way, or does not stand there.
const STATE: &[NativeError] = &[
    NativeError::new("name-taken", CREATE, Class::Transient, RECORDED)
        .status(409)
        .code("AlreadyExists")
        .text("pods \"{name}\" already exists")
        .tolerated_by(REPEATED),
    NativeError::new("name-taken-by-the-dying", CREATE, Class::Transient, RECORDED)
        .status(409)
        .code("AlreadyExists")
        .text("object is being deleted: pods \"{name}\" already exists")
        .tolerated_by(REPEATED),
    NativeError::new("absent", ON_ONE, Class::NotFound, RECORDED)
        .status(404)
        .code("NotFound")
        .text("pods \"{name}\" not found"),
    NativeError::new("another-incarnation", &["pod_delete"], Class::Transient, RECORDED)
        .status(409)
        .code("Conflict")
        .text(
            "Operation cannot be fulfilled on Pod \"{name}\": the UID in the precondition (a) does \
             not match the UID in record (b). The object might have been deleted and then recreated",
        ),
    NativeError::new("expired", LIST, Class::Transient, SOURCES)
        .status(410)
        .code("Expired")
        .text(
            "The provided continue parameter is too old to display a consistent list result. You can \
             start a new list without the continue parameter, or use the continue token in this \
             response to retrieve the remainder of the results.",
        )
        .tolerated_by(&[Operation::List, Operation::Create]),
];

/// The server itself, and what stands before it.
const SERVER: &[NativeError] = &[
    NativeError::new("too-many-requests", ANY, Class::Transient, SOURCES)
        .status(429)
        .fields(&[("retry-after", "1")])
        .text("Too many requests, please try again later.\n"),
    NativeError::new("shutting-down", ANY, Class::Transient, SOURCES)
        .status(429)
        .fields(&[("retry-after", "5")])
        .text("The apiserver is shutting down, please try again later.\n"),
    NativeError::new(
        "storage-initializing",
        ANY,
        Class::Transient,
        "apiserver, storage/cacher; reports of 2021 to 2024",
    )
    .status(429)
    .code("TooManyRequests")
    .fields(&[("retry-after", "2")])
    .text("storage is (re)initializing"),
    NativeError::new("storage-unreachable", ANY, Class::Transient, SOURCES)
        .status(500)
        .code("ServerTimeout")
        .fields(&[("retry-after", "2")])
        .text("The operation against pods could not be completed at this time, please try again."),
    NativeError::new("internal-error-in-text", ANY, Class::Transient, SOURCES)
        .status(500)
        .text("Internal Server Error: \"/api/v1/pods\": etcdserver: request timed out"),
    NativeError::new("deadline", ANY, Class::Transient, SOURCES)
        .status(504)
        .code("Timeout")
        .text("Timeout: request did not complete within requested timeout - context deadline exceeded"),
    NativeError::new("unavailable", ANY, Class::Transient, SOURCES)
        .status(503)
        .code("ServiceUnavailable")
        .text("the server is currently unable to handle the request"),
    NativeError::new("not-found-in-text", ANY, Class::Transient, BALANCERS)
        .status(404)
        .text("404 page not found\n"),
    NativeError::new("bad-gateway", ANY, Class::Transient, BALANCERS)
        .status(502)
        .text("<html><h1>502 Bad Gateway</h1></html>"),
];
