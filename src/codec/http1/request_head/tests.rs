//! Request heads: every vector whole and byte by byte.

use super::*;
use crate::codec::http1::framing::{Framing, request_framing};

type Outcome = Result<Option<(RequestHead, usize)>, HeadError>;

fn whole(bytes: &[u8]) -> Outcome {
    match parse_request(bytes, &HeadLimits::default())? {
        Parsed::Done { head, used } => Ok(Some((head, used))),
        Parsed::Incomplete => Ok(None),
    }
}

/// As the bytes arrive one after the other; an error may come as soon as it can be seen.
fn dripped(bytes: &[u8]) -> Outcome {
    for n in 0..bytes.len() {
        match whole(&bytes[..n]) {
            Ok(None) => {}
            Ok(Some((head, used))) => {
                assert!(used <= n);
                return Ok(Some((head, used)));
            }
            error => return error,
        }
    }
    whole(bytes)
}

fn good(text: &str) -> (RequestHead, usize) {
    let bytes = text.as_bytes();
    let a = whole(bytes).unwrap().expect("a whole head");
    let b = dripped(bytes).unwrap().expect("a whole head");
    assert_eq!(format!("{a:?}"), format!("{b:?}"));
    let tail = [bytes, b"\x00\xffGET"].concat();
    let c = whole(&tail)
        .unwrap()
        .expect("bytes behind a head do not matter");
    assert_eq!(format!("{a:?}"), format!("{c:?}"));
    a
}

fn bad(bytes: impl AsRef<[u8]>) -> u16 {
    let bytes = bytes.as_ref();
    let shown = bytes[..bytes.len().min(80)].escape_ascii().to_string();
    let a = whole(bytes).expect_err(&shown);
    let b = dripped(bytes).expect_err(&shown);
    assert_eq!(a.status, b.status, "{shown}: {a:?} {b:?}");
    assert!(a.line.len() <= HeadLimits::default().line);
    a.status
}

#[test]
fn a_plain_request() {
    let text = "GET /x?y HTTP/1.1\r\nHost: a.test\r\nX-A:\t one \t\r\nEmpty:\r\nx-a: 2\r\n\r\n";
    let (head, used) = good(text);
    assert_eq!(used, text.len());
    assert_eq!(head.method, Method::Get);
    assert_eq!(head.target, b"/x?y");
    assert_eq!(head.version, Version::Http11);
    assert_eq!(head.line, b"GET /x?y HTTP/1.1");
    let fields: Vec<_> = head.fields.iter().collect();
    assert_eq!(
        fields,
        [
            (&b"Host"[..], &b"a.test"[..]),
            (b"X-A", b"one"),
            (b"Empty", b""),
            (b"x-a", b"2"),
        ]
    );
}

#[test]
fn values_may_hold_high_bytes_and_names_any_token() {
    let bytes = b"GET / HTTP/1.0\r\n!#$%&'*+-.^_`|~1Aa: caf\xe9 \"x\"\tz\r\n\r\n";
    let (head, _) = whole(bytes).unwrap().unwrap();
    assert_eq!(head.version, Version::Http10);
    assert_eq!(
        head.fields.get("!#$%&'*+-.^_`|~1aA"),
        Some(&b"caf\xe9 \"x\"\tz"[..])
    );
}

#[test]
fn methods_keep_their_case() {
    let name = |m: &str| good(&format!("{m} / HTTP/1.1\r\n\r\n")).0.method;
    assert_eq!(name("get"), Method::Other("get".into()));
    assert_eq!(name("BREW").as_str(), "BREW");
    assert_eq!(name("CONNECT"), Method::Connect);
    assert_eq!(bad("G(E)T / HTTP/1.1\r\n\r\n"), 400);
    assert_eq!(bad("G\u{e9}T / HTTP/1.1\r\n\r\n"), 400);
}

#[test]
fn a_few_empty_lines_are_skipped() {
    let (_, used) = good("\r\n\r\nGET / HTTP/1.1\r\n\r\n");
    assert_eq!(used, 4 + 18);
    assert_eq!(bad("\r\n".repeat(100_000)), 400);
    assert_eq!(bad("\nGET / HTTP/1.1\r\n\r\n"), 400);
    assert_eq!(bad("\rGET / HTTP/1.1\r\n\r\n"), 400);
    assert_eq!(bad("\r\r\nGET / HTTP/1.1\r\n\r\n"), 400);
}

#[test]
fn request_lines_that_are_refused() {
    for line in [
        "GET /l04",
        "GET  /x HTTP/1.1",
        "GET /x  HTTP/1.1",
        "GET /x HTTP/1.1 ",
        " GET /x HTTP/1.1",
        "GET\t/x\tHTTP/1.1",
        "GET /x HTTP/1.1 HTTP/1.1",
        "GET /x /y HTTP/1.1",
        "GET /x\u{1}x HTTP/1.1",
        "GET /x\u{7f}x HTTP/1.1",
        "GET /x\u{e9} HTTP/1.1",
        "GET /x\u{0} HTTP/1.1",
        "GET /x http/1.1",
        "GET /x HTTP/1.10",
        "GET /x HTTP/01.1",
        "GET /x HTTP/1.1x",
        "GET /x HTTP/",
        "GET /x HTTP/1",
        "GET /x HTTPS/1.1",
        "GET /x HTTP/1.a",
        "GET HTTP/1.1",
        "GET",
        "/x HTTP/1.1",
        ": HTTP/1.1",
    ] {
        assert_eq!(bad(format!("{line}\r\nHost: a\r\n\r\n")), 400, "{line}");
    }
    let hello = b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03\x00\x00\x00\x00\x00";
    assert_eq!(bad(hello), 400);
}

#[test]
fn versions() {
    let (head, _) = good("GET /x HTTP/1.2\r\nHost: a\r\n\r\n");
    assert_eq!(head.version, Version::Http11);
    assert_eq!(head.line, b"GET /x HTTP/1.2");
    assert_eq!(head.fields.get("host"), Some(&b"a"[..]));
    assert_eq!(bad("GET /x HTTP/2.0\r\n\r\n"), 505);
    assert_eq!(bad("GET /x HTTP/0.9\r\n\r\n"), 505);
    assert_eq!(bad("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505);
    assert_eq!(bad("GET /x HTTP/1.2\nHost: a\r\n\r\n"), 400);
    assert_eq!(bad("GET /x HTTP/1.3\r\nHost : a\r\n\r\n"), 400);
}

#[test]
fn field_lines_that_are_refused() {
    for line in [
        "Content-Length : 5",
        "X-A: one\r\n\ttwo",
        "X-A: one\r\n two",
        "X-A: 1\nX-Smug: 1",
        "X-A: 1\rX-Smug: 1",
        "X-A: 1\r",
        "X-A: 1\u{0}2",
        "X-A: 1\u{1}2",
        "X-A: 1\u{7f}2",
        "X-A: \u{b}1",
        "X\0A: 1",
        "X A: 1",
        "X-A",
        ": 1",
        "X(A): 1",
        "X\u{e9}A: 1",
        "X-A\t: 1",
        "\"X\": 1",
    ] {
        assert_eq!(
            bad(format!("GET / HTTP/1.1\r\nHost: a\r\n{line}\r\n\r\n")),
            400,
            "{line:?}"
        );
        assert_eq!(
            bad(format!("GET / HTTP/1.1\r\n{line}\r\nHost: a\r\n\r\n")),
            400,
            "{line:?} first"
        );
    }
    assert_eq!(bad("GET / HTTP/1.1\r\n Host: a\r\n\r\n"), 400);
    assert_eq!(bad("GET / HTTP/1.1\nHost: a\n\n"), 400);
    assert_eq!(bad("GET / HTTP/1.1\r\nHost: a\r\n\n"), 400);
    assert_eq!(bad("GET / HTTP/1.1\r\nHost: a\n\r\n"), 400);
    assert_eq!(bad("GET / HTTP/1.1\r\nHost: a\r\n\rX: y\r\n\r\n"), 400);
    assert_eq!(bad("GET / HTTP/1.1\r\nX:\n\r\n"), 400);
}

#[test]
fn everything_is_bounded() {
    let whole_status = |bytes: String| {
        let a = whole(bytes.as_bytes()).expect_err("too much").status;
        // Before its end too: a client must not make us wait for it.
        let cut = &bytes.as_bytes()[..bytes.len() - 4];
        assert_eq!(a, whole(cut).expect_err("too much").status);
        a
    };
    let long = |n| "a".repeat(n);
    assert_eq!(
        whole_status(format!("{} /x HTTP/1.1\r\n\r\n", long(20_000))),
        414
    );
    assert_eq!(
        whole_status(format!("GET /{} HTTP/1.1\r\n\r\n", long(100_000))),
        414
    );
    assert_eq!(
        whole_status(format!("GET / HTTP/1.1\r\nX-A: {}\r\n\r\n", long(1 << 20))),
        400
    );
    assert_eq!(
        whole_status(format!(
            "GET / HTTP/1.1\r\n{}\r\n\r\n",
            "A: b\r\n".repeat(5000)
        )),
        400
    );
    let fit = format!("GET /{} HTTP/1.1", long(8190 - 14));
    assert_eq!(fit.len(), 8190);
    assert!(
        whole(format!("{fit}\r\n\r\n").as_bytes())
            .unwrap()
            .is_some()
    );
    let e = whole(format!("{}a\r\n\r\n", fit.replace("GET", "POST")).as_bytes()).unwrap_err();
    assert_eq!((e.status, e.line.len()), (414, 8190));
}

#[test]
fn counts_of_fields() {
    let with = |n: usize| format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(n));
    for n in [0, 1, 63, 64, 65, 100] {
        let (head, _) = good(&with(n));
        assert_eq!(head.fields.len(), n);
    }
    assert_eq!(bad(with(101)), 400);
    let few = HeadLimits {
        fields: 2,
        ..HeadLimits::default()
    };
    assert!(parse_request(with(2).as_bytes(), &few).is_ok());
    assert!(parse_request(with(3).as_bytes(), &few).is_err());
    let any = HeadLimits {
        fields: 0,
        ..HeadLimits::default()
    };
    assert!(parse_request(with(900).as_bytes(), &any).is_ok());
    assert!(parse_request(with(1001).as_bytes(), &any).is_err());
}

#[test]
fn the_line_is_known_for_the_log() {
    let e = whole(b"GET /a\x01b HTTP/1.1\r\n\r\n").unwrap_err();
    assert_eq!(e.line, b"GET /a\x01b HTTP/1.1");
    let e = whole(b"BAD\r\n\r\n").unwrap_err();
    assert_eq!(e.line, b"BAD");
}

#[test]
fn a_glance_at_a_broken_head() {
    use crate::codec::http1::head::glance;
    let of = |line: &'static str| {
        let (method, target, version) = glance(line.as_bytes());
        (method.as_str().to_string(), target, version)
    };
    assert_eq!(
        of("GET /x HTTP/1.1"),
        ("GET".into(), &b"/x"[..], Version::Http11)
    );
    assert_eq!(of("BAD"), ("BAD".into(), &b""[..], Version::Http10));
    assert_eq!(
        of("\u{16}\u{3} x y"),
        ("-".into(), &b"x"[..], Version::Http10)
    );
    assert_eq!(of(""), ("-".into(), &b""[..], Version::Http10));
}

fn framing(fields: &str, version: &str) -> Result<Framing, u16> {
    let (head, _) = good(&format!("POST / HTTP/{version}\r\n{fields}\r\n"));
    request_framing(&head).map_err(|e| e.status)
}

#[test]
fn one_length() {
    let f = |fields: &str| framing(fields, "1.1");
    assert_eq!(f("Host: a\r\n"), Ok(Framing::None));
    assert_eq!(f("Content-Length: 0\r\n"), Ok(Framing::Length(0)));
    assert_eq!(f("content-length: \t 5 \t\r\n"), Ok(Framing::Length(5)));
    assert_eq!(
        f("Content-Length: 0000000000000000000005\r\n"),
        Ok(Framing::Length(5))
    );
    assert_eq!(
        f("Content-Length: 9223372036854775807\r\n"),
        Ok(Framing::Length(i64::MAX as u64))
    );
    assert_eq!(f("Transfer-Encoding: Chunked\r\n"), Ok(Framing::Chunked));
    for wrong in [
        "+5",
        "-1",
        "5, 5",
        "5,6",
        "0x5",
        "",
        "5 5",
        "5;",
        "18446744073709551621",
        "9223372036854775808",
        "5.0",
        "1e1",
        "\u{b3}",
    ] {
        assert_eq!(
            f(&format!("Content-Length: {wrong}\r\n")),
            Err(400),
            "{wrong}"
        );
    }
    for (wrong, status) in [
        ("xchunked", 400),
        ("chunked, identity", 400),
        ("identity", 400),
        ("\"chunked\"", 400),
        ("chunked, chunked", 400),
        ("chunked;q=1", 400),
        ("", 400),
        (",chunked", 501),
        ("gzip, chunked", 501),
    ] {
        let fields = format!("Transfer-Encoding: {wrong}\r\n");
        assert_eq!(f(&fields), Err(status), "{wrong}");
    }
    for both in [
        "Content-Length: 5\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nCONTENT-LENGTH: 6\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: identity\r\nContent-Length: 5\r\n",
    ] {
        assert_eq!(f(both), Err(400), "{both}");
    }
    assert_eq!(framing("Transfer-Encoding: chunked\r\n", "1.0"), Err(400));
}
