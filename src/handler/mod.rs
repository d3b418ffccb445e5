//! What answers a request in the end: each handler gets a request with its body and gives back a
//! head with a source, or a fault that `request::answer` makes a page of.

pub mod heartbeat;
pub mod manager;
pub mod proxy;
pub mod static_file;
pub mod status;
