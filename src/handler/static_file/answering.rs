//! The answer for an open file: validators, conditions, ranges, type.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::unix::fs::FileExt;

use super::conditions::{self, Validators, Verdict};
use super::file_body::{FileBody, Piece};
use super::lookup::OpenFile;
use super::ranges::{self, Ranges};
use super::types::{self, Content};
use crate::clock;
use crate::codec::date::write_http_date;
use crate::codec::fields::Fields;
use crate::codec::http1::encode::reason_phrase;
use crate::codec::http1::head::{Method, ResponseHead};
use crate::config::layer::Layer;
use crate::fault::Fault;
use crate::request::answer::{self, Answer, AnswerBody};
use crate::request::{Request, Room};

/// Files up to this size are read at once and leave with the head.
const SMALL: u64 = 16 * 1024;

/// `MaxRanges` where nothing is said.
const USUAL_RANGES: u32 = 200;

/// Answers with `open`, or with 304, 412, 206 or the fault for 416.
pub fn answer(room: &Room, req: &Request, open: OpenFile) -> Result<Answer, Fault> {
    let layer = &req.layer;
    let now = clock::wall();
    let validators = Validators {
        etag: etag(layer, &open, now.0),
        modified: open.modified.0,
    };
    let end = req.filename.len() - open.path_info.len().min(req.filename.len());
    let name = req.filename[..end]
        .rsplit(|&b| b == b'/')
        .next()
        .unwrap_or_default();
    let content = types::content(name, layer, &room.settings.mime_types);
    let most = layer.max_ranges.unwrap_or(Some(USUAL_RANGES));

    let mut head = answer::head(200);
    // The date that goes out must not be later than Date (RFC 9110 8.8.2.1).
    push_date(&mut head.fields, validators.modified.min(now.seconds()));
    if let Some(tag) = &validators.etag {
        head.fields.push(b"ETag", tag.as_bytes());
    }
    let unit: &[u8] = if most == Some(0) { b"none" } else { b"bytes" };
    head.fields.push(b"Accept-Ranges", unit);

    let asked = &req.head.fields;
    if req.is_error_document() {
        return Ok(whole(head, &content, open, layer));
    }
    match conditions::judge(&req.head.method, asked, &validators, now.seconds()) {
        Verdict::Proceed => {}
        Verdict::NotModified => {
            set_status(&mut head, 304);
            return Ok(made(head, AnswerBody::None));
        }
        Verdict::Failed => {
            set_status(&mut head, 412);
            // There is no page; a HEAD is told what a GET would have given otherwise, as by httpd.
            let get_is_empty = req.head.method != Method::Head;
            push_length(&mut head.fields, if get_is_empty { 0 } else { open.size });
            describe(&mut head.fields, &content);
            return Ok(made(head, AnswerBody::Bytes(Vec::new())));
        }
    }
    let range = asked.get("Range").filter(|_| most != Some(0));
    let ranges = match range {
        Some(value) if conditions::range_applies(asked, &validators) => {
            ranges::parse(value, open.size, most)
        }
        _ => Ranges::Whole,
    };
    match ranges {
        Ranges::Whole => Ok(whole(head, &content, open, layer)),
        Ranges::Unsatisfiable => Err(Fault::status(416, "")),
        Ranges::Pieces(pieces) => Ok(partial(head, &content, open, layer, &pieces)),
    }
}

fn whole(mut head: ResponseHead, content: &Content, open: OpenFile, layer: &Layer) -> Answer {
    push_length(&mut head.fields, open.size);
    describe(&mut head.fields, content);
    let body = body(
        open,
        |size| {
            vec![Piece::Part {
                offset: 0,
                len: size,
            }]
        },
        layer,
    );
    made(head, body)
}

fn partial(
    mut head: ResponseHead,
    content: &Content,
    open: OpenFile,
    layer: &Layer,
    ranges: &[(u64, u64)],
) -> Answer {
    set_status(&mut head, 206);
    let size = open.size;
    if let [(first, last)] = *ranges {
        let len = last - first + 1;
        push_length(&mut head.fields, len);
        let range = format!("bytes {first}-{last}/{size}");
        head.fields.push(b"Content-Range", range.as_bytes());
        describe(&mut head.fields, content);
        let body = body(open, |_| vec![Piece::Part { offset: first, len }], layer);
        return made(head, body);
    }
    let boundary = format!("{:016x}", RandomState::new().build_hasher().finish());
    let mut pieces = Vec::with_capacity(2 * ranges.len() + 1);
    let mut total = 0;
    for (first, last) in ranges {
        let mut text = format!("\r\n--{boundary}\r\n");
        if let Some(kind) = &content.kind {
            text += &format!("Content-type: {kind}\r\n");
        }
        text += &format!("Content-range: bytes {first}-{last}/{size}\r\n\r\n");
        let len = last - first + 1;
        total += text.len() as u64 + len;
        pieces.push(Piece::Text(text.into_bytes()));
        pieces.push(Piece::Part {
            offset: *first,
            len,
        });
    }
    let end = format!("\r\n--{boundary}--\r\n");
    total += end.len() as u64;
    pieces.push(Piece::Text(end.into_bytes()));
    push_length(&mut head.fields, total);
    let parts = Content {
        kind: Some(format!("multipart/byteranges; boundary={boundary}")),
        ..content.clone()
    };
    describe(&mut head.fields, &parts);
    made(head, body(open, |_| pieces, layer))
}

/// The pieces as a body; few bytes are read at once.
fn body(open: OpenFile, pieces: impl FnOnce(u64) -> Vec<Piece>, layer: &Layer) -> AnswerBody {
    let pieces = pieces(open.size);
    if let [Piece::Part { offset, len }] = pieces[..]
        && len <= SMALL
    {
        let mut bytes = vec![0; len as usize];
        // A file that became shorter goes the other way, where the answer is cut.
        if open.file.read_exact_at(&mut bytes, offset).is_ok() {
            return AnswerBody::Bytes(bytes);
        }
    }
    let sendfile = layer.sendfile != Some(false);
    AnswerBody::Source(Box::new(FileBody::new(open.file, pieces, sendfile)))
}

fn made(head: ResponseHead, body: AnswerBody) -> Answer {
    Answer {
        head,
        body,
        close: false,
        from_backend: false,
    }
}

fn set_status(head: &mut ResponseHead, status: u16) {
    head.status = status;
    head.reason = reason_phrase(status).into();
}

fn push_date(fields: &mut Fields, seconds: i64) {
    let mut text = Vec::with_capacity(32);
    write_http_date(&mut text, seconds);
    fields.push(b"Last-Modified", &text);
}

fn push_length(fields: &mut Fields, length: u64) {
    fields.push(b"Content-Length", length.to_string().as_bytes());
}

fn describe(fields: &mut Fields, content: &Content) {
    for (name, value) in [
        ("Content-Type", &content.kind),
        ("Content-Language", &content.language),
        ("Content-Encoding", &content.encoding),
    ] {
        if let Some(value) = value {
            fields.push(name.as_bytes(), value.as_bytes());
        }
    }
}

/// `"size-mtime"` in hexadecimal by `FileETag`, weak while the file may still change within the
/// clock's step. `now`: microseconds since 1970.
fn etag(layer: &Layer, open: &OpenFile, now: i64) -> Option<String> {
    let (inode, mtime, size) = layer.file_etag.unwrap_or((false, true, true));
    let micros = open
        .modified
        .0
        .saturating_mul(1_000_000)
        .saturating_add(i64::from(open.modified.1));
    let parts: Vec<String> = [
        inode.then(|| format!("{:x}", open.inode)),
        size.then(|| format!("{:x}", open.size)),
        mtime.then(|| format!("{micros:x}")),
    ]
    .into_iter()
    .flatten()
    .collect();
    if parts.is_empty() {
        return None;
    }
    let weak = if now.saturating_sub(micros) > 1_000_000 {
        ""
    } else {
        "W/"
    };
    Some(format!("{weak}\"{}\"", parts.join("-")))
}
