//! Error log and access log: lines in httpd's layout to files, programs, syslog or standard error.
//!
//! [`Logs`] holds all targets of one generation. The supervisor opens it before it forks, children
//! inherit the descriptors. A line is put into a buffer; `flush`, once per turn of the loop, writes
//! what has come together and never blocks: what a full pipe or disk does not take is dropped and
//! counted. Messages that belong to no request go through the `log` crate's macros with
//! `target: "module"`; those about a request through [`event`].

pub mod access;
pub mod level;

use std::net::SocketAddr;

use crate::config::layer::LogLevels;
use crate::config::settings::Settings;
use crate::ids::{LogNo, ServerNo};

/// Which process writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The supervisor.
    Supervisor,
    /// A child.
    Child,
}

/// What a message is about, besides its text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Subject<'a> {
    /// The client: `[client ip:port]`.
    pub client: Option<SocketAddr>,
    /// The backend's end, where the message is about a backend connection: `[remote ip:port]`.
    pub remote: Option<SocketAddr>,
    /// Our end of the client's connection.
    pub local: Option<SocketAddr>,
    /// The request's Referer.
    pub referer: Option<&'a [u8]>,
    /// The operating system's error number.
    pub os_error: Option<i32>,
    /// Source file and line (`file!()`, `line!()`), shown from level debug on.
    pub source: Option<(&'a str, u32)>,
    /// Requests served before on the connection.
    pub served: Option<u32>,
}

/// A log that could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {reason}")]
pub struct LogError {
    /// The target, with the directive's place where known.
    pub what: String,
    /// Why.
    pub reason: String,
}

/// All targets of one generation; a cheap handle.
#[derive(Clone, Debug)]
pub struct Logs {}

/// A program that a log is piped to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// The log.
    pub log: LogNo,
    /// Its process.
    pub pid: i32,
}

impl Logs {
    /// Opens all targets and starts the programs; for the supervisor, before the first fork.
    pub fn open(settings: &Settings) -> Result<Logs, LogError> {
        let _ = settings;
        todo!()
    }

    /// Logs that go nowhere but standard error, for tests and before the configuration is known.
    pub fn stderr() -> Logs {
        todo!()
    }

    /// Tries everything that `open` does without leaving a trace (`muster -t`): directories exist, files may be written.
    pub fn check(settings: &Settings) -> Vec<LogError> {
        let _ = settings;
        todo!()
    }

    /// Closes what only the supervisor needs; a child calls it right after its fork.
    pub fn after_fork(&self) {}

    /// The programs that run now.
    pub fn programs(&self) -> Vec<Program> {
        todo!()
    }

    /// Starts the program of a log again on the same pipe, after the supervisor reaped it.
    pub fn restart_program(&self, log: LogNo) -> Result<Program, LogError> {
        let _ = log;
        todo!()
    }

    /// Sends TERM to all programs (the supervisor, once a generation is gone).
    pub fn stop_programs(&self) {}

    /// Puts a line, which ends in a line feed and holds no other, into the target's buffer.
    pub fn write(&self, log: LogNo, line: &[u8]) {
        let _ = (log, line);
        todo!()
    }

    /// Writes the buffers out, never blocking.
    pub fn flush(&self) {
        todo!()
    }

    /// Lines lost so far because a target did not take them.
    pub fn dropped(&self) -> u64 {
        todo!()
    }

    /// Would a message of this level and module be written?
    pub fn enabled(
        &self,
        server: ServerNo,
        levels: Option<&LogLevels>,
        level: u8,
        module: &str,
    ) -> bool {
        let _ = (server, levels, level, module);
        todo!()
    }

    /// Writes the finished exchange to every access log of the server whose condition holds.
    pub fn access(&self, server: ServerNo, record: &dyn access::Record) {
        let _ = (server, record);
        todo!()
    }
}

/// Makes `logs` the place of the `log` crate's macros (main server's error log) and sets its level.
/// May be called again, after a fork or with a new generation.
pub fn install(logs: &Logs, settings: &Settings, role: Role) {
    let _ = (logs, settings, role);
    todo!()
}

/// Writes a message to a server's error log. `levels`: the request's merged `LogLevel`, where there
/// is a request; else the server's own hold. `level`: see [`level`]. `text`: one line, any bytes.
pub fn event(
    logs: &Logs,
    server: ServerNo,
    levels: Option<&LogLevels>,
    level: u8,
    module: &str,
    subject: Option<&Subject<'_>>,
    text: &str,
) {
    let _ = (logs, server, levels, level, module, subject, text);
    todo!()
}

/// A notice bound to no request, to the main server's error log (the `log` crate has no such level).
pub fn notice(module: &str, text: &str) {
    let _ = (module, text);
    todo!()
}
