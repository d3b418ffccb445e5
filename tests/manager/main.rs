//! The manager end to end: raw requests with every field, bad values, wrong nonces, foreign pages.

#[path = "../common/mod.rs"]
mod common;
mod edits;
mod forms;
mod lasting;
mod page;
mod trust;

use common::backend::{Reply, Seen};
use common::client::Response;
use common::{Backend, Client, Server, get};
use muster::shm::status;
use muster::shm::{BalancerInfo, WorkerInfo};
use serde_json::Value;

/// Two balancers: `a` with two members and room for one more, `b` with one.
fn conf(a: u16, b: u16, more: &str) -> String {
    format!(
        "Listen 127.0.0.1:@PORT@\nStartServers 3\n\
         <Proxy balancer://a>\nBalancerMember http://127.0.0.1:{a}\nBalancerMember http://127.0.0.1:{b}\n\
         ProxySet growth=1 {more}\n</Proxy>\n\
         <Proxy balancer://b>\nBalancerMember http://127.0.0.1:{a}\n</Proxy>\n\
         ProxyHCExpr ok234 {{%{{REQUEST_STATUS}} =~ /^[234]/}}\n\
         <Location /bm>\nSetHandler balancer-manager\nRequire local\n</Location>\n\
         ProxyPass /bm !\nProxyPass /b/ balancer://b/\nProxyPass / balancer://a/\n"
    )
}

struct Site {
    server: Server,
    a: Backend,
    b: Backend,
}

fn site() -> Site {
    let (a, b) = (Backend::start("a"), Backend::start("b"));
    let server = Server::start(&conf(a.port, b.port, ""));
    Site { server, a, b }
}

/// What a browser that shows the page sends with a form.
const PAGE: &str = "Referer: http://localhost/bm\r\n";
const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\n";

impl Site {
    fn ask(&self, method: &str, target: &str, fields: &str, body: &str) -> Response {
        let ask = || {
            let mut c = Client::try_connect(self.server.port)?;
            c.send(format!(
                "{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{fields}Content-Length: {}\r\n\r\n{body}",
                body.len()
            ))?;
            c.response(method)
        };
        // A child that HUP ends drops what it has.
        common::wait_for("an answer", || match ask() {
            Err(_) if method == "GET" => None,
            r => Some(r.unwrap()),
        })
    }

    /// Starts what was stopped, and waits until that serves, not only its predecessor's log says so.
    fn launch_again(&mut self) {
        let serving = "resuming normal operations";
        let before = self.server.count_log(serving);
        self.server.launch(&[], &[]);
        common::eventually("it serves again", || {
            self.server.count_log(serving) > before
        });
    }

    /// A form of the page, without the redirect that browsers get.
    fn post(&self, body: &str) -> Response {
        self.ask("POST", "/bm", &format!("{PAGE}{FORM}"), body)
    }

    fn nonce(&self, balancer: &str) -> String {
        let page = self.ask("GET", "/bm?json", "", "").text();
        let page: Value = serde_json::from_str(&page).unwrap();
        let all = page["balancers"].as_array().unwrap();
        let name = format!("balancer://{balancer}");
        let found = all.iter().find(|b| b["name"] == name).unwrap();
        found["nonce"].as_str().unwrap().to_owned()
    }

    fn member(&self, i: usize) -> WorkerInfo {
        self.balancer().members[i].clone()
    }

    fn balancer(&self) -> BalancerInfo {
        let table = self.server.scoreboard();
        let mut all = table.balancers.into_iter();
        all.find(|b| b.name == "balancer://a").unwrap()
    }

    /// A form about the first member.
    fn edit(&self, fields: &str) -> Response {
        let (nonce, port) = (self.nonce("a"), self.a.port);
        self.post(&format!(
            "b=a&w=http%3A%2F%2F127.0.0.1%3A{port}&nonce={nonce}&{fields}"
        ))
    }

    /// A form about the balancer.
    fn set(&self, fields: &str) -> Response {
        let nonce = self.nonce("a");
        self.post(&format!("b=a&nonce={nonce}&{fields}"))
    }

    fn state(&self) -> String {
        let b = self.balancer();
        let members: Vec<_> = b
            .members
            .iter()
            .map(|m| {
                let h = m.health.clone().unwrap_or_default();
                (
                    m.name.clone(),
                    m.status,
                    m.load_factor,
                    m.lbset,
                    m.route.clone(),
                    m.redirect.clone(),
                    (
                        h.state.method,
                        h.state.interval,
                        h.state.passes,
                        h.state.fails,
                        h.texts.uri,
                        h.texts.expression,
                    ),
                )
            })
            .collect();
        format!(
            "{} {} {} {} {:?} {} {members:?}",
            b.lbmethod,
            b.sticky_cookie,
            b.sticky_param,
            b.timeout_ms,
            b.max_attempts_set,
            b.no_failover
        )
    }

    /// Who answers `n` requests, over one connection each, so that all children do.
    fn names(&self, n: usize) -> String {
        (0..n)
            .map(|_| {
                get(self.server.port, "/x")
                    .unwrap()
                    .text()
                    .chars()
                    .next()
                    .unwrap()
            })
            .collect()
    }
}
