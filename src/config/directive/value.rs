//! Values that many directives share: flags, numbers, times.

use std::time::Duration;

/// `On` or `Off` in any letter case.
pub fn flag(text: &str) -> Option<bool> {
    if text.eq_ignore_ascii_case("on") {
        Some(true)
    } else if text.eq_ignore_ascii_case("off") {
        Some(false)
    } else {
        None
    }
}

/// Units of the interval syntax.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Milliseconds.
    Millis,
    /// Seconds.
    Seconds,
}

/// How an interval is written, for messages.
pub const TIME_FORM: &str =
    "write digits and behind them ms, s, mi (minutes) or h (hours) without a blank";

/// `n[ms|s|mi|h]`: digits, then a unit or nothing (`default` then). No sign, no fraction.
pub fn interval(text: &str, default: Unit) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = text[..digits].parse().ok()?;
    let millis = match text[digits..].to_ascii_lowercase().as_str() {
        "" => match default {
            Unit::Millis => 1,
            Unit::Seconds => 1000,
        },
        "ms" => 1,
        "s" => 1000,
        "mi" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    // Bounded so that no later sum of times can overflow (100 years).
    let total = number.checked_mul(millis)?;
    (total <= 100 * 366 * 24 * 3_600_000).then(|| Duration::from_millis(total))
}

/// A whole number without sign or anything behind it.
pub fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_have_four_units() {
        let ms = Duration::from_millis;
        assert_eq!(interval("5", Unit::Seconds), Some(ms(5000)));
        assert_eq!(interval("5", Unit::Millis), Some(ms(5)));
        assert_eq!(interval("1500ms", Unit::Seconds), Some(ms(1500)));
        assert_eq!(interval("2mi", Unit::Seconds), Some(ms(120_000)));
        assert_eq!(interval("1H", Unit::Seconds), Some(ms(3_600_000)));
        for bad in [
            "",
            "abc",
            "-1",
            "1.5",
            "5x",
            "99999999999999999999",
            "9999999999999999h",
        ] {
            assert_eq!(interval(bad, Unit::Seconds), None, "{bad}");
        }
    }

    #[test]
    fn numbers_are_digits_only() {
        assert_eq!(number::<u32>("12"), Some(12));
        assert_eq!(number::<u32>("+12"), None);
        assert_eq!(number::<u8>("256"), None);
        assert_eq!(number::<u32>("12a"), None);
    }
}
