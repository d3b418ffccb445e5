//! What a receiver makes of a datagram, up to the point where its own table is needed.

use memchr::memmem;

use super::key::{Algorithm, Key, MacPolicy};
use super::origin::Origin;
use super::refusal::Refusal;

/// Bytes of the longest datagram. Read with a larger buffer, so that a longer one is seen as such.
pub const LONGEST: usize = 2048;

/// Letters of a field's name.
const LONGEST_KEY: usize = 32;
/// Digits of a time stamp.
const LONGEST_TS: usize = 18;
/// Bytes of a route, as of BalancerMember's.
const LONGEST_ROUTE: usize = 63;

/// An announcement that passed all checks that need no table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement<'a> {
    /// The text that the MAC covers.
    pub text: &'a [u8],
    /// Who announces itself; `None`: it says only that it lives.
    pub origin: Option<Origin>,
    /// Microseconds since 1970 on the sender's clock.
    pub ts: i64,
    /// `route=`
    pub route: Option<&'a str>,
    /// `loadfactor=` × 100.
    pub load_factor: Option<u32>,
    /// `state=leaving`: it wants no new requests.
    pub leaving: bool,
    /// Which of the receiver's keys signed it.
    pub key: usize,
    /// With which algorithm.
    pub algorithm: Algorithm,
}

/// How datagrams are judged.
#[derive(Clone, Debug)]
pub struct Verifier {
    /// The keys that are accepted, the newest first.
    pub keys: Vec<Key>,
    /// The algorithms that are accepted.
    pub policy: MacPolicy,
    /// How far the sender's clock may be off, in microseconds.
    pub max_skew: i64,
}

impl Verifier {
    /// Judges one datagram at `now` (microseconds since 1970). The first check that fails decides;
    /// before the MAC was found right nothing of the content is looked at.
    ///
    /// # Errors
    /// The check that failed.
    pub fn judge<'a>(&self, datagram: &'a [u8], now: i64) -> Result<Announcement<'a>, Refusal> {
        if datagram.is_empty() {
            return Err(Refusal::Empty);
        }
        if datagram.len() > LONGEST {
            return Err(Refusal::Oversized);
        }
        if memchr::memchr(0, datagram).is_some() {
            return Err(Refusal::Nul);
        }
        let at = memmem::rfind(datagram, b" mac=").ok_or(Refusal::NoMac)?;
        let (text, claimed) = (&datagram[..at], &datagram[at + 5..]);
        let algorithm = Algorithm::of_length(claimed.len()).ok_or(Refusal::MacLength)?;
        if !self.policy.accepts(algorithm) {
            return Err(Refusal::MacAlgorithm);
        }
        // All keys are tried, so that the time does not tell which one fits.
        let mut key = None;
        for (i, candidate) in self.keys.iter().enumerate().rev() {
            if candidate.matches(algorithm, text, claimed) {
                key = Some(i);
            }
        }
        let key = key.ok_or(Refusal::MacMismatch)?;

        let fields = Fields::parse(text).ok_or(Refusal::Format)?;
        let ts = read_ts(fields.ts.ok_or(Refusal::NoTs)?).ok_or(Refusal::BadTs)?;
        if now.abs_diff(ts) > self.max_skew.unsigned_abs() {
            return Err(Refusal::Stale);
        }
        let origin = match fields.url {
            None => None,
            Some(url) => Some(Origin::parse(url).ok_or(Refusal::Url)?),
        };
        let route = match fields.route {
            None => None,
            Some(route) if route.len() > LONGEST_ROUTE => return Err(Refusal::Route),
            Some(route) => Some(std::str::from_utf8(route).map_err(|_| Refusal::Route)?),
        };
        let load_factor = match fields.load_factor {
            None => None,
            Some(text) => Some(read_factor(text).ok_or(Refusal::LoadFactor)?),
        };
        let leaving = match fields.state {
            None => false,
            Some(b"leaving") => true,
            Some(_) => return Err(Refusal::State),
        };
        Ok(Announcement {
            text,
            origin,
            ts,
            route,
            load_factor,
            leaving,
            key,
            algorithm,
        })
    }
}

/// The known fields of a message, as written.
#[derive(Debug, Default)]
struct Fields<'a> {
    url: Option<&'a [u8]>,
    host: Option<&'a [u8]>,
    pid: Option<&'a [u8]>,
    seq: Option<&'a [u8]>,
    ts: Option<&'a [u8]>,
    route: Option<&'a [u8]>,
    load_factor: Option<&'a [u8]>,
    state: Option<&'a [u8]>,
}

impl<'a> Fields<'a> {
    /// `BEACON` and fields with one blank in front of each. Only `mac` may follow, which the caller
    /// has taken off.
    fn parse(text: &'a [u8]) -> Option<Fields<'a>> {
        let mut pieces = text.split(|&b| b == b' ');
        if pieces.next() != Some(b"BEACON") {
            return None;
        }
        let mut fields = Fields::default();
        for piece in pieces {
            let eq = memchr::memchr(b'=', piece)?;
            let (key, value) = (&piece[..eq], &piece[eq + 1..]);
            if !key_is_valid(key) || !value.iter().all(u8::is_ascii_graphic) {
                return None;
            }
            let place = match key {
                b"url" => &mut fields.url,
                b"host" => &mut fields.host,
                b"pid" => &mut fields.pid,
                b"seq" => &mut fields.seq,
                b"ts" => &mut fields.ts,
                b"route" => &mut fields.route,
                b"loadfactor" => &mut fields.load_factor,
                b"state" => &mut fields.state,
                // It must be the last field, and that one has been taken off.
                b"mac" => return None,
                _ => continue,
            };
            if place.replace(value).is_some() {
                return None;
            }
        }
        Some(fields)
    }
}

fn key_is_valid(key: &[u8]) -> bool {
    let rest = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-');
    key.first().is_some_and(u8::is_ascii_lowercase)
        && key.len() <= LONGEST_KEY
        && key.iter().all(rest)
}

fn read_ts(text: &[u8]) -> Option<i64> {
    let digits = (1..=LONGEST_TS).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
    digits.then(|| text.iter().fold(0, |n, b| n * 10 + i64::from(b - b'0')))
}

/// A decimal from 1 to 100, times 100; further digits are cut, as BalancerMember does.
fn read_factor(text: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(text).ok()?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || whole.len() > 9 || !digits(whole) || !digits(fraction) {
        return None;
    }
    let digit = |i: usize| {
        fraction
            .as_bytes()
            .get(i)
            .map_or(0, |b| u32::from(b - b'0'))
    };
    let n = whole.parse::<u32>().ok()?.checked_mul(100)? + digit(0) * 10 + digit(1);
    let more = fraction.bytes().skip(2).any(|b| b != b'0');
    ((100..=10_000).contains(&n) && !(n == 10_000 && more)).then_some(n)
}
