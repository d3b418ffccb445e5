//! A request to a balancer: members are tried until one answers (spec: balancer 5 and 9).

use std::net::IpAddr;
use std::time::Duration;

use super::attempt::Failed;
use super::stage::Stage;
use super::target::Url;
use crate::balancer::sticky::{self, Session};
use crate::balancer::{Asked, Choice, NoMember, hash};
use crate::clock::{self, Mono};
use crate::config::settings::{HashKey, Worker};
use crate::fault::{Fault, Kind, Origin, Phase, Retry};
use crate::ids::{BalancerNo, WorkerNo};
use crate::reactor::Timer;
use crate::request::say::would_say;
use crate::request::{Answer, Request};

/// How often a request that waits for a member looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// What earlier tries of a request came to: nothing for most, so it stands apart from their state.
#[derive(Default)]
struct Trouble {
    /// Usable members that must not be tried again.
    skip: Vec<WorkerNo>,
    /// The last try's failure.
    last: Option<Fault>,
    /// The session's own member is usable: the session is not moved.
    session_stays: bool,
}

impl<'a> Stage<'a> {
    /// Tries members until one answers, `maxattempts` further tries at most.
    pub(super) async fn balanced(&mut self, url: &Url<'_>) -> Result<Answer, Fault> {
        let Some(no) = self.find(url.base()) else {
            let text = format!(
                "AH01144: no protocol handler was valid for the URL {}: there is no such balancer",
                url.whole.escape_ascii()
            );
            self.say(4, "proxy", None, &text);
            return Err(Fault::new(Origin::Own, Phase::Choosing, Kind::Scheme, text));
        };
        let proxy = self.proxy;
        // Boxed like all that few requests have: it would be a part of every request's state.
        let session = self.session(no, url).map(Box::new);
        proxy.balancing.count_request(no);
        let mut tries = 0;
        let mut trouble: Option<Box<Trouble>> = None;
        loop {
            let chosen = match self.pick(no, url, session.as_deref(), skip(&trouble)) {
                Err(why) if may_wait(why, skip(&trouble)) => {
                    Box::pin(self.wait(no, url, session.as_deref(), why)).await
                }
                chosen => chosen,
            };
            // The session's member is well, it only broke off this request: the session stays there.
            let stays = trouble.as_ref().is_some_and(|t| t.session_stays);
            let by_route = chosen
                .as_ref()
                .is_ok_and(|c| c.by_route && !c.route_changed);
            let (member, probe, moved) = match chosen {
                Ok(mut choice) => {
                    choice.route_changed &= !stays;
                    self.chosen(no, choice, session.as_deref())
                }
                Err(why) => {
                    let last = trouble.and_then(|t| t.last);
                    return Err(self.no_member(no, why, session.as_deref(), last));
                }
            };
            let began = clock::now();
            let failed = match self.attempt(&proxy.way_to_member(member, url.path())).await {
                Ok(mut answer) => {
                    if moved {
                        self.set_cookie(no, member, &mut answer);
                    }
                    self.answered(no, member, began, answer.head.status < 500);
                    if probe {
                        proxy.balancing.mark_connected(member.no);
                    }
                    self.judge_status(no, member, answer.head.status);
                    return Ok(answer);
                }
                Err(failed) => failed,
            };
            if failed.fault.origin == Origin::Upstream && !failed.blames {
                // An answer that ProxyErrorOverride replaces, or a broken exchange.
                let status = match failed.fault.kind {
                    Kind::Status(status) => Some(status),
                    _ => None,
                };
                self.answered(no, member, began, status.is_some_and(|s| s < 500));
                if probe && status.is_some() {
                    proxy.balancing.mark_connected(member.no);
                }
            }
            self.blame(no, member, &failed);
            if failed.blames && !proxy.balancing.rests_after_error(member.no) {
                // Nothing but its average keeps requests from it.
                self.answered(no, member, began, false);
            }
            // One that ignores errors stays usable, so httpd never goes on from it.
            let firm = failed.blames && proxy.balancing.ignores_errors(member.no);
            let further = proxy.balancing.max_attempts(no);
            if failed.fault.retry != Retry::Elsewhere || firm || tries >= further {
                self.judge_failure(no, member, &failed.fault);
                return Err(failed.fault);
            }
            if !proxy.balancing.may_try_again(no) {
                let name = &self.room.settings.balancer(no).name;
                let text = format!(
                    "{name}: no further try, since {} in a hundred requests were ones already (retrybudget)",
                    proxy.balancing.params(no).retry_budget
                );
                self.say(4, "proxy_balancer", None, &text);
                self.judge_failure(no, member, &failed.fault);
                return Err(failed.fault);
            }
            tries += 1;
            // Still usable (`retry=0`, a full pool, a broken exchange): not this one again.
            let trouble = trouble.get_or_insert_default();
            if proxy.balancing.usable(member.no) {
                trouble.skip.push(member.no);
                trouble.session_stays |= by_route;
            }
            trouble.last = Some(failed.fault);
        }
    }

    /// One look for a member.
    fn pick(
        &self,
        no: BalancerNo,
        url: &Url<'_>,
        session: Option<&Session>,
        skip: &[WorkerNo],
    ) -> Result<Choice, NoMember> {
        let asked = Asked {
            route: session.map(|s| s.route.as_slice()),
            key: self.hash_key(no, url),
            skip,
        };
        self.proxy.balancing.choose_for(no, &asked)
    }

    /// Waits for a member as long as the balancer's `timeout` allows.
    async fn wait(
        &self,
        no: BalancerNo,
        url: &Url<'_>,
        session: Option<&Session>,
        mut why: NoMember,
    ) -> Result<Choice, NoMember> {
        let until = clock::now() + self.proxy.balancing.wait_limit(no);
        while clock::now() < until && why != NoMember::Nofailover {
            Timer::new(LOOK_AGAIN.min(until.since(clock::now()))).await;
            match self.pick(no, url, session, &[]) {
                Ok(choice) => return Ok(choice),
                Err(now) => why = now,
            }
        }
        Err(why)
    }

    /// For methods that look at the time to an answer; how long the client took over its body says
    /// nothing of the member.
    fn answered(&self, no: BalancerNo, member: &Worker, began: Mono, well: bool) {
        if self.sending.is_whole() {
            let took = clock::now().since(began);
            self.proxy
                .balancing
                .answered_after(no, member.no, took, well);
        }
    }

    /// Takes the choice in: busy, variables. Gives the member, whether this try is a probe, and
    /// whether the session's route is another.
    fn chosen(
        &mut self,
        no: BalancerNo,
        choice: Choice,
        session: Option<&Session>,
    ) -> (&'a Worker, bool, bool) {
        let member = self.proxy.balancing.worker(choice.worker);
        self.occupy(choice.busy);
        if would_say(self.room, self.req, 7, "proxy_balancer") {
            self.tell(no, member, session, choice.route_changed);
        }
        self.set_variables(no, member, session, choice.route_changed);
        (member, choice.probe, choice.route_changed)
    }

    /// The lines of `LogLevel debug` about a choice.
    fn tell(&self, no: BalancerNo, member: &Worker, session: Option<&Session>, changed: bool) {
        let name = &self.room.settings.balancer(no).name;
        let say = |text: String| self.say(7, "proxy_balancer", None, &text);
        if let Some(session) = session {
            let route = session.route.escape_ascii();
            say(format!(
                "AH01161: {name}: Found route {route} for stickysession {}",
                session.name
            ));
            if changed {
                let new = self.proxy.balancing.route(member.no);
                say(format!(
                    "AH01162: {name}: Route changed from {route} to {new}"
                ));
            }
        }
        say(format!(
            "AH01172: {name}: worker ({name}) rewritten to {}",
            member.name
        ));
    }

    fn find(&self, name: &[u8]) -> Option<BalancerNo> {
        let settings = &self.room.settings;
        let numbers = self.server.proxy.balancers.iter().copied();
        let mut found = numbers.filter(|&no| {
            let own = settings.balancer(no).name.as_bytes();
            own.eq_ignore_ascii_case(name)
        });
        found.next()
    }

    fn session(&self, no: BalancerNo, url: &Url<'_>) -> Option<Session> {
        let params = self.proxy.balancing.live(no);
        params.sticky.as_ref()?;
        let mut text = url.whole.to_vec();
        if let Some(query) = self.query {
            text.push(b'?');
            text.extend_from_slice(query);
        }
        sticky::find(&params, &text, self.cookies().as_deref())
    }

    /// All Cookie lines as one.
    fn cookies(&self) -> Option<Vec<u8>> {
        let mut lines = self.req.head.fields.get_all("Cookie");
        let first = lines.next();
        first.map(|first| {
            let mut all = first.to_vec();
            for more in lines {
                all.extend_from_slice(b", ");
                all.extend_from_slice(more);
            }
            all
        })
    }

    /// The hash of what `hashkey` names, when the balancer's method asks for it.
    fn hash_key(&self, no: BalancerNo, url: &Url<'_>) -> Option<u64> {
        if !self.proxy.balancing.wants_key(no) {
            return None;
        }
        match &self.proxy.balancing.params(no).hash_key {
            HashKey::Client => match self.req.client.ip().to_canonical() {
                IpAddr::V4(ip) => Some(hash::of(&ip.octets())),
                IpAddr::V6(ip) => Some(hash::of(&ip.octets())),
            },
            HashKey::Header(name) => self.req.head.fields.get(name).map(hash::of),
            HashKey::Cookie(name) => {
                let cookies = self.cookies()?;
                sticky::in_cookie(&cookies, name.as_bytes()).map(hash::of)
            }
            // An empty path goes out as this one.
            HashKey::Path if url.path().is_empty() => Some(hash::of(b"/")),
            HashKey::Path => Some(hash::of(url.path())),
        }
    }

    fn set_variables(
        &mut self,
        no: BalancerNo,
        member: &Worker,
        session: Option<&Session>,
        route_changed: bool,
    ) {
        if !self.wanted.balancer {
            return;
        }
        let env = &mut self.req.env;
        let name = self.room.settings.balancer(no).name.as_str();
        env.set("BALANCER_NAME", name);
        env.set("BALANCER_WORKER_NAME", member.name.as_str());
        env.set(
            "BALANCER_WORKER_ROUTE",
            self.proxy.balancing.route(member.no),
        );
        if let Some(session) = session {
            env.set("BALANCER_SESSION_STICKY", session.name.as_str());
            env.set("BALANCER_SESSION_ROUTE", session.route.as_slice());
        }
        if route_changed {
            env.set("BALANCER_ROUTE_CHANGED", "1");
        }
    }

    /// `stickycookie`: tells the client the route of the member that answered.
    fn set_cookie(&self, no: BalancerNo, member: &Worker, answer: &mut Answer) {
        let live = self.proxy.balancing.live(no);
        let (Some(_), Some((name, _))) = (&live.sticky_cookie, &live.sticky) else {
            return;
        };
        let route = self.proxy.balancing.route(member.no);
        // The manager can change a route: nothing that would end the cookie or the line
        // (RFC 6265 4.1.1).
        let fits = |b: u8| b.is_ascii_graphic() && !b"\",;\\".contains(&b);
        if name.is_empty() || route.is_empty() || !route.bytes().all(fits) {
            return;
        }
        let mut value = format!("{name}=").into_bytes();
        value.extend(live.sticky_separator);
        value.extend_from_slice(route.as_bytes());
        value.extend_from_slice(b"; Path=/; HttpOnly; SameSite=Lax");
        answer.head.fields.push(b"Set-Cookie", &value);
    }

    /// Puts the member in error where the failure is its own.
    fn blame(&self, no: BalancerNo, member: &Worker, failed: &Failed) {
        if failed.blames && self.proxy.balancing.mark_error(member.no) {
            let text = format!(
                "AH00959: {}: disabling worker {} for {}s",
                self.room.settings.balancer(no).name,
                member.name,
                member.params.retry.as_secs()
            );
            self.say(3, "proxy", None, &text);
        }
    }

    /// `failonstatus`.
    fn judge_status(&self, no: BalancerNo, member: &Worker, status: u16) {
        if self.proxy.balancing.params(no).fail_on_status.is_empty() {
            return;
        }
        if self.proxy.balancing.fail_on_status(member.no, status) {
            let text = format!(
                "AH01174: {}: Forcing worker ({}) into error state due to status code {status} matching 'failonstatus' balancer parameter",
                self.room.settings.balancer(no).name,
                member.name
            );
            self.say(3, "proxy_balancer", None, &text);
        }
    }

    /// `failontimeout`, and `failonstatus` for answers of our own.
    fn judge_failure(&self, no: BalancerNo, member: &Worker, fault: &Fault) {
        // A client's fault never marks a member.
        if fault.origin == Origin::Client {
            return;
        }
        if fault.kind == Kind::Timeout && self.proxy.balancing.fail_on_timeout(member.no) {
            let text = format!(
                "AH02460: {}: Forcing worker ({}) into error state due to timeout and 'failontimeout' parameter being set",
                self.room.settings.balancer(no).name,
                member.name
            );
            self.say(3, "proxy_balancer", None, &text);
        }
        let status = match fault.kind {
            Kind::Status(status) | Kind::Malformed(status) => status,
            Kind::Eof | Kind::Broken | Kind::BadBody | Kind::Resolve => 502,
            Kind::Timeout => 504,
            // A full pool is ours, and says nothing about the member.
            Kind::Refused => 503,
            _ => return,
        };
        self.judge_status(no, member, status);
    }
}

impl Stage<'_> {
    /// Nobody is left. What the last member did says more than that, when there was one.
    fn no_member(
        &mut self,
        no: BalancerNo,
        why: NoMember,
        session: Option<&Session>,
        last: Option<Fault>,
    ) -> Fault {
        let name = &self.room.settings.balancer(no).name;
        let text = match why {
            NoMember::Nofailover => {
                let route = session.map_or(&b""[..], |s| s.route.as_slice());
                let wait = self.proxy.balancing.next_try_of(no, route);
                retry_after(self.req, wait);
                let route = String::from_utf8_lossy(route);
                format!("AH01167: {name}: All workers are in error state for route ({route})")
            }
            NoMember::AllInError => {
                // Where the next request does not try them anyhow, it is known when one does.
                retry_after(self.req, self.proxy.balancing.next_try(no));
                format!("AH01170: {name}: All workers are in error state")
            }
            NoMember::Empty => format!("AH01171: {name}: No workers in balancer"),
        };
        self.say(3, "proxy_balancer", None, &text);
        match last {
            Some(fault) => fault,
            None => Fault::new(Origin::Own, Phase::Choosing, Kind::NoMember, text),
        }
    }
}

/// Tells the client when a member is tried again, where that is known.
fn retry_after(req: &mut Request, wait: Option<Duration>) {
    if let Some(wait) = wait {
        let seconds = wait.as_millis().div_ceil(1000).max(1).to_string();
        req.error_fields.set("Retry-After", seconds.as_bytes());
    }
}

fn skip(trouble: &Option<Box<Trouble>>) -> &[WorkerNo] {
    trouble.as_deref().map_or(&[], |t| &t.skip)
}

/// Whether another look may find what this one did not. Nothing will change for a member that this
/// request must not try again.
fn may_wait(why: NoMember, skip: &[WorkerNo]) -> bool {
    why != NoMember::Nofailover && skip.is_empty()
}
