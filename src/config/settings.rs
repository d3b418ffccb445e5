//! What a configuration means: complete and immutable. Made by `config::build`, read by everyone.
//!
//! Per-server values are resolved here (defaults and inheritance applied). Values that sections
//! may change stand in [`Layer`]s, merged per request and memoised by `request`.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use super::beacon;
use super::health::{HealthExpression, HealthParams};
use super::layer::Layer;
use super::pattern::Pattern;
use super::span::Span;
use crate::ids::{BalancerNo, ListenNo, LogNo, ServerNo, WorkerNo};

/// One whole configuration.
#[derive(Debug)]
pub struct Settings {
    /// `ServerRoot`.
    pub server_root: PathBuf,
    /// Processes, files and limits of the whole instance.
    pub process: Process,
    /// What is listened on, in file order.
    pub listens: Vec<Listen>,
    /// 0 is the main server; then the virtual hosts in file order.
    pub servers: Vec<Server>,
    /// All balancers of all servers. One that a virtual host inherits unchanged is listed once.
    pub balancers: Vec<Balancer>,
    /// All workers: members of balancers and those of plain ProxyPass lines.
    pub workers: Vec<Worker>,
    /// Servers that listen for announcements, in server order.
    pub receivers: Vec<beacon::Receiver>,
    /// Servers that announce themselves, in server order.
    pub senders: Vec<beacon::Sender>,
    /// Every distinct place that logs are written to.
    pub log_targets: Vec<LogTarget>,
    /// The extensions' types of TypesConfig, or those built in: (extension without dot, type).
    pub mime_types: Vec<(String, String)>,
    /// Said once at start: directives without a meaning here, adjusted values and the like.
    pub notes: Vec<Note>,
    /// `Define`d and `-D` names with their values, in order, for `-S`.
    pub defines: Vec<(String, Option<String>)>,
    /// The files read, for `-t -D DUMP_INCLUDES`: (depth, line of the Include in the file above, path).
    pub files: Vec<(u32, u32, PathBuf)>,
    /// Modules that count as loaded: identifier without `_module`, and whether static.
    pub modules: Vec<(String, bool)>,
    /// `DirectoryIndex`-like per-instance values that only some rooms know stand in layers.
    pub server_tokens: ServerTokens,
    /// `ExtendedStatus`.
    pub extended_status: bool,
    /// `SeeRequestTail`.
    pub see_request_tail: bool,
}

/// A note for the start-up log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Where.
    pub span: Span,
    /// A warning needs the operator's eye; otherwise it is for information.
    pub warning: bool,
    /// One line.
    pub text: String,
}

/// Instance-wide values.
#[derive(Clone, Debug)]
pub struct Process {
    /// `PidFile`, absolute.
    pub pid_file: PathBuf,
    /// `ScoreBoardFile`, absolute.
    pub scoreboard_file: PathBuf,
    /// `DefaultRuntimeDir`, absolute.
    pub runtime_dir: PathBuf,
    /// `User`, as written (`#1000` allowed); `None` where not set.
    pub user: Option<String>,
    /// `Group`, as written.
    pub group: Option<String>,
    /// `StartServers`: the number of children; `None`: as many as CPUs.
    pub start_servers: Option<u16>,
    /// `ServerLimit`: bounds the number of children.
    pub server_limit: u16,
    /// `MaxRequestWorkers`; `None`: no bound.
    pub max_request_workers: Option<u32>,
    /// `MaxConnectionsPerChild`; 0: no bound.
    pub max_connections_per_child: u64,
    /// `WatchdogInterval`: how often heartbeats are sent.
    pub watchdog_interval: Duration,
    /// `HeartbeatAddress`: where heartbeats are sent to.
    pub heartbeat_address: Option<SocketAddr>,
    /// `HeartbeatListen`: address or group, and port.
    pub heartbeat_listen: Option<SocketAddr>,
    /// `HeartbeatMaxServers`; 0: in a file too.
    pub heartbeat_max_servers: u32,
    /// `HeartbeatStorage`, absolute.
    pub heartbeat_storage: PathBuf,
    /// `ProxyHCTPsize`: health checks that run at once.
    pub health_checks_at_once: u32,
    /// `GracefulShutdownTimeout`; zero: wait for ever.
    pub graceful_shutdown_timeout: Duration,
    /// `ListenBackLog`.
    pub listen_backlog: u32,
    /// `SendBufferSize`, `ReceiveBufferSize`; 0: the system's.
    pub send_buffer: u32,
    /// See `send_buffer`.
    pub receive_buffer: u32,
    /// `CoreDumpDirectory`.
    pub core_dump_directory: Option<PathBuf>,
}

/// One `Listen` line.
#[derive(Clone, Debug)]
pub struct Listen {
    /// Its number.
    pub no: ListenNo,
    /// Address and port; a line without address gives `[::]` (dual stack) with `any` set.
    pub address: SocketAddr,
    /// Written without an address: all addresses, IPv4 and IPv6.
    pub any: bool,
    /// `http` or `https`.
    pub protocol: String,
    /// `AcceptFilter`: wait for data before the connection is handed out (TCP_DEFER_ACCEPT).
    pub defer: bool,
    /// Where it stands.
    pub span: Span,
}

/// `ServerTokens`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServerTokens {
    /// `Server: muster`
    #[default]
    Prod,
    /// With the version.
    Version,
}

/// `<VirtualHost ADDR>`: one address of a virtual host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostAddress {
    /// `None`: any address (`*`, `_default_`).
    pub ip: Option<IpAddr>,
    /// `None`: any port.
    pub port: Option<u16>,
    /// As written, for `-S` and the match of the Host field with the literal address.
    pub text: String,
}

/// The main server or a virtual host, resolved.
#[derive(Debug)]
pub struct Server {
    /// Its number.
    pub no: ServerNo,
    /// The `<VirtualHost` line, or the main file.
    pub span: Span,
    /// Addresses of the `<VirtualHost>` line; empty for the main server.
    pub addresses: Vec<HostAddress>,
    /// `ServerName`'s host, lower case.
    pub name: String,
    /// Whether this server (or for a vhost the main one) stated a ServerName.
    pub name_is_set: bool,
    /// `ServerName`'s port, or the tag's port for a vhost.
    pub port: Option<u16>,
    /// `ServerName`'s scheme, else `http`.
    pub scheme: String,
    /// `ServerAlias` without wildcards, lower case.
    pub aliases: Vec<String>,
    /// `ServerAlias` with `*` or `?`, lower case.
    pub wild_aliases: Vec<String>,
    /// `ServerPath`.
    pub server_path: Option<String>,
    /// `ServerAdmin`.
    pub admin: Option<String>,
    /// `DocumentRoot`, absolute.
    pub document_root: PathBuf,
    /// `Timeout`.
    pub timeout: Duration,
    /// `KeepAlive`.
    pub keep_alive: bool,
    /// `KeepAliveTimeout`.
    pub keep_alive_timeout: Duration,
    /// `MaxKeepAliveRequests`; 0: no bound.
    pub max_keep_alive_requests: u32,
    /// `LimitRequestLine` and its kin.
    pub limits: HeadLimits,
    /// `RequestReadTimeout`.
    pub read_timeout: ReadTimeout,
    /// `AllowEncodedSlashes`.
    pub encoded_slashes: EncodedSlashes,
    /// `MergeSlashes`.
    pub merge_slashes: bool,
    /// `UseCanonicalPhysicalPort`.
    pub physical_port: bool,
    /// `StrictHostCheck`.
    pub strict_host_check: bool,
    /// `TraceEnable`.
    pub trace: TraceEnable,
    /// `LimitInternalRecursion`: redirects.
    pub internal_recursion: u32,
    /// `ErrorLog`.
    pub error_log: LogNo,
    /// `ErrorLogFormat` for the message line, as written; `None`: httpd's default layout.
    pub error_log_format: Option<String>,
    /// `CustomLog` and `TransferLog`, with the main server's where this one has none; and GlobalLog.
    pub access_logs: Vec<AccessLog>,
    /// What stands directly in the server, the main server's values included.
    pub base: Layer,
    /// Sections in the order in which they apply within their kind: the main server's first, then this one's.
    pub sections: Vec<Section>,
    /// Mod_proxy's values.
    pub proxy: ProxyServer,
}

/// Limits on a request's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadLimits {
    /// `LimitRequestLine`: bytes of the request line.
    pub line: usize,
    /// `LimitRequestFieldSize`: bytes of one field line.
    pub field: usize,
    /// `LimitRequestFields`; 0 means no limit in httpd, here the hard bound of the codec.
    pub fields: usize,
}

impl Default for HeadLimits {
    fn default() -> Self {
        HeadLimits {
            line: 8190,
            field: 8190,
            fields: 100,
        }
    }
}

/// `RequestReadTimeout`, a stage of it. Zero `start`: no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadStage {
    /// Time allowed at first.
    pub start: Duration,
    /// Never more than this; `None`: no maximum.
    pub max: Option<Duration>,
    /// Each time so many bytes arrive the time grows by one second; 0: it does not grow.
    pub min_rate: u32,
}

/// `RequestReadTimeout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadTimeout {
    /// TLS handshake.
    pub handshake: ReadStage,
    /// From the first byte (of a connection's first request: from the accept) to the blank line.
    pub header: ReadStage,
    /// The body.
    pub body: ReadStage,
}

impl Default for ReadTimeout {
    fn default() -> Self {
        let s = Duration::from_secs;
        ReadTimeout {
            handshake: ReadStage {
                start: s(0),
                max: None,
                min_rate: 0,
            },
            header: ReadStage {
                start: s(20),
                max: Some(s(40)),
                min_rate: 500,
            },
            body: ReadStage {
                start: s(20),
                max: None,
                min_rate: 500,
            },
        }
    }
}

/// `AllowEncodedSlashes`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EncodedSlashes {
    /// `%2f` is answered 404.
    #[default]
    Off,
    /// `%2f` is a slash.
    On,
    /// `%2f` stays as it is.
    NoDecode,
}

/// `TraceEnable`. muster's default is Off (`spec: security`), `on` and `extended` as httpd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TraceEnable {
    /// 405.
    #[default]
    Off,
    /// Echoed or forwarded, without a body.
    On,
    /// With a body too.
    Extended,
}

/// A section of the configuration that applies to some requests.
#[derive(Clone, Debug)]
pub struct Section {
    /// Which kind, which decides when it applies.
    pub kind: SectionKind,
    /// What it matches.
    pub matcher: Matcher,
    /// What it says.
    pub layer: Layer,
    /// `<Files>` and `<Limit>` inside it.
    pub inner: Vec<Section>,
    /// Its opening line.
    pub span: Span,
}

/// Kinds of section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionKind {
    /// `<Directory>`, by path prefix or wildcard.
    Directory,
    /// `<DirectoryMatch>` and `<Directory ~>`.
    DirectoryMatch,
    /// `<Files>` and `<FilesMatch>`.
    Files,
    /// `<Location>` and `<LocationMatch>`.
    Location,
    /// `<Proxy>` and `<ProxyMatch>`, matched with the target URL.
    Proxy,
    /// `<Limit M ...>` (`except` false) and `<LimitExcept M ...>`: only access control inside it.
    Limit,
}

/// How a section's argument is compared.
#[derive(Clone, Debug)]
pub enum Matcher {
    /// A prefix; for Location and Directory at segment boundaries, for Files the whole name.
    Prefix(Vec<u8>),
    /// A shell wildcard. `*` and `?` do not match a slash (for `<Proxy>` they do).
    Wild(Vec<u8>),
    /// A regular expression, unanchored.
    Regex(Pattern),
    /// Methods of `<Limit>` (`except` false: these) or `<LimitExcept>` (all but these). GET covers HEAD.
    Methods {
        /// Upper-case names.
        names: Vec<String>,
        /// `<LimitExcept>`.
        except: bool,
    },
}

/// Where a log is written to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LogTarget {
    /// A file, absolute, appended to.
    File(PathBuf),
    /// A program with its words, started without a shell (`|cmd` and `||cmd`).
    Pipe(Vec<String>),
    /// `|$cmd`: through `/bin/sh -c`.
    ShellPipe(String),
    /// `syslog[:facility[:tag]]`.
    Syslog {
        /// `local7` when not written.
        facility: String,
        /// `muster` when not written.
        tag: String,
    },
    /// Nowhere but standard error (before ErrorLog is known, or `/dev/stderr`).
    Stderr,
}

/// One `CustomLog`, `TransferLog` or `GlobalLog`.
#[derive(Clone, Debug)]
pub struct AccessLog {
    /// Where to.
    pub target: LogNo,
    /// The format's text (the nickname is resolved). `log::access` compiles it.
    pub format: String,
    /// `env=VAR` / `env=!VAR`: (name, must be set).
    pub condition: Option<(String, bool)>,
    /// Where it stands.
    pub span: Span,
}

/// mod_proxy's per-server values.
#[derive(Debug)]
pub struct ProxyServer {
    /// ProxyPass and ProxyPassMatch lines, the main server's first; first match wins.
    pub rules: Vec<ProxyRule>,
    /// Workers that a target URL of this server may use (longest name that is a prefix wins);
    /// members are found inside their balancer only.
    pub workers: Vec<WorkerNo>,
    /// Balancers by name for this server, inherited ones included.
    pub balancers: Vec<BalancerNo>,
    /// `ProxyVia`.
    pub via: Via,
    /// `ProxyTimeout`, else `Timeout`.
    pub timeout: Duration,
    /// `ProxyIOBufferSize`.
    pub io_buffer: usize,
    /// `ProxyReceiveBufferSize`; 0: the system's.
    pub receive_buffer: u32,
    /// `ProxyBadHeader`.
    pub bad_header: BadHeader,
    /// `ProxyMaxForwards`; `None`: not added.
    pub max_forwards: Option<u64>,
    /// `ProxyStatus`.
    pub status: ProxyStatus,
    /// `ProxySourceAddress`.
    pub source_address: Option<IpAddr>,
    /// `ProxyBlock` words.
    pub block: Vec<String>,
    /// `BalancerInherit`.
    pub balancer_inherit: bool,
    /// `ProxyPassInherit`.
    pub pass_inherit: bool,
    /// `BalancerPersist`.
    pub persist: bool,
    /// ProxyHCExpr lines, the main server's first; of one name the last counts.
    pub health_expressions: Vec<HealthExpression>,
}

/// `ProxyVia`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Via {
    /// Untouched.
    #[default]
    Off,
    /// Added.
    On,
    /// Added with the version.
    Full,
    /// Removed.
    Block,
}

/// `ProxyBadHeader`: a response line without a colon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BadHeader {
    /// 502.
    #[default]
    IsError,
    /// The line is dropped.
    Ignore,
    /// The body starts there.
    StartBody,
}

/// `ProxyStatus`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProxyStatus {
    /// Nothing about balancers on the status page.
    #[default]
    Off,
    /// Balancers.
    On,
    /// Balancers, with full URLs.
    Full,
}

/// A ProxyPass or ProxyPassMatch line, at server level or in a `<Location>`.
#[derive(Clone, Debug)]
pub struct ProxyRule {
    /// What the path is compared with.
    pub from: RuleFrom,
    /// Where to.
    pub to: RuleTo,
    /// `nocanon`.
    pub nocanon: bool,
    /// `interpolate`.
    pub interpolate: bool,
    /// `mapping=encoded|servlet`.
    pub mapping: Mapping,
    /// Where it stands.
    pub span: Span,
}

/// The left side of a rule.
#[derive(Clone, Debug)]
pub enum RuleFrom {
    /// ProxyPass: a path prefix.
    Prefix(Vec<u8>),
    /// ProxyPassMatch, or ProxyPass in a `<LocationMatch>`.
    Match(Pattern),
}

/// The right side of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleTo {
    /// `!`
    Exclude,
    /// A URL, scheme and host lower case; may hold `$1`.
    Url(String),
}

/// `mapping=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mapping {
    /// The decoded path.
    #[default]
    Decoded,
    /// `mapping=encoded`.
    Encoded,
    /// `mapping=servlet`.
    Servlet,
}

/// A balancer as configured.
#[derive(Clone, Debug)]
pub struct Balancer {
    /// Its number.
    pub no: BalancerNo,
    /// The server that it was defined in (inherited ones keep the main server).
    pub server: ServerNo,
    /// `balancer://name`, lower case.
    pub name: String,
    /// Members in the order of the configuration.
    pub members: Vec<WorkerNo>,
    /// Its parameters.
    pub params: BalancerParams,
    /// Where it was first named.
    pub span: Span,
}

/// Balancer parameters (spec: balancer 1.3).
#[derive(Clone, Debug)]
pub struct BalancerParams {
    /// `lbmethod`.
    pub lbmethod: String,
    /// `hashkey`: what `lbmethod=byhash` hashes.
    pub hash_key: HashKey,
    /// `stickysession`: cookie name and URL parameter name.
    pub sticky: Option<(String, String)>,
    /// `stickysessionsep`; `None`: Off.
    pub sticky_separator: Option<u8>,
    /// `scolonpathdelim`.
    pub scolon_path_delim: bool,
    /// `nofailover`.
    pub no_failover: bool,
    /// `timeout`: longest wait for a usable member; zero: no wait.
    pub timeout: Duration,
    /// `maxattempts`; `None`: members in use − 1.
    pub max_attempts: Option<u32>,
    /// `failonstatus`.
    pub fail_on_status: Vec<u16>,
    /// `failontimeout`.
    pub fail_on_timeout: bool,
    /// `forcerecovery`.
    pub force_recovery: bool,
    /// `nonce`: `None` random, `Some("")` none.
    pub nonce: Option<String>,
    /// `growth`.
    pub growth: u16,
    /// `retrybudget`: the greatest part, in hundredths, of all requests to members that further tries
    /// of the same requests may be; 0 to 100.
    pub retry_budget: u8,
    /// `stickycookie`: muster sets the route cookie of this name itself.
    pub sticky_cookie: Option<String>,
}

/// What of a request tells its member with `lbmethod=byhash`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HashKey {
    /// The client's address.
    Client,
    /// The value of this header field; of several lines the first.
    Header(String),
    /// The value of this cookie.
    Cookie(String),
    /// The path as it is sent to the member, without parameters of the query.
    Path,
}

/// As it is written.
impl fmt::Display for HashKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HashKey::Client => f.write_str("client"),
            HashKey::Header(name) => write!(f, "header:{name}"),
            HashKey::Cookie(name) => write!(f, "cookie:{name}"),
            HashKey::Path => f.write_str("path"),
        }
    }
}

impl Default for BalancerParams {
    fn default() -> Self {
        BalancerParams {
            lbmethod: "byrequests".into(),
            hash_key: HashKey::Client,
            sticky: None,
            sticky_separator: Some(b'.'),
            scolon_path_delim: false,
            no_failover: false,
            timeout: Duration::ZERO,
            max_attempts: None,
            fail_on_status: Vec::new(),
            fail_on_timeout: false,
            force_recovery: true,
            nonce: None,
            growth: 0,
            retry_budget: 20,
            sticky_cookie: None,
        }
    }
}

/// A worker as configured: a backend with its parameters.
#[derive(Clone, Debug)]
pub struct Worker {
    /// Its number.
    pub no: WorkerNo,
    /// The canonical name: `scheme://host[:port][/path]`, or with `unix:PATH|` in front.
    pub name: String,
    /// `http` ...
    pub scheme: String,
    /// The host, lower case, IPv6 without brackets.
    pub host: String,
    /// The port, the scheme's default filled in.
    pub port: u16,
    /// Whether the port was written and is not the scheme's default (decides the Host field).
    pub port_is_set: bool,
    /// `unix:PATH`.
    pub unix: Option<PathBuf>,
    /// The URL's path as written, possibly empty.
    pub path: String,
    /// The balancer it is a member of.
    pub balancer: Option<BalancerNo>,
    /// The server that it was defined in.
    pub server: ServerNo,
    /// Its parameters.
    pub params: WorkerParams,
    /// Where it was first named.
    pub span: Span,
}

/// Worker parameters (spec: balancer 1.2, proxy 2).
#[derive(Clone, Debug)]
pub struct WorkerParams {
    /// `loadfactor` × 100: 100 to 10000.
    pub load_factor: u32,
    /// `lbset`, 0 to 99.
    pub lbset: u8,
    /// `route`, under 64 bytes.
    pub route: String,
    /// `redirect`, under 64 bytes.
    pub redirect: String,
    /// `status`: bits to set (spec: balancer 4).
    pub status: u32,
    /// `retry`.
    pub retry: Duration,
    /// `timeout`; `None`: ProxyTimeout, else Timeout.
    pub timeout: Option<Duration>,
    /// `connectiontimeout`.
    pub connection_timeout: Option<Duration>,
    /// `acquire`; `None`: wait for ever.
    pub acquire: Option<Duration>,
    /// `ping`.
    pub ping: Option<Duration>,
    /// `min`.
    pub min: u32,
    /// `smax`; `None`: 64.
    pub smax: Option<u32>,
    /// `max`; `None`: no bound.
    pub max: Option<u32>,
    /// `ttl`; `None`: 60 s.
    pub ttl: Option<Duration>,
    /// `keepalive`.
    pub keep_alive: bool,
    /// `disablereuse` / `enablereuse`.
    pub reuse: bool,
    /// `addressttl`: `None` never, zero each time.
    pub address_ttl: Option<Duration>,
    /// `iobuffersize`.
    pub io_buffer: usize,
    /// ProxyIOBufferSize stood above the member's line.
    pub io_buffer_is_set: bool,
    /// `receivebuffersize`.
    pub receive_buffer: u32,
    /// ProxyReceiveBufferSize stood above the member's line.
    pub receive_buffer_is_set: bool,
    /// `responsefieldsize`.
    pub response_field: usize,
    /// `slowstart`: how long a member that has recovered takes to its full load factor; zero: none.
    pub slow_start: Duration,
    /// `hcmethod` and its kin.
    pub health: HealthParams,
    /// The parameters that were written, for messages about sharing and for merging at restarts.
    pub written: Vec<(String, String)>,
}

impl Default for WorkerParams {
    fn default() -> Self {
        WorkerParams {
            load_factor: 100,
            lbset: 0,
            route: String::new(),
            redirect: String::new(),
            status: 0,
            retry: Duration::from_secs(60),
            timeout: None,
            connection_timeout: None,
            acquire: None,
            ping: None,
            min: 0,
            smax: None,
            max: None,
            ttl: None,
            keep_alive: false,
            reuse: true,
            address_ttl: None,
            io_buffer: 8192,
            io_buffer_is_set: false,
            receive_buffer: 0,
            receive_buffer_is_set: false,
            response_field: 8192,
            slow_start: Duration::ZERO,
            health: HealthParams::default(),
            written: Vec::new(),
        }
    }
}

impl Settings {
    /// The server with this number.
    pub fn server(&self, no: ServerNo) -> &Server {
        &self.servers[no.index()]
    }

    /// The worker with this number.
    pub fn worker(&self, no: WorkerNo) -> &Worker {
        &self.workers[no.index()]
    }

    /// How many members can be added at run time, over all balancers.
    pub fn growth(&self) -> usize {
        self.balancers
            .iter()
            .map(|b| usize::from(b.params.growth))
            .sum()
    }

    /// The number of a balancer's first member that is added at run time; the next `growth` ones
    /// follow it. They stand behind all configured workers.
    pub fn first_grown(&self, no: BalancerNo) -> WorkerNo {
        let before = self.balancers.iter().take(no.index());
        let offset: usize = before.map(|b| usize::from(b.params.growth)).sum();
        WorkerNo(u16::try_from(self.workers.len() + offset).unwrap_or(u16::MAX))
    }

    /// The balancer with this number.
    pub fn balancer(&self, no: BalancerNo) -> &Balancer {
        &self.balancers[no.index()]
    }
}
