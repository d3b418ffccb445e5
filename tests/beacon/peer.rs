//! A backend that announces itself, written from the description of the format alone.

use std::net::UdpSocket;
use std::time::{SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

const KEY: [u8; 16] = *b"0123456789abcdef";
pub const SECRET: &str = "hex:30313233343536373839616263646566";

/// A peer that knows the format and nothing of the project.
pub struct Peer {
    socket: UdpSocket,
    to: u16,
    pub key: [u8; 16],
    pub last: i64,
}

pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    since.as_micros() as i64
}

impl Peer {
    pub fn new(to: u16) -> Peer {
        Peer {
            socket: UdpSocket::bind("127.0.0.1:0").unwrap(),
            to,
            key: KEY,
            last: 0,
        }
    }

    pub fn sign(&self, text: &str) -> Vec<u8> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).unwrap();
        mac.update(text.as_bytes());
        let digits: String = mac
            .finalize()
            .into_bytes()
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        format!("{text} mac={digits}").into_bytes()
    }

    /// As httpd signs.
    pub fn sign_short(&self, text: &str) -> Vec<u8> {
        let word = siphash(&self.key, text.as_bytes());
        let digits: String = word.to_le_bytes().map(|b| format!("{b:02x}")).concat();
        format!("{text} mac={digits}").into_bytes()
    }

    pub fn text(&mut self, url: &str, more: &str) -> String {
        self.last = now().max(self.last + 1);
        format!(
            "BEACON url={url} host=peer pid=1 seq=1 ts={}{more}",
            self.last
        )
    }

    pub fn send(&self, bytes: &[u8]) {
        self.socket.send_to(bytes, ("127.0.0.1", self.to)).unwrap();
    }

    /// Announces a backend on this machine; the datagram, to send it again.
    pub fn announce(&mut self, port: u16, more: &str) -> Vec<u8> {
        let text = self.text(&format!("http://127.0.0.1:{port}"), more);
        let bytes = self.sign(&text);
        self.send(&bytes);
        bytes
    }
}

/// SipHash-2-4, from its description.
pub fn siphash(key: &[u8; 16], data: &[u8]) -> u64 {
    fn round(v: &mut [u64; 4]) {
        let [a, b, c, d] = v;
        *a = a.wrapping_add(*b);
        *b = b.rotate_left(13) ^ *a;
        *a = a.rotate_left(32);
        *c = c.wrapping_add(*d);
        *d = d.rotate_left(16) ^ *c;
        *a = a.wrapping_add(*d);
        *d = d.rotate_left(21) ^ *a;
        *c = c.wrapping_add(*b);
        *b = b.rotate_left(17) ^ *c;
        *c = c.rotate_left(32);
    }
    let [k0, k1] = [0, 8].map(|i| u64::from_le_bytes(key[i..i + 8].try_into().unwrap()));
    let mut v = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    let mut padded = data.to_vec();
    padded.resize(data.len() / 8 * 8 + 7, 0);
    padded.push(data.len() as u8);
    for word in padded.chunks(8) {
        let word = u64::from_le_bytes(word.try_into().unwrap());
        v[3] ^= word;
        round(&mut v);
        round(&mut v);
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    (0..4).for_each(|_| round(&mut v));
    v[0] ^ v[1] ^ v[2] ^ v[3]
}
