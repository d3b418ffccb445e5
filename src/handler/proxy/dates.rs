//! Dates of backends in the one form that clients may expect (RFC 9110 5.6.7).

use std::borrow::Cow;

use crate::codec::date::{parse_http_date, write_http_date};

/// The same date in the preferred form; what is no date stays as it is.
pub fn normal(value: &[u8]) -> Cow<'_, [u8]> {
    if is_normal(value) {
        return Cow::Borrowed(value);
    }
    match parse_http_date(value) {
        Some(seconds) => {
            let mut out = Vec::with_capacity(29);
            write_http_date(&mut out, seconds);
            Cow::Owned(out)
        }
        None => Cow::Borrowed(value),
    }
}

/// `Sun, 06 Nov 1994 08:49:37 GMT` by its shape: enough to leave it alone.
pub fn is_normal(value: &[u8]) -> bool {
    value.len() == 29
        && value[3] == b','
        && value[7] == b' '
        && value[11] == b' '
        && value.ends_with(b" GMT")
}

#[cfg(test)]
mod tests {
    use super::is_normal;

    #[test]
    fn the_preferred_form_is_known_by_its_shape() {
        assert!(is_normal(b"Sun, 06 Nov 1994 08:49:37 GMT"));
        assert!(!is_normal(b"Sunday, 06-Nov-94 08:49:37 GMT"));
        assert!(!is_normal(b"Sun Nov  6 08:49:37 1994"));
    }
}
