//! Conditional requests (RFC 9110 13) and entity tags.

use crate::codec::date::parse_http_date;
use crate::codec::fields::{Fields, trim};
use crate::codec::http1::head::Method;

/// What a file is compared by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validators {
    /// The entity tag as sent, with its quotes; `None` where `FileETag None` is set.
    pub etag: Option<String>,
    /// Seconds since 1970 of the last change.
    pub modified: i64,
}

/// What the conditions come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Answer as usual.
    Proceed,
    /// 304
    NotModified,
    /// 412
    Failed,
}

/// Judges the conditions in the order of RFC 9110 13.2.2. `now`: seconds since 1970.
pub fn judge(method: &Method, fields: &Fields, file: &Validators, now: i64) -> Verdict {
    let reading = matches!(method, Method::Get | Method::Head);
    if fields.contains("If-Match") {
        if !tag_matches(fields, "If-Match", file, true) {
            return Verdict::Failed;
        }
    } else if let Some(since) = fields.get("If-Unmodified-Since").and_then(parse_http_date)
        && file.modified > since
    {
        return Verdict::Failed;
    }
    if fields.contains("If-None-Match") {
        if tag_matches(fields, "If-None-Match", file, false) {
            return match reading {
                true => Verdict::NotModified,
                false => Verdict::Failed,
            };
        }
    } else if reading
        && let Some(since) = fields.get("If-Modified-Since").and_then(parse_http_date)
        // A date in the future is no date that an answer ever had.
        && since >= file.modified
        && since <= now
    {
        return Verdict::NotModified;
    }
    Verdict::Proceed
}

/// Whether a Range field may be looked at: there is no If-Range, or it names this very file.
pub fn range_applies(fields: &Fields, file: &Validators) -> bool {
    let Some(value) = fields.get("If-Range") else {
        return true;
    };
    match value.first() {
        Some(b'"') => file
            .etag
            .as_deref()
            .is_some_and(|tag| tag.as_bytes() == value),
        // A weak tag never says that bytes are the same.
        Some(b'W') if value.starts_with(b"W/") => false,
        _ => parse_http_date(value) == Some(file.modified),
    }
}

/// Whether a list of entity tags holds the file's. `strong`: weak tags never match (RFC 9110 8.8.3.2).
fn tag_matches(fields: &Fields, name: &str, file: &Validators, strong: bool) -> bool {
    fields.get_all(name).any(|list| {
        let mut rest = trim(list);
        if rest == b"*" {
            return true;
        }
        while !rest.is_empty() {
            let (weak, tagged) = match rest.strip_prefix(b"W/") {
                Some(after) => (true, after),
                None => (false, rest),
            };
            let close = match tagged.split_first() {
                Some((b'"', inner)) => inner.iter().position(|&b| b == b'"'),
                _ => None,
            };
            let Some(close) = close else {
                return false;
            };
            let (opaque, after) = tagged.split_at(close + 2);
            if let Some(own) = file.etag.as_deref() {
                let own_weak = own.starts_with("W/");
                let own_opaque = own.trim_start_matches("W/").as_bytes();
                if own_opaque == opaque && !(strong && (weak || own_weak)) {
                    return true;
                }
            }
            rest = trim(after);
            rest = trim(rest.strip_prefix(b",").unwrap_or(rest));
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "Wed, 01 Jan 2020 00:00:00 GMT";
    const MODIFIED: i64 = 1_577_836_800;
    const NOW: i64 = 1_796_056_392;

    fn file(etag: &str) -> Validators {
        Validators {
            etag: Some(etag.to_string()),
            modified: MODIFIED,
        }
    }

    fn fields(list: &[(&str, &str)]) -> Fields {
        let mut fields = Fields::default();
        for (name, value) in list {
            fields.push(name.as_bytes(), value.as_bytes());
        }
        fields
    }

    #[test]
    fn tags() {
        let get = |name: &str, value: &str, etag: &str| {
            judge(&Method::Get, &fields(&[(name, value)]), &file(etag), NOW)
        };
        for list in [
            "\"a\"",
            "*",
            "\"x\", \"a\"",
            "W/\"a\"",
            "\"x\" ,W/\"a\"",
            "\",\",\"a\"",
        ] {
            assert_eq!(
                get("If-None-Match", list, "\"a\""),
                Verdict::NotModified,
                "{list}"
            );
        }
        for list in ["\"b\"", "a", "", "\"a", "x\"a\"", "\"b\" junk \"a\"x"] {
            assert_eq!(get("If-Match", list, "\"a\""), Verdict::Failed, "{list}");
        }
        assert_eq!(get("If-Match", "\"a\"", "\"a\""), Verdict::Proceed);
        assert_eq!(get("If-Match", "W/\"a\"", "\"a\""), Verdict::Failed);
        assert_eq!(get("If-Match", "\"a\"", "W/\"a\""), Verdict::Failed);
        assert_eq!(
            get("If-None-Match", "\"a\"", "W/\"a\""),
            Verdict::NotModified
        );
        let post = fields(&[("If-None-Match", "*")]);
        assert_eq!(
            judge(&Method::Post, &post, &file("\"a\""), NOW),
            Verdict::Failed
        );
    }

    #[test]
    fn dates() {
        let get = |list: &[(&str, &str)]| judge(&Method::Get, &fields(list), &file("\"a\""), NOW);
        let future = "Wed, 01 Jan 2070 00:00:00 GMT";
        let before = "Tue, 31 Dec 2019 23:59:59 GMT";
        assert_eq!(get(&[("If-Modified-Since", OLD)]), Verdict::NotModified);
        assert_eq!(get(&[("If-Modified-Since", before)]), Verdict::Proceed);
        assert_eq!(get(&[("If-Modified-Since", future)]), Verdict::Proceed);
        assert_eq!(get(&[("If-Modified-Since", "x")]), Verdict::Proceed);
        assert_eq!(get(&[("If-Unmodified-Since", OLD)]), Verdict::Proceed);
        assert_eq!(get(&[("If-Unmodified-Since", before)]), Verdict::Failed);
        // Tags win over dates.
        assert_eq!(
            get(&[("If-Modified-Since", OLD), ("If-None-Match", "\"b\"")]),
            Verdict::Proceed
        );
        assert_eq!(
            get(&[("If-Unmodified-Since", before), ("If-Match", "\"a\"")]),
            Verdict::Proceed
        );
        let post = fields(&[("If-Modified-Since", OLD)]);
        assert_eq!(
            judge(&Method::Post, &post, &file("\"a\""), NOW),
            Verdict::Proceed
        );
    }

    #[test]
    fn if_range() {
        let applies =
            |value: &str, etag: &str| range_applies(&fields(&[("If-Range", value)]), &file(etag));
        assert!(applies("\"a\"", "\"a\"") && applies(OLD, "\"a\""));
        assert!(
            !applies("\"b\"", "\"a\"") && !applies("W/\"a\"", "W/\"a\"") && !applies("x", "\"a\"")
        );
        assert!(range_applies(&Fields::default(), &file("\"a\"")));
    }
}
