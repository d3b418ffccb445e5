//! Answers, and how faults become answers: the only place that makes a status of a [`Fault`].

use std::borrow::Cow;
use std::cell::Cell;

use crate::body::{Length, Source};
use crate::clock;
use crate::codec::date;
use crate::codec::escape::html;
use crate::codec::fields::Fields;
use crate::codec::http1::encode::reason_phrase;
use crate::codec::http1::head::{Method, ResponseHead, Version};
use crate::config::layer::{ErrorDocument, Signature};
use crate::config::settings::{ServerTokens, TraceEnable};
use crate::fault::{Fault, Kind, Origin, Phase};

use super::names;
use super::page::{self, Page};
use super::request::Request;
use super::room::Room;

/// An answer on its way to the client.
pub struct Answer {
    /// Status, reason and fields. Fields start with Date and Server (see [`head`]); the connection
    /// adds framing and connection fields itself.
    pub head: ResponseHead,
    /// The body; `None` for HEAD (Content-Length is then already in the fields), 204, 304.
    pub body: AnswerBody,
    /// The client's connection must not be kept after it.
    pub close: bool,
    /// A backend's answer, not one of our own.
    pub from_backend: bool,
}

/// The body of an answer.
pub enum AnswerBody {
    /// None.
    None,
    /// All of it.
    Bytes(Vec<u8>),
    /// It comes bit by bit.
    Source(Box<dyn Source>),
}

impl AnswerBody {
    /// How long it is.
    pub fn length(&self) -> Length {
        match self {
            AnswerBody::None => Length::None,
            AnswerBody::Bytes(b) => Length::Exact(b.len() as u64),
            AnswerBody::Source(s) => s.length(),
        }
    }
}

/// The head of an answer with the standard reason, Date and Server in front. A proxied answer
/// replaces these two in place with the backend's (`Fields::set`).
pub fn head(status: u16) -> ResponseHead {
    let mut fields = Fields::default();
    let mut now = Vec::with_capacity(32);
    date::write_http_date(&mut now, clock::wall().seconds());
    fields.push(b"Date", &now);
    fields.push(b"Server", banner().as_bytes());
    ResponseHead {
        status,
        reason: reason_phrase(status).into(),
        version: Version::Http11,
        fields,
    }
}

thread_local! {
    /// ServerTokens of this child: one configuration holds for all of its life.
    static TOKENS: Cell<ServerTokens> = const { Cell::new(ServerTokens::Prod) };
}

/// Remembers ServerTokens for [`banner`]; a room does it when it is made.
pub fn set_tokens(tokens: ServerTokens) {
    TOKENS.set(tokens);
}

/// What stands in the Server field.
pub fn banner() -> &'static str {
    match TOKENS.get() {
        ServerTokens::Prod => "muster",
        ServerTokens::Version => concat!("muster/", env!("CARGO_PKG_VERSION")),
    }
}

/// For `ProxyErrorOverride`: the fault that a handler returns so that our own page stands in for a
/// backend's answer with this status, its reason phrase and, for 401, its WWW-Authenticate field.
pub fn overridden(
    req: &mut Request,
    status: u16,
    reason: &[u8],
    www_authenticate: Option<&[u8]>,
) -> Fault {
    req.overridden_reason = (!reason.is_empty()).then(|| reason.to_vec());
    if let (401, Some(value)) = (status, www_authenticate) {
        req.error_fields.set("WWW-Authenticate", value);
    }
    Fault::new(
        Origin::Upstream,
        Phase::ResponseHead,
        Kind::Status(status),
        "the backend's answer is replaced (ProxyErrorOverride)",
    )
}

/// For handlers: go on with another local path (may hold a query), as after an internal redirect.
/// The handler returns the fault that this gives.
pub fn elsewhere(req: &mut Request, target: Vec<u8>) -> Fault {
    req.elsewhere = Some(target);
    Fault::status(200, "internal redirect")
}

/// The status and wording that a fault leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The status.
    pub status: u16,
    /// For a failed backend: why, shown on a page titled "Proxy Error".
    pub proxy: Option<&'static str>,
}

/// What a fault means to the client (spec: proxy 9, with 504 for a backend that stays silent).
pub fn judge(fault: &Fault) -> Verdict {
    let plain = |status| Verdict {
        status,
        proxy: None,
    };
    let proxy = |status, why| Verdict {
        status,
        proxy: Some(why),
    };
    match (fault.origin, fault.kind) {
        (_, Kind::Status(status) | Kind::Denied(status)) => plain(status),
        (_, Kind::TooLarge(status)) if fault.origin != Origin::Upstream => plain(status),
        (Origin::Client, Kind::Malformed(status)) => plain(status),
        (Origin::Client, Kind::Timeout) => plain(408),
        (Origin::Client, _) => plain(400),
        (_, Kind::Malformed(_) | Kind::BadBody | Kind::TooLarge(_)) => {
            proxy(502, "The backend's answer breaks the rules of HTTP")
        }
        (_, Kind::NoMember | Kind::PoolFull | Kind::Refused | Kind::Resources) => plain(503),
        (_, Kind::Resolve) => proxy(502, "The backend's name could not be resolved"),
        (_, Kind::Scheme) => plain(500),
        (Origin::Own, Kind::Timeout | Kind::Eof | Kind::Broken) => plain(500),
        (Origin::Upstream, Kind::Timeout | Kind::Eof | Kind::Broken) => {
            match (fault.phase, fault.kind) {
                (Phase::Connecting | Phase::Choosing, _) => plain(503),
                (_, Kind::Timeout) => plain(504),
                (Phase::Sending, _) => proxy(502, "The request could not be sent to the backend"),
                _ => proxy(502, "Error reading from remote server"),
            }
        }
    }
}

/// The statuses after which a connection is not kept (spec: config 9.3).
pub fn drops_connection(status: u16) -> bool {
    matches!(status, 400 | 408 | 411 | 413 | 414 | 500 | 501 | 503)
}

/// What the configuration wants instead of the canned page for a status.
pub fn document(req: &Request, status: u16) -> Option<&ErrorDocument> {
    req.layer
        .error_documents
        .iter()
        .rev()
        .find(|(code, _)| *code == status)
        .map(|(_, document)| document)
        .filter(|document| **document != ErrorDocument::Default)
}

/// The canned page for a verdict. `second`: the status of an ErrorDocument that failed in its turn.
pub fn canned(room: &Room, req: &Request, verdict: Verdict, second: Option<u16>) -> Answer {
    let mut head = head(verdict.status);
    if let Some(reason) = &req.overridden_reason {
        head.reason = reason.clone();
    } else if verdict.proxy.is_some() {
        head.reason = b"Proxy Error".to_vec();
    }
    let mut paragraphs = vec![page::words(verdict.status).as_bytes().to_vec()];
    if let Some(why) = verdict.proxy {
        paragraphs.push(format!("Reason: <strong>{why}</strong>").into_bytes());
    }
    if let Some(status) = second {
        paragraphs.push(
            format!(
                "While the page for this error was made another one happened: {status} {}.",
                reason_phrase(status)
            )
            .into_bytes(),
        );
    }
    for (name, value) in req.error_fields.iter() {
        head.fields.push(name, value);
    }
    let page = Page {
        title: &titled(verdict.status, &head.reason),
        heading: &head.reason,
        paragraphs,
        signature: signature(room, req),
    }
    .render();
    head.fields.push(b"Content-Type", page::CONTENT_TYPE);
    own(head, page)
}

/// An answer of our own with a body that is there.
pub fn own(head: ResponseHead, body: Vec<u8>) -> Answer {
    Answer {
        close: drops_connection(head.status),
        head,
        body: AnswerBody::Bytes(body),
        from_backend: false,
    }
}

/// The text of an `ErrorDocument` as the answer.
pub fn text(req: &Request, status: u16, text: &str) -> Answer {
    let mut head = head(status);
    if let Some(reason) = &req.overridden_reason {
        head.reason = reason.clone();
    }
    for (name, value) in req.error_fields.iter() {
        head.fields.push(name, value);
    }
    head.fields.push(b"Content-Type", page::CONTENT_TYPE);
    own(head, text.as_bytes().to_vec())
}

/// A redirect to an absolute URL.
pub fn redirect(room: &Room, req: &Request, status: u16, location: &[u8]) -> Answer {
    let mut head = head(status);
    head.fields.push(b"Location", &header_safe(location));
    for (name, value) in req.error_fields.iter() {
        head.fields.push(name, value);
    }
    let page = Page {
        title: &titled(status, &head.reason),
        heading: &head.reason,
        paragraphs: vec![page::link(location)],
        signature: signature(room, req),
    }
    .render();
    head.fields.push(b"Content-Type", page::CONTENT_TYPE);
    own(head, page)
}

/// What a status demands beside its page: Allow for 405 (RFC 9110 15.5.6) and, as httpd, for 501.
pub fn add_error_fields(room: &Room, req: &mut Request, status: u16) {
    if matches!(status, 405 | 501) && !req.error_fields.contains("Allow") {
        let allow = allow(room, req);
        req.error_fields.push(b"Allow", allow.as_bytes());
    }
}

/// Methods that a local address takes. What is behind a proxy is not known.
pub fn allow(room: &Room, req: &Request) -> String {
    let trace = room.settings.server(req.server).trace != TraceEnable::Off;
    let mut methods = match &req.layer.allow_methods {
        Some(methods) if !methods.is_empty() => methods.join(","),
        _ => "GET,POST,OPTIONS,HEAD".to_string(),
    };
    if trace && !methods.contains("TRACE") {
        methods.push_str(",TRACE");
    }
    methods
}

/// Makes an answer fit the request: no body for HEAD and for statuses without one, the status of
/// the error that an ErrorDocument is for, closing where the status asks for it.
pub fn finish(req: &Request, mut answer: Answer) -> Answer {
    if let Some(original) = req.original.as_deref().filter(|o| o.status != 200) {
        let overrides = req.layer.error_override.as_ref().is_some_and(|o| o.on);
        if !answer.from_backend || overrides {
            answer.head.status = original.status;
            answer.head.reason = match &req.overridden_reason {
                Some(reason) => reason.clone(),
                None => reason_phrase(original.status).into(),
            };
        }
        for (name, value) in req.error_fields.iter() {
            if !std::str::from_utf8(name).is_ok_and(|n| answer.head.fields.contains(n)) {
                answer.head.fields.push(name, value);
            }
        }
    }
    let status = answer.head.status;
    answer.close |= drops_connection(status);
    let bodiless = matches!(status, 100..=199 | 204 | 304);
    if bodiless || req.head.method == Method::Head {
        if !bodiless
            && let Length::Exact(length) = answer.body.length()
            && !answer.head.fields.contains("Content-Length")
            && !answer.head.fields.contains("Transfer-Encoding")
        {
            let digits = length.to_string();
            answer
                .head
                .fields
                .push(b"Content-Length", digits.as_bytes());
        }
        answer.body = AnswerBody::None;
    }
    answer
}

fn titled(status: u16, reason: &[u8]) -> Vec<u8> {
    let mut title = format!("{status} ").into_bytes();
    title.extend_from_slice(reason);
    title
}

/// A control byte in a field would end it; nothing that reaches here should hold one.
fn header_safe(value: &[u8]) -> Cow<'_, [u8]> {
    let bad = |b: &u8| *b < 0x20 || *b == 0x7f;
    if value.iter().any(bad) {
        Cow::Owned(value.iter().copied().filter(|b| !bad(b)).collect())
    } else {
        Cow::Borrowed(value)
    }
}

/// ServerSignature's line.
pub fn signature(room: &Room, req: &Request) -> Option<Vec<u8>> {
    let server = room.settings.server(req.server);
    let name = names::self_name(&room.routes, req);
    let mut out = Vec::new();
    match req.layer.signature.unwrap_or_default() {
        Signature::Off => return None,
        Signature::On => {
            out.extend_from_slice(banner().as_bytes());
            out.extend_from_slice(b" at ");
            html(&mut out, name.as_bytes());
        }
        Signature::Email => {
            out.extend_from_slice(banner().as_bytes());
            out.extend_from_slice(b" at <a href=\"mailto:");
            html(&mut out, server.admin.as_deref().unwrap_or("").as_bytes());
            out.extend_from_slice(b"\">");
            html(&mut out, name.as_bytes());
            out.extend_from_slice(b"</a>");
        }
    }
    out.extend_from_slice(format!(" Port {}", names::self_port(&room.routes, req)).as_bytes());
    Some(out)
}
