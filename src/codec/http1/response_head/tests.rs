//! Response heads: every vector whole and byte by byte.

use super::*;
use crate::codec::http1::framing::{Framing, response_framing};
use crate::codec::http1::head::Method;

type Outcome = Result<Option<(ResponseHead, usize)>, HeadError>;

fn whole(bytes: &[u8], limits: &ResponseLimits) -> Outcome {
    match parse_response(bytes, limits)? {
        Parsed::Done { head, used } => Ok(Some((head, used))),
        Parsed::Incomplete => Ok(None),
    }
}

fn dripped(bytes: &[u8], limits: &ResponseLimits) -> Outcome {
    for n in 0..bytes.len() {
        match whole(&bytes[..n], limits) {
            Ok(None) => {}
            other => return other,
        }
    }
    whole(bytes, limits)
}

fn good(text: impl AsRef<[u8]>) -> ResponseHead {
    let (bytes, limits) = (text.as_ref(), ResponseLimits::default());
    let a = whole(bytes, &limits).unwrap().expect("a whole head");
    let b = dripped(bytes, &limits).unwrap().expect("a whole head");
    assert_eq!(a.1, bytes.len());
    assert_eq!(format!("{a:?}"), format!("{b:?}"));
    a.0
}

fn bad(text: impl AsRef<[u8]>) {
    let (bytes, limits) = (text.as_ref(), ResponseLimits::default());
    let shown = bytes[..bytes.len().min(80)].escape_ascii().to_string();
    assert_eq!(whole(bytes, &limits).expect_err(&shown).status, 502);
    assert_eq!(dripped(bytes, &limits).expect_err(&shown).status, 502);
}

#[test]
fn status_lines() {
    let head = good("HTTP/1.1 200 OK\r\nX: y\r\n\r\n");
    assert_eq!((head.status, &head.reason[..]), (200, &b"OK"[..]));
    assert_eq!(head.version, Version::Http11);
    assert_eq!(head.fields.get("x"), Some(&b"y"[..]));
    assert_eq!(good("HTTP/1.0 404 \r\n\r\n").version, Version::Http10);
    assert_eq!(good("HTTP/1.1 204\r\n\r\n").reason, b"");
    assert_eq!(good(b"HTTP/1.1 999 caf\xe9 x\r\n\r\n").reason, b"caf\xe9 x");
    assert_eq!(good("HTTP/1.1 200  two\r\n\r\n").reason, b" two");
    assert_eq!(
        good("HTTP/1.7 103 Early Hints\r\nLink: </a>\r\n\r\n").status,
        103
    );
    assert_eq!(good("\r\nHTTP/1.1 200 OK\r\n\r\n").status, 200);
    for wrong in [
        "HTTP/1.1 abc OK",
        "hello world, no status line",
        "HTTP/1.1 1000 Odd",
        "HTTP/1.1 20 OK",
        "HTTP/1.1 099 Odd",
        "HTTP/2 200 OK",
        "HTTP/2.0 200 OK",
        "HTTP/1.10 200 OK",
        "http/1.1 200 OK",
        "HTTP/1.1  200 OK",
        "HTTP/1.1 200\tOK",
        "HTTP/1.1 200 O\0K",
        "HTTP/1.1 200 O\rK",
        " HTTP/1.1 200 OK",
        "\r\n\r\nHTTP/1.1 200 OK",
        "\nHTTP/1.1 200 OK",
    ] {
        bad(format!("{wrong}\r\nX: y\r\n\r\n"));
    }
    bad("HTTP/1.1 200 OK\nX: y\n\n");
}

#[test]
fn field_lines() {
    for wrong in [
        "X-A : 1",
        "broken line",
        "X-A: o\0e",
        "X-A: o\rX-Inj: 1",
        "X-A: 1\nX-B: 2",
        "X(A): 1",
        ": 1",
        "X-A: 1\u{7f}",
    ] {
        bad(format!("HTTP/1.1 200 OK\r\nX: y\r\n{wrong}\r\n\r\n"));
    }
    bad("HTTP/1.1 200 OK\r\n folded: first\r\n\r\n");
    bad(format!(
        "HTTP/1.1 200 OK\r\nX: {}\r\n\r\n",
        "a".repeat(512 * 1024)
    ));
    bad(format!(
        "HTTP/1.1 200 OK\r\n{}\r\n",
        "X-A: b\r\n".repeat(20_000)
    ));
    bad(format!("HTTP/1.1 200 {}\r\n\r\n", "a".repeat(9000)));
    let many = good(format!(
        "HTTP/1.1 200 OK\r\n{}\r\n",
        "X-A: b\r\n".repeat(900)
    ));
    assert_eq!(many.fields.len(), 900);
}

#[test]
fn a_folded_field_is_joined() {
    let head =
        good("HTTP/1.1 200 OK\r\nA: 1\r\n  2 \r\n\t3\r\nB:\r\n \r\nC: \r\n x\r\nD: y\r\n \r\n\r\n");
    let fields: Vec<_> = head.fields.iter().collect();
    assert_eq!(
        fields,
        [
            (&b"A"[..], &b"1  2 \t3"[..]),
            (b"B", b""),
            (b"C", b"x"),
            (b"D", b"y"),
        ]
    );
    bad("HTTP/1.1 200 OK\r\nA: 1\n 2\r\n\r\n");
    bad("HTTP/1.1 200 OK\r\nA: 1\r\n 2\n\r\n");
    bad("HTTP/1.1 200 OK\r\nA:\n 2\r\n\r\n");
    bad(format!(
        "HTTP/1.1 200 OK\r\nA: 1\r\n{}\r\n",
        " aaaa\r\n".repeat(5000)
    ));
}

#[test]
fn bad_lines_may_be_allowed() {
    let text = b"HTTP/1.1 200 OK\r\nA: 1\r\nno colon\r\nB: 2\r\n\r\nbody";
    let limits = |bad_header| ResponseLimits {
        bad_header,
        ..ResponseLimits::default()
    };
    let parse = |way| {
        let a = whole(text, &limits(way)).unwrap().unwrap();
        let b = dripped(text, &limits(way)).unwrap().unwrap();
        assert_eq!(format!("{a:?}"), format!("{b:?}"));
        a
    };
    let (head, used) = parse(BadHeader::Ignore);
    assert_eq!(&text[used..], b"body");
    assert_eq!(head.fields.len(), 2);
    let (head, used) = parse(BadHeader::StartBody);
    assert_eq!(&text[used..], b"no colon\r\nB: 2\r\n\r\nbody");
    assert_eq!(head.fields.len(), 1);
    let smuggled = b"HTTP/1.1 200 OK\r\nA: 1\nB: 2\r\n\r\n";
    assert!(whole(smuggled, &limits(BadHeader::Ignore)).is_err());
}

#[test]
fn lengths() {
    let f = |start: &str, fields: &str, method: Method| {
        let head = good(format!("HTTP/{start}\r\n{fields}\r\n"));
        response_framing(&head, &method).map_err(|e| e.status)
    };
    let get = || Method::Get;
    let ok = "1.1 200 OK";
    assert_eq!(f(ok, "", get()), Ok(Framing::UntilClose));
    assert_eq!(
        f(ok, "Content-Length: 5\r\n", get()),
        Ok(Framing::Length(5))
    );
    assert_eq!(
        f(ok, "Transfer-Encoding: chunked\r\n", get()),
        Ok(Framing::Chunked)
    );
    assert_eq!(
        f(ok, "Content-Length: 5\r\n", Method::Head),
        Ok(Framing::None)
    );
    assert_eq!(
        f("1.1 204 No", "Content-Length: 5\r\n", get()),
        Ok(Framing::None)
    );
    assert_eq!(
        f("1.1 304 No", "Content-Length: 5\r\n", get()),
        Ok(Framing::None)
    );
    assert_eq!(f("1.1 103 No", "", get()), Ok(Framing::None));
    assert_eq!(f(ok, "", Method::Connect), Ok(Framing::None));
    assert_eq!(
        f("1.1 403 No", "", Method::Connect),
        Ok(Framing::UntilClose)
    );
    let twice = "Content-Length: 5\r\nContent-Length: 5\r\n";
    assert_eq!(f(ok, twice, get()), Ok(Framing::Length(5)));
    for wrong in [
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: 5x\r\n",
        "Content-Length: 5, 5\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: gzip, chunked, identity\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: identity\r\n",
    ] {
        assert_eq!(f(ok, wrong, get()), Err(502), "{wrong}");
        assert_eq!(f(ok, wrong, Method::Head), Err(502), "{wrong}");
    }
    assert_eq!(
        f("1.0 200 OK", "Transfer-Encoding: chunked\r\n", get()),
        Err(502)
    );
}
