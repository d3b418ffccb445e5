//! All log targets of one generation behind one cheap handle.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use parking_lot::Mutex;

use super::access::{Format, Record, Side};
use super::error_format::{ErrorFormat, Message, write_default};
use super::level;
use super::program::CommandLine;
use super::subject::Subject;
use super::target::{Sink, Target, shown};
use super::throttle::Throttle;
use crate::clock;
use crate::config::layer::LogLevels;
use crate::config::settings::{LogTarget, Server, Settings};
use crate::ids::{LogNo, ServerNo};

/// A log that could not be opened, or a format that is wrong.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {reason}")]
pub struct LogError {
    /// The target, with the directive's place where known.
    pub what: String,
    /// Why.
    pub reason: String,
}

/// A program that a log is piped to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// The log.
    pub log: LogNo,
    /// Its process.
    pub pid: i32,
}

/// How long a program may take to end once its input has ended.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often to look whether it has.
const GLANCE: Duration = Duration::from_millis(2);

/// All targets of one generation; a cheap handle.
#[derive(Clone)]
pub struct Logs(Arc<Inner>);

struct Inner {
    targets: Vec<Mutex<Target>>,
    servers: Vec<ServerLogs>,
    throttle: Mutex<Throttle>,
    /// Some target may have something to write.
    dirty: AtomicBool,
}

/// What one server writes, and where.
struct ServerLogs {
    name: String,
    error: LogNo,
    format: Option<ErrorFormat>,
    levels: Option<LogLevels>,
    access: Vec<AccessOut>,
}

struct AccessOut {
    target: LogNo,
    format: Format,
    /// A variable's name, and whether it must be set.
    condition: Option<(String, bool)>,
}

impl Logs {
    /// Opens all targets and starts the programs; for the supervisor, before the first fork.
    ///
    /// # Errors
    /// The first target that cannot be opened, or format that does not compile. What was opened
    /// before is closed again, which ends the programs.
    pub fn open(settings: &Settings) -> Result<Logs, LogError> {
        let servers = settings.servers.iter().map(server_logs);
        let servers = servers.collect::<Result<Vec<_>, _>>()?;
        let mut targets = Vec::with_capacity(settings.log_targets.len());
        for (i, target) in settings.log_targets.iter().enumerate() {
            let opened = Target::open(target).map_err(|e| LogError {
                what: cannot_open(settings, i, target),
                reason: e.to_string(),
            })?;
            targets.push(Mutex::new(opened));
        }
        Ok(Logs::new(targets, servers))
    }

    /// Logs that go nowhere but standard error, for tests and before the configuration is known.
    pub fn stderr() -> Logs {
        let target = Target::new("standard error".into(), Sink::Stderr);
        let server = ServerLogs {
            name: String::new(),
            error: LogNo(0),
            format: None,
            levels: None,
            access: Vec::new(),
        };
        Logs::new(vec![Mutex::new(target)], vec![server])
    }

    fn new(targets: Vec<Mutex<Target>>, servers: Vec<ServerLogs>) -> Logs {
        Logs(Arc::new(Inner {
            targets,
            servers,
            throttle: Mutex::default(),
            dirty: AtomicBool::new(false),
        }))
    }

    /// Tries what `open` does without leaving a trace (`muster -t`): formats compile, directories
    /// and programs are there.
    pub fn check(settings: &Settings) -> Vec<LogError> {
        let formats = settings.servers.iter().filter_map(|s| server_logs(s).err());
        let targets = settings.log_targets.iter().enumerate();
        let targets = targets.filter_map(|(i, target)| {
            check_target(target).err().map(|reason| LogError {
                what: cannot_open(settings, i, target),
                reason,
            })
        });
        formats.chain(targets).collect()
    }

    /// Forgets the parent's lines and closes what only the supervisor needs; a child calls it right
    /// after its fork.
    pub fn after_fork(&self) {
        for target in &self.0.targets {
            let mut target = target.lock();
            target.forget();
            if let Sink::Program(piped) = &mut target.sink {
                piped.reader = None;
                piped.pid = None;
            }
        }
        *self.0.throttle.lock() = Throttle::default();
        self.0.dirty.store(false, Ordering::Relaxed);
    }

    /// The programs as they were last started.
    pub fn programs(&self) -> Vec<Program> {
        let each = self.0.targets.iter().enumerate();
        each.filter_map(|(i, target)| match &target.lock().sink {
            Sink::Program(piped) => piped.pid.map(|pid| Program {
                log: LogNo(i as u16),
                pid,
            }),
            _ => None,
        })
        .collect()
    }

    /// Starts the program of a log again on the same pipe, after the supervisor reaped it.
    pub fn restart_program(&self, log: LogNo) -> Result<Program, LogError> {
        let error = |what: &str, reason: String| LogError {
            what: what.to_string(),
            reason,
        };
        let Some(target) = self.0.targets.get(log.index()) else {
            return Err(error("no log has this number", log.to_string()));
        };
        let mut target = target.lock();
        let name = target.name.clone();
        match &mut target.sink {
            Sink::Program(piped) => match piped.spawn() {
                Ok(pid) => Ok(Program { log, pid }),
                Err(e) => Err(error(&piped.line.shown(), e.to_string())),
            },
            _ => Err(error(&name, "this log is no program".into())),
        }
    }

    /// Ends all programs (the supervisor, once a generation is gone): their input ends, so that they
    /// can write what they have read; one that is still there after two seconds gets TERM. Lines
    /// written later are lost.
    pub fn stop_programs(&self) {
        let mut alive = self.programs();
        for target in &self.0.targets {
            let mut target = target.lock();
            if matches!(target.sink, Sink::Program(_)) {
                target.sink = Sink::Closed;
            }
        }
        let end = clock::read_mono() + PATIENCE;
        loop {
            alive.retain(|program| is_ours(program.pid));
            if alive.is_empty() || clock::read_mono() >= end {
                break;
            }
            std::thread::sleep(GLANCE);
        }
        for program in alive {
            let _ = kill(Pid::from_raw(program.pid), Signal::SIGTERM);
        }
    }

    /// Puts a line, which ends in a line feed and holds no other, into the target's buffer.
    pub fn write(&self, log: LogNo, line: &[u8]) {
        self.line(log, level::INFO, |out| out.extend_from_slice(line));
    }

    fn line(&self, log: LogNo, level: u8, write: impl FnOnce(&mut Vec<u8>)) {
        if let Some(target) = self.0.targets.get(log.index()) {
            target.lock().line(level, write);
            self.0.dirty.store(true, Ordering::Relaxed);
        }
    }

    /// Writes the buffers out, never blocking. Once per turn of the loop.
    pub fn flush(&self) {
        if !self.0.dirty.load(Ordering::Relaxed) {
            return;
        }
        let now = clock::now();
        let due = self.0.throttle.lock().due(now);
        for (count, about) in due {
            let text = about.held_back(count);
            self.say(
                about.server,
                about.level,
                &about.module,
                &Subject::default(),
                &text,
            );
        }
        let mut rest = self.0.throttle.lock().is_pending();
        let mut recovered = Vec::new();
        for target in &self.0.targets {
            let mut target = target.lock();
            if let Some(lines) = target.flush(now) {
                recovered.push((target.name.clone(), lines));
            }
            rest |= !target.is_empty();
        }
        self.0.dirty.store(rest, Ordering::Relaxed);
        for (name, lines) in recovered {
            let text = format!("the log {name} takes lines again; {lines} were lost");
            self.say(ServerNo(0), level::WARN, "core", &Subject::default(), &text);
        }
    }

    /// Lines lost so far because a target did not take them.
    pub fn dropped(&self) -> u64 {
        self.0.targets.iter().map(|t| t.lock().lost).sum()
    }

    /// Would a message of this level and module be written?
    pub fn enabled(
        &self,
        server: ServerNo,
        levels: Option<&LogLevels>,
        level: u8,
        module: &str,
    ) -> bool {
        let Some(server) = self.server(server) else {
            return false;
        };
        let own = || level::effective(levels.or(server.levels.as_ref()), module);
        level <= own() || (level == level::NOTICE && !self.is_syslog(server.error))
    }

    /// The most talkative level that a module of the main server has.
    pub(super) fn highest(&self) -> u8 {
        let levels = self.0.servers.first().and_then(|s| s.levels.as_ref());
        level::highest(levels)
    }

    /// Writes the finished exchange to every access log of the server whose condition holds.
    pub fn access(&self, server: ServerNo, record: &dyn Record) {
        let Some(server) = self.server(server) else {
            return;
        };
        for log in &server.access {
            let wanted = log
                .condition
                .as_ref()
                .is_none_or(|(name, set)| record.env(Side::Final, name).is_some() == *set);
            if wanted {
                self.line(log.target, level::INFO, |out| log.format.write(out, record));
            }
        }
    }

    /// A message that has passed its level; see [`super::event`].
    pub(super) fn event(
        &self,
        server: ServerNo,
        level: u8,
        module: &str,
        subject: &Subject<'_>,
        text: &str,
    ) {
        let client = subject.client.map(|a| a.ip());
        let admitted = level >= level::DEBUG || {
            let mut throttle = self.0.throttle.lock();
            throttle.admit(clock::now(), server, level, module, client, text)
        };
        match admitted {
            true => self.say(server, level, module, subject, text),
            // `flush` tells later how many there were.
            false => self.0.dirty.store(true, Ordering::Relaxed),
        }
    }

    /// A message that is written whatever was said before.
    pub(super) fn say(
        &self,
        server: ServerNo,
        level: u8,
        module: &str,
        subject: &Subject<'_>,
        text: &str,
    ) {
        let Some(server) = self.server(server) else {
            return;
        };
        let message = Message {
            level,
            module,
            subject,
            server: &server.name,
            text,
            with_time: !self.is_syslog(server.error),
        };
        self.line(server.error, level, |out| match &server.format {
            Some(format) => format.write(out, &message),
            None => write_default(out, &message),
        });
    }

    fn server(&self, no: ServerNo) -> Option<&ServerLogs> {
        let servers = &self.0.servers;
        servers.get(no.index()).or(servers.first())
    }

    fn is_syslog(&self, log: LogNo) -> bool {
        let target = self.0.targets.get(log.index());
        target.is_some_and(|t| matches!(t.lock().sink, Sink::Syslog(_)))
    }
}

impl fmt::Debug for Logs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.targets.iter().map(|t| t.lock().name.clone());
        f.debug_list().entries(names).finish()
    }
}

/// Whether this is a living child of ours: a number that was reaped may be someone else's by now.
fn is_ours(pid: i32) -> bool {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    let found = waitid(Id::Pid(Pid::from_raw(pid)), flags);
    matches!(found, Ok(WaitStatus::StillAlive))
}

fn server_logs(server: &Server) -> Result<ServerLogs, LogError> {
    let error = |what: String, reason| LogError { what, reason };
    let format = server.error_log_format.as_deref().map(ErrorFormat::compile);
    let format = format
        .transpose()
        .map_err(|e| error(format!("ErrorLogFormat of {}", server.span), e))?;
    let mut access = Vec::with_capacity(server.access_logs.len());
    for log in &server.access_logs {
        access.push(AccessOut {
            target: log.target,
            format: Format::compile(&log.format).map_err(|e| error(log.span.to_string(), e))?,
            condition: log.condition.clone(),
        });
    }
    Ok(ServerLogs {
        name: server.name.clone(),
        error: server.error_log,
        format,
        levels: server.base.log_level.clone(),
        access,
    })
}

/// The beginning of a fault: which log, and the line that asks for it where that is known.
fn cannot_open(settings: &Settings, i: usize, target: &LogTarget) -> String {
    let logs = settings.servers.iter().flat_map(|s| &s.access_logs);
    let place = match logs.into_iter().find(|l| usize::from(l.target.0) == i) {
        Some(log) => format!(" (asked for at {})", log.span),
        None => String::new(),
    };
    format!("cannot open the log {}{place}", shown(target))
}

fn check_target(target: &LogTarget) -> Result<(), String> {
    match target {
        LogTarget::File(path) => {
            if path.is_dir() {
                return Err("it is a directory".into());
            }
            match path.parent() {
                Some(dir) if !dir.is_dir() => {
                    Err(format!("there is no directory {}", dir.display()))
                }
                _ => Ok(()),
            }
        }
        LogTarget::Pipe(words) => CommandLine::Words(words.clone()).check(),
        LogTarget::Syslog { facility, .. } => match super::syslog::facility(facility) {
            Some(_) => Ok(()),
            None => Err(format!("syslog has no facility {facility}")),
        },
        LogTarget::ShellPipe(_) | LogTarget::Stderr => Ok(()),
    }
}

#[cfg(test)]
mod tests;
