//! Keys and the two MACs.

use std::fmt;
use std::hash::Hasher;

use hmac::{Hmac, KeyInit, Mac};
use md5::{Digest, Md5};
use sha2::Sha256;
use siphasher::sip::SipHasher24;
use subtle::ConstantTimeEq;

/// The 16 bytes that announcer and proxy share. Its `Debug` shows nothing of them.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 16]);

/// What is wrong with a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSecret {
    /// Nothing was written.
    #[error("the secret is empty")]
    Empty,
    /// `hex:` and something else than 32 hexadecimal digits.
    #[error("\"hex:\" must be followed by exactly 32 hexadecimal digits")]
    Hex,
}

/// How a datagram is signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// HMAC-SHA-256 (RFC 2104), 64 digits.
    #[default]
    HmacSha256,
    /// SipHash-2-4 with 64 bits, 16 digits: what httpd understands.
    SipHash,
}

/// Which algorithms a receiver takes (`ProxyBeaconMac`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MacPolicy {
    /// HMAC-SHA-256 only.
    #[default]
    HmacSha256,
    /// SipHash only.
    SipHash,
    /// Both, so that a forger needs to beat the weaker one.
    Any,
}

impl MacPolicy {
    /// Whether it takes `algorithm`.
    pub fn accepts(self, algorithm: Algorithm) -> bool {
        match self {
            MacPolicy::Any => true,
            MacPolicy::HmacSha256 => algorithm == Algorithm::HmacSha256,
            MacPolicy::SipHash => algorithm == Algorithm::SipHash,
        }
    }

    /// By its name in the configuration, in any letter case.
    pub fn by_name(name: &str) -> Option<MacPolicy> {
        match name.to_ascii_lowercase().as_str() {
            "hmac-sha256" => Some(MacPolicy::HmacSha256),
            "siphash" => Some(MacPolicy::SipHash),
            "any" => Some(MacPolicy::Any),
            _ => None,
        }
    }
}

impl Algorithm {
    /// How many digits it makes.
    pub fn digits(self) -> usize {
        match self {
            Algorithm::HmacSha256 => 64,
            Algorithm::SipHash => 16,
        }
    }

    /// The one that makes so many digits.
    pub fn of_length(digits: usize) -> Option<Algorithm> {
        [Algorithm::HmacSha256, Algorithm::SipHash]
            .into_iter()
            .find(|a| a.digits() == digits)
    }

    /// Its name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::HmacSha256 => "hmac-sha256",
            Algorithm::SipHash => "siphash",
        }
    }
}

impl Key {
    /// From a secret as it is written: `hex:` and 32 digits are the key itself, any other text is a
    /// passphrase whose MD5 is the key.
    ///
    /// # Errors
    /// An empty text, or `hex:` with anything else behind it.
    pub fn of_secret(secret: &[u8]) -> Result<Key, BadSecret> {
        if secret.is_empty() {
            return Err(BadSecret::Empty);
        }
        let Some(digits) = secret.strip_prefix(b"hex:") else {
            return Ok(Key(Md5::digest(secret).into()));
        };
        let value = |b: u8| (b as char).to_digit(16).map(|n| n as u8);
        if digits.len() != 32 {
            return Err(BadSecret::Hex);
        }
        let mut key = [0; 16];
        for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
            let high = value(pair[0]).ok_or(BadSecret::Hex)?;
            let low = value(pair[1]).ok_or(BadSecret::Hex)?;
            *byte = high << 4 | low;
        }
        Ok(Key(key))
    }

    /// The MAC of `text` as lower-case hexadecimal digits. A 64-bit MAC is written with its lowest
    /// byte first, as httpd does.
    pub fn mac(&self, algorithm: Algorithm, text: &[u8]) -> String {
        match algorithm {
            Algorithm::HmacSha256 => digits(&hmac_sha256(&self.0, text)),
            Algorithm::SipHash => digits(&siphash(&self.0, text)),
        }
    }

    /// Whether `claimed` is the MAC of `text`, in a time that does not depend on where they differ.
    pub fn matches(&self, algorithm: Algorithm, text: &[u8], claimed: &[u8]) -> bool {
        let right = self.mac(algorithm, text);
        right.as_bytes().ct_eq(claimed).into()
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> [u8; 16] {
        self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

pub(super) fn siphash(key: &[u8; 16], text: &[u8]) -> [u8; 8] {
    let mut hasher = SipHasher24::new_with_key(key);
    hasher.write(text);
    hasher.finish().to_le_bytes()
}

pub(super) fn hmac_sha256(key: &[u8], text: &[u8]) -> [u8; 32] {
    // Only `new_from_slice` of a MAC with a fixed key length can fail; HMAC takes any.
    match Hmac::<Sha256>::new_from_slice(key) {
        Ok(mut mac) => {
            mac.update(text);
            mac.finalize().into_bytes().into()
        }
        Err(_) => unreachable!("HMAC takes keys of any length"),
    }
}

pub(super) fn digits(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |n: u8| char::from(DIGITS[usize::from(n & 15)]);
    bytes
        .iter()
        .flat_map(|b| [digit(b >> 4), digit(*b)])
        .collect()
}
