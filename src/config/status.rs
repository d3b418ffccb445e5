//! A member's status flags and the letters that the configuration writes them with
//! (spec: balancer 4).

/// O: initialised in this run.
pub const INIT: u32 = 0x0001;
/// I: never goes to error.
pub const IGNORE_ERRORS: u32 = 0x0002;
/// N: only requests that carry its route.
pub const DRAIN: u32 = 0x0004;
/// G: one of the built-in workers.
pub const GENERIC: u32 = 0x0008;
/// U: in shutdown.
pub const SHUTDOWN: u32 = 0x0010;
/// D: disabled.
pub const DISABLED: u32 = 0x0020;
/// S: stopped; never retried, never checked.
pub const STOPPED: u32 = 0x0040;
/// E: in error.
pub const ERROR: u32 = 0x0080;
/// H: hot standby.
pub const STANDBY: u32 = 0x0100;
/// F: free slot.
pub const FREE: u32 = 0x0200;
/// C: its health check failed.
pub const HC_FAILED: u32 = 0x0400;
/// R: hot spare.
pub const SPARE: u32 = 0x0800;
/// B: owned by the beacon; never written in a configuration.
pub const BEACON: u32 = 0x1000;

/// Any of these makes a member unusable, and so does a missing [`INIT`].
pub const UNUSABLE: u32 = SHUTDOWN | DISABLED | STOPPED | ERROR | HC_FAILED;

/// Letter, bit and the text that pages show, in the order in which the texts are joined.
pub const TABLE: [(char, u32, &str); 13] = [
    ('O', INIT, "Init "),
    ('I', IGNORE_ERRORS, "Ign "),
    ('N', DRAIN, "Drn "),
    ('G', GENERIC, "Gen "),
    ('U', SHUTDOWN, "Shut "),
    ('D', DISABLED, "Dis "),
    ('S', STOPPED, "Stop "),
    ('E', ERROR, "Err "),
    ('H', STANDBY, "Stby "),
    ('R', SPARE, "Spar "),
    ('F', FREE, "Free "),
    ('C', HC_FAILED, "HcFl "),
    ('B', BEACON, "Bcn "),
];

/// Can requests be given to a member with these bits?
pub fn usable(bits: u32) -> bool {
    bits & INIT != 0 && bits & UNUSABLE == 0
}

/// The text of pages and dumps, such as `Init Dis ` or `Init Ok `.
pub fn text(bits: u32) -> String {
    let mut out = String::new();
    if bits == 0 {
        out.push_str("??? ");
    }
    for (_, bit, name) in TABLE {
        if bits & bit != 0 {
            out.push_str(name);
        }
    }
    if usable(bits) {
        out.push_str("Ok ");
    }
    out
}

/// Applies `status=` letters: `+` (at first) sets, `-` clears the letters that follow it.
/// The error names what is wrong with the text.
pub fn apply(bits: u32, letters: &str) -> Result<u32, String> {
    let mut out = bits;
    let mut set = true;
    let mut open_sign = letters.is_empty();
    for c in letters.chars() {
        open_sign = c == '+' || c == '-';
        if open_sign {
            set = c == '+';
            continue;
        }
        let known = TABLE
            .iter()
            .find(|(l, bit, _)| c.eq_ignore_ascii_case(l) && *bit != BEACON);
        let Some((_, bit, _)) = known else {
            return Err(format!("there is no status letter {c:?}"));
        };
        out = if set { out | bit } else { out & !bit };
    }
    if open_sign {
        return Err("a status letter is missing at the end".into());
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_holds_until_the_next_one() {
        assert_eq!(apply(ERROR, "+DS-E"), Ok(DISABLED | STOPPED));
        assert_eq!(apply(0, "dh"), Ok(DISABLED | STANDBY));
        assert_eq!(apply(DISABLED, "-d+r"), Ok(SPARE));
    }

    #[test]
    fn bad_letters_are_refused() {
        for bad in ["", "+", "D-", "X", "+B", "é"] {
            assert!(apply(0, bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn texts_come_in_the_order_of_the_table() {
        assert_eq!(text(INIT), "Init Ok ");
        assert_eq!(text(INIT | DISABLED), "Init Dis ");
        assert_eq!(text(INIT | DRAIN), "Init Drn Ok ");
        assert_eq!(text(INIT | ERROR | IGNORE_ERRORS), "Init Ign Err ");
        assert_eq!(text(0), "??? ");
        assert_eq!(text(INIT | SPARE | STANDBY), "Init Stby Spar Ok ");
    }
}
