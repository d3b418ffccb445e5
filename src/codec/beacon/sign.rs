//! Writing datagrams.

use super::key::{Algorithm, Key};
use super::origin::Origin;

/// Signs with one key and algorithm.
#[derive(Clone, Debug)]
pub struct Signer {
    /// The key.
    pub key: Key,
    /// The algorithm.
    pub algorithm: Algorithm,
}

/// What an announcement says. Texts must be printable ASCII without blanks, since nothing can be
/// quoted; [`Signer::datagram`] replaces what is not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fields<'a> {
    /// The backend that is announced.
    pub origin: Option<&'a Origin>,
    /// The sender's name; empty: `unknown`.
    pub host: &'a str,
    /// Its process.
    pub pid: u32,
    /// Counts its messages.
    pub seq: u64,
    /// Microseconds since 1970; must grow from message to message of a sender.
    pub ts: i64,
    /// `route=`
    pub route: Option<&'a str>,
    /// `loadfactor=` × 100.
    pub load_factor: Option<u32>,
    /// `state=leaving`
    pub leaving: bool,
}

impl Signer {
    /// The whole datagram.
    pub fn datagram(&self, fields: &Fields<'_>) -> Vec<u8> {
        let mut text = String::from("BEACON");
        if let Some(origin) = fields.origin {
            text.push_str(&format!(" url={origin}"));
        }
        let host = if fields.host.is_empty() {
            "unknown".to_owned()
        } else {
            plain(fields.host)
        };
        text.push_str(&format!(
            " host={host} pid={} seq={} ts={}",
            fields.pid, fields.seq, fields.ts
        ));
        if let Some(route) = fields.route {
            text.push_str(&format!(" route={}", plain(route)));
        }
        if let Some(n) = fields.load_factor {
            text.push_str(&format!(" loadfactor={}.{:02}", n / 100, n % 100));
        }
        if fields.leaving {
            text.push_str(" state=leaving");
        }
        let mac = self.key.mac(self.algorithm, text.as_bytes());
        text.push_str(" mac=");
        text.push_str(&mac);
        text.into_bytes()
    }
}

fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_ascii_graphic() { c } else { '_' })
        .collect()
}
