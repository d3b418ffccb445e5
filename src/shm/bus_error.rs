//! Living on when the table's file is cut while it is mapped.
//!
//! Touching a page that the file no longer has raises SIGBUS. For the supervisor the whole table is
//! then replaced by private zeros, where it stands, and marked as damaged: the supervisor goes on
//! and makes a new one. A child that meets it dies, as by any other bus error, and is replaced.

#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize};

/// A mapped table of the supervisor.
struct Region {
    start: AtomicUsize,
    length: AtomicUsize,
    damaged: AtomicBool,
}

/// One for each table that lives; there are as many as generations at most, and a few more.
static REGIONS: [Region; 16] = [const {
    Region {
        start: AtomicUsize::new(0),
        length: AtomicUsize::new(0),
        damaged: AtomicBool::new(false),
    }
}; 16];

/// The process that survives.
static SURVIVOR: AtomicI32 = AtomicI32::new(0);

/// Makes this process (not those it forks) survive bus errors in the memory at `start`.
pub fn survive(start: usize, length: usize) -> io::Result<()> {
    let free = REGIONS.iter().find(|r| r.start.load(Relaxed) == 0);
    let region = free.ok_or(io::ErrorKind::QuotaExceeded)?;
    region.damaged.store(false, Relaxed);
    region.length.store(length, Relaxed);
    region.start.store(start, Release);
    SURVIVOR.store(std::process::id().cast_signed(), Relaxed);
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: an all-zero sigaction is valid (no flags, empty mask); the handler has the signature
    // that SA_SIGINFO asks for and does only what a handler may.
    let set = unsafe {
        let action = action.assume_init_mut();
        action.sa_sigaction = on_bus_error as extern "C" fn(_, _, _) as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        libc::sigaction(libc::SIGBUS, action, ptr::null_mut())
    };
    if set == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Whether the memory at `start` was replaced.
pub fn damaged(start: usize) -> bool {
    REGIONS
        .iter()
        .any(|r| r.start.load(Acquire) == start && r.damaged.load(Relaxed))
}

/// The memory at `start` is about to be unmapped.
pub fn forget(start: usize) {
    for region in &REGIONS {
        if region.start.load(Relaxed) == start {
            region.start.store(0, Release);
        }
    }
}

extern "C" fn on_bus_error(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo to an SA_SIGINFO handler; SIGBUS fills in si_addr.
    let at = unsafe { (*info).si_addr() } as usize;
    // SAFETY: getpid has no preconditions and is async-signal-safe.
    let survivor = unsafe { libc::getpid() } == SURVIVOR.load(Relaxed);
    for region in REGIONS.iter().filter(|_| survivor) {
        let start = region.start.load(Acquire);
        let length = region.length.load(Relaxed);
        if start == 0 || at < start || at >= start + length {
            continue;
        }
        // SAFETY: the region is a mapping that a `Table` of this process keeps alive (it calls
        // `forget` before it goes), so MAP_FIXED replaces only that mapping. References into it stay
        // valid: the memory is as long as before, and zeros are valid for all records.
        let zeros = unsafe {
            libc::mmap(
                start as *mut libc::c_void,
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                -1,
                0,
            )
        };
        if zeros != libc::MAP_FAILED {
            region.damaged.store(true, Relaxed);
            return;
        }
    }
    // Not ours: the access is repeated when this returns, and then ends the process.
    // SAFETY: signal with SIG_DFL is async-signal-safe.
    unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
}
