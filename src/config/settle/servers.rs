//! What virtual hosts take over from the main server (spec: config 4.1, 6).

use std::time::Duration;

use super::workers::Place;
use crate::config::draft::{Draft, ServerDraft};
use crate::config::frame::Build;
use crate::config::settings::{AccessLog, HeadLimits, HostAddress, ProxyServer, Section, Server};
use crate::ids::{LogNo, ServerNo};

/// Resolves all servers. `places` says which workers and balancers each may use.
pub fn resolve(
    build: &mut Build,
    draft: &mut Draft,
    access: Vec<Vec<AccessLog>>,
    error: Vec<LogNo>,
    places: Vec<Place>,
) -> Vec<Server> {
    let fallback = fallback_name(build, draft);
    let drafts = std::mem::take(&mut draft.servers);
    let mut out: Vec<Server> = Vec::with_capacity(drafts.len());
    let parts = drafts.into_iter().zip(access).zip(error).zip(places);
    for (i, (((own, access), error), place)) in parts.enumerate() {
        let no = ServerNo(u16::try_from(i).unwrap_or(u16::MAX));
        let keep_alive_from = first_of_bucket(&out, &own.addresses);
        let inherited = Inherited {
            main: out.first(),
            keep_alive_timeout: keep_alive_from.map(|s| s.keep_alive_timeout),
            fallback: &fallback,
        };
        let server = server(build, no, own, &inherited, access, error, place);
        out.push(server);
    }
    out
}

/// What stands behind a server that says nothing itself.
struct Inherited<'a> {
    main: Option<&'a Server>,
    keep_alive_timeout: Option<Duration>,
    fallback: &'a str,
}

fn server(
    build: &Build,
    no: ServerNo,
    own: ServerDraft,
    from: &Inherited<'_>,
    access_logs: Vec<AccessLog>,
    error_log: LogNo,
    place: Place,
) -> Server {
    let main = from.main;
    // `own`, else the main server's resolved value, else the default.
    macro_rules! value {
        ($field:ident, $default:expr) => {
            own.$field
                .or_else(|| main.map(|m| m.$field.clone()))
                .unwrap_or_else(|| $default)
        };
    }
    let limits = limits(&own, main);
    let timeout = value!(timeout, Duration::from_secs(60));
    let name_is_set = own.name.is_some() || main.is_some_and(|m| m.name_is_set);
    // A ServerName without a port means the scheme's default, whatever the tag says.
    let port = match &own.name {
        Some((_, _, port)) => *port,
        None => own.addresses.first().and_then(|a| a.port),
    };
    let (scheme, name) = match own.name {
        Some((scheme, host, _)) => (scheme, host),
        None => (
            None,
            main.map_or_else(|| from.fallback.to_string(), |m| m.name.clone()),
        ),
    };
    let base = match main {
        Some(m) => m.base.merged(&own.base),
        None => own.base,
    };
    let inherited: &[Section] = main.map_or(&[], |m| &m.sections);
    let sections = inherited.iter().cloned().chain(own.sections).collect();
    let document_root = own.document_root.map(|(path, _)| path);
    let default_root = || build.facts.server_root.join("htdocs");
    Server {
        no,
        span: own.span,
        addresses: own.addresses,
        name,
        name_is_set,
        port,
        scheme: scheme.unwrap_or_else(|| "http".into()),
        aliases: own.aliases,
        wild_aliases: own.wild_aliases,
        server_path: own.server_path,
        admin: own.admin.or_else(|| main.and_then(|m| m.admin.clone())),
        document_root: document_root
            .or_else(|| main.map(|m| m.document_root.clone()))
            .unwrap_or_else(default_root),
        timeout,
        keep_alive: value!(keep_alive, true),
        keep_alive_timeout: own
            .keep_alive_timeout
            .or(from.keep_alive_timeout)
            .or_else(|| main.map(|m| m.keep_alive_timeout))
            .unwrap_or(Duration::from_secs(5)),
        max_keep_alive_requests: value!(max_keep_alive_requests, 100),
        limits,
        read_timeout: value!(read_timeout, Default::default()),
        // Never inherited: each merge overwrites it in httpd.
        encoded_slashes: own.encoded_slashes.unwrap_or_default(),
        merge_slashes: value!(merge_slashes, true),
        physical_port: value!(physical_port, false),
        strict_host_check: value!(strict_host_check, false),
        trace: value!(trace, Default::default()),
        internal_recursion: value!(internal_recursion, 10),
        error_log,
        error_log_format: own
            .error_log_format
            .or_else(|| main.and_then(|m| m.error_log_format.clone())),
        access_logs,
        base,
        sections,
        proxy: proxy(own.proxy, main.map(|m| &m.proxy), timeout, place),
    }
}

fn limits(own: &ServerDraft, main: Option<&Server>) -> HeadLimits {
    let base = main.map_or_else(HeadLimits::default, |m| m.limits);
    HeadLimits {
        line: own.limit_line.unwrap_or(base.line),
        field: own.limit_field.unwrap_or(base.field),
        fields: own.limit_fields.unwrap_or(base.fields),
    }
}

fn proxy(
    own: crate::config::draft::ProxyDraft,
    main: Option<&ProxyServer>,
    timeout: Duration,
    place: Place,
) -> ProxyServer {
    macro_rules! value {
        ($field:ident, $default:expr) => {
            own.$field
                .or_else(|| main.map(|m| m.$field))
                .unwrap_or_else(|| $default)
        };
    }
    let rules = main.map_or(&[][..], |m| &m.rules);
    let expressions = main.map_or(&[][..], |m| &m.health_expressions);
    let block = main.map_or(&[][..], |m| &m.block);
    let said = own.timeout.or(place.main_timeout);
    ProxyServer {
        // The main server's lines come first, always (spec: balancer 1.4).
        rules: rules.iter().cloned().chain(own.rules).collect(),
        workers: place.workers,
        balancers: place.balancers,
        via: value!(via, Default::default()),
        timeout: said.unwrap_or(timeout),
        io_buffer: value!(io_buffer, 8192),
        receive_buffer: value!(receive_buffer, 0),
        bad_header: value!(bad_header, Default::default()),
        max_forwards: own
            .max_forwards
            .unwrap_or_else(|| main.and_then(|m| m.max_forwards)),
        status: value!(status, Default::default()),
        source_address: own
            .source_address
            .or_else(|| main.and_then(|m| m.source_address)),
        block: block.iter().cloned().chain(own.block).collect(),
        balancer_inherit: value!(balancer_inherit, true),
        pass_inherit: value!(pass_inherit, true),
        // Not inherited (spec: balancer 1.4).
        persist: own.persist.unwrap_or(false),
        health_expressions: expressions
            .iter()
            .cloned()
            .chain(own.health_expressions)
            .collect(),
    }
}

/// A virtual host without a KeepAliveTimeout of its own has that of the first one with the same
/// address, since the connection was accepted for that one.
fn first_of_bucket<'a>(before: &'a [Server], addresses: &[HostAddress]) -> Option<&'a Server> {
    let same = |a: &HostAddress, b: &HostAddress| a.ip == b.ip && a.port == b.port;
    let hosts = before.iter().skip(1);
    hosts.into_iter().find(|s| {
        s.addresses
            .iter()
            .any(|a| addresses.iter().any(|b| same(a, b)))
    })
}

/// The name of this machine where the configuration gives none.
fn fallback_name(build: &mut Build, draft: &Draft) -> String {
    let host = nix::unistd::gethostname()
        .ok()
        .and_then(|n| n.into_string().ok())
        .filter(|n| !n.is_empty())
        .unwrap_or_else(|| "localhost".into())
        .to_ascii_lowercase();
    if draft.servers[0].name.is_none() {
        build.span = draft.servers[0].span.clone();
        let program = build.facts.program.clone();
        build.note(format!(
            "AH00558: {program}: Could not reliably determine the server's fully qualified domain name, using {host}. Set the 'ServerName' directive globally to suppress this message"
        ));
    }
    host
}
