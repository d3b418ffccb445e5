//! The command line, in httpd's letters, words and exit statuses.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::beacon;
use crate::config::build::{self, Invocation, Loaded};
use crate::config::diagnostic::note_line;
use crate::config::dump::HIDDEN;
use crate::config::settings::{Note, Settings};
use crate::explain;
use crate::log::{Logs, level};
use crate::shm::inspect;
use crate::supervisor::control::{Outcome, Verb, control};
use crate::supervisor::{self, Entry, Options};
use crate::sys::{fork, stdout};

mod dump;
mod parse;

pub use parse::{CommandLine, Usage, parse};

/// Where the configuration is looked for when neither `-d` nor `-f` says.
pub const DEFAULT_ROOT: &str = "/etc/muster";
/// Its main file, below the server root.
pub const DEFAULT_FILE: &str = "muster.conf";
/// The release of httpd whose configuration language is spoken.
pub const LANGUAGE: &str = "Apache/2.4.71";

/// Runs the program; `args` are those behind its name. Gives the exit status.
pub fn main(program: &OsStr, args: &[OsString], entry: Entry) -> i32 {
    let program = Path::new(program)
        .file_name()
        .unwrap_or(OsStr::new("muster"))
        .to_string_lossy()
        .into_owned();
    let line = match parse(args) {
        Ok(line) => line,
        Err(Usage(complaint)) => {
            if let Some(text) = complaint {
                say_error(&format!("{program}: {text}"));
            }
            say_error(&parse::usage(&program));
            return 1;
        }
    };
    if let Some(file) = &line.startup_errors
        && let Err(e) = redirect_errors(file)
    {
        say_error(&format!("{program}: {}: {e}", file.display()));
        return 1;
    }
    if line.version || line.long_version {
        return stdout::print(&version(line.long_version));
    }
    if line.list_modules {
        return stdout::print(&dump::static_modules());
    }
    if line.list_directives {
        return stdout::print(&dump::directives());
    }
    if let Some(words) = &line.announce {
        return beacon::announce(words);
    }
    let invocation = invocation(&line, &program);
    configured(&line, &invocation, entry)
}

/// Everything that needs the configuration.
fn configured(line: &CommandLine, invocation: &Invocation, entry: Entry) -> i32 {
    if let Some(words) = &line.scoreboard {
        return scoreboard(words, invocation);
    }
    if let Some(words) = &line.beacon {
        return beacon::tool(words, || {
            let mut loaded = build::load(invocation);
            let faults = loaded.complaint_lines(&invocation.program);
            loaded.settings.take().ok_or(faults)
        });
    }
    let mut loaded = build::load(invocation);
    let level = line.startup_level.unwrap_or(level::WARN);
    if line.test || line.startup_level.is_some() {
        tell(&loaded.warnings, level);
    }
    let faults = loaded.complaint_lines(&invocation.program);
    let settings = match loaded.settings.take() {
        Some(s) if faults.is_empty() => s,
        _ => {
            faults.iter().for_each(|f| say_error(f));
            return 1;
        }
    };
    let faults = check(&settings);
    if !faults.is_empty() {
        faults.iter().for_each(|f| say_error(f));
        return 1;
    }
    if let Some(url) = &line.explain {
        return explain::main(settings, url);
    }
    if line.test {
        return dumps(line, &settings, &loaded);
    }
    let quiet = line.verb.is_none();
    match control(line.verb.unwrap_or(Verb::Start), &settings) {
        // Without `-k` a running instance is a failure, which taking its pid file will tell.
        Outcome::Done(_) if quiet => {}
        Outcome::Done(text) => {
            return say(text.as_deref());
        }
        Outcome::Failed(text) if !quiet => {
            say_error(&text);
            return 1;
        }
        Outcome::Failed(_) => {}
        Outcome::StartOne(text) => {
            // It is to start, whether or not anybody can read this.
            let _ = say(text.as_deref());
        }
    }
    let hidden = settings
        .defines
        .iter()
        .filter(|(_, v)| v.as_deref() == Some(HIDDEN));
    let hidden: Vec<&str> = hidden.map(|(name, _)| name.as_str()).collect();
    let options = Options {
        foreground: line.foreground,
        single: line.single,
        command_line: line.shown(&hidden),
        detached: false,
    };
    supervisor::run(invocation.clone(), settings, options, entry)
}

/// What a start would find beside the configuration's own faults, without doing anything.
fn check(settings: &Settings) -> Vec<String> {
    let mut faults = Vec::new();
    if let Err(e) = supervisor::check(settings) {
        faults.push(e.to_string());
    }
    faults.extend(Logs::check(settings).iter().map(ToString::to_string));
    if !faults.is_empty() {
        faults.push("AH00014: Configuration check failed".into());
    }
    faults
}

fn dumps(line: &CommandLine, settings: &Settings, loaded: &Loaded) -> i32 {
    let wants = |name: &str| line.defines.iter().any(|d| d == name);
    let mut text = String::new();
    let mut any = false;
    for (name, part) in dump::PARTS {
        if wants(name) {
            any = true;
            text.push_str(&part(settings, loaded));
        }
    }
    if any {
        return stdout::print(&text);
    }
    say_error("Syntax OK");
    0
}

/// `muster scoreboard`: works without a readable configuration when the file is named.
fn scoreboard(words: &[OsString], invocation: &Invocation) -> i32 {
    let loaded = build::load(invocation);
    let path = match &loaded.settings {
        Some(s) => Ok(s.process.scoreboard_file.as_path()),
        None => Err(loaded.complaint_lines(&invocation.program).join("\n")),
    };
    inspect::main(words, path)
}

fn invocation(line: &CommandLine, program: &str) -> Invocation {
    // Made absolute: it is read again after the daemon has left this directory.
    let absolute = |p: &PathBuf| std::path::absolute(p).unwrap_or_else(|_| p.clone());
    Invocation {
        program: program.to_owned(),
        directory: std::env::current_dir().unwrap_or_default(),
        server_root: line.server_root.as_ref().map(absolute),
        file: line.file.clone(),
        before: line.before.clone(),
        after: line.after.clone(),
        defines: line.defines.clone(),
        skip_document_root: line.skip_document_root,
        environment: std::env::vars_os()
            .map(|(k, v)| {
                let text = |s: OsString| s.to_string_lossy().into_owned();
                (text(k), text(v))
            })
            .collect(),
    }
}

fn version(long: bool) -> String {
    let profile = if cfg!(debug_assertions) {
        "for development"
    } else {
        "for production"
    };
    let mut text = format!(
        "Server version: {} (configuration language of {LANGUAGE})\nServer built:   {profile}\n",
        supervisor::PRODUCT
    );
    if long {
        text.push_str(&format!(
            "Architecture:   {}-bit\n\
             Server MPM:     muster\n  \
               threaded:     no\n    \
                 forked:     yes (variable process count)\n\
             Server compiled with....\n \
             -D HTTPD_ROOT=\"{DEFAULT_ROOT}\"\n \
             -D DEFAULT_PIDLOG=\"/run/muster/muster.pid\"\n \
             -D DEFAULT_SCOREBOARD=\"/run/muster/muster.scoreboard\"\n \
             -D DEFAULT_ERRORLOG=\"logs/error_log\"\n \
             -D AP_TYPES_CONFIG_FILE=\"mime.types\"\n \
             -D SERVER_CONFIG_FILE=\"{DEFAULT_FILE}\"\n",
            usize::BITS
        ));
    }
    text
}

/// Shows what is no fault on standard error, as far as `-e` asks for it.
fn tell(notes: &[Note], upto: u8) {
    let weight = |n: &Note| if n.warning { level::WARN } else { level::INFO };
    for n in notes.iter().filter(|n| weight(n) <= upto) {
        say_error(&note_line(n));
    }
}

fn redirect_errors(file: &Path) -> std::io::Result<()> {
    let file = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(file)?;
    fork::redirect(2, &file)
}

fn say(text: Option<&str>) -> i32 {
    text.map_or(0, |text| stdout::print(&format!("{text}\n")))
}

fn say_error(text: &str) {
    let mut err = std::io::stderr().lock();
    // With standard error closed there is nobody to tell.
    let _ = writeln!(err, "{text}");
}
