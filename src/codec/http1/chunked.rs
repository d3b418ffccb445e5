//! The chunked coding, incrementally (RFC 9112 7.1). Extensions and trailers are checked, bounded
//! and dropped.

/// A decoder for one body.
#[derive(Debug)]
pub struct Chunked {}

/// What the next bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// `used` bytes were framing and are done with; come back with more.
    More {
        /// How many.
        used: usize,
    },
    /// The first `skip` bytes were framing and are done with; the `len` bytes behind them are body.
    /// Take as many of those as you like and report them with `took`.
    Data {
        /// Framing bytes in front.
        skip: usize,
        /// Body bytes, at least one.
        len: usize,
    },
    /// The body and its trailers ended after `used` bytes.
    End {
        /// How many.
        used: usize,
    },
}

/// The body breaks the coding: nothing after it on this connection can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadChunk(pub &'static str);

impl Chunked {
    /// At the start of a body.
    pub fn new() -> Chunked {
        Chunked {}
    }

    /// Looks at the next bytes of the connection.
    pub fn step(&mut self, buf: &[u8]) -> Result<Step, BadChunk> {
        let _ = buf;
        todo!()
    }

    /// Tells that `n` of the body bytes of the last `Data` were taken.
    pub fn took(&mut self, n: usize) {
        let _ = n;
        todo!()
    }

    /// Was the end reached?
    pub fn ended(&self) -> bool {
        todo!()
    }

    /// Body bytes left of the current chunk: those may be moved without looking (splice).
    pub fn left(&self) -> u64 {
        todo!()
    }
}

impl Default for Chunked {
    fn default() -> Self {
        Chunked::new()
    }
}
