//! Range requests (RFC 9110 14; httpd: `modules/http/byterange_filter.c`).

/// What a Range field asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ranges {
    /// Nothing that is understood or granted: the whole file.
    Whole,
    /// These pieces, first and last byte, in the order asked for; at least one.
    Pieces(Vec<(u64, u64)>),
    /// Nothing of what is asked for is there: 416.
    Unsatisfiable,
}

/// Overlaps, and jumps backwards, that one request may have.
const MOST_ODD: usize = 20;

/// Parses a Range field for a file of `len` bytes. `most`: ranges that are granted (`MaxRanges`),
/// `None`: any number. Neighbours that overlap or touch become one.
pub fn parse(value: &[u8], len: u64, most: Option<u32>) -> Ranges {
    let Some((unit, list)) = value.split_at_checked(6) else {
        return Ranges::Whole;
    };
    // An empty file has no bytes to ask for; it is sent as it is, as httpd does.
    if len == 0 || !unit.eq_ignore_ascii_case(b"bytes=") {
        return Ranges::Whole;
    }
    let count = list.split(|&b| b == b',').count();
    if most.is_some_and(|most| count > most as usize) {
        return Ranges::Whole;
    }
    let mut pieces: Vec<(u64, u64)> = Vec::new();
    let (mut overlaps, mut reversals) = (0, 0);
    for text in list.split(|&b| b == b',') {
        let Some(range) = one(text, len) else {
            return Ranges::Whole;
        };
        let Some((first, last)) = range else {
            continue;
        };
        match pieces.last_mut() {
            Some(before)
                if first <= before.1.saturating_add(1) && last.saturating_add(1) >= before.0 =>
            {
                overlaps += usize::from(first <= before.1 && last >= before.0);
                *before = (before.0.min(first), before.1.max(last));
            }
            Some(before) => {
                reversals += usize::from(first < before.0);
                pieces.push((first, last));
            }
            None => pieces.push((first, last)),
        }
    }
    if pieces.is_empty() {
        return Ranges::Unsatisfiable;
    }
    // More than the file holds, in pieces: sending it once is cheaper for everyone.
    let sum: u64 = pieces
        .iter()
        .map(|(a, b)| b - a + 1)
        .fold(0, u64::saturating_add);
    if overlaps > MOST_ODD || reversals > MOST_ODD || (pieces.len() > 1 && sum > len) {
        return Ranges::Whole;
    }
    Ranges::Pieces(pieces)
}

/// `a-b`, `a-` or `-n` of a file of `len` bytes, not 0. Outer `None`: malformed; inner `None`:
/// behind the end.
#[expect(clippy::option_option)]
fn one(text: &[u8], len: u64) -> Option<Option<(u64, u64)>> {
    let dash = text.iter().position(|&b| b == b'-')?;
    let (first, last) = (&text[..dash], &text[dash + 1..]);
    if first.is_empty() {
        let n = number(last)?;
        if n == 0 {
            return None;
        }
        return Some(Some((len.saturating_sub(n), len - 1)));
    }
    let first = number(first)?;
    let last = match last {
        [] => u64::MAX,
        digits => number(digits)?,
    };
    if first > last {
        return None;
    }
    Some((first < len).then(|| (first, last.min(len - 1))))
}

fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Ranges {
        parse(text.as_bytes(), 100, Some(200))
    }

    #[test]
    fn as_httpd_does() {
        for (text, pieces) in [
            ("bytes=0-4", &[(0, 4)][..]),
            ("BYTES=0-1", &[(0, 1)]),
            ("bytes=0-", &[(0, 99)]),
            ("bytes=-5", &[(95, 99)]),
            ("bytes=-500", &[(0, 99)]),
            ("bytes=0-4,10-14", &[(0, 4), (10, 14)]),
            ("bytes=0-4,5-9", &[(0, 9)]),
            ("bytes=10-14,0-4", &[(10, 14), (0, 4)]),
            ("bytes=0-99,0-99", &[(0, 99)]),
            ("bytes=0-1,200-300", &[(0, 1)]),
            ("bytes=3-8,0-4", &[(0, 8)]),
            ("bytes=0-1,2-", &[(0, 99)]),
            ("bytes=0-4,-5", &[(0, 4), (95, 99)]),
            ("bytes=99-18446744073709551615", &[(99, 99)]),
        ] {
            assert_eq!(of(text), Ranges::Pieces(pieces.to_vec()), "{text}");
        }
        for text in [
            "bytes=5-2",
            "bytes=-0",
            "bytes=x",
            "items=0-1",
            "bytes=",
            "bytes= 0-1 , 4-5",
            "bytes=0-1,x",
            "bytes=0-1,",
            "bytes=--1",
            "bytes=1-2-3",
            "bytes=+1-2",
            "",
            "bytes",
            "bytes=0-18446744073709551616",
            "bytes=0-1;2-3",
        ] {
            assert_eq!(of(text), Ranges::Whole, "{text}");
        }
        assert_eq!(of("bytes=200-"), Ranges::Unsatisfiable);
        assert_eq!(of("bytes=100-,200-300"), Ranges::Unsatisfiable);
        assert_eq!(parse(b"bytes=0-", 0, None), Ranges::Whole);
        assert_eq!(parse(b"bytes=-1", 0, None), Ranges::Whole);
    }

    #[test]
    fn floods_get_the_whole_file() {
        assert_eq!(parse(b"bytes=0-1,3-4,6-7", 100, Some(2)), Ranges::Whole);
        assert_eq!(parse(b"bytes=0-1", 100, Some(0)), Ranges::Whole);
        let backwards: Vec<_> = (0..45)
            .rev()
            .map(|i| format!("{}-{}", i * 2, i * 2))
            .collect();
        assert_eq!(of(&format!("bytes={}", backwards.join(","))), Ranges::Whole);
        let apart: Vec<_> = (0..40).map(|i| format!("{}-{}", i * 2, i * 2)).collect();
        let Ranges::Pieces(pieces) = of(&format!("bytes={}", apart.join(","))) else {
            panic!("all are granted");
        };
        assert_eq!(pieces.len(), 40);
        let same = vec!["0-99"; 100].join(",");
        assert_eq!(of(&format!("bytes={same}")), Ranges::Whole);
        assert_eq!(of("bytes=0-80,90-99,0-80"), Ranges::Whole);
    }

    #[test]
    fn granted_pieces_lie_in_the_file() {
        let mut granted = 0;
        crate::codec::fuzz::run(20_000, |random| {
            let len = random.below(12) as u64;
            let list = random.text(b"0123456789,,--- ", 16);
            if let Ranges::Pieces(pieces) = parse(&[b"bytes=", &list[..]].concat(), len, Some(5)) {
                granted += 1;
                assert!(!pieces.is_empty());
                assert!(pieces.iter().all(|(a, b)| a <= b && *b < len));
                let sum: u64 = pieces.iter().map(|(a, b)| b - a + 1).sum();
                assert!(sum <= len);
            }
        });
        assert!(granted > 100, "{granted}");
    }
}
