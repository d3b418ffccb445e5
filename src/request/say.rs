//! Error-log lines about one request.

use crate::log::{self, Subject};

use super::request::Request;
use super::room::Room;

/// Writes a line about `req` to its virtual host's error log if `LogLevel` for `module` allows.
/// `level`: 0 emerg ... 3 error, 4 warn, 6 info, 7 debug, 8.. trace. `os`: an errno.
pub fn say(room: &Room, req: &Request, level: u8, module: &str, os: Option<i32>, text: &str) {
    let levels = req.layer.log_level.as_ref();
    if !room.logs.enabled(req.server, levels, level, module) {
        return;
    }
    let subject = Subject {
        client: Some(req.client),
        local: Some(req.local),
        referer: req.head.fields.get("Referer"),
        os_error: os,
        served: Some(req.served),
        ..Subject::default()
    };
    log::event(
        &room.logs,
        req.server,
        levels,
        level,
        module,
        Some(&subject),
        text,
    );
}

/// Whether such a line would be written: ask before formatting an expensive one.
pub fn would_say(room: &Room, req: &Request, level: u8, module: &str) -> bool {
    let levels = req.layer.log_level.as_ref();
    room.logs.enabled(req.server, levels, level, module)
}
