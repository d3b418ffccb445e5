//! Levels of messages: httpd's names and numbers.

use crate::config::layer::LogLevels;

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

/// What `LogLevel` gives for a module: its own level, else the plain one, else `warn`.
pub fn effective(levels: Option<&LogLevels>, module: &str) -> u8 {
    let Some(levels) = levels else {
        return WARN;
    };
    let own = levels.modules.iter().rev().find(|(name, _)| name == module);
    own.map(|(_, level)| *level)
        .or(levels.plain)
        .unwrap_or(WARN)
}

/// The most talkative level that any module has.
pub fn highest(levels: Option<&LogLevels>) -> u8 {
    let modules = levels.into_iter().flat_map(|l| &l.modules);
    modules
        .map(|(_, level)| *level)
        .chain([levels.and_then(|l| l.plain).unwrap_or(WARN)])
        .max()
        .unwrap_or(WARN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        assert_eq!(
            (name(3), name(15), name(200)),
            ("error", "trace8", "trace8")
        );
        assert_eq!((number("Warn"), number("trace9")), (Some(4), None));
    }

    #[test]
    fn modules_have_their_own() {
        let levels = LogLevels {
            plain: Some(INFO),
            modules: vec![("proxy".into(), DEBUG), ("proxy".into(), TRACE1)],
        };
        assert_eq!(effective(Some(&levels), "proxy"), TRACE1);
        assert_eq!(effective(Some(&levels), "core"), INFO);
        assert_eq!(effective(None, "core"), WARN);
        assert_eq!((highest(Some(&levels)), highest(None)), (TRACE1, WARN));
    }
}
