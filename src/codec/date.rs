//! Dates in the three forms of HTTP (RFC 9110 5.6.7).

/// Writes `seconds` since 1970 as `Mon, 30 Nov 2026 16:33:12 GMT`; the text of the last second is kept.
pub fn write_http_date(out: &mut Vec<u8>, seconds: i64) {
    let _ = (out, seconds);
    todo!()
}

/// Seconds since 1970 of a date in any of the three forms (RFC 1123, RFC 850, asctime).
pub fn parse_http_date(text: &[u8]) -> Option<i64> {
    let _ = text;
    todo!()
}
