//! The shape of the source tree: who may import whom, where `unsafe` may stand, how long files get.

use std::fs;
use std::path::{Path, PathBuf};

/// Each room with the rooms of the crate that it may use. Lower rooms never import upper ones.
const ROOMS: &[(&str, &str)] = &[
    ("ids", ""),
    ("clock", ""),
    ("fault", ""),
    ("body", "fault"),
    ("codec", "clock config fault ids"),
    ("config", "codec expr fault ids log"),
    ("expr", "config"),
    ("log", "clock codec config ids sys"),
    ("sys", "clock ids"),
    ("shm", "clock codec config ids sys"),
    ("balancer", "clock config fault ids shm"),
    ("reactor", "body clock fault ids sys"),
    ("jobs", "clock reactor shm"),
    (
        "request",
        "balancer body clock codec config fault ids log reactor shm sys",
    ),
    (
        "upstream",
        "balancer body clock codec config fault ids log reactor request shm sys",
    ),
    (
        "handler",
        "balancer body clock codec config fault health ids log reactor request shm sys upstream",
    ),
    ("beacon", "clock codec config ids jobs log reactor shm sys"),
    (
        "conn",
        "body clock codec config fault ids log reactor request shm sys",
    ),
    (
        "health",
        "clock codec config expr ids jobs reactor shm sys upstream",
    ),
    (
        "child",
        "balancer beacon clock codec config conn fault handler health ids jobs log reactor request shm supervisor sys upstream",
    ),
    ("supervisor", "clock config fault ids log shm sys"),
    (
        "explain",
        "balancer body clock codec config fault handler ids log request shm sys",
    ),
    (
        "cli",
        "beacon child clock config explain ids log shm supervisor sys",
    ),
    ("main", "child cli supervisor"),
    ("lib", ""),
];

/// Rooms in which `unsafe` may stand.
const UNSAFE: &[&str] = &["sys", "shm"];

/// Files are mostly 100 to 500 lines; above this a file has more than one subject.
const LONGEST: usize = 900;

fn sources() -> Vec<(String, PathBuf, String)> {
    fn walk(dir: &Path, out: &mut Vec<PathBuf>) {
        let mut entries: Vec<_> = fs::read_dir(dir)
            .unwrap()
            .map(|e| e.unwrap().path())
            .collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                walk(&path, out);
            } else if path.extension().is_some_and(|e| e == "rs") {
                out.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    walk(&root, &mut files);
    files
        .into_iter()
        .map(|path| {
            let below = path.strip_prefix(&root).unwrap();
            let first = below
                .components()
                .next()
                .unwrap()
                .as_os_str()
                .to_string_lossy();
            let room = first.trim_end_matches(".rs").to_string();
            let text = fs::read_to_string(&path).unwrap();
            (room, path, text)
        })
        .collect()
}

/// The text without its inline tests and comments: what the rules are about.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    text.lines()
        .map(|l| l.split("//").next().unwrap())
        .collect::<Vec<_>>()
        .join("\n")
}

fn is_test_file(path: &Path) -> bool {
    path.file_stem()
        .is_some_and(|s| s.to_string_lossy().ends_with("tests"))
        || path.components().any(|c| c.as_os_str() == "tests")
}

#[test]
fn lower_rooms_never_import_upper_ones() {
    let mut wrong = Vec::new();
    for (room, path, text) in sources() {
        if is_test_file(&path) {
            continue;
        }
        let Some((_, allowed)) = ROOMS.iter().find(|(r, _)| *r == room) else {
            wrong.push(format!(
                "{}: the room `{room}` is not in the table",
                path.display()
            ));
            continue;
        };
        let allowed: Vec<_> = allowed.split(' ').collect();
        let code = code(&text);
        for (at, _) in code.match_indices("crate::") {
            let used: String = code[at + 7..]
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                .collect();
            let known = ROOMS.iter().any(|(r, _)| *r == used);
            if known && used != room && !allowed.contains(&used.as_str()) {
                wrong.push(format!(
                    "{}: `{room}` must not use `{used}`",
                    path.display()
                ));
            }
        }
    }
    wrong.dedup();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn unsafe_stands_only_where_it_may() {
    let mut wrong = Vec::new();
    for (room, path, text) in sources() {
        // A word of Content-Security-Policy is none of Rust's.
        let code = code(&text).replace("'unsafe-inline'", "");
        let words = code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let count = words.filter(|w| *w == "unsafe").count();
        if count > 0 && !UNSAFE.contains(&room.as_str()) {
            wrong.push(format!("{}: unsafe outside {UNSAFE:?}", path.display()));
        }
        if count > 0 && !text.contains("SAFETY:") {
            wrong.push(format!(
                "{}: unsafe without a SAFETY comment",
                path.display()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn files_have_one_subject() {
    let long: Vec<_> = sources()
        .into_iter()
        .map(|(_, path, text)| (text.lines().count(), path))
        .filter(|(n, _)| *n > LONGEST)
        .collect();
    assert!(long.is_empty(), "{long:?}");
}

#[test]
fn every_file_says_what_it_is() {
    let silent: Vec<_> = sources()
        .into_iter()
        .filter(|(_, _, text)| !text.starts_with("//!"))
        .map(|(_, p, _)| p)
        .collect();
    assert!(silent.is_empty(), "{silent:?}");
}

#[test]
fn nothing_is_left_undone() {
    let marks = [
        concat!("to", "do!("),
        concat!("unimplemented", "!("),
        concat!("db", "g!("),
    ];
    let left: Vec<_> = sources()
        .into_iter()
        .filter(|(_, _, text)| marks.iter().any(|m| text.contains(m)))
        .map(|(_, p, _)| p)
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
