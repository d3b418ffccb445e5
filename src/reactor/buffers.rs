//! Pooled buffers of 16 KiB: what one direction of one connection may hold.

use std::fmt;
use std::ops::Deref;

use super::forever::{Access, Forever};

/// Bytes in a buffer.
pub const SIZE: usize = 16 * 1024;

/// Buffers that are kept for later (4 MiB); more than these go back to the allocator.
const KEPT: usize = 256;

type Block = Box<[u8]>;

thread_local! {
    static POOL: Forever<Vec<Block>> =
        const { Forever::new(Vec::new()) };
}

/// A pooled buffer with a window of filled bytes; goes back to the pool when dropped.
pub struct Buf {
    /// Invariant: `SIZE` long until `drop` takes it.
    bytes: Block,
    start: u32,
    end: u32,
}

/// An empty buffer of the pool. What is in it beyond the window is left over from others and must
/// never be shown to anyone; nothing but `spare` reaches it.
pub fn take() -> Buf {
    let bytes = POOL
        .changed(Vec::pop)
        .unwrap_or_else(|| vec![0; SIZE].into_boxed_slice());
    Buf {
        bytes,
        start: 0,
        end: 0,
    }
}

impl Buf {
    /// The filled bytes.
    pub fn data(&self) -> &[u8] {
        &self.bytes[self.start as usize..self.end as usize]
    }

    /// The filled bytes, to be rearranged in place.
    pub fn data_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start as usize..self.end as usize]
    }

    /// Keeps only the first `len` filled bytes.
    pub fn truncate(&mut self, len: usize) {
        if len < self.data().len() {
            self.end = self.start + len as u32;
        }
    }

    /// Where the next bytes go; empty only when the buffer is full. Moves the filled bytes to the
    /// front when there is no room behind them.
    pub fn spare(&mut self) -> &mut [u8] {
        if self.start > 0 && (self.start == self.end || self.end as usize == SIZE) {
            self.bytes
                .copy_within(self.start as usize..self.end as usize, 0);
            self.end -= self.start;
            self.start = 0;
        }
        &mut self.bytes[self.end as usize..]
    }

    /// `n` bytes of `spare` are filled now.
    pub fn filled(&mut self, n: usize) {
        self.end = (self.end as usize + n).min(SIZE) as u32;
    }

    /// Gives back the first `n` filled bytes.
    pub fn consume(&mut self, n: usize) {
        self.start = (self.start as usize + n).min(self.end as usize) as u32;
    }

    /// Nothing is filled.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// All room is filled.
    pub fn is_full(&self) -> bool {
        (self.end - self.start) as usize == SIZE
    }

    /// Fills with as much of `bytes` as there is room for, and says how much that was.
    pub fn put(&mut self, bytes: &[u8]) -> usize {
        let spare = self.spare();
        let n = spare.len().min(bytes.len());
        spare[..n].copy_from_slice(&bytes[..n]);
        self.filled(n);
        n
    }
}

impl Drop for Buf {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        POOL.changed(|pool| {
            if pool.len() < KEPT {
                pool.push(bytes);
            }
        });
    }
}

impl Deref for Buf {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.data()
    }
}

impl fmt::Debug for Buf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buf({} bytes)", self.data().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_moves_to_the_front_when_the_end_is_reached() {
        let mut b = take();
        let most = vec![b'x'; SIZE];
        assert_eq!(b.put(&most), SIZE);
        assert!(b.is_full());
        assert!(b.spare().is_empty());
        b.consume(SIZE - 3);
        assert_eq!(b.put(b"abc"), 3);
        assert_eq!(b.data(), b"xxxabc");
        b.consume(99);
        assert!(b.is_empty());
        assert_eq!(b.spare().len(), SIZE);
    }

    #[test]
    fn dropped_buffers_are_used_again_up_to_a_bound() {
        let many: Vec<Buf> = (0..KEPT + 10).map(|_| take()).collect();
        drop(many);
        POOL.borrowed(|p| assert_eq!(p.len(), KEPT));
        let one = take();
        assert!(one.is_empty());
        POOL.borrowed(|p| assert_eq!(p.len(), KEPT - 1));
    }
}
