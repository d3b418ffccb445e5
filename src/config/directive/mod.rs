//! What each directive does: a file per family. Setters store values in the draft; `settle`
//! applies defaults and inheritance.
//!
//! Setters are named after their directives (`LimitRequestLine`: `limit_request_line`), openers of
//! sections likewise in capitals (`LOCATION_MATCH`).
//!
//! Called by `config::build` through the registry's table. A setter gets words that were counted
//! and unquoted already; it checks values and says in its error what would be right.

use super::args::Args;
use super::frame::Build;
use super::settings::Settings;

pub mod access;
pub mod alias;
pub mod balancer;
pub mod balancer_param;
pub mod beacon;
pub mod content;
pub mod env;
pub mod health;
pub mod heartbeat;
pub mod limits;
pub mod log;
pub mod pass;
pub mod process;
pub mod proxy;
pub mod section;
pub mod server;
pub mod value;
pub mod worker_param;

/// Stands in the table where a setter is not written yet.
pub fn pending(_: &mut Build, _: &Args) -> Result<(), String> {
    Err("not written yet".to_string())
}

/// Makes the settings of what has been collected: defaults, inheritance, numbers, checks over
/// several directives. Complaints go to `build.complaints`; the settings are thrown away then.
pub fn finish(build: &mut Build) -> Settings {
    super::settle::settle(build)
}
