//! What all forms of the page tell, read at one moment.

use super::apply::Outcome;
use crate::balancer::Balancing;
use crate::clock::Wall;
use crate::config::health::HealthParams;
use crate::config::settings::{Balancer, RuleFrom, RuleTo, Server, Worker};
use crate::ids::BalancerNo;
use crate::request::answer;
use crate::request::names;
use crate::request::{Request, Room};
use crate::shm::{BalancerInfo, Snapshot, WorkerInfo, WorkerRow};

/// Everything that is shown.
pub struct Facts {
    /// The name that the server calls itself for this request.
    pub name: String,
    /// As in the Server field.
    pub version: &'static str,
    /// When the program was built, in seconds; 0 unknown.
    pub built: i64,
    /// BalancerPersist.
    pub persist: bool,
    /// BalancerInherit.
    pub balancer_inherit: bool,
    /// ProxyPassInherit.
    pub pass_inherit: bool,
    /// Where the page is.
    pub path: String,
    /// Health checks are to be shown.
    pub health: bool,
    /// They can be changed.
    pub can_check: bool,
    /// ProxyHCExpr: names and texts.
    pub expressions: Vec<(String, String)>,
    /// The virtual host's balancers.
    pub balancers: Vec<Shown>,
    /// What came of the request.
    pub outcome: Outcome,
    /// ServerSignature.
    pub signature: Option<String>,
    /// For times of errors.
    pub table: Snapshot,
}

/// A balancer.
pub struct Shown {
    /// Its number.
    pub no: BalancerNo,
    /// As it is.
    pub info: BalancerInfo,
    /// Its nonce.
    pub nonce: String,
    /// Members that it has room for.
    pub room: usize,
    /// The path that leads to it.
    pub path: String,
    /// What its own server's health checks may name.
    pub expressions: Vec<(String, String)>,
    /// Its members.
    pub members: Vec<Member>,
}

/// A member.
pub struct Member {
    /// As it is.
    pub info: WorkerInfo,
    /// As configured.
    pub config: Worker,
    /// How it is or would be checked.
    pub health: HealthParams,
}

impl Shown {
    /// Without `balancer://`.
    pub fn short(&self) -> &str {
        let name = &self.info.name;
        name.strip_prefix("balancer://").unwrap_or(name)
    }

    /// httpd's second name of it: the server's number, and `_` for what is no letter or digit.
    pub fn safe(&self, server: u16) -> String {
        let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let name: String = self.info.name.chars().map(safe).collect();
        format!("s{server:x}_{name}")
    }

    /// Whether another member could be added.
    pub fn has_room(&self) -> bool {
        self.members.len() < self.room
    }
}

impl Facts {
    /// Reads the table.
    pub fn collect(room: &Room, balancing: &Balancing, req: &Request, outcome: Outcome) -> Facts {
        let server = room.settings.server(req.server);
        // Before the copy, so that it has no member that is not known here.
        let numbers = &server.proxy.balancers;
        let lists: Vec<_> = numbers.iter().map(|&no| balancing.rows(no)).collect();
        let table = room.scoreboard.snapshot();
        let shown = |(&no, list): (&BalancerNo, Vec<_>)| {
            let row = balancing.balancer_row(no)?;
            let config = room.settings.balancer(no);
            let mut info = table.balancers.iter().find(|b| b.row == row.0)?.clone();
            let known = |info: WorkerInfo| {
                let row = WorkerRow(info.row);
                let (no, _) = list.iter().find(|(_, r)| *r == row)?;
                Some(Member {
                    info,
                    config: balancing.worker(*no).clone(),
                    health: room.scoreboard.health_params(row),
                })
            };
            let members = std::mem::take(&mut info.members);
            Some(Shown {
                no,
                info,
                nonce: room.scoreboard.nonce(row),
                room: config.members.len() + usize::from(config.params.growth),
                path: path_to(server, config),
                expressions: expressions(room.settings.server(config.server)),
                members: members.into_iter().filter_map(known).collect(),
            })
        };
        let balancers: Vec<Shown> = numbers.iter().zip(lists).filter_map(shown).collect();
        let mut all = expressions(server);
        for other in balancers.iter().flat_map(|b| &b.expressions) {
            // An inherited balancer's checks know the names of its own server.
            if !all.contains(other) {
                all.push(other.clone());
            }
        }
        let checked = |b: &Shown| b.members.iter().any(|m| m.info.health.is_some());
        let mut modules = room.settings.modules.iter();
        let module = modules.find(|(name, _)| name == "proxy_hcheck");
        // Where no modules are named all count as loaded: then only where there is something to see.
        let named = module.is_some_and(|(_, fixed)| !fixed);
        let used = !all.is_empty() || balancers.iter().any(checked);
        let signature = answer::signature(room, req);
        Facts {
            name: names::self_name(&room.routes, req).to_owned(),
            version: answer::banner(),
            built: crate::handler::built(),
            persist: server.proxy.persist,
            balancer_inherit: server.proxy.balancer_inherit,
            pass_inherit: server.proxy.pass_inherit,
            path: super::own_path(req),
            can_check: module.is_some() || used,
            health: named || used,
            expressions: all,
            balancers,
            outcome,
            signature: signature.map(|s| String::from_utf8_lossy(&s).into_owned()),
            table,
        }
    }

    /// The balancer whose form is shown.
    pub fn selected(&self) -> Option<&Shown> {
        let no = self.outcome.balancer?;
        self.balancers.iter().find(|b| b.no == no)
    }

    /// The member whose form is shown.
    pub fn selected_member(&self) -> Option<&Member> {
        let row = self.outcome.member?;
        let mut all = self.selected()?.members.iter();
        all.find(|m| m.info.row == row.0)
    }

    /// When the member went into error, in seconds since 1970.
    pub fn error_time(&self, m: &WorkerInfo) -> Option<i64> {
        if m.error_time.0 == 0 {
            return None;
        }
        let ago = self.table.taken_mono.since(m.error_time);
        // Not in whole seconds: then it would be another second at each look.
        let at = self.table.taken.0 - ago.as_micros() as i64;
        Some(Wall(at).seconds())
    }
}

/// Names and texts; of equal names the last one counts.
fn expressions(server: &Server) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    for e in &server.proxy.health_expressions {
        out.retain(|(name, _)| !name.eq_ignore_ascii_case(&e.name));
        out.push((e.name.clone(), e.expression.text().to_owned()));
    }
    out
}

/// The path of the last ProxyPass that leads to it, else `/`.
fn path_to(server: &Server, balancer: &Balancer) -> String {
    let leads = |to: &RuleTo| match to {
        RuleTo::Exclude => false,
        RuleTo::Url(url) => {
            let rest = url.strip_prefix(balancer.name.as_str());
            rest.is_some_and(|r| r.is_empty() || r.starts_with(['/', '?', '#']))
        }
    };
    let rules = server.proxy.rules.iter().rev();
    let from = rules.filter(|r| leads(&r.to)).find_map(|r| match &r.from {
        RuleFrom::Prefix(path) => Some(String::from_utf8_lossy(path).into_owned()),
        RuleFrom::Match(_) => None,
    });
    from.unwrap_or_else(|| "/".to_owned())
}
