//! Requests for files on a site made for the test, through all phases.

use std::fs;
use std::future::Future;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::*;
use crate::body::Length;
use crate::clock;
use crate::codec::http1::head::{Parsed, parse_request};
use crate::codec::http1::limits::HeadLimits;
use crate::config::bare::bare;
use crate::config::layer::{Alias, ErrorDocument, Layer, RedirectFrom};
use crate::config::settings::Settings;
use crate::ids::{Generation, SlotNo};
use crate::log::Logs;
use crate::request::answer::AnswerBody;
use crate::request::{ConnInfo, NoLink, phases};
use crate::shm::Scoreboard;

/// A server with a root of files; removed when dropped.
struct Site {
    top: PathBuf,
    room: Room,
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.top);
    }
}

/// 2020-01-01 00:00:00.5 UTC
const MODIFIED: u64 = 1_577_836_800_500;

fn put(path: PathBuf, bytes: &[u8]) {
    fs::write(&path, bytes).unwrap();
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_millis(MODIFIED);
    let file = fs::File::options().append(true).open(path).unwrap();
    file.set_modified(time).unwrap();
}

fn site(name: &str, change: impl FnOnce(&mut Settings, &mut Layer)) -> Site {
    let top = std::env::temp_dir().join(format!("muster-site-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&top);
    let root = top.join("htdocs");
    fs::create_dir_all(root.join("d")).unwrap();
    fs::create_dir_all(root.join("e")).unwrap();
    fs::create_dir_all(root.join("o d")).unwrap();
    put(root.join("f.txt"), "0123456789".repeat(10).as_bytes());
    put(root.join("big"), &vec![b'x'; 100_000]);
    put(root.join("d/index.html"), b"index");
    put(root.join("o d/start?.html"), b"odd");
    put(root.join("gone.html"), b"gone page");
    symlink("/etc/passwd", root.join("passwd")).unwrap();

    let mut settings = bare(&top);
    settings.mime_types = vec![
        ("html".into(), "text/html".into()),
        ("txt".into(), "text/plain".into()),
    ];
    settings.servers[0].name = "a.test".into();
    let mut layer = Layer::default();
    change(&mut settings, &mut layer);
    settings.servers[0].base = layer;
    let settings = Rc::new(settings);
    let board = Scoreboard::create(&top.join("board"), &settings, 1, Generation(0)).unwrap();
    let room = Room::new(settings, board, SlotNo(0), Rc::new(Logs::stderr()));
    room.register(vec![("default-handler", Box::new(StaticFiles))]);
    Site { top, room }
}

fn plain(name: &str) -> Site {
    site(name, |_, _| {})
}

struct Got {
    status: u16,
    fields: Vec<(String, String)>,
    body: Vec<u8>,
    length: Length,
}

impl Got {
    fn field(&self, name: &str) -> Option<&str> {
        let field = self.fields.iter().find(|(n, _)| n == name)?;
        Some(&field.1)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

fn now<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    match future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a file never makes anyone wait"),
    }
}

fn ask(site: &Site, line: &str, fields: &str) -> Got {
    clock::tick();
    let text = format!("{line} HTTP/1.1\r\nHost: a.test\r\n{fields}\r\n");
    let Ok(Parsed::Done { head, .. }) = parse_request(text.as_bytes(), &HeadLimits::default())
    else {
        panic!("{text}");
    };
    let info = ConnInfo {
        client: "192.0.2.1:5".parse().unwrap(),
        local: "127.0.0.1:80".parse().unwrap(),
        served: 0,
        received: (clock::now(), clock::wall()),
        body_length: Length::None,
        link: Rc::new(NoLink),
    };
    let mut req = phases::begin(&site.room, head, info);
    let answer = now(phases::run(&site.room, &mut req, &mut RequestBody::none()));
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    let fields = answer.head.fields.iter().map(|(n, v)| (text(n), text(v)));
    let fields = fields.collect();
    let length = answer.body.length();
    let mut body = Vec::new();
    match answer.body {
        AnswerBody::None => {}
        AnswerBody::Bytes(bytes) => body = bytes,
        AnswerBody::Source(mut source) => {
            while now(std::future::poll_fn(|cx| source.poll_fill(cx))).unwrap() {
                let n = source.data().len();
                body.extend_from_slice(source.data());
                source.consume(n);
            }
        }
    }
    Got {
        status: answer.head.status,
        fields,
        body,
        length,
    }
}

fn get(site: &Site, path: &str) -> Got {
    ask(site, &format!("GET {path}"), "")
}

#[test]
fn a_file_with_its_fields_in_order() {
    let site = plain("file");
    let got = get(&site, "/f.txt");
    assert_eq!(got.status, 200);
    let names: Vec<_> = got.fields.iter().map(|(n, _)| n.as_str()).collect();
    assert_eq!(
        names,
        [
            "Date",
            "Server",
            "Last-Modified",
            "ETag",
            "Accept-Ranges",
            "Content-Length",
            "Content-Type"
        ]
    );
    assert_eq!(
        got.field("Last-Modified"),
        Some("Wed, 01 Jan 2020 00:00:00 GMT")
    );
    assert_eq!(got.field("ETag"), Some("\"64-59b08c201e120\""));
    assert_eq!(got.field("Content-Type"), Some("text/plain"));
    assert_eq!(got.body.len(), 100);

    let head = ask(&site, "HEAD /f.txt", "");
    assert_eq!(
        (head.length, head.field("Content-Length")),
        (Length::None, Some("100"))
    );
    assert_eq!(
        ask(&site, "POST /f.txt", "Content-Length: 0\r\n")
            .body
            .len(),
        100
    );
    let big = get(&site, "/big");
    assert_eq!(
        (big.body.len(), big.length),
        (100_000, Length::Exact(100_000))
    );
    assert_eq!(big.field("Content-Type"), None);
    for method in ["PUT", "DELETE", "PATCH"] {
        assert_eq!(ask(&site, &format!("{method} /f.txt"), "").status, 405);
    }
}

#[test]
fn what_is_not_served() {
    let site = plain("none");
    for path in [
        "/none",
        "/f.txt/",
        "/f.txt/x",
        "/e/",
        "/d/none/x",
        "/f.txt%00",
    ] {
        assert_eq!(get(&site, path).status, 404, "{path}");
    }
    let long = format!("/{}", "a".repeat(300));
    for path in ["/passwd", &long] {
        assert_eq!(get(&site, path).status, 403, "{path}");
    }
    assert_eq!(get(&site, "/../board").status, 400);
    assert_eq!(get(&site, "/%2e%2e/board").status, 400);
    let follow = site_with_options(Options::FOLLOW);
    assert!(get(&follow, "/passwd").text().contains("root:"));
    let none = site_with_options(0);
    symlink("f.txt", none.top.join("htdocs/near")).unwrap();
    assert_eq!(get(&none, "/near").status, 403);
    symlink("f.txt", site.top.join("htdocs/near")).unwrap();
    assert_eq!(get(&site, "/near").status, 200);
}

fn site_with_options(on: u8) -> Site {
    site(&format!("options{on}"), |_, layer| {
        layer.options = Some(Options {
            on,
            off: 0,
            relative: false,
        });
    })
}

#[test]
fn options_words() {
    let of = |on, off, relative| allowed(Some(Options { on, off, relative }));
    assert_eq!(allowed(None), Links::Inside);
    assert_eq!(
        of(Options::FOLLOW | Options::OWNER, 0, false),
        Links::Always
    );
    assert_eq!(of(Options::OWNER, 0, false), Links::SameOwner);
    assert_eq!(of(Options::INDEXES, 0, false), Links::Never);
    assert_eq!(of(Options::INDEXES, 0, true), Links::Inside);
    assert_eq!(of(0, Options::FOLLOW, true), Links::Never);
}

#[test]
fn directories() {
    let site = plain("dir");
    let got = get(&site, "/d?x=1");
    assert_eq!(
        (got.status, got.field("Location")),
        (301, Some("http://a.test/d/?x=1"))
    );
    assert_eq!(
        get(&site, "/o%20d").field("Location"),
        Some("http://a.test/o%20d/")
    );
    let got = get(&site, "/d/");
    assert_eq!((got.status, &got.text()[..]), (200, "index"));
    assert_eq!(got.field("Content-Type"), Some("text/html"));
    assert_eq!(
        ask(&site, "HEAD /d/", "").field("Content-Length"),
        Some("5")
    );

    let own = self::site("index", |settings, layer| {
        layer.directory_index = Some(vec!["none".into(), "start?.html".into(), "/f.txt".into()]);
        layer.directory_slash = Some(false);
        settings.modules.push(("autoindex".into(), false));
    });
    assert_eq!(get(&own, "/o%20d/").text(), "odd");
    assert_eq!(get(&own, "/e/").body.len(), 100);
    assert_eq!(get(&own, "/e").status, 404);
    let listing = self::site("listing", |settings, layer| {
        layer.directory_index = Some(Vec::new());
        settings.modules.push(("autoindex".into(), false));
    });
    assert_eq!(get(&listing, "/d/").status, 403);
}

#[test]
fn conditions_and_ranges() {
    let site = plain("cond");
    let with = |fields: &str| ask(&site, "GET /f.txt", fields);
    let got = with("If-None-Match: \"64-59b08c201e120\"\r\n");
    assert_eq!((got.status, got.length), (304, Length::None));
    assert!(got.field("ETag").is_some() && got.field("Content-Type").is_none());
    let got = with("If-Match: \"x\"\r\n");
    assert_eq!(
        (got.status, got.field("Content-Length"), got.body.len()),
        (412, Some("0"), 0)
    );
    let got = with("Range: bytes=0-4\r\n");
    assert_eq!((got.status, &got.text()[..]), (206, "01234"));
    assert_eq!(got.field("Content-Range"), Some("bytes 0-4/100"));
    assert_eq!(got.field("Content-Length"), Some("5"));
    assert_eq!(with("Range: bytes=200-\r\n").status, 416);
    assert_eq!(with("Range: bytes=0-1\r\nIf-Range: \"x\"\r\n").status, 200);
    let head = ask(&site, "HEAD /f.txt", "Range: bytes=0-1\r\n");
    assert_eq!(
        (head.status, head.field("Content-Length")),
        (206, Some("2"))
    );

    let got = with("Range: bytes=0-4,10-14\r\n");
    let kind = got.field("Content-Type").unwrap();
    let boundary = kind
        .strip_prefix("multipart/byteranges; boundary=")
        .unwrap();
    assert_eq!(boundary.len(), 16);
    let part = |range: &str| {
        format!(
            "\r\n--{boundary}\r\nContent-type: text/plain\r\nContent-range: bytes {range}/100\r\n\r\n01234"
        )
    };
    assert_eq!(
        got.text(),
        format!("{}{}\r\n--{boundary}--\r\n", part("0-4"), part("10-14"))
    );
    assert_eq!(got.field("Content-Length"), Some("196"));

    let no_ranges = self::site("noranges", |_, layer| layer.max_ranges = Some(Some(0)));
    let got = ask(&no_ranges, "GET /f.txt", "Range: bytes=0-4\r\n");
    assert_eq!(
        (got.status, got.field("Accept-Ranges")),
        (200, Some("none"))
    );
}

#[test]
fn error_pages_are_sent_whole() {
    let site = site("errors", |_, layer| {
        layer
            .error_documents
            .push((404, ErrorDocument::Path("/gone.html".into())));
    });
    let got = ask(
        &site,
        "GET /none",
        "Range: bytes=0-1\r\nIf-None-Match: *\r\n",
    );
    assert_eq!((got.status, &got.text()[..]), (404, "gone page"));
}

#[test]
fn a_fallback_takes_what_is_missing() {
    let site = site("fallback", |_, layer| {
        layer.fallback_resource = Some("/f.txt".into())
    });
    assert_eq!(get(&site, "/none?x").body.len(), 100);
    assert_eq!(get(&site, "/e/").body.len(), 100);
    assert_eq!(get(&site, "/d/").text(), "index");
    fs::remove_file(site.top.join("htdocs/f.txt")).unwrap();
    assert_eq!(get(&site, "/none").status, 404);
}

#[test]
fn aliases_and_tags() {
    let top = std::env::temp_dir().join(format!("muster-site-alias-{}", std::process::id()));
    let site = site("alias", |_, layer| {
        layer.file_etag = Some((false, false, false));
        layer.accept_path_info = Some(true);
        let alias = |from: &str, to: PathBuf| Alias {
            from: RedirectFrom::Prefix(from.into()),
            to,
            span: Default::default(),
        };
        layer.aliases.push(alias("/one", top.join("htdocs/f.txt")));
        layer.aliases.push(alias("/many/", top.join("htdocs/d/")));
    });
    let got = get(&site, "/one");
    assert_eq!(
        (got.status, got.field("ETag"), got.body.len()),
        (200, None, 100)
    );
    assert_eq!(get(&site, "/many/index.html").text(), "index");
    assert_eq!(get(&site, "/many/").text(), "index");
    assert_eq!(get(&site, "/f.txt/info").status, 200);
}

#[test]
fn a_fresh_file_has_a_weak_tag() {
    let site = plain("fresh");
    fs::write(site.top.join("htdocs/new"), "x").unwrap();
    let got = get(&site, "/new");
    assert!(got.field("ETag").unwrap().starts_with("W/\""));
}
