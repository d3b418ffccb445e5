//! Messages that are bound to no request: the `log` crate's macros, and what comes before any log
//! is open.

use std::sync::Once;

use ::log::{LevelFilter, Log, Metadata, Record};
use parking_lot::RwLock;

use super::level;
use super::logs::Logs;
use super::subject::Subject;
use crate::config::layer::LogLevels;
use crate::config::settings::Settings;
use crate::ids::ServerNo;
use crate::sys::stdout;

/// Which process writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The supervisor.
    Supervisor,
    /// A child.
    Child,
}

static CURRENT: RwLock<Option<Logs>> = RwLock::new(None);
static FACADE: Facade = Facade;
static ONCE: Once = Once::new();

/// Makes `logs` the place of the `log` crate's macros (main server's error log) and sets its level.
/// May be called again, after a fork or with a new generation.
pub fn install(logs: &Logs, settings: &Settings, role: Role) {
    // Both are part of every line or target already; kept for messages that may want them.
    let _ = (settings, role);
    *CURRENT.write() = Some(logs.clone());
    start();
    ::log::set_max_level(filter(logs.highest().max(level::WARN)));
}

fn start() {
    ONCE.call_once(|| {
        // An error means that a test has set another logger: messages then go there.
        let _ = ::log::set_logger(&FACADE);
    });
}

fn filter(level: u8) -> LevelFilter {
    match level {
        0..=level::ERROR => LevelFilter::Error,
        level::WARN | level::NOTICE => LevelFilter::Warn,
        level::INFO => LevelFilter::Info,
        level::DEBUG => LevelFilter::Debug,
        _ => LevelFilter::Trace,
    }
}

/// Writes a message to a server's error log. `levels`: the request's merged `LogLevel`, where there
/// is a request; else the server's own hold. `level`: see [`level`]. `text`: one line; it is escaped.
pub fn event(
    logs: &Logs,
    server: ServerNo,
    levels: Option<&LogLevels>,
    level: u8,
    module: &str,
    subject: Option<&Subject<'_>>,
    text: &str,
) {
    if logs.enabled(server, levels, level, module) {
        let nothing = Subject::default();
        logs.event(server, level, module, subject.unwrap_or(&nothing), text);
    }
}

/// A notice bound to no request, to the main server's error log (the `log` crate has no such
/// level); to standard error while no log is open.
pub fn notice(module: &str, text: &str) {
    match &*CURRENT.read() {
        Some(logs) => {
            if logs.enabled(ServerNo(0), None, level::NOTICE, module) {
                logs.say(
                    ServerNo(0),
                    level::NOTICE,
                    module,
                    &Subject::default(),
                    text,
                );
            }
        }
        None => stdout::complain(text),
    }
}

struct Facade;

impl Log for Facade {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        match &*CURRENT.read() {
            Some(logs) => logs.enabled(
                ServerNo(0),
                None,
                number(metadata.level()),
                module(metadata.target()),
            ),
            None => metadata.level() <= ::log::Level::Warn,
        }
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let text = record.args().to_string();
        let Some(logs) = CURRENT.read().clone() else {
            stdout::complain(&text);
            return;
        };
        let subject = Subject {
            source: record.file().zip(record.line()),
            ..Subject::default()
        };
        let level = number(record.level());
        logs.event(ServerNo(0), level, module(record.target()), &subject, &text);
    }

    fn flush(&self) {
        if let Some(logs) = &*CURRENT.read() {
            logs.flush();
        }
    }
}

fn number(level: ::log::Level) -> u8 {
    match level {
        ::log::Level::Error => level::ERROR,
        ::log::Level::Warn => level::WARN,
        ::log::Level::Info => level::INFO,
        ::log::Level::Debug => level::DEBUG,
        ::log::Level::Trace => level::TRACE1,
    }
}

/// The module's name: of a message without one, the room that it comes from or the foreign crate.
fn module(target: &str) -> &str {
    let own = target.strip_prefix("muster::").unwrap_or(target);
    own.split("::").next().unwrap_or(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_levels() {
        assert_eq!(module("proxy"), "proxy");
        assert_eq!(module("muster::upstream::reslist"), "upstream");
        assert_eq!(module("mio::poll"), "mio");
        assert_eq!(filter(level::EMERG), LevelFilter::Error);
        assert_eq!(filter(level::NOTICE), LevelFilter::Warn);
        assert_eq!(filter(12), LevelFilter::Trace);
        for l in [::log::Level::Error, ::log::Level::Info, ::log::Level::Trace] {
            assert!(filter(number(l)) >= l);
        }
    }
}
