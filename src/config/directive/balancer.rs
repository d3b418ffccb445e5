//! Setters: balancer.

use super::pending;
use crate::config::args::Args;
use crate::config::frame::Build;

/// The directive of this name.
pub fn balancer_member(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn proxy_set(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn balancer_growth(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn balancer_persist(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn balancer_inherit(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}
