//! One request from its parsed head to its answer: virtual host, sections, mapping, access,
//! fix-ups, the handler, error pages.
//!
//! Called by `conn` (one call per request) and by `explain`. Handlers and `upstream` use its types;
//! it knows handlers only by the trait. Never touches sockets.

pub mod access;
mod admit;
pub mod alias;
pub mod answer;
pub mod begin;
pub mod body;
pub mod env;
pub mod lookup;
pub mod map;
pub mod methods;
pub mod names;
pub mod page;
pub mod phases;
pub mod record;
pub mod redirect;
#[expect(clippy::module_inception)]
pub mod request;
pub mod room;
pub mod say;
pub mod sections;
pub mod setenv;
pub mod trace;
pub mod vhost;

#[cfg(test)]
mod map_tests;
#[cfg(test)]
mod run_tests;
#[cfg(test)]
mod tests;

pub use answer::{Answer, AnswerBody};
pub use body::RequestBody;
pub use env::Env;
pub use request::{ClientLink, ConnInfo, NoLink, Original, ProxyTarget, Request};
pub use room::{Handler, Handling, Room, Routes};
