//! Every directive of LogFormat on a made-up exchange.

use std::borrow::Cow;
use std::net::SocketAddr;

use super::*;
use crate::clock::Wall;

/// An exchange with something for each directive.
#[derive(Default)]
struct Sample {
    line: &'static [u8],
    user: Option<&'static [u8]>,
    status: u16,
    bytes: u64,
    aborted: bool,
    kept: bool,
}

impl Record for Sample {
    fn client(&self) -> SocketAddr {
        "[::ffff:192.0.2.7]:4711".parse().unwrap()
    }
    fn peer(&self) -> SocketAddr {
        "[2001:db8::1]:99".parse().unwrap()
    }
    fn local(&self) -> SocketAddr {
        "127.0.0.1:8081".parse().unwrap()
    }
    fn user(&self) -> Option<&[u8]> {
        self.user
    }
    fn received(&self) -> Wall {
        Wall(1_796_056_392_651_795)
    }
    fn duration(&self) -> Duration {
        Duration::from_micros(2_500_123)
    }
    fn line(&self, _: Side) -> &[u8] {
        self.line
    }
    fn status(&self, side: Side) -> u16 {
        match side {
            Side::Original => 500,
            Side::Final => self.status,
        }
    }
    fn body_bytes(&self) -> u64 {
        self.bytes
    }
    fn filename(&self, _: Side) -> Option<Cow<'_, [u8]>> {
        Some(Cow::Borrowed(b"proxy:http://127.0.0.1:9001/x"))
    }
    fn path(&self, side: Side) -> Option<Cow<'_, [u8]>> {
        match side {
            Side::Original => Some(Cow::Borrowed(b"/a\nb")),
            Side::Final => Some(Cow::Borrowed(b"/error.html")),
        }
    }
    fn query(&self, _: Side) -> Option<&[u8]> {
        Some(b"z=1")
    }
    fn method(&self, _: Side) -> &str {
        "GET"
    }
    fn protocol(&self) -> &str {
        "HTTP/1.1"
    }
    fn server_name(&self) -> &str {
        "front.test"
    }
    fn canonical_name(&self) -> Cow<'_, str> {
        Cow::Borrowed("a.test")
    }
    fn canonical_port(&self) -> u16 {
        80
    }
    fn aborted(&self) -> bool {
        self.aborted
    }
    fn kept(&self) -> bool {
        self.kept
    }
    fn served(&self) -> u32 {
        3
    }
    fn handler(&self, _: Side) -> Option<&str> {
        Some("proxy-server")
    }
    fn request_field(&self, _: Side, name: &str) -> Option<Cow<'_, [u8]>> {
        match name {
            "User-Agent" => Some(Cow::Borrowed(b"x\"\\\x1b[0m\r\n\xe9")),
            "Cookie" => Some(Cow::Borrowed(b"a=1; Sess = q=2 ;b=3")),
            "Empty" => Some(Cow::Borrowed(b"")),
            _ => None,
        }
    }
    fn response_field(&self, _: Side, name: &str) -> Option<Cow<'_, [u8]>> {
        match name {
            "Content-Type" => Some(Cow::Borrowed(b"text/html; charset=x")),
            "Set-Cookie" => Some(Cow::Borrowed(b"a=1, b=2")),
            _ => None,
        }
    }
    fn env(&self, _: Side, name: &str) -> Option<Cow<'_, [u8]>> {
        (name == "BALANCER_NAME").then_some(Cow::Borrowed(b"balancer://c"))
    }
    fn note(&self, _: Side, name: &str) -> Option<Cow<'_, [u8]>> {
        (name == "proxy-status").then_some(Cow::Borrowed(b"200"))
    }
    fn bytes_in(&self) -> u64 {
        100
    }
    fn bytes_out(&self) -> u64 {
        843
    }
}

fn sample() -> Sample {
    Sample {
        line: b"GET /x HTTP/1.1",
        status: 200,
        bytes: 12,
        kept: true,
        ..Sample::default()
    }
}

fn written(format: &str, record: &Sample) -> String {
    let mut out = Vec::new();
    Format::compile(format).unwrap().write(&mut out, record);
    let mut text = String::from_utf8(out).unwrap();
    assert_eq!(text.pop(), Some('\n'));
    text
}

#[test]
fn directives() {
    for (format, expected) in [
        (
            "%h %a %{c}a %A %l %u",
            "192.0.2.7 192.0.2.7 2001:db8::1 127.0.0.1 - -",
        ),
        ("%r|%s|%>s|%<s|%b|%B", "GET /x HTTP/1.1|500|200|500|12|12"),
        (
            "%f %U %>U %q %m %H",
            "proxy:http://127.0.0.1:9001/x /a\\nb /error.html ?z=1 GET HTTP/1.1",
        ),
        (
            "%v %V %p %{local}p %{remote}p %{canonical}p",
            "front.test a.test 80 8081 99 80",
        ),
        ("%D %T %{ms}T %{us}T %{s}T", "2500123 2 2500 2500123 2"),
        ("%X %k %R %L %{c}L", "+ 3 proxy-server - -"),
        ("%{User-Agent}i", "x\\\"\\\\\\x1b[0m\\r\\n\\xe9"),
        ("%{Empty}i|%{None}i|%{None}o", "|-|-"),
        ("%{content-type}o %{Set-Cookie}o", "text/html a=1, b=2"),
        (
            "%{BALANCER_NAME}e %{X}e %{proxy-status}n",
            "balancer://c - 200",
        ),
        ("%{sess}C %{none}C", "q=2 -"),
        ("%I %O %S %^FB %{X}^ti %{X}^to", "100 843 943 - - -"),
        (
            "%{sec}t %{msec}t %{usec}t",
            "1796056392 1796056392651 1796056392651795",
        ),
        ("%{msec_frac}t %{usec_frac}t", "651 651795"),
        (
            "%{end:sec}t %{end:msec_frac}t %{begin:sec}t",
            "1796056395 151 1796056392",
        ),
        ("a\\tb\\n\\\\ \\x %% é", "a\tb\n\\ \\x % é"),
        ("%200,304U %!200,304U %500>s", "/a\\nb - -"),
        ("%!404>s %404!r", "200 GET /x HTTP/1.1"),
        ("", ""),
    ] {
        assert_eq!(written(format, &sample()), expected, "{format}");
    }
    assert_eq!(
        written("%P %{tid}P", &sample()),
        format!("{0} {0}", std::process::id())
    );
    assert_eq!(
        written("%{hextid}P", &sample()),
        format!("{:x}", std::process::id())
    );
    assert_eq!(written("%t", &sample()).len(), 28);
    assert_eq!(written("%{end}t", &sample()).len(), 28);
    assert_eq!(written("%{%Y}t", &sample()), "2026");
    assert_eq!(written("%{a%nb}t", &sample()), "a\\nb");
}

#[test]
fn nothing_to_say() {
    let record = Sample {
        status: 408,
        user: Some(b""),
        aborted: true,
        ..Sample::default()
    };
    assert_eq!(
        written("%u \"%r\" %>s %b %B %X", &record),
        "\"\" \"-\" 408 - 0 X"
    );
    let closed = Sample::default();
    assert_eq!(written("%X", &closed), "-");
}

#[test]
fn passwords_are_masked() {
    let of = |line| written("%r", &Sample { line, ..sample() });
    assert_eq!(
        of(b"GET http://u:p@w@h:1/?a@b:c HTTP/1.1"),
        "GET http://u:XXXXXXXX@h:1/?a@b:c HTTP/1.1"
    );
    for line in [
        "GET http://u@h:1/ HTTP/1.1",
        "GET http://h:1/a@b HTTP/1.1",
        "BAD://",
    ] {
        assert_eq!(of(line.as_bytes()), line);
    }
}

#[test]
fn formats_that_are_refused() {
    let error = |text| Format::compile(text).unwrap_err();
    assert_eq!(error("%h %Q"), "Unrecognized LogFormat directive %Q");
    assert_eq!(error("%{x}é"), "Unrecognized LogFormat directive %é");
    assert_eq!(error("%^xy"), "Unrecognized LogFormat directive %^xy");
    for cut in ["%", "%>", "%{User-Agent", "%200", "%{x}"] {
        assert!(error(cut).starts_with("Ran off end"), "{cut}");
    }
    assert!(Format::compile("%99999s").is_err());
    assert!(Format::compile("%^é").is_err());
}

#[test]
fn a_huge_line_is_cut() {
    let line: &'static [u8] = Box::leak(vec![b'a'; 100_000].into_boxed_slice());
    let mut out = b"before\n".to_vec();
    let format = Format::compile("%r tail").unwrap();
    format.write(&mut out, &Sample { line, ..sample() });
    assert_eq!(out.len(), 7 + MOST_LINE);
    assert_eq!(out.last(), Some(&b'\n'));
}

#[test]
fn no_format_and_no_pattern_panics() {
    let mut good = 0;
    crate::codec::fuzz::run(5000, |random| {
        let text = random.text(b"%%%{}<>!^,0123456789abitsnoeC:EOQ\\ \"", 12);
        let text = String::from_utf8(text).unwrap();
        if let Ok(format) = Format::compile(&text) {
            good += 1;
            let mut out = Vec::new();
            format.write(&mut out, &sample());
            assert_eq!(out.last(), Some(&b'\n'), "{text}");
        }
    });
    assert!(good > 200, "{good}");
}
