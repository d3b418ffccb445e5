//! Whole requests with handlers made for the test: error pages, internal redirects, methods.

use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::answer::{self, AnswerBody};
use super::phases;
use super::request::Request;
use super::room::{Handler, Handling, Room};
use super::tests::{head, info, location, pass, server, settings};
use super::{Answer, NoLink, RequestBody};
use crate::body::Bytes;
use crate::codec::http1::head::HeadError;
use crate::config::layer::{ErrorDocument, ErrorOverride, Layer, Require, Signature};
use crate::config::settings::{EncodedSlashes, Server, TraceEnable};
use crate::fault::{Fault, Kind, Origin, Phase};
use crate::ids::{Generation, SlotNo};
use crate::log::Logs;
use crate::shm::Scoreboard;

/// Answers with the file's name; `/none` is not there.
struct Files;

impl Handler for Files {
    fn handle<'a>(
        &'a self,
        _: &'a Room,
        req: &'a mut Request,
        _: &'a mut RequestBody,
    ) -> Handling<'a> {
        Box::pin(async move {
            if req.path.decoded.ends_with(b"/") {
                let index = [&req.path.decoded, &b"index.html?i=1"[..]].concat();
                return Err(answer::elsewhere(req, index));
            }
            if req.path.decoded.starts_with(b"/none") {
                return Err(Fault::status(404, "AH00128: File does not exist"));
            }
            Ok(answer::own(answer::head(200), req.filename.clone()))
        })
    }
}

/// Fails as the last part of the target says, or passes its method on.
struct Backend;

impl Handler for Backend {
    fn handle<'a>(
        &'a self,
        _: &'a Room,
        req: &'a mut Request,
        body: &'a mut RequestBody,
    ) -> Handling<'a> {
        Box::pin(async move {
            let failed = |kind| {
                let phase = Phase::ResponseHead;
                Err(Fault::new(Origin::Upstream, phase, kind, "b"))
            };
            match req.path.decoded.as_slice() {
                b"/b/silent" => failed(Kind::Timeout),
                b"/b/cut" => failed(Kind::Eof),
                b"/b/down" => failed(Kind::Refused),
                b"/b/nope" => Err(answer::overridden(req, 404, b"Nope", None)),
                _ => {
                    let text = format!("{} {:?}", req.head.method, body.length());
                    let mut answer = answer::own(answer::head(200), text.into_bytes());
                    answer.from_backend = true;
                    Ok(answer)
                }
            }
        })
    }
}

fn room(change: impl FnOnce(&mut Server)) -> Room {
    let mut main = server(0, "front.test");
    main.proxy.rules = vec![pass("/b/", "http://backend/")];
    change(&mut main);
    let settings = settings(vec![main]);
    let path = std::env::temp_dir().join(format!(
        "muster-request-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    let board = Scoreboard::create(&path, &settings, 1, Generation(0)).unwrap();
    let _ = std::fs::remove_file(&path);
    let room = Room::new(settings, board, SlotNo(0), Rc::new(Logs::stderr()));
    room.register(vec![
        ("default-handler", Box::new(Files)),
        ("proxy-server", Box::new(Backend)),
    ]);
    room
}

fn drive<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    match future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("nothing here waits"),
    }
}

fn run(room: &Room, method: &str, target: &str) -> (Answer, Request) {
    let mut req = phases::begin(room, head(method, target, &[("Host", "h.test")]), info());
    let answer = drive(phases::run(room, &mut req, &mut RequestBody::none()));
    (answer, req)
}

fn text(answer: &Answer) -> String {
    match &answer.body {
        AnswerBody::Bytes(bytes) => String::from_utf8(bytes.clone()).unwrap(),
        AnswerBody::None => String::new(),
        AnswerBody::Source(_) => panic!("no source here"),
    }
}

fn field(answer: &Answer, name: &str) -> String {
    let value = answer.head.fields.get(name).unwrap_or_default();
    String::from_utf8_lossy(value).into_owned()
}

#[test]
fn handlers_are_chosen_and_answers_named() {
    let room = room(|_| {});
    let (answer, req) = run(&room, "GET", "/b/x");
    assert_eq!(
        (text(&answer).as_str(), &*req.handler),
        ("GET None", "proxy-server")
    );
    let (answer, req) = run(&room, "GET", "/f.txt");
    assert_eq!(text(&answer), "/srv/www/f.txt");
    assert_eq!(req.handler, "default-handler");
    let names: Vec<_> = answer.head.fields.iter().map(|(n, _)| n.to_vec()).collect();
    assert_eq!(names, [b"Date".to_vec(), b"Server".to_vec()]);
    assert_eq!(field(&answer, "Server"), "muster");
}

#[test]
fn a_directory_index_goes_on_as_another_request() {
    let room = room(|_| {});
    let (answer, req) = run(&room, "GET", "/d/");
    assert_eq!(answer.head.status, 200);
    assert_eq!(text(&answer), "/srv/www/d/index.html");
    assert_eq!(req.original.as_ref().unwrap().path, b"/d/");
    assert_eq!(req.target.query.as_deref(), Some(&b"i=1"[..]));
}

#[test]
fn backend_failures_become_statuses() {
    let room = room(|_| {});
    for (path, status, reason, close) in [
        ("/b/silent", 504, "Gateway Time", false),
        ("/b/cut", 502, "Proxy Error", false),
        ("/b/down", 503, "Service Unavailable", true),
        ("/b/nope", 404, "Nope", false),
        ("/none", 404, "Not Found", false),
    ] {
        let (answer, _) = run(&room, "GET", path);
        assert_eq!(answer.head.status, status, "{path}");
        let said = String::from_utf8_lossy(&answer.head.reason).into_owned();
        assert!(said.starts_with(reason), "{path} {said}");
        assert_eq!(answer.close, close, "{path}");
        assert!(text(&answer).contains(&format!("<title>{status} {said}</title>")));
        assert_eq!(
            field(&answer, "Content-Type"),
            "text/html; charset=iso-8859-1"
        );
    }
}

#[test]
fn error_documents_of_all_kinds() {
    let room = room(|s| {
        s.base.error_documents = vec![
            (404, ErrorDocument::Path("/e/404.html?x".into())),
            (503, ErrorDocument::Text("down <b>".into())),
            (504, ErrorDocument::Url("http://x.test/late".into())),
            (502, ErrorDocument::Path("/none.html".into())),
        ];
    });
    let (answer, req) = run(&room, "POST", "/none?q=1");
    assert_eq!(answer.head.status, 404);
    assert_eq!(text(&answer), "/srv/www/e/404.html");
    assert_eq!(req.env.get("REDIRECT_STATUS"), Some(&b"404"[..]));
    assert_eq!(req.env.get("REDIRECT_URL"), Some(&b"/none"[..]));
    assert_eq!(req.env.get("REDIRECT_QUERY_STRING"), Some(&b"q=1"[..]));
    assert_eq!(req.head.method.as_str(), "GET");
    let (answer, _) = run(&room, "GET", "/b/down");
    assert_eq!(
        (answer.head.status, text(&answer).as_str()),
        (503, "down <b>")
    );
    let (answer, _) = run(&room, "GET", "/b/silent");
    assert_eq!(answer.head.status, 302);
    assert_eq!(field(&answer, "Location"), "http://x.test/late");
    // A page for an error that fails itself: the first error counts, the second is told.
    let (answer, _) = run(&room, "GET", "/b/cut");
    assert_eq!(answer.head.status, 502);
    assert!(text(&answer).contains("404 Not Found"));
}

#[test]
fn a_proxied_error_document_shows_its_own_status_unless_overridden() {
    let documents = || vec![(404, ErrorDocument::Path("/b/page".into()))];
    let plain = room(|s| s.base.error_documents = documents());
    let (answer, _) = run(&plain, "GET", "/none");
    assert_eq!(
        (answer.head.status, text(&answer).as_str()),
        (200, "GET None")
    );
    let overridden = room(|s| {
        s.base.error_documents = documents();
        s.base.error_override = Some(ErrorOverride {
            on: true,
            codes: Vec::new(),
        });
    });
    let (answer, _) = run(&overridden, "GET", "/none");
    assert_eq!(answer.head.status, 404);
}

#[test]
fn endless_redirects_end() {
    struct Circle;
    impl Handler for Circle {
        fn handle<'a>(
            &'a self,
            _: &'a Room,
            req: &'a mut Request,
            _: &'a mut RequestBody,
        ) -> Handling<'a> {
            Box::pin(async move { Err(answer::elsewhere(req, b"/again".to_vec())) })
        }
    }
    let room = room(|s| {
        s.base.handler = Some("circle".into());
        s.internal_recursion = 3;
    });
    let circle = Room::new(
        room.settings.clone(),
        room.scoreboard.clone(),
        SlotNo(0),
        room.logs.clone(),
    );
    circle.register(vec![("circle", Box::new(Circle))]);
    let (answer, req) = run(&circle, "GET", "/x");
    assert_eq!(answer.head.status, 500);
    assert_eq!(req.original.unwrap().depth(), 3);
}

#[test]
fn methods_for_local_addresses() {
    let room = room(|s| {
        s.sections.push(location(
            "/only",
            Layer {
                allow_methods: Some(vec!["GET".into()]),
                ..Layer::default()
            },
        ));
    });
    for (method, target, status, allow) in [
        ("OPTIONS", "*", 200, ""),
        ("OPTIONS", "/f", 200, "GET,POST,OPTIONS,HEAD"),
        ("TRACE", "/f", 405, "GET,POST,OPTIONS,HEAD"),
        ("PUT", "/f", 405, "GET,POST,OPTIONS,HEAD"),
        ("BREW", "/f", 501, "GET,POST,OPTIONS,HEAD"),
        ("POST", "/f", 200, ""),
        ("POST", "/only/f", 405, "GET"),
        ("HEAD", "/only/f", 200, ""),
        ("PUT", "/b/x", 200, ""),
        ("CONNECT", "h.test:80", 405, "GET,POST,OPTIONS,HEAD"),
    ] {
        let (answer, _) = run(&room, method, target);
        assert_eq!(answer.head.status, status, "{method} {target}");
        assert_eq!(field(&answer, "Allow"), allow, "{method} {target}");
    }
}

#[test]
fn allow_comes_with_an_error_document_too() {
    let room = room(|s| {
        s.base.error_documents = vec![(405, ErrorDocument::Path("/405.html".into()))];
    });
    let (answer, _) = run(&room, "PUT", "/f");
    assert_eq!(answer.head.status, 405);
    assert_eq!(text(&answer), "/srv/www/405.html");
    assert_eq!(field(&answer, "Allow"), "GET,POST,OPTIONS,HEAD");
}

#[test]
fn trace_hides_secrets() {
    let room = room(|s| s.trace = TraceEnable::On);
    let fields = [("Host", "h.test"), ("Cookie", "secret=1"), ("X-A", "b")];
    let mut req = phases::begin(&room, head("TRACE", "/f", &fields), info());
    let answer = drive(phases::run(&room, &mut req, &mut RequestBody::none()));
    let body = text(&answer);
    assert!(body.starts_with("TRACE /f HTTP/1.1\r\nHost: h.test\r\n"));
    assert!(body.contains("X-A: b\r\n") && !body.contains("secret"));
}

#[test]
fn head_has_a_length_and_no_body() {
    let room = room(|_| {});
    for target in ["/f.txt", "/none"] {
        let (answer, _) = run(&room, "HEAD", target);
        assert!(matches!(answer.body, AnswerBody::None));
        assert_ne!(field(&answer, "Content-Length"), "");
    }
}

#[test]
fn bodies_are_bounded_also_for_backends() {
    let room = room(|s| s.base.limit_body = Some(4));
    for (sent, status) in [("four", 200), ("fives", 413)] {
        let mut req = phases::begin(&room, head("POST", "/b/x", &[("Host", "h")]), info());
        let source = Box::new(Bytes::new(sent));
        let mut body = RequestBody::new(source, false, Rc::new(NoLink));
        let answer = drive(phases::run(&room, &mut req, &mut body));
        assert_eq!(answer.head.status, status);
    }
}

#[test]
fn denials_and_heads_that_were_no_heads() {
    let room = room(|s| {
        s.base.require = Some(Arc::new(Require::All(false)));
        s.base.signature = Some(Signature::On);
    });
    let (answer, _) = run(&room, "GET", "/f.txt");
    assert_eq!((answer.head.status, answer.close), (403, false));
    assert!(text(&answer).contains("<address>muster at h.test Port 80</address>"));
    let error = HeadError {
        status: 414,
        reason: "the request line is too long",
        line: b"GET /<script>".to_vec(),
    };
    let mut req = phases::begin_refused(&room, error, info());
    let answer = drive(phases::run(&room, &mut req, &mut RequestBody::none()));
    assert_eq!((answer.head.status, answer.close), (414, true));
    assert!(!text(&answer).contains("script"));
}

#[test]
fn denials_hold_for_what_backends_make_of_a_path() {
    let room = room(|s| {
        let denied = Layer {
            require: Some(Arc::new(Require::All(false))),
            ..Layer::default()
        };
        s.sections.push(location("/b/private", denied));
        s.encoded_slashes = EncodedSlashes::NoDecode;
    });
    for target in [
        "/b/private/x",
        "/b/private;v=1/x",
        "/b/;/private/x",
        "/b/;a=/;/private;c/x",
        "/b/private%2fx",
        "/b/y%2F..%2Fprivate;v/x",
    ] {
        let (answer, _) = run(&room, "GET", target);
        assert_eq!(answer.head.status, 403, "{target}");
    }
    for target in ["/b/;/x", "/b/x%2fprivate", "/b/privateer;x"] {
        let (answer, _) = run(&room, "GET", target);
        assert_eq!(answer.head.status, 200, "{target}");
    }
}
