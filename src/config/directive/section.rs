//! Setters: section.

use super::pending;
use crate::config::args::Args;
use crate::config::frame::{Build, Scope};
use crate::config::registry::Opener;

/// The section of this name.
pub const VIRTUAL_HOST: Opener = Opener {
    open: pending,
    close: pending_close,
};

/// The section of this name.
pub const LOCATION: Opener = Opener {
    open: pending,
    close: pending_close,
};

/// The section of this name.
pub const LOCATION_MATCH: Opener = Opener {
    open: pending,
    close: pending_close,
};

/// The section of this name.
pub const DIRECTORY: Opener = Opener {
    open: pending,
    close: pending_close,
};

/// The section of this name.
pub const DIRECTORY_MATCH: Opener = Opener {
    open: pending,
    close: pending_close,
};

/// The section of this name.
pub const FILES: Opener = Opener {
    open: pending,
    close: pending_close,
};

/// The section of this name.
pub const FILES_MATCH: Opener = Opener {
    open: pending,
    close: pending_close,
};

/// The section of this name.
pub const PROXY: Opener = Opener {
    open: pending,
    close: pending_close,
};

/// The section of this name.
pub const PROXY_MATCH: Opener = Opener {
    open: pending,
    close: pending_close,
};

/// The section of this name.
pub const LIMIT: Opener = Opener {
    open: pending,
    close: pending_close,
};

/// The section of this name.
pub const LIMIT_EXCEPT: Opener = Opener {
    open: pending,
    close: pending_close,
};

fn pending_close(_: &mut Build, _: Scope) -> Result<(), String> {
    Err("not written yet".into())
}
