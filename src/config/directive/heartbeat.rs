//! Heartbeats: the sender's `HeartbeatAddress` (mod_heartbeat; spec: health 6.1) and the receiver's
//! `HeartbeatListen`, `HeartbeatMaxServers`, `HeartbeatStorage` (mod_heartmonitor; 6.2).

use std::net::{SocketAddr, ToSocketAddrs};

use super::value::number;
use crate::config::args::Args;
use crate::config::frame::Build;

/// `HeartbeatListen ADDRESS:PORT`
pub fn heartbeat_listen(b: &mut Build, args: &Args) -> Result<(), String> {
    if b.draft.process.heartbeat_listen.is_some() {
        return Err("HeartbeatListen: May only be specified once.".into());
    }
    b.draft.process.heartbeat_listen = Some(address("HeartbeatListen", args.get(0))?);
    Ok(())
}

/// `HeartbeatAddress ADDRESS:PORT`
pub fn heartbeat_address(b: &mut Build, args: &Args) -> Result<(), String> {
    if b.draft.process.heartbeat_address.is_some() {
        return Err("HeartbeatAddress: May only be specified once.".into());
    }
    b.draft.process.heartbeat_address = Some(address("HeartbeatAddress", args.get(0))?);
    Ok(())
}

fn address(directive: &str, text: &str) -> Result<SocketAddr, String> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() => (host, number::<u16>(port)),
        _ => {
            return Err(format!(
                "{directive}: No port provided in multicast address"
            ));
        }
    };
    let port = port.filter(|p| *p != 0).ok_or_else(|| {
        format!("{directive}: the port must be a number from 1 to 65535 (\"{text}\")")
    })?;
    let found = text.parse().ok();
    found
        .or_else(|| (host, port).to_socket_addrs().ok()?.next())
        .ok_or_else(|| {
            format!("{directive}: apr_sockaddr_info_get failed on multicast address (\"{host}\" is no address)")
        })
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
