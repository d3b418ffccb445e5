//! One request from its parsed head to its answer: virtual host, sections, mapping, access,
//! fix-ups, the handler, error pages.
//!
//! Called by `conn` (one call per request) and by `explain`. Handlers and `upstream` use its types;
//! it knows handlers only by the trait. Never touches sockets.

pub mod answer;
pub mod body;
pub mod env;
pub mod phases;
pub mod record;
#[expect(clippy::module_inception)]
pub mod request;
pub mod room;
pub mod say;

pub use answer::{Answer, AnswerBody};
pub use body::RequestBody;
pub use env::Env;
pub use request::{ClientLink, ConnInfo, NoLink, Original, ProxyTarget, Request};
pub use room::{Handler, Handling, Room, Routes};
