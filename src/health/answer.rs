//! Reading a check's answer, and whether it is good: bytes in, no sockets.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::codec::http1::chunked::{Chunked, Step};
use crate::codec::http1::framing::{Framing, response_framing};
use crate::codec::http1::head::{Method, Parsed, ResponseHead, parse_response};
use crate::codec::http1::limits::ResponseLimits;
use crate::expr::{EvalError, Expression, Facts};

/// Bytes of the body that an expression sees.
pub const BODY_KEPT: usize = 64 * 1024;
/// Bytes of the body that are read; then the check ends with what there is.
pub const BODY_READ: u64 = 1024 * 1024;
/// Bytes of the head.
const MOST_HEAD: usize = 64 * 1024;
/// Bytes of the first line and of each field.
const LINE: usize = 8192;
/// Interim answers before the answer.
const MOST_INTERIM: u32 = 8;

/// A whole answer.
#[derive(Debug)]
pub struct Answer {
    /// Its head.
    pub head: ResponseHead,
    /// The first [`BODY_KEPT`] bytes of its body.
    pub body: Vec<u8>,
}

/// How far the reading is.
#[derive(Debug)]
pub enum Progress {
    /// More bytes are needed.
    More,
    /// It is complete.
    Done(Answer),
    /// It is no answer; the reason for the log.
    Bad(&'static str),
}

/// An answer that is being read.
#[derive(Debug)]
pub struct Reading {
    method: Method,
    buf: Vec<u8>,
    interim: u32,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Head,
    Body {
        answer: Answer,
        framing: Framing,
        chunked: Chunked,
        read: u64,
    },
    Over,
}

impl Reading {
    /// Of the answer to a request with this method.
    pub fn new(method: Method) -> Reading {
        Reading {
            method,
            buf: Vec::new(),
            interim: 0,
            stage: Stage::Head,
        }
    }

    /// Takes what came.
    pub fn feed(&mut self, bytes: &[u8]) -> Progress {
        self.buf.extend_from_slice(bytes);
        if matches!(self.stage, Stage::Head) {
            match self.head() {
                Ok(true) => {}
                Ok(false) => return Progress::More,
                Err(reason) => return self.bad(reason),
            }
        }
        match self.body() {
            Ok(true) => self.done(),
            Ok(false) => Progress::More,
            Err(reason) => self.bad(reason),
        }
    }

    /// The other side has closed.
    pub fn end(&mut self) -> Progress {
        match &self.stage {
            Stage::Body {
                framing: Framing::UntilClose,
                ..
            } => self.done(),
            Stage::Body { .. } => self.bad("the connection was closed within the body"),
            _ if self.buf.is_empty() => self.bad("the connection was closed without an answer"),
            _ => self.bad("the connection was closed within the answer's head"),
        }
    }

    fn head(&mut self) -> Result<bool, &'static str> {
        loop {
            // The codec would skip a blank first line.
            if self.buf.first() == Some(&b'\r') || self.buf.first() == Some(&b'\n') {
                return Err("the answer does not begin with a status line");
            }
            let limits = ResponseLimits {
                field: LINE,
                ..ResponseLimits::default()
            };
            let (head, used) = match parse_response(&self.buf, &limits) {
                Ok(Parsed::Done { head, used }) => (head, used),
                Ok(Parsed::Incomplete) if self.buf.len() > MOST_HEAD => {
                    return Err("the answer's head is too large");
                }
                Ok(Parsed::Incomplete) => return Ok(false),
                Err(e) => return Err(e.reason),
            };
            self.buf.drain(..used);
            if (100..200).contains(&head.status) && head.status != 101 {
                self.interim += 1;
                if self.interim > MOST_INTERIM {
                    return Err("too many interim answers");
                }
                continue;
            }
            let framing = response_framing(&head, &self.method).map_err(|e| e.reason)?;
            self.stage = Stage::Body {
                answer: Answer {
                    head,
                    body: Vec::new(),
                },
                framing,
                chunked: Chunked::new(),
                read: 0,
            };
            return Ok(true);
        }
    }

    /// True when it is complete.
    fn body(&mut self) -> Result<bool, &'static str> {
        let Stage::Body {
            answer,
            framing,
            chunked,
            read,
        } = &mut self.stage
        else {
            return Ok(true);
        };
        let mut keep = |bytes: &[u8]| {
            let room = BODY_KEPT - answer.body.len().min(BODY_KEPT);
            answer
                .body
                .extend_from_slice(&bytes[..bytes.len().min(room)]);
            *read += bytes.len() as u64;
        };
        // OPTIONS and HEAD: what a body says does not matter, so it is not waited for.
        let ended = match framing {
            _ if self.method != Method::Get => true,
            Framing::None => true,
            Framing::Length(length) => {
                let bytes = std::mem::take(&mut self.buf);
                let left = usize::try_from(*length).unwrap_or(usize::MAX);
                let n = bytes.len().min(left);
                keep(&bytes[..n]);
                *length -= n as u64;
                *length == 0
            }
            Framing::UntilClose => {
                keep(&std::mem::take(&mut self.buf));
                false
            }
            Framing::Chunked => loop {
                match chunked.step(&self.buf).map_err(|e| e.0)? {
                    Step::Data { skip, len } => {
                        keep(&self.buf[skip..skip + len]);
                        chunked.took(len);
                        self.buf.drain(..skip + len);
                    }
                    Step::More { used } => {
                        self.buf.drain(..used);
                        break false;
                    }
                    Step::End { .. } => break true,
                }
            },
        };
        Ok(ended || *read >= BODY_READ)
    }

    fn done(&mut self) -> Progress {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Body { answer, .. } => Progress::Done(answer),
            _ => Progress::Bad("the answer was read already"),
        }
    }

    fn bad(&mut self, reason: &'static str) -> Progress {
        self.stage = Stage::Over;
        Progress::Bad(reason)
    }
}

/// Without an expression a status from 200 to 399 is good; with one, its truth decides alone.
///
/// # Errors
/// The expression has no value, which is to count as bad.
pub fn is_good(answer: &Answer, expression: Option<&Expression>) -> Result<bool, EvalError> {
    match expression {
        None => Ok((200..400).contains(&answer.head.status)),
        Some(e) => e.holds(answer),
    }
}

impl Facts for Answer {
    fn variable(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        match name {
            "REQUEST_STATUS" => Some(self.head.status.to_string().into_bytes().into()),
            "CONTENT_TYPE" => self.head.fields.get("Content-Type").map(Cow::Borrowed),
            "HC_BODY" => Some(Cow::Borrowed(&self.body)),
            _ => None,
        }
    }

    fn function(&self, name: &str, argument: &[u8]) -> Option<Cow<'_, [u8]>> {
        match name {
            "resp" => {
                let name = std::str::from_utf8(argument).ok()?;
                self.head.fields.get(name).map(Cow::Borrowed)
            }
            "hc" if argument.eq_ignore_ascii_case(b"body") => Some(Cow::Borrowed(&self.body)),
            _ => None,
        }
    }

    fn test(&self, letter: u8, word: &[u8]) -> bool {
        file_is(letter, Path::new(OsStr::from_bytes(word)))
    }
}

/// The tests of files as httpd's. A path that does not begin at the root names no file: which
/// directory a daemon stands in is chance.
fn file_is(letter: u8, path: &Path) -> bool {
    if !path.is_absolute() {
        return false;
    }
    let link = matches!(letter, b'h' | b'L');
    let meta = match link {
        true => fs::symlink_metadata(path),
        false => fs::metadata(path),
    };
    meta.is_ok_and(|m| match letter {
        b'd' => m.is_dir(),
        b'e' => true,
        b'f' => m.is_file(),
        b'h' | b'L' => m.is_symlink(),
        b's' => m.is_file() && m.len() > 0,
        b'x' => m.mode() & 0o111 != 0,
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::health::HealthNames;

    /// Reads `text` whole, then byte by byte, then demands that both came to the same.
    fn read(method: Method, text: &[u8]) -> Result<Answer, &'static str> {
        let run = |pieces: &mut dyn Iterator<Item = &[u8]>| {
            let mut reading = Reading::new(method.clone());
            for piece in pieces {
                match reading.feed(piece) {
                    Progress::More => {}
                    Progress::Done(answer) => return Ok(answer),
                    Progress::Bad(reason) => return Err(reason),
                }
            }
            match reading.end() {
                Progress::Done(answer) => Ok(answer),
                Progress::Bad(reason) => Err(reason),
                Progress::More => unreachable!(),
            }
        };
        let whole = run(&mut std::iter::once(text));
        let slow = run(&mut text.chunks(1));
        match (&whole, &slow) {
            (Ok(a), Ok(b)) => {
                assert_eq!(a.body, b.body);
                assert_eq!(a.head.status, b.head.status);
            }
            (Err(a), Err(b)) => assert_eq!(a, b),
            other => panic!("{other:?}"),
        }
        whole
    }

    #[test]
    fn answers_end_where_their_framing_says() {
        let get = |text: &str| read(Method::Get, text.as_bytes());
        let a = get("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcd").unwrap();
        assert_eq!(a.body, b"abc");
        let a = get(
            "HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
        );
        assert_eq!(a.unwrap().body, b"abc");
        assert_eq!(get("HTTP/1.0 200 OK\r\n\r\nabc").unwrap().body, b"abc");
        let a = get("HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 204 No\r\n\r\n").unwrap();
        assert_eq!(a.head.status, 204);
        let a = read(
            Method::Head,
            b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n",
        );
        assert!(a.unwrap().body.is_empty());
    }

    #[test]
    fn what_is_no_answer_is_bad() {
        for text in [
            "",
            "\r\nHTTP/1.1 200 OK\r\n\r\n",
            "hello\r\n",
            "HTTP/1.1 200 OK\r\nno field\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
            "HTTP/1.1 200 OK\r\nX",
        ] {
            assert!(read(Method::Get, text.as_bytes()).is_err(), "{text:?}");
        }
        let long = format!("HTTP/1.1 200 {}", "x".repeat(9000));
        assert!(read(Method::Get, long.as_bytes()).is_err());
    }

    #[test]
    fn long_bodies_are_cut() {
        let mut text = b"HTTP/1.0 200 OK\r\n\r\n".to_vec();
        text.resize(text.len() + 3_000_000, b'x');
        let mut reading = Reading::new(Method::Get);
        let mut fed = 0;
        let answer = loop {
            fed += 10_000;
            match reading.feed(&text[fed - 10_000..fed]) {
                Progress::Done(answer) => break answer,
                Progress::More => {}
                Progress::Bad(reason) => panic!("{reason}"),
            }
        };
        assert_eq!(answer.body.len(), BODY_KEPT);
        assert!(fed < 1_100_000);
    }

    #[test]
    fn good_is_a_matter_of_status_or_of_the_expression_alone() {
        let of = |status: u16, expression: Option<&str>| {
            let text = format!(
                "HTTP/1.1 {status} X\r\nX-Load: 7\r\nContent-Type: t/x\r\nContent-Length: 4\r\n\r\nWell"
            );
            let answer = read(Method::Get, text.as_bytes()).unwrap();
            let e = expression.map(|t| Expression::parse(t, &HealthNames).unwrap());
            is_good(&answer, e.as_ref()).unwrap()
        };
        assert!(!of(199 + 300, None));
        assert!(of(200, None) && of(399, None));
        assert!(!of(400, None) && !of(503, None));
        assert!(of(503, Some("hc('body') =~ /well/i")));
        assert!(of(
            503,
            Some("hc('BODY') == 'Well' && %{HC_BODY} == 'Well'")
        ));
        assert!(!of(200, Some("%{REQUEST_STATUS} =~ /^[5]/")));
        assert!(of(
            200,
            Some("%{resp:x-load} -lt 10 && resp('X-Load') == '7'")
        ));
        assert!(of(200, Some("%{CONTENT_TYPE} == 't/x' && -z %{HC_OTHER}")));
        assert!(!of(200, Some("hc('body') !~ /Well/")));
    }

    /// As Apache 2.4.71 answers each of them (in a health check, with the same files).
    #[test]
    fn tests_of_files() {
        let dir = std::env::temp_dir().join(format!("muster-files-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("empty"), "").unwrap();
        fs::write(dir.join("full"), "x").unwrap();
        std::os::unix::fs::symlink("full", dir.join("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", dir.join("dangling")).unwrap();
        let text = format!("HTTP/1.1 200 X\r\nX-F: {}/full\r\n\r\n", dir.display());
        let answer = read(Method::Head, text.as_bytes()).unwrap();
        let of = |text: &str| {
            let text = text.replace('@', &dir.display().to_string());
            let e = Expression::parse(&text, &HealthNames).unwrap();
            assert!(e.looks_at_files());
            is_good(&answer, Some(&e)).unwrap()
        };
        for yes in [
            "-f '@/full'",
            "-f '@/empty'",
            "-f '@/link'",
            "-d '@'",
            "-e '@'",
            "-e '@/empty'",
            "-s '@/full'",
            "-s '@/link'",
            "-L '@/link'",
            "-h '@/dangling'",
            "-x '@'",
            "-x '/bin/sh'",
            "-f resp('X-F')",
            "true && !(-e '@/nowhere')",
        ] {
            assert!(of(yes), "{yes}");
        }
        for no in [
            "-f '@'",
            "-d '@/full'",
            "-e '@/nowhere'",
            "-e '@/dangling'",
            "-s '@/empty'",
            "-s '@'",
            "-L '@/full'",
            "-x '@/full'",
            "-f resp('X-Other')",
        ] {
            assert!(!of(no), "{no}");
        }
        fs::remove_dir_all(&dir).unwrap();
        for (bad, says) in [
            ("-f 'full'", "takes a whole path"),
            ("-F '/x'", "asks this server"),
        ] {
            let e = Expression::parse(bad, &HealthNames)
                .unwrap_err()
                .to_string();
            assert!(e.contains(says), "{e}");
        }
    }
}
