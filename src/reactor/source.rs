//! Registered descriptors with what is known of their readiness.
//!
//! A socket is registered once, edge-triggered, for both directions, and stays so until it is
//! closed. What an event told is remembered; an operation that meets `WouldBlock`, or reads less
//! than it asked for, clears it again, so that no read is made that is known to find nothing.

use std::io;
use std::os::fd::RawFd;
use std::task::Poll;

use super::driver;
use super::forever::{Access, Forever};
use super::task::{self, NOBODY, TaskNo};
use crate::sys::epoll;

const READABLE: u8 = 1;
const WRITABLE: u8 = 2;
/// The peer sent its end, or the connection broke: reads find that without a new event.
const CLOSED: u8 = 4;
/// Connection reset, refused and the like.
const BROKEN: u8 = 8;
/// Pooled: nobody waits, and any event but writability makes it unusable.
const WATCHED: u8 = 16;
const DISTURBED: u8 = 32;

#[derive(Clone, Copy)]
struct Entry {
    flags: u8,
    reader: TaskNo,
    writer: TaskNo,
}

struct Table {
    entries: Vec<Entry>,
    free: Vec<u32>,
}

thread_local! {
    static TABLE: Forever<Table> = const {
        Forever::new(Table { entries: Vec::new(), free: Vec::new() })
    };
}

/// A place in the table. The descriptor itself belongs to whoever holds this, and must be closed
/// right after it is dropped (or be taken out of the loop before): closing is what ends its events.
#[derive(Debug)]
pub struct Source {
    key: u32,
}

impl Source {
    /// Registers a descriptor that can be written to. What it has to read already is told by the
    /// event that registering makes, so no read is tried in vain.
    ///
    /// # Errors
    /// Those of epoll_ctl(2).
    pub fn new(fd: RawFd) -> io::Result<Source> {
        let source = Source::place(WRITABLE);
        driver::register(fd, source.key)?;
        Ok(source)
    }

    /// Registers a socket that is connecting: neither readable nor writable before the next event.
    ///
    /// # Errors
    /// Those of epoll_ctl(2).
    pub fn connecting(fd: RawFd) -> io::Result<Source> {
        let source = Source::place(0);
        driver::register(fd, source.key)?;
        Ok(source)
    }

    /// A place for a listener that goes in and out of the loop with [`Source::listen`].
    pub fn unregistered() -> Source {
        Source::place(0)
    }

    fn place(flags: u8) -> Source {
        let entry = Entry {
            flags,
            reader: NOBODY,
            writer: NOBODY,
        };
        TABLE.changed(|t| {
            let key = match t.free.pop() {
                Some(key) => {
                    t.entries[key as usize] = entry;
                    key
                }
                None => {
                    t.entries.push(entry);
                    (t.entries.len() - 1) as u32
                }
            };
            Source { key }
        })
    }

    /// Puts a listener into the loop so that one arrival wakes one process, level-triggered.
    ///
    /// # Errors
    /// Those of epoll_ctl(2).
    pub fn listen(&self, fd: RawFd) -> io::Result<()> {
        epoll::add_exclusive(driver::epoll_fd(), fd, self.key as usize)
    }

    /// Takes a listener out of the loop.
    ///
    /// # Errors
    /// Those of epoll_ctl(2).
    pub fn unlisten(&self, fd: RawFd) -> io::Result<()> {
        epoll::remove(driver::epoll_fd(), fd)
    }

    fn with<T>(&self, f: impl FnOnce(&mut Entry) -> T) -> T {
        TABLE.changed(|t| f(&mut t.entries[self.key as usize]))
    }

    /// `Ready` when a read may find something; else the current task is woken by the next event.
    pub fn poll_read_ready(&self) -> Poll<()> {
        self.with(|e| {
            if e.flags & (READABLE | CLOSED) != 0 {
                Poll::Ready(())
            } else {
                e.reader = task::current();
                Poll::Pending
            }
        })
    }

    /// The same for writing.
    pub fn poll_write_ready(&self) -> Poll<()> {
        self.with(|e| {
            if e.flags & (WRITABLE | BROKEN) != 0 {
                Poll::Ready(())
            } else {
                e.writer = task::current();
                Poll::Pending
            }
        })
    }

    /// Something is there to read, as somebody knows without an event.
    pub fn set_readable(&self) {
        self.with(|e| e.flags |= READABLE);
    }

    /// A read found nothing, or less than was asked for: the next byte comes with an event. A
    /// connection whose end was seen stays readable, since no further event would come.
    pub fn clear_readable(&self) {
        self.with(|e| e.flags &= !READABLE);
    }

    /// A write was refused or cut short.
    pub fn clear_writable(&self) {
        self.with(|e| e.flags &= !WRITABLE);
    }

    /// Something may be there to read.
    pub fn is_readable(&self) -> bool {
        self.with(|e| e.flags & (READABLE | CLOSED) != 0)
    }

    /// An event told of the peer's end or of an error.
    pub fn is_closed(&self) -> bool {
        self.with(|e| e.flags & (CLOSED | BROKEN) != 0)
    }

    /// An event told of an error (a reset, a refused connection).
    pub fn is_broken(&self) -> bool {
        self.with(|e| e.flags & BROKEN != 0)
    }

    /// Nobody waits for this any more; the next event that is more than writability disturbs it.
    pub fn watch(&self) {
        self.with(|e| {
            e.reader = NOBODY;
            e.writer = NOBODY;
            e.flags = (e.flags | WATCHED) & !DISTURBED;
        });
    }

    /// Something happened since `watch`; ends the watch when nothing did.
    pub fn disturbed(&self) -> bool {
        self.with(|e| e.flags & (DISTURBED | CLOSED | BROKEN) != 0)
    }

    /// Takes it into use again.
    pub fn unwatch(&self) {
        self.with(|e| e.flags &= !WATCHED);
    }

    /// The current task waits for the next event of this source, whatever was known so far.
    pub fn wait_for_event(&self) {
        self.with(|e| e.reader = task::current());
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        TABLE.changed(|t| {
            let entry = &mut t.entries[self.key as usize];
            entry.reader = NOBODY;
            entry.writer = NOBODY;
            t.free.push(self.key);
        });
    }
}

/// Notes an event and queues the tasks that wait for it.
pub(super) fn note(event: &mio::event::Event) {
    let mut told = 0;
    if event.is_readable() {
        told |= READABLE;
    }
    if event.is_writable() {
        told |= WRITABLE;
    }
    if event.is_read_closed() {
        told |= READABLE | CLOSED;
    }
    if event.is_error() || event.is_write_closed() {
        told |= READABLE | WRITABLE | CLOSED | BROKEN;
    }
    let (reader, writer) = TABLE.changed(|t| {
        let Some(entry) = t.entries.get_mut(event.token().0) else {
            return (NOBODY, NOBODY);
        };
        entry.flags |= told;
        if entry.flags & WATCHED != 0 && told & !WRITABLE != 0 {
            entry.flags |= DISTURBED;
        }
        let mut woken = (NOBODY, NOBODY);
        if told & READABLE != 0 {
            woken.0 = std::mem::replace(&mut entry.reader, NOBODY);
        }
        if told & WRITABLE != 0 {
            woken.1 = std::mem::replace(&mut entry.writer, NOBODY);
        }
        woken
    });
    if reader != NOBODY {
        task::queue(reader);
    }
    if writer != NOBODY {
        task::queue(writer);
    }
}

/// Places in use, for the figures that a child reports.
pub fn count() -> usize {
    TABLE.borrowed(|t| t.entries.len() - t.free.len())
}
