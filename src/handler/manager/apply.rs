//! What a request may change is changed here, all of it or nothing.

use subtle::ConstantTimeEq;

use super::change::{self, Changes, Known};
use super::params::{Params, decoded_again};
use crate::balancer::Balancing;
use crate::codec::beacon::{Origin, Reach};
use crate::config::directive::pass::missing_scheme;
use crate::config::health::HealthParams;
use crate::config::worker_url::WorkerUrl;
use crate::ids::BalancerNo;
use crate::request::{Request, Room};
use crate::shm::{AddError, BalancerEdit, WorkerRow};

/// What came of a request, and what the page is to show.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The answer's status.
    pub status: u16,
    /// Why nothing was changed.
    pub errors: Vec<String>,
    /// What was changed.
    pub done: Vec<String>,
    /// What had no meaning.
    pub ignored: Vec<String>,
    /// The balancer whose form is shown.
    pub balancer: Option<BalancerNo>,
    /// The member whose form is shown.
    pub member: Option<WorkerRow>,
}

impl Default for Outcome {
    fn default() -> Self {
        Outcome {
            status: 200,
            errors: Vec::new(),
            done: Vec::new(),
            ignored: Vec::new(),
            balancer: None,
            member: None,
        }
    }
}

impl Outcome {
    /// Nothing was changed, since ...
    pub fn refused(reason: &str) -> Outcome {
        Outcome::default().because(reason)
    }

    /// Something was changed and nothing left out.
    pub fn is_success(&self) -> bool {
        self.errors.is_empty() && self.ignored.is_empty() && !self.done.is_empty()
    }

    /// Something was to be changed and was not.
    pub fn is_refused(&self) -> bool {
        !self.errors.is_empty()
    }

    fn because(mut self, reason: impl Into<String>) -> Outcome {
        self.errors.push(reason.into());
        self
    }
}

/// Finds what `b` and `w` name.
pub fn select(room: &Room, balancing: &Balancing, req: &Request, params: &Params) -> Outcome {
    let mut outcome = Outcome::default();
    let Some(b) = params.get("b") else {
        return outcome;
    };
    let own = &room.settings.server(req.server).proxy.balancers;
    let named = |name: &str| {
        let full = format!("balancer://{name}");
        let mut all = own.iter().copied();
        all.find(|&no| room.settings.balancer(no).name == full)
    };
    let found = named(b).or_else(|| named(&decoded_again(b)?));
    let Some(balancer) = found else {
        return outcome.because(format!("there is no balancer {b} here"));
    };
    outcome.balancer = Some(balancer);
    let Some(w) = params.get("w").filter(|w| !w.is_empty()) else {
        return outcome;
    };
    let member = member(balancing, balancer, w);
    outcome.member = member.or_else(|| self::member(balancing, balancer, &decoded_again(w)?));
    if outcome.member.is_none() {
        return outcome.because(format!("balancer {b} has no member {w}"));
    }
    outcome
}

/// The member with the longest name that stands for a URL.
fn member(balancing: &Balancing, balancer: BalancerNo, url: &str) -> Option<WorkerRow> {
    let url = WorkerUrl::parse(url).ok()?;
    let rows = balancing.rows(balancer).into_iter();
    let names = rows.map(|(no, row)| (balancing.worker(no).name.as_str(), row));
    let found = names.filter(|(name, _)| url.is_under(name));
    found.max_by_key(|(name, _)| name.len()).map(|(_, row)| row)
}

/// Does what a request from the page asks for.
pub fn apply(room: &Room, balancing: &Balancing, req: &Request, params: &Params) -> Outcome {
    let mut outcome = select(room, balancing, req, params);
    let selects = ["b", "w", "nonce", "xml", "json"];
    if outcome.is_refused() || params.iter().all(|(n, _)| selects.contains(&n)) {
        return outcome;
    }
    let Some(no) = outcome.balancer else {
        return outcome.because("b is missing: which balancer?");
    };
    let Some(row) = balancing.balancer_row(no) else {
        return outcome.because("this balancer has no row in the slot table");
    };
    let board = &room.scoreboard;
    let none = room.settings.balancer(no).params.nonce.as_deref() == Some("");
    let nonce = board.nonce(row);
    let given = params.get("nonce").unwrap_or_default();
    if !none && (nonce.is_empty() || !bool::from(nonce.as_bytes().ct_eq(given.as_bytes()))) {
        let text = if given.is_empty() {
            "the nonce is missing"
        } else {
            "the nonce is not this balancer's; load the page again"
        };
        return outcome.because(text);
    }
    let expressions = &room.settings.server(req.server).proxy.health_expressions;
    let known = Known {
        health: outcome.member.map_or_else(HealthParams::default, |m| {
            let texts = board.health_texts(m);
            let state = board.health(m).unwrap_or_default();
            HealthParams {
                method: state.method,
                interval: state.interval,
                passes: state.passes,
                fails: state.fails,
                uri: texts.uri,
                expression: texts.expression,
            }
        }),
        expressions: expressions.iter().map(|e| e.name.as_str()).collect(),
        max_attempts: balancing.max_attempts(no),
    };
    let mut changes = match change::read(params, &known) {
        Ok(changes) => changes,
        Err(wrong) => {
            outcome.errors = wrong;
            return outcome;
        }
    };
    outcome.ignored = std::mem::take(&mut changes.ignored);
    if changes.member.is_some() && outcome.member.is_none() {
        return outcome.because("w is missing: which member?");
    }
    if let Some(url) = &changes.add
        && let Err(text) = add(room, balancing, no, url)
    {
        // The one refusal that httpd tells by its status.
        outcome.status = 400;
        return outcome.because(format!("b_nwrkr={url}: {text}"));
    }
    if let Some(url) = &changes.add {
        outcome
            .done
            .push(format!("{url} is a member now, disabled"));
    }
    if changes.member.is_some() || changes.balancer.is_some() {
        let rows: Vec<_> = balancing.rows(no).into_iter().map(|(_, row)| row).collect();
        let own = changes.balancer.clone().unwrap_or_default();
        let edit = outcome.member.zip(changes.member.as_ref());
        if board.edit(row, &rows, edit, &own).is_err() {
            return outcome.because("the balancer's lock could not be had; nothing was changed");
        }
        outcome.done.extend(told(&changes));
    }
    if !outcome.done.is_empty() {
        let w = outcome.member.and_then(|m| board.found(m));
        crate::log::notice(
            "proxy_balancer",
            &format!(
                "balancer-manager: {} changed {}{}: {}",
                req.client.ip(),
                room.settings.balancer(no).name,
                w.map_or(String::new(), |w| format!(" {}", w.name)),
                outcome.done.join(", "),
            ),
        );
    }
    outcome
}

fn add(room: &Room, balancing: &Balancing, no: BalancerNo, url: &str) -> Result<(), String> {
    let url = acceptable(url)?;
    let row = balancing.balancer_row(no).ok_or("no row")?;
    let rows: Vec<_> = balancing.rows(no).into_iter().map(|(_, row)| row).collect();
    let grown = balancing.grown_rows(no);
    let added = room
        .scoreboard
        .add_by_hand(row, &rows, grown, &url.name, |n| url.is_under(n));
    match added {
        Ok(_) => Ok(()),
        Err(AddError::Exists(name)) => Err(format!("{name} is a member already")),
        Err(AddError::Full) if grown.is_empty() => {
            Err("this balancer takes no members at run time (its growth is 0)".to_owned())
        }
        Err(AddError::Full) => Err(format!("all {} places of growth are taken", grown.len())),
        Err(AddError::Busy) => Err("the balancer's lock could not be had".to_owned()),
    }
}

/// What the configuration would take, and nothing that a form should not reach: sockets of this
/// machine, metadata services, credentials.
fn acceptable(text: &str) -> Result<WorkerUrl, String> {
    let url = WorkerUrl::parse(text)?;
    if url.unix.is_some() {
        return Err("sockets are named in the configuration only".to_owned());
    }
    if let Some(missing) = missing_scheme(&url.scheme) {
        return Err(format!("{missing} is not there in this version of muster"));
    }
    let authority = url.name.split("://").nth(1).unwrap_or_default();
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err("a member's URL has no user".to_owned());
    }
    if !url.name.bytes().all(|b| b.is_ascii_graphic())
        || url.name.contains(['?', '#', '$', '\\', '"', '<', '>'])
    {
        return Err("scheme://host[:port][/path] is wanted".to_owned());
    }
    let origin = Origin::parse(format!("{}://{authority}", url.scheme).as_bytes());
    match origin.map(|o| o.reach()) {
        None => Err("its host or port is not acceptable".to_owned()),
        Some(Reach::Nowhere) => {
            Err("this address leads to no backend (link-local, multicast)".to_owned())
        }
        Some(Reach::Elsewhere | Reach::ThisMachine) => Ok(url),
    }
}

/// The changes for people and the log.
fn told(changes: &Changes) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(m) = &changes.member {
        if let Some(f) = m.load_factor {
            out.push(format!("load factor {}.{:02}", f / 100, f % 100));
        }
        if let Some(set) = m.lbset {
            out.push(format!("set {set}"));
        }
        for (what, text) in [("route", &m.route), ("redirect", &m.redirect)] {
            if let Some(text) = text {
                out.push(format!("{what} \"{text}\""));
            }
        }
        for (name, bit) in change::FLAGS {
            let letter = name.rsplit('_').next().unwrap_or_default().to_uppercase();
            if m.set & bit != 0 {
                out.push(format!("+{letter}"));
            } else if m.clear & bit != 0 {
                out.push(format!("-{letter}"));
            }
        }
        if let Some(h) = &m.health {
            out.push(format!(
                "health check {} every {} ms, {} passes, {} fails, \"{}\" {}",
                h.method.name(),
                h.interval.as_millis(),
                h.passes,
                h.fails,
                h.uri,
                h.expression
            ));
        }
    }
    let BalancerEdit {
        lbmethod,
        timeout,
        max_attempts,
        no_failover,
        sticky,
    } = changes.balancer.clone().unwrap_or_default();
    out.extend(lbmethod.map(|m| format!("method {m}")));
    out.extend(timeout.map(|t| format!("timeout {} s", t.as_secs())));
    out.extend(max_attempts.map(|n| format!("{n} further attempts")));
    out.extend(no_failover.map(|on| format!("nofailover {}", if on { "On" } else { "Off" })));
    out.extend(sticky.map(|(cookie, param)| match cookie.is_empty() {
        true => "no sticky session".to_owned(),
        false => format!("sticky session {cookie}|{param}"),
    }));
    out
}

#[cfg(test)]
mod tests {
    use super::acceptable;

    #[test]
    fn urls_of_new_members() {
        let name = |u: &str| acceptable(u).map(|u| u.name);
        assert_eq!(name("HTTP://LocalHost:80/").unwrap(), "http://localhost/");
        assert_eq!(
            name("http://[2001:db8::1]:8080").unwrap(),
            "http://[2001:db8::1]:8080"
        );
        let long = format!("http://{}/", "a".repeat(5000));
        for bad in [
            "zzz",
            "/x",
            "unix:/etc/x|http://a",
            "ftp://h",
            "http://169.254.169.254/",
            "http://[fe80::1]/",
            "http://u:p@h/",
            "http://h/?x",
            "http://h:0",
            "http://2130706433/",
            "http://h/<b>",
            "balancer://b",
            "http://$1/",
            &long,
            "",
        ] {
            assert!(acceptable(bad).is_err(), "{bad}");
        }
    }
}
