//! Damaged input for every parser: none panics, none takes two ways for one input, and what is
//! accepted holds what the rest of muster relies on.

use super::fields::{valid_name, valid_value};
use super::fuzz::{Random, run};
use super::host::parse_host;
use super::http1::chunked::{Chunked, Step};
use super::http1::encode::{write_request_head, write_response_head};
use super::http1::framing::{request_framing, response_framing};
use super::http1::head::{Method, Parsed, parse_request, parse_response};
use super::http1::limits::{HeadLimits, ResponseLimits};
use super::target::parse_target;

const SMALL: HeadLimits = HeadLimits {
    line: 64,
    field: 48,
    fields: 6,
};

fn request(random: &mut Random) -> Vec<u8> {
    let mut text = String::new();
    text.push_str(random.pick(&["GET", "POST", "HEAD", "OPTIONS", "CONNECT", "BREW"]));
    text.push_str(random.pick(&[" /a/b?c", " *", " http://h:80/x", " h:1", " /", "  /"]));
    text.push_str(random.pick(&[" HTTP/1.1", " HTTP/1.0", " HTTP/1.5", " HTTP/2.0", ""]));
    text.push_str("\r\n");
    for _ in 0..random.below(8) {
        text.push_str(random.pick(&[
            "Host: a.test\r\n",
            "Content-Length: 5\r\n",
            "Transfer-Encoding: chunked\r\n",
            "X: y z\t\r\n",
            "Empty:\r\n",
            "Long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n",
            "X: a\r\n b\r\n",
        ]));
    }
    text.push_str("\r\n");
    random.damage(text.as_bytes())
}

#[test]
fn request_heads() {
    let mut accepted = 0;
    run(20_000, |random| {
        let input = request(random);
        let shown = input.escape_ascii().to_string();
        let whole = parse_request(&input, &SMALL);
        // Nothing that is refused early may be accepted when whole, and the other way round.
        let cut = random.below(input.len() + 1);
        match (&whole, parse_request(&input[..cut], &SMALL)) {
            (_, Ok(Parsed::Incomplete)) => {}
            (Err(_), Err(_)) => {}
            (Ok(Parsed::Done { used: a, .. }), Ok(Parsed::Done { used: b, .. })) => {
                assert_eq!(*a, b, "{shown}");
            }
            (whole, part) => panic!("{shown} at {cut}: {whole:?} but {part:?}"),
        }
        let Ok(Parsed::Done { head, used }) = whole else {
            return;
        };
        accepted += 1;
        let text = &input[..used];
        for (i, b) in text.iter().enumerate() {
            if *b == b'\n' {
                assert_eq!(text[i - 1], b'\r', "{shown}");
            }
            if *b == b'\r' {
                assert_eq!(text[i + 1], b'\n', "{shown}");
            }
        }
        assert!(head.line.len() <= SMALL.line && head.fields.len() <= SMALL.fields);
        assert!(head.target.iter().all(u8::is_ascii_graphic), "{shown}");
        for (name, value) in head.fields.iter() {
            assert!(valid_name(name) && valid_value(value), "{shown}");
            assert_eq!(value.trim_ascii(), value, "{shown}");
        }
        let _ = request_framing(&head);
        if let Ok(target) = parse_target(&head.method, &head.target) {
            let _ = super::host::request_host(&head, &target);
        }
        // What is written anew means the same.
        let mut out = Vec::new();
        write_request_head(&mut out, &head.method, &head.target, &head.fields);
        let Ok(Parsed::Done { head: again, used }) = parse_request(&out, &HeadLimits::default())
        else {
            panic!("{shown}: written as {}", out.escape_ascii());
        };
        assert_eq!(used, out.len());
        assert_eq!(again.target, head.target);
        assert!(again.fields.iter().eq(head.fields.iter()));
    });
    assert!(accepted > 1500, "{accepted}");
}

#[test]
fn response_heads() {
    let limits = ResponseLimits {
        field: 48,
        fields: 6,
        ..ResponseLimits::default()
    };
    let mut accepted = 0;
    run(20_000, |random| {
        let mut text = String::new();
        text.push_str(random.pick(&["HTTP/1.1 ", "HTTP/1.0 ", "HTTP/1.9 ", "HTTP/2 "]));
        text.push_str(random.pick(&["200 OK", "204", "304 ", "103 x y", "99 z", "1000 a"]));
        text.push_str("\r\n");
        for _ in 0..random.below(7) {
            text.push_str(random.pick(&[
                "Content-Length: 5\r\n",
                "Transfer-Encoding: chunked\r\n",
                "X: y z\t\r\n",
                "Empty:\r\n",
                "X: a\r\n b\r\n",
                "Y:\r\n \r\n",
                "Y: a\r\n\t\r\n",
            ]));
        }
        text.push_str("\r\n");
        let input = random.damage(text.as_bytes());
        let shown = input.escape_ascii().to_string();
        let whole = parse_response(&input, &limits);
        let cut = random.below(input.len() + 1);
        match (&whole, parse_response(&input[..cut], &limits)) {
            (_, Ok(Parsed::Incomplete)) | (Err(_), Err(_)) => {}
            (Ok(Parsed::Done { used: a, .. }), Ok(Parsed::Done { used: b, .. })) => {
                assert_eq!(*a, b, "{shown}");
            }
            (whole, part) => panic!("{shown} at {cut}: {whole:?} but {part:?}"),
        }
        let Ok(Parsed::Done { head, used }) = whole else {
            return;
        };
        accepted += 1;
        assert!((100..=999).contains(&head.status) && valid_value(&head.reason));
        let text = &input[..used];
        assert!(
            text.iter()
                .enumerate()
                .all(|(i, &b)| b != b'\n' || text[i - 1] == b'\r')
        );
        for (name, value) in head.fields.iter() {
            assert!(valid_name(name) && valid_value(value), "{shown}");
            assert_eq!(value.trim_ascii(), value, "{shown}");
        }
        let _ = response_framing(&head, &Method::Get);
        let mut out = Vec::new();
        write_response_head(
            &mut out,
            head.version,
            head.status,
            &head.reason,
            &head.fields,
        );
        let Ok(Parsed::Done { head: again, .. }) = parse_response(&out, &ResponseLimits::default())
        else {
            panic!("{shown}: written as {}", out.escape_ascii());
        };
        assert!(again.fields.iter().eq(head.fields.iter()), "{shown}");
    });
    assert!(accepted > 1500, "{accepted}");
}

#[test]
fn chunked_bodies() {
    let decode = |input: &[u8], piece: usize| {
        let mut decoder = Chunked::new();
        let mut body = Vec::new();
        let (mut at, mut seen) = (0, 0);
        while seen < input.len() {
            seen = (seen + piece).min(input.len());
            loop {
                match decoder.step(&input[at..seen]) {
                    Err(_) => return None,
                    Ok(Step::End { used }) => return Some((body, Some(at + used))),
                    Ok(Step::More { used }) => {
                        at += used;
                        break;
                    }
                    Ok(Step::Data { skip, len }) => {
                        body.extend_from_slice(&input[at + skip..at + skip + len]);
                        decoder.took(len);
                        at += skip + len;
                    }
                }
            }
        }
        Some((body, None))
    };
    let mut ended = 0;
    run(20_000, |random| {
        let mut text = String::new();
        for _ in 0..random.below(5) {
            text.push_str(random.pick(&[
                "5\r\nhello\r\n",
                "A;x=y\r\n0123456789\r\n",
                "1 \r\n\n\r\n",
                "00f\r\nabcdefghijklmno\r\n",
            ]));
        }
        text.push_str(random.pick(&[
            "0\r\n\r\n",
            "0;z\r\nX: y\r\n\r\n",
            "0\r\nX:\r\nY: z\r\n\r\n",
        ]));
        let input = random.damage(text.as_bytes());
        let whole = decode(&input, input.len().max(1));
        let piece = 1 + random.below(4);
        assert_eq!(whole, decode(&input, piece), "{}", input.escape_ascii());
        ended += usize::from(matches!(whole, Some((_, Some(_)))));
    });
    assert!(ended > 1500, "{ended}");
}

#[test]
fn hosts_and_targets() {
    let mut accepted = 0;
    run(20_000, |random| {
        let text = random.pick(&[
            "a.test",
            "a.test:80",
            "[::1]:8080",
            "A.b.",
            "127.0.0.1:1",
            "[::ffff:1.2.3.4]",
        ]);
        let input = random.damage(text.as_bytes());
        if let Ok(host) = parse_host(&input) {
            accepted += 1;
            let port = host.port.map_or(String::new(), |p| format!(":{p}"));
            let again = parse_host(format!("{}{port}", host.host).as_bytes());
            assert_eq!(again, Ok(host), "{}", input.escape_ascii());
        }
        let text = random.pick(&[
            "/a?b",
            "http://a.test/x?y",
            "*",
            "a.test:80",
            "ftp://h",
            "//x/y",
            "http://h?q",
        ]);
        let input = random.damage(text.as_bytes());
        for method in [Method::Get, Method::Options, Method::Connect] {
            if let Ok(target) = parse_target(&method, &input) {
                assert!(!target.raw_path.contains(&b'?') && !target.raw_path.contains(&b'#'));
                assert!(matches!(target.raw_path.first(), Some(b'/' | b'*') | None));
            }
        }
    });
    assert!(accepted > 1500, "{accepted}");
}
