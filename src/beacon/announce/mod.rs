//! `muster announce`: tells proxies of a backend that is no muster, alone or around its command.
//!
//! [`options`] reads the words, [`check`] looks whether the backend answers, [`wire`] signs and
//! sends with what [`secret`] holds, [`run`] follows signals and the command. No loop of ours and no
//! configuration is needed.

mod check;
mod options;
mod run;
mod secret;
mod wire;

use std::ffi::OsString;

use crate::sys::stdout;

/// Runs it with the words behind `announce`; gives the exit status.
pub fn main(words: &[OsString]) -> i32 {
    // Behind `--` it is the command's.
    let mut own = words.iter().take_while(|w| *w != "--");
    if own.any(|w| w == "--help" || w == "-h") {
        return stdout::print(&format!("{}\n", options::HELP));
    }
    let options = match options::parse(words) {
        Ok(options) => options,
        Err(text) => {
            say(&text);
            say(options::USAGE);
            return 2;
        }
    };
    match run::run(options) {
        Ok(code) => code,
        Err(text) => {
            say(&text);
            1
        }
    }
}

/// A line on standard error.
fn say(text: &str) {
    use std::io::Write;
    // With standard error closed there is nobody to tell.
    let _ = writeln!(std::io::stderr().lock(), "muster announce: {text}");
}
