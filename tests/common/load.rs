//! Clients that never stop asking, and remember what went wrong.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use super::client::{Client, get};

/// Running clients.
pub struct Load {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    over: AtomicBool,
    answered: AtomicUsize,
    /// Connections that were closed by an answer that said so, and opened anew.
    reopened: AtomicUsize,
    failures: Mutex<Vec<String>>,
}

/// What they saw.
#[derive(Debug)]
pub struct Outcome {
    /// Whole, right answers.
    pub answered: usize,
    /// Connections that were ended by `Connection: close`.
    pub reopened: usize,
    /// Everything else.
    pub failures: Vec<String>,
}

impl Load {
    /// `keep` clients that keep their connections (half of them POST) and `once` with a new
    /// connection for each request. `right` says whether an answer's body is right.
    pub fn start(
        port: u16,
        path: &'static str,
        keep: usize,
        once: usize,
        right: impl Fn(&str) -> bool + Send + Sync + Clone + 'static,
    ) -> Load {
        let shared = Arc::new(Shared::default());
        let mut threads = Vec::new();
        for i in 0..keep + once {
            let shared = shared.clone();
            let right = right.clone();
            threads.push(std::thread::spawn(move || {
                if i < keep {
                    keep_asking(port, path, i % 2 == 1, &shared, &right);
                } else {
                    ask_anew(port, path, &shared, &right);
                }
            }));
        }
        Load { shared, threads }
    }

    /// Right answers so far.
    pub fn answered(&self) -> usize {
        self.shared.answered.load(Ordering::Relaxed)
    }

    /// Waits until so many more were answered.
    pub fn more(&self, n: usize) {
        let goal = self.answered() + n;
        super::wait::eventually("clients get answers", || {
            self.answered() >= goal || !self.shared.failures.lock().unwrap().is_empty()
        });
    }

    /// Lets all clients finish what they do.
    pub fn stop(mut self) -> Outcome {
        self.end();
        Outcome {
            answered: self.answered(),
            reopened: self.shared.reopened.load(Ordering::Relaxed),
            failures: std::mem::take(&mut self.shared.failures.lock().unwrap()),
        }
    }

    fn end(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        for t in self.threads.drain(..) {
            let _ = t.join();
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn fail(&self, text: String) {
        self.failures.lock().unwrap().push(text);
    }

    fn check(&self, who: &str, status: u16, body: &str, right: &dyn Fn(&str) -> bool) {
        if status == 200 && right(body) {
            self.answered.fetch_add(1, Ordering::Relaxed);
        } else {
            self.fail(format!("{who}: {status} {body:?}"));
        }
    }
}

fn keep_asking(port: u16, path: &str, post: bool, shared: &Shared, right: &dyn Fn(&str) -> bool) {
    let who = if post {
        "keep-alive POST"
    } else {
        "keep-alive GET"
    };
    let body = vec![b'x'; 3000];
    let mut open: Option<Client> = None;
    while !shared.over() {
        let mut client = match open.take() {
            Some(c) => c,
            None => match Client::try_connect(port) {
                Ok(c) => c,
                Err(e) => {
                    shared.fail(format!("{who}: connect: {e}"));
                    continue;
                }
            },
        };
        let answer = if post {
            client.post(path, &body)
        } else {
            client.get(path)
        };
        match answer {
            Ok(r) => {
                shared.check(who, r.status, &r.text(), right);
                if r.field("connection").is_some_and(|v| v.contains("close")) {
                    shared.reopened.fetch_add(1, Ordering::Relaxed);
                } else {
                    open = Some(client);
                }
            }
            Err(e) => shared.fail(format!("{who}: {e}")),
        }
    }
}

fn ask_anew(port: u16, path: &str, shared: &Shared, right: &dyn Fn(&str) -> bool) {
    while !shared.over() {
        match get(port, path) {
            Ok(r) => shared.check("one-shot GET", r.status, &r.text(), right),
            Err(e) => shared.fail(format!("one-shot GET: {e}")),
        }
    }
}
