//! One check on the wire: connect, ask, read, close.

use std::rc::Rc;
use std::time::Duration;

use super::answer::{Answer, Progress, Reading};
use super::request::request;
use super::target::Target;
use crate::codec::http1::head::Method;
use crate::config::health::HealthMethod;
use crate::config::settings::Settings;
use crate::reactor::Stream;
use crate::reactor::timer::timeout;
use crate::upstream::Upstreams;
use crate::upstream::connect::{Destination, Why};

/// What a check found.
#[derive(Debug)]
pub(super) enum Outcome {
    /// TCP: a connection was made.
    Connected,
    /// An answer came; whether it is good is another's to say.
    Answered(Answer),
    /// Neither; the reason for the log.
    Failed(String),
    /// This machine could not even try: says nothing of the member.
    Unable(String),
}

/// Bytes asked for at a time.
const READ: usize = 16 * 1024;

/// A check must not end sooner than this for its time alone.
pub(super) const LEAST: Duration = Duration::from_secs(1);

/// Makes one check. It ends within the time to connect and that of the answer, whatever the other
/// side does.
pub(super) async fn probe(
    upstreams: &Upstreams,
    settings: &Settings,
    target: &Rc<Target>,
    method: HealthMethod,
    uri: &str,
) -> Outcome {
    let proxy = &settings.server(target.server).proxy;
    let to = Destination {
        host: &target.host,
        port: target.port,
        unix: target.unix.as_deref(),
        within: target.connect,
        source: proxy.source_address,
        address_ttl: target.address_ttl,
        keep_alive: false,
        receive_buffer: 0,
        blocked: &proxy.block,
    };
    let connection = match upstreams.connect(&to).await {
        Ok(connection) => connection,
        Err(e) if e.why == Why::Own => return Outcome::Unable(e.detail),
        Err(e) => return Outcome::Failed(e.detail),
    };
    let Some(bytes) = request(method, &target.host, target.port, &target.path, uri) else {
        return Outcome::Connected;
    };
    if !matches!(target.scheme.as_str(), "http" | "ws") {
        return Outcome::Failed(format!(
            "scheme {} cannot be spoken here, only hcmethod=TCP",
            target.scheme
        ));
    }
    let whole = target.timeout.max(LEAST);
    let method = match method {
        HealthMethod::Get | HealthMethod::Get11 => Method::Get,
        HealthMethod::Head | HealthMethod::Head11 => Method::Head,
        _ => Method::Options,
    };
    match timeout(whole, exchange(&connection.stream, &bytes, method)).await {
        Ok(Ok(answer)) => Outcome::Answered(answer),
        Ok(Err(reason)) => Outcome::Failed(reason),
        Err(_) => Outcome::Failed(format!("no complete answer within {whole:?}")),
    }
}

async fn exchange(stream: &Stream, request: &[u8], method: Method) -> Result<Answer, String> {
    let sent = stream.write_all(request).await;
    let mut reading = Reading::new(method);
    let mut buf = vec![0; READ];
    loop {
        let progress = match stream.read(&mut buf).await {
            Ok(0) => reading.end(),
            Ok(n) => reading.feed(&buf[..n]),
            // What could not be sent is the better reason.
            Err(e) => return Err(sent.err().unwrap_or(e).to_string()),
        };
        match progress {
            Progress::More => {}
            Progress::Done(answer) => return Ok(answer),
            Progress::Bad(reason) => return Err(reason.to_string()),
        }
    }
}
