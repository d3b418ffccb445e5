//! Which names an expression may use where it stands.

/// What a place knows. A name that it does not know is a fault of the configuration.
pub trait Vocabulary {
    /// `%{NAME}`; `name` as written.
    fn variable(&self, name: &str) -> bool;

    /// `func(word)` and `%{func:arg}` that ask the facts; in lower case. Those of
    /// `tolower` and its kin are known everywhere.
    fn function(&self, name: &str) -> bool;

    /// `-x word`, for letters beside `-n`, `-z` and `-T`.
    fn test(&self, _letter: u8) -> bool {
        false
    }
}

/// The tests that look at a file: `-d`, `-e`, `-f`, `-h`, `-L`, `-s`, `-x`.
pub const FILE_TESTS: &[u8] = b"defhLsx";

/// The variables of a request that httpd's core and mod_ssl's core part know, in capitals.
pub const VARIABLES: [&str; 56] = [
    "HTTP_ACCEPT",
    "HTTP_COOKIE",
    "HTTP_FORWARDED",
    "HTTP_HOST",
    "HTTP_PROXY_CONNECTION",
    "HTTP_REFERER",
    "HTTP_USER_AGENT",
    "HTTPS",
    "IPV6",
    "HTTP2",
    "CONN_REMOTE_ADDR",
    "CONN_LOG_ID",
    "CONTENT_TYPE",
    "REQUEST_METHOD",
    "REQUEST_SCHEME",
    "REQUEST_URI",
    "REQUEST_FILENAME",
    "REQUEST_STATUS",
    "REQUEST_LOG_ID",
    "REMOTE_ADDR",
    "REMOTE_HOST",
    "REMOTE_PORT",
    "REMOTE_USER",
    "REMOTE_IDENT",
    "DOCUMENT_ROOT",
    "DOCUMENT_URI",
    "AUTH_TYPE",
    "PATH_INFO",
    "QUERY_STRING",
    "LAST_MODIFIED",
    "SCRIPT_FILENAME",
    "SCRIPT_USER",
    "SCRIPT_GROUP",
    "CONTEXT_PREFIX",
    "CONTEXT_DOCUMENT_ROOT",
    "SERVER_NAME",
    "SERVER_PORT",
    "SERVER_ADMIN",
    "SERVER_PROTOCOL",
    "SERVER_PROTOCOL_VERSION",
    "SERVER_PROTOCOL_VERSION_MAJOR",
    "SERVER_PROTOCOL_VERSION_MINOR",
    "SERVER_SOFTWARE",
    "SERVER_ADDR",
    "API_VERSION",
    "THE_REQUEST",
    "IS_SUBREQ",
    "HANDLER",
    "TIME",
    "TIME_YEAR",
    "TIME_MON",
    "TIME_DAY",
    "TIME_HOUR",
    "TIME_MIN",
    "TIME_SEC",
    "TIME_WDAY",
];

/// The functions that ask the facts, in httpd's core.
pub const FUNCTIONS: [&str; 8] = [
    "req",
    "http",
    "req_novary",
    "resp",
    "reqenv",
    "osenv",
    "note",
    "env",
];
