//! `muster --explain URL`: how a request for that URL would travel, with every rule that is tried
//! and where it stands. Nothing is sent and nothing is connected to.
//!
//! The mapping is not done again here: [`crate::request::phases::explain`] runs the same code that
//! real requests run and reports its steps. Called by `cli`.

use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;

use crate::body::Length;
use crate::clock;
use crate::codec::http1::head::{Parsed, RequestHead, parse_request};
use crate::codec::http1::limits::HeadLimits;
use crate::config::settings::{Listen, Settings};
use crate::config::span::Span;
use crate::request::phases;
use crate::request::trace::{Step, Verdict};
use crate::request::{ConnInfo, NoLink, Request, Routes};
use crate::sys::stdout;

mod rules;
mod target;

/// Prints the way of a request for `url` to standard output; gives the exit status. What is wrong
/// with the URL is told on standard error.
pub fn main(settings: Settings, url: &str) -> i32 {
    match explain(Rc::new(settings), url) {
        Ok(text) => stdout::print(&text),
        Err(text) => {
            stdout::complain(&format!("--explain {url}: {text}"));
            1
        }
    }
}

/// The whole text, or what is wrong with the URL.
pub fn explain(settings: Rc<Settings>, url: &str) -> Result<String, String> {
    let asked = Asked::parse(&settings, url)?;
    let listen = asked.listener(&settings)?;
    let local = local_address(listen, &asked);
    let client = SocketAddr::new(local.ip(), 0);
    let head = asked.head()?;
    let routes = Routes::new(settings.clone());
    clock::tick();
    let info = ConnInfo {
        client,
        local,
        served: 0,
        received: (clock::now(), clock::wall()),
        body_length: Length::None,
        link: Rc::new(NoLink),
    };
    let (req, steps, end) = phases::explain(&routes, head, info);

    let mut out = String::new();
    let mut line = |label: &str, text: String| {
        let _ = writeln!(out, "{label:<13} {text}");
    };
    line(
        "Request",
        format!("GET {} (Host: {})", asked.target, asked.host),
    );
    line("Listener", shown_listen(listen));
    if listen.protocol == "https" || asked.scheme == "https" {
        line(
            "",
            "TLS is not there in this version of muster: clients are served in plain HTTP".into(),
        );
    }
    line(
        "Client",
        format!(
            "judged as {} (access rules may differ for others)",
            client.ip()
        ),
    );
    let server = routes.server(req.server);
    line("Server", shown_server(&settings, &req));
    for step in &steps {
        line("", shown_step(step));
    }
    for text in rules::effects(&req.layer) {
        line("", text);
    }
    match end {
        Err(text) => line("End", text),
        Ok(()) => target::describe(&settings, server, &req, &mut line),
    }
    Ok(out)
}

/// The URL, taken apart.
struct Asked {
    scheme: String,
    /// As the Host field would carry it.
    host: String,
    /// The host alone, brackets removed.
    name: String,
    port: Option<u16>,
    target: String,
}

impl Asked {
    /// A URL, or only a path: then for the main server at the first listener.
    fn parse(settings: &Settings, url: &str) -> Result<Asked, String> {
        if url.starts_with('/') {
            let name = settings.servers[0].name.clone();
            return Ok(Asked {
                scheme: "http".into(),
                host: name.clone(),
                name,
                port: None,
                target: url.to_string(),
            });
        }
        let (scheme, rest) = url
            .split_once("://")
            .ok_or("write a URL such as http://host/path, or a path")?;
        let scheme = scheme.to_ascii_lowercase();
        if scheme != "http" && scheme != "https" {
            return Err(format!(
                "the scheme must be http or https, not \"{scheme}\""
            ));
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        let target = target.split('#').next().unwrap_or_default();
        let target = match target.as_bytes().first() {
            Some(b'/') => target.to_string(),
            _ => format!("/{target}"),
        };
        let parsed = crate::codec::host::parse_host(authority.as_bytes())
            .map_err(|e| format!("the host \"{authority}\": {}", e.reason))?;
        Ok(Asked {
            scheme,
            host: authority.to_string(),
            name: parsed.host.trim_matches(['[', ']']).to_string(),
            port: parsed.port,
            target,
        })
    }

    /// The listener that a client would reach.
    fn listener<'a>(&self, settings: &'a Settings) -> Result<&'a Listen, String> {
        let first = settings
            .listens
            .first()
            .ok_or("the configuration has no Listen line, so no request ever arrives")?;
        let default = if self.scheme == "https" { 443 } else { 80 };
        let port = self.port.unwrap_or(default);
        let ip: Option<IpAddr> = self.name.parse().ok();
        let fits = |l: &&Listen| {
            l.address.port() == port
                && (l.any
                    || ip.is_none_or(|ip| ip == l.address.ip() || l.address.ip().is_unspecified()))
        };
        match (settings.listens.iter().find(fits), self.port) {
            (Some(listen), _) => Ok(listen),
            // A URL without a port asks about the configuration, not about a port.
            (None, None) => Ok(first),
            (None, Some(port)) => Err(format!("nothing listens on port {port} for {}", self.name)),
        }
    }

    fn head(&self) -> Result<RequestHead, String> {
        let text = format!(
            "GET {} HTTP/1.1\r\nHost: {}\r\n\r\n",
            self.target, self.host
        );
        match parse_request(text.as_bytes(), &HeadLimits::default()) {
            Ok(Parsed::Done { head, .. }) => Ok(head),
            Ok(Parsed::Incomplete) => Err("this makes no complete request".into()),
            Err(e) => Err(format!(
                "a request for it is refused with {}: {}",
                e.status, e.reason
            )),
        }
    }
}

/// The address that the client connected to.
fn local_address(listen: &Listen, asked: &Asked) -> SocketAddr {
    let mut address = listen.address;
    if address.ip().is_unspecified() {
        let wanted = asked
            .name
            .parse()
            .unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        address.set_ip(wanted);
    }
    address
}

fn shown_listen(listen: &Listen) -> String {
    let address = match listen.any {
        true => format!("*:{}", listen.address.port()),
        false => listen.address.to_string(),
    };
    format!("{address} {}  [{}]", listen.protocol, listen.span)
}

fn shown_server(settings: &Settings, req: &Request) -> String {
    let server = settings.server(req.server);
    match server.no.index() {
        0 => format!("main server {}", server.name),
        _ => format!("virtual host {}  [{}]", server.name, server.span),
    }
}

fn shown_step(step: &Step) -> String {
    let verdict = match step.verdict {
        Verdict::Matched => "matches",
        Verdict::Passed => "no     ",
        Verdict::Note => "       ",
    };
    format!("{verdict} {}{}", step.text, at(step.span.as_ref()))
}

/// Where something stands, behind two blanks; nothing for what has no place.
fn at(span: Option<&Span>) -> String {
    match span {
        Some(span) if span.line > 0 => format!("  [{span}]"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
