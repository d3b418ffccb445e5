//! Heartbeats of backends (mod_heartbeat's messages; spec: health 6): datagrams and the lines of the
//! file that mod_heartmonitor keeps. Bytes in, numbers out.

use std::fmt::Write;
use std::net::IpAddr;

/// What a backend says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// Its port, where it names one.
    pub port: Option<u16>,
    /// Slots that work.
    pub busy: u32,
    /// Slots that wait for work.
    pub ready: u32,
}

/// The longest message.
pub const LONGEST: usize = 1000;
/// No count is larger.
const MOST: u32 = 1_000_000;

/// Parses `v=1&ready=R&busy=B[&port=P]`: `None` for what is malformed. httpd takes any text for a
/// number; here only digits are one. `need_version`: a datagram has `v`, a posted form need not.
pub fn parse(message: &[u8], need_version: bool) -> Option<Heartbeat> {
    if message.len() > LONGEST {
        return None;
    }
    let (mut version, mut busy, mut ready, mut port) = (false, None, None, None);
    for field in message.split(|b| *b == b'&').filter(|f| !f.is_empty()) {
        let (name, value) = match field.iter().position(|b| *b == b'=') {
            Some(at) => (&field[..at], &field[at + 1..]),
            None => (field, &b"1"[..]),
        };
        let value: Vec<u8> = percent_encoding::percent_decode(value).collect();
        match name {
            b"v" => version = true,
            b"busy" => busy = Some(number(&value, MOST)?),
            b"ready" => ready = Some(number(&value, MOST)?),
            b"port" => port = Some(number(&value, 65_535)? as u16),
            _ => {}
        }
    }
    if need_version && !version {
        return None;
    }
    Some(Heartbeat {
        port: port.filter(|p| *p != 0),
        busy: busy?,
        ready: ready?,
    })
}

fn number(text: &[u8], most: u32) -> Option<u32> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let n: u32 = std::str::from_utf8(text).ok()?.parse().ok()?;
    (n <= most).then_some(n)
}

/// What a sender says.
pub fn message(busy: u32, ready: u32) -> String {
    format!("v=1&ready={}&busy={}", ready.min(MOST), busy.min(MOST))
}

/// Takes a line of the file apart: whose it is, what it said, and the seconds since. `None` for
/// comments and what is malformed.
pub fn read_line(line: &str) -> Option<(IpAddr, Heartbeat, u64)> {
    let (from, fields) = line.split_once(' ')?;
    let from = from.parse().ok()?;
    let beat = parse(fields.as_bytes(), false)?;
    let seconds = fields.split('&').find_map(|f| f.strip_prefix("lastseen="));
    Some((from, beat, seconds?.parse().ok()?))
}

/// A line of the file; `seconds`: since it was last heard of.
pub fn write_line(out: &mut String, from: IpAddr, beat: &Heartbeat, seconds: u64) {
    let _ = writeln!(
        out,
        "{from} &ready={}&busy={}&lastseen={seconds}&port={}",
        beat.ready,
        beat.busy,
        beat.port.unwrap_or(80)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages() {
        let beat = |busy, ready, port| Some(Heartbeat { port, busy, ready });
        assert_eq!(parse(b"v=1&ready=75&busy=0", true), beat(0, 75, None));
        assert_eq!(
            parse(b"v&busy=%31&ready=2&port=8080&x=y&&", true),
            beat(1, 2, Some(8080))
        );
        assert_eq!(parse(b"ready=1&busy", false), beat(1, 1, None));
        let long = [b"v=1&ready=1&busy=1&x=".to_vec(), vec![b'x'; 1000]].concat();
        for bad in [
            &b""[..],
            b"ready=1&busy=1",
            b"v=1&ready=1",
            b"v=1&ready=-1&busy=1",
            b"v=1&ready=1x&busy=1",
            b"v=1&ready=&busy=1",
            b"v=1&ready=1000001&busy=1",
            b"v=1&ready=99999999999999&busy=1",
            b"v=1&ready=1&busy=1&port=70000",
            b"\0\xff",
            &long,
        ] {
            assert_eq!(parse(bad, true), None, "{bad:?}");
        }
    }

    #[test]
    fn lines() {
        let mut out = String::new();
        let beat = Heartbeat {
            port: None,
            busy: 0,
            ready: 75,
        };
        let from = IpAddr::from([127, 0, 0, 1]);
        write_line(&mut out, from, &beat, 0);
        assert_eq!(out, "127.0.0.1 &ready=75&busy=0&lastseen=0&port=80\n");
        let port = Some(80);
        let back = read_line(out.trim_end());
        assert_eq!(back, Some((from, Heartbeat { port, ..beat }, 0)));
        for bad in [
            "",
            "# x",
            "127.0.0.1",
            "x &ready=1&busy=1&lastseen=1",
            "127.0.0.1 &ready=1&busy=1",
        ] {
            assert_eq!(read_line(bad), None, "{bad}");
        }
        assert_eq!(
            parse(message(3, 2_000_000).as_bytes(), true).map(|b| b.ready),
            Some(MOST)
        );
    }
}
