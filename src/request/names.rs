//! What the server calls itself in redirects, error pages and logs (spec: config 6).

use std::borrow::Cow;

use crate::config::layer::CanonicalName;

use super::request::Request;
use super::room::Routes;

/// The server's own name by UseCanonicalName, without port; IPv6 in brackets.
pub fn self_name<'a>(routes: &'a Routes, req: &'a Request) -> &'a str {
    match canonical(req) {
        CanonicalName::On => {}
        CanonicalName::Off => {
            if let Some(host) = &req.host {
                return &host.host;
            }
        }
        CanonicalName::Dns => {
            if let Some(name) = &req.local_name {
                return name;
            }
        }
    }
    &routes.server(req.server).name
}

/// The server's own port.
pub fn self_port(routes: &Routes, req: &Request) -> u16 {
    let server = routes.server(req.server);
    let standard = default_port(scheme(routes, req));
    let physical = server.physical_port.then(|| req.local.port());
    match canonical(req) {
        CanonicalName::On => server.port.or(physical),
        CanonicalName::Off | CanonicalName::Dns => req
            .host
            .as_ref()
            .and_then(|h| h.port)
            .or(physical)
            .or(server.port),
    }
    .unwrap_or(standard)
}

/// `http` or what ServerName states.
pub fn scheme<'a>(routes: &'a Routes, req: &Request) -> &'a str {
    &routes.server(req.server).scheme
}

/// `name` or `name:port`, the port left out where it is the scheme's own.
pub fn self_authority(routes: &Routes, req: &Request) -> String {
    let (name, port) = (self_name(routes, req), self_port(routes, req));
    if port == default_port(scheme(routes, req)) {
        name.to_string()
    } else {
        format!("{name}:{port}")
    }
}

/// An absolute URL of ours for a path that is already escaped.
pub fn self_url(routes: &Routes, req: &Request, path: &[u8]) -> Vec<u8> {
    let mut url = format!("{}://{}", scheme(routes, req), self_authority(routes, req)).into_bytes();
    url.extend_from_slice(path);
    url
}

/// The same for `%V`, where a borrowed name mostly does.
pub fn canonical_name<'a>(routes: &'a Routes, req: &'a Request) -> Cow<'a, str> {
    Cow::Borrowed(self_name(routes, req))
}

/// 443 for https, else 80.
pub fn default_port(scheme: &str) -> u16 {
    if scheme == "https" { 443 } else { 80 }
}

fn canonical(req: &Request) -> CanonicalName {
    req.layer.canonical_name.unwrap_or_default()
}
