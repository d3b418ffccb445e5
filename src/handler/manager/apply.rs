//! What a request may change is changed here, all of it or nothing.

use subtle::ConstantTimeEq;

use super::change::{self, Changes, brief};
use super::facts::Facts;
use super::fields;
use super::params::{Params, decoded_again};
use crate::balancer::Balancing;
use crate::codec::beacon::{Origin, Reach};
use crate::config::directive::pass::missing_scheme;
use crate::config::worker_url::WorkerUrl;
use crate::ids::BalancerNo;
use crate::request::{Request, Room};
use crate::shm::{AddError, BalancerRow, ByHand, WorkerRow};

/// What came of a request, and what the page is to show.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The answer's status.
    pub status: u16,
    /// Why nothing was changed.
    pub errors: Vec<String>,
    /// What was changed.
    pub done: Vec<String>,
    /// All values were there already.
    pub same: bool,
    /// What had no meaning.
    pub ignored: Vec<String>,
    /// The next request shall come by another connection.
    pub close: bool,
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
            same: false,
            ignored: Vec::new(),
            close: false,
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

    /// Everything is as it was asked for.
    pub fn is_success(&self) -> bool {
        let there = self.same || !self.done.is_empty();
        self.errors.is_empty() && self.ignored.is_empty() && there
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
        return outcome.because(format!("there is no balancer {} here", brief(b)));
    };
    outcome.balancer = Some(balancer);
    let Some(w) = params.get("w").filter(|w| !w.is_empty()) else {
        return outcome;
    };
    let member = member(balancing, balancer, w);
    outcome.member = member.or_else(|| self::member(balancing, balancer, &decoded_again(w)?));
    if outcome.member.is_none() {
        return outcome.because(format!("balancer {b} has no member {}", brief(w)));
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
    let facts = Facts::collect(room, balancing, req, outcome.clone());
    let Some(shown) = facts.selected() else {
        return outcome.because("this balancer has no row in the slot table");
    };
    let live = fields::live(shown, facts.selected_member());
    let mut changes = match change::read(params, &live) {
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
    match make(room, balancing, no, row, outcome.member, &changes) {
        Ok(None) => {}
        Ok(Some(name)) => changes
            .told_balancer
            .push(format!("{name} is a member now, disabled")),
        Err(why) => {
            outcome.status = why.status;
            outcome.close = why.close;
            return outcome.because(why.text);
        }
    }
    let name = &room.settings.balancer(no).name;
    let member = outcome.member.and_then(|m| board.found(m));
    let member = member.map_or(String::new(), |w| format!("{name} {}", w.name));
    for (whom, done) in [
        (name, &mut changes.told_balancer),
        (&member, &mut changes.told),
    ] {
        if !done.is_empty() {
            let text = format!(
                "balancer-manager: {} changed {whom}: {}",
                req.client.ip(),
                done.join(", ")
            );
            crate::log::notice("proxy_balancer", &text);
            outcome.done.append(done);
        }
    }
    outcome.same = outcome.done.is_empty() && outcome.ignored.is_empty();
    outcome
}

/// Why nothing was made.
struct Refusal {
    /// The answer's status.
    status: u16,
    text: String,
    /// This connection's child can make no changes any more.
    close: bool,
}

/// Makes all changes in one go and gives the name of a member that was added, or makes none and says
/// why.
fn make(
    room: &Room,
    balancing: &Balancing,
    no: BalancerNo,
    row: BalancerRow,
    member: Option<WorkerRow>,
    changes: &Changes,
) -> Result<Option<String>, Refusal> {
    // The one refusal that httpd tells by its status.
    let refused = |url: &str, text: String| Refusal {
        status: 400,
        text: format!("b_nwrkr={}: {text}", brief(url)),
        close: false,
    };
    let mut url = None;
    if let Some(text) = &changes.add {
        url = Some(acceptable(text).map_err(|why| refused(text, why))?);
    }
    if url.is_none() && changes.member.is_none() && changes.balancer.is_none() {
        return Ok(None);
    }
    let rows: Vec<_> = balancing.rows(no).into_iter().map(|(_, row)| row).collect();
    let grown = balancing.grown_rows(no);
    let under = |name: &str| url.as_ref().is_some_and(|u| u.is_under(name));
    let new = url.as_ref().map(|u| ByHand {
        grown,
        name: &u.name,
        under: &under,
    });
    let own = changes.balancer.clone().unwrap_or_default();
    let edit = member.zip(changes.member.as_ref());
    let board = &room.scoreboard;
    let asker = balancing.generation();
    let Err(error) = board.change_by_hand(row, &rows, new.as_ref(), edit, &own, asker) else {
        return Ok(url.map(|u| u.name));
    };
    let plain = |text: &str, close| {
        Err(Refusal {
            status: 200,
            text: text.to_owned(),
            close,
        })
    };
    let text = match error {
        AddError::Busy => {
            return plain(
                "the balancer's lock could not be had in time; try again",
                false,
            );
        }
        AddError::Outdated => {
            let text = "the configuration was reloaded meanwhile; load the page again";
            return plain(text, true);
        }
        AddError::Exists(name) => format!("{name} is a member already"),
        AddError::Full if grown.is_empty() => {
            "this balancer takes no members at run time (its growth is 0)".to_owned()
        }
        AddError::Full if grown.len() == 1 => "the one place of growth is taken".to_owned(),
        AddError::Full => format!("all {} places of growth are taken", grown.len()),
    };
    Err(refused(changes.add.as_deref().unwrap_or_default(), text))
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
    let origin = origin.ok_or("its host or port is not acceptable")?;
    match origin.reach() {
        Reach::Nowhere => {
            Err("this address leads to no backend (link-local, multicast, metadata)".to_owned())
        }
        Reach::ThisMachine if origin.is_unspecified() => {
            Err("this is the address of no backend; 127.0.0.1 or [::1] is this machine".to_owned())
        }
        // Whoever may change balancers may name backends beside the proxy, as its configuration does.
        Reach::Elsewhere | Reach::ThisMachine => Ok(url),
    }
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
        // Backends beside the proxy are common; the configuration takes them too.
        for good in [
            "http://127.0.0.1:1",
            "http://[::1]:1",
            "http://localhost:1",
            "http://[fd00::1]",
        ] {
            assert!(acceptable(good).is_ok(), "{good}");
        }
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
            "http://0.0.0.0:1/",
            "http://0.1.2.3/",
            "http://[::]/",
            "http://[::ffff:0.0.0.0]/",
            "http://[::169.254.169.254]/",
            "http://[::ffff:169.254.169.254]:1/",
            "http://[64:ff9b::169.254.169.254]/",
            "http://[fd00:ec2::254]/",
            "http://[::224.0.0.1]/",
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
