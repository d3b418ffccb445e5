//! Setters: pass.

use super::pending;
use crate::config::args::Args;
use crate::config::frame::Build;

/// The directive of this name.
pub fn proxy_pass(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn proxy_pass_match(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}
