//! The records of the table as Rust types: nothing but atomics, at the offsets that `layout` documents.

use std::sync::atomic::{AtomicI64, AtomicU16, AtomicU32, AtomicU64};

use super::layout;
use super::mutex::SharedMutex;
use super::text::{Seq, Text};

/// A type that may stand in the table.
///
/// # Safety
/// The type is `repr(C)`, made only of atomics, [`Text`], [`Seq`], [`SharedMutex`] and padding of
/// such, at most 64-byte aligned, without pointers, descriptors or `Drop`; every bit pattern is a
/// valid value of it.
#[allow(unsafe_code)]
pub unsafe trait Record {}

macro_rules! record {
    ($(#[$doc:meta])* $name:ident, $size:expr, { $($(#[$fdoc:meta])* $offset:literal $field:ident: $ty:ty,)* }) => {
        $(#[$doc])*
        #[repr(C, align(64))]
        pub struct $name { $($(#[$fdoc])* pub $field: $ty,)* }

        // SAFETY: the macro's uses below name only atomics, Text, Seq and SharedMutex; repr(C).
        #[allow(unsafe_code)]
        unsafe impl Record for $name {}

        const _: () = {
            assert!(std::mem::size_of::<$name>() == $size);
            $(assert!(std::mem::offset_of!($name, $field) == $offset, concat!("offset of ", stringify!($field)));)*
        };
    };
}

/// Unnamed space; zero.
pub type Pad<const N: usize> = [AtomicU32; N];

record!(
    /// The file's first page. Written by the supervisor only, but for the jobs.
    Header, layout::HEADER, {
        /// See `layout`, as for all fields of this file.
        0 magic: AtomicU64,
        /// Layout version.
        8 version: AtomicU32,
        /// Byte order mark.
        12 byte_order: AtomicU32,
        /// Length of the file.
        16 length: AtomicU64,
        /// Sizes of header, child, record, balancer, worker, health, lease, cell.
        24 sizes: [AtomicU32; 8],
        /// Counts of slots, records, balancers, workers, leases, beacons.
        56 counts: [AtomicU32; 6],
        /// Offsets of children, balancers, workers, health, leases, traffic.
        80 offsets: [AtomicU64; 6],
        /// The supervisor's process.
        128 supervisor: AtomicU32,
        /// The newest generation.
        132 generation: AtomicU32,
        /// Configurations read.
        136 config_generation: AtomicU32,
        /// Space.
        140 pad1: Pad<1>,
        /// Instance started.
        144 started: AtomicI64,
        /// Newest generation began.
        152 restarted: AtomicI64,
        /// Space.
        160 pad2: Pad<2>,
        /// Accesses, bytes and µs of children that are gone.
        168 past: [AtomicU64; 3],
        /// Program and version.
        192 program: Text<8>,
        /// Offset of the beacon slots.
        256 beacon_offset: AtomicU64,
        /// Size of one.
        264 beacon_size: AtomicU32,
        /// Space.
        268 pad3: Pad<13>,
        /// Child slots that are not unused, a bit each.
        320 taken: [AtomicU64; layout::MAX_SLOTS / 64],
        /// Space.
        832 pad4: Pad<48>,
        /// Written by the watchdog's holder.
        1024 jobs: [JobSlot; layout::JOBS],
    }
);

record!(
    /// A periodic job of the watchdog.
    JobSlot, layout::JOB, {
        /// Name; empty: free.
        0 name: Text<4>,
        /// Interval.
        32 interval_ms: AtomicU64,
        /// Next run.
        40 due: AtomicU64,
        /// Last run began.
        48 began: AtomicU64,
        /// How long it took.
        56 took_us: AtomicU64,
        /// Runs.
        64 runs: AtomicU64,
        /// Space.
        72 pad0: Pad<14>,
    }
);

record!(
    /// A child slot's first part. The supervisor writes the first line (the child its state and the
    /// watchdog mark), the child all else.
    ChildHead, layout::CHILD_HEAD, {
        /// `ChildState`.
        0 state: AtomicU32,
        /// Process.
        4 pid: AtomicU32,
        /// Generation.
        8 generation: AtomicU32,
        /// Number within the generation.
        12 child: AtomicU32,
        /// Forked.
        16 started: AtomicI64,
        /// Claims so far.
        24 claims: AtomicU32,
        /// Holds the watchdog lock.
        28 watchdog: AtomicU32,
        /// Space.
        32 pad0: Pad<8>,
        /// Last tick.
        64 heartbeat: AtomicU64,
        /// Client connections.
        72 connections: AtomicU32,
        /// Idle ones.
        76 idle: AtomicU32,
        /// Requests in flight.
        80 requests: AtomicU32,
        /// Those without a record.
        84 unlisted: AtomicU32,
        /// Space.
        88 pad1: Pad<10>,
        /// Requests answered.
        128 accesses: AtomicU64,
        /// Bytes to clients.
        136 bytes: AtomicU64,
        /// µs of answered requests.
        144 duration: AtomicU64,
        /// Log lines dropped.
        152 dropped: AtomicU64,
        /// Space.
        160 pad2: Pad<24>,
    }
);

record!(
    /// A request in flight. Written by its child only.
    RequestSlot, layout::RECORD, {
        /// Odd while being written.
        0 seq: Seq,
        /// `RequestPhase`; 0 free.
        4 phase: AtomicU32,
        /// First byte.
        8 since: AtomicU64,
        /// 4, 6 or 0.
        16 family: AtomicU16,
        /// Client's port.
        18 port: AtomicU16,
        /// Worker row plus 1.
        20 member: AtomicU32,
        /// HTTP minor version.
        24 minor: AtomicU32,
        /// The port that the client connected to.
        28 local_port: AtomicU32,
        /// Client's address.
        32 address: [AtomicU64; 2],
        /// Virtual host.
        48 vhost: Text<8>,
        /// Method and target.
        112 request: Text<12>,
        /// Space.
        208 pad1: Pad<12>,
    }
);

record!(
    /// A balancer. Parameters are written by the supervisor and by the manager (under the
    /// lock), the second line by the lock's owner.
    BalancerSlot, layout::BALANCER, {
        /// Guards lbstatus, retry transitions and elections of its members.
        0 lock: SharedMutex,
        /// Process inside the lock; 0 none.
        64 owner: AtomicU32,
        /// The next owner levels lbstatus.
        68 repair: AtomicU32,
        /// Locks taken over from the dead.
        72 repairs: AtomicU64,
        /// Choices without the lock.
        80 unlocked: AtomicU64,
        /// Space.
        88 pad0: Pad<10>,
        /// In use.
        128 used: AtomicU32,
        /// Oldest generation that uses it.
        132 first_generation: AtomicU32,
        /// Newest one.
        136 last_generation: AtomicU32,
        /// Of the texts.
        140 seq: Seq,
        /// See `FLAG_*`.
        144 flags: AtomicU32,
        /// `maxattempts`.
        148 max_attempts: AtomicU32,
        /// Separator byte; 256 for Off.
        152 separator: AtomicU32,
        /// `growth`.
        156 growth: AtomicU32,
        /// `timeout` in ms.
        160 timeout_ms: AtomicU64,
        /// Last change of the member list.
        168 updated: AtomicI64,
        /// Moves with each change of the member list.
        176 changes: AtomicU32,
        /// Older generations' changes by hand are refused.
        180 edits_from: AtomicU32,
        /// What its members' lbstatus sum up to.
        184 lbstatus_sum: AtomicI64,
        /// `balancer://name`.
        192 name: Text<12>,
        /// Method's name.
        288 lbmethod: Text<2>,
        /// Cookie's name.
        304 cookie: Text<8>,
        /// URL parameter's name.
        368 param: Text<8>,
        /// Manager's nonce.
        432 nonce: Text<5>,
        /// The server it belongs to.
        472 server: Text<32>,
        /// As configured.
        728 conf_flags: AtomicU32,
        /// As configured.
        732 conf_max_attempts: AtomicU32,
        /// As configured.
        736 conf_timeout_ms: AtomicU64,
        /// A digest of the configured method's name.
        744 conf_lbmethod: AtomicU64,
        /// A digest of the configured sticky names.
        752 conf_sticky: AtomicU64,
        /// A digest of the configured nonce; 0: a random one.
        760 conf_nonce: AtomicU64,
        /// Requests and further tries of the last seconds, see `layout`.
        768 tries: [AtomicU64; layout::TRY_SECONDS],
        /// `retrybudget`
        848 retry_budget: AtomicU32,
        /// Space.
        852 pad2: Pad<1>,
        /// `hashkey`
        856 hash_key: Text<10>,
        /// `stickycookie`
        936 own_cookie: Text<8>,
        /// Space.
        1000 pad3: Pad<6>,
    }
);

/// `nofailover`
pub const FLAG_NO_FAILOVER: u32 = 1;
/// `scolonpathdelim`
pub const FLAG_SCOLON: u32 = 2;
/// `forcerecovery`
pub const FLAG_FORCE_RECOVERY: u32 = 4;
/// `maxattempts` was set
pub const FLAG_MAX_ATTEMPTS: u32 = 8;
/// `failontimeout`
pub const FLAG_FAIL_ON_TIMEOUT: u32 = 16;

record!(
    /// A worker. The first line is written by choosing children under the balancer's lock (`status`
    /// by atomic steps, without), the rest by the supervisor and, under the lock, by the manager.
    WorkerSlot, layout::WORKER, {
        /// Status bits.
        0 status: AtomicU32,
        /// `loadfactor` × 100.
        4 load_factor: AtomicU32,
        /// `lbset`.
        8 lbset: AtomicU32,
        /// Retries since the error.
        12 retries: AtomicU32,
        /// byrequests' state; 64 bits, since sticky accounting moves it without bound.
        16 lbstatus: AtomicI64,
        /// Times chosen.
        24 elected: AtomicU64,
        /// When it went into error.
        32 error_time: AtomicU64,
        /// When the probing request began.
        40 probe_since: AtomicU64,
        /// The probing child's slot plus 1.
        48 probe_slot: AtomicU32,
        /// Of the texts.
        52 seq: Seq,
        /// `retry`.
        56 retry_ms: AtomicU64,
        /// `USED` or `KEPT`.
        64 used: AtomicU32,
        /// Oldest generation that uses it.
        68 first_generation: AtomicU32,
        /// Newest one.
        72 last_generation: AtomicU32,
        /// Balancer row plus 1.
        76 balancer: AtomicU32,
        /// Place among the members.
        80 order: AtomicU32,
        /// How often the row was taken.
        84 taken: AtomicU32,
        /// As configured.
        88 conf_load_factor: AtomicU32,
        /// As configured.
        92 conf_lbset: AtomicU32,
        /// As configured.
        96 conf_status: AtomicU32,
        /// Added at run time.
        100 grown: AtomicU32,
        /// As configured.
        104 conf_retry_ms: AtomicU64,
        /// Last change.
        112 updated: AtomicI64,
        /// Space.
        120 pad1: Pad<2>,
        /// Bytes sent by children that are gone.
        128 past_sent: AtomicU64,
        /// Bytes read by them.
        136 past_received: AtomicU64,
        /// Bytes it is taken to have moved beside those that it did.
        144 missed: AtomicU64,
        /// Space.
        152 pad2: Pad<10>,
        /// Canonical name.
        192 name: Text<48>,
        /// `route`.
        576 route: Text<8>,
        /// `redirect`.
        640 redirect: Text<8>,
        /// As configured.
        704 conf_route: Text<8>,
        /// As configured.
        768 conf_redirect: Text<8>,
        /// The server it belongs to.
        832 server: Text<32>,
        /// Times that it was found in error.
        1088 errors: AtomicU64,
        /// `elected` when the history last moved on.
        1096 seen_elected: AtomicU64,
        /// `errors` at that time.
        1104 seen_errors: AtomicU64,
        /// How often it moved on.
        1112 moments: AtomicU64,
        /// Requests, and above bit 32 errors, of the last moments. Written by the watchdog's holder.
        1120 history: [AtomicU64; layout::MOMENTS],
        /// Decaying average of the time to an answer's head, in ns; 0 none.
        1360 latency: AtomicU64,
        /// When that was last brought up to date.
        1368 latency_at: AtomicU64,
        /// When it last became usable again; 0 never.
        1376 recovered: AtomicU64,
        /// `slowstart` in ms.
        1384 slow_start_ms: AtomicU64,
        /// Space.
        1392 pad3: Pad<52>,
    }
);

/// A worker row that has a worker.
pub const USED: u32 = 1;
/// A worker row that is kept for a member that is added at run time. The watchdog's holder writes it
/// and makes it `USED`.
pub const KEPT: u32 = 2;

record!(
    /// A worker's health checks. The parameters are the supervisor's (the manager's too), the rest
    /// is written by the watchdog's holder.
    HealthSlot, layout::HEALTH, {
        /// Method.
        0 method: AtomicU32,
        /// Passes needed.
        4 passes: AtomicU32,
        /// Fails needed.
        8 fails: AtomicU32,
        /// Passes in a row.
        12 passed: AtomicU32,
        /// Fails in a row.
        16 failed: AtomicU32,
        /// Of the texts.
        20 seq: Seq,
        /// Interval.
        24 interval_ms: AtomicU64,
        /// Last check began.
        32 began: AtomicU64,
        /// Last check ended.
        40 ended: AtomicU64,
        /// The process that makes one now; 0 none.
        48 owner: AtomicU32,
        /// Space.
        52 pad0: Pad<3>,
        /// URI.
        64 uri: Text<8>,
        /// Expression's name.
        128 expression: Text<4>,
        /// Checks made.
        160 checks: AtomicU32,
        /// Bad ones.
        164 bad: AtomicU32,
        /// As configured.
        168 conf_method: AtomicU32,
        /// As configured.
        172 conf_passes: AtomicU32,
        /// As configured.
        176 conf_fails: AtomicU32,
        /// Space.
        180 pad1: Pad<1>,
        /// As configured.
        184 conf_interval_ms: AtomicU64,
        /// A digest of the configured URI.
        192 conf_uri: AtomicU64,
        /// A digest of the configured expression's name.
        200 conf_expression: AtomicU64,
        /// Its last heartbeat: busy slots above bit 32, waiting ones below.
        208 heartbeat_load: AtomicU64,
        /// When it came.
        216 heartbeat_seen: AtomicU64,
        /// Space.
        224 pad2: Pad<8>,
    }
);

record!(
    /// A beacon lease. Written by the watchdog's holder.
    LeaseSlot, layout::LEASE, {
        /// `LEASE_FREE` and its kin.
        0 state: AtomicU32,
        /// Of the texts.
        4 seq: Seq,
        /// `LEASE_ADDED` and its kin.
        8 flags: AtomicU32,
        /// Worker row plus 1.
        12 worker: AtomicU32,
        /// `WorkerSlot::taken` at that time.
        16 worker_taken: AtomicU32,
        /// `loadfactor` × 100 as announced; 0 none.
        20 announced_factor: AtomicU32,
        /// Last seen.
        24 last_seen: AtomicU64,
        /// Highest time stamp accepted.
        32 last_ts: AtomicI64,
        /// Last attempt to add.
        40 last_attempt: AtomicU64,
        /// Space.
        48 pad1: Pad<4>,
        /// Canonical URL.
        64 url: Text<48>,
        /// `route` as announced.
        448 announced_route: Text<8>,
    }
);

/// Nothing is in it.
pub const LEASE_FREE: u32 = 0;
/// A URL has it.
pub const LEASE_USED: u32 = 1;
/// Its URL is being written; whoever finds it so after the writer's death frees it.
pub const LEASE_WRITING: u32 = 2;
/// The member is there.
pub const LEASE_ADDED: u32 = 1;
/// The member is disabled because of this lease.
pub const LEASE_EVICTED: u32 = 2;
/// It said itself that it leaves.
pub const LEASE_LEFT: u32 = 4;
/// Flag of a lease slot: only the mark of another receiver, taken over.
pub const LEASE_FOREIGN: u32 = 8;

record!(
    /// A server that receives announcements, or makes them.
    BeaconSlot, layout::BEACON, {
        /// In use.
        0 used: AtomicU32,
        /// Oldest generation that uses it.
        4 first_generation: AtomicU32,
        /// Newest one.
        8 last_generation: AtomicU32,
        /// Of the supervisor's texts.
        12 seq: Seq,
        /// `ROLE_RECEIVER` or `ROLE_SENDER`.
        16 role: AtomicU32,
        /// Balancer row plus 1.
        20 balancer: AtomicU32,
        /// `ProxyBeaconTimeout` in ms.
        24 timeout_ms: AtomicU64,
        /// `ProxyBeaconMaxSkew` in µs, of the last holder; 0: there was none.
        32 max_skew: AtomicI64,
        /// Time stamps before this one are stale, whatever the distance is now.
        40 floor: AtomicI64,
        /// Generation of the last holder, plus 1.
        48 held: AtomicU32,
        /// Space.
        52 pad0: Pad<3>,
        /// Announcements accepted.
        64 accepted: AtomicU64,
        /// Datagrams that did not fit the socket's queue.
        72 overflows: AtomicU64,
        /// Last one accepted.
        80 last_accepted: AtomicI64,
        /// Last one dropped.
        88 last_dropped: AtomicI64,
        /// Why, plus 1.
        96 last_reason: AtomicU32,
        /// Leases in use.
        100 leases: AtomicU32,
        /// Last time stamp sent.
        104 sent_ts: AtomicI64,
        /// Messages sent.
        112 sent: AtomicU64,
        /// Its holder last looked into its socket; of a sender: not 0 once it has withdrawn.
        120 listened: AtomicU64,
        /// Dropped, by reason.
        128 drops: [AtomicU64; layout::REASONS],
        /// Where it listens, or whom it tells.
        320 address: Text<8>,
        /// Sender of the last one dropped. One writer, read as it is.
        384 last_from: Text<8>,
        /// `balancer://name`.
        448 balancer_name: Text<12>,
        /// The server it belongs to.
        544 server: Text<32>,
        /// Space.
        800 pad2: Pad<56>,
    }
);

/// A receiver of announcements.
pub const ROLE_RECEIVER: u32 = 1;
/// A server that announces itself.
pub const ROLE_SENDER: u32 = 2;

/// What one child did with one worker. Written by that child; zeroed by the supervisor when it is gone.
/// Not aligned to a cache line: a child's cells stand together on lines of their own.
#[repr(C)]
pub struct Cell {
    /// Requests in flight.
    pub busy: AtomicU32,
    /// Space.
    pub pad: AtomicU32,
    /// Bytes sent.
    pub sent: AtomicU64,
    /// Bytes read.
    pub received: AtomicU64,
    /// Space.
    pub pad1: AtomicU64,
}

// SAFETY: repr(C), atomics only.
#[allow(unsafe_code)]
unsafe impl Record for Cell {}

const _: () = assert!(std::mem::size_of::<Cell>() == layout::CELL);

impl BalancerSlot {
    /// Bytes of the longest name, `balancer://` included.
    pub const MAX_NAME: usize = Text::<12>::MAX;
    /// Bytes of the longest method name.
    pub const MAX_METHOD: usize = Text::<2>::MAX;
    /// Bytes of the longest cookie or parameter name.
    pub const MAX_STICKY: usize = Text::<8>::MAX;
    /// Bytes of the longest server key.
    pub const MAX_SERVER: usize = Text::<32>::MAX;
}

impl WorkerSlot {
    /// Bytes of the longest name.
    pub const MAX_NAME: usize = Text::<48>::MAX;
    /// Bytes of the longest route or redirect.
    pub const MAX_ROUTE: usize = Text::<8>::MAX;
}
