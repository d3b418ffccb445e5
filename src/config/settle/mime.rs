//! The table of types by extension: TypesConfig's file, else the one that is built in.

use std::path::PathBuf;

use crate::config::frame::Build;
use crate::config::span::Span;

/// The project's own table.
const BUILT_IN: &str = include_str!("../../../conf/mime.types");

/// (extension in lower case, type) pairs, sorted by extension; the last line of a file wins.
pub fn types(build: &mut Build, file: Option<(PathBuf, Span)>) -> Vec<(String, String)> {
    let Some((path, span)) = file else {
        return parse(BUILT_IN);
    };
    match std::fs::read(&path) {
        Ok(bytes) => parse(&String::from_utf8_lossy(&bytes)),
        Err(e) => {
            build.span = span;
            build.warn(format!(
                "TypesConfig {}: {e}; the types that are built in are used",
                path.display()
            ));
            parse(BUILT_IN)
        }
    }
}

fn parse(text: &str) -> Vec<(String, String)> {
    let mut out = std::collections::BTreeMap::new();
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        let mut words = line.split_ascii_whitespace();
        let Some(kind) = words.next() else { continue };
        for extension in words {
            out.insert(extension.to_ascii_lowercase(), kind.to_string());
        }
    }
    out.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_line_by_line() {
        let t = parse("# x\ntext/html\thtml htm\n\napplication/x\ntext/x-late HTM\n");
        let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
        assert_eq!(t, [pair("htm", "text/x-late"), pair("html", "text/html")]);
    }

    #[test]
    fn the_built_in_table_has_the_common_types() {
        let t = parse(BUILT_IN);
        for (extension, kind) in [
            ("html", "text/html"),
            ("css", "text/css"),
            ("png", "image/png"),
        ] {
            assert!(
                t.iter().any(|(e, k)| e == extension && k == kind),
                "{extension}"
            );
        }
    }
}
