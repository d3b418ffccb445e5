//! A member's status bits (spec: balancer 4), as they stand in the table.

/// `Init`: the member is initialised.
pub const INIT: u32 = 0x0001;
/// `Ign`: errors never put it in error; always set for workers outside balancers.
pub const IGNORE: u32 = 0x0002;
/// `Drn`: only requests that carry its route.
pub const DRAIN: u32 = 0x0004;
/// `Gen`: a built-in worker.
pub const GENERIC: u32 = 0x0008;
/// `Shut`.
pub const SHUTDOWN: u32 = 0x0010;
/// `Dis`: disabled.
pub const DISABLED: u32 = 0x0020;
/// `Stop`: disabled, and neither retried nor health-checked.
pub const STOPPED: u32 = 0x0040;
/// `Err`: in error, until `retry` has passed.
pub const ERROR: u32 = 0x0080;
/// `Stby`: hot standby.
pub const STANDBY: u32 = 0x0100;
/// `Free`.
pub const FREE: u32 = 0x0200;
/// `HcFl`: a health check failed.
pub const HEALTH_FAILED: u32 = 0x0400;
/// `Spar`: hot spare.
pub const SPARE: u32 = 0x0800;
/// `Bcn`: owned by beacon.
pub const BEACON: u32 = 0x1000;
/// Not shown: out of error, and one request is trying it.
pub const PROBATION: u32 = 0x0001_0000;

/// Bits that make a member unusable.
pub const UNUSABLE: u32 = SHUTDOWN | DISABLED | STOPPED | ERROR | HEALTH_FAILED;

/// Initialised, and none of shut down, disabled, stopped, in error, health-failed.
pub fn usable(status: u32) -> bool {
    status & INIT != 0 && status & UNUSABLE == 0
}

/// The text that status pages show: a word and a blank for each bit, `Ok ` when usable.
pub fn text(status: u32) -> String {
    const WORDS: [(u32, &str); 13] = [
        (INIT, "Init "),
        (IGNORE, "Ign "),
        (DRAIN, "Drn "),
        (GENERIC, "Gen "),
        (SHUTDOWN, "Shut "),
        (DISABLED, "Dis "),
        (STOPPED, "Stop "),
        (ERROR, "Err "),
        (STANDBY, "Stby "),
        (SPARE, "Spar "),
        (FREE, "Free "),
        (HEALTH_FAILED, "HcFl "),
        (BEACON, "Bcn "),
    ];
    let mut out = String::new();
    for (bit, word) in WORDS {
        if status & bit != 0 {
            out.push_str(word);
        }
    }
    if out.is_empty() {
        out.push_str("??? ");
    }
    if usable(status) {
        out.push_str("Ok ");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        assert_eq!(text(INIT), "Init Ok ");
        assert_eq!(text(INIT | DISABLED), "Init Dis ");
        assert_eq!(text(INIT | DRAIN), "Init Drn Ok ");
        assert_eq!(text(INIT | IGNORE | ERROR), "Init Ign Err ");
        assert_eq!(text(0), "??? ");
        assert_eq!(text(INIT | DRAIN | DISABLED | SPARE), "Init Drn Dis Spar ");
        assert_eq!(text(INIT | PROBATION), "Init Ok ");
    }

    #[test]
    fn only_some_bits_make_a_member_unusable() {
        assert!(!usable(0));
        for bit in [IGNORE, DRAIN, STANDBY, SPARE, BEACON, PROBATION] {
            assert!(usable(INIT | bit));
        }
        for bit in [SHUTDOWN, DISABLED, STOPPED, ERROR, HEALTH_FAILED] {
            assert!(!usable(INIT | bit));
        }
    }
}
