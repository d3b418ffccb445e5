//! How much a head may hold. Each bound is separate: line, field, number of fields, whole head.

pub use crate::config::settings::{BadHeader, HeadLimits};

/// The most fields a head may have where the configuration sets no limit.
pub const MOST_FIELDS: usize = 1000;

/// The most bytes of a whole head, unless a single line may be longer than that.
pub const MOST_HEAD: usize = 256 * 1024;

/// Empty lines that are skipped before a request line (RFC 9112 2.2 asks for one).
pub const EMPTY_LINES: usize = 4;

/// Bounds of a backend's response head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseLimits {
    /// Bytes of the status line and of each field line (`responsefieldsize`).
    pub field: usize,
    /// Number of fields.
    pub fields: usize,
    /// What a line without a colon means (`ProxyBadHeader`).
    pub bad_header: BadHeader,
}

impl Default for ResponseLimits {
    fn default() -> Self {
        ResponseLimits {
            field: 8192,
            fields: MOST_FIELDS,
            bad_header: BadHeader::IsError,
        }
    }
}
