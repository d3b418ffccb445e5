//! Pooled buffers of 16 KiB: what one direction of one connection may hold.

use std::ops::Deref;

/// Bytes in a buffer.
pub const SIZE: usize = 16 * 1024;

/// A pooled buffer with a window of filled bytes; goes back to the pool when dropped.
#[derive(Debug)]
pub struct Buf {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

/// An empty buffer of the pool.
pub fn take() -> Buf {
    Buf {
        bytes: vec![0; SIZE],
        start: 0,
        end: 0,
    }
}

impl Buf {
    /// The filled bytes.
    pub fn data(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Where the next bytes go; may be empty while `data` is not. Moves the filled bytes to the
    /// front when there is no room behind them.
    pub fn spare(&mut self) -> &mut [u8] {
        if self.start > 0 && (self.start == self.end || self.end == self.bytes.len()) {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        &mut self.bytes[self.end..]
    }

    /// `n` bytes of `spare` are filled now.
    pub fn filled(&mut self, n: usize) {
        self.end = (self.end + n).min(self.bytes.len());
    }

    /// Gives back the first `n` filled bytes.
    pub fn consume(&mut self, n: usize) {
        self.start = (self.start + n).min(self.end);
    }

    /// Nothing is filled.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// All room is filled.
    pub fn is_full(&self) -> bool {
        self.end - self.start == self.bytes.len()
    }
}

impl Deref for Buf {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.data()
    }
}
