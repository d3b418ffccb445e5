//! Which files an Include line names (`ap_process_fnmatch_configs` of httpd), and reading them.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::glob;

/// How deep directories may be nested, and files include each other.
pub const MAX_DEPTH: usize = 128;
/// The most files of one configuration.
pub const MAX_FILES: usize = 10_000;
/// The most bytes of one configuration.
pub const MAX_BYTES: usize = 64 << 20;

/// The files in the order in which they are read. The error is a message's text.
///
/// With `optional` what is not there is skipped; what is there and cannot be listed never is.
pub fn find(root: &Path, pattern: &str, optional: bool) -> Result<Vec<PathBuf>, String> {
    let mut out = Vec::new();
    if !glob::is_wild(pattern) {
        place(&root.join(pattern), optional, 0, &mut out)?;
        return Ok(out);
    }
    let (mut base, rest) = match pattern.strip_prefix('/') {
        Some(rest) => (PathBuf::from("/"), rest),
        None => (root.to_path_buf(), pattern),
    };
    let parts: Vec<&str> = rest.split('/').filter(|p| !p.is_empty()).collect();
    let plain = parts.iter().take_while(|p| !glob::is_wild(p)).count();
    base.extend(&parts[..plain]);
    expand(&base, &parts[plain..], optional, &mut out)?;
    Ok(out)
}

/// Follows the rest of a wildcard path; its first part has a wildcard.
fn expand(
    dir: &Path,
    parts: &[&str],
    optional: bool,
    out: &mut Vec<PathBuf>,
) -> Result<(), String> {
    let (part, rest) = match parts {
        [] => return place(dir, optional, 0, out),
        [part, rest @ ..] => (*part, rest),
    };
    if !glob::is_wild(part) {
        return expand(&dir.join(part), rest, optional, out);
    }
    let names = match names(dir) {
        Ok(names) => names,
        Err(e) if optional && is_absent(&e) => return Ok(()),
        Err(e) => {
            return Err(format!(
                "Include/IncludeOptional: Could not open directory {}: {}",
                dir.display(),
                reason(&e)
            ));
        }
    };
    let mut any = false;
    for name in names {
        let hidden = name.starts_with('.') && !part.starts_with('.');
        if hidden || !glob::matches(part.as_bytes(), name.as_bytes(), true) {
            continue;
        }
        let path = dir.join(&name);
        if rest.is_empty() {
            place(&path, optional, 0, out)?;
        } else if path.is_dir() {
            expand(&path, rest, optional, out)?;
        } else {
            continue;
        }
        any = true;
    }
    if !any && !optional {
        return Err(format!(
            "Include/IncludeOptional: No matches for the wildcard '{part}' in '{}', failing",
            dir.display()
        ));
    }
    Ok(())
}

/// A file, or all files below a directory.
fn place(path: &Path, optional: bool, depth: usize, out: &mut Vec<PathBuf>) -> Result<(), String> {
    match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => {
            if depth >= MAX_DEPTH {
                return Err(format!(
                    "Directory {} exceeds the maximum include directory nesting level of \
                     {MAX_DEPTH}. You have probably a recursion somewhere.",
                    path.display()
                ));
            }
            let names = names(path).map_err(|e| {
                format!(
                    "Could not open config directory {}: {}",
                    path.display(),
                    reason(&e)
                )
            })?;
            for name in names {
                place(&path.join(name), optional, depth + 1, out)?;
            }
            Ok(())
        }
        Err(e) if optional && is_absent(&e) => Ok(()),
        // A file that is not there is told by `read`, in the words for the main file too.
        _ if out.len() < MAX_FILES => {
            out.push(path.to_path_buf());
            Ok(())
        }
        _ => Err(format!("more than {MAX_FILES} files, which is too many")),
    }
}

/// The names in a directory in byte order; names that are no UTF-8 are left out.
fn names(dir: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        if let Ok(name) = entry?.file_name().into_string() {
            names.push(name);
        }
        if names.len() > 10 * MAX_FILES {
            return Err(io::Error::other("it holds too many files"));
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// A file's content, at most `room` bytes. The error is a message's text.
pub fn read(path: &Path, room: usize) -> Result<Vec<u8>, String> {
    let shown = path.display();
    let failed =
        |e: &io::Error| format!("Could not open configuration file {shown}: {}", reason(e));
    let meta = fs::metadata(path).map_err(|e| failed(&e))?;
    if !meta.is_file() && path != Path::new("/dev/null") {
        return Err(format!(
            "Could not open configuration file {shown}: it is not a regular file"
        ));
    }
    let mut text = Vec::new();
    let file = fs::File::open(path).map_err(|e| failed(&e))?;
    let mut file = file.take(room as u64 + 1);
    file.read_to_end(&mut text).map_err(|e| failed(&e))?;
    if text.len() > room {
        return Err(format!(
            "Could not read configuration file {shown}: the configuration is larger than {} MiB",
            MAX_BYTES >> 20
        ));
    }
    Ok(text)
}

fn is_absent(e: &io::Error) -> bool {
    matches!(
        e.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// The system's words without Rust's "(os error 2)".
pub fn reason(e: &io::Error) -> String {
    let text = e.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_string(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> PathBuf {
        let dir = std::env::temp_dir().join(format!("muster-include-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        for name in ["a/2.conf", "a/1.conf", "a/.hid", "a/d/x.conf", "b/1.conf"] {
            let path = dir.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        fs::create_dir_all(dir.join("empty")).unwrap();
        dir
    }

    #[test]
    fn files_directories_and_wildcards() {
        let dir = tree();
        let found = |pattern: &str, optional| {
            find(&dir, pattern, optional).map(|files| {
                let cut = |p: &PathBuf| p.strip_prefix(&dir).unwrap().display().to_string();
                files.iter().map(cut).collect::<Vec<_>>().join(" ")
            })
        };
        assert_eq!(
            found("a", false).unwrap(),
            "a/.hid a/1.conf a/2.conf a/d/x.conf"
        );
        assert_eq!(found("a/*.conf", false).unwrap(), "a/1.conf a/2.conf");
        // A plain name behind a wildcard must be there in each directory, as in httpd.
        assert_eq!(
            found("*/1.conf", false).unwrap(),
            "a/1.conf b/1.conf empty/1.conf"
        );
        assert_eq!(found("*/1.conf", true).unwrap(), "a/1.conf b/1.conf");
        assert_eq!(found("[b]/*", false).unwrap(), "b/1.conf");
        assert_eq!(found("empty", false).unwrap(), "");
        assert_eq!(found("none/*.conf", true).unwrap(), "");
        assert_eq!(found("none.conf", true).unwrap(), "");
        assert_eq!(found("none.conf", false).unwrap(), "none.conf");
        assert_eq!(
            found("a/*.x", false).unwrap_err(),
            format!(
                "Include/IncludeOptional: No matches for the wildcard '*.x' in '{}/a', failing",
                dir.display()
            )
        );
        assert!(
            found("none/*.x", false)
                .unwrap_err()
                .ends_with("No such file or directory")
        );
        let missing = read(&dir.join("none.conf"), 10).unwrap_err();
        assert!(
            missing.ends_with("none.conf: No such file or directory"),
            "{missing}"
        );
        fs::remove_dir_all(dir).unwrap();
    }
}
