//! Sizes as httpd's pages show them.

/// Four characters: below 973 bytes the number and a blank, then K, M, G ..., one decimal below 10.
pub fn human(bytes: u64) -> String {
    if bytes < 973 {
        return format!("{bytes:3} ");
    }
    let mut rest = bytes;
    for unit in ['K', 'M', 'G', 'T', 'P', 'E'] {
        let remain = rest & 1023;
        rest >>= 10;
        if rest >= 973 {
            continue;
        }
        if rest < 9 || (rest == 9 && remain < 973) {
            let mut tenths = (remain * 5 + 256) / 512;
            if tenths >= 10 {
                rest += 1;
                tenths = 0;
            }
            return format!("{rest}.{tenths}{unit}");
        }
        if remain >= 512 {
            rest += 1;
        }
        return format!("{rest:3}{unit}");
    }
    "****".to_owned()
}

#[cfg(test)]
mod tests {
    use super::human;

    #[test]
    fn four_characters() {
        assert_eq!(human(0), "  0 ");
        assert_eq!(human(392), "392 ");
        assert_eq!(human(1100), "1.1K");
        assert_eq!(human(10_240), " 10K");
        assert_eq!(human(973), "1.0K");
        assert_eq!(human(5 << 30), "5.0G");
        assert_eq!(human(u64::MAX).len(), 4);
    }
}
