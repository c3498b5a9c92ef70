//! What Compute Engine says late: the call was answered with an operation, and the operation fails.
//!
//! An insert that fails this way leaves a 404 behind; the reason stands in the operation alone.

use provider_api::{Class, NativeError, Operation::Create, Shows::Task};

const SEEN: &str = "error codes as cluster-autoscaler, SkyPilot and libcloud read them, 2026-11";

const INSERTS: &[&str] = &["instances_insert"];

pub(crate) const INSERT: &[NativeError] = &[
    NativeError::new("late-quota", INSERTS, Class::QuotaExceeded, "googleapis/nodejs-compute#459")
        .shows(Task)
        .status(403)
        .code("QUOTA_EXCEEDED")
        .fields(&[("quotaInfo.metricName", "compute.googleapis.com/cpus"), ("quotaInfo.limit", "24")])
        .text("Quota 'CPUS' exceeded.  Limit: 24.0 in region {region}."),
    NativeError::new("late-stock-out", INSERTS, Class::QuotaExceeded, "cloud-barista/cb-spider#1186")
        .shows(Task)
        .status(503)
        .code("ZONE_RESOURCE_POOL_EXHAUSTED")
        .text("The zone '{zone}' does not have enough resources available to fulfill the request."),
    NativeError::new(
        "late-stock-out-with-details",
        INSERTS,
        Class::QuotaExceeded,
        "kubernetes/k8s.io#9834: errorInfo with the reason resource_availability",
    )
    .shows(Task)
    .status(503)
    .code("ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS")
    .fields(&[("errorInfo.reason", "resource_availability"), ("errorInfo.zonesAvailable", "")])
    .text(
        "The zone 'projects/{project}/zones/{zone}' does not have enough resources available to fulfill the \
         request.  '(resource type:compute)'.",
    ),
    NativeError::new("late-pool-exhausted", INSERTS, Class::QuotaExceeded, SEEN)
        .shows(Task)
        .status(503)
        .code("RESOURCE_POOL_EXHAUSTED"),
    NativeError::new("late-addresses-exhausted", INSERTS, Class::QuotaExceeded, SEEN)
        .shows(Task)
        .status(400)
        .code("IP_SPACE_EXHAUSTED")
        .text("IP space of '{subnetwork}' is exhausted."),
    NativeError::new("late-rate", INSERTS, Class::QuotaExceeded, SEEN)
        .shows(Task)
        .status(403)
        .code("RESOURCE_OPERATION_RATE_EXCEEDED")
        .text("Operation rate exceeded for resource '{target}'. Too frequent operations from the source resource."),
    NativeError::new(
        "late-preempted",
        INSERTS,
        Class::QuotaExceeded,
        "SkyPilot: a spot VM preempted while it is being made",
    )
    .shows(Task)
    .status(400)
    .code("UNSUPPORTED_OPERATION"),
    NativeError::new("late-not-ready", INSERTS, Class::Transient, "apache/libcloud, gce driver")
        .shows(Task)
        .status(400)
        .code("RESOURCE_NOT_READY")
        .text("The resource '{target}' is not ready"),
    NativeError::new("late-already-exists", INSERTS, Class::Transient, "apache/libcloud, gce driver")
        .shows(Task)
        .status(409)
        .code("RESOURCE_ALREADY_EXISTS")
        .text("The resource '{target}' already exists")
        .tolerated_by(&[Create]),
    NativeError::new(
        "late-overtaken-by-delete",
        INSERTS,
        Class::Transient,
        "GoogleCloudPlatform/cloud-gpu-reliability#5",
    )
    .shows(Task)
    .status(409)
    .code("CONFLICT"),
    NativeError::new("late-reference-missing", INSERTS, Class::Permanent, SEEN)
        .shows(Task)
        .status(404)
        .code("RESOURCE_NOT_FOUND")
        .text("The resource 'projects/{project}/global/images/{image}' was not found"),
    NativeError::new("late-invalid-field", INSERTS, Class::Permanent, SEEN)
        .shows(Task)
        .status(400)
        .code("INVALID_FIELD_VALUE")
        .text("Invalid value for field '{field}': '{value}'."),
    NativeError::new("late-invalid-usage", INSERTS, Class::Permanent, SEEN)
        .shows(Task)
        .status(400)
        .code("INVALID_USAGE"),
    NativeError::new("late-policy", INSERTS, Class::Permanent, SEEN)
        .shows(Task)
        .status(412)
        .code("CONDITION_NOT_MET")
        .text("Constraint constraints/compute.vmExternalIpAccess violated for project {project}."),
    NativeError::new("late-forbidden", INSERTS, Class::Permanent, SEEN)
        .shows(Task)
        .status(403)
        .code("PERMISSIONS_ERROR")
        .text("Required '{permission}' permission for '{target}'"),
    NativeError::new("late-internal", INSERTS, Class::Transient, SEEN)
        .shows(Task)
        .status(500)
        .code("INTERNAL_ERROR")
        .text("Internal error. Please try again or contact Google Support."),
];

pub(crate) const OTHER: &[NativeError] = &[
    NativeError::new("late-in-use", &["instances_delete", "firewalls_delete"], Class::Transient, SEEN)
        .shows(Task)
        .status(400)
        .code("RESOURCE_IN_USE_BY_ANOTHER_RESOURCE")
        .text("The resource '{target}' is already being used by '{other}'"),
    NativeError::new("late-delete-internal", &["instances_delete"], Class::Transient, SEEN)
        .shows(Task)
        .status(500)
        .code("INTERNAL_ERROR")
        .text("Internal error. Please try again or contact Google Support."),
    // A claim of one operation, while another may still be at work: only a settled 404 is proof.
    NativeError::new(
        "late-delete-gone",
        &["instances_delete"],
        Class::NotFound,
        "cloudpilot-ai/karpenter-provider-gcp#242: overlapping deletes",
    )
    .shows(Task)
    .status(404)
    .code("RESOURCE_NOT_FOUND")
    .text("The resource 'projects/{project}/zones/{zone}/instances/{name}' was not found"),
    NativeError::new(
        "late-start-stock-out",
        &["instances_start", "instances_resume"],
        Class::QuotaExceeded,
        SEEN,
    )
    .shows(Task)
    .status(503)
    .code("ZONE_RESOURCE_POOL_EXHAUSTED")
    .text("The zone '{zone}' does not have enough resources available to fulfill the request."),
];
