//! `muster scoreboard`: the table read from outside, from a copy of the file.
//!
//! Never takes a lock and never maps the file, so it disturbs nobody and a file that is cut or
//! changed meanwhile harms nothing. Works without a running server.

pub mod beacons;
mod json;
mod people;
mod read;
mod watch;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use read::{InspectError, read};

use super::snapshot::Snapshot;
use crate::sys::stdout;

/// The command `muster scoreboard [--json | --watch] [FILE]`; `default` is the configured
/// ScoreBoardFile, or what is wrong with the configuration. Gives the exit code: 0, 1 when the file cannot be shown, 2 for wrong words.
pub fn main(args: &[OsString], default: Result<&Path, String>) -> i32 {
    let mut json = false;
    let mut watching = false;
    let mut file: Option<PathBuf> = None;
    for arg in args {
        match arg.to_str() {
            Some("--json") => json = true,
            Some("--watch") => watching = true,
            Some("--help" | "-h") => {
                return stdout::print(USAGE);
            }
            Some(word) if word.starts_with("--") => {
                stdout::complain(&format!(
                    "muster scoreboard: unknown word {word}\n{}",
                    USAGE.trim_end()
                ));
                return 2;
            }
            _ if file.is_none() => file = Some(PathBuf::from(arg)),
            _ => {
                stdout::complain(&format!(
                    "muster scoreboard: only one file\n{}",
                    USAGE.trim_end()
                ));
                return 2;
            }
        }
    }
    if json && watching {
        stdout::complain("muster scoreboard: --json or --watch, not both");
        return 2;
    }
    let path = match (file, default) {
        (Some(file), _) => file,
        (None, Ok(default)) => default.to_owned(),
        (None, Err(faults)) => {
            stdout::complain(&format!(
                "{faults}\nmuster scoreboard: where the table is stands in a configuration that cannot be used; name its file"
            ));
            return 1;
        }
    };
    if watching {
        return watch::watch(&path);
    }
    match read(&path) {
        Ok(snapshot) if json => stdout::print(&json::text(&snapshot)),
        Ok(snapshot) => stdout::print(&people::text(&snapshot)),
        Err(e) => {
            stdout::complain(&format!("muster scoreboard: {e}"));
            1
        }
    }
}

const USAGE: &str = "\
usage: muster scoreboard [--json | --watch] [FILE]
  prints what all processes of a running muster are doing, from its ScoreBoardFile
  --json   for programs
  --watch  again each second, until q or Ctrl-C
  FILE     another ScoreBoardFile than the configured one
";

/// Whether the supervisor that wrote the table still runs. It is only looked at, never signalled:
/// the number comes from the file.
fn alive(snapshot: &Snapshot) -> bool {
    snapshot.supervisor > 0 && Path::new(&format!("/proc/{}", snapshot.supervisor)).exists()
}

#[cfg(test)]
mod tests;
