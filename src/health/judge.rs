//! What a check's result means for the member (spec: health 4).

use crate::shm::HealthStep;

/// How many checks in a row are needed, at least 1 each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Good ones, to enable.
    pub passes: u32,
    /// Bad ones, to disable.
    pub fails: u32,
}

/// Checks in a row so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Good ones, while the member is down.
    pub passed: u32,
    /// Bad ones, while it is up.
    pub failed: u32,
}

/// `down`: the member is in "check failed" or in error. Gives the counts from now on and the step.
///
/// httpd does not begin anew when a result of the other kind comes between, though its manual says
/// so; here the manual's word holds.
pub fn judge(down: bool, good: bool, counts: Counts, rules: Rules) -> (Counts, HealthStep) {
    let none = Counts::default();
    match (down, good) {
        (true, true) => {
            let passed = counts.passed.saturating_add(1);
            if passed >= rules.passes {
                return (none, HealthStep::Enable);
            }
            (Counts { passed, failed: 0 }, HealthStep::Stay)
        }
        (false, false) => {
            let failed = counts.failed.saturating_add(1);
            if failed >= rules.fails {
                return (none, HealthStep::Disable);
            }
            (Counts { passed: 0, failed }, HealthStep::Stay)
        }
        (true, false) | (false, true) => (none, HealthStep::Stay),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays results (`+` and `-`) and shows after each whether the member is up.
    fn play(results: &str, passes: u32, fails: u32) -> String {
        let (mut down, mut counts) = (false, Counts::default());
        let rules = Rules { passes, fails };
        results
            .chars()
            .map(|c| {
                let (next, step) = judge(down, c == '+', counts, rules);
                counts = next;
                match step {
                    HealthStep::Stay => {}
                    HealthStep::Enable => down = false,
                    HealthStep::Disable => down = true,
                }
                if down { 'd' } else { 'u' }
            })
            .collect()
    }

    #[test]
    fn so_many_in_a_row() {
        assert_eq!(play("+-+", 1, 1), "udu");
        assert_eq!(play("---++", 2, 3), "uuddu");
        // Not in a row: nothing.
        assert_eq!(play("--+--+---", 1, 3), "uuuuuuuud");
        assert_eq!(play("-+-+-++", 2, 1), "ddddddu");
        // 0 acts like 1.
        assert_eq!(play("-+", 0, 0), "du");
    }

    #[test]
    fn a_member_in_error_is_down_too() {
        let rules = Rules {
            passes: 1,
            fails: 1,
        };
        let (_, step) = judge(true, true, Counts::default(), rules);
        assert_eq!(step, HealthStep::Enable);
    }
}
