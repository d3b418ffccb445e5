//! Which session a request belongs to (spec: balancer 8).

use crate::config::settings::BalancerParams;

/// A session that a request carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The name it was found under (parameter or cookie).
    pub name: String,
    /// Its route. An empty one (`abc.`) leads nowhere, but httpd's variables tell of the session.
    pub route: Vec<u8>,
}

/// Looks into the URL (path and query), then the cookies (several Cookie lines joined by `, `).
/// `None`: the balancer is not sticky, or there is no session or no route in it.
pub fn find(params: &BalancerParams, url: &[u8], cookie: Option<&[u8]>) -> Option<Session> {
    let (cookie_name, param_name) = params.sticky.as_ref()?;
    // The first value that is found decides, even when there is no route in it.
    let (name, value) = match in_url(url, param_name.as_bytes(), params.scolon_path_delim) {
        Some(value) => (param_name, value),
        None => (cookie_name, in_cookie(cookie?, cookie_name.as_bytes())?),
    };
    let route = match params.sticky_separator {
        None => value,
        Some(separator) => {
            let at = value.iter().position(|&b| b == separator)?;
            &value[at + 1..]
        }
    };
    Some(Session {
        name: name.clone(),
        route: route.to_vec(),
    })
}

/// The value of a path or query parameter. Its name must stand where a parameter may begin (httpd
/// takes it anywhere, so that `xid=` is taken for `id=`).
fn in_url<'a>(url: &'a [u8], name: &[u8], semicolon_ends: bool) -> Option<&'a [u8]> {
    if name.is_empty() {
        return None;
    }
    let query = url.iter().position(|&b| b == b'?').unwrap_or(url.len());
    let mut at = 0;
    while at < url.len() {
        if matches!(url[at], b'/' | b';' | b'?' | b'&')
            && let Some(rest) = url[at + 1..].strip_prefix(name)
            && let Some(value) = rest.strip_prefix(b"=")
        {
            let ends = |b: u8| {
                matches!(b, b'?' | b'&' | b'#')
                    || (b == b'/' && at < query)
                    || (b == b';' && semicolon_ends)
            };
            let end = value.iter().position(|&b| ends(b)).unwrap_or(value.len());
            if end > 0 {
                return Some(&value[..end]);
            }
        }
        at += 1;
    }
    None
}

/// The value of the first cookie of this name. An empty one ends the search.
pub fn in_cookie<'a>(cookies: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    if name.is_empty() {
        return None;
    }
    let blank = |b: &u8| b.is_ascii_whitespace();
    let mut at = 0;
    while at < cookies.len() {
        let starts = at == 0
            || matches!(cookies[at - 1], b';' | b',')
            || cookies[at - 1].is_ascii_whitespace();
        if starts && let Some(rest) = cookies[at..].strip_prefix(name) {
            let blanks = rest.iter().take_while(|b| blank(b)).count();
            if let Some(value) = rest[blanks..].strip_prefix(b"=") {
                let end = value
                    .iter()
                    .position(|b| matches!(b, b';' | b','))
                    .unwrap_or(value.len());
                let value = unquoted(&value[..end]);
                return (!value.is_empty()).then_some(value);
            }
        }
        at += 1;
    }
    None
}

/// Without one pair of double quotes around the whole value (RFC 6265 section 4.1.1 allows them).
fn unquoted(value: &[u8]) -> &[u8] {
    let trimmed = value.trim_ascii();
    match trimmed {
        [b'"', inner @ .., b'"'] => inner,
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(sticky: &str) -> BalancerParams {
        let (cookie, param) = sticky.split_once('|').unwrap_or((sticky, sticky));
        BalancerParams {
            sticky: Some((cookie.into(), param.into())),
            ..BalancerParams::default()
        }
    }

    fn route(p: &BalancerParams, url: &str, cookie: &str) -> Option<String> {
        found(p, url, cookie).filter(|r| !r.is_empty())
    }

    fn found(p: &BalancerParams, url: &str, cookie: &str) -> Option<String> {
        find(
            p,
            url.as_bytes(),
            (!cookie.is_empty()).then_some(cookie.as_bytes()),
        )
        .map(|s| String::from_utf8(s.route).unwrap())
    }

    #[test]
    fn cookies() {
        let p = params("JSESSIONID");
        for (cookie, want) in [
            ("JSESSIONID=abc.b", Some("b")),
            ("JSESSIONID=abc.b; JSESSIONID=abc.c", Some("b")),
            ("XJSESSIONID=abc.b; JSESSIONID=abc.c", Some("c")),
            ("a=1,JSESSIONID=abc.c", Some("c")),
            ("JSESSIONID = abc.b", Some("b")),
            ("JSESSIONID=\"abc.b\"", Some("b")),
            ("JSESSIONID=\"abc.b\"; x", Some("b")),
            ("JSESSIONID=\"abc.b", Some("b")),
            ("JSESSIONID=abc.d.b", Some("d.b")),
            ("JSESSIONID=abc", None),
            ("JSESSIONID=abc.", None),
            ("JSESSIONID=; JSESSIONID=x.r2", None),
            ("jsessionid=abc.b", None),
            ("JSESSIONIDX=abc.b", None),
            ("x=JSESSIONID", None),
            ("", None),
        ] {
            assert_eq!(route(&p, "/", cookie).as_deref(), want, "{cookie}");
        }
    }

    #[test]
    fn an_empty_route_is_told() {
        let p = params("S");
        assert_eq!(found(&p, "/", "S=abc.").as_deref(), Some(""));
        assert_eq!(found(&p, "/", "S=abc"), None);
        assert_eq!(found(&p, "/", "S="), None);
    }

    #[test]
    fn urls() {
        let mut p = params("JSESSIONID|jsessionid");
        p.scolon_path_delim = true;
        for (url, want) in [
            ("/x;jsessionid=abc.node1", Some("node1")),
            ("/x;jsessionid=abc.node1;v=1?z", Some("node1")),
            ("/x?q=1&jsessionid=abc.node1&y=2", Some("node1")),
            ("/x;jsessionid=abc.b/more", Some("b")),
            ("/jsessionid=abc.b", Some("b")),
            ("/x?jsessionid=abc.b/c", Some("b/c")),
            ("/x?jsessionid=abc.b#f", Some("b")),
            ("/x;xjsessionid=abc.b", None),
            ("/x;JSESSIONID=abc.b", None),
            ("/x?jsessionid=", None),
            ("/x?jsessionid=&jsessionid=a.b", Some("b")),
            ("/x?jsessionid", None),
        ] {
            assert_eq!(route(&p, url, "").as_deref(), want, "{url}");
        }
        // The URL wins, even when its value names no route.
        assert_eq!(
            route(&p, "/x;jsessionid=abc.a", "JSESSIONID=abc.b").as_deref(),
            Some("a")
        );
        assert_eq!(route(&p, "/x;jsessionid=abc", "JSESSIONID=abc.b"), None);
        assert_eq!(
            find(&p, b"/", Some(b"JSESSIONID=z.q")).map(|s| s.name),
            Some("JSESSIONID".into())
        );
        p.scolon_path_delim = false;
        assert_eq!(
            route(&p, "/x;jsessionid=abc.b;foo", "").as_deref(),
            Some("b;foo")
        );
    }

    #[test]
    fn separators() {
        let mut p = params("S");
        p.sticky_separator = None;
        assert_eq!(
            route(&p, "/", "S=whole.value").as_deref(),
            Some("whole.value")
        );
        p.sticky_separator = Some(b'!');
        assert_eq!(route(&p, "/", "S=a.b!c").as_deref(), Some("c"));
        p.sticky = None;
        assert_eq!(route(&p, "/", "S=a.b!c"), None);
    }
}
