//! Numbers for workers and balancers, and which of them each server may use
//! (spec: balancer 1.4, proxy 2.1).

use std::time::Duration;

use crate::config::draft::{BalancerDraft, Draft, ProxyDraft, WorkerDraft};
use crate::config::frame::Build;
use crate::config::settings::{Balancer, BalancerParams, Worker, WorkerParams};
use crate::ids::{BalancerNo, ServerNo, WorkerNo};

/// All workers and balancers.
#[derive(Debug, Default)]
pub struct Resolved {
    /// By [`WorkerNo`].
    pub workers: Vec<Worker>,
    /// By [`BalancerNo`].
    pub balancers: Vec<Balancer>,
    /// Per server.
    pub places: Vec<Place>,
}

/// What one server may use.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// Plain workers, inherited ones first: of two with the same name the first counts.
    pub workers: Vec<WorkerNo>,
    /// Balancers, inherited ones included.
    pub balancers: Vec<BalancerNo>,
    /// The main server's ProxyTimeout.
    pub main_timeout: Option<Duration>,
}

/// Gives numbers to everything and resolves the inheritance into virtual hosts.
pub fn number(build: &mut Build, draft: &mut Draft) -> Resolved {
    let mut out = Resolved::default();
    let main_timeout = draft.servers[0].proxy.timeout;
    let main_inherit = inherit_flags(&draft.servers[0].proxy);
    for i in 0..draft.servers.len() {
        let no = ServerNo(u16::try_from(i).unwrap_or(u16::MAX));
        let proxy = &mut draft.servers[i].proxy;
        let flags = inherit_flags(proxy);
        // Either flag lets the main server's workers and balancers through.
        let inherits = flags.0.or(main_inherit.0).unwrap_or(true)
            || flags.1.or(main_inherit.1).unwrap_or(true);
        let mut place = match out.places.first() {
            Some(main) if inherits => main.clone(),
            _ => Place::default(),
        };
        place.main_timeout = main_timeout;
        let workers = std::mem::take(&mut proxy.workers);
        let balancers = std::mem::take(&mut proxy.balancers);
        for w in workers {
            out.warn_of_shared(build, &w, &place);
            let worker = out.add_worker(build, w, no, None);
            place.workers.push(worker);
        }
        for b in balancers {
            out.add_balancer(build, b, no, &mut place);
        }
        out.places.push(place);
    }
    out.check(build);
    out
}

fn inherit_flags(proxy: &ProxyDraft) -> (Option<bool>, Option<bool>) {
    (proxy.balancer_inherit, proxy.pass_inherit)
}

impl Resolved {
    /// A worker of the main server with the same name is the one that is used, as in httpd.
    fn warn_of_shared(&self, build: &mut Build, own: &WorkerDraft, place: &Place) {
        let same = |no: &&WorkerNo| {
            let w = &self.workers[no.index()];
            w.name == own.url.name && w.server == ServerNo(0)
        };
        let Some(inherited) = place.workers.iter().find(same) else {
            return;
        };
        let at = self.workers[inherited.index()].span.clone();
        for (key, value) in &own.params.written {
            build.span = own.span.clone();
            build.warn(format!(
                "AH01146: Ignoring parameter '{key}={value}' for worker '{}' because of worker sharing: the main server defines it at {at}, and its parameters hold here too",
                own.url.name
            ));
        }
    }

    fn add_worker(
        &mut self,
        build: &mut Build,
        draft: WorkerDraft,
        server: ServerNo,
        balancer: Option<BalancerNo>,
    ) -> WorkerNo {
        let no = WorkerNo(u16::try_from(self.workers.len()).unwrap_or(u16::MAX));
        if self.workers.len() == usize::from(u16::MAX) {
            build.span = draft.span.clone();
            build.complain("too many workers (65535 at most)");
        }
        let WorkerDraft { url, params, span } = draft;
        self.workers.push(Worker {
            no,
            name: url.name,
            scheme: url.scheme,
            host: url.host,
            port: url.port,
            port_is_set: url.port_is_set,
            unix: url.unix,
            path: url.path,
            balancer,
            server,
            params: clipped(params),
            span,
        });
        no
    }

    /// Adds a server's own balancer, or merges it into the inherited one of the same name.
    fn add_balancer(
        &mut self,
        build: &mut Build,
        draft: BalancerDraft,
        server: ServerNo,
        place: &mut Place,
    ) {
        let same = |no: &&mut BalancerNo| self.balancers[no.index()].name == draft.name;
        let inherited = place.balancers.iter_mut().find(same);
        let base = inherited.as_ref().map(|no| &self.balancers[no.index()]);
        warn_of_hash_key(build, &draft, base);
        let Some(inherited) = inherited else {
            let no = self.new_balancer(draft.name, draft.params, draft.span, server);
            for member in draft.members {
                let worker = self.add_worker(build, member, server, Some(no));
                self.balancers[no.index()].members.push(worker);
            }
            place.balancers.push(no);
            return;
        };
        if !draft.members.is_empty() {
            build.span = draft.span.clone();
            build.warn(format!(
                "{}: the main server defines it too, and its members are used here; BalancerMember lines of this virtual host have no effect (BalancerInherit Off and ProxyPassInherit Off would give it members of its own)",
                draft.name
            ));
        }
        if draft.written.is_empty() {
            // Nothing of its own: it is the main server's, with one set of counters.
            return;
        }
        let original = self.balancers[inherited.index()].clone();
        let params = overridden(&original.params, &draft);
        let no = self.new_balancer(draft.name, params, draft.span, server);
        *inherited = no;
        for member in original.members {
            let mut copy = self.workers[member.index()].clone();
            copy.no = WorkerNo(u16::try_from(self.workers.len()).unwrap_or(u16::MAX));
            copy.balancer = Some(no);
            copy.server = server;
            self.balancers[no.index()].members.push(copy.no);
            self.workers.push(copy);
        }
    }

    fn new_balancer(
        &mut self,
        name: String,
        mut params: BalancerParams,
        span: crate::config::span::Span,
        server: ServerNo,
    ) -> BalancerNo {
        params.sticky = params.sticky.take().or_else(|| derived(&params));
        let no = BalancerNo(u16::try_from(self.balancers.len()).unwrap_or(u16::MAX));
        self.balancers.push(Balancer {
            no,
            server,
            name,
            members: Vec::new(),
            params,
            span,
        });
        no
    }

    fn check(&self, build: &mut Build) {
        let growth: usize = self
            .balancers
            .iter()
            .map(|b| usize::from(b.params.growth))
            .sum();
        if self.workers.len() + growth > usize::from(u16::MAX) {
            build.complain("too many workers (65535 at most, the balancers' growth included)");
        }
        for b in &self.balancers {
            let (Some(own), Some((read, _))) = (&b.params.sticky_cookie, &b.params.sticky) else {
                continue;
            };
            build.span = b.span.clone();
            if own != read {
                build.complain(format!(
                    "{}: stickycookie={own} sets a cookie that stickysession={read} does not read; name the same cookie in both or leave stickysession out",
                    b.name
                ));
            }
            // RFC 6265 4.1.1: what ends a cookie's value, or what clients do not send back.
            if let Some(separator) = b.params.sticky_separator
                && (!separator.is_ascii_graphic() || b"\",;\\".contains(&separator))
            {
                build.complain(format!(
                    "stickysessionsep={} can't stand in the cookie of stickycookie={own}: take a letter, a digit or one of . - _ : !, or Off",
                    separator.escape_ascii()
                ));
            }
            let nameless = |no: &&WorkerNo| self.workers[no.index()].params.route.is_empty();
            if let Some(no) = b.members.iter().find(nameless) {
                build.warn(format!(
                    "{}: stickycookie can keep no session at {}, which has no route; write route=NAME behind its BalancerMember",
                    b.name,
                    self.workers[no.index()].name
                ));
            }
        }
        for b in &self.balancers {
            self.warn_of_routes(build, b);
        }
        let empty = |b: &&Balancer| b.members.is_empty() && b.params.growth == 0;
        for b in self.balancers.iter().filter(empty) {
            build.span = b.span.clone();
            build.warn(format!(
                "{} has no members: requests for it are answered 503; add BalancerMember lines in <Proxy \"{}\">",
                b.name, b.name
            ));
        }
    }

    /// Sessions that can stick to nobody: the route behind a session's id is found at no member.
    fn warn_of_routes(&self, build: &mut Build, b: &Balancer) {
        let routed = |no: &WorkerNo| !self.workers[no.index()].params.route.is_empty();
        // Members that announce themselves may bring routes; of one alone nothing can stray.
        if b.params.growth > 0 || b.members.len() < 2 || b.members.iter().any(routed) {
            return;
        }
        // With stickycookie the members without a route have been named already.
        if let (Some((name, _)), None) = (&b.params.sticky, &b.params.sticky_cookie) {
            build.span = b.span.clone();
            build.warn(format!(
                "{}: stickysession={name} keeps no session at its member, since no member has a route; write route=NAME behind each BalancerMember, with the name that this backend puts behind its session ids",
                b.name
            ));
        }
    }
}

/// A key that nobody asks for.
fn warn_of_hash_key(build: &mut Build, own: &BalancerDraft, base: Option<&Balancer>) {
    let written = |key: &str| own.written.iter().any(|k| k == key);
    let method = match base {
        Some(base) if !written("lbmethod") => &base.params.lbmethod,
        _ => &own.params.lbmethod,
    };
    if written("hashkey") && method != "byhash" {
        build.span = own.span.clone();
        build.warn(format!(
            "{}: hashkey has a meaning for lbmethod=byhash only, and the method is {method}; write lbmethod=byhash too or leave it out",
            own.name
        ));
    }
}

/// The sticky name that `stickycookie` alone stands for.
fn derived(params: &BalancerParams) -> Option<(String, String)> {
    let cookie = params.sticky_cookie.clone()?;
    Some((cookie, String::new()))
}

/// The main server's parameters with what the virtual host states.
fn overridden(base: &BalancerParams, own: &BalancerDraft) -> BalancerParams {
    let mut out = base.clone();
    let p = &own.params;
    for key in &own.written {
        match key.as_str() {
            "lbmethod" => out.lbmethod = p.lbmethod.clone(),
            "retrybudget" => out.retry_budget = p.retry_budget,
            "stickycookie" => {
                // A name that was made of the main server's cookie goes with it.
                if base.sticky == derived(base) {
                    out.sticky = derived(p);
                }
                out.sticky_cookie = p.sticky_cookie.clone();
            }
            "hashkey" => out.hash_key = p.hash_key.clone(),
            "stickysession" => out.sticky = p.sticky.clone(),
            "stickysessionsep" => out.sticky_separator = p.sticky_separator,
            "scolonpathdelim" => out.scolon_path_delim = p.scolon_path_delim,
            "nofailover" => out.no_failover = p.no_failover,
            "timeout" => out.timeout = p.timeout,
            "maxattempts" => out.max_attempts = p.max_attempts,
            "failonstatus" => {
                let more = p
                    .fail_on_status
                    .iter()
                    .filter(|c| !base.fail_on_status.contains(c));
                out.fail_on_status.extend(more);
            }
            "failontimeout" => out.fail_on_timeout = p.fail_on_timeout,
            "forcerecovery" => out.force_recovery = p.force_recovery,
            "nonce" => out.nonce = p.nonce.clone(),
            "growth" => out.growth = p.growth,
            _ => {}
        }
    }
    out
}

/// `smax` is clipped to `max`, `min` to `smax`.
fn clipped(mut p: WorkerParams) -> WorkerParams {
    p.max = p.max.filter(|n| *n > 0);
    if let Some(max) = p.max {
        p.smax = p.smax.map(|s| s.min(max));
        p.min = p.min.min(max);
    }
    if let Some(smax) = p.smax {
        p.min = p.min.min(smax);
    }
    p
}
