//! What the command line prints: all of it, or a message and an exit status that tell.

use std::io::{self, Write};

/// Writes `text` to standard output; gives the exit status. A reader that went away (`| head`) has
/// all that it wanted; a full disk is told of on standard error.
pub fn print(text: &str) -> i32 {
    match write(text) {
        Ok(()) => 0,
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => 0,
        Err(e) => {
            complain(&format!("muster: cannot write to standard output: {e}"));
            1
        }
    }
}

/// A line on standard error. When it is closed or full there is nobody to tell.
pub fn complain(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// As [`print`], for what prints again and again until nobody reads any more.
///
/// # Errors
/// Of the write.
pub fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}
