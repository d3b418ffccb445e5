//! Text made harmless for HTML.

/// Appends `text` to `out` with `& < > " '` as references. Bytes are left alone otherwise.
pub fn html(out: &mut Vec<u8>, text: &[u8]) {
    for &b in text {
        match b {
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            b'"' => out.extend_from_slice(b"&quot;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            _ => out.push(b),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn markup_becomes_text() {
        let mut out = Vec::new();
        super::html(&mut out, b"<a href=\"x\">'&\xe9");
        assert_eq!(out, b"&lt;a href=&quot;x&quot;&gt;&#39;&amp;\xe9");
    }
}
