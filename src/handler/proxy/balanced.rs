//! A request to a balancer: members are tried until one answers (spec: balancer 5 and 9).

use std::time::Duration;

use super::Proxy;
use super::attempt::Failed;
use super::stage::Stage;
use super::target::Url;
use crate::balancer::sticky::{self, Session};
use crate::balancer::{Choice, NoMember};
use crate::clock;
use crate::config::settings::Worker;
use crate::config::status;
use crate::fault::{Fault, Kind, Origin, Phase, Retry};
use crate::ids::{BalancerNo, WorkerNo};
use crate::reactor::Timer;
use crate::request::say::say;
use crate::request::{Answer, Request, RequestBody};
use crate::upstream::{Sending, Tally};

/// How often a request that waits for a member looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

impl Proxy {
    /// Tries members until one answers, `maxattempts` further tries at most.
    pub(super) async fn balanced(
        &self,
        stage: &Stage<'_>,
        req: &mut Request,
        body: &mut RequestBody,
        sending: &mut Sending,
        url: &Url<'_>,
    ) -> Result<Answer, Fault> {
        let name = &url.whole[..url.base_len];
        let Some(no) = find(stage, name) else {
            let text = format!(
                "AH01144: no protocol handler was valid for the URL {}: there is no such balancer",
                url.whole.escape_ascii()
            );
            say(stage.room, req, 4, "proxy", None, &text);
            return Err(Fault::new(Origin::Own, Phase::Choosing, Kind::Scheme, text));
        };
        let session = self.session(stage, req, no, url);
        let further = self.balancing.max_attempts(no);
        let mut tries = 0;
        let mut skip: Vec<WorkerNo> = Vec::new();
        let mut last: Option<Fault> = None;
        loop {
            let choice = match self.choose(no, session.as_ref(), &skip).await {
                Ok(choice) => choice,
                Err(why) => return Err(no_member(stage, req, no, why, last)),
            };
            let member = stage.room.settings.worker(choice.worker);
            self.set_variables(
                stage,
                req,
                no,
                member,
                session.as_ref(),
                choice.route_changed,
            );
            let mut way = self.way(stage, Some(member), url.path);
            way.balanced = true;
            way.before = member.path.as_bytes();
            if let Some(row) = choice.busy.row() {
                req.link.at_worker(row);
            }
            let tally = Tally::new(self.balancing.clone(), choice.busy);
            let outcome = self.attempt(stage, req, body, sending, &way, tally).await;
            let failed = match outcome {
                Ok(answer) => {
                    if choice.probe {
                        self.balancing.mark_connected(member.no);
                    }
                    self.judge_status(stage, req, no, member, answer.head.status);
                    return Ok(answer);
                }
                Err(failed) => failed,
            };
            self.blame(stage, req, no, member, &failed);
            // One that ignores errors stays usable, so httpd never goes on from it.
            let firm = member.params.status & status::IGNORE_ERRORS != 0 && failed.blames;
            if failed.fault.retry != Retry::Elsewhere || firm || tries >= further {
                self.judge_failure(stage, req, no, member, &failed.fault);
                return Err(failed.fault);
            }
            tries += 1;
            // Still usable (`retry=0`, a full pool, a broken exchange): not this one again.
            if self.balancing.usable(member.no) {
                skip.push(member.no);
            }
            last = Some(failed.fault);
        }
    }

    fn session(
        &self,
        stage: &Stage<'_>,
        req: &Request,
        no: BalancerNo,
        url: &Url<'_>,
    ) -> Option<Session> {
        let params = self.balancing.params(no);
        params.sticky.as_ref()?;
        let mut text = url.whole.to_vec();
        if let Some(query) = stage.query {
            text.push(b'?');
            text.extend_from_slice(query);
        }
        let mut lines = req.head.fields.get_all("Cookie");
        let first = lines.next();
        let joined = first.map(|first| {
            let mut all = first.to_vec();
            for more in lines {
                all.extend_from_slice(b", ");
                all.extend_from_slice(more);
            }
            all
        });
        sticky::find(params, &text, joined.as_deref())
    }

    /// A member, waiting for one as long as the balancer's `timeout` allows.
    async fn choose(
        &self,
        no: BalancerNo,
        session: Option<&Session>,
        skip: &[WorkerNo],
    ) -> Result<Choice, NoMember> {
        let route = session.map(|s| s.route.as_slice());
        let limit = self.balancing.wait_limit(no);
        let until = clock::now() + limit;
        loop {
            let why = match self.balancing.choose(no, route, skip) {
                Ok(choice) => return Ok(choice),
                Err(why) => why,
            };
            // Nothing will change for a member that this request must not try again.
            let hopeless = why == NoMember::Nofailover || !skip.is_empty();
            if hopeless || limit.is_zero() || clock::now() >= until {
                return Err(why);
            }
            Timer::new(LOOK_AGAIN.min(until.since(clock::now()))).await;
        }
    }

    fn set_variables(
        &self,
        stage: &Stage<'_>,
        req: &mut Request,
        no: BalancerNo,
        member: &Worker,
        session: Option<&Session>,
        route_changed: bool,
    ) {
        if !stage.wanted.balancer {
            return;
        }
        let env = &mut req.env;
        let name = stage.room.settings.balancer(no).name.as_str();
        env.set("BALANCER_NAME", name);
        env.set("BALANCER_WORKER_NAME", member.name.as_str());
        env.set("BALANCER_WORKER_ROUTE", self.balancing.route(member.no));
        if let Some(session) = session {
            env.set("BALANCER_SESSION_STICKY", session.name.as_str());
            env.set("BALANCER_SESSION_ROUTE", session.route.as_slice());
        }
        if route_changed {
            env.set("BALANCER_ROUTE_CHANGED", "1");
        }
    }

    /// Puts the member in error where the failure is its own.
    fn blame(
        &self,
        stage: &Stage<'_>,
        req: &Request,
        no: BalancerNo,
        member: &Worker,
        failed: &Failed,
    ) {
        if failed.blames && self.balancing.mark_error(member.no) {
            let text = format!(
                "AH00959: {}: disabling worker {} for ({}:{}) for {}s",
                stage.room.settings.balancer(no).name,
                member.name,
                member.host,
                member.port,
                member.params.retry.as_secs()
            );
            say(stage.room, req, 3, "proxy", None, &text);
        }
    }

    /// `failonstatus`.
    fn judge_status(
        &self,
        stage: &Stage<'_>,
        req: &Request,
        no: BalancerNo,
        member: &Worker,
        status: u16,
    ) {
        if self.balancing.params(no).fail_on_status.is_empty() {
            return;
        }
        if self.balancing.fail_on_status(member.no, status) {
            let text = format!(
                "AH01174: {}: Forcing worker ({}) into error state due to status code {status} matching 'failonstatus' balancer parameter",
                stage.room.settings.balancer(no).name,
                member.name
            );
            say(stage.room, req, 3, "proxy_balancer", None, &text);
        }
    }

    /// `failontimeout`, and `failonstatus` for answers of our own.
    fn judge_failure(
        &self,
        stage: &Stage<'_>,
        req: &Request,
        no: BalancerNo,
        member: &Worker,
        fault: &Fault,
    ) {
        if fault.kind == Kind::Timeout && self.balancing.fail_on_timeout(member.no) {
            let text = format!(
                "AH02460: {}: Forcing worker ({}) into error state due to timeout and 'failontimeout' parameter being set",
                stage.room.settings.balancer(no).name,
                member.name
            );
            say(stage.room, req, 3, "proxy_balancer", None, &text);
        }
        let status = match fault.kind {
            Kind::Status(status) | Kind::Malformed(status) => status,
            Kind::Eof | Kind::Broken | Kind::BadBody | Kind::Resolve => 502,
            Kind::Timeout => 504,
            Kind::Refused | Kind::PoolFull => 503,
            _ => return,
        };
        // A client's fault never marks a member.
        if fault.origin != Origin::Client {
            self.judge_status(stage, req, no, member, status);
        }
    }
}

fn find(stage: &Stage<'_>, name: &[u8]) -> Option<BalancerNo> {
    let settings = &stage.room.settings;
    stage.server.proxy.balancers.iter().copied().find(|&no| {
        settings
            .balancer(no)
            .name
            .as_bytes()
            .eq_ignore_ascii_case(name)
    })
}

/// Nobody is left. What the last member did says more than that, when there was one.
fn no_member(
    stage: &Stage<'_>,
    req: &Request,
    no: BalancerNo,
    why: NoMember,
    last: Option<Fault>,
) -> Fault {
    let name = &stage.room.settings.balancer(no).name;
    let text = match why {
        NoMember::Nofailover => {
            format!("AH01167: {name}: All workers are in error state for route")
        }
        NoMember::AllInError => {
            format!("AH01170: {name}: All workers are in error state")
        }
        NoMember::Empty => format!("AH01171: {name}: No workers in balancer"),
    };
    say(stage.room, req, 3, "proxy_balancer", None, &text);
    last.unwrap_or_else(|| Fault::new(Origin::Own, Phase::Choosing, Kind::NoMember, text))
}
