//! Pools and volumes.

use crate::{
    calls::calls,
    connect::{Flag, Text},
    xdr::{List, Uuid, structs},
};

/// The most volumes that one listing names, and pools.
pub const MOST: usize = 16_384;

/// What a pool is doing.
pub mod pool_state {
    /// It is off.
    pub const INACTIVE: u32 = 0;
    /// It is being made.
    pub const BUILDING: u32 = 1;
    /// It works.
    pub const RUNNING: u32 = 2;
    /// It works, somehow.
    pub const DEGRADED: u32 = 3;
    /// It cannot be reached.
    pub const INACCESSIBLE: u32 = 4;
}

/// The flags of [`StorageVolResize`].
pub mod resize {
    /// Takes the room at once.
    pub const ALLOCATE: u32 = 1;
    /// The size is one to add.
    pub const DELTA: u32 = 2;
    /// It may become smaller.
    pub const SHRINK: u32 = 4;
}

/// The flags of transfers.
pub mod transfer {
    /// Holes are sent as holes.
    pub const SPARSE: u32 = 1;
}

structs! {
    /// A pool, as calls and answers name it.
    pub struct Pool {
        /// Its name.
        pub name: String,
        /// Its UUID.
        pub uuid: Uuid,
    }

    /// A volume.
    pub struct Volume {
        /// The name of its pool.
        pub pool: String,
        /// Its name.
        pub name: String,
        /// What tells it from all else: the path of its file.
        pub key: String,
    }
}

calls! {
    /// The pools of the host, or their count alone.
    ConnectListAllStoragePools { need_results: i32, flags: u32 } -> Pools;
    /// By its name.
    StoragePoolLookupByName { name: String } -> OnePool;
    /// The pool that a volume is in.
    StoragePoolLookupByVolume { vol: Volume } -> OnePool;
    /// Starts one that has no definition.
    StoragePoolCreateXml { xml: String, flags: u32 } -> OnePool;
    /// Defines one.
    StoragePoolDefineXml { xml: String, flags: u32 } -> OnePool;
    /// Starts it.
    StoragePoolCreate { pool: Pool, flags: u32 } -> ();
    /// Makes what it stands on.
    StoragePoolBuild { pool: Pool, flags: u32 } -> ();
    /// Stops it.
    StoragePoolDestroy { pool: Pool } -> ();
    /// Takes its definition away.
    StoragePoolUndefine { pool: Pool } -> ();
    /// Looks at what is there anew.
    StoragePoolRefresh { pool: Pool, flags: u32 } -> ();
    /// Its state and room.
    StoragePoolGetInfo { pool: Pool } -> PoolInfo;
    /// Its XML.
    StoragePoolGetXmlDesc { pool: Pool, flags: u32 } -> Text;
    /// Whether it starts with the host.
    StoragePoolGetAutostart { pool: Pool } -> Flag;
    /// Whether it is on.
    StoragePoolIsActive { pool: Pool } -> Flag;
    /// Whether it has a definition.
    StoragePoolIsPersistent { pool: Pool } -> Flag;
    /// Its volumes, or their count alone.
    StoragePoolListAllVolumes { pool: Pool, need_results: i32, flags: u32 } -> Volumes;
    /// By its name.
    StorageVolLookupByName { pool: Pool, name: String } -> OneVolume;
    /// By its key.
    StorageVolLookupByKey { key: String } -> OneVolume;
    /// By its path.
    StorageVolLookupByPath { path: String } -> OneVolume;
    /// Makes one.
    StorageVolCreateXml { pool: Pool, xml: String, flags: u32 } -> OneVolume;
    /// Makes one with another's bytes.
    StorageVolCreateXmlFrom { pool: Pool, xml: String, from: Volume, flags: u32 } -> OneVolume;
    /// Deletes it.
    StorageVolDelete { vol: Volume, flags: u32 } -> ();
    /// Its sizes.
    StorageVolGetInfo { vol: Volume } -> VolumeInfo;
    /// The same with flags.
    StorageVolGetInfoFlags { vol: Volume, flags: u32 } -> VolumeInfo;
    /// Its path.
    StorageVolGetPath { vol: Volume } -> Text;
    /// Its XML.
    StorageVolGetXmlDesc { vol: Volume, flags: u32 } -> Text;
    /// Takes bytes: the answer opens a stream.
    StorageVolUpload { vol: Volume, offset: u64, length: u64, flags: u32 } -> ();
    /// Gives bytes: the answer opens a stream.
    StorageVolDownload { vol: Volume, offset: u64, length: u64, flags: u32 } -> ();
    /// Gives it another size.
    StorageVolResize { vol: Volume, capacity: u64, flags: u32 } -> ();
}

structs! {
    /// One pool.
    pub struct OnePool {
        /// It.
        pub pool: Pool,
    }

    /// Several pools.
    pub struct Pools {
        /// They, if they were asked for.
        pub pools: List<Pool, MOST>,
        /// How many.
        pub count: u32,
    }

    /// State and room of a pool.
    pub struct PoolInfo {
        /// One of [`pool_state`].
        pub state: u32,
        /// Bytes in all.
        pub capacity: u64,
        /// Bytes in use.
        pub allocation: u64,
        /// Bytes that are free.
        pub available: u64,
    }

    /// One volume.
    pub struct OneVolume {
        /// It.
        pub vol: Volume,
    }

    /// Several volumes.
    pub struct Volumes {
        /// They, if they were asked for.
        pub volumes: List<Volume, MOST>,
        /// How many.
        pub count: u32,
    }

    /// Sizes of a volume.
    pub struct VolumeInfo {
        /// 0 for a file.
        pub kind: i32,
        /// Bytes that it shows.
        pub capacity: u64,
        /// Bytes that it takes.
        pub allocation: u64,
    }

    /// A hole in a sparse stream.
    pub struct Hole {
        /// Its length in bytes.
        pub length: i64,
        /// None are known.
        pub flags: u32,
    }
}
