//! Setters: content.

use super::pending;
use crate::config::args::Args;
use crate::config::frame::Build;

/// The directive of this name.
pub fn options(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn directory_index(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn directory_slash(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn fallback_resource(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn accept_path_info(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn add_type(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn add_language(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn add_charset(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn add_encoding(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn remove_type(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn remove_language(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn remove_charset(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn remove_encoding(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn force_type(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn default_language(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn add_default_charset(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn types_config(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn file_etag(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn max_ranges(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn enable_sendfile(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn set_handler(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn error_document(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn hostname_lookups(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}

/// The directive of this name.
pub fn allow_override(b: &mut Build, args: &Args) -> Result<(), String> {
    pending(b, args)
}
