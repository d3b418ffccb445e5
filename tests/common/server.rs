//! The built binary, on free ports in a server root of its own.

use std::collections::HashSet;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use muster::shm::{Snapshot, inspect};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::wait::{eventually, wait_for, within};

/// A running instance.
pub struct Server {
    /// Its server root; kept when the test fails.
    pub root: PathBuf,
    /// `@PORT@`
    pub port: u16,
    /// `@PORT2@`
    pub port2: u16,
    /// In the foreground: our own child. `None`: a daemon.
    process: Option<Child>,
    /// How often the log says that one serves, before the one in `process`.
    served: usize,
}

impl Server {
    /// A server root with `logs` and `htdocs` and a configuration, nothing started.
    ///
    /// In `conf`, `@PORT@`, `@PORT2@` and `@ROOT@` are replaced. In front of it stand ServerRoot,
    /// DefaultRuntimeDir, PidFile, ErrorLog and ServerName.
    pub fn prepare(conf: &str) -> Server {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("muster-test-{}-{n}", std::process::id());
        let root = std::env::temp_dir().join(name);
        for dir in ["logs", "htdocs", "run"] {
            fs::create_dir_all(root.join(dir)).unwrap();
        }
        // Children run as another user when the tests are run by root.
        fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).unwrap();
        let server = Server {
            root,
            port: free_port(),
            port2: free_port(),
            process: None,
            served: 0,
        };
        server.configure(conf);
        server
    }

    /// Starts in the foreground and waits until it serves.
    pub fn start(conf: &str) -> Server {
        let mut server = Server::prepare(conf);
        server.launch(&[], &[]);
        server
    }

    /// Replaces the configuration file; see [`Server::prepare`].
    pub fn configure(&self, conf: &str) {
        let text = format!(
            "ServerRoot \"@ROOT@\"\nDefaultRuntimeDir \"@ROOT@/run\"\nPidFile \"@ROOT@/run/muster.pid\"\n\
             ErrorLog \"@ROOT@/logs/error_log\"\nServerName localhost\n{conf}"
        );
        let text = text
            .replace("@PORT@", &self.port.to_string())
            .replace("@PORT2@", &self.port2.to_string())
            .replace("@ROOT@", &self.root.to_string_lossy());
        fs::write(self.conf(), text).unwrap();
    }

    /// Starts what was prepared in the foreground, with more words and environment variables, and
    /// waits until it serves.
    pub fn launch(&mut self, words: &[&str], env: &[(&str, &str)]) {
        self.spawn(words, env);
        if let Err(status) = self.wait_serving() {
            panic!("muster ended with {status}: {}", self.story());
        }
    }

    /// Starts without waiting.
    pub fn spawn(&mut self, words: &[&str], env: &[(&str, &str)]) {
        self.served = self.count_log(SERVING);
        let out = fs::File::create(self.root.join("logs/stdout")).unwrap();
        let process = Command::new(binary())
            .arg("-f")
            .arg(self.conf())
            .arg("-DFOREGROUND")
            .args(words)
            .envs(env.iter().copied())
            .stdin(Stdio::null())
            .stdout(out.try_clone().unwrap())
            .stderr(out)
            .spawn()
            .unwrap();
        self.process = Some(process);
    }

    /// Waits until it serves; the exit status when it ended instead.
    pub fn wait_serving(&mut self) -> Result<(), std::process::ExitStatus> {
        wait_for("muster serves", || {
            if let Some(p) = &mut self.process
                && let Some(status) = p.try_wait().unwrap()
            {
                return Some(Err(status));
            }
            let log = fs::read_to_string(self.root.join("logs/error_log")).unwrap_or_default();
            // An earlier one's line is none of this one's.
            (log.matches(SERVING).count() > self.served).then_some(Ok(()))
        })
    }

    /// Starts as a daemon by `-k start`, which returns once it serves.
    pub fn daemon(conf: &str) -> Server {
        let server = Server::prepare(conf);
        let out = server.control("start");
        assert!(out.status.success(), "{out:?}\n{}", server.story());
        server
    }

    /// `muster -f CONF -k VERB`
    pub fn control(&self, verb: &str) -> Output {
        self.muster(&["-k", verb])
    }

    /// `muster -f CONF WORDS`, waited for.
    pub fn muster(&self, words: &[&str]) -> Output {
        Command::new(binary())
            .arg("-f")
            .arg(self.conf())
            .args(words)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// The configuration file.
    pub fn conf(&self) -> PathBuf {
        self.root.join("muster.conf")
    }

    /// The pid file.
    pub fn pid_file(&self) -> PathBuf {
        self.root.join("run/muster.pid")
    }

    /// The number in the pid file.
    pub fn try_pid(&self) -> Option<i32> {
        let text = fs::read_to_string(self.pid_file()).ok()?;
        text.trim().parse().ok()
    }

    /// The supervisor's pid.
    pub fn pid(&self) -> i32 {
        self.try_pid().expect("no pid file")
    }

    /// The children's pids.
    pub fn children(&self) -> Vec<i32> {
        children_of(self.pid())
    }

    /// Sends a signal to the supervisor.
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid()), signal).unwrap();
    }

    /// Reloads by `-k graceful`, which waits; panics when it is refused.
    pub fn graceful(&self) {
        let out = self.control("graceful");
        assert!(out.status.success(), "{out:?}\n{}", self.story());
    }

    /// What stands in the error log.
    pub fn error_log(&self) -> String {
        fs::read_to_string(self.root.join("logs/error_log")).unwrap_or_default()
    }

    /// How often a text stands in the error log.
    pub fn count_log(&self, text: &str) -> usize {
        self.error_log().matches(text).count()
    }

    /// Waits until a text stands in the error log.
    pub fn wait_log(&self, text: &str) {
        eventually(&format!("{text:?} in the error log"), || {
            self.error_log().contains(text)
        });
    }

    /// What stands in a file below `logs`.
    pub fn log(&self, name: &str) -> String {
        fs::read_to_string(self.root.join("logs").join(name)).unwrap_or_default()
    }

    /// Where the slot table is.
    pub fn table(&self) -> PathBuf {
        wait_for("a slot table", || {
            fs::read_dir(self.root.join("run"))
                .ok()?
                .filter_map(|e| Some(e.ok()?.path()))
                .find(|p| p.extension().is_some_and(|e| e == "scoreboard"))
        })
    }

    /// A copy of the slot table.
    pub fn scoreboard(&self) -> Snapshot {
        inspect::read(&self.table()).unwrap()
    }

    /// Writes a file below the server root.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Waits for the end of the foreground process.
    pub fn wait_exit(&mut self) -> std::process::ExitStatus {
        let process = self.process.as_mut().expect("a foreground process");
        let status = wait_for("muster ends", || process.try_wait().unwrap());
        self.process = None;
        status
    }

    /// The foreground process's pid, before there is a pid file.
    pub fn process_id(&self) -> Option<i32> {
        self.process.as_ref().map(|p| p.id() as i32)
    }

    /// Everything that it said, for a failed assertion.
    pub fn story(&self) -> String {
        format!(
            "root {}\n--- error log\n{}\n--- output\n{}",
            self.root.display(),
            self.error_log(),
            self.log("stdout")
        )
    }

    fn stop(&mut self) {
        let supervisor = self
            .process_id()
            .or_else(|| self.try_pid().filter(|p| is_muster(*p)));
        let Some(pid) = supervisor else { return };
        let mut all = children_of(pid);
        all.push(pid);
        let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        let own = &mut self.process;
        let gone = within(std::time::Duration::from_secs(8), || {
            if let Some(p) = own {
                let _ = p.try_wait();
            }
            all.iter().all(|p| !is_muster(*p)).then_some(())
        });
        if gone.is_none() {
            for p in all.into_iter().filter(|p| is_muster(*p)) {
                let _ = kill(Pid::from_raw(p), Signal::SIGKILL);
            }
        }
        if let Some(p) = own {
            let _ = p.wait();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
        if std::thread::panicking() {
            eprintln!("kept: {}", self.root.display());
        } else {
            let _ = fs::remove_dir_all(&self.root);
        }
    }
}

const SERVING: &str = "resuming normal operations";

/// The program under test.
pub fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_muster"))
}

/// Whether a process lives (a zombie does not) and is the program under test.
pub fn is_muster(pid: i32) -> bool {
    let Some(stat) = stat(pid) else { return false };
    stat.comm.starts_with("muster") && stat.state != 'Z'
}

/// The living children of a process.
pub fn children_of(pid: i32) -> Vec<i32> {
    let Ok(dir) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    dir.filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok())
        .filter(|p| stat(*p).is_some_and(|s| s.parent == pid && s.state != 'Z'))
        .collect()
}

/// The zombies below a process.
pub fn zombies_of(pid: i32) -> usize {
    let Ok(dir) = fs::read_dir("/proc") else {
        return 0;
    };
    dir.filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok())
        .filter(|p| stat(*p).is_some_and(|s| s.parent == pid && s.state == 'Z'))
        .count()
}

/// How many descriptors a process has open.
pub fn descriptors(pid: i32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, |d| d.count())
}

struct Stat {
    comm: String,
    state: char,
    parent: i32,
}

fn stat(pid: i32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (front, back) = text.rsplit_once(')')?;
    let comm = front.split_once('(')?.1.to_owned();
    let mut fields = back.split_whitespace();
    Some(Stat {
        comm,
        state: fields.next()?.chars().next()?,
        parent: fields.next()?.parse().ok()?,
    })
}

/// A port on which nobody listens, outside the range that the kernel gives to clients, and not
/// given twice by one test program.
pub fn free_port() -> u16 {
    static GIVEN: Mutex<Option<HashSet<u16>>> = Mutex::new(None);
    let mut given = GIVEN.lock().unwrap_or_else(|e| e.into_inner());
    let given = given.get_or_insert_default();
    // Test programs that run side by side begin in different places.
    let start = std::process::id().wrapping_mul(7919);
    (0..20_000u32)
        .map(|i| 10_000 + (start.wrapping_add(i.wrapping_mul(13)) % 20_000) as u16)
        .find(|p| {
            !given.contains(p) && TcpListener::bind(("0.0.0.0", *p)).is_ok() && given.insert(*p)
        })
        .expect("a free port")
}
