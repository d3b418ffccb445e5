//! Starting, stopping, and who may be signalled.

mod common;
