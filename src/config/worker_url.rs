//! URLs of workers and balancers: from what was written to the canonical name by which workers
//! are told apart (spec: balancer 2).

use std::path::PathBuf;

/// A backend's URL, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerUrl {
    /// The canonical name: `[unix:PATH|]scheme://[user@]host[:port][/path]`, scheme and host in
    /// lower case, the scheme's default port left out, the path as written.
    pub name: String,
    /// How long `[unix:PATH|]scheme://authority` is: a shorter match is none.
    pub base_len: usize,
    /// Lower case.
    pub scheme: String,
    /// Lower case, an IPv6 address without brackets.
    pub host: String,
    /// As written, else the scheme's default, else 0.
    pub port: u16,
    /// A port that is not the scheme's default was written.
    pub port_is_set: bool,
    /// `unix:PATH|`
    pub unix: Option<PathBuf>,
    /// Path and query as written, possibly empty.
    pub path: String,
}

/// Longest names that httpd's tables hold; muster refuses longer ones.
const MAX_NAME: usize = 383;
const MAX_SCHEME: usize = 15;
const MAX_HOST: usize = 255;
const MAX_UNIX: usize = 95;
const MAX_BALANCER: usize = 95;

impl WorkerUrl {
    /// Takes a URL apart; the error is a clause for people.
    pub fn parse(written: &str) -> Result<WorkerUrl, String> {
        let (unix, url) = split_unix(written)?;
        let Some((scheme, rest)) = split_scheme(url) else {
            return Err(format!(
                "URL must be absolute!: {written} (a scheme such as http:// is missing)"
            ));
        };
        let scheme = scheme.to_ascii_lowercase();
        if scheme.len() > MAX_SCHEME {
            return Err(format!(
                "worker scheme {scheme} is longer than {MAX_SCHEME} characters"
            ));
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let (user, host_port) = match authority.rfind('@') {
            Some(at) => (&authority[..=at], &authority[at + 1..]),
            None => ("", authority),
        };
        let (host, port) = split_port(host_port)?;
        let mut host = host.to_ascii_lowercase();
        if host.is_empty() {
            if unix.is_none() {
                return Err(format!(
                    "URL must be absolute!: {written} (the host is missing)"
                ));
            }
            host = "localhost".into();
        }
        if host.len() > MAX_HOST {
            return Err(format!(
                "worker hostname {host} is longer than {MAX_HOST} characters"
            ));
        }
        let default = default_port(&scheme);
        let port_is_set = port.is_some_and(|p| Some(p) != default);
        let shown_port = match (port, port_is_set) {
            (Some(p), true) => format!(":{p}"),
            _ => String::new(),
        };
        let prefix = unix
            .as_ref()
            .map(|p| format!("unix:{p}|"))
            .unwrap_or_default();
        let base = format!("{prefix}{scheme}://{user}{host}{shown_port}");
        let name = format!("{base}{path}");
        if name.len() - prefix.len() > MAX_NAME {
            return Err(format!("worker name is longer than {MAX_NAME} bytes"));
        }
        Ok(WorkerUrl {
            base_len: base.len(),
            name,
            scheme,
            host: host
                .trim_start_matches('[')
                .trim_end_matches(']')
                .to_string(),
            port: port.or(default).unwrap_or(0),
            port_is_set,
            unix: unix.map(PathBuf::from),
            path: path.to_string(),
        })
    }

    /// Whether a URL that was taken apart falls to the worker called `name`: the name is a prefix
    /// of it that covers at least scheme and authority.
    pub fn is_under(&self, name: &str) -> bool {
        name.len() >= self.base_len && self.name.starts_with(name)
    }
}

/// The port that a scheme implies.
pub fn default_port(scheme: &str) -> Option<u16> {
    Some(match scheme {
        "http" | "ws" | "h2c" => 80,
        "https" | "wss" | "h2" => 443,
        "ftp" => 21,
        "ajp" => 8009,
        "fcgi" => 8000,
        "scgi" => 4000,
        "uwsgi" => 3031,
        _ => return None,
    })
}

/// Is this a balancer's URL (in any letter case)?
pub fn is_balancer(url: &str) -> bool {
    url.get(..11)
        .is_some_and(|s| s.eq_ignore_ascii_case("balancer://"))
}

/// A balancer's name: `balancer://name` in lower case, everything behind the authority cut.
pub fn balancer_name(url: &str) -> Result<String, String> {
    let rest = url
        .get(11..)
        .filter(|_| is_balancer(url))
        .ok_or_else(|| format!("Bad syntax for a balancer name ({url})"))?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    if end == 0 {
        return Err(format!("Bad syntax for a balancer name ({url})"));
    }
    let name = format!("balancer://{}", rest[..end].to_ascii_lowercase());
    if name.len() > MAX_BALANCER {
        return Err(format!(
            "balancer name ({name}) must be shorter than 96 bytes"
        ));
    }
    Ok(name)
}

/// `unix:PATH|` in front of a URL.
fn split_unix(written: &str) -> Result<(Option<String>, &str), String> {
    let is_unix = written
        .get(..5)
        .is_some_and(|s| s.eq_ignore_ascii_case("unix:"));
    if !is_unix {
        return Ok((None, written));
    }
    let Some((path, url)) = written[5..].split_once('|') else {
        return Err(format!(
            "URL must be absolute!: {written} (\"|http://host/\" is missing behind the socket's path)"
        ));
    };
    if path.is_empty() || path.len() > MAX_UNIX {
        return Err(format!(
            "worker uds path (\"{path}\") must have 1 to {MAX_UNIX} bytes"
        ));
    }
    Ok((Some(path.to_string()), url))
}

fn split_scheme(url: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let good = !scheme.is_empty()
        && scheme
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    good.then_some((scheme, rest))
}

fn split_port(host_port: &str) -> Result<(&str, Option<u16>), String> {
    let behind = match host_port.rfind(']') {
        Some(i) => i + 1,
        None => 0,
    };
    let Some(colon) = host_port[behind..].find(':').map(|i| i + behind) else {
        return Ok((host_port, None));
    };
    let (host, port) = (&host_port[..colon], &host_port[colon + 1..]);
    if port.is_empty() {
        return Ok((host, None));
    }
    // A `$1` of ProxyPassMatch stands for a port that only the request knows.
    if port.contains('$') {
        return Ok((host_port, None));
    }
    match port.parse::<u16>() {
        Ok(p) if p > 0 && port.bytes().all(|b| b.is_ascii_digit()) => Ok((host, Some(p))),
        _ => Err(format!(
            "The port number \"{port}\" is outside the appropriate range (i.e., 1..65535)"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(url: &str) -> String {
        WorkerUrl::parse(url).unwrap().name
    }

    #[test]
    fn names_are_canonical() {
        assert_eq!(name("HTTP://App.Test:80/Path?q"), "http://app.test/Path?q");
        assert_eq!(name("http://h"), "http://h");
        assert_eq!(name("http://h/"), "http://h/");
        assert_eq!(name("https://u:p@H:443/"), "https://u:p@h/");
        assert_eq!(name("http://[::1]:8080/x"), "http://[::1]:8080/x");
        assert_eq!(
            name("unix:/run/a.sock|http:///x"),
            "unix:/run/a.sock|http://localhost/x"
        );
    }

    #[test]
    fn parts_are_told_apart() {
        let u = WorkerUrl::parse("http://[::1]:8080/x").unwrap();
        assert_eq!(
            (u.host.as_str(), u.port, u.port_is_set),
            ("::1", 8080, true)
        );
        let u = WorkerUrl::parse("ajp://h/x").unwrap();
        assert_eq!((u.port, u.port_is_set), (8009, false));
        let u = WorkerUrl::parse("http://h:80").unwrap();
        assert_eq!((u.port, u.port_is_set), (80, false));
    }

    #[test]
    fn a_match_never_ends_inside_a_port_or_host() {
        let u = WorkerUrl::parse("http://h:8080/x").unwrap();
        assert!(!u.is_under("http://h:80"));
        assert!(!u.is_under("http://h"));
        assert!(u.is_under("http://h:8080"));
        assert!(u.is_under("http://h:8080/"));
        assert!(!u.is_under("http://h:8080/x/"));
    }

    #[test]
    fn bad_urls_are_refused() {
        for bad in [
            "/x",
            "h:80",
            "http://",
            "http:///x",
            "http://h:0/",
            "http://h:99999",
            "unix:/x",
        ] {
            assert!(WorkerUrl::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn balancer_names_end_at_the_authority() {
        assert_eq!(balancer_name("Balancer://A/b/c").unwrap(), "balancer://a");
        assert!(balancer_name("balancer:///x").is_err());
        assert!(balancer_name(&format!("balancer://{}", "a".repeat(90))).is_err());
    }
}
