//! Chunked bodies, good and bad, whole and in small pieces.

use super::*;

/// Decodes pieces of `size` bytes; gives the body and how many bytes were used.
fn decode(input: &[u8], size: usize) -> Result<Option<(Vec<u8>, usize)>, BadChunk> {
    let mut decoder = Chunked::new();
    let mut body = Vec::new();
    let (mut at, mut seen) = (0, 0);
    loop {
        seen = (seen + size).min(input.len());
        loop {
            match decoder.step(&input[at..seen])? {
                Step::More { used } => {
                    at += used;
                    break;
                }
                Step::Data { skip, len } => {
                    assert!(len > 0);
                    let took = len.min(3);
                    body.extend_from_slice(&input[at + skip..at + skip + took]);
                    decoder.took(took);
                    at += skip + took;
                }
                Step::End { used } => {
                    assert!(decoder.ended());
                    return Ok(Some((body, at + used)));
                }
            }
        }
        if seen == input.len() {
            return Ok(None);
        }
    }
}

fn good(input: &str) -> String {
    let with_tail = [input.as_bytes(), b"GET / HTTP/1.1"].concat();
    let (body, used) = decode(input.as_bytes(), input.len()).unwrap().unwrap();
    assert_eq!(used, input.len());
    for size in [1, 2, 3, 5, 7] {
        let again = decode(input.as_bytes(), size).unwrap().unwrap();
        assert_eq!(again, (body.clone(), used));
        assert_eq!(decode(&with_tail, size).unwrap().unwrap(), again);
    }
    String::from_utf8(body).unwrap()
}

fn bad(input: &str) {
    let shown = &input[..input.len().min(60)];
    assert!(decode(input.as_bytes(), input.len()).is_err(), "{shown:?}");
    assert!(decode(input.as_bytes(), 1).is_err(), "{shown:?}");
}

#[test]
fn bodies() {
    assert_eq!(good("0\r\n\r\n"), "");
    assert_eq!(good("5\r\nhello\r\n0\r\n\r\n"), "hello");
    assert_eq!(good("0000A\r\n0123456789\r\n00000\r\n\r\n"), "0123456789");
    assert_eq!(
        good("1\r\na\r\nb\r\n 234567890a\r\n0\r\n\r\n"),
        "a 234567890a"
    );
    assert_eq!(good("5;n=v;q=\"x y\"\r\nhello\r\n0;last\r\n\r\n"), "hello");
    assert_eq!(good("5 \t \r\nhello\r\n0 ;x\r\n\r\n"), "hello");
    assert_eq!(good("1\r\na\r\n0\r\nX-T: 1\r\nY:\r\n\r\n"), "a");
    assert_eq!(
        good(&format!("{}0\r\n\r\n", "1\r\na\r\n".repeat(10_000))).len(),
        10_000
    );
}

#[test]
fn sizes_are_hexadecimal_digits() {
    for size in [
        "0x5",
        "+5",
        "0_5",
        "-5",
        "10000000000000005",
        "8000000000000000",
        "",
        "5z",
        " 5",
        "\t5",
        "5 5",
        "5\u{b}",
        "5\0",
        "g",
    ] {
        bad(&format!("{size}\r\nhello\r\n0\r\n\r\n"));
    }
    bad(&format!("{}5\r\nhello\r\n0\r\n\r\n", "0".repeat(40)));
    let mut decoder = Chunked::new();
    let step = decoder.step(b"7fffffffffffffff\r\nx");
    assert_eq!(step, Ok(Step::Data { skip: 18, len: 1 }));
    assert_eq!(decoder.left(), i64::MAX as u64);
}

#[test]
fn line_ends_are_cr_lf() {
    for text in [
        "5\nhello\r\n0\r\n\r\n",
        "5\r\nhello\n0\r\n\r\n",
        "5\r\nhello\r0\r\n\r\n",
        "5\rhello\r\n0\r\n\r\n",
        "5;a\nb\r\nhello\r\n0\r\n\r\n",
        "5;a\rb\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello\r\n0;a\nX: y\r\n\r\n",
        "5\r\nhelloXX\r\n0\r\n\r\n",
        "5\r\nhello0\r\n\r\n",
        "0\n\r\n",
        "0\r\n\n",
        "0\r\n\rx",
        "0\r\nX: y\n\r\n",
        "0\r\nX: y\r\r\n",
    ] {
        bad(text);
    }
}

#[test]
fn trailers_are_fields() {
    for line in [
        "no colon here",
        " X: y",
        ": y",
        "X : y",
        "X(: y",
        "X: \u{1}",
        "X\r\n",
    ] {
        bad(&format!("0\r\n{line}\r\n\r\n"));
        bad(&format!("0\r\nA: b\r\n{line}\r\n\r\n"));
    }
    bad("0\r\nA: b\r\n folded\r\n\r\n");
}

#[test]
fn everything_is_bounded() {
    bad(&format!("5;{}\r\nhello\r\n0\r\n\r\n", "a".repeat(1 << 20)));
    bad(&format!("5{}\r\nhello\r\n0\r\n\r\n", " ".repeat(1 << 20)));
    bad(&format!("0\r\nX: {}\r\n\r\n", "a".repeat(1 << 20)));
    bad(&format!("0\r\n{}\r\n", "A: b\r\n".repeat(1000)));
    // In sum over the body, too.
    bad(&format!(
        "{}0\r\n\r\n",
        "1;abcdefgh\r\na\r\n".repeat(10_000)
    ));
}

#[test]
fn a_cut_body_has_no_end_and_an_error_stays() {
    assert_eq!(decode(b"ff\r\nhello", 4), Ok(None));
    assert_eq!(decode(b"5\r\nhello\r\n0\r\n", 4), Ok(None));
    let mut decoder = Chunked::new();
    assert!(decoder.step(b"x").is_err());
    assert!(decoder.step(b"0\r\n\r\n").is_err());
    assert!(decoder.step(b"").is_err());
    assert!(!decoder.ended());
}
