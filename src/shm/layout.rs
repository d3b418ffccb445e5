//! Where everything stands in the file, field by field.
//!
//! With this page the file can be read by `hexdump -C`. All integers are in the machine's byte
//! order (offset 12 of the header tells which), times named *mono* are nanoseconds of
//! CLOCK_MONOTONIC, times named *wall* are microseconds since 1970 UTC. Texts are bytes followed by
//! NULs up to the field's size, the last byte always being NUL. Fields that are not named are zero.
//! Every table starts at a multiple of 64; so does every record, so that two children never write
//! the same cache line by accident.
//!
//! ```text
//! HEADER, 4096 bytes at 0
//!    0  u64  magic: the letters "MUSTERST"
//!    8  u32  layout version, 11
//!   12  u32  byte order: 0x01020304
//!   16  u64  length of the file
//!   24  u32  sizes of: header 4096 · 28 child slot 16640 · 32 request record 256 · 36 balancer slot 1024
//!   40  u32  · worker slot 1600 · 44 health slot 256 · 48 lease slot 512 · 52 traffic cell 32
//!   56  u32  child slots S · 60 request records of each, 64 · 64 balancer slots B · 68 worker slots W · 72 lease slots L, R × 256
//!   76  u32  beacon slots R
//!   80  u64  offsets of: child slots 4096 · 88 balancer slots · 96 worker slots · 104 health slots · 112 lease slots · 120 traffic
//!  128  u32  supervisor's process · 132 newest generation · 136 configurations read
//!  144  i64  wall: instance started · 152 wall: newest generation began
//!  168  u64  accesses of children that are gone · 176 their bytes · 184 their time in µs
//!  192  text 64  program and version
//!  256  u64  offset of the beacon slots · 264 u32 size of one, 1024
//!  320  64 × u64  child slots that are not unused, a bit each, the first one lowest
//! 1024  24 JOB SLOTS of 128 bytes, written by the child that holds the watchdog lock:
//!        0  text 32 name; empty: free · 32 u64 interval in ms · 40 u64 mono: next run due
//!       48  u64 mono: last run began · 56 u64 it took µs · 64 u64 runs
//!
//! CHILD SLOT, 16640 bytes, S of them; the first 256:
//!    0  u32  state: 0 unused, 1 starting, 2 serving, 3 draining, 4 ended
//!    4  u32  process · 8 generation · 12 number within the generation
//!   16  i64  wall: forked
//!   24  u32  how often the slot was claimed · 28 1 when it holds the watchdog lock
//!   64  u64  mono: the loop last ticked
//!   72  u32  open client connections · 76 of them idle · 80 requests in flight · 84 of them without a record
//!  128  u64  requests answered · 136 bytes sent to clients · 144 time of answered requests in µs · 152 log lines dropped
//! then 64 REQUEST RECORDS of 256 bytes:
//!    0  u32  sequence: odd while it is being written
//!    4  u32  phase: 0 free, 1 reading, 2 writing, 3 logging, 4 closing, 5 resolving
//!    8  u64  mono: its first byte came
//!   16  u16  client's address family: 4, 6, or 0 · 18 u16 client's port
//!   20  u32  worker slot that serves it, plus 1; 0 none
//!   24  u32  HTTP minor version, 0 or 1 · 28 port that the client connected to
//!   32  16 bytes  client's address (IPv4 in the first 4)
//!   48  text 64   virtual host's name
//!  112  text 96   method, a blank, the target's first 64 bytes
//!
//! BALANCER SLOT, 1024 bytes, B of them
//!    0  64 bytes  the lock: a pthread_mutex_t, robust and process-shared
//!   64  u32  process inside the lock · 68 1: lbstatus is to be levelled by the next owner
//!   72  u64  locks taken over from the dead · 80 choices made without the lock
//!  128  u32  1 in use · 132 oldest generation that uses it · 136 newest one · 140 sequence of the texts
//!  144  u32  flags: 1 nofailover, 2 scolonpathdelim, 4 forcerecovery, 8 maxattempts set, 16 failontimeout
//!  148  u32  maxattempts · 152 u32 separator byte, 256 for Off · 156 u32 growth
//!  160  u64  timeout in ms · 168 i64 wall: last change of the member list
//!  176  u32  counts the changes of the member list · 180 the oldest generation that may change it by hand · 184 i64 what the members' lbstatus sum up to
//!  192  text 96  name · 288 text 16 lbmethod · 304 text 64 cookie · 368 text 64 URL parameter
//!  432  text 40  nonce · 472 text 256 server that it belongs to
//!  728  u32  as the configuration says: flags · 732 maxattempts · 736 u64 timeout in ms
//!  744  u64  digest of the configured lbmethod · 752 of the sticky names · 760 of the nonce; 0 a random one
//!  768  10 × u64  the last seconds (the clock's second modulo 10): the second's low 24 bits above bit 40, requests
//!            above bit 20, further tries below
//!  848  u32  retrybudget in hundredths · 856 text 80 hashkey · 936 text 64 stickycookie
//!
//! WORKER SLOT, 1600 bytes, W of them
//!    0  u32  status bits: 1 Init 2 Ign 4 Drn 8 Gen 10 Shut 20 Dis 40 Stop 80 Err 100 Stby 200 Free 400 HcFl
//!            800 Spar 1000 Bcn (all hexadecimal), 10000 one request is trying it after an error
//!    4  u32  loadfactor × 100 · 8 lbset · 12 retries
//!   16  i64  lbstatus · 24 u64 elected · 32 u64 mono: error · 40 u64 mono: the trying request began
//!   48  u32  slot of the child that tries, plus 1 · 52 sequence of the texts · 56 u64 retry in ms
//!   64  u32  1 in use, 2 kept for a member that is added at run time · 68 oldest generation that uses it
//!   72  u32  newest one · 76 balancer slot plus 1; 0 none
//!   80  u32  place among the members · 84 how often the slot was taken
//!   88  u32  as the configuration says: loadfactor · 92 lbset · 96 status bits · 100 1: added at run time
//!  104  u64  as the configuration says: retry in ms
//!  112  i64  wall: last change
//!  128  u64  bytes sent to it by children that are gone · 136 bytes read from it by them
//!  144  u64  bytes that count as moved for lbmethod=bytraffic beside these: what it missed while it was away
//!  192  text 384 name · 576 text 64 route · 640 text 64 redirect · 704, 768 both as configured
//!  832  text 256 server that it belongs to
//! 1088  u64  times that it was found in error · 1096 elected · 1104 errors, both when the history last moved on
//! 1112  u64  how often it moved on · 1120 30 × u64 the last moments, the newest at that number less 1, modulo 30:
//!            requests, and above bit 32 errors
//! 1360  u64  average time to an answer in ns; 0 none · 1368 u64 mono: when it was brought up to date
//! 1376  u64  mono: last became usable again · 1384 u64 slowstart in ms
//!
//! HEALTH SLOT, 256 bytes, one for each worker slot
//!    0  u32  method · 4 passes needed · 8 fails needed · 12 passes in a row · 16 fails in a row · 20 sequence
//!   24  u64  interval in ms · 32 u64 mono: last check began · 40 u64 mono: it ended
//!   48  u32  process that makes one now · 64 text 64 URI · 128 text 32 expression's name
//!  160  u32  checks made · 164 bad ones
//!  168  u32  as the configuration says: method · 172 passes · 176 fails · 184 u64 interval in ms
//!  192  u64  digest of the configured URI · 200 of the configured expression's name
//!  208  u64  last heartbeat: busy slots above bit 32, waiting ones below · 216 u64 mono: when it came
//!
//! LEASE SLOT, 512 bytes, L of them: 256 for each beacon slot. Written by the watchdog's holder
//!    0  u32  0 free, 1 in use, 2 being written · 4 sequence of the texts · 8 flags: 1 its member is there, 2 evicted,
//!            4 by its own word, 8 only another receiver's mark · 12 worker slot plus 1 · 16 how often that was taken · 20 loadfactor × 100 as announced; 0 none
//!   24  u64  mono: last seen · 32 i64 highest time stamp accepted · 40 u64 mono: last attempt to add it
//!   64  text 384 canonical URL · 448 text 64 route as announced
//!
//! BEACON SLOT, 1024 bytes, R of them: a server that receives announcements or makes them. The
//! first line, the balancer and the texts are the supervisor's, all else is the holder's
//!    0  u32  1 in use, 2 by an instance that ends · 4 oldest generation that uses it · 8 newest one · 12 sequence of the texts
//!   16  u32  1 receives, 2 announces · 20 balancer slot plus 1; 0 none · 24 u64 timeout in ms
//!   32  i64  accepted distance of clocks in µs · 40 i64 time stamps before this one are stale · 48 u32 generation of the
//!            holder plus 1, all three written when a holder begins
//!   64  u64  announcements accepted · 72 datagrams that the kernel dropped · 80 i64 wall: last one accepted
//!   88  i64  wall: last one dropped · 96 u32 why, plus 1 · 100 leases in use · 104 i64 last time stamp sent · 112 u64 messages sent
//!  120  u64  mono: its socket was last looked into
//!  128  24 × u64  announcements dropped, by reason
//!  320  text 64 address · 384 text 64 sender of the last one dropped · 448 text 96 balancer · 544 text 256 server
//!
//! TRAFFIC, 32 bytes for each child slot and worker slot; a child's cells stand together, W × 32
//! bytes rounded up to a multiple of 64
//!    0  u32  requests in flight (busy) · 8 u64 bytes sent · 16 u64 bytes read
//! ```
//!
//! `busy` of a member is the sum over the child slots; bytes are the sum plus what the worker slot
//! keeps of children that are gone.

use super::error::ShmError;

/// "MUSTERST" in memory, whatever the byte order.
pub const MAGIC: u64 = u64::from_ne_bytes(*b"MUSTERST");
/// Changes with every change of this page.
pub const VERSION: u32 = 11;
/// Tells the byte order.
pub const BYTE_ORDER: u32 = 0x0102_0304;

/// Bytes of the header.
pub const HEADER: usize = 4096;
/// A beacon slot's first word when the instance ends: nothing is accepted any more.
pub const CLOSING: u32 = 2;
/// Bytes of a job slot.
pub const JOB: usize = 128;
/// Job slots, all in the header's page.
pub const JOBS: usize = 24;
/// Bytes of a child slot without its request records.
pub const CHILD_HEAD: usize = 256;
/// Bytes of a request record.
pub const RECORD: usize = 256;
/// Request records of each child slot.
pub const RECORDS: usize = 64;
/// Bytes of a child slot.
pub const CHILD: usize = CHILD_HEAD + RECORDS * RECORD;
/// Bytes of a balancer slot.
pub const BALANCER: usize = 1024;
/// Bytes of a worker slot.
pub const WORKER: usize = 1600;
/// Moments that a worker's history keeps.
pub const MOMENTS: usize = 30;
/// Seconds of a balancer's requests and further tries that are kept.
pub const TRY_SECONDS: usize = 10;
/// Bytes of a health slot.
pub const HEALTH: usize = 256;
/// Bytes of a lease slot.
pub const LEASE: usize = 512;
/// Lease slots of each beacon slot.
pub const LEASES: usize = 256;
/// Bytes of a beacon slot.
pub const BEACON: usize = 1024;
/// Counters of dropped announcements.
pub const REASONS: usize = 24;
/// Bytes of a traffic cell.
pub const CELL: usize = 32;

/// No table is longer; a reader allocates no more than this.
pub const MAX_LENGTH: usize = 256 << 20;
/// Bound of child slots.
pub const MAX_SLOTS: usize = 4096;
/// Bound of balancer slots.
pub const MAX_BALANCERS: usize = 8192;
/// Bound of worker slots.
pub const MAX_WORKERS: usize = 32768;
/// Bound of beacon slots.
pub const MAX_BEACONS: usize = 256;

/// How many rows of each kind there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Child slots.
    pub slots: usize,
    /// Balancer slots.
    pub balancers: usize,
    /// Worker slots.
    pub workers: usize,
    /// Beacon slots.
    pub beacons: usize,
}

/// Offsets that follow from the counts. Kept in private memory: the file's own copy of them is
/// only compared, never used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The counts.
    pub counts: Counts,
    /// Offset of the child slots.
    pub children: usize,
    /// Offset of the balancer slots.
    pub balancers: usize,
    /// Offset of the worker slots.
    pub workers: usize,
    /// Offset of the health slots.
    pub health: usize,
    /// Offset of the lease slots.
    pub leases: usize,
    /// Offset of the beacon slots.
    pub beacons: usize,
    /// Offset of the traffic cells.
    pub traffic: usize,
    /// Bytes of one child's traffic cells.
    pub traffic_stride: usize,
    /// Length of the file.
    pub length: usize,
}

impl Layout {
    /// The layout for these counts, or what is too much of.
    pub fn new(counts: Counts) -> Result<Layout, ShmError> {
        let bound = |what, needed, bound| {
            if needed > bound {
                return Err(ShmError::TooMany {
                    what,
                    bound,
                    needed,
                });
            }
            Ok(())
        };
        bound("child", counts.slots, MAX_SLOTS)?;
        bound("balancer", counts.balancers, MAX_BALANCERS)?;
        bound("worker", counts.workers, MAX_WORKERS)?;
        bound("beacon", counts.beacons, MAX_BEACONS)?;
        // With these bounds nothing below can overflow 64 bits.
        let children = HEADER;
        let balancers = children + counts.slots * CHILD;
        let workers = balancers + counts.balancers * BALANCER;
        let health = workers + counts.workers * WORKER;
        let leases = health + counts.workers * HEALTH;
        let beacons = leases + counts.beacons * LEASES * LEASE;
        let traffic = beacons + counts.beacons * BEACON;
        let traffic_stride = (counts.workers * CELL).next_multiple_of(64);
        let length = (traffic + counts.slots * traffic_stride).next_multiple_of(4096);
        bound("byte", length, MAX_LENGTH)?;
        Ok(Layout {
            counts,
            children,
            balancers,
            workers,
            health,
            leases,
            beacons,
            traffic,
            traffic_stride,
            length,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_tables_are_aligned_and_in_order() {
        for (slots, balancers, workers) in [(1, 1, 1), (16, 9, 21), (4096, 3, 7), (0, 0, 0)] {
            let l = Layout::new(Counts {
                slots,
                balancers,
                workers,
                beacons: slots % 5,
            })
            .unwrap();
            let offsets = [
                l.children,
                l.balancers,
                l.workers,
                l.health,
                l.leases,
                l.beacons,
                l.traffic,
                l.length,
            ];
            assert!(offsets.iter().all(|o| o % 64 == 0));
            assert!(offsets.is_sorted());
        }
    }

    #[test]
    fn too_much_is_refused() {
        let counts = |slots, balancers, workers| Counts {
            slots,
            balancers,
            workers,
            beacons: 1,
        };
        assert!(Layout::new(counts(4097, 1, 1)).is_err());
        assert!(Layout::new(counts(1, usize::MAX, 1)).is_err());
        assert!(Layout::new(counts(4096, 1, 32768)).is_err());
    }
}
