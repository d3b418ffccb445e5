//! The file of HeartbeatStorage.

use std::fs;
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::codec::heartbeat::{self, Heartbeat};

/// Larger files are not of our making.
const LARGEST: u64 = 1 << 20;

/// Writes it beside the file, then puts it in its place, so that readers never see half of it.
pub(super) fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".tmp.{}", std::process::id()));
    let beside = PathBuf::from(name);
    let _ = fs::remove_file(&beside);
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o644)
        .open(&beside)?;
    file.write_all(text.as_bytes())?;
    fs::rename(&beside, path)
}

/// What an earlier holder knew, with the time since it was heard; nothing where there is no file.
pub(super) fn read(path: &Path) -> Vec<(IpAddr, Heartbeat, Duration)> {
    let Some(meta) = fs::metadata(path)
        .ok()
        .filter(|m| m.is_file() && m.len() <= LARGEST)
    else {
        return Vec::new();
    };
    let written = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    let Ok(age) = SystemTime::now().duration_since(written) else {
        return Vec::new();
    };
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines = text.lines().filter_map(heartbeat::read_line);
    lines
        .map(|(from, beat, seconds)| (from, beat, age.saturating_add(Duration::from_secs(seconds))))
        .collect()
}
