//! Balancers and workers: `BalancerMember`, `ProxySet`, `<Proxy URL key=value>`, and how they
//! come into being (spec: balancer 1 and 2, proxy 2.1).

use super::pass::warn_of_scheme;
use super::value::number;
use super::{balancer_param, health, worker_param};
use crate::config::args::Args;
use crate::config::draft::{BalancerDraft, WorkerDraft};
use crate::config::frame::Build;
use crate::config::settings::{BalancerParams, SectionKind, WorkerParams};
use crate::config::worker_url::{WorkerUrl, balancer_name, is_balancer};

/// The index of a balancer in the current server's draft.
#[derive(Clone, Copy, Debug)]
pub struct BalancerAt(usize);

type Pairs = [(String, String)];

/// `BalancerMember [balancer://NAME] URL [key=value ...]`
pub fn balancer_member(b: &mut Build, args: &Args) -> Result<(), String> {
    let within = b.within(SectionKind::Proxy).is_some();
    // As in httpd, the argument of whatever section this stands in is the balancer's name.
    let section = match b.within(SectionKind::Proxy) {
        Some(s) => Some(s),
        None => b.scopes.iter().rfind(|s| s.kind.is_some()),
    };
    let in_section = section.is_some();
    let mut balancer = section.map(|s| s.argument.clone());
    let mut url: Option<&str> = None;
    let mut parameters = Vec::new();
    for word in &args.words {
        match pair(word) {
            Some(p) => parameters.push(p),
            None if balancer.is_none() => balancer = Some(word.clone()),
            None if url.is_none() => url = Some(word),
            None if in_section && url.is_some_and(is_balancer) => {
                return Err(format!(
                    "BalancerMember can not have a balancer name when defined in a location; write the line in <Proxy {}> or outside of all sections",
                    url.unwrap_or_default()
                ));
            }
            None if in_section => {
                return Err(format!(
                    "BalancerMember can not have a balancer name when defined in a location; {}",
                    no_pair(word)
                ));
            }
            None => {
                return Err(format!(
                    "Invalid BalancerMember parameter. Parameter must be in the form 'key=value'; {}",
                    no_pair(word)
                ));
            }
        }
    }
    let balancer =
        balancer.ok_or("BalancerMember must define balancer name when outside <Proxy > section")?;
    let url = url.ok_or(
        "BalancerMember must define remote proxy server; outside of <Proxy balancer://NAME> the balancer's name comes first",
    )?;
    let url = WorkerUrl::parse(url).map_err(|e| format!("BalancerMember {e}"))?;
    let at = balancer_mut(b, &balancer).map_err(|e| match in_section && !within {
        true => format!("BalancerMember {e}; write it in <Proxy balancer://NAME>"),
        false => format!("BalancerMember {e}"),
    })?;
    warn_of_scheme(b, &url).map_err(|e| format!("BalancerMember {e}"))?;
    let list = Members::Balancer(at);
    define(b, list, url, &parameters, "BalancerMember")
}

/// `ProxySet [URL] key=value ...`
pub fn proxy_set(b: &mut Build, args: &Args) -> Result<(), String> {
    if let Some(name) = b.within(SectionKind::Proxy).map(|s| s.argument.clone()) {
        return configure(b, &name, &args.words, "ProxySet:");
    }
    let name = args.get(0);
    if is_balancer(name) {
        let parameters = pairs(args.rest(1))?;
        let wanted = balancer_name(name).map_err(|e| format!("ProxySet {e}"))?;
        let found = b
            .server()
            .proxy
            .balancers
            .iter()
            .position(|x| x.name == wanted);
        let at = found.ok_or_else(|| format!("ProxySet can not find '{name}' Balancer."))?;
        return each(b, &parameters, |b, key, value| {
            set_balancer(b, BalancerAt(at), key, value)
                .map_err(|e| named("ProxySet:", &e, key, value, name))
        });
    }
    let url = WorkerUrl::parse(name).ok();
    let found = url.and_then(|url| find(&b.server().proxy.workers, &url));
    let at = found.ok_or_else(|| {
        let hint = match pair(name) {
            Some(_) => {
                " (outside of <Proxy> a URL or balancer://NAME stands in front of the parameters)"
            }
            None => "",
        };
        format!("ProxySet can not find '{name}' Worker.{hint}")
    })?;
    let parameters = pairs(args.rest(1))?;
    each(b, &parameters, |b, key, value| {
        set_worker(b, Members::Plain, at, key, value)
            .map_err(|e| named("ProxySet:", &e, key, value, name))
    })
}

/// Parameters for the target of a `<Proxy>` section, which comes into being when it is unknown.
pub fn configure(b: &mut Build, name: &str, words: &[String], by: &str) -> Result<(), String> {
    let parameters = pairs(words)?;
    if is_balancer(name) {
        let at = balancer_mut(b, name).map_err(|e| format!("{by} {e}"))?;
        return each(b, &parameters, |b, key, value| {
            set_balancer(b, at, key, value).map_err(|e| named(by, &e, key, value, name))
        });
    }
    let url = WorkerUrl::parse(name).map_err(|e| format!("{by} {e}"))?;
    let at = match find(&b.server().proxy.workers, &url) {
        Some(at) => at,
        None => {
            warn_of_scheme(b, &url).map_err(|e| format!("{by} {e}"))?;
            push(b, Members::Plain, url)
        }
    };
    each(b, &parameters, |b, key, value| {
        set_worker(b, Members::Plain, at, key, value).map_err(|e| named(by, &e, key, value, name))
    })
}

/// Applies all parameters of a line, so that one run tells everything that is wrong with it. The
/// last fault is returned, those before it are complained of here.
pub fn each(
    b: &mut Build,
    parameters: &Pairs,
    apply: impl Fn(&mut Build, &str, &str) -> Result<(), String>,
) -> Result<(), String> {
    let mut last = Ok(());
    for (key, value) in parameters {
        if value.starts_with(['"', '\'']) {
            b.warn(format!(
                "{key}={value}: a quote behind the = is part of the value; quote the whole word, as \"{key}=...\""
            ));
        }
        if let Err(text) = apply(b, key, value)
            && let Err(before) = std::mem::replace(&mut last, Err(text))
        {
            b.complain(before);
        }
    }
    last
}

/// httpd's shape of an error about a parameter; what explains it stands at the end.
fn named(by: &str, error: &str, key: &str, value: &str, name: &str) -> String {
    match error.split_once("; ") {
        Some((text, hint)) => format!("{by} {text} {key}={value}; {name} ({hint})"),
        None => format!("{by} {error} {key}={value}; {name}"),
    }
}

/// The shape of an error about a parameter of a line that names its target itself.
pub fn told(by: &str, error: &str, key: &str, value: &str) -> String {
    match error.split_once("; ") {
        Some((text, hint)) => format!("{by} {text} ({key}={value}; {hint})"),
        None => format!("{by} {error} ({key}={value})"),
    }
}

/// `BalancerGrowth n`: there is no way to add balancers, so it only has to be right.
pub fn balancer_growth(_: &mut Build, args: &Args) -> Result<(), String> {
    number::<u32>(args.get(0))
        .filter(|n| *n <= 1000)
        .map(|_| ())
        .ok_or_else(|| "BalancerGrowth must be between 0 and 1000".into())
}

/// `BalancerPersist On|Off`
pub fn balancer_persist(b: &mut Build, args: &Args) -> Result<(), String> {
    b.server().proxy.persist = Some(args.flag());
    Ok(())
}

/// `BalancerInherit On|Off`
pub fn balancer_inherit(b: &mut Build, args: &Args) -> Result<(), String> {
    b.server().proxy.balancer_inherit = Some(args.flag());
    Ok(())
}

/// The balancer with this URL in the current server, made when it is unknown.
pub fn balancer_mut(b: &mut Build, url: &str) -> Result<BalancerAt, String> {
    let name = balancer_name(url)?;
    let span = b.span.clone();
    let list = &mut b.server().proxy.balancers;
    if let Some(at) = list.iter().position(|x| x.name == name) {
        return Ok(BalancerAt(at));
    }
    list.push(BalancerDraft {
        name,
        members: Vec::new(),
        params: BalancerParams::default(),
        written: Vec::new(),
        span,
    });
    Ok(BalancerAt(list.len() - 1))
}

/// Sets one parameter of a balancer.
pub fn set_balancer(b: &mut Build, at: BalancerAt, key: &str, value: &str) -> Result<(), String> {
    let balancer = &mut b.server().proxy.balancers[at.0];
    balancer_param::set(&mut balancer.params, &mut balancer.written, key, value)
}

/// A plain worker with parameters, made when no worker that is there covers its URL.
pub fn worker_with(b: &mut Build, url: WorkerUrl, parameters: &Pairs) -> Result<(), String> {
    define(b, Members::Plain, url, parameters, "ProxyPass")
}

/// A list of workers in the current server's draft.
#[derive(Clone, Copy)]
enum Members {
    Plain,
    Balancer(BalancerAt),
}

fn list(b: &mut Build, which: Members) -> &mut Vec<WorkerDraft> {
    let proxy = &mut b.server().proxy;
    match which {
        Members::Plain => &mut proxy.workers,
        Members::Balancer(at) => &mut proxy.balancers[at.0].members,
    }
}

/// Makes a worker, or shares the one whose name is the longest prefix of the URL.
fn define(
    b: &mut Build,
    which: Members,
    url: WorkerUrl,
    parameters: &Pairs,
    by: &str,
) -> Result<(), String> {
    if let Some(at) = find(list(b, which), &url) {
        let shared = list(b, which)[at].url.name.clone();
        let (sharing, ignoring) = match which {
            Members::Plain => ("AH01145", "AH01146"),
            Members::Balancer(_) => ("AH01149", "AH01150"),
        };
        b.note(format!(
            "{sharing}: Sharing worker '{shared}' instead of creating new worker '{}'",
            url.name
        ));
        return each(b, parameters, |b, key, value| {
            // What is wrong is told even where it would have been ignored.
            set_param(b, &mut WorkerParams::default(), key, value)
                .map_err(|e| told(by, &e, key, value))?;
            b.warn(format!(
                "{ignoring}: Ignoring parameter '{key}={value}' for worker '{shared}' because of worker sharing"
            ));
            Ok(())
        });
    }
    let at = push(b, which, url);
    each(b, parameters, |b, key, value| {
        set_worker(b, which, at, key, value).map_err(|e| told(by, &e, key, value))
    })
}

/// Adds a worker with the defaults that the server gives now; later lines do not reach it.
fn push(b: &mut Build, which: Members, url: WorkerUrl) -> usize {
    let span = b.span.clone();
    let proxy = &b.server().proxy;
    let defaults = WorkerParams::default();
    // A name that the request completes is no fixed peer to keep connections to.
    let reuse = !url.name.contains('$');
    let params = WorkerParams {
        timeout: proxy.timeout,
        io_buffer: proxy.io_buffer.unwrap_or(defaults.io_buffer),
        io_buffer_is_set: proxy.io_buffer.is_some(),
        receive_buffer: proxy.receive_buffer.unwrap_or(defaults.receive_buffer),
        receive_buffer_is_set: proxy.receive_buffer.is_some(),
        reuse,
        ..defaults
    };
    let workers = list(b, which);
    workers.push(WorkerDraft { url, params, span });
    workers.len() - 1
}

/// One parameter; those of health checks need to know what was named before.
fn set_param(
    b: &Build,
    params: &mut WorkerParams,
    key: &str,
    value: &str,
) -> Result<worker_param::Remark, String> {
    if !health::is_key(key) {
        return worker_param::set(params, key, value);
    }
    health::set(b, &mut params.health, key, value)?;
    worker_param::note_written(params, &key.to_ascii_lowercase(), value);
    Ok(None)
}

fn set_worker(
    b: &mut Build,
    which: Members,
    at: usize,
    key: &str,
    value: &str,
) -> Result<(), String> {
    let mut params = std::mem::take(&mut list(b, which)[at].params);
    let result = set_param(b, &mut params, key, value);
    list(b, which)[at].params = params;
    let remark = result?;
    if matches!(which, Members::Plain) && health::is_key(key) {
        b.warn(format!(
            "{key}={value} has no effect: only members of balancers are checked"
        ));
    }
    if let Some(text) = remark {
        b.note(text);
    }
    // A host or port that the request completes can never be kept (`$` in the path alone can).
    let worker = &mut list(b, which)[at];
    if worker.url.name[..worker.url.base_len].contains('$') {
        worker.params.reuse = false;
    }
    Ok(())
}

/// The worker whose name is the longest prefix of the URL that covers its authority.
fn find(workers: &[WorkerDraft], url: &WorkerUrl) -> Option<usize> {
    let mut best: Option<usize> = None;
    for (i, w) in workers.iter().enumerate() {
        let longer = best.is_none_or(|j| workers[j].url.name.len() < w.url.name.len());
        if longer && url.is_under(&w.url.name) {
            best = Some(i);
        }
    }
    best
}

fn pairs(words: &[String]) -> Result<Vec<(String, String)>, String> {
    if words.is_empty() {
        return Err("ProxySet needs key=value".into());
    }
    words
        .iter()
        .map(|w| {
            pair(w).ok_or_else(|| {
                format!(
                    "Invalid ProxySet parameter. Parameter must be in the form 'key=value'; {}",
                    no_pair(w)
                )
            })
        })
        .collect()
}

/// What is wrong with a word that should be `key=value`.
fn no_pair(word: &str) -> String {
    let key = match word.bytes().all(|c| c.is_ascii_alphabetic()) {
        true => word,
        false => "key",
    };
    format!(
        "\"{word}\" is no parameter: write {key}=value without blanks, a value with blanks as \"{key}=a b\""
    )
}

/// `key=value`; a URL with a `=` in it is none.
fn pair(word: &str) -> Option<(String, String)> {
    let (key, value) = word.split_once('=')?;
    let plain = !key.is_empty() && key.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
    plain.then(|| (key.to_string(), value.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(url: &str) -> WorkerDraft {
        WorkerDraft {
            url: WorkerUrl::parse(url).unwrap(),
            params: WorkerParams::default(),
            span: Default::default(),
        }
    }

    #[test]
    fn the_longest_prefix_is_shared() {
        let list = [
            worker("http://h/"),
            worker("http://h/app"),
            worker("http://h:8080"),
        ];
        let at = |u: &str| find(&list, &WorkerUrl::parse(u).unwrap());
        assert_eq!(at("http://h/x"), Some(0));
        assert_eq!(at("http://h/app2"), Some(1));
        assert_eq!(at("http://h:8080/"), Some(2));
        assert_eq!(at("http://h:80/app"), Some(1));
        assert_eq!(at("http://h"), None);
        assert_eq!(at("http://h:808/"), None);
    }

    #[test]
    fn urls_are_no_parameters() {
        assert!(pair("http://h/?a=b").is_none());
        assert_eq!(pair("a=b=c"), Some(("a".into(), "b=c".into())));
    }
}
