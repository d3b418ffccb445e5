//! `ProxyPassReverse`: URLs of backends in answers become URLs of ours (spec: proxy 7.1).

use crate::balancer::Balancing;
use crate::config::layer::ReverseRule;
use crate::config::settings::Server;
use crate::request::Env;
use crate::request::map::interpolated;

/// The fields that hold such a URL; nothing else is looked at.
pub const FIELDS: [&str; 4] = ["Location", "Content-Location", "URI", "Destination"];

/// Our path for a backend's URL or path: the fake path of the first rule that is a prefix of it,
/// and the rest. `None`: no rule, leave it alone.
///
/// `env`: the request's variables, where `${NAME}` in rules is to be replaced.
pub fn public_path(
    balancing: &Balancing,
    server: &Server,
    rules: &[ReverseRule],
    env: Option<&Env>,
    value: &[u8],
) -> Option<Vec<u8>> {
    rules.iter().find_map(|rule| {
        let text = |text: &'_ str| match env.filter(|_| rule.interpolate) {
            Some(env) => interpolated(text.as_bytes(), env).into_owned(),
            None => text.as_bytes().to_vec(),
        };
        let (real, fake) = (text(&rule.real), text(&rule.fake));
        let (real, fake) = (real.as_slice(), fake.as_slice());
        if starts_ignoring_case(real, b"balancer://") {
            return member_rest(balancing, server, real, value).map(|rest| joined(fake, rest));
        }
        let rest = match real.starts_with(b"/") {
            // Only the path counts, whatever host it stands on.
            true => strip(path_of(value)?, real)?,
            false => strip(value, real)?,
        };
        Some([fake, rest].concat())
    })
}

/// With one slash where the two meet: members and balancers are written with and without one.
fn joined(fake: &[u8], rest: &[u8]) -> Vec<u8> {
    match (fake.ends_with(b"/"), rest.first()) {
        (true, Some(b'/')) => [fake, &rest[1..]].concat(),
        (false, Some(b)) if !matches!(b, b'/' | b'?' | b'#') => [fake, b"/", rest].concat(),
        _ => [fake, rest].concat(),
    }
}

/// A balancer's rule holds for the URL of each of its members, with the rule's own path behind it.
fn member_rest<'a>(
    balancing: &Balancing,
    server: &Server,
    real: &[u8],
    value: &'a [u8],
) -> Option<&'a [u8]> {
    let end = real[11..]
        .iter()
        .position(|&b| b == b'/')
        .map_or(real.len(), |i| 11 + i);
    let (name, path) = real.split_at(end);
    let mut balancers = server.proxy.balancers.iter();
    let balancer =
        balancers.find(|&&no| balancing.name(no).as_bytes().eq_ignore_ascii_case(name))?;
    balancing.members(*balancer).into_iter().find_map(|no| {
        let member = balancing.worker(no).name.as_bytes();
        // The path behind the balancer's name has a slash of its own; alone it says nothing.
        match path {
            b"" | b"/" => strip(value, member),
            path => strip(
                strip(value, member.strip_suffix(b"/").unwrap_or(member))?,
                path,
            ),
        }
    })
}

fn strip<'a>(value: &'a [u8], prefix: &[u8]) -> Option<&'a [u8]> {
    starts_ignoring_case(value, prefix).then(|| &value[prefix.len()..])
}

fn starts_ignoring_case(value: &[u8], prefix: &[u8]) -> bool {
    value.len() >= prefix.len() && value[..prefix.len()].eq_ignore_ascii_case(prefix)
}

/// The path (and what follows) of an absolute URL, or a value that is a path itself.
fn path_of(value: &[u8]) -> Option<&[u8]> {
    if value.starts_with(b"//") {
        return None;
    }
    if value.starts_with(b"/") {
        return Some(value);
    }
    let start = memchr::memmem::find(value, b"://")? + 3;
    let scheme = &value[..start - 3];
    if scheme.is_empty() || !scheme.iter().all(u8::is_ascii_alphanumeric) {
        return None;
    }
    let slash = value[start..].iter().position(|&b| b == b'/')?;
    Some(&value[start + slash..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_rule_is_a_plain_prefix_in_any_case() {
        let left = |real: &str, value: &'static str| {
            strip(value.as_bytes(), real.as_bytes()).map(|r| String::from_utf8(r.to_vec()).unwrap())
        };
        assert_eq!(left("http://h/b", "HTTP://H/bxyz"), Some("xyz".into()));
        assert_eq!(left("http://h/", "http://h:80/"), None);
        assert_eq!(left("http://h/", "http://h"), None);
    }

    #[test]
    fn one_slash_joins_a_balancers_paths() {
        assert_eq!(joined(b"/lb/", b"/a"), b"/lb/a");
        assert_eq!(joined(b"/lb", b"/a"), b"/lb/a");
        assert_eq!(joined(b"/lb", b"a"), b"/lb/a");
        assert_eq!(joined(b"/lb/", b"a"), b"/lb/a");
        assert_eq!(joined(b"/lb", b""), b"/lb");
        assert_eq!(joined(b"/lb", b"?q"), b"/lb?q");
    }

    #[test]
    fn a_path_rule_looks_at_the_path_only() {
        assert_eq!(path_of(b"http://other/b/q"), Some(&b"/b/q"[..]));
        assert_eq!(path_of(b"/b/q"), Some(&b"/b/q"[..]));
        assert_eq!(path_of(b"//host/b"), None);
        assert_eq!(path_of(b"http://h"), None);
        assert_eq!(path_of(b"b/q"), None);
    }
}
