//! A request's way, the fixed list of phases in order.
//!
//! [`begin`] looks at target, Host and path; [`run`] does the rest: variables of the server level,
//! `<Location>`s, mapping, `<Proxy>` or `<Directory>` sections, variables of sections, methods,
//! access, size of the body, fix-ups, the handler; then error pages and internal redirects.

use std::borrow::Cow;

use crate::body::Length;
use crate::codec::http1::head::{HeadError, RequestHead};
use crate::codec::target::Target;
use crate::config::layer::{ErrorDocument, Layer, Redirect};
use crate::config::pattern::TooManySteps;
use crate::config::settings::Server;
use crate::fault::{Fault, Kind, Origin, Phase};
use crate::log::level;

use super::admit;
use super::alias;
use super::answer::{self, Answer, Verdict};
use super::body::RequestBody;
use super::map::{self, Mapped};
use super::methods;
use super::redirect;
use super::request::{ConnInfo, ProxyTarget, Request};
use super::room::{Room, Routes};
use super::say::say;
use super::setenv;
use super::trace::{Step, shown};

/// `LimitRequestBody` where nothing is said: 1 GiB.
const BODY_LIMIT: u64 = 1 << 30;

/// Why the phases end before a handler was asked.
enum Stop {
    Fault(Fault),
    /// To this absolute URL with this status.
    Redirect(u16, Vec<u8>),
    Answer(Answer),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Stop {
        Stop::Fault(fault)
    }
}

impl From<TooManySteps> for Stop {
    fn from(e: TooManySteps) -> Stop {
        Stop::Fault(Fault::status(500, e.to_string()))
    }
}

/// Takes a parsed head in: target, Host, virtual host, normalised path. What is wrong with it is
/// remembered in the request and answered by [`run`]; so every head gives a request, and every
/// request an answer and a log line.
pub fn begin(room: &Room, head: RequestHead, info: ConnInfo) -> Request {
    super::begin::begin(&room.routes, head, info)
}

/// The same for a head that could not be parsed; [`run`] gives the error page, and the connection
/// closes.
pub fn begin_refused(room: &Room, error: HeadError, info: ConnInfo) -> Request {
    super::begin::begin_refused(&room.routes, error, info)
}

/// A plain error answer for a request whose handling was given up (timeouts while reading its body
/// and the like): no ErrorDocument by path.
pub fn give_up(room: &Room, req: &mut Request, fault: Fault) -> Answer {
    report(room, req, &fault);
    let verdict = answer::judge(&fault);
    answer::add_error_fields(room, req, verdict.status);
    let answer = answer::canned(room, req, verdict, None);
    answer::finish(req, answer)
}

/// All phases, ErrorDocument and internal redirects included. Never fails: faults become answers.
pub async fn run(room: &Room, req: &mut Request, body: &mut RequestBody) -> Answer {
    let mut none = RequestBody::none();
    let answer = loop {
        // The page for an error is asked for with GET: the request's body is not for it.
        let body = if req.is_error_document() {
            &mut none
        } else {
            &mut *body
        };
        let fault = match pass(room, req, body).await {
            Ok(answer) | Err(Stop::Answer(answer)) => break answer,
            Err(Stop::Redirect(status, location)) => {
                break answer::redirect(room, req, status, &location);
            }
            Err(Stop::Fault(fault)) => fault,
        };
        if let Some(answer) = failed(room, req, &fault) {
            break answer;
        }
    };
    req.effects = setenv::effects(req);
    let broken = req.broken;
    let mut answer = answer::finish(req, answer);
    answer.close |= broken;
    answer
}

/// The answer for a fault; `None`: the request goes on as another one.
fn failed(room: &Room, req: &mut Request, fault: &Fault) -> Option<Answer> {
    let mut verdict = answer::judge(fault);
    if let Some(target) = req.elsewhere.take() {
        match redirect::internal(&room.routes, req, &target, 200) {
            Ok(()) => return None,
            Err(fault) => {
                report(room, req, &fault);
                verdict = answer::judge(&fault);
            }
        }
    } else {
        report(room, req, fault);
    }
    if let Some(original) = req.original.as_deref().filter(|o| o.status != 200) {
        let first = Verdict {
            status: original.status,
            proxy: None,
        };
        return Some(answer::canned(room, req, first, Some(verdict.status)));
    }
    let status = verdict.status;
    answer::add_error_fields(room, req, status);
    match answer::document(req, status) {
        None | Some(ErrorDocument::Default) => {}
        Some(ErrorDocument::Text(text)) => return Some(answer::text(req, status, text)),
        // A redirect would hide the challenge of a 401.
        Some(ErrorDocument::Url(_)) if status == 401 => {}
        Some(ErrorDocument::Url(url)) => {
            return Some(answer::redirect(room, req, 302, url.as_bytes()));
        }
        Some(ErrorDocument::Path(_)) if req.broken => {}
        Some(ErrorDocument::Path(path)) => {
            let path = path.clone().into_bytes();
            match redirect::internal(&room.routes, req, &path, status) {
                Ok(()) => return None,
                Err(fault) => {
                    report(room, req, &fault);
                    let second = Some(answer::judge(&fault).status);
                    return Some(answer::canned(room, req, verdict, second));
                }
            }
        }
    }
    Some(answer::canned(room, req, verdict, None))
}

async fn pass(room: &Room, req: &mut Request, body: &mut RequestBody) -> Result<Answer, Stop> {
    let routes = &room.routes;
    if let Some(fault) = req.refused.take() {
        return Err(fault.into());
    }
    admit::look_up(room, req).await;
    if req.original.is_none() {
        setenv::set_env_if(req, &routes.server(req.server).base.set_env_if)?;
    }
    mapping(routes, req)?;
    admit::look_up(room, req).await;
    section_variables(routes.server(req.server), req)?;
    methods::allowed(room, req)?;
    admit::access(room, req).await?;
    if req.target.form == Target::Asterisk {
        return Ok(methods::asterisk());
    }
    limit_body(room, req, body)?;
    fix_up(routes, req)?;
    choose_handler(req);
    if req.proxy_to.is_none()
        && let Some(answer) = methods::local(room, req, !body.is_none())?
    {
        return Err(Stop::Answer(answer));
    }
    let name = req.handler.clone();
    let handler = room
        .handler(&name)
        .or_else(|| room.handler("default-handler"))
        .ok_or_else(|| Fault::status(500, format!("nothing handles {name:?}")))?;
    Ok(handler.handle(room, req, body).await?)
}

/// From the path to a target URL or a file, with the sections that hold: everything up to access
/// control. Needs nothing but the configuration.
fn mapping(routes: &Routes, req: &mut Request) -> Result<(), Stop> {
    if !map::is_path(req) {
        return Ok(());
    }
    let server = routes.server(req.server);
    let mut mapped = Mapped::No;
    if routes.has_early_rules(req.server) {
        let encoded = std::mem::take(&mut req.path.encoded);
        let found = walk(routes, req, &encoded);
        req.path.encoded = encoded;
        found?;
        mapped = map::encoded_rules(routes, req)?;
        if mapped != Mapped::Yes
            && let Some(fault) = req.path_refused.take()
        {
            return Err(fault.into());
        }
    }
    let decoded = std::mem::take(&mut req.path.decoded);
    let found = walk(routes, req, &decoded);
    req.path.decoded = decoded;
    found?;
    if mapped == Mapped::No {
        mapped = map::proxy(routes, req)?;
    }
    match mapped {
        Mapped::Yes => {}
        Mapped::Status(status) => {
            return Err(Fault::status(status, "a path that would change the target's host").into());
        }
        _ => {
            let layer = req.layer.clone();
            let (own, common) = own_redirects(server, &layer);
            for list in [own, common] {
                stop_for_redirect(alias::redirect(routes, req, list)?)?;
            }
            alias::file(routes, req)?;
        }
    }
    inner_sections(routes, req)?;
    Ok(())
}

/// Finds the `<Location>`s for a path and merges them.
fn walk(routes: &Routes, req: &mut Request, path: &[u8]) -> Result<(), TooManySteps> {
    let server = routes.server(req.server);
    let table = routes.table(req.server);
    let method = &req.head.method;
    req.sections.locations =
        table.locations(server, path, method, Some(&mut req.env), &routes.trace)?;
    req.layer = table.layer(server, &req.sections.locations);
    Ok(())
}

/// Finds the `<Proxy>` or `<Directory>` and `<Files>` sections and puts them below the locations.
fn inner_sections(routes: &Routes, req: &mut Request) -> Result<(), TooManySteps> {
    let server = routes.server(req.server);
    let table = routes.table(req.server);
    let (method, env, trace) = (&req.head.method, Some(&mut req.env), &routes.trace);
    req.sections.inner = match &req.proxy_to {
        Some(target) => table.proxies(server, &target.url, method, env, trace)?,
        None => table.files(server, &req.filename, method, env, trace)?,
    };
    if !req.sections.inner.is_empty() {
        let set = req.sections.inner.clone().joined(&req.sections.locations);
        req.layer = table.layer(server, &set);
    }
    Ok(())
}

/// The redirects of sections, and those of the server itself.
fn own_redirects<'a>(server: &Server, layer: &'a Layer) -> (&'a [Redirect], &'a [Redirect]) {
    // A merged layer has the sections' first, the server's at the end.
    let common = server.base.redirects.len().min(layer.redirects.len());
    layer.redirects.split_at(layer.redirects.len() - common)
}

fn stop_for_redirect(mapped: Mapped) -> Result<(), Stop> {
    match mapped {
        Mapped::Redirect(status, location) => Err(Stop::Redirect(status, location)),
        Mapped::Status(status) => Err(Fault::status(status, "").into()),
        Mapped::No | Mapped::Yes | Mapped::Excluded => Ok(()),
    }
}

/// `SetEnvIf` in sections; the server's own have been applied before the mapping, but for an
/// internal redirect, whose variables begin anew and are only looked at here.
fn section_variables(server: &Server, req: &mut Request) -> Result<(), TooManySteps> {
    let layer = req.layer.clone();
    if req.original.is_some() {
        return setenv::set_env_if(req, &layer.set_env_if);
    }
    let common = server.base.set_env_if.len().min(layer.set_env_if.len());
    setenv::set_env_if(req, &layer.set_env_if[common..])
}

/// `LimitRequestBody`, also for what goes to a backend: known lengths are refused at once, others
/// when too much has come.
fn limit_body(room: &Room, req: &Request, body: &mut RequestBody) -> Result<(), Stop> {
    let limit = req.layer.limit_body.unwrap_or(BODY_LIMIT);
    if limit == 0 || body.is_none() {
        return Ok(());
    }
    if let Length::Exact(length) = body.length()
        && length > limit
    {
        let text = format!(
            "AH01588: Requested content-length of {length} is larger than the configured limit of {limit}"
        );
        say(room, req, level::INFO, "http", None, &text);
        return Err(Fault::new(Origin::Client, Phase::Mapping, Kind::TooLarge(413), "").into());
    }
    body.set_limit(limit);
    Ok(())
}

/// `SetEnv`, and the redirects of sections, which also hold for proxied paths.
fn fix_up(routes: &Routes, req: &mut Request) -> Result<(), Stop> {
    setenv::set_env(req);
    if req.proxy_to.is_some() {
        let layer = req.layer.clone();
        let (own, _) = own_redirects(routes.server(req.server), &layer);
        stop_for_redirect(alias::redirect(routes, req, own)?)?;
    }
    Ok(())
}

/// A proxied request goes to the proxy whatever SetHandler says, as in httpd.
fn choose_handler(req: &mut Request) {
    if req.proxy_to.is_some() {
        req.handler = Cow::Borrowed("proxy-server");
        return;
    }
    let layer = req.layer.clone();
    match layer.handler.as_deref() {
        None | Some("none") => req.handler = Cow::Borrowed("default-handler"),
        Some(name) => match name.strip_prefix("proxy:") {
            None => req.handler = Cow::Owned(name.to_string()),
            // The file's name goes behind the URL: made for FastCGI.
            Some(url) => {
                req.proxy_to = Some(ProxyTarget {
                    url: [url.as_bytes(), &req.filename].concat(),
                    encoded: false,
                    kept_slashes: false,
                    query: req.target.query.clone(),
                    span: Default::default(),
                });
                req.handler = Cow::Borrowed("proxy-server");
            }
        },
    }
}

/// The error log's line for a fault, unless whoever found it has written one.
fn report(room: &Room, req: &Request, fault: &Fault) {
    let verdict = answer::judge(fault);
    if let Some(why) = verdict.proxy {
        let target = String::from_utf8_lossy(&req.target.raw_path);
        let text = format!("AH00898: {why} returned by {target}");
        return say(room, req, level::ERROR, "proxy", fault.os, &text);
    }
    let ours = matches!(fault.phase, Phase::RequestHead | Phase::Mapping);
    if !ours || fault.detail.is_empty() {
        return;
    }
    let level = match verdict.status {
        500.. if fault.origin != Origin::Client => level::ERROR,
        _ if fault.detail.starts_with("AH10244") => level::ERROR,
        _ => level::INFO,
    };
    say(room, req, level, "core", fault.os, &fault.detail);
}

/// What `--explain` shows: the request as far as it gets without a backend, each step, and how it
/// would end if not at a handler. Access rules that need a name are judged as if there were none.
pub fn explain(
    routes: &Routes,
    head: RequestHead,
    info: ConnInfo,
) -> (Request, Vec<Step>, Result<(), String>) {
    routes.trace.start();
    let mut req = super::begin::begin(routes, head, info);
    let end = explained(routes, &mut req).map_err(|stop| match stop {
        Stop::Fault(fault) => {
            let status = answer::judge(&fault).status;
            match fault.detail.is_empty() {
                true => format!("answered {status}"),
                false => format!("answered {status}: {}", fault.detail),
            }
        }
        Stop::Redirect(status, location) => {
            format!("redirected ({status}) to {}", shown(&location))
        }
        Stop::Answer(answer) => format!("answered {}", answer.head.status),
    });
    (req, routes.trace.finish(), end)
}

fn explained(routes: &Routes, req: &mut Request) -> Result<(), Stop> {
    if let Some(fault) = req.refused.take() {
        return Err(fault.into());
    }
    setenv::set_env_if(req, &routes.server(req.server).base.set_env_if)?;
    mapping(routes, req)?;
    section_variables(routes.server(req.server), req)?;
    admit::without_names(routes, req)?;
    fix_up(routes, req)?;
    choose_handler(req);
    routes.trace.note(|| format!("handler: {}", req.handler));
    Ok(())
}
