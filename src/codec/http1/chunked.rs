//! The chunked coding, incrementally (RFC 9112 7.1). Extensions and trailers are checked, bounded
//! and dropped; sizes are hexadecimal digits and nothing else; all line ends are CR LF.

use crate::codec::fields::is_token;

/// Digits of one chunk size, leading zeros included.
const MOST_DIGITS: u8 = 32;
/// Bytes of chunk extensions in one body.
const MOST_EXTENSION: u32 = 16 * 1024;
/// Bytes of a body's trailer section.
const MOST_TRAILER: u32 = 16 * 1024;
/// Fields of a body's trailer section.
const MOST_TRAILERS: u8 = 100;

/// A decoder for one body.
///
/// Feed it the connection's bytes with `step`, drop what it says it used, report with `took` the
/// body bytes that were taken. After an error it stays in error.
#[derive(Clone, Debug)]
pub struct Chunked {
    state: State,
    /// The size being read; then the bytes left of the chunk.
    left: u64,
    digits: u8,
    extension: u32,
    trailer: u32,
    trailers: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In the digits of a size.
    Size,
    /// Behind a size: blanks.
    Blank,
    /// Behind a semicolon.
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    /// At the start of a trailer line.
    Line,
    Name,
    Value,
    ValueLf,
    LastLf,
    End,
    Bad(&'static str),
}

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
        Chunked {
            state: State::Size,
            left: 0,
            digits: 0,
            extension: 0,
            trailer: 0,
            trailers: 0,
        }
    }

    /// Looks at the next bytes of the connection.
    pub fn step(&mut self, buf: &[u8]) -> Result<Step, BadChunk> {
        let mut at = 0;
        while at < buf.len() {
            match self.state {
                State::Data => {
                    let rest = buf.len() - at;
                    let len = usize::try_from(self.left).map_or(rest, |left| left.min(rest));
                    return Ok(Step::Data { skip: at, len });
                }
                State::End => return Ok(Step::End { used: at }),
                _ => match self.framing(buf[at]) {
                    Ok(next) => self.state = next,
                    Err(reason) => {
                        self.state = State::Bad(reason);
                        return Err(BadChunk(reason));
                    }
                },
            }
            at += 1;
        }
        match self.state {
            State::End => Ok(Step::End { used: at }),
            State::Bad(reason) => Err(BadChunk(reason)),
            _ => Ok(Step::More { used: at }),
        }
    }

    /// Tells that `n` of the body bytes of the last `Data` were taken.
    pub fn took(&mut self, n: usize) {
        if self.state != State::Data {
            debug_assert_eq!(n, 0, "bytes taken outside of a chunk");
            return;
        }
        debug_assert!(n as u64 <= self.left, "more taken than the chunk has");
        self.left = self.left.saturating_sub(n as u64);
        if self.left == 0 {
            self.state = State::DataCr;
        }
    }

    /// Was the end reached?
    pub fn ended(&self) -> bool {
        self.state == State::End
    }

    /// Body bytes left of the current chunk: those may be moved without looking (splice).
    pub fn left(&self) -> u64 {
        match self.state {
            State::Data => self.left,
            _ => 0,
        }
    }

    /// One byte that is not body.
    fn framing(&mut self, b: u8) -> Result<State, &'static str> {
        match (self.state, b) {
            (State::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => self.digit(b),
            (State::Size, _) if self.digits == 0 => {
                Err("a chunk has no size in hexadecimal digits")
            }
            (State::Size | State::Blank | State::Extension, b'\r') => Ok(State::SizeLf),
            (State::Size | State::Blank, b';') => Ok(State::Extension),
            (State::Size | State::Blank, b' ' | b'\t') => {
                self.count_extension()?;
                Ok(State::Blank)
            }
            (State::Size | State::Blank, _) => Err("a chunk size is followed by something else"),
            (State::Extension, b) if is_text(b) => {
                self.count_extension()?;
                Ok(State::Extension)
            }
            (State::Extension, _) => Err("a chunk extension holds a control byte"),
            (State::SizeLf, b'\n') => {
                self.digits = 0;
                Ok(if self.left == 0 {
                    State::Line
                } else {
                    State::Data
                })
            }
            (State::DataCr, b'\r') => Ok(State::DataLf),
            (State::DataLf, b'\n') => {
                self.left = 0;
                Ok(State::Size)
            }
            (State::DataCr | State::DataLf, _) => Err("a chunk is longer than its size"),
            (State::Line, b'\r') => Ok(State::LastLf),
            (State::LastLf, b'\n') => Ok(State::End),
            (State::Line | State::Name, b) if is_token(b) => {
                self.count_trailer(self.state == State::Line)?;
                Ok(State::Name)
            }
            (State::Name, b':') => Ok(State::Value),
            (State::Line | State::Name, _) => Err("a trailer line is no field"),
            (State::Value, b'\r') => Ok(State::ValueLf),
            (State::Value, b) if is_text(b) => {
                self.count_trailer(false)?;
                Ok(State::Value)
            }
            (State::Value, _) => Err("a trailer's value holds a control byte"),
            (State::ValueLf, b'\n') => Ok(State::Line),
            (State::SizeLf | State::ValueLf | State::LastLf, _) => {
                Err("a line of the chunked coding does not end with CR LF")
            }
            (State::Bad(reason), _) => Err(reason),
            // `step` handles these two itself.
            (State::Data | State::End, _) => Err("the chunked coding is out of step"),
        }
    }

    fn digit(&mut self, b: u8) -> Result<State, &'static str> {
        let value = match b {
            b'0'..=b'9' => b - b'0',
            _ => (b | 0x20) - b'a' + 10,
        };
        self.digits += 1;
        // The next shift must not lose bits, and the size must fit 63 bits.
        if self.digits > MOST_DIGITS || self.left >> 59 != 0 {
            return Err("a chunk size is too large");
        }
        self.left = self.left << 4 | u64::from(value);
        Ok(State::Size)
    }

    fn count_extension(&mut self) -> Result<(), &'static str> {
        self.extension += 1;
        match self.extension > MOST_EXTENSION {
            true => Err("the chunk extensions are too long"),
            false => Ok(()),
        }
    }

    fn count_trailer(&mut self, new: bool) -> Result<(), &'static str> {
        self.trailer += 1;
        self.trailers += u8::from(new);
        match self.trailer > MOST_TRAILER || self.trailers > MOST_TRAILERS {
            true => Err("the trailer section is too long"),
            false => Ok(()),
        }
    }
}

impl Default for Chunked {
    fn default() -> Self {
        Chunked::new()
    }
}

/// No control byte but HTAB.
fn is_text(b: u8) -> bool {
    b == b'\t' || (b >= 0x20 && b != 0x7f)
}

#[cfg(test)]
mod tests;
