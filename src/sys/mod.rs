//! System calls behind safe functions. With `shm` the only place that may hold `unsafe`.
//!
//! Called by every room that meets the kernel; knows nothing of HTTP, configuration or policy.

pub mod accept;
pub mod epoll;
pub mod filelock;
pub mod fork;
pub mod nudge;
pub mod pidfile;
pub mod privilege;
pub mod record_lock;
pub mod signal;
pub mod socket;
pub mod splice;
pub mod stdout;
pub mod timezone;
pub mod transfer;
pub mod udp;
pub mod wait;
