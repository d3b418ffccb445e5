//! Heads and chunks as bytes. What is written comes from parsed values only.

use super::head::{Method, Version};
use crate::codec::fields::Fields;

/// The last chunk with an empty trailer section.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// Writes a request's head, always as HTTP/1.1.
pub fn write_request_head(out: &mut Vec<u8>, method: &Method, target: &[u8], fields: &Fields) {
    out.extend_from_slice(method.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(target);
    out.extend_from_slice(b" HTTP/1.1\r\n");
    write_fields(out, fields);
}

/// Writes a response's head.
pub fn write_response_head(
    out: &mut Vec<u8>,
    version: Version,
    status: u16,
    reason: &[u8],
    fields: &Fields,
) {
    out.extend_from_slice(version.as_str().as_bytes());
    out.extend_from_slice(&[
        b' ',
        b'0' + (status / 100 % 10) as u8,
        b'0' + (status / 10 % 10) as u8,
        b'0' + (status % 10) as u8,
        b' ',
    ]);
    out.extend_from_slice(reason);
    out.extend_from_slice(b"\r\n");
    write_fields(out, fields);
}

/// Writes all fields and the empty line that ends a head.
pub fn write_fields(out: &mut Vec<u8>, fields: &Fields) {
    for (name, value) in fields.iter() {
        out.extend_from_slice(name);
        out.extend_from_slice(b": ");
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
}

/// Writes the line in front of a chunk of `len` bytes (not 0). After the data comes CR LF.
pub fn chunk_head(out: &mut Vec<u8>, len: usize) {
    debug_assert!(len > 0, "a chunk of no bytes would end the body");
    let digits = (usize::BITS - len.leading_zeros()).div_ceil(4).max(1);
    for i in (0..digits).rev() {
        out.push(b"0123456789abcdef"[len >> (4 * i) & 15]);
    }
    out.extend_from_slice(b"\r\n");
}

/// The usual phrase of a status; empty for one that has none.
pub fn reason_phrase(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        101 => "Switching Protocols",
        102 => "Processing",
        103 => "Early Hints",
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        203 => "Non-Authoritative Information",
        204 => "No Content",
        205 => "Reset Content",
        206 => "Partial Content",
        207 => "Multi-Status",
        208 => "Already Reported",
        226 => "IM Used",
        300 => "Multiple Choices",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        305 => "Use Proxy",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        407 => "Proxy Authentication Required",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Request Entity Too Large",
        414 => "Request-URI Too Long",
        415 => "Unsupported Media Type",
        416 => "Requested Range Not Satisfiable",
        417 => "Expectation Failed",
        418 => "I'm A Teapot",
        421 => "Misdirected Request",
        422 => "Unprocessable Entity",
        423 => "Locked",
        424 => "Failed Dependency",
        425 => "Too Early",
        426 => "Upgrade Required",
        428 => "Precondition Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        451 => "Unavailable For Legal Reasons",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        506 => "Variant Also Negotiates",
        507 => "Insufficient Storage",
        508 => "Loop Detected",
        510 => "Not Extended",
        511 => "Network Authentication Required",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads() {
        let mut fields = Fields::default();
        fields.push(b"Host", b"a");
        fields.push(b"X", b"");
        let mut out = Vec::new();
        write_request_head(&mut out, &Method::Get, b"/x", &fields);
        assert_eq!(out, b"GET /x HTTP/1.1\r\nHost: a\r\nX: \r\n\r\n");
        out.clear();
        write_response_head(&mut out, Version::Http10, 204, b"", &Fields::default());
        assert_eq!(out, b"HTTP/1.0 204 \r\n\r\n");
    }

    #[test]
    fn chunk_sizes() {
        for n in [1, 9, 15, 16, 255, 256, 16_384, 65_535, usize::MAX] {
            let mut out = Vec::new();
            chunk_head(&mut out, n);
            assert_eq!(out, format!("{n:x}\r\n").as_bytes());
        }
    }
}
