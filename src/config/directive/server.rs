//! Setters: server.

use super::pending;
use crate::config::args::Args;
use crate::config::frame::Build;

/// The directive of this name.
pub fn server_name(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn server_alias(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn server_path(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn server_admin(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn document_root(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn use_canonical_name(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn use_canonical_physical_port(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn strict_host_check(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn server_signature(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn server_tokens(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn see_request_tail(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}
