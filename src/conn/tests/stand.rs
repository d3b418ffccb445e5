//! What the tests stand on: settings from lines, a hub, a listener, a client.

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use crate::body::{Length, Source};
use crate::config::build::{Invocation, load};
use crate::conn::{Hub, serve};
use crate::fault::{Fault, Kind, Origin, Phase};
use crate::ids::Generation;
use crate::log::Logs;
use crate::reactor::source::Source as Readiness;
use crate::reactor::stream::Stream;
use crate::reactor::task::block_on;
use crate::reactor::timer::{sleep, timeout};
use crate::reactor::{spawn, timer};
use crate::request::{Answer, AnswerBody, Handler, Handling, Request, RequestBody, Room, answer};
use crate::shm::Scoreboard;
use crate::sys::accept::accept;

/// Nothing here takes longer, unless it hangs.
const LONG: Duration = Duration::from_secs(10);

/// A served port.
pub(super) struct Stand {
    pub(super) hub: Rc<Hub>,
    to: SocketAddr,
    root: PathBuf,
}

/// Runs a test against connections that are served with `lines` of configuration.
pub(super) fn with<F: Future<Output = ()> + 'static>(
    lines: &[&str],
    test: impl FnOnce(Rc<Stand>) -> F + 'static,
) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    let root = std::env::temp_dir().join(format!("muster-conn-{}-{n}", std::process::id()));
    std::fs::create_dir_all(&root).unwrap();
    let at = root.display().to_string();
    let mut before = vec![
        format!("ServerRoot {at}"),
        format!("DocumentRoot {at}"),
        format!("ErrorLog {at}/error"),
        "ServerName a.test".into(),
        "Listen 127.0.0.1:1".into(),
        "SetHandler server-status".into(),
        format!("CustomLog {at}/access \"%r %s %B %I %X %k\""),
    ];
    before.extend(lines.iter().map(|l| l.to_string()));
    let loaded = load(&Invocation {
        directory: root.clone(),
        program: "muster".into(),
        server_root: Some(root.clone()),
        file: Some("/dev/null".into()),
        before,
        after: Vec::new(),
        defines: Vec::new(),
        skip_document_root: false,
        environment: Vec::new(),
    });
    let settings = match loaded.settings {
        Some(settings) => Rc::new(settings),
        None => panic!("{:?}", loaded.complaints),
    };
    block_on(async move {
        let board = Scoreboard::create(&root.join("table"), &settings, 1, Generation(0)).unwrap();
        let slot = board
            .claim_slot(crate::ids::ChildNo(0), Generation(0))
            .unwrap();
        let logs = Rc::new(Logs::open(&settings).unwrap());
        let room = Rc::new(Room::new(settings, Rc::clone(&board), slot, logs));
        room.register(vec![("server-status", Box::new(Told) as Box<dyn Handler>)]);
        let hub = Rc::new(Hub::new(room, board.child(slot), 1));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let to = listener.local_addr().unwrap();
        let theirs = Rc::clone(&hub);
        spawn(async move {
            let source = Readiness::unregistered();
            source.listen(listener.as_raw_fd()).unwrap();
            loop {
                std::future::poll_fn(|_| source.poll_read_ready()).await;
                source.clear_readable();
                while let Ok((fd, client)) = accept(listener.as_raw_fd()) {
                    serve(&theirs, fd, client, Some(to), false).unwrap();
                }
            }
        });
        let stand = Rc::new(Stand { hub, to, root });
        test(Rc::clone(&stand)).await;
        std::fs::remove_dir_all(&stand.root).unwrap();
    });
}

impl Stand {
    pub(super) async fn client(&self) -> Client {
        Client(Stream::connect_tcp(self.to, None).await.unwrap())
    }

    /// All that a fresh connection gives until it is closed.
    pub(super) async fn all(&self, send: &str) -> String {
        let client = self.client().await;
        client.send(send).await;
        client.rest().await
    }

    /// The access log's lines, once there are `many`.
    pub(super) async fn log(&self, many: usize) -> Vec<String> {
        self.until(|| {
            self.hub.room.logs.flush();
            let text = std::fs::read_to_string(self.root.join("access")).unwrap();
            let lines: Vec<String> = text.lines().map(String::from).collect();
            (lines.len() >= many).then_some(lines)
        })
        .await
    }

    /// Waits until there is something.
    pub(super) async fn until<T>(&self, mut look: impl FnMut() -> Option<T>) -> T {
        timeout(LONG, async {
            loop {
                if let Some(value) = look() {
                    return value;
                }
                sleep(Duration::from_millis(2)).await;
            }
        })
        .await
        .unwrap()
    }
}

pub(super) struct Client(pub(super) Stream);

impl Client {
    pub(super) async fn send(&self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }

    /// Reads until what came ends with `end`.
    pub(super) async fn up_to(&self, end: &str) -> String {
        let mut all = Vec::new();
        while !all.ends_with(end.as_bytes()) {
            let mut buf = [0; 1];
            let n = timeout(LONG, self.0.read(&mut buf)).await;
            let n = n.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&all)));
            assert!(n.unwrap() > 0, "{}", String::from_utf8_lossy(&all));
            all.extend_from_slice(&buf);
        }
        String::from_utf8(all).unwrap()
    }

    /// Reads to the end; a reset shows as `<reset>`.
    pub(super) async fn rest(&self) -> String {
        let mut all = Vec::new();
        let mut buf = vec![0; 65536];
        loop {
            match timeout(LONG, self.0.read(&mut buf)).await.unwrap() {
                Ok(0) => break,
                Ok(n) => all.extend_from_slice(&buf[..n]),
                Err(_) => {
                    all.extend_from_slice(b"<reset>");
                    break;
                }
            }
        }
        String::from_utf8(all).unwrap()
    }
}

/// Does what the path says: `/echo`, `/ignore`, `/drip`, `/cut`, `/slow`, else names the path.
struct Told;

impl Handler for Told {
    fn handle<'a>(
        &'a self,
        _: &'a Room,
        req: &'a mut Request,
        body: &'a mut RequestBody,
    ) -> Handling<'a> {
        Box::pin(async move {
            let path = String::from_utf8(req.path.decoded.clone()).unwrap();
            let body = match path.as_str() {
                "/echo" => AnswerBody::Bytes(read(body).await?),
                "/drip" => AnswerBody::Source(Box::new(Drip::new(3, false))),
                "/cut" => AnswerBody::Source(Box::new(Drip::new(3, true))),
                "/slow" => {
                    timer::sleep(Duration::from_millis(300)).await;
                    AnswerBody::Bytes(b"slow".to_vec())
                }
                "/large" => AnswerBody::Bytes(vec![b'l'; 3_000_000]),
                _ => AnswerBody::Bytes(path.into_bytes()),
            };
            Ok(Answer {
                head: answer::head(200),
                body,
                close: false,
                from_backend: false,
            })
        })
    }
}

async fn read(body: &mut RequestBody) -> Result<Vec<u8>, Fault> {
    let mut all = Vec::new();
    let Some(source) = body.source() else {
        return Ok(all);
    };
    while std::future::poll_fn(|cx| source.poll_fill(cx)).await? {
        let n = source.data().len();
        all.extend_from_slice(source.data());
        source.consume(n);
    }
    Ok(all)
}

/// A body of unknown length, a piece at a time with pauses; fails at its end where asked to.
struct Drip {
    left: u32,
    fails: bool,
    pause: timer::Timer,
    filled: bool,
}

impl Drip {
    fn new(pieces: u32, fails: bool) -> Drip {
        Drip {
            left: pieces,
            fails,
            pause: timer::Timer::new(Duration::from_millis(5)),
            filled: false,
        }
    }
}

impl Source for Drip {
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Fault>> {
        if self.filled {
            return Poll::Ready(Ok(true));
        }
        if self.pause.poll_elapsed(cx).is_pending() {
            return Poll::Pending;
        }
        if self.left == 0 {
            return Poll::Ready(if self.fails {
                let (origin, phase) = (Origin::Upstream, Phase::ResponseBody);
                Err(Fault::new(origin, phase, Kind::Eof, "it broke"))
            } else {
                Ok(false)
            });
        }
        self.filled = true;
        Poll::Ready(Ok(true))
    }

    fn data(&self) -> &[u8] {
        if self.filled { b"piece" } else { b"" }
    }

    fn consume(&mut self, _: usize) {
        self.filled = false;
        self.left -= 1;
        self.pause.rearm(Duration::from_millis(5));
    }

    fn length(&self) -> Length {
        Length::Unknown
    }
}
