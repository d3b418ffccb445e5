//! Lines to the machine's syslog, one datagram each (RFC 3164).

use std::io;
use std::os::unix::net::UnixDatagram;

use super::time::write_syslog;
use crate::clock;

/// Where the system's log listens.
pub(super) const SOCKET: &str = "/dev/log";

/// The number of a facility's name.
pub fn facility(name: &str) -> Option<u8> {
    const NAMES: [&str; 24] = [
        "kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron",
        "authpriv", "ftp", "", "", "", "", "local0", "local1", "local2", "local3", "local4",
        "local5", "local6", "local7",
    ];
    NAMES
        .iter()
        .position(|n| !n.is_empty() && n.eq_ignore_ascii_case(name))
        .map(|i| i as u8)
}

/// A connection to the system's log that is made again when it breaks.
#[derive(Debug)]
pub(super) struct Syslog {
    path: String,
    facility: u8,
    tag: String,
    socket: Option<UnixDatagram>,
}

impl Syslog {
    pub fn new(path: &str, facility: u8, tag: &str) -> Syslog {
        Syslog {
            path: path.to_string(),
            facility,
            tag: tag.to_string(),
            socket: None,
        }
    }

    /// Appends what stands in front of a line. `level`: of the message, above debug counts as debug.
    pub fn prefix(&self, out: &mut Vec<u8>, level: u8) {
        let priority = u32::from(self.facility) * 8 + u32::from(level.min(7));
        out.extend_from_slice(format!("<{priority}>").as_bytes());
        write_syslog(out, clock::wall());
        out.extend_from_slice(format!(" {}[{}]: ", self.tag, std::process::id()).as_bytes());
    }

    /// Sends one line, never blocking.
    pub fn send(&mut self, line: &[u8]) -> io::Result<()> {
        if let Some(socket) = &self.socket {
            match socket.send(line) {
                Ok(_) => return Ok(()),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Err(e),
                // The system's log was restarted: connect again, once.
                Err(_) => self.socket = None,
            }
        }
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        socket.connect(&self.path)?;
        socket.send(line)?;
        self.socket = Some(socket);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facilities() {
        assert_eq!(
            (facility("kern"), facility("LOCAL7"), facility("authpriv")),
            (Some(0), Some(23), Some(10))
        );
        assert_eq!((facility("local8"), facility("")), (None, None));
    }

    #[test]
    fn lines_arrive_and_a_new_listener_is_found() {
        let dir = std::env::temp_dir().join(format!("muster-syslog-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("log");
        let mut log = Syslog::new(path.to_str().unwrap(), 23, "muster");
        assert!(log.send(b"x").is_err());
        for text in [&b"one"[..], b"two"] {
            let listener = UnixDatagram::bind(&path).unwrap();
            let mut line = Vec::new();
            log.prefix(&mut line, 3);
            line.extend_from_slice(text);
            log.send(&line).unwrap();
            let mut buf = [0; 200];
            let n = listener.recv(&mut buf).unwrap();
            assert!(buf.starts_with(b"<187>") && buf[..n].ends_with(text));
            std::fs::remove_file(&path).unwrap();
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
