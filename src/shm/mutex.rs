//! A process-shared, robust mutex in the table: when its owner dies, the next one learns of it.

#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::io;
use std::marker::PhantomData;
use std::mem::{MaybeUninit, size_of};
use std::time::Duration;

use crate::clock::read_mono;

/// Room for a `pthread_mutex_t` (40 bytes on x86-64, 48 on aarch64).
#[repr(C, align(64))]
pub struct SharedMutex {
    raw: UnsafeCell<[u64; 8]>,
}

const _: () = assert!(size_of::<libc::pthread_mutex_t>() <= size_of::<SharedMutex>());

// SAFETY: the cell is only handed to the pthread functions, which synchronise among threads and processes.
unsafe impl Sync for SharedMutex {}

/// What came of trying to lock.
pub enum Locked<'a> {
    /// As its last owner left it.
    Clean(Guard<'a>),
    /// The last owner died inside: what it guards must be repaired before use. The lock itself is
    /// consistent again, and should this owner die too, the next one is told the same.
    Inherited(Guard<'a>),
    /// Not within the bound (or the lock is beyond repair).
    TimedOut,
}

/// Holds the lock until it is dropped.
pub struct Guard<'a> {
    mutex: &'a SharedMutex,
    /// A mutex is unlocked by the thread that locked it: a guard stays on its thread.
    _here: PhantomData<*const ()>,
}

/// Spins before the first nap: the lock is held for about a microsecond.
const SPINS: u32 = 200;
/// The longest nap.
const LONGEST_NAP: Duration = Duration::from_millis(2);

impl SharedMutex {
    /// Prepares it. Before anyone else sees the memory.
    pub fn init(&self) -> io::Result<()> {
        let check = |code: libc::c_int| match code {
            0 => Ok(()),
            e => Err(io::Error::from_raw_os_error(e)),
        };
        let mut attr = MaybeUninit::<libc::pthread_mutexattr_t>::uninit();
        // SAFETY: `attr` is initialised by the first call and destroyed by the last; the mutex's
        // memory is large enough (assertion above), aligned, and nobody uses it yet.
        unsafe {
            check(libc::pthread_mutexattr_init(attr.as_mut_ptr()))?;
            let made = check(libc::pthread_mutexattr_setpshared(
                attr.as_mut_ptr(),
                libc::PTHREAD_PROCESS_SHARED,
            ))
            .and_then(|()| {
                check(libc::pthread_mutexattr_setrobust(
                    attr.as_mut_ptr(),
                    libc::PTHREAD_MUTEX_ROBUST,
                ))
            })
            .and_then(|()| check(libc::pthread_mutex_init(self.ptr(), attr.as_ptr())));
            libc::pthread_mutexattr_destroy(attr.as_mut_ptr());
            made
        }
    }

    /// Tries once; `TimedOut` when another owns it (or it cannot be had any more).
    pub fn try_lock(&self) -> Locked<'_> {
        // SAFETY: `init` was called before the table was shared; the memory lives as long as `self`.
        match unsafe { libc::pthread_mutex_trylock(self.ptr()) } {
            0 => Locked::Clean(Guard::new(self)),
            libc::EOWNERDEAD => {
                // At once, so that dropping the guard on any path never makes the lock unusable.
                // SAFETY: we own it in the inconsistent state.
                unsafe { libc::pthread_mutex_consistent(self.ptr()) };
                Locked::Inherited(Guard::new(self))
            }
            _ => Locked::TimedOut,
        }
    }

    /// Tries for at most `bound` of the monotonic clock: spins, yields, then naps of growing length.
    pub fn lock(&self, bound: Duration) -> Locked<'_> {
        for _ in 0..SPINS {
            match self.try_lock() {
                Locked::TimedOut => std::hint::spin_loop(),
                locked => return locked,
            }
        }
        let deadline = read_mono() + bound;
        let mut nap = Duration::from_micros(20);
        loop {
            // The owner was probably preempted: let it run.
            std::thread::yield_now();
            match self.try_lock() {
                Locked::TimedOut => {}
                locked => return locked,
            }
            if read_mono() >= deadline {
                return Locked::TimedOut;
            }
            std::thread::sleep(nap);
            nap = (nap * 2).min(LONGEST_NAP);
        }
    }

    fn ptr(&self) -> *mut libc::pthread_mutex_t {
        self.raw.get().cast()
    }
}

impl<'a> Guard<'a> {
    fn new(mutex: &'a SharedMutex) -> Guard<'a> {
        Guard {
            mutex,
            _here: PhantomData,
        }
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        // SAFETY: a guard exists only while this thread owns the mutex, since it is not `Send`.
        unsafe { libc::pthread_mutex_unlock(self.mutex.ptr()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh() -> Box<SharedMutex> {
        let m = Box::new(SharedMutex {
            raw: UnsafeCell::new([0; 8]),
        });
        m.init().unwrap();
        m
    }

    #[test]
    fn excludes_and_times_out() {
        let m = fresh();
        let held = m.try_lock();
        assert!(matches!(held, Locked::Clean(_)));
        std::thread::scope(|s| {
            s.spawn(|| {
                assert!(matches!(m.try_lock(), Locked::TimedOut));
                assert!(matches!(m.lock(Duration::from_millis(5)), Locked::TimedOut));
            });
        });
        drop(held);
        assert!(matches!(m.lock(Duration::from_millis(5)), Locked::Clean(_)));
    }

    #[test]
    fn a_dead_owner_is_reported_once() {
        let m = fresh();
        std::thread::scope(|s| {
            // Joined: the scope alone does not wait for the thread's very end.
            s.spawn(|| std::mem::forget(m.try_lock())).join().unwrap();
        });
        let locked = m.try_lock();
        assert!(matches!(locked, Locked::Inherited(_)));
        drop(locked);
        assert!(matches!(m.try_lock(), Locked::Clean(_)));
    }
}
