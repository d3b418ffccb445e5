//! A backend that records what it gets, in threads.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

/// A request as received.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Request line and fields, as bytes were.
    pub head: String,
    /// The body, chunks taken apart.
    pub body: Vec<u8>,
    /// Which connection, counted from 0.
    pub connection: usize,
}

impl Seen {
    /// Method and target.
    pub fn line(&self) -> &str {
        self.head.lines().next().unwrap_or_default()
    }

    /// The target.
    pub fn target(&self) -> &str {
        self.line().split(' ').nth(1).unwrap_or_default()
    }

    /// A field's value.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|l| {
            let (n, v) = l.split_once(':')?;
            n.eq_ignore_ascii_case(name).then(|| v.trim())
        })
    }
}

/// What to do with a request.
pub enum Reply {
    /// 200 with this body; the connection stays.
    Text(String),
    /// These bytes; the connection stays.
    Raw(Vec<u8>),
    /// These bytes, then the end of the connection.
    RawThenClose(Vec<u8>),
    /// These bytes, then nothing until the other side is gone.
    RawThenHang(Vec<u8>),
    /// These bytes now; `rest` once the gate opens.
    Gated {
        /// Now.
        first: Vec<u8>,
        /// Then.
        rest: Vec<u8>,
        /// When.
        gate: Gate,
    },
    /// A reset, without an answer.
    Reset,
}

/// Something that a test opens when it is time.
#[derive(Clone, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    /// Lets all who wait go on, now and later.
    pub fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    /// Waits until it is open (at most as long as a test may take).
    pub fn pass(&self) {
        let open = self.0.0.lock().unwrap();
        let limit = super::wait::LIMIT;
        drop(self.0.1.wait_timeout_while(open, limit, |open| !*open));
    }
}

type Answer = dyn Fn(&Seen) -> Reply + Send + Sync;

/// A backend on a port of its own.
pub struct Backend {
    /// Where.
    pub port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    seen: Mutex<Vec<Seen>>,
    streams: Mutex<Vec<(usize, TcpStream)>>,
    connections: AtomicUsize,
    open: AtomicUsize,
    over: AtomicBool,
    answer: Box<Answer>,
}

impl Backend {
    /// Answers 200 and `NAME METHOD TARGET`.
    pub fn start(name: &str) -> Backend {
        let name = name.to_owned();
        Backend::with(move |r| {
            let mut words = r.line().split(' ');
            let method = words.next().unwrap_or_default();
            Reply::Text(format!("{name} {method} {}\n", r.target()))
        })
    }

    /// Answers as `answer` says.
    pub fn with(answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Backend {
        Backend::on(TcpListener::bind(("127.0.0.1", 0)).unwrap(), answer)
    }

    /// The same on a port that is known before.
    pub fn at(port: u16, answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Backend {
        Backend::on(TcpListener::bind(("127.0.0.1", port)).unwrap(), answer)
    }

    fn on(
        listener: TcpListener,
        answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    ) -> Backend {
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            seen: Mutex::default(),
            streams: Mutex::default(),
            connections: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            answer: Box::new(answer),
        });
        let for_thread = shared.clone();
        std::thread::spawn(move || accept(&listener, &for_thread));
        Backend { port, shared }
    }

    /// All requests so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().clone()
    }

    /// How many requests so far.
    pub fn count(&self) -> usize {
        self.shared.seen.lock().unwrap().len()
    }

    /// How many connections so far.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// How many connections are open.
    pub fn open(&self) -> usize {
        self.shared.open.load(Ordering::SeqCst)
    }

    /// Cuts all connections that are open now.
    pub fn cut(&self) {
        for (_, s) in self.shared.streams.lock().unwrap().drain(..) {
            let _ = s.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        // Wakes the accept.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        self.cut();
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept() {
        if shared.over.load(Ordering::SeqCst) {
            return;
        }
        let number = shared.connections.fetch_add(1, Ordering::SeqCst);
        shared.open.fetch_add(1, Ordering::SeqCst);
        if let Ok(copy) = stream.try_clone() {
            shared.streams.lock().unwrap().push((number, copy));
        }
        let shared = shared.clone();
        std::thread::spawn(move || {
            // What breaks off is the other side's business, which the test looks at.
            let _ = serve(stream, number, &shared);
            // The last descriptor of it: the socket is closed here.
            shared.streams.lock().unwrap().retain(|(n, _)| *n != number);
            shared.open.fetch_sub(1, Ordering::SeqCst);
        });
    }
}

fn serve(mut stream: TcpStream, connection: usize, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::new();
    loop {
        let Some(seen) = read_request(&mut stream, &mut buffer, connection)? else {
            return Ok(());
        };
        shared.seen.lock().unwrap().push(seen.clone());
        match (shared.answer)(&seen) {
            Reply::Text(text) => {
                let head_only = seen.line().starts_with("HEAD ");
                let body = if head_only { "" } else { &text };
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n",
                    text.len()
                );
                stream.write_all(format!("{head}{body}").as_bytes())?;
            }
            Reply::Raw(bytes) => stream.write_all(&bytes)?,
            Reply::RawThenClose(bytes) => {
                stream.write_all(&bytes)?;
                return stream.shutdown(Shutdown::Both);
            }
            Reply::RawThenHang(bytes) => {
                stream.write_all(&bytes)?;
                while stream.read(&mut [0; 1024])? > 0 {}
                return Ok(());
            }
            Reply::Gated { first, rest, gate } => {
                stream.write_all(&first)?;
                gate.pass();
                stream.write_all(&rest)?;
            }
            Reply::Reset => {
                let socket = socket2::SockRef::from(&stream);
                socket.set_linger(Some(std::time::Duration::ZERO))?;
                return Ok(());
            }
        }
    }
}

fn read_request(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
    connection: usize,
) -> io::Result<Option<Seen>> {
    let end = loop {
        if let Some(at) = find(buffer, b"\r\n\r\n") {
            break at + 4;
        }
        if !fill(stream, buffer)? {
            return Ok(None);
        }
    };
    let head: Vec<u8> = buffer.drain(..end).collect();
    let mut seen = Seen {
        head: head.iter().map(|b| char::from(*b)).collect(),
        body: Vec::new(),
        connection,
    };
    if seen.field("expect").is_some() {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    if seen.field("transfer-encoding").is_some() {
        loop {
            let at = need(stream, buffer, b"\r\n")?;
            let line: Vec<u8> = buffer.drain(..at + 2).collect();
            let text = String::from_utf8_lossy(&line);
            let size = usize::from_str_radix(text.trim(), 16).map_err(io::Error::other)?;
            while buffer.len() < size + 2 {
                if !fill(stream, buffer)? {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            seen.body.extend(buffer.drain(..size));
            buffer.drain(..2);
            if size == 0 {
                return Ok(Some(seen));
            }
        }
    }
    let length = seen.field("content-length").and_then(|v| v.parse().ok());
    let length: usize = length.unwrap_or(0);
    while buffer.len() < length {
        if !fill(stream, buffer)? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    seen.body = buffer.drain(..length).collect();
    Ok(Some(seen))
}

fn need(stream: &mut TcpStream, buffer: &mut Vec<u8>, what: &[u8]) -> io::Result<usize> {
    loop {
        if let Some(at) = find(buffer, what) {
            return Ok(at);
        }
        if !fill(stream, buffer)? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

fn fill(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<bool> {
    let mut piece = [0; 65536];
    let n = stream.read(&mut piece)?;
    buffer.extend_from_slice(&piece[..n]);
    Ok(n > 0)
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|w| w == needle)
}
