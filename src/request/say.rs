//! Error-log lines about one request.

use super::request::Request;
use super::room::Room;

/// Writes a line about `req` to its virtual host's error log if `LogLevel` for `module` allows.
/// `level`: 0 emerg ... 3 error, 4 warn, 6 info, 7 debug, 8.. trace. `os`: an errno.
pub fn say(room: &Room, req: &Request, level: u8, module: &str, os: Option<i32>, text: &str) {
    let _ = (room, req, level, module, os, text);
}

/// Whether such a line would be written: ask before formatting an expensive one.
pub fn would_say(room: &Room, req: &Request, level: u8, module: &str) -> bool {
    let _ = (room, req, level, module);
    false
}
