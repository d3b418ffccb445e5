//! System calls behind safe functions. With `shm` the only place that may hold `unsafe`.
//!
//! Called by every room that meets the kernel; knows nothing of HTTP, configuration or policy.

pub mod fork;
pub mod pidfile;
pub mod privilege;
pub mod signal;
pub mod socket;
pub mod wait;
