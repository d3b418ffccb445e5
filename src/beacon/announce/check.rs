//! Whether the backend answers.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::beacon::names;
use crate::codec::beacon::Origin;
use crate::config::beacon::HostPort;

/// A check that takes longer, from looking the name up to the answer's first line, has failed.
const LIMIT: Duration = Duration::from_secs(2);

/// What must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// Nothing.
    None,
    /// The announced host and port take a connection.
    Tcp,
    /// GET of this URL is answered with 200 to 399.
    Http {
        /// `host:port`, without the port for 80.
        authority: String,
        /// Where to connect.
        place: (String, u16),
        /// Path and query.
        path: String,
    },
}

impl Check {
    /// `tcp`, `none` or an `http://` URL.
    pub fn parse(text: &str) -> Option<Check> {
        match text {
            "none" => return Some(Check::None),
            "tcp" => return Some(Check::Tcp),
            _ => {}
        }
        let rest = text.strip_prefix("http://")?;
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let origin = Origin::parse(format!("http://{}", &rest[..end]).as_bytes())?;
        let path = match &rest[end..] {
            "" => "/".to_owned(),
            path if path.starts_with('?') => format!("/{path}"),
            path => path.to_owned(),
        };
        let plain = path.bytes().all(|b| b.is_ascii_graphic() && b != b'#');
        plain.then(|| Check::Http {
            authority: rest[..end].to_owned(),
            place: (origin.host().to_owned(), origin.port()),
            path,
        })
    }

    /// Looks once; blocks for two seconds at most.
    ///
    /// # Errors
    /// What is wrong with the backend.
    pub fn look(&self, announced: &Origin) -> Result<(), String> {
        let until = Instant::now() + LIMIT;
        let result = match self {
            Check::None => return Ok(()),
            Check::Tcp => connect((announced.host(), announced.port()), until).map(|_| 200),
            Check::Http {
                authority,
                place: (host, port),
                path,
            } => ask((host, *port), authority, path, until),
        };
        match result {
            Ok(200..=399) => Ok(()),
            Ok(status) => Err(format!("it answers {status}")),
            Err(e) => Err(e.to_string()),
        }
    }
}

fn connect(place: (&str, u16), until: Instant) -> io::Result<TcpStream> {
    let place = HostPort {
        host: place.0.to_owned(),
        port: place.1,
    };
    let addresses = match place.host.parse() {
        Ok(ip) => vec![SocketAddr::new(ip, place.port)],
        Err(_) => names::within(left(until)?, move || names::look_up(&place))?,
    };
    connect_any(&addresses, until)
}

fn connect_any(addresses: &[SocketAddr], until: Instant) -> io::Result<TcpStream> {
    let mut last = names::too_late();
    for (i, address) in addresses.iter().enumerate() {
        // So that one that swallows everything leaves time for the others.
        let share = left(until)? / (addresses.len() - i) as u32;
        match TcpStream::connect_timeout(address, share) {
            Ok(stream) => return Ok(stream),
            Err(e) => last = e,
        }
    }
    Err(last)
}

/// What is left of the check's time, never zero.
fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(io::Error::new(
            io::ErrorKind::TimedOut,
            format!("it took longer than {} s", LIMIT.as_secs()),
        )),
        false => Ok(left),
    }
}

fn ask(place: (&str, u16), authority: &str, path: &str, until: Instant) -> io::Result<u16> {
    let mut stream = connect(place, until)?;
    stream.set_write_timeout(Some(left(until)?))?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: muster\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes())?;
    let mut head = Vec::new();
    let mut piece = [0; 512];
    loop {
        stream.set_read_timeout(Some(left(until)?))?;
        let n = match stream.read(&mut piece) {
            // A blocking socket's words for a time that is over.
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => continue,
            read => read?,
        };
        head.extend_from_slice(&piece[..n]);
        let malformed = || io::Error::new(io::ErrorKind::InvalidData, "its answer is no HTTP");
        if let Some(end) = head.iter().position(|&b| b == b'\n') {
            let line = String::from_utf8_lossy(&head[..end]).into_owned();
            let mut words = line.split_whitespace();
            let version = words.next().filter(|w| w.starts_with("HTTP/1."));
            let status = words.next().and_then(|w| w.parse().ok());
            return version.and(status).ok_or_else(malformed);
        }
        if n == 0 || head.len() > 8192 {
            return Err(malformed());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn urls_are_read() {
        let of = |text| match Check::parse(text) {
            Some(Check::Http {
                place,
                path,
                authority,
            }) => Some((place.0, place.1, path, authority)),
            _ => None,
        };
        let want = |h: &str, p, path: &str, a: &str| Some((h.into(), p, path.into(), a.into()));
        assert_eq!(of("http://h:81/up?x=1"), want("h", 81, "/up?x=1", "h:81"));
        assert_eq!(of("http://h?x"), want("h", 80, "/?x", "h"));
        assert_eq!(of("https://h/"), None);
        assert_eq!(Check::parse("tcp"), Some(Check::Tcp));
    }

    #[test]
    fn answers_decide() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let origin = Origin::parse(format!("http://127.0.0.1:{port}").as_bytes()).unwrap();
        let check = Check::parse(&format!("http://127.0.0.1:{port}/up")).unwrap();
        let server = std::thread::spawn(move || {
            for answer in [
                "HTTP/1.1 204 N\r\n\r\n",
                "HTTP/1.0 503 N\r\n\r\n",
                "220 mail\r\n",
                "",
            ] {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = [0; 1024];
                let _ = stream.read(&mut request);
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        assert_eq!(check.look(&origin), Ok(()));
        assert_eq!(check.look(&origin), Err("it answers 503".into()));
        assert!(check.look(&origin).is_err());
        assert!(check.look(&origin).is_err());
        server.join().unwrap();
        assert!(Check::Tcp.look(&origin).is_err());
        assert!(Check::None.look(&origin).is_ok());
    }

    /// One bound for all of it: an address that swallows what is sent there leaves time for the next.
    #[test]
    fn a_silent_address_leaves_time_for_the_next() {
        let full =
            socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        full.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into())
            .unwrap();
        full.listen(0).unwrap();
        let silent = full.local_addr().unwrap().as_socket().unwrap();
        // Its queue takes one; from then on it does not answer.
        let mut waiting = Vec::new();
        while let Ok(stream) = TcpStream::connect_timeout(&silent, Duration::from_millis(200)) {
            waiting.push(stream);
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let good = listener.local_addr().unwrap();
        let until = || Instant::now() + Duration::from_secs(1);
        let stream = connect_any(&[silent, good], until()).unwrap();
        assert_eq!(stream.peer_addr().unwrap(), good);
        let error = connect_any(&[silent, silent], until()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
