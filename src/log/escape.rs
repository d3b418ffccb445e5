//! Bytes made harmless for log lines: whatever comes in, one entry stays one line.

/// Appends `text` as access logs show it (httpd's `ap_escape_logitem`): `"` and `\` get a backslash,
/// control bytes and bytes above ASCII become `\n`, `\x1b` and the like.
pub fn access(out: &mut Vec<u8>, text: &[u8]) {
    escape(out, text, true);
}

/// The same for the error log (`ap_escape_errorlog_item`), where quotes stay.
pub fn error(out: &mut Vec<u8>, text: &[u8]) {
    escape(out, text, false);
}

fn escape(out: &mut Vec<u8>, text: &[u8], quotes: bool) {
    let mut rest = text;
    loop {
        let plain = |b: &u8| (b' '..0x7f).contains(b) && *b != b'\\' && (*b != b'"' || !quotes);
        let len = rest.iter().position(|b| !plain(b)).unwrap_or(rest.len());
        out.extend_from_slice(&rest[..len]);
        let Some((&b, after)) = rest[len..].split_first() else {
            return;
        };
        rest = after;
        out.push(b'\\');
        match b {
            b'"' | b'\\' => out.push(b),
            0x08 => out.push(b'b'),
            b'\n' => out.push(b'n'),
            b'\r' => out.push(b'r'),
            b'\t' => out.push(b't'),
            0x0b => out.push(b'v'),
            _ => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                let (high, low) = (HEX[usize::from(b >> 4)], HEX[usize::from(b & 15)]);
                out.extend_from_slice(&[b'x', high, low]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn one_entry_one_line() {
        let all: Vec<u8> = (0..=255).collect();
        let mut out = Vec::new();
        super::access(&mut out, &all);
        super::error(&mut out, &all);
        assert!(out.iter().all(|b| (b' '..0x7f).contains(b)));

        let mut out = Vec::new();
        super::access(&mut out, b"a\"\\\x08\n\r\t\x0b\x1b\x7f\xe9z");
        assert_eq!(out, br#"a\"\\\b\n\r\t\v\x1b\x7f\xe9z"#);
        let mut out = Vec::new();
        super::error(&mut out, b"http://r/\"x\\\n");
        assert_eq!(out, br#"http://r/"x\\\n"#);
    }
}
