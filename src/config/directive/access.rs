//! Setters: access.

use super::pending;
use crate::config::args::Args;
use crate::config::frame::{Build, Scope};
use crate::config::registry::Opener;

/// The directive of this name.
pub fn require(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn auth_merging(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn order(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn allow(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn deny(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn satisfy(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The section of this name.
pub const REQUIRE_ALL: Opener = Opener {
    open: pending,
    close: pending_close,
};

/// The section of this name.
pub const REQUIRE_ANY: Opener = Opener {
    open: pending,
    close: pending_close,
};

/// The section of this name.
pub const REQUIRE_NONE: Opener = Opener {
    open: pending,
    close: pending_close,
};

fn pending_close(_: &mut Build, _: Scope) -> Result<(), String> {
    Err("not written yet".into())
}
