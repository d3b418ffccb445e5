//! A client that speaks bytes.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::wait::LIMIT;

/// One connection.
pub struct Client {
    stream: TcpStream,
    /// Received and not taken yet.
    buffer: Vec<u8>,
}

/// An answer.
#[derive(Clone, Debug, Default)]
pub struct Response {
    /// 200 ...
    pub status: u16,
    /// The start line and fields as received.
    pub head: String,
    /// The body, chunks taken apart.
    pub body: Vec<u8>,
}

/// `GET path` over a new connection.
pub fn get(port: u16, path: &str) -> io::Result<Response> {
    let mut c = Client::try_connect(port)?;
    c.send(format!(
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    ))?;
    c.response("GET")
}

impl Client {
    /// Connects to a port of this machine.
    pub fn connect(port: u16) -> Client {
        Client::try_connect(port).unwrap_or_else(|e| panic!("connect to port {port}: {e}"))
    }

    /// Connects, or tells why not.
    ///
    /// # Errors
    /// Of the connect.
    pub fn try_connect(port: u16) -> io::Result<Client> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(LIMIT))?;
        stream.set_write_timeout(Some(LIMIT))?;
        stream.set_nodelay(true)?;
        Ok(Client {
            stream,
            buffer: Vec::new(),
        })
    }

    /// Sends bytes.
    ///
    /// # Errors
    /// Of the write.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(bytes.as_ref())
    }

    /// `GET path` on this connection, kept open.
    ///
    /// # Errors
    /// Of writing, reading, or an answer that is cut.
    pub fn get(&mut self, path: &str) -> io::Result<Response> {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"))?;
        self.response("GET")
    }

    /// `POST path` with a counted body on this connection, kept open.
    ///
    /// # Errors
    /// As for `get`.
    pub fn post(&mut self, path: &str, body: &[u8]) -> io::Result<Response> {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        self.send([head.as_bytes(), body].concat())?;
        self.response("POST")
    }

    /// Reads one answer, interim ones passed over.
    ///
    /// # Errors
    /// `UnexpectedEof` when the connection ended before its end, and of the read.
    pub fn response(&mut self, method: &str) -> io::Result<Response> {
        loop {
            let r = self.any_response(method)?;
            if r.status >= 200 || r.status == 101 {
                return Ok(r);
            }
        }
    }

    /// Reads one answer, which may be an interim one.
    ///
    /// # Errors
    /// As for `response`.
    pub fn any_response(&mut self, method: &str) -> io::Result<Response> {
        let head = self.read_until(b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&head).into_owned();
        let status: u16 = head
            .split(' ')
            .nth(1)
            .and_then(|s| s.parse().ok())
            .ok_or_else(|| io::Error::other(format!("no status line: {head:?}")))?;
        let mut r = Response {
            status,
            head,
            body: Vec::new(),
        };
        let bodiless = method == "HEAD" || status < 200 || matches!(status, 204 | 304);
        if bodiless {
            return Ok(r);
        }
        if r.field("transfer-encoding").is_some() {
            loop {
                let line = self.read_until(b"\r\n")?;
                let text = String::from_utf8_lossy(&line);
                let size = text.trim().split(';').next().unwrap_or_default();
                let size = usize::from_str_radix(size, 16).map_err(io::Error::other)?;
                if size == 0 {
                    while self.read_until(b"\r\n")? != b"\r\n" {}
                    return Ok(r);
                }
                r.body.extend(self.read_exact(size)?);
                self.read_exact(2)?;
            }
        }
        r.body = match r.field("content-length").and_then(|v| v.parse().ok()) {
            Some(n) => self.read_exact(n)?,
            None => self.read_to_end()?,
        };
        Ok(r)
    }

    /// Reads exactly so many bytes.
    ///
    /// # Errors
    /// As for `response`.
    pub fn read_exact(&mut self, n: usize) -> io::Result<Vec<u8>> {
        while self.buffer.len() < n {
            self.fill()?;
        }
        Ok(self.buffer.drain(..n).collect())
    }

    /// Reads up to and with `end`.
    ///
    /// # Errors
    /// As for `response`.
    pub fn read_until(&mut self, end: &[u8]) -> io::Result<Vec<u8>> {
        loop {
            if let Some(at) = self.buffer.windows(end.len()).position(|w| w == end) {
                return Ok(self.buffer.drain(..at + end.len()).collect());
            }
            self.fill()?;
        }
    }

    /// Reads until the other side closes.
    ///
    /// # Errors
    /// Of the read.
    pub fn read_to_end(&mut self) -> io::Result<Vec<u8>> {
        let mut all = std::mem::take(&mut self.buffer);
        self.stream.read_to_end(&mut all)?;
        Ok(all)
    }

    /// Waits until the other side closes (or resets); `false` when it sent something instead.
    pub fn closed(&mut self) -> bool {
        match self.fill() {
            Ok(()) => false,
            Err(e) => e.kind() != io::ErrorKind::WouldBlock,
        }
    }

    /// Whether the connection is open and nothing waits in it, without waiting.
    pub fn is_quiet(&self) -> bool {
        self.stream.set_nonblocking(true).unwrap();
        let peeked = self.stream.peek(&mut [0]);
        self.stream.set_nonblocking(false).unwrap();
        self.buffer.is_empty() && matches!(peeked, Err(e) if e.kind() == io::ErrorKind::WouldBlock)
    }

    /// Ends our direction.
    pub fn finish(&self) {
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
    }

    /// The socket.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// How long a read may take.
    pub fn set_patience(&self, d: Duration) {
        self.stream.set_read_timeout(Some(d)).unwrap();
    }

    fn fill(&mut self) -> io::Result<()> {
        let mut piece = [0; 16384];
        let n = self.stream.read(&mut piece)?;
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.buffer.extend_from_slice(&piece[..n]);
        Ok(())
    }
}

impl Response {
    /// A field's value.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|l| {
            let (n, v) = l.split_once(':')?;
            n.eq_ignore_ascii_case(name).then(|| v.trim())
        })
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}
