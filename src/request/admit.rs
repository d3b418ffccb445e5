//! The steps of access control that a request goes through: look-ups, the rules, the second spelling.

use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;

use crate::codec::target::{as_backends_see, without_parameters};
use crate::config::layer::{CanonicalName, Layer};
use crate::fault::{Fault, Kind, Origin, Phase};
use crate::log::level;

use super::access::{self, Asker, Refusal, Wanted};
use super::request::Request;
use super::room::{Room, Routes};
use super::say::say;

/// Access control. The path is looked at twice: as it is, and as backends see it that cut
/// `;parameters` and decode encoded slashes; both must be allowed.
pub(super) async fn access(room: &Room, req: &mut Request) -> Result<(), Fault> {
    let layer = req.layer.clone();
    admit(room, req, &layer).await?;
    if let Some(layer) = second_look(&room.routes, req)? {
        admit(room, req, &layer).await?;
    }
    Ok(())
}

/// The layer that would hold for the path as such backends see it, where that is another one.
fn second_look(routes: &Routes, req: &Request) -> Result<Option<Rc<Layer>>, Fault> {
    let seen = as_backends_see(&req.path).map_err(|e| Fault::status(e.status, e.reason))?;
    let Some(path) = seen else {
        return Ok(None);
    };
    let server = routes.server(req.server);
    let table = routes.table(req.server);
    let (method, trace) = (&req.head.method, &routes.trace);
    let locations = table
        .locations(server, &path, method, None, trace)
        .map_err(|e| Fault::status(500, e.to_string()))?;
    let inner = match &req.proxy_to {
        Some(target) => {
            let url = without_parameters(&target.url);
            table
                .proxies(server, &url, method, None, trace)
                .map_err(|e| Fault::status(500, e.to_string()))?
        }
        None => req.sections.inner.clone(),
    };
    if locations == req.sections.locations && inner == req.sections.inner {
        return Ok(None);
    }
    let set = inner.joined(&locations);
    Ok(Some(table.layer(server, &set)))
}

async fn admit(room: &Room, req: &mut Request, layer: &Layer) -> Result<(), Fault> {
    if layer.require.is_none() && layer.compat.is_none() {
        return Ok(());
    }
    let Wanted { reverse, forward } = access::wanted(layer);
    if reverse && req.remote_host.is_none() {
        req.remote_host = Some(room.names.verified(req.client.ip()).await);
    }
    let mut addresses = HashMap::new();
    for name in forward {
        let found = room.names.addresses(&name).await;
        addresses.insert(name, found);
    }
    let Err(refusal) = access::check(layer, &asker(req, &addresses)) else {
        return Ok(());
    };
    let (module, code) = match refusal {
        Refusal::Require => ("authz_core", "AH01630"),
        Refusal::Compat => ("access_compat", "AH01797"),
    };
    let what = req.file_or_url();
    let text = format!(
        "{code}: client denied by server configuration: {}",
        String::from_utf8_lossy(&what)
    );
    say(room, req, level::ERROR, module, None, &text);
    Err(denied(""))
}

fn asker<'a>(req: &'a Request, forward: &'a HashMap<String, Vec<IpAddr>>) -> Asker<'a> {
    Asker {
        client: req.client.ip(),
        local: req.local.ip(),
        name: req.remote_host.as_ref().and_then(|n| n.as_deref()),
        forward,
        env: &req.env,
        method: &req.head.method,
    }
}

/// Names that the configuration asks for on every request.
pub(super) async fn look_up(room: &Room, req: &mut Request) {
    if req.remote_host.is_none() && req.layer.hostname_lookups == Some(true) {
        req.remote_host = Some(room.names.verified(req.client.ip()).await);
    }
    if req.local_name.is_none() && req.layer.canonical_name == Some(CanonicalName::Dns) {
        req.local_name = room.names.verified(req.local.ip()).await;
    }
}

/// The same without looking names up, for `--explain`: rules that need one are judged as if the
/// client had none.
pub(super) fn without_names(routes: &Routes, req: &Request) -> Result<(), Fault> {
    let nobody = HashMap::new();
    let second = second_look(routes, req)?;
    for layer in std::iter::once(req.layer.clone()).chain(second) {
        if access::wanted(&layer) != Wanted::default() {
            routes
                .trace
                .note(|| "access depends on a host name, which is not looked up here".into());
        }
        if access::check(&layer, &asker(req, &nobody)).is_err() {
            return Err(denied("client denied by server configuration"));
        }
    }
    Ok(())
}

fn denied(detail: &str) -> Fault {
    Fault::new(Origin::Client, Phase::Mapping, Kind::Denied(403), detail)
}
