//! The configuration that says nothing: one main server, all defaults. Tests of other rooms start
//! from it and set what they are about.

use std::path::PathBuf;
use std::time::Duration;

use super::layer::Layer;
use super::settings::{
    BadHeader, Balancer, BalancerParams, EncodedSlashes, HeadLimits, Process, ProxyServer,
    ProxyStatus, ReadTimeout, Server, ServerTokens, Settings, TraceEnable, Via, Worker,
    WorkerParams,
};
use super::span::Span;
use crate::ids::{BalancerNo, LogNo, ServerNo, WorkerNo};

/// One main server named `localhost`, no listeners, no logs, files below `root`.
pub fn bare(root: impl Into<PathBuf>) -> Settings {
    let root = root.into();
    Settings {
        process: Process {
            pid_file: root.join("muster.pid"),
            scoreboard_file: root.join("muster.scoreboard"),
            runtime_dir: root.clone(),
            user: None,
            group: None,
            start_servers: None,
            server_limit: 256,
            max_request_workers: None,
            max_connections_per_child: 0,
            graceful_shutdown_timeout: Duration::ZERO,
            health_checks_at_once: 16,
            watchdog_interval: Duration::from_secs(1),
            heartbeat_address: None,
            heartbeat_listen: None,
            heartbeat_max_servers: 10,
            heartbeat_storage: std::path::PathBuf::new(),
            listen_backlog: 511,
            send_buffer: 0,
            receive_buffer: 0,
            core_dump_directory: None,
        },
        listens: Vec::new(),
        servers: vec![server(&root)],
        balancers: Vec::new(),
        workers: Vec::new(),
        receivers: Vec::new(),
        senders: Vec::new(),
        log_targets: Vec::new(),
        mime_types: Vec::new(),
        notes: Vec::new(),
        defines: Vec::new(),
        files: Vec::new(),
        modules: Vec::new(),
        server_tokens: ServerTokens::default(),
        extended_status: true,
        see_request_tail: false,
        server_root: root,
    }
}

fn server(root: &std::path::Path) -> Server {
    Server {
        no: ServerNo(0),
        span: Span::default(),
        addresses: Vec::new(),
        name: "localhost".into(),
        name_is_set: false,
        port: None,
        scheme: "http".into(),
        aliases: Vec::new(),
        wild_aliases: Vec::new(),
        server_path: None,
        admin: None,
        document_root: root.join("htdocs"),
        timeout: Duration::from_secs(60),
        keep_alive: true,
        keep_alive_timeout: Duration::from_secs(5),
        max_keep_alive_requests: 100,
        limits: HeadLimits::default(),
        read_timeout: ReadTimeout::default(),
        encoded_slashes: EncodedSlashes::default(),
        merge_slashes: true,
        physical_port: false,
        strict_host_check: false,
        trace: TraceEnable::default(),
        internal_recursion: 10,
        error_log: LogNo(0),
        error_log_format: None,
        access_logs: Vec::new(),
        base: Layer::default(),
        sections: Vec::new(),
        proxy: ProxyServer {
            balancer_inherit: true,
            pass_inherit: true,
            persist: false,
            rules: Vec::new(),
            workers: Vec::new(),
            balancers: Vec::new(),
            via: Via::default(),
            timeout: Duration::from_secs(60),
            io_buffer: 8192,
            receive_buffer: 0,
            bad_header: BadHeader::default(),
            max_forwards: None,
            status: ProxyStatus::default(),
            source_address: None,
            block: Vec::new(),
            health_expressions: Vec::new(),
        },
    }
}

impl Settings {
    /// Adds a balancer to the main server, with a member for each name and its parameters.
    pub fn with_balancer(
        mut self,
        name: &str,
        params: BalancerParams,
        members: &[(&str, WorkerParams)],
    ) -> Settings {
        let no = BalancerNo(self.balancers.len() as u16);
        let members = members
            .iter()
            .map(|(name, params)| self.add_worker(name, params.clone(), Some(no)))
            .collect();
        self.balancers.push(Balancer {
            no,
            server: ServerNo(0),
            name: name.into(),
            members,
            params,
            span: Span::default(),
        });
        self.servers[0].proxy.balancers.push(no);
        self
    }

    /// Adds a worker outside balancers to the main server.
    pub fn with_worker(mut self, name: &str, params: WorkerParams) -> Settings {
        let no = self.add_worker(name, params, None);
        self.servers[0].proxy.workers.push(no);
        self
    }

    fn add_worker(
        &mut self,
        name: &str,
        params: WorkerParams,
        balancer: Option<BalancerNo>,
    ) -> WorkerNo {
        let no = WorkerNo(self.workers.len() as u16);
        let (scheme, rest) = name.split_once("://").unwrap_or(("http", name));
        let (host, port) = rest.split_once(':').unwrap_or((rest, "80"));
        self.workers.push(Worker {
            no,
            name: name.into(),
            scheme: scheme.into(),
            host: host.into(),
            port: port.parse().unwrap_or(80),
            port_is_set: rest.contains(':'),
            unix: None,
            path: String::new(),
            balancer,
            server: ServerNo(0),
            params,
            span: Span::default(),
        });
        no
    }
}
