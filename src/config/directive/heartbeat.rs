//! The receiver of backends' heartbeats: `HeartbeatListen`, `HeartbeatMaxServers`,
//! `HeartbeatStorage` (mod_heartmonitor; spec: health 6.2).

use std::net::{SocketAddr, ToSocketAddrs};

use super::value::number;
use crate::config::args::Args;
use crate::config::frame::Build;

/// `HeartbeatListen ADDRESS:PORT`
pub fn heartbeat_listen(b: &mut Build, args: &Args) -> Result<(), String> {
    let text = args.get(0);
    if b.draft.process.heartbeat_listen.is_some() {
        return Err("HeartbeatListen: May only be specified once.".into());
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() => (host, number::<u16>(port)),
        _ => return Err("HeartbeatListen: No port provided in multicast address".into()),
    };
    let port = port.filter(|p| *p != 0).ok_or_else(|| {
        format!("HeartbeatListen: the port must be a number from 1 to 65535 (\"{text}\")")
    })?;
    let found: Option<SocketAddr> = text
        .parse()
        .ok()
        .or_else(|| (host, port).to_socket_addrs().ok()?.next());
    b.draft.process.heartbeat_listen = Some(found.ok_or_else(|| {
        format!("HeartbeatListen: apr_sockaddr_info_get failed on multicast address (\"{host}\" is no address)")
    })?);
    Ok(())
}

/// `HeartbeatMaxServers n`: 0 for a file, else from 10
pub fn heartbeat_max_servers(b: &mut Build, args: &Args) -> Result<(), String> {
    let n = number::<u32>(args.get(0)).filter(|n| *n == 0 || *n >= 10).ok_or(
        "HeartbeatMaxServers: Should be 0 for file storage, or greater or equal than 10 for slotmem",
    )?;
    b.draft.process.heartbeat_max_servers = Some(n);
    Ok(())
}

/// `HeartbeatStorage path`
pub fn heartbeat_storage(b: &mut Build, args: &Args) -> Result<(), String> {
    let path = b.runtime_path(args.get(0));
    b.draft.process.heartbeat_storage = Some(path);
    Ok(())
}
