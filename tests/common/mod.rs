//! What the end-to-end tests share: a muster of their own, backends that record what they get, a
//! client that speaks bytes, and waiting for conditions. Everything ends by `Drop`, by pid.
// Each test program uses a part of it.
#![allow(dead_code, unused_imports)]

pub mod backend;
pub mod client;
pub mod load;
pub mod oracle;
pub mod server;
pub mod wait;

pub use backend::Backend;
pub use client::{Client, Response, get};
pub use server::{Server, free_port};
pub use wait::{eventually, wait_for};
