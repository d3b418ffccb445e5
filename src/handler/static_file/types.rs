//! What a file's name says of its content (httpd: `modules/http/mod_mime.c`, `find_ct`).

use crate::config::layer::{Layer, MimeKind};

/// Type, languages and codings of a file; `None` for what its name does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// With its charset parameter.
    pub kind: Option<String>,
    /// `Content-Language`
    pub language: Option<String>,
    /// `Content-Encoding`
    pub encoding: Option<String>,
}

/// Looks at every extension of `name` (the last segment of a path) in turn; those that are not
/// known change nothing. `table`: the configuration's types, sorted by extension.
pub fn content(name: &[u8], layer: &Layer, table: &[(String, String)]) -> Content {
    let mut kind: Option<&str> = None;
    let mut charset: Option<&str> = None;
    let mut languages: Vec<&str> = Vec::new();
    let mut encodings: Vec<&str> = Vec::new();
    let start = name.iter().position(|&b| b != b'.').unwrap_or(name.len());
    let extensions = name[start..].split(|&b| b == b'.').skip(1);
    for extension in extensions.filter(|e| !e.is_empty()) {
        let extension = String::from_utf8_lossy(extension).to_ascii_lowercase();
        let added = |list: &'_ [(String, String)], which: MimeKind| {
            let gone = (which, extension.clone());
            if layer.remove_mime.contains(&gone) {
                return None;
            }
            list.iter().rposition(|(e, _)| *e == extension)
        };
        let own_kind = match added(&layer.add_type, MimeKind::Type) {
            Some(i) => Some(layer.add_type[i].1.as_str()),
            // RemoveType also takes what the table of all types says.
            None if layer
                .remove_mime
                .contains(&(MimeKind::Type, extension.clone())) =>
            {
                None
            }
            None => table
                .binary_search_by(|(e, _)| e.as_str().cmp(&extension))
                .ok()
                .map(|i| table[i].1.as_str()),
        };
        let own_charset = added(&layer.add_charset, MimeKind::Charset);
        let own_language = added(&layer.add_language, MimeKind::Language);
        let own_encoding = added(&layer.add_encoding, MimeKind::Encoding);
        kind = own_kind.or(kind);
        charset = own_charset.map_or(charset, |i| Some(&layer.add_charset[i].1));
        languages.extend(own_language.map(|i| layer.add_language[i].1.as_str()));
        encodings.extend(own_encoding.map(|i| layer.add_encoding[i].1.as_str()));
    }
    if let Some(forced) = &layer.force_type
        && forced != "none"
    {
        kind = Some(forced);
    }
    if languages.is_empty() {
        languages.extend(layer.default_language.as_deref());
    }
    let joined = |list: Vec<&str>, by| (!list.is_empty()).then(|| list.join(by));
    Content {
        kind: kind.map(|kind| with_charset(kind, charset, layer.default_charset.as_deref())),
        language: joined(languages, ","),
        encoding: joined(encodings, ", "),
    }
}

/// `AddDefaultCharset` is for plain text and HTML without a charset of their own.
fn with_charset(kind: &str, charset: Option<&str>, default: Option<&str>) -> String {
    if let Some(charset) = charset {
        return format!("{kind}; charset={charset}");
    }
    let bare = kind.split(';').next().unwrap_or(kind).trim();
    let has_one = kind.to_ascii_lowercase().contains("charset=");
    match default {
        Some(charset)
            if !charset.is_empty() && !has_one && matches!(bare, "text/plain" | "text/html") =>
        {
            format!("{kind}; charset={charset}")
        }
        _ => kind.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        let pair = |(a, b): &(&str, &str)| (a.to_string(), b.to_string());
        list.iter().map(pair).collect()
    }

    fn table() -> Vec<(String, String)> {
        pairs(&[
            ("gif", "image/gif"),
            ("gz", "application/gzip"),
            ("html", "text/html"),
            ("txt", "text/plain"),
        ])
    }

    fn layer() -> Layer {
        Layer {
            add_language: pairs(&[("fr", "fr"), ("de", "de")]),
            add_encoding: pairs(&[("gz", "x-gzip")]),
            add_charset: pairs(&[("utf8", "utf-8")]),
            add_type: pairs(&[("x", "app/old"), ("x", "app/x")]),
            ..Layer::default()
        }
    }

    fn of(name: &str, layer: &Layer) -> (Option<String>, Option<String>, Option<String>) {
        let c = content(name.as_bytes(), layer, &table());
        (c.kind, c.language, c.encoding)
    }

    #[test]
    fn every_extension_counts() {
        let l = layer();
        let some = |t: &str| Some(t.to_string());
        assert_eq!(of("a.HTML", &l), (some("text/html"), None, None));
        assert_eq!(
            of("a.html.fr.de", &l),
            (some("text/html"), some("fr,de"), None)
        );
        assert_eq!(
            of("a.utf8.html", &l),
            (some("text/html; charset=utf-8"), None, None)
        );
        assert_eq!(
            of("a.txt.gz", &l),
            (some("application/gzip"), None, some("x-gzip"))
        );
        assert_eq!(
            of("a.gif.fr.bak", &l),
            (some("image/gif"), some("fr"), None)
        );
        assert_eq!(of("a..x", &l), (some("app/x"), None, None));
        for none in ["a", "html", ".html", "..html", "a.", "a.none", ""] {
            assert_eq!(of(none, &l), (None, None, None), "{none}");
        }
    }

    #[test]
    fn directives_change_it() {
        let some = |t: &str| Some(t.to_string());
        let forced = Layer {
            force_type: some("text/plain"),
            default_charset: some("utf-8"),
            default_language: some("en"),
            ..layer()
        };
        assert_eq!(
            of("a.gif", &forced),
            (some("text/plain; charset=utf-8"), some("en"), None)
        );
        let removed = Layer {
            remove_mime: vec![
                (MimeKind::Encoding, "gz".into()),
                (MimeKind::Type, "x".into()),
            ],
            force_type: some("none"),
            default_charset: some(""),
            ..layer()
        };
        assert_eq!(
            of("a.txt.gz", &removed),
            (some("application/gzip"), None, None)
        );
        assert_eq!(of("a.x", &removed), (None, None, None));
        assert_eq!(of("a.html", &removed), (some("text/html"), None, None));
        let default = Layer {
            default_charset: some("utf-8"),
            ..Layer::default()
        };
        assert_eq!(of("a.gif", &default), (some("image/gif"), None, None));
        assert_eq!(
            of("a.html", &default),
            (some("text/html; charset=utf-8"), None, None)
        );
    }
}
