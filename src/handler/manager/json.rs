//! The page as JSON, for programs of today. Names are those of the configuration.

use std::fmt::Write;

use super::facts::{Facts, Shown};
use crate::shm::inspect::beacons;
use crate::shm::{WorkerInfo, status};

/// The document.
pub fn text(f: &Facts) -> String {
    let mut out = String::with_capacity(8 << 10);
    let _ = write!(
        out,
        "{{\"server\":{},\"version\":{},\"persist\":{},\"errors\":{},\"changed\":{},\"ignored\":{},\"balancers\":[",
        quoted(&f.name),
        quoted(f.version),
        f.persist,
        list(&f.outcome.errors),
        list(&f.outcome.done),
        list(&f.outcome.ignored),
    );
    for (i, b) in f.balancers.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        balancer(&mut out, f, b);
    }
    out.push_str("]}\n");
    out
}

fn balancer(out: &mut String, f: &Facts, b: &Shown) {
    let i = &b.info;
    let _ = write!(
        out,
        "\n{{\"name\":{},\"nonce\":{},\"lbmethod\":{},\"stickysession\":{},\"stickyparameter\":{},\
         \"nofailover\":{},\"scolonpathdelim\":{},\"forcerecovery\":{},\"timeout\":{},\"maxattempts\":{},\
         \"retrybudget\":{},\"hashkey\":{},\"stickycookie\":{},\"path\":{},\"maxmembers\":{},\"usedmembers\":{},\"members\":[",
        quoted(&i.name),
        quoted(&b.nonce),
        quoted(&i.lbmethod),
        quoted(&i.sticky_cookie),
        quoted(&i.sticky_param),
        i.no_failover,
        i.scolon_path_delim,
        i.force_recovery,
        i.timeout_ms as f64 / 1000.0,
        i.max_attempts,
        i.retry_budget,
        quoted(&i.hash_key),
        quoted(&i.own_cookie),
        quoted(&b.path),
        b.room,
        b.members.len(),
    );
    for (n, m) in b.members.iter().enumerate() {
        if n > 0 {
            out.push(',');
        }
        member(out, f, &m.info);
    }
    out.push_str("]}");
}

fn member(out: &mut String, f: &Facts, m: &WorkerInfo) {
    let _ = write!(
        out,
        "\n{{\"name\":{},\"route\":{},\"redirect\":{},\"loadfactor\":{},\"lbset\":{},\"status\":{},\
         \"usable\":{},\"elected\":{},\"busy\":{},\"lbstatus\":{},\"sent\":{},\"received\":{},\
         \"errors\":{},\"retries\":{},\"retry\":{},\"slowstart\":{},\"error_time\":{},\"added\":{}",
        quoted(&m.name),
        quoted(&m.route),
        quoted(&m.redirect),
        f64::from(m.load_factor) / 100.0,
        m.lbset,
        quoted(status::text(m.status).trim_end()),
        status::usable(m.status),
        m.elected,
        m.busy,
        m.lbstatus,
        m.sent,
        m.received,
        m.errors,
        m.retries,
        m.retry_ms as f64 / 1000.0,
        m.slow_start_ms as f64 / 1000.0,
        f.error_time(m).map_or("null".to_owned(), |t| t.to_string()),
        m.grown,
    );
    if let Some(h) = &m.health {
        let s = &h.state;
        let _ = write!(
            out,
            ",\"health\":{{\"method\":{},\"interval_ms\":{},\"passes\":{},\"passed\":{},\"fails\":{},\
             \"failed\":{},\"uri\":{},\"expression\":{},\"checks\":{},\"bad\":{}}}",
            quoted(s.method.name()),
            s.interval.as_millis(),
            s.passes,
            s.passed,
            s.fails,
            s.failed,
            quoted(&h.texts.uri),
            quoted(&h.texts.expression),
            h.checks,
            h.bad,
        );
    }
    if let Some((state, left)) = beacons::of_member(&f.table, m) {
        let left = left.map_or("null".to_owned(), |d| d.as_millis().to_string());
        let _ = write!(
            out,
            ",\"lease\":{{\"state\":{},\"remaining_ms\":{left}}}",
            quoted(state)
        );
    }
    let pairs: Vec<_> = m
        .history
        .iter()
        .map(|(r, e)| format!("[{r},{e}]"))
        .collect();
    let _ = write!(out, ",\"history\":[{}]}}", pairs.join(","));
}

fn list(texts: &[String]) -> String {
    let all: Vec<_> = texts.iter().map(|t| quoted(t)).collect();
    format!("[{}]", all.join(","))
}

/// A string of JSON that is harmless inside HTML too.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() || matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}') => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn strings_are_safe() {
        assert_eq!(quoted("a\"\\<\n"), "\"a\\\"\\\\\\u003c\\u000a\"");
    }
}
