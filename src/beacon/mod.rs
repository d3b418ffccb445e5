//! Backends that announce themselves, and this server announcing itself (mod_proxy_beacon).
//!
//! A datagram passes [`receiver`] (socket, checks, counters), then [`membership`] (leases, replay
//! marks, members of the balancer). [`sender`] makes announcements. All of it runs in one child, the
//! watchdog's holder: [`holder`] starts and ends it there. [`announce`] is the same for backends that
//! are no muster, and [`tool`] helps people. The grammar is `codec::beacon`'s, the shared records are
//! `shm`'s.

mod announce;
mod holder;
mod membership;
mod names;
mod receiver;
mod sender;
mod throttle;
mod tool;

pub use announce::main as announce;
pub use holder::Holder;
pub use tool::main as tool;
