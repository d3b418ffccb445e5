//! What answers a request in the end: each handler gets a request with its body and gives back a
//! head with a source, or a fault that `request::answer` makes a page of.

pub mod heartbeat;
pub mod manager;
pub mod proxy;
pub mod static_file;
pub mod status;

/// When the program's file was made, in seconds since 1970: httpd's `Server Built`.
fn built() -> i64 {
    std::env::current_exe()
        .and_then(std::fs::metadata)
        .and_then(|meta| meta.modified())
        .ok()
        .and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok())
        .map_or(0, |d| d.as_secs() as i64)
}
