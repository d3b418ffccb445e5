//! The page that changes balancers: `SetHandler balancer-manager` (spec: manager).
//!
//! Who may see it is the configuration's matter (`Require`). What it changes it changes in the slot
//! table, so that all children see it at once. A request is believed only when it comes from the
//! page itself: [`origin`] looks at Referer, Origin, Sec-Fetch-Site and Host, and each balancer has
//! a nonce. A request with a wrong value changes nothing and is told why.

mod apply;
mod change;
mod facts;
mod fields;
mod form;
mod html;
mod json;
mod origin;
mod params;
mod picture;
mod size;
mod style;
mod xml;

use std::future::poll_fn;
use std::rc::Rc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::balancer::Balancing;
use crate::body::Length;
use crate::codec::fields::Fields;
use crate::codec::http1::head::Method;
use crate::fault::{Fault, Kind, Origin, Phase};
use crate::request::answer;
use crate::request::names;
use crate::request::{Answer, Handler, Handling, Request, RequestBody, Room};

use apply::Outcome;
use facts::Facts;
use origin::Trust;
use params::Params;

/// The handler `balancer-manager`. One per child.
pub struct Manager {
    balancing: Rc<Balancing>,
    policy: String,
}

/// The longest body.
const MAX_BODY: u64 = 64 << 10;

/// Beside the policy, see [`policy`].
const GUARDS: [(&str, &str); 3] = [
    ("X-Content-Type-Options", "nosniff"),
    // The form needs its own Referer; others must not learn the nonce.
    ("Referrer-Policy", "same-origin"),
    ("Cache-Control", "no-store"),
];

/// The page has its one style sheet, known by its digest, pictures inside it, and forms that lead
/// to itself; no scripts.
fn policy() -> String {
    let digest = STANDARD.encode(Sha256::digest(style::SHEET));
    format!(
        "default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
}

impl Manager {
    /// `balancing` is this child's own.
    pub fn new(balancing: Rc<Balancing>) -> Manager {
        Manager {
            balancing,
            policy: policy(),
        }
    }

    async fn answer(
        &self,
        room: &Room,
        req: &mut Request,
        body: &mut RequestBody,
    ) -> Result<Answer, Fault> {
        let changes = match req.head.method {
            Method::Get | Method::Head => false,
            Method::Post => true,
            _ => {
                let text = "balancer-manager answers GET, HEAD and POST only";
                return Err(Fault::status(405, text));
            }
        };
        let sent = if changes {
            is_form(req)?;
            let bytes = read(body).await?;
            let mut params = Params::parse(&bytes).map_err(|text| Fault::status(400, text))?;
            // What is to be done stands in the body alone; the form of the answer may stand here.
            let query = req.target.query.as_deref().unwrap_or_default();
            params.add(&["xml", "json"], &Params::parse(query).unwrap_or_default());
            params
        } else {
            let query = req.target.query.as_deref().unwrap_or_default();
            let mut params = Params::parse(query).map_err(|text| Fault::status(400, text))?;
            params.keep(&["b", "w", "nonce", "xml", "json"]);
            params
        };
        let trust = origin::judge(room, req, changes);
        let params = self.believed(room, req, &trust, sent);
        let mut outcome = match (&trust, changes) {
            (Trust::Own, true) => apply::apply(room, &self.balancing, req, &params),
            (Trust::Own, false) => apply::select(room, &self.balancing, req, &params),
            (_, true) => Outcome::refused(&trust.reason()),
            (_, false) => Outcome::default(),
        };
        let wants_machine = params.has("xml") || params.has("json");
        if outcome.is_success() && changes && !wants_machine && accepts_html(req) {
            return Ok(see_other(req, &params, &self.policy));
        }
        if outcome.is_refused() && params.has("json") && outcome.status == 200 {
            // This form is no older than this rule; the others keep httpd's 200.
            outcome.status = 400;
        }
        let facts = Facts::collect(room, &self.balancing, req, outcome);
        let (content_type, text) = if params.has("json") {
            ("application/json", json::text(&facts))
        } else if params.has("xml") {
            ("text/xml", xml::text(&facts))
        } else {
            ("text/html; charset=UTF-8", html::page(&facts))
        };
        let mut head = answer::head(facts.outcome.status);
        head.fields.push(b"Content-Type", content_type.as_bytes());
        guard(&mut head.fields, &self.policy);
        let close = facts.outcome.close;
        let mut answer = answer::own(head, text.into_bytes());
        answer.close |= close;
        Ok(answer)
    }

    /// What of the parameters counts: all from the page itself, else at most the wish for another
    /// form of the page.
    fn believed(&self, room: &Room, req: &Request, trust: &Trust, mut sent: Params) -> Params {
        if *trust == Trust::Own || sent.is_empty() {
            return sent;
        }
        let before = sent.len();
        if *trust == Trust::Unknown {
            // Shows the same as the page without parameters, in another form.
            sent.keep(&["xml", "json"]);
        } else {
            sent.keep(&[]);
        }
        if sent.len() < before && (sent.is_empty() || req.head.method == Method::Post) {
            log::error!(
                target: "proxy_balancer",
                "[client {}] ignoring params in balancer-manager cross-site access to {}: {}",
                req.client,
                names::self_name(&room.routes, req),
                trust.reason(),
            );
        }
        sent
    }
}

impl Handler for Manager {
    fn handle<'a>(
        &'a self,
        room: &'a Room,
        req: &'a mut Request,
        body: &'a mut RequestBody,
    ) -> Handling<'a> {
        Box::pin(self.answer(room, req, body))
    }
}

fn guard(fields: &mut Fields, policy: &str) {
    fields.push(b"Content-Security-Policy", policy.as_bytes());
    for (name, value) in GUARDS {
        fields.push(name.as_bytes(), value.as_bytes());
    }
}

/// Forms only: what another content type means is unknown, and pages elsewhere may send some of
/// them without asking.
fn is_form(req: &Request) -> Result<(), Fault> {
    let value = req.head.fields.get("Content-Type").unwrap_or_default();
    let name = value.split(|&b| b == b';').next().unwrap_or_default();
    if name
        .trim_ascii()
        .eq_ignore_ascii_case(b"application/x-www-form-urlencoded")
    {
        return Ok(());
    }
    let text = "balancer-manager reads application/x-www-form-urlencoded only";
    Err(Fault::status(415, text))
}

async fn read(body: &mut RequestBody) -> Result<Vec<u8>, Fault> {
    let too_long = || {
        Fault::new(
            Origin::Client,
            Phase::Mapping,
            Kind::TooLarge(413),
            format!("a form for balancer-manager has at most {MAX_BODY} bytes"),
        )
    };
    if matches!(body.length(), Length::Exact(n) if n > MAX_BODY) {
        return Err(too_long());
    }
    let mut bytes = Vec::new();
    let Some(source) = body.source() else {
        return Ok(bytes);
    };
    while poll_fn(|cx| source.poll_fill(cx)).await? {
        let data = source.data();
        if bytes.len() as u64 + data.len() as u64 > MAX_BODY {
            return Err(too_long());
        }
        bytes.extend_from_slice(data);
        let n = data.len();
        source.consume(n);
    }
    Ok(bytes)
}

/// A browser, which would send the form once more when its user reloads the page.
fn accepts_html(req: &Request) -> bool {
    let text = b"text/html";
    let mut lines = req.head.fields.get_all("Accept");
    lines.any(|l| l.windows(text.len()).any(|w| w.eq_ignore_ascii_case(text)))
}

/// The page as it is now, by GET.
fn see_other(req: &Request, params: &Params, policy: &str) -> Answer {
    let mut place = own_path(req);
    let mut sign = '?';
    for name in ["b", "w", "nonce"] {
        if let Some(value) = params.get(name) {
            place.push(sign);
            place.push_str(name);
            place.push('=');
            place.push_str(&params::encoded(value));
            sign = '&';
        }
    }
    place.push_str("#edit");
    let mut head = answer::head(303);
    head.fields.push(b"Location", place.as_bytes());
    guard(&mut head.fields, policy);
    answer::own(head, Vec::new())
}

/// Where the page is: an absolute path, never `//host`.
fn own_path(req: &Request) -> String {
    let path = String::from_utf8_lossy(&req.path.encoded).into_owned();
    let clean = path.bytes().all(|b| b.is_ascii_graphic());
    let path = if clean {
        path
    } else {
        params::encoded_path(&path)
    };
    format!("/{}", path.trim_start_matches('/'))
}
