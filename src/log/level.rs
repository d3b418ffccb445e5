//! Levels of messages: httpd's names and numbers.

/// `emerg`: nothing works.
pub const EMERG: u8 = 0;
/// `alert`
pub const ALERT: u8 = 1;
/// `crit`
pub const CRIT: u8 = 2;
/// `error`
pub const ERROR: u8 = 3;
/// `warn`: the default.
pub const WARN: u8 = 4;
/// `notice`: start, stop, reload.
pub const NOTICE: u8 = 5;
/// `info`: also what clients do wrong.
pub const INFO: u8 = 6;
/// `debug`
pub const DEBUG: u8 = 7;
/// `trace1`; `trace8` is 15.
pub const TRACE1: u8 = 8;

const NAMES: [&str; 16] = [
    "emerg", "alert", "crit", "error", "warn", "notice", "info", "debug", "trace1", "trace2",
    "trace3", "trace4", "trace5", "trace6", "trace7", "trace8",
];

/// The name of a level; numbers above `trace8` count as that.
pub fn name(level: u8) -> &'static str {
    NAMES[usize::from(level).min(NAMES.len() - 1)]
}

/// The number of a level's name in any letter case.
pub fn number(name: &str) -> Option<u8> {
    NAMES
        .iter()
        .position(|n| n.eq_ignore_ascii_case(name))
        .map(|i| i as u8)
}
