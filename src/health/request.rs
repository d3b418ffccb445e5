//! The bytes of a check (spec: health 2): a request line and, in every version, `Host` with the
//! port; nothing else.

use crate::config::health::HealthMethod;
use crate::upstream::upstreams::host_field;

/// The request that `method` sends; `None` for those that send none.
pub fn request(
    method: HealthMethod,
    host: &str,
    port: u16,
    path: &str,
    uri: &str,
) -> Option<Vec<u8>> {
    let (word, minor) = match method {
        HealthMethod::None | HealthMethod::Tcp => return None,
        HealthMethod::Options => ("OPTIONS", 0),
        HealthMethod::Head => ("HEAD", 0),
        HealthMethod::Get => ("GET", 0),
        HealthMethod::Options11 => ("OPTIONS", 1),
        HealthMethod::Head11 => ("HEAD", 1),
        HealthMethod::Get11 => ("GET", 1),
    };
    let target = match word {
        "OPTIONS" => "*".to_string(),
        _ => joined(path, uri),
    };
    let mut out = format!("{word} {target} HTTP/1.{minor}\r\nHost: ").into_bytes();
    out.extend_from_slice(&host_field(host, Some(port)));
    out.extend_from_slice(b"\r\n\r\n");
    Some(out)
}

/// The member's path and `hcuri` with exactly one slash between them. A `?` begins the query.
fn joined(path: &str, uri: &str) -> String {
    let (path, query) = match path.find('?') {
        // The check's own query replaces the member's.
        Some(at) if uri.is_empty() => path.split_at(at),
        Some(at) => (&path[..at], ""),
        None => (path, ""),
    };
    let mut out = String::from(path);
    if uri.starts_with('?') {
        if out.is_empty() {
            out.push('/');
        }
        return out + uri;
    }
    if !uri.is_empty() {
        let base = out.trim_end_matches('/').len();
        out.truncate(base);
        out.push('/');
        out.push_str(uri.trim_start_matches('/'));
    }
    if !out.starts_with('/') {
        out.insert(0, '/');
    }
    out + query
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_with_one_slash() {
        for (path, uri, want) in [
            ("", "/h1", "/h1"),
            ("/app", "/h2", "/app/h2"),
            ("/app2/", "h3", "/app2/h3"),
            ("/app2/", "/h3", "/app2/h3"),
            ("/app", "", "/app"),
            ("/app/", "", "/app/"),
            ("", "", "/"),
            ("", "h", "/h"),
            ("/app", "?x=/1", "/app?x=/1"),
            ("", "?x", "/?x"),
            ("/app", "/h?a=//b", "/app/h?a=//b"),
            ("/app?q=1", "", "/app?q=1"),
            ("/app?q=1", "/h", "/app/h"),
        ] {
            assert_eq!(joined(path, uri), want, "{path} {uri}");
        }
    }

    #[test]
    fn the_bytes_of_each_method() {
        let of =
            |method| request(method, "h", 80, "/app", "/up").map(|b| String::from_utf8(b).unwrap());
        let text = |line: &str| Some(format!("{line}\r\nHost: h:80\r\n\r\n"));
        assert_eq!(of(HealthMethod::None), None);
        assert_eq!(of(HealthMethod::Tcp), None);
        assert_eq!(of(HealthMethod::Options), text("OPTIONS * HTTP/1.0"));
        assert_eq!(of(HealthMethod::Options11), text("OPTIONS * HTTP/1.1"));
        assert_eq!(of(HealthMethod::Head), text("HEAD /app/up HTTP/1.0"));
        assert_eq!(of(HealthMethod::Head11), text("HEAD /app/up HTTP/1.1"));
        assert_eq!(of(HealthMethod::Get), text("GET /app/up HTTP/1.0"));
        assert_eq!(of(HealthMethod::Get11), text("GET /app/up HTTP/1.1"));
        let six = request(HealthMethod::Get, "::1", 81, "", "").unwrap();
        assert_eq!(six, b"GET / HTTP/1.0\r\nHost: [::1]:81\r\n\r\n");
    }
}
