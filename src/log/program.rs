//! Programs that logs are piped to. The reading end of a program's pipe stays open in the
//! supervisor, so that a program that ended can be started again on the same pipe.

use std::io::{self, PipeReader, PipeWriter};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use nix::fcntl::{FcntlArg, OFlag, fcntl};

/// How a program is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CommandLine {
    /// These words, without a shell.
    Words(Vec<String>),
    /// By `/bin/sh -c`.
    Shell(String),
}

/// A program's pipe.
#[derive(Debug)]
pub(super) struct Piped {
    pub line: CommandLine,
    /// What is written to; does not block.
    pub writer: PipeWriter,
    /// `None` in a child.
    pub reader: Option<PipeReader>,
    pub pid: Option<i32>,
}

impl Piped {
    /// Makes the pipe and starts the program.
    pub fn start(line: CommandLine) -> io::Result<Piped> {
        // Both ends are closed on exec; the program gets a copy of its end as standard input.
        let (reader, writer) = io::pipe()?;
        let flags = OFlag::from_bits_truncate(fcntl(&writer, FcntlArg::F_GETFL)?);
        fcntl(&writer, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
        let mut piped = Piped {
            line,
            writer,
            reader: Some(reader),
            pid: None,
        };
        piped.spawn()?;
        Ok(piped)
    }

    /// Starts the program on the pipe that is there. Whoever reaps processes sees its end.
    pub fn spawn(&mut self) -> io::Result<i32> {
        let Some(reader) = &self.reader else {
            return Err(io::Error::other("only the supervisor starts log programs"));
        };
        let mut command = match &self.line {
            CommandLine::Words(words) => {
                let Some((program, arguments)) = words.split_first() else {
                    return Err(io::Error::other("the program has no name"));
                };
                // httpd does not search PATH either; a root's PATH must not choose the program.
                if !program.contains('/') {
                    return Err(io::Error::other("the program must be named with its path"));
                }
                let mut command = Command::new(program);
                command.args(arguments);
                command
            }
            CommandLine::Shell(text) => {
                let mut command = Command::new("/bin/sh");
                command.arg("-c").arg(text);
                command
            }
        };
        // Out of the terminal's foreground group: an INT there must not end the log before the
        // supervisor has said its last word; the program ends with its input.
        command.process_group(0);
        crate::sys::signal::all_default(&mut command);
        command.stdin(Stdio::from(reader.try_clone()?));
        let child = command.spawn()?;
        let pid = child.id() as i32;
        self.pid = Some(pid);
        Ok(pid)
    }
}

impl CommandLine {
    /// As it was configured, for messages.
    pub fn shown(&self) -> String {
        match self {
            CommandLine::Words(words) => words.join(" "),
            CommandLine::Shell(text) => text.clone(),
        }
    }

    /// Could it be started, as far as can be told without doing it?
    pub fn check(&self) -> Result<(), String> {
        let CommandLine::Words(words) = self else {
            return Ok(());
        };
        let program = words.first().map_or("", String::as_str);
        if !program.contains('/') {
            return Err(format!("name the program with its path, not {program:?}"));
        }
        nix::unistd::access(program, nix::unistd::AccessFlags::X_OK)
            .map_err(|e| format!("the program cannot be run: {}", e.desc()))
    }
}
