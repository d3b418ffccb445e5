//! Announcements of backends: one datagram of text with a MAC at its end (mod_proxy_beacon).
//!
//! [`Key`] comes from the shared secret, [`Signer`] writes datagrams, [`Verifier`] judges what
//! arrived, [`Origin`] is the one spelling of a backend's URL. Sans-IO: the caller brings bytes and
//! the time. Whose member becomes what is the `beacon` room's.

mod key;
mod message;
mod origin;
mod refusal;
mod sign;

#[cfg(test)]
mod tests;

pub use key::{Algorithm, BadSecret, Key, MacPolicy};
pub use message::{Announcement, LONGEST, Verifier};
pub use origin::{Origin, Reach};
pub use refusal::Refusal;
pub use sign::{Fields, Signer};
