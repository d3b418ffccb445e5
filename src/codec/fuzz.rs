//! A small deterministic source of random input for the parsers' tests.

/// xorshift64*: the same numbers in every run.
pub(crate) struct Random(u64);

impl Random {
    /// A number below `n`, which is not 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n
    }

    /// One of them.
    pub(crate) fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }

    /// At most `most` bytes of the alphabet.
    pub(crate) fn text(&mut self, alphabet: &[u8], most: usize) -> Vec<u8> {
        let n = self.below(most + 1);
        (0..n)
            .map(|_| alphabet[self.below(alphabet.len())])
            .collect()
    }

    /// `text` with a few bytes changed, removed, doubled or put in.
    pub(crate) fn damage(&mut self, text: &[u8]) -> Vec<u8> {
        const ODD: &[u8] = b"\r\n\0\t :;,/%\x01\x7f\xe9a0";
        let mut out = text.to_vec();
        for _ in 0..self.below(4) {
            if out.is_empty() {
                break;
            }
            let at = self.below(out.len());
            let odd = ODD[self.below(ODD.len())];
            match self.below(4) {
                0 => out[at] = odd,
                1 => drop(out.remove(at)),
                2 => out.insert(at, out[at]),
                _ => out.insert(at, odd),
            }
        }
        out
    }
}

/// Calls `test` `times` times; a failure names the round, and rounds are the same in every run.
pub(crate) fn run(times: usize, mut test: impl FnMut(&mut Random)) {
    for round in 0..times {
        let seed = (round as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut random = Random(seed);
        random.below(2);
        test(&mut random);
    }
}
