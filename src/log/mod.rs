//! Error log and access log: lines in httpd's layout to files, programs, syslog or standard error.
//!
//! [`Logs`] holds all targets of one generation. The supervisor opens it before it forks, children
//! inherit the descriptors. A line is put into a buffer; `flush`, once per turn of the loop, writes
//! what has come together and never blocks: what a full pipe or disk does not take is dropped and
//! counted. Messages that belong to no request go through the `log` crate's macros with
//! `target: "module"`; those about a request through [`event`].

pub mod access;
pub mod error_format;
mod escape;
mod facade;
mod format;
pub mod level;
mod logs;
mod program;
mod subject;
mod syslog;
mod target;
mod throttle;
mod time;
mod write_item;

pub use error_format::ErrorFormat;
pub use facade::{Role, event, install, notice};
pub use logs::{LogError, Logs, Program};
pub use subject::{About, Subject};

/// The time now as the error log shows it, for a line that is written past the logs (a crash).
pub fn stamp_now() -> String {
    let mut out = Vec::new();
    time::write_stamp(&mut out, crate::clock::read_wall(), time::Stamp::Micros);
    String::from_utf8_lossy(&out).into_owned()
}
