//! What heartbeats of backends come through: the datagram socket, and a pipe by which children hand
//! on what was posted to them. Both are made here and inherited by every generation, so that what
//! waits in them is lost neither at a reload nor when the watchdog's holder dies.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use super::context::HeartDescriptors;
use super::estate::Estate;
use crate::config::settings::Settings;
use crate::sys::{fork, udp};

/// Shared by the generations that use them.
#[derive(Debug, Default)]
pub struct Hearts {
    socket: Option<Rc<(SocketAddr, OwnedFd)>>,
    posts: Option<Rc<(OwnedFd, OwnedFd)>>,
}

/// Keeps what the serving generation has where it fits. An address that cannot be had is no reason
/// not to start: it is said, and the watchdog's holder tries again.
///
/// # Errors
/// Out of descriptors.
pub fn bind(settings: &Settings, serving: Option<&Estate>) -> io::Result<Hearts> {
    let process = &settings.process;
    let old = serving.map(|e| &e.hearts);
    let socket = process.heartbeat_listen.and_then(|address| {
        let kept = old.and_then(|h| h.socket.clone());
        let kept = kept.filter(|socket| socket.0 == address);
        kept.or_else(|| match udp::bind_group(address) {
            Ok(fd) => Some(Rc::new((address, fd))),
            Err(e) => {
                ::log::error!(
                    target: "heartmonitor",
                    "cannot listen for heartbeats on {address} (HeartbeatListen): {e}; tried again every 5 s"
                );
                None
            }
        })
    });
    let posts = match old.and_then(|h| h.posts.clone()) {
        _ if process.heartbeat_max_servers != 0 => None,
        None => Some(Rc::new(fork::pipe(true)?)),
        kept => kept,
    };
    Ok(Hearts { socket, posts })
}

/// As a child's own descriptors.
pub fn own(hearts: Hearts) -> io::Result<HeartDescriptors> {
    let socket = match hearts.socket.map(Rc::try_unwrap) {
        None => None,
        Some(Ok((_, fd))) => Some(fd),
        Some(Err(shared)) => Some(shared.1.try_clone()?),
    };
    let posts = match hearts.posts.map(Rc::try_unwrap) {
        None => None,
        Some(Ok(both)) => Some(both),
        Some(Err(shared)) => Some((shared.0.try_clone()?, shared.1.try_clone()?)),
    };
    Ok(HeartDescriptors { socket, posts })
}
