//! Lines of the error log.

use super::*;

fn with<'a>(subject: &'a Subject<'a>, text: &'a str) -> Message<'a> {
    Message {
        level: level::ERROR,
        module: "proxy",
        subject,
        server: "front.test",
        text,
        with_time: true,
    }
}

fn default_line(m: &Message<'_>) -> String {
    let mut out = Vec::new();
    write_default(&mut out, m);
    String::from_utf8(out).unwrap()
}

/// The line behind its stamp, with the process's numbers taken out.
fn tail(line: &str) -> String {
    let at = line.find("] ").unwrap() + 2;
    let pid = std::process::id();
    let tid = nix::unistd::gettid();
    line[at..].replace(&format!("pid {pid}:tid {tid}"), "pid P:tid T")
}

#[test]
fn the_default_layout() {
    let nothing = Subject::default();
    let line = default_line(&with(&nothing, "plain"));
    assert_eq!(line.find(']'), Some(32), "{line}");
    assert_eq!(tail(&line), "[proxy:error] [pid P:tid T] plain\n");

    let refused = Subject {
        os_error: Some(111),
        source: Some(("src/a/b.rs", 7)),
        ..Subject::default()
    };
    assert_eq!(
        tail(&default_line(&with(
            &refused,
            "AH00957: attempt to connect failed"
        ))),
        "[proxy:error] [pid P:tid T] (111)Connection refused: AH00957: attempt to connect failed\n"
    );
    let full = Subject {
        client: Some("[::ffff:127.0.0.1]:59570".parse().unwrap()),
        referer: Some(b"http://r/\"x\n"),
        ..refused
    };
    let debug = Message {
        level: level::DEBUG,
        ..with(&full, "a\\b\nc")
    };
    assert_eq!(
        tail(&default_line(&debug)),
        "[proxy:debug] [pid P:tid T] b.rs(7): (111)Connection refused: [client 127.0.0.1:59570] \
         a\\\\b\\nc, referer: http://r/\"x\\n\n"
    );
    let remote = Subject {
        remote: Some("[::1]:80".parse().unwrap()),
        ..Subject::default()
    };
    assert_eq!(
        tail(&default_line(&with(&remote, "x"))),
        "[proxy:error] [pid P:tid T] [remote ::1:80] x\n"
    );
    let syslog = Message {
        with_time: false,
        ..with(&nothing, "x")
    };
    assert!(default_line(&syslog).starts_with("[proxy:error] [pid "));
}

#[test]
fn a_long_message_is_cut() {
    let text = "a".repeat(20_000);
    let line = default_line(&with(&Subject::default(), &text));
    assert_eq!(line.len(), MOST_LINE);
    assert!(line.ends_with("a\n"));
}

fn by(format: &str, m: &Message<'_>) -> String {
    let mut out = Vec::new();
    ErrorFormat::compile(format).unwrap().write(&mut out, m);
    String::from_utf8(out).unwrap()
}

#[test]
fn own_formats() {
    let client = Subject {
        client: Some("127.0.0.1:5".parse().unwrap()),
        served: Some(2),
        ..Subject::default()
    };
    let m = with(&client, "msg");
    for (format, expected) in [
        (
            "[%l] %7F: %E: [client\\ %a] %M% ,\\ referer\\ %{Referer}i",
            "[error] [client 127.0.0.1:5] msg\n",
        ),
        ("%m %-E %k %v %%%M", "proxy - 2 front.test %msg\n"),
        ("%E %M", "msg\n"),
        ("x%Ey z %M", "z msg\n"),
        ("%+E %M", ""),
        ("%M %L", "msg\n"),
        ("%3l %4m %M", "error msg\n"),
    ] {
        assert_eq!(by(format, &m), expected, "{format}");
    }
    let referer = Subject {
        referer: Some(b"http://r/"),
        os_error: Some(104),
        ..Subject::default()
    };
    assert_eq!(
        by("%M% ,\\ referer\\ %{Referer}i %E", &with(&referer, "msg")),
        "msg, referer http://r/ (104)Connection reset by peer\n"
    );
    assert_eq!(by("%{cu}t %M", &m).len(), 26 + 5);
    assert_eq!(by("%t|%P|%T %M", &m).matches('|').count(), 2);
}

#[test]
fn formats_that_are_refused() {
    for format in ["%l", "%M %M", "%M %", "%M %{x", "%M %Q", ""] {
        assert!(ErrorFormat::compile(format).is_err(), "{format}");
    }
}

#[test]
fn no_format_panics_and_each_line_is_one() {
    let subject = Subject {
        client: Some("127.0.0.1:5".parse().unwrap()),
        ..Subject::default()
    };
    let m = with(&subject, "a\nb");
    let mut good = 0;
    crate::codec::fuzz::run(5000, |random| {
        let mut text = random.text(b"%%%{}-+ \\0123456789aAeEFiklLmnPtTvVxQ", 12);
        let at = random.below(text.len() + 1);
        text.splice(at..at, *b"%M");
        let text = String::from_utf8(text).unwrap();
        if let Ok(format) = ErrorFormat::compile(&text) {
            good += 1;
            let mut out = Vec::new();
            format.write(&mut out, &m);
            assert!(out.len() <= MOST_LINE);
            let feeds = out.iter().filter(|b| **b == b'\n').count();
            assert_eq!(feeds, usize::from(!out.is_empty()), "{text}");
        }
    });
    assert!(good > 200, "{good}");
}
