//! What depends on the method alone: AllowMethods, TRACE, OPTIONS, and methods that files do not take.

use crate::codec::http1::head::Method;
use crate::config::settings::TraceEnable;
use crate::fault::{Fault, Kind, Origin, Phase};

use super::answer::{self, Answer};
use super::request::Request;
use super::room::Room;

/// Fields that an echo must not carry: a script could read them off it (RFC 9110 9.3.8).
const SECRETS: [&str; 4] = ["Cookie", "Authorization", "Proxy-Authorization", "Cookie2"];

/// `AllowMethods`; an empty list allows all. GET covers HEAD.
pub fn allowed(room: &Room, req: &Request) -> Result<(), Fault> {
    let Some(methods) = &req.layer.allow_methods else {
        return Ok(());
    };
    let name = req.head.method.as_str();
    let covered = |m: &String| m == name || m == "GET" && name == "HEAD";
    if methods.is_empty() || methods.iter().any(covered) {
        return Ok(());
    }
    let what = String::from_utf8_lossy(&req.file_or_url()).into_owned();
    let text = format!("AH01623: client method denied by server configuration: '{name}' to {what}");
    super::say::say(
        room,
        req,
        crate::log::level::ERROR,
        "allowmethods",
        None,
        &text,
    );
    Err(refused(405, ""))
}

/// The answer to `OPTIONS *`: the server is there, nothing is said of any address.
pub fn asterisk() -> Answer {
    answer::own(answer::head(200), Vec::new())
}

/// TRACE and OPTIONS for what is served here, and methods that nothing here takes.
pub fn local(room: &Room, req: &Request, has_body: bool) -> Result<Option<Answer>, Fault> {
    let files = req.handler == "default-handler";
    match &req.head.method {
        Method::Trace => {
            let enabled = room.settings.server(req.server).trace;
            match enabled {
                TraceEnable::Off => Err(refused(405, "TRACE is off (TraceEnable)")),
                TraceEnable::On if has_body => Err(refused(413, "TRACE with a request body")),
                TraceEnable::On | TraceEnable::Extended => Ok(Some(echo(req))),
            }
        }
        Method::Options if req.handler != "proxy-server" => {
            let mut head = answer::head(200);
            head.fields
                .push(b"Allow", answer::allow(room, req).as_bytes());
            Ok(Some(answer::own(head, Vec::new())))
        }
        Method::Other(_) if files => Err(refused(501, "a method that is not known here")),
        Method::Put | Method::Delete | Method::Patch if files => {
            Err(refused(405, "a method that files do not take"))
        }
        _ => Ok(None),
    }
}

/// TRACE's answer: the head as received, without its secrets.
pub fn echo(req: &Request) -> Answer {
    let mut body = req.head.line.clone();
    body.extend_from_slice(b"\r\n");
    for (name, value) in req.head.fields.iter() {
        if SECRETS
            .iter()
            .any(|s| name.eq_ignore_ascii_case(s.as_bytes()))
        {
            continue;
        }
        body.extend_from_slice(name);
        body.extend_from_slice(b": ");
        body.extend_from_slice(value);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"\r\n");
    let mut head = answer::head(200);
    head.fields.push(b"Content-Type", b"message/http");
    answer::own(head, body)
}

fn refused(status: u16, detail: &str) -> Fault {
    Fault::new(Origin::Client, Phase::Mapping, Kind::Status(status), detail)
}
