//! Stamps in local time: access log, error log, and `strftime` patterns.

use std::cell::Cell;
use std::io::Write;

use crate::clock::Wall;
use crate::codec::date::{Civil, DAYS, MONTHS};
use crate::sys::timezone;

/// Bytes of `[30/Nov/2026:16:33:12 +0000]`.
const CLF_LEN: usize = 28;

thread_local! {
    static CLF: Cell<(i64, [u8; CLF_LEN])> = const { Cell::new((i64::MIN, [0; CLF_LEN])) };
    /// The offset from UTC, looked up anew each quarter of an hour, when zones may change it.
    static OFFSET: Cell<(i64, i64)> = const { Cell::new((i64::MIN, 0)) };
}

fn offset(seconds: i64) -> i64 {
    let quarter = seconds.div_euclid(900);
    let (known, offset) = OFFSET.get();
    if known == quarter {
        return offset;
    }
    let offset = timezone::offset(quarter * 900);
    OFFSET.set((quarter, offset));
    offset
}

/// Local time and its distance from UTC in seconds.
fn local(seconds: i64) -> (Civil, i64) {
    let offset = offset(seconds);
    (Civil::new(seconds.saturating_add(offset)), offset)
}

/// Appends `[30/Nov/2026:16:33:12 +0000]`; the text of the last second is kept.
pub fn write_clf(out: &mut Vec<u8>, at: Wall) {
    let seconds = at.seconds();
    let (last, mut text) = CLF.get();
    if last != seconds {
        text = clf(seconds);
        CLF.set((seconds, text));
    }
    out.extend_from_slice(&text);
}

fn clf(seconds: i64) -> [u8; CLF_LEN] {
    let (c, offset) = local(seconds);
    let mut text = *b"[00/Nov/0000:00:00:00 +0000]";
    let year = c.year.clamp(0, 9999);
    let mut two = |at: usize, n: i64| {
        text[at] = b'0' + (n / 10) as u8;
        text[at + 1] = b'0' + (n % 10) as u8;
    };
    two(1, c.day.into());
    two(8, year / 100);
    two(10, year % 100);
    two(13, c.hour.into());
    two(16, c.minute.into());
    two(19, c.second.into());
    two(23, offset.abs() / 3600 % 100);
    two(25, offset.abs() / 60 % 60);
    text[4..7].copy_from_slice(c.month_name().as_bytes());
    text[22] = if offset < 0 { b'-' } else { b'+' };
    text
}

/// How an error log shows the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// `Mon Nov 30 16:33:12 2026`
    Plain,
    /// `Mon Nov 30 16:33:12.651795 2026`
    Micros,
    /// `2026-11-30 16:33:12`
    Iso,
    /// `2026-11-30 16:33:12.651795`
    IsoMicros,
}

/// Appends the time as an error log shows it, without brackets.
pub fn write_stamp(out: &mut Vec<u8>, at: Wall, stamp: Stamp) {
    let (c, _) = local(at.seconds());
    let micros = at.0.rem_euclid(1_000_000);
    let (h, m, s) = (c.hour, c.minute, c.second);
    // Writing into a Vec cannot fail.
    let _ = match stamp {
        Stamp::Plain | Stamp::Micros => {
            write!(
                out,
                "{} {} {:02} {h:02}:{m:02}:{s:02}",
                c.day_name(),
                c.month_name(),
                c.day
            )
        }
        Stamp::Iso | Stamp::IsoMicros => write!(
            out,
            "{:04}-{:02}-{:02} {h:02}:{m:02}:{s:02}",
            c.year, c.month, c.day
        ),
    };
    if matches!(stamp, Stamp::Micros | Stamp::IsoMicros) {
        let _ = write!(out, ".{micros:06}");
    }
    if matches!(stamp, Stamp::Plain | Stamp::Micros) {
        let _ = write!(out, " {:04}", c.year);
    }
}

/// Appends `Nov 30 16:33:12`, as syslog wants it (RFC 3164).
pub fn write_syslog(out: &mut Vec<u8>, at: Wall) {
    strftime(out, at.seconds(), "%b %e %H:%M:%S");
}

/// Appends `seconds` since 1970 in local time by a pattern of the C library's `strftime` in the
/// C locale. A directive that is not known is left as it stands.
pub fn strftime(out: &mut Vec<u8>, seconds: i64, pattern: &str) {
    let (c, offset) = local(seconds);
    expand(out, pattern, &c, offset, seconds, 0);
}

fn expand(out: &mut Vec<u8>, pattern: &str, c: &Civil, offset: i64, seconds: i64, depth: u8) {
    const FULL_DAYS: [&str; 7] = [
        "Sunday",
        "Monday",
        "Tuesday",
        "Wednesday",
        "Thursday",
        "Friday",
        "Saturday",
    ];
    const FULL_MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let hour12 = match c.hour % 12 {
        0 => 12,
        h => h,
    };
    let (weekday, month) = (usize::from(c.weekday), usize::from(c.month) - 1);
    let monday = (i64::from(c.weekday) + 6) % 7;
    let yearday = i64::from(c.yearday);
    let mut chars = pattern.chars();
    while let Some(ch) = chars.next() {
        if ch != '%' {
            let _ = write!(out, "{ch}");
            continue;
        }
        let mut directive = chars.next();
        // The C locale has no alternative forms.
        if let Some('E' | 'O') = directive {
            directive = chars.next();
        }
        let nested = match directive {
            Some('c') => "%a %b %e %H:%M:%S %Y",
            Some('D' | 'x') => "%m/%d/%y",
            Some('F') => "%Y-%m-%d",
            Some('R') => "%H:%M",
            Some('r') => "%I:%M:%S %p",
            Some('T' | 'X') => "%H:%M:%S",
            _ => "",
        };
        if !nested.is_empty() && depth == 0 {
            expand(out, nested, c, offset, seconds, 1);
            continue;
        }
        let _ = match directive {
            Some('a') => write!(out, "{}", DAYS[weekday]),
            Some('A') => write!(out, "{}", FULL_DAYS[weekday]),
            Some('b' | 'h') => write!(out, "{}", MONTHS[month]),
            Some('B') => write!(out, "{}", FULL_MONTHS[month]),
            Some('C') => write!(out, "{:02}", c.year.div_euclid(100)),
            Some('d') => write!(out, "{:02}", c.day),
            Some('e') => write!(out, "{:2}", c.day),
            Some('G') => write!(out, "{}", iso_week(c).0),
            Some('g') => write!(out, "{:02}", iso_week(c).0.rem_euclid(100)),
            Some('H') => write!(out, "{:02}", c.hour),
            Some('I') => write!(out, "{hour12:02}"),
            Some('j') => write!(out, "{:03}", yearday + 1),
            Some('k') => write!(out, "{:2}", c.hour),
            Some('l') => write!(out, "{hour12:2}"),
            Some('m') => write!(out, "{:02}", c.month),
            Some('M') => write!(out, "{:02}", c.minute),
            Some('n') => writeln!(out),
            Some('p') => write!(out, "{}", if c.hour < 12 { "AM" } else { "PM" }),
            Some('P') => write!(out, "{}", if c.hour < 12 { "am" } else { "pm" }),
            Some('s') => write!(out, "{seconds}"),
            Some('S') => write!(out, "{:02}", c.second),
            Some('t') => write!(out, "\t"),
            Some('u') => write!(out, "{}", monday + 1),
            Some('U') => write!(out, "{:02}", (yearday + 7 - weekday as i64) / 7),
            Some('V') => write!(out, "{:02}", iso_week(c).1),
            Some('w') => write!(out, "{weekday}"),
            Some('W') => write!(out, "{:02}", (yearday + 7 - monday) / 7),
            Some('y') => write!(out, "{:02}", c.year.rem_euclid(100)),
            Some('Y') => write!(out, "{}", c.year),
            Some('z') => {
                let sign = if offset < 0 { '-' } else { '+' };
                let minutes = offset.abs() / 60;
                write!(out, "{sign}{:02}{:02}", minutes / 60, minutes % 60)
            }
            Some('Z') => write!(out, "{}", timezone::name(seconds)),
            Some('%') => write!(out, "%"),
            Some(other) => write!(out, "%{other}"),
            None => write!(out, "%"),
        };
    }
}

/// Year and week by ISO 8601: weeks begin on Monday, the first holds the year's first Thursday.
fn iso_week(c: &Civil) -> (i64, i64) {
    let monday = (i64::from(c.weekday) + 6) % 7;
    let week = (i64::from(c.yearday) - monday + 10) / 7;
    if week < 1 {
        return (c.year - 1, weeks(c.year - 1));
    }
    if week > weeks(c.year) {
        return (c.year + 1, 1);
    }
    (c.year, week)
}

/// ISO weeks of a year: 53 when it begins or ends on a Thursday.
fn weeks(year: i64) -> i64 {
    let last_day =
        |y: i64| (y + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400)).rem_euclid(7);
    if last_day(year) == 4 || last_day(year - 1) == 3 {
        53
    } else {
        52
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(pattern: &str, days: i64, rest: i64) -> String {
        let seconds = days * 86_400 + rest;
        let mut out = Vec::new();
        expand(&mut out, pattern, &Civil::new(seconds), 5400, seconds, 0);
        String::from_utf8(out).unwrap()
    }

    /// 2026-11-30 16:33:12
    const DAY: i64 = 20_787;
    const TIME: i64 = 16 * 3600 + 33 * 60 + 12;

    #[test]
    fn patterns() {
        for (pattern, expected) in [
            ("%d/%b/%Y:%H:%M:%S %z", "30/Nov/2026:16:33:12 +0130"),
            (
                "%c|%D|%F|%R|%r|%T",
                "Mon Nov 30 16:33:12 2026|11/30/26|2026-11-30|16:33|04:33:12 PM|16:33:12",
            ),
            (
                "%A %B %e %I %l %k %p %P",
                "Monday November 30 04  4 16 PM pm",
            ),
            (
                "%j %u %w %U %V %W %G %g %C %y",
                "334 1 1 48 49 48 2026 26 20 26",
            ),
            ("%Ey %Od%n%t%%%Q%", "26 30\n\t%%Q%"),
            ("é%m", "é11"),
        ] {
            assert_eq!(by(pattern, DAY, TIME), expected, "{pattern}");
        }
        assert_eq!(by("%s", 1, 5), "86405");
    }

    #[test]
    fn iso_weeks_around_new_year() {
        // 2021-01-01 was a Friday of week 53; 2024-12-30 a Monday of week 1.
        assert_eq!(by("%G-%V", 18_628, 0), "2020-53");
        assert_eq!(by("%G-%V", 20_087, 0), "2025-01");
        assert_eq!(by("%G-%V", 20_088 + 2, 0), "2025-01");
    }

    #[test]
    fn stamps() {
        let at = Wall((DAY * 86_400 + TIME) * 1_000_000 + 651_795);
        let shown = |stamp| {
            let mut out = Vec::new();
            write_stamp(&mut out, at, stamp);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(shown(Stamp::Plain).len(), 24);
        let micros = shown(Stamp::Micros);
        assert!(
            micros.contains(":12.651795 2026") && micros.len() == 31,
            "{micros}"
        );
        assert!(shown(Stamp::Iso).starts_with("2026-"));
        assert!(shown(Stamp::IsoMicros).ends_with(":12.651795"));
        let mut out = Vec::new();
        write_clf(&mut out, at);
        write_clf(&mut out, at);
        assert_eq!(out[..28], out[28..]);
        assert!(out.starts_with(b"[") && out.ends_with(b"]"));
        let mut again = Vec::new();
        strftime(&mut again, at.seconds(), "[%d/%b/%Y:%H:%M:%S %z]");
        assert_eq!(again, out[..28]);
    }
}
