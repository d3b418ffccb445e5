//! Numbers and dates as httpd's status page writes them, for programs that read it.

use crate::codec::date::Civil;

/// `%g` as APR prints it: six digits, no trailing zeros, no zero in front of the point (`.02`).
pub fn general(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let exponent = value.abs().log10().floor() as i32;
    // Rounding may carry into the next power of ten: 999999.7 has seven digits.
    let exponent = if format!("{:.5e}", value).ends_with(&format!("e{exponent}")) {
        exponent
    } else {
        exponent + 1
    };
    if !(-4..6).contains(&exponent) {
        let text = format!("{value:.5e}");
        let (mantissa, _) = text.split_once('e').unwrap_or((&text, ""));
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs());
    }
    let decimals = usize::try_from(5 - exponent).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    let text = trimmed(&text);
    match text.strip_prefix("0.") {
        Some(rest) => format!(".{rest}"),
        None => text.to_owned(),
    }
}

fn trimmed(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

/// `Monday, 30-Nov-2026 16:33:12 UTC`
pub fn long_date(seconds: i64) -> String {
    const DAYS: [&str; 7] = [
        "Sunday",
        "Monday",
        "Tuesday",
        "Wednesday",
        "Thursday",
        "Friday",
        "Saturday",
    ];
    let c = Civil::new(seconds);
    format!(
        "{}, {:02}-{}-{} {:02}:{:02}:{:02} UTC",
        DAYS[usize::from(c.weekday) % 7],
        c.day,
        c.month_name(),
        c.year,
        c.hour,
        c.minute,
        c.second
    )
}

/// `2026-11-12T08:58:41`
pub fn iso_date(seconds: i64) -> String {
    let c = Civil::new(seconds);
    format!(
        "{}-{:02}-{:02}T{:02}:{:02}:{:02}",
        c.year, c.month, c.day, c.hour, c.minute, c.second
    )
}

/// ` 12 B`, `3.4 kB`, `5.6 MB`, `7.8 GB` as mod_status scales them.
pub fn scaled(bytes: f64) -> String {
    const K: f64 = 1024.0;
    if bytes < 5.0 * K {
        format!("{} B", bytes as u64)
    } else if bytes < 512.0 * K {
        format!("{:.1} kB", bytes / K)
    } else if bytes < 512.0 * K * K {
        format!("{:.1} MB", bytes / K / K)
    } else {
        format!("{:.1} GB", bytes / K / K / K)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_apr_prints_them() {
        for (value, text) in [
            (0.0, "0"),
            (0.02, ".02"),
            (1.0, "1"),
            (0.5, ".5"),
            (12.25, "12.25"),
            (384.0, "384"),
            (1234567.0, "1.23457e+06"),
            (999999.7, "1e+06"),
            (123456.4, "123456"),
            (0.000123456789, ".000123457"),
            (0.0000123456, "1.23456e-05"),
            (100.0, "100"),
            (3.0e9, "3e+09"),
        ] {
            assert_eq!(general(value), text);
        }
    }

    #[test]
    fn dates() {
        assert_eq!(long_date(1_796_056_392), "Monday, 30-Nov-2026 16:33:12 UTC");
        assert_eq!(iso_date(1_796_056_392), "2026-11-30T16:33:12");
    }

    #[test]
    fn sizes() {
        assert_eq!(scaled(4096.0), "4096 B");
        assert_eq!(scaled(10_240.0), "10.0 kB");
        assert_eq!(scaled(1_048_576.0), "1.0 MB");
        assert_eq!(scaled(1_073_741_824.0), "1.0 GB");
    }
}
