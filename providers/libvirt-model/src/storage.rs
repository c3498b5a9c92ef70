//! The errors of libvirt's pools and volumes.

use provider_api::{
    Class, NativeError,
    Operation::{Create, Delete, Leftovers},
    Shows::Stream,
};

use crate::errors::{HEADER, SEEN};

const ON_A_POOL: &[&str] =
    &["storage_pool_get_info", "storage_pool_refresh", "storage_pool_list_all_volumes"];
const ON_A_VOLUME: &[&str] =
    &["storage_vol_get_xml_desc", "storage_vol_get_path", "storage_vol_upload", "storage_vol_delete"];
const WRITES_BYTES: &[&str] = &["storage_vol_create_xml", "storage_vol_upload"];

pub(crate) const STORAGE: &[NativeError] = &[
    NativeError::new("no-pool", &["storage_pool_lookup_by_name"], Class::Permanent, SEEN)
        .status(49)
        .code("NO_STORAGE_POOL")
        .fields(&[("domain", "18")])
        .text("Storage pool not found: no storage pool with matching name '{pool}'"),
    NativeError::new("pool-vanished", ON_A_POOL, Class::Permanent, SEEN)
        .status(49)
        .code("NO_STORAGE_POOL")
        .fields(&[("domain", "18")])
        .text("Storage pool not found: no storage pool with matching uuid '{uuid}' ({pool})"),
    // The same number says that a volume is in use: the pool's own state tells, not this.
    NativeError::new(
        "pool-not-active",
        &["storage_pool_refresh", "storage_pool_list_all_volumes"],
        Class::Transient,
        SEEN,
    )
    .status(55)
    .code("OPERATION_INVALID")
    .fields(&[("domain", "18")])
    .text("Requested operation is not valid: storage pool '{pool}' is not active"),
    NativeError::new("pool-folder-missing", &["storage_pool_refresh"], Class::Transient, SEEN)
        .status(38)
        .code("SYSTEM_ERROR")
        .fields(&[("domain", "18"), ("int1", "2")])
        .text("cannot open directory '{path}': No such file or directory"),
    NativeError::new("volume-vanished", ON_A_VOLUME, Class::NotFound, SEEN)
        .status(50)
        .code("NO_STORAGE_VOL")
        .fields(&[("domain", "18")])
        .text("Storage volume not found: no storage vol with matching key '{key}'")
        .tolerated_by(&[Delete, Leftovers]),
    NativeError::new(
        "volume-exists",
        &["storage_vol_create_xml"],
        Class::Transient,
        "openshift/cluster-api-provider-libvirt#121: a seed left over",
    )
    .status(90)
    .code("STORAGE_VOL_EXIST")
    .fields(&[("domain", "18")])
    .text("storage volume '{volume}' exists already")
    .tolerated_by(&[Create]),
    NativeError::new("volume-xml-error", &["storage_vol_create_xml"], Class::Permanent, SEEN)
        .status(27)
        .code("XML_ERROR")
        .fields(&[("domain", "18")])
        .text("XML error: {detail}"),
    NativeError::new("volume-xml-detail", &["storage_vol_create_xml"], Class::Permanent, SEEN)
        .status(35)
        .code("XML_DETAIL")
        .fields(&[("domain", "18")]),
    NativeError::new("pool-full", &["storage_vol_create_xml"], Class::QuotaExceeded, SEEN)
        .status(38)
        .code("SYSTEM_ERROR")
        .fields(&[("domain", "18"), ("int1", "28")])
        .text("cannot allocate {bytes} bytes in file '{path}': No space left on device"),
    NativeError::new("pool-full-while-writing", &["storage_vol_upload"], Class::QuotaExceeded, SEEN)
        .shows(Stream)
        .status(38)
        .code("SYSTEM_ERROR")
        .fields(&[("domain", "38"), ("int1", "28")])
        .text("Unable to write {path}: No space left on device"),
    NativeError::new("file-too-large", WRITES_BYTES, Class::Permanent, SEEN)
        .status(38)
        .code("SYSTEM_ERROR")
        .fields(&[("domain", "18"), ("int1", "27")])
        .text("{detail}: File too large"),
    NativeError::new("stream-broken", &["storage_vol_upload"], Class::Transient, SEEN)
        .shows(Stream)
        .status(38)
        .code("SYSTEM_ERROR")
        .fields(&[("domain", "38"), ("int1", "9")])
        .text("cannot write to stream: Bad file descriptor"),
    NativeError::new("still-being-allocated", ON_A_VOLUME, Class::Transient, SEEN)
        .status(55)
        .code("OPERATION_INVALID")
        .fields(&[("domain", "18")])
        .text("Requested operation is not valid: volume '{volume}' is still being allocated."),
    NativeError::new("still-in-use", &["storage_vol_delete", "storage_vol_upload"], Class::Transient, SEEN)
        .status(55)
        .code("OPERATION_INVALID")
        .fields(&[("domain", "18")])
        .text("Requested operation is not valid: volume '{volume}' is still in use."),
    NativeError::new("volume-busy", &["storage_vol_delete"], Class::Transient, HEADER)
        .status(87)
        .code("RESOURCE_BUSY"),
];
