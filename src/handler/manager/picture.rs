//! A member's last minutes as a small picture: a bar for each moment's requests, red for errors.

use std::fmt::Write;

/// Inline SVG without scripts, links or fonts. `history`: requests and errors, oldest first.
pub fn svg(history: &[(u32, u32)]) -> String {
    const HEIGHT: u64 = 24;
    const STEP: usize = 4;
    let requests: u64 = history.iter().map(|(r, _)| u64::from(*r)).sum();
    let errors: u64 = history.iter().map(|(_, e)| u64::from(*e)).sum();
    let most = history
        .iter()
        .map(|(r, e)| u64::from(*r).max(u64::from(*e)))
        .max();
    let most = most.unwrap_or(0);
    let count = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let (requests, errors) = (count(requests, "request"), count(errors, "error"));
    let width = history.len().max(1) * STEP;
    let mut out = format!(
        "<svg class=\"pic\" role=\"img\" width=\"{width}\" height=\"{HEIGHT}\" viewBox=\"0 0 {width} {HEIGHT}\">\
         <title>{requests} and {errors} in the last five minutes, at most {most} in ten seconds</title>\
         <path class=\"base\" d=\"M0 {HEIGHT}H{width}\"/>"
    );
    let scale = most.max(1);
    for (class, pick) in [("req", 0), ("err", 1)] {
        let mut path = String::new();
        for (i, moment) in history.iter().enumerate() {
            let n = u64::from(if pick == 0 { moment.0 } else { moment.1 });
            if n == 0 {
                continue;
            }
            // Whatever happened is to be seen: a pixel at least.
            let high = (n * (HEIGHT - 1)).div_ceil(scale).max(2);
            let _ = write!(path, "M{} {HEIGHT}v-{high}h{}v{high}z", i * STEP, STEP - 1);
        }
        if !path.is_empty() {
            let _ = write!(out, "<path class=\"{class}\" d=\"{path}\"/>");
        }
    }
    out.push_str("</svg>");
    out
}

#[cfg(test)]
mod tests {
    use super::svg;

    #[test]
    fn bars_stay_inside() {
        let picture = svg(&[(0, 0), (100, 0), (1, 0), (0, 3)]);
        assert!(picture.contains("101 requests and 3 errors"));
        assert!(picture.contains("M4 24v-23h3v23z"), "{picture}");
        assert!(picture.contains("M8 24v-2h3v2z"), "{picture}");
        assert!(picture.contains("class=\"err\" d=\"M12 24v-2"), "{picture}");
        assert!(!svg(&[]).contains("class=\"req\""));
        assert!(svg(&[(0, 0)]).contains("at most 0 in ten seconds"));
    }

    /// The title says what was, also where that was nothing or one.
    #[test]
    fn the_title_counts() {
        let title = |history: &[(u32, u32)]| {
            let picture = svg(history);
            let (_, rest) = picture.split_once("<title>").unwrap();
            rest.split_once("</title>").unwrap().0.to_owned()
        };
        assert_eq!(
            title(&[(0, 0)]),
            "0 requests and 0 errors in the last five minutes, at most 0 in ten seconds"
        );
        assert_eq!(
            title(&[(1, 1)]),
            "1 request and 1 error in the last five minutes, at most 1 in ten seconds"
        );
    }

    #[test]
    fn huge_numbers_stay_inside() {
        assert!(!svg(&[(u32::MAX, u32::MAX)]).contains("v-24"));
    }
}
