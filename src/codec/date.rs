//! Dates in the three forms of HTTP (RFC 9110 5.6.7), and the calendar behind them.

use std::cell::Cell;

/// Days of the week as HTTP abbreviates them, Sunday first.
pub const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
/// Months as HTTP abbreviates them.
pub const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// A point in time by the calendar, in the time zone of whatever seconds it was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// The year.
    pub year: i64,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
    /// 0 is Sunday.
    pub weekday: u8,
    /// 0 is the 1st of January.
    pub yearday: u16,
}

impl Civil {
    /// The calendar's view of `seconds` since 1970-01-01 00:00:00.
    pub fn new(seconds: i64) -> Civil {
        let days = seconds.div_euclid(86_400);
        let rest = seconds.rem_euclid(86_400);
        // Howard Hinnant's days-to-civil: years that begin in March, in eras of 400.
        let z = days + 719_468;
        let era = z.div_euclid(146_097);
        let doe = z.rem_euclid(146_097);
        let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
        let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
        let mp = (5 * doy + 2) / 153;
        let day = doy - (153 * mp + 2) / 5 + 1;
        let month = if mp < 10 { mp + 3 } else { mp - 9 };
        let year = yoe + era * 400 + i64::from(month <= 2);
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        // March 1st is day 59 of the year, or 60 in a leap year; January and February follow day 305.
        let yearday = match month {
            1 | 2 => doy - 306,
            _ => doy + 59 + i64::from(leap),
        };
        Civil {
            year,
            month: month as u8,
            day: day as u8,
            hour: (rest / 3600) as u8,
            minute: (rest / 60 % 60) as u8,
            second: (rest % 60) as u8,
            weekday: (days + 4).rem_euclid(7) as u8,
            yearday: yearday as u16,
        }
    }

    /// `Mon`
    pub fn day_name(&self) -> &'static str {
        DAYS[usize::from(self.weekday)]
    }

    /// `Nov`
    pub fn month_name(&self) -> &'static str {
        MONTHS[usize::from(self.month) - 1]
    }
}

/// Bytes of a date as HTTP writes it.
const LEN: usize = 29;

thread_local! {
    static LAST: Cell<(i64, [u8; LEN])> = const { Cell::new((i64::MIN, [0; LEN])) };
}

/// Writes `seconds` since 1970 as `Mon, 30 Nov 2026 16:33:12 GMT`; the text of the last second is kept.
/// Years beyond 0 to 9999 are clamped.
pub fn write_http_date(out: &mut Vec<u8>, seconds: i64) {
    let (last, mut text) = LAST.get();
    if last != seconds {
        text = http_date(seconds);
        LAST.set((seconds, text));
    }
    out.extend_from_slice(&text);
}

fn http_date(seconds: i64) -> [u8; LEN] {
    let c = Civil::new(seconds);
    let mut text = *b"Mon, 00 Jan 0000 00:00:00 GMT";
    text[..3].copy_from_slice(c.day_name().as_bytes());
    text[8..11].copy_from_slice(c.month_name().as_bytes());
    let year = c.year.clamp(0, 9999);
    let mut two = |at: usize, n: u8| {
        text[at] = b'0' + n / 10;
        text[at + 1] = b'0' + n % 10;
    };
    two(5, c.day);
    two(12, (year / 100) as u8);
    two(14, (year % 100) as u8);
    two(17, c.hour);
    two(20, c.minute);
    two(23, c.second);
    text
}

/// Seconds since 1970 of a date in any of the three forms (RFC 1123, RFC 850, asctime); `None` for
/// anything else and for dates before 1970.
///
/// The day of the week is not compared with the date, as in httpd: clients get it wrong.
pub fn parse_http_date(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    let mut words = [""; 6];
    let mut count = 0;
    for word in text.split_ascii_whitespace() {
        *words.get_mut(count)? = word;
        count += 1;
    }
    let (weekday, day, month, year, time) = match words[..count] {
        // Sun, 06 Nov 1994 08:49:37 GMT
        [weekday, day, month, year, time, "GMT"] => (weekday, day, month, number(year, 4)?, time),
        // Sunday, 06-Nov-94 08:49:37 GMT
        [weekday, date, time, "GMT"] => {
            let (day, rest) = date.split_once('-')?;
            let (month, year) = rest.split_once('-')?;
            let year = match number(year, 2)? {
                n @ 70.. => 1900 + n,
                n => 2000 + n,
            };
            (weekday, day, month, year, time)
        }
        // Sun Nov  6 08:49:37 1994
        [weekday, month, day, time, year] => (weekday, day, month, number(year, 4)?, time),
        _ => return None,
    };
    if !DAYS.iter().any(|name| weekday.starts_with(name)) {
        return None;
    }
    let month = MONTHS.iter().position(|m| *m == month)? as i64 + 1;
    let day = number(day, day.len().clamp(1, 2))?;
    let mut parts = time.split(':').map(|part| number(part, 2));
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let seconds = days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    let c = Civil::new(seconds);
    // A 31st of April and a 25th hour do not come back as they went in.
    let same = (c.year, i64::from(c.month), i64::from(c.day)) == (year, month, day)
        && (i64::from(c.hour), i64::from(c.minute), i64::from(c.second)) == (hour, minute, second);
    (same && parts.next().is_none() && seconds >= 0).then_some(seconds)
}

/// Exactly so many digits.
fn number(text: &str, digits: usize) -> Option<i64> {
    let good = text.len() == digits && text.bytes().all(|b| b.is_ascii_digit());
    good.then(|| text.parse().ok()).flatten()
}

/// The inverse of `Civil::new`, for whole days.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let yoe = year.rem_euclid(400);
    let doy = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(seconds: i64) -> String {
        let mut out = Vec::new();
        write_http_date(&mut out, seconds);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn dates_are_written_and_read() {
        assert_eq!(written(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(written(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(written(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(written(-1), "Wed, 31 Dec 1969 23:59:59 GMT");
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "Fri, 06 Nov 1994 08:49:37 GMT",
        ] {
            assert_eq!(
                parse_http_date(text.as_bytes()),
                Some(784_111_777),
                "{text}"
            );
        }
        for text in [
            "",
            "x",
            "Sun, 06 Nov 1994",
            "\u{e9}",
            "Sun, 06 Nov 1994 08:49:37 GMT x",
            "Sun, 31 Apr 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 06 Nov 1994 8:49:37 GMT",
            "Sun, +6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1969 08:49:37 GMT",
            "Sun, 06 Nov 94 08:49:37 GMT",
            "Xun, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 nov 1994 08:49:37 GMT",
        ] {
            assert_eq!(parse_http_date(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn the_calendar_agrees_with_another_one_for_every_day() {
        let mut yearday = 0;
        for day in 0..60_000 {
            let at = day * 86_400 + 3_661;
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(at as u64);
            assert_eq!(parse_http_date(written(at).as_bytes()), Some(at));
            assert_eq!(written(at), httpdate::fmt_http_date(time));
            let c = Civil::new(at);
            yearday = if (c.month, c.day) == (1, 1) {
                0
            } else {
                yearday + 1
            };
            assert_eq!(c.yearday, yearday, "{c:?}");
        }
    }
}
