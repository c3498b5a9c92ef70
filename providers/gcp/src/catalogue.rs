//! The native errors of Compute Engine v1, as it answers them at once. Those that show in an operation are in `late.rs`.
//!
//! Quota and rate limit share the status 403 and much of their wording; only the reason tells them apart.

use provider_api::{
    Catalogue, Class, NativeError,
    Operation::{Create, Delete, Get, List},
};

use crate::late;

/// Every way in which Compute Engine refuses, and what it means.
pub const CATALOGUE: Catalogue = Catalogue(&[IN_THE_ANSWER, late::INSERT, late::OTHER]);

/// The API as its discovery document of that revision describes it.
const V1: &str = "Compute v1, revision 20261106";

/// Every call of the API itself; the token has another server.
const API: &[&str] = &[
    "instances_insert",
    "instances_get",
    "instances_delete",
    "instances_start",
    "instances_resume",
    "instances_aggregated_list",
    "zone_operations_list",
    "regions_get",
    "projects_get",
    "firewalls_get",
    "firewalls_insert",
    "firewalls_delete",
    "global_operations_get",
];

/// The calls that change something.
const WRITES: &[&str] = &[
    "instances_insert",
    "instances_delete",
    "instances_start",
    "instances_resume",
    "firewalls_insert",
    "firewalls_delete",
];

/// The calls about one instance that must be there.
const ABOUT_ONE: &[&str] = &["instances_get", "instances_delete", "instances_start", "instances_resume"];

const IN_THE_ANSWER: &[NativeError] = &[
    NativeError::new("invalid", &["instances_insert", "firewalls_insert"], Class::Permanent, V1)
        .status(400)
        .code("invalid")
        .text("Invalid value for field '{field}': '{value}'."),
    NativeError::new(
        "machine-type-not-in-zone",
        &["instances_insert"],
        Class::Permanent,
        "dstackai/dstack#696: the machine type is absent in the zone",
    )
    .status(400)
    .code("invalid")
    .text(
        "Invalid value for field 'resource.machineType': '{value}'. Machine type with name '{machine_type}' does \
         not exist in zone '{zone}'.",
    ),
    NativeError::new("unknown-zone", ABOUT_ONE, Class::Permanent, "inspec/inspec-gcp#301")
        .status(400)
        .code("invalid")
        .text("Invalid value for field 'zone': '{zone}'. Unknown zone."),
    NativeError::new("bad-page-token", &["instances_aggregated_list"], Class::Transient, V1)
        .status(400)
        .code("invalid")
        .tolerated_by(&[List]),
    NativeError::new(
        "resource-not-ready",
        WRITES,
        Class::Transient,
        "spinnaker/clouddriver#256: a delete soon after the insert",
    )
    .status(400)
    .code("resourceNotReady")
    .text("The resource '{target}' is not ready"),
    NativeError::new("in-use-by-another", &["instances_delete", "firewalls_delete"], Class::Transient, V1)
        .status(400)
        .code("resourceInUseByAnotherResource")
        .text("The resource '{target}' is already being used by '{other}'"),
    NativeError::new(
        "deletion-protected",
        &["instances_delete"],
        Class::Permanent,
        "hashicorp/terraform-provider-google#1211",
    )
    .status(400)
    .code("invalidResourceUsage")
    .text("Invalid resource usage: 'Resource cannot be deleted if it's protected against deletion.'."),
    NativeError::new("unauthenticated", API, Class::Permanent, V1)
        .status(401)
        .code("authError")
        .fields(&[("details.reason", "ACCESS_TOKEN_EXPIRED"), ("status", "UNAUTHENTICATED")])
        .text("Request had invalid authentication credentials."),
    NativeError::new("forbidden", API, Class::Permanent, V1)
        .status(403)
        .code("forbidden")
        .fields(&[("details.reason", "IAM_PERMISSION_DENIED"), ("status", "PERMISSION_DENIED")])
        .text("Required '{permission}' permission for '{target}'"),
    NativeError::new("scope-insufficient", API, Class::Permanent, V1)
        .status(403)
        .code("insufficientPermissions")
        .fields(&[("details.reason", "ACCESS_TOKEN_SCOPE_INSUFFICIENT")])
        .text("Request had insufficient authentication scopes."),
    NativeError::new("api-disabled", API, Class::Permanent, V1)
        .status(403)
        .code("accessNotConfigured")
        .fields(&[("domain", "usageLimits"), ("details.reason", "SERVICE_DISABLED")])
        .text("Compute Engine API has not been used in project {project} before or it is disabled."),
    NativeError::new(
        "quota-exceeded",
        &["instances_insert", "instances_start", "instances_resume", "firewalls_insert"],
        Class::QuotaExceeded,
        V1,
    )
    .status(403)
    .code("quotaExceeded")
    .fields(&[("domain", "usageLimits")])
    .text("Quota 'CPUS' exceeded.  Limit: 24.0 in region {region}."),
    NativeError::new(
        "rate-limited",
        API,
        Class::QuotaExceeded,
        "hashicorp/terraform-provider-google#8360: the text varies, the reason does not",
    )
    .status(403)
    .code("rateLimitExceeded")
    .fields(&[("domain", "usageLimits"), ("details.reason", "RATE_LIMIT_EXCEEDED")])
    .text(
        "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute' of service \
         'compute.googleapis.com' for consumer 'project_number:{project}'.",
    ),
    NativeError::new("user-rate-limited", API, Class::QuotaExceeded, V1)
        .status(403)
        .code("userRateLimitExceeded")
        .fields(&[("domain", "usageLimits")])
        .text("User Rate Limit Exceeded"),
    NativeError::new("too-many-operations", WRITES, Class::QuotaExceeded, V1)
        .status(403)
        .code("forbidden")
        .fields(&[("details.reason", "CONCURRENT_OPERATIONS_QUOTA_EXCEEDED")]),
    NativeError::new("too-many-requests", API, Class::QuotaExceeded, V1)
        .status(429)
        .code("rateLimitExceeded")
        .fields(&[("details.reason", "RATE_LIMIT_EXCEEDED"), ("Retry-After", "7")])
        .text("Rate Limit Exceeded"),
    NativeError::new("gone", ABOUT_ONE, Class::NotFound, V1)
        .status(404)
        .code("notFound")
        .text("The resource 'projects/{project}/zones/{zone}/instances/{name}' was not found"),
    // The path in the text is the project's, not the instance's: nothing is proven about the instance.
    NativeError::new(
        "project-invisible",
        API,
        Class::Permanent,
        "hashicorp/terraform#4031: a service account that may not see the project",
    )
    .status(404)
    .code("notFound")
    .text("The resource 'projects/{project}' was not found"),
    NativeError::new("zone-invisible", ABOUT_ONE, Class::Permanent, "GoogleCloudPlatform/iap-desktop#1721")
        .status(404)
        .code("notFound")
        .text("The resource 'projects/{project}/zones/{zone}' was not found"),
    NativeError::new("reference-missing", &["instances_insert"], Class::Permanent, V1)
        .status(404)
        .code("notFound")
        .text("The resource 'projects/{project}/global/networks/{network}' was not found"),
    NativeError::new("region-missing", &["regions_get"], Class::Permanent, V1)
        .status(404)
        .code("notFound")
        .text("The resource 'projects/{project}/regions/{region}' was not found"),
    NativeError::new("firewall-missing", &["firewalls_get", "firewalls_delete"], Class::NotFound, V1)
        .status(404)
        .code("notFound")
        .text("The resource 'projects/{project}/global/firewalls/{firewall}' was not found")
        .tolerated_by(&[Create]),
    NativeError::new("operation-forgotten", &["global_operations_get"], Class::Transient, V1)
        .status(404)
        .code("notFound")
        .text("The resource 'projects/{project}/global/operations/{operation}' was not found"),
    // A front end without the API behind it; it proves nothing.
    NativeError::new("front-end-404", API, Class::Transient, "linuxkit/linuxkit#3144: a bare Not Found")
        .status(404)
        .fields(&[("Content-Type", "text/html")])
        .text("<html><title>Error 404 (Not Found)!!1</title></html>"),
    NativeError::new(
        "already-exists",
        &["instances_insert", "firewalls_insert"],
        Class::Transient,
        "kubernetes/kubernetes#23352: the first insert timed out and made the VM",
    )
    .status(409)
    .code("alreadyExists")
    .text("The resource '{target}' already exists")
    .tolerated_by(&[Create]),
    NativeError::new("operation-in-progress", WRITES, Class::Transient, V1)
        .status(409)
        .code("operationInProgress"),
    NativeError::new("policy", &["instances_insert", "firewalls_insert"], Class::Permanent, V1)
        .status(412)
        .code("conditionNotMet")
        .text("Constraint constraints/compute.vmExternalIpAccess violated for project {project}."),
    NativeError::new("internal", API, Class::Transient, V1)
        .status(500)
        .code("internalError")
        .text("Internal error. Please try again or contact Google Support."),
    NativeError::new("bad-gateway", API, Class::Transient, V1)
        .status(502)
        .fields(&[("Content-Type", "text/html")])
        .text("<html><title>502 Bad Gateway</title></html>"),
    NativeError::new("backend", API, Class::Transient, V1)
        .status(503)
        .code("backendError")
        .text("Backend Error"),
    NativeError::new("stock-out", &["instances_insert", "instances_start"], Class::QuotaExceeded, V1)
        .status(503)
        .code("ZONE_RESOURCE_POOL_EXHAUSTED")
        .text("The zone '{zone}' does not have enough resources available to fulfill the request."),
    // Not an error of the call: the listing is whole but for this scope.
    NativeError::new("scope-unreachable", &["instances_aggregated_list"], Class::Transient, V1)
        .status(200)
        .code("UNREACHABLE")
        .fields(&[("scope", "zones/{zone}")])
        .text("A given scope cannot be reached.")
        .tolerated_by(&[List, Get, Delete]),
    NativeError::new("token-refused", &["token"], Class::Permanent, "RFC 6749, section 5.2")
        .status(400)
        .code("invalid_grant")
        .text("Invalid JWT Signature."),
    NativeError::new("token-server-away", &["token"], Class::Transient, "RFC 9110, section 15.6.4").status(503),
];
