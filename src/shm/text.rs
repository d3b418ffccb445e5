//! Texts in the table, and the sequence lock that keeps readers from seeing half of one.
//!
//! A writer makes the sequence odd, writes, makes it even. A reader copies and looks again. A writer
//! that died half-way leaves an odd number: readers then take what is there (it is bounded and
//! checked all the same) and the next writer puts it right.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// A sequence lock. There is one writer at a time by rule (each record's doc names it).
#[repr(transparent)]
pub struct Seq(AtomicU32);

/// How often a reader looks again before it takes a torn copy; a writer needs well under a microsecond.
const TRIES: u32 = 256;

impl Seq {
    /// Runs `f`, which stores the fields that this sequence covers.
    pub fn write<R>(&self, f: impl FnOnce() -> R) -> R {
        let odd = self.0.load(Ordering::Relaxed) | 1;
        self.0.store(odd, Ordering::Relaxed);
        fence(Ordering::Release);
        let result = f();
        self.0.store(odd.wrapping_add(1), Ordering::Release);
        result
    }

    /// Runs `f`, which loads them, until it saw no writer.
    pub fn read<R>(&self, mut f: impl FnMut() -> R) -> R {
        for _ in 0..TRIES {
            let before = self.0.load(Ordering::Acquire);
            // Copying is the dear part: not while a writer is seen.
            if before & 1 == 0 {
                let result = f();
                fence(Ordering::Acquire);
                if before == self.0.load(Ordering::Relaxed) {
                    return result;
                }
            }
            std::hint::spin_loop();
        }
        f()
    }

    /// Changes with every write: what was read before is still right while this stays the same and even.
    pub fn version(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }
}

/// Up to `WORDS` × 8 − 1 bytes, then NULs; in memory order, so that a dump shows it.
#[repr(transparent)]
pub struct Text<const WORDS: usize>([AtomicU64; WORDS]);

impl<const WORDS: usize> Text<WORDS> {
    /// The longest text.
    pub const MAX: usize = WORDS * 8 - 1;

    /// Stores `text`, cut to `MAX` bytes. Identities are checked for their length before.
    pub fn set(&self, text: &[u8]) {
        self.set_parts(&[text]);
    }

    /// Stores the parts one after the other, cut to `MAX` bytes. Stops after the word that holds the
    /// first NUL: what an earlier, longer text left behind it is never read.
    pub fn set_parts(&self, parts: &[&[u8]]) {
        let mut bytes = parts.iter().flat_map(|p| p.iter().copied());
        let mut left = Self::MAX;
        for word in &self.0 {
            let mut chunk = [0u8; 8];
            for b in &mut chunk {
                if left == 0 {
                    break;
                }
                match bytes.next() {
                    Some(byte) => *b = byte,
                    None => left = 0,
                }
                left = left.saturating_sub(1);
            }
            word.store(u64::from_ne_bytes(chunk), Ordering::Relaxed);
            if chunk.contains(&0) {
                break;
            }
        }
    }

    /// The bytes up to the first NUL.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(32);
        for word in &self.0 {
            let chunk = word.load(Ordering::Relaxed).to_ne_bytes();
            match chunk.iter().position(|&b| b == 0) {
                Some(end) => {
                    out.extend_from_slice(&chunk[..end]);
                    break;
                }
                None => out.extend_from_slice(&chunk),
            }
        }
        out.truncate(Self::MAX);
        out
    }

    /// The same as a string; bytes that are no UTF-8 are replaced.
    pub fn string(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }

    /// Whether it is exactly this. Copies nothing, and looks no further than to the first difference.
    pub fn is(&self, text: &[u8]) -> bool {
        if text.len() > Self::MAX || text.contains(&0) {
            return false;
        }
        let mut parts = text.chunks(8);
        for word in &self.0 {
            let word = word.load(Ordering::Relaxed).to_ne_bytes();
            let part = parts.next().unwrap_or_default();
            if word[..part.len()] != *part {
                return false;
            }
            if let Some(end) = word.get(part.len()) {
                return *end == 0;
            }
        }
        // All words are full of it; a NUL had to follow.
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> Text<2> {
        Text([const { AtomicU64::new(u64::MAX) }; 2])
    }

    #[test]
    fn texts_keep_up_to_their_bound() {
        let t = text();
        assert_eq!(t.bytes().len(), 15, "garbage without NUL is bounded");
        for n in 0..=15 {
            let s = &b"abcdefghijklmnop"[..n];
            t.set(s);
            assert_eq!(t.bytes(), s);
            assert!(t.is(s));
        }
        t.set(b"0123456789abcdefXYZ");
        assert_eq!(t.bytes(), b"0123456789abcde");
        t.set_parts(&[b"GET", b" ", b"/x"]);
        assert_eq!(t.string(), "GET /x");
        assert!(!t.is(b"GET /") && !t.is(b"GET /xy") && !t.is(b"GET /x\0") && !t.is(b""));
        t.set(b"12345678");
        assert!(t.is(b"12345678") && !t.is(b"1234567") && !t.is(b"123456789"));
        t.set(b"");
        assert_eq!(t.string(), "");
        assert!(t.is(b"") && !t.is(b"1"));
    }

    #[test]
    fn a_dead_writer_blocks_nobody() {
        let seq = Seq(AtomicU32::new(7));
        assert_eq!(seq.read(|| 1), 1);
        seq.write(|| ());
        assert_eq!(seq.version(), 8);
        let mut runs = 0;
        seq.read(|| runs += 1);
        assert_eq!(runs, 1);
    }

    #[test]
    fn readers_never_see_a_mix() {
        let t = text();
        let seq = Seq(AtomicU32::new(0));
        seq.write(|| t.set(b"aaaaaaaaaaaaaaa"));
        std::thread::scope(|s| {
            s.spawn(|| {
                for i in 0..20_000u32 {
                    let b = b'a' + (i % 26) as u8;
                    seq.write(|| t.set(&[b; 15]));
                }
            });
            for _ in 0..20_000 {
                let before = seq.version();
                let copy = seq.read(|| t.bytes());
                if before & 1 == 0 && before == seq.version() {
                    assert!(copy.iter().all(|&b| b == copy[0]), "{copy:?}");
                }
            }
        });
    }
}
