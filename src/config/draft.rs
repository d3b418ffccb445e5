//! What the directives have said so far: the half-made configuration that setters write into.
//!
//! `None` means "not said". Defaults, inheritance into virtual hosts and the checks that need the
//! whole configuration are `settle`'s. The frame around it is [`super::frame::Build`].

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use super::health::{HealthExpression, HealthTemplate};
use super::layer::Layer;
use super::settings::{
    BadHeader, BalancerParams, EncodedSlashes, HostAddress, Mapping, ProxyRule, ProxyStatus,
    ReadTimeout, Section, ServerTokens, TraceEnable, Via, WorkerParams,
};
use super::span::Span;
use super::worker_url::WorkerUrl;
use crate::codec::beacon::{Key, MacPolicy, Origin};

/// A whole configuration in the making.
#[derive(Debug, Default)]
pub struct Draft {
    /// Values of the whole instance.
    pub process: ProcessDraft,
    /// `Listen` lines.
    pub listens: Vec<ListenDraft>,
    /// `AcceptFilter`: (protocol, wait for data).
    pub accept_filters: Vec<(String, bool)>,
    /// 0 is the main server; the others are virtual hosts in file order.
    pub servers: Vec<ServerDraft>,
    /// `GlobalLog` lines.
    pub global_logs: Vec<LogDraft>,
    /// `TypesConfig` and its line.
    pub types_config: Option<(PathBuf, Span)>,
    /// `ServerTokens`.
    pub server_tokens: Option<ServerTokens>,
    /// `ExtendedStatus`.
    pub extended_status: Option<bool>,
    /// `SeeRequestTail`.
    pub see_request_tail: Option<bool>,
}

/// Values of the whole instance, as said; paths as written.
#[derive(Debug, Default)]
pub struct ProcessDraft {
    /// `PidFile`.
    pub pid_file: Option<PathBuf>,
    /// `ScoreBoardFile`.
    pub scoreboard_file: Option<PathBuf>,
    /// `DefaultRuntimeDir`.
    pub runtime_dir: Option<PathBuf>,
    /// `User` and its line.
    pub user: Option<(String, Span)>,
    /// `Group` and its line.
    pub group: Option<(String, Span)>,
    /// `StartServers`.
    pub start_servers: Option<u32>,
    /// `ServerLimit`.
    pub server_limit: Option<u32>,
    /// `MaxRequestWorkers`.
    pub max_request_workers: Option<u32>,
    /// `MaxConnectionsPerChild`.
    pub max_connections_per_child: Option<u64>,
    /// `WatchdogInterval`.
    pub watchdog_interval: Option<Duration>,
    /// `HeartbeatAddress`.
    pub heartbeat_address: Option<SocketAddr>,
    /// `HeartbeatListen`.
    pub heartbeat_listen: Option<SocketAddr>,
    /// `HeartbeatMaxServers`.
    pub heartbeat_max_servers: Option<u32>,
    /// `HeartbeatStorage`, absolute.
    pub heartbeat_storage: Option<PathBuf>,
    /// `ProxyHCTPsize`.
    pub health_checks_at_once: Option<u32>,
    /// `GracefulShutdownTimeout`.
    pub graceful_shutdown_timeout: Option<Duration>,
    /// `ListenBackLog`.
    pub listen_backlog: Option<u32>,
    /// `SendBufferSize`.
    pub send_buffer: Option<u32>,
    /// `ReceiveBufferSize`.
    pub receive_buffer: Option<u32>,
    /// `CoreDumpDirectory`.
    pub core_dump_directory: Option<PathBuf>,
}

/// A `Listen` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenDraft {
    /// Where.
    pub address: SocketAddr,
    /// Written without an address.
    pub any: bool,
    /// The protocol, when written.
    pub protocol: Option<String>,
    /// Where it stands.
    pub span: Span,
}

/// The main server or a virtual host, as said.
#[derive(Debug, Default)]
pub struct ServerDraft {
    /// The `<VirtualHost` line.
    pub span: Span,
    /// Its addresses.
    pub addresses: Vec<HostAddress>,
    /// `ServerName`: scheme, host, port.
    pub name: Option<(Option<String>, String, Option<u16>)>,
    /// `ServerAlias` without wildcards.
    pub aliases: Vec<String>,
    /// `ServerAlias` with wildcards.
    pub wild_aliases: Vec<String>,
    /// `ServerPath`.
    pub server_path: Option<String>,
    /// `ServerAdmin`.
    pub admin: Option<String>,
    /// `DocumentRoot` and its line.
    pub document_root: Option<(PathBuf, Span)>,
    /// `Timeout`.
    pub timeout: Option<Duration>,
    /// `KeepAlive`.
    pub keep_alive: Option<bool>,
    /// `KeepAliveTimeout`.
    pub keep_alive_timeout: Option<Duration>,
    /// `MaxKeepAliveRequests`.
    pub max_keep_alive_requests: Option<u32>,
    /// `LimitRequestLine`.
    pub limit_line: Option<usize>,
    /// `LimitRequestFieldSize`.
    pub limit_field: Option<usize>,
    /// `LimitRequestFields`.
    pub limit_fields: Option<usize>,
    /// `RequestReadTimeout`; a line that names some stages keeps the others.
    pub read_timeout: Option<ReadTimeout>,
    /// `AllowEncodedSlashes` (never inherited).
    pub encoded_slashes: Option<EncodedSlashes>,
    /// `MergeSlashes`.
    pub merge_slashes: Option<bool>,
    /// `UseCanonicalPhysicalPort`.
    pub physical_port: Option<bool>,
    /// `StrictHostCheck`.
    pub strict_host_check: Option<bool>,
    /// `TraceEnable`.
    pub trace: Option<TraceEnable>,
    /// `LimitInternalRecursion`.
    pub internal_recursion: Option<u32>,
    /// `ErrorLog` and its line.
    pub error_log: Option<(LogPlace, Span)>,
    /// `ErrorLogFormat`.
    pub error_log_format: Option<String>,
    /// `LogFormat` with nicknames: (nickname, format), later ones win.
    pub nicknames: Vec<(String, String)>,
    /// `LogFormat` without a nickname: `TransferLog`'s.
    pub transfer_format: Option<String>,
    /// `CustomLog` and `TransferLog`.
    pub logs: Vec<LogDraft>,
    /// Values that sections may change, as said directly in the server.
    pub base: Layer,
    /// Its sections in file order.
    pub sections: Vec<Section>,
    /// mod_proxy's values.
    pub proxy: ProxyDraft,
    /// mod_proxy_beacon's values (never inherited).
    pub beacon: BeaconDraft,
}

/// mod_proxy_beacon's values of one server, as said.
#[derive(Debug, Default)]
pub struct BeaconDraft {
    /// `ProxyBeaconListen`: host, port, line.
    pub listen: Option<(Option<String>, Option<u16>, Span)>,
    /// `ProxyBeaconAddress`.
    pub targets: Vec<super::beacon::HostPort>,
    /// Its first line.
    pub address_span: Option<Span>,
    /// `ProxyBeaconAdvertise`.
    pub advertise: Option<Origin>,
    /// `ProxyBeaconBalancer`: `balancer://name` and its line.
    pub balancer: Option<(String, Span)>,
    /// `ProxyBeaconInterval` and its line.
    pub interval: Option<(Duration, Span)>,
    /// `ProxyBeaconTimeout` and its line.
    pub timeout: Option<(Duration, Span)>,
    /// `ProxyBeaconMaxSkew` and its line.
    pub max_skew: Option<(Duration, Span)>,
    /// `ProxyBeaconMac` and its line.
    pub mac: Option<(MacPolicy, Span)>,
    /// `ProxyBeaconAllow`: all its lines, and the first one's place.
    pub allow: Vec<super::beacon::Allowed>,
    /// See `allow`.
    pub allow_span: Option<Span>,
    /// `ProxyBeaconSecret` and `ProxyBeaconSecretFile`.
    pub secrets: Vec<SecretDraft>,
}

/// A secret that was said.
#[derive(Debug)]
pub struct SecretDraft {
    /// What it makes.
    pub key: Key,
    /// Its line.
    pub span: Span,
}

/// A log's target as written, before it gets a number.
pub type LogPlace = super::settings::LogTarget;

/// A `CustomLog`, `TransferLog` or `GlobalLog` line.
#[derive(Clone, Debug)]
pub struct LogDraft {
    /// Where to.
    pub place: LogPlace,
    /// A nickname or a format; `None`: the default format (`TransferLog`).
    pub format: Option<String>,
    /// `env=VAR` / `env=!VAR`: (name, must be set).
    pub condition: Option<(String, bool)>,
    /// Where it stands.
    pub span: Span,
}

/// mod_proxy's values of one server, as said.
#[derive(Debug, Default)]
pub struct ProxyDraft {
    /// ProxyPass and ProxyPassMatch lines outside sections.
    pub rules: Vec<ProxyRule>,
    /// Workers of plain ProxyPass lines and `<Proxy URL key=value>`.
    pub workers: Vec<WorkerDraft>,
    /// Balancers named in this server.
    pub balancers: Vec<BalancerDraft>,
    /// ProxyHCTemplate lines.
    pub health_templates: Vec<HealthTemplate>,
    /// ProxyHCExpr lines.
    pub health_expressions: Vec<HealthExpression>,
    /// `ProxyPassInherit`.
    pub pass_inherit: Option<bool>,
    /// `BalancerInherit`.
    pub balancer_inherit: Option<bool>,
    /// `BalancerPersist`.
    pub persist: Option<bool>,
    /// `ProxyVia`.
    pub via: Option<Via>,
    /// `ProxyTimeout`.
    pub timeout: Option<Duration>,
    /// `ProxyIOBufferSize`.
    pub io_buffer: Option<usize>,
    /// `ProxyReceiveBufferSize`.
    pub receive_buffer: Option<u32>,
    /// `ProxyBadHeader`.
    pub bad_header: Option<BadHeader>,
    /// `ProxyMaxForwards`.
    pub max_forwards: Option<Option<u64>>,
    /// `ProxyStatus`.
    pub status: Option<ProxyStatus>,
    /// `ProxySourceAddress`.
    pub source_address: Option<IpAddr>,
    /// `ProxyBlock` words.
    pub block: Vec<String>,
}

/// A worker in the making.
#[derive(Clone, Debug)]
pub struct WorkerDraft {
    /// What it reaches.
    pub url: WorkerUrl,
    /// Its parameters.
    pub params: WorkerParams,
    /// Where it was first named.
    pub span: Span,
}

/// A balancer in the making.
#[derive(Clone, Debug)]
pub struct BalancerDraft {
    /// `balancer://name`, lower case.
    pub name: String,
    /// Its members in order.
    pub members: Vec<WorkerDraft>,
    /// Its parameters.
    pub params: BalancerParams,
    /// Keys that were written, lower case, for the merge into virtual hosts.
    pub written: Vec<String>,
    /// Where it was first named.
    pub span: Span,
}

/// What the words behind a ProxyPass URL say that is no parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassFlags {
    /// `nocanon`
    pub nocanon: bool,
    /// `interpolate`
    pub interpolate: bool,
    /// `mapping=`
    pub mapping: Mapping,
}

impl Draft {
    /// A draft with an empty main server.
    pub fn new() -> Draft {
        Draft {
            servers: vec![ServerDraft::default()],
            ..Draft::default()
        }
    }
}
