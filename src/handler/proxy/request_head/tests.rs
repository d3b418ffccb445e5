//! The head that goes to a backend.

use super::*;

fn fields(list: &[(&str, &str)]) -> Fields {
    let mut fields = Fields::default();
    for (name, value) in list {
        fields.push(name.as_bytes(), value.as_bytes());
    }
    fields
}

fn input(fields: &Fields) -> HeadInput<'_> {
    HeadInput {
        fields,
        version: Version::Http11,
        host: b"backend:81",
        add: Some(Added {
            client: IpAddr::from([192, 0, 2, 7]),
            host: fields.get("Host"),
            server: "front.test",
        }),
        via: Via::Off,
        via_name: "front.test",
        max_forwards: None,
        expect: Expect::Drop,
        framing: BodyFraming::None,
        keep_alive: true,
        old: false,
    }
}

fn written(input: &HeadInput<'_>) -> String {
    let mut out = Vec::new();
    write_fields(&mut out, input);
    String::from_utf8(out).unwrap()
}

#[test]
fn the_usual_head() {
    let f = fields(&[("Host", "a.test"), ("User-Agent", "t"), ("Accept", "*/*")]);
    assert_eq!(
        written(&input(&f)),
        "Host: backend:81\r\nUser-Agent: t\r\nAccept: */*\r\n\
         X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Host: a.test\r\n\
         X-Forwarded-Server: front.test\r\nConnection: Keep-Alive\r\n\r\n"
    );
}

#[test]
fn forwarded_fields_are_extended_in_place() {
    let f = fields(&[
        ("x-forwarded-for", "6.6.6.6"),
        ("X-A", "1"),
        ("X-Forwarded-For", "7.7.7.7"),
    ]);
    let text = written(&input(&f));
    assert!(text.contains("\r\nx-forwarded-for: 6.6.6.6, 7.7.7.7, 192.0.2.7\r\nX-A: 1\r\n"));
    assert_eq!(text.matches("orwarded-").count(), 1 + 1);
    assert!(!text.contains("X-Forwarded-Host"));
}

#[test]
fn hop_by_hop_and_nominated_fields_end_here() {
    let f = fields(&[
        ("Connection", "close, X-Drop"),
        ("X-Drop", "1"),
        ("X-Stay", "2"),
        ("TE", "trailers"),
        ("Keep-Alive", "5"),
        ("Proxy-Connection", "keep-alive"),
        ("Upgrade", "h2c"),
        ("HTTP2-Settings", "AA"),
        ("Trailer", "X"),
    ]);
    let text = written(&input(&f));
    assert!(text.contains("X-Stay: 2"));
    for gone in [
        "X-Drop",
        "TE:",
        "Keep-Alive: 5",
        "Proxy",
        "Upgrade",
        "HTTP2",
        "Trailer",
    ] {
        assert!(!text.contains(gone), "{gone} in {text}");
    }
}

#[test]
fn what_matters_cannot_be_nominated_away() {
    let f = fields(&[
        (
            "Connection",
            "Cookie, Authorization, X-Forwarded-For, Forwarded, Host",
        ),
        ("Cookie", "a=1"),
        ("Authorization", "x"),
        ("X-Forwarded-For", "6.6.6.6"),
        ("Forwarded", "for=x"),
    ]);
    let text = written(&input(&f));
    for kept in [
        "Host: backend:81",
        "Cookie: a=1",
        "Authorization: x",
        "X-Forwarded-For: 6.6.6.6, 192.0.2.7",
        "Forwarded: for=x",
    ] {
        assert!(text.contains(kept), "{kept} not in {text}");
    }
}

#[test]
fn disguised_names_are_dropped() {
    let f = fields(&[
        ("X_Forwarded_For", "1"),
        ("Content_Length", "2"),
        ("X-Forwarded_Host", "3"),
        ("My_Own", "4"),
    ]);
    let text = written(&input(&f));
    assert!(text.contains("My_Own: 4"));
    assert!(!text.contains("_Forwarded") && !text.contains("Content_"));
    assert!(!text.contains("Forwarded_"));
}

#[test]
fn repeated_fields_are_joined_in_order() {
    let f = fields(&[
        ("X-R", "1"),
        ("X-S", "a"),
        ("x-r", "2"),
        ("Cookie", "a=1"),
        ("Cookie", "b=2"),
    ]);
    let text = written(&input(&f));
    assert!(text.contains("X-R: 1, 2\r\nX-S: a\r\nCookie: a=1, b=2\r\n"));
}

#[test]
fn via_and_max_forwards() {
    let f = fields(&[("Via", "1.0 x"), ("Max-Forwards", "5")]);
    let mut i = input(&f);
    i.via = Via::On;
    i.max_forwards = Some(4);
    let text = written(&i);
    assert!(text.contains("Via: 1.0 x, 1.1 front.test\r\nMax-Forwards: 4\r\n"));
    i.via = Via::Block;
    assert!(!written(&i).contains("Via"));
    let none = fields(&[]);
    let mut i = input(&none);
    i.via = Via::On;
    assert!(written(&i).contains("Via: 1.1 front.test\r\nX-Forwarded-For"));
}

#[test]
fn framing_and_expectation() {
    let f = fields(&[("Content-Length", "9"), ("Expect", "100-continue")]);
    let mut i = input(&f);
    i.framing = BodyFraming::Length(9);
    let text = written(&i);
    assert!(text.ends_with("Content-Length: 9\r\nConnection: Keep-Alive\r\n\r\n"));
    assert!(!text.contains("Expect"));
    i.expect = Expect::Relay;
    i.framing = BodyFraming::Chunked;
    i.keep_alive = false;
    let text = written(&i);
    assert!(text.contains("Expect: 100-continue\r\n"));
    assert!(text.ends_with("Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"));
    let none = fields(&[]);
    let mut i = input(&none);
    i.expect = Expect::Ping;
    assert!(written(&i).contains("Expect: 100-Continue\r\nX-Forwarded-For"));
}
