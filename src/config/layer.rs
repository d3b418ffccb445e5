//! What a server or a section says of the things that sections may change. Layers are merged in
//! httpd's order (spec: config 4.1): a later scalar wins, lists are appended where httpd appends.
//! `None` means "not said here"; the accessors apply the defaults.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;

use super::pattern::Pattern;
use super::settings::ProxyRule;
use super::span::Span;

/// What one place of the configuration says.
#[derive(Clone, Debug, Default)]
pub struct Layer {
    /// Access control: a layer that states any `Require` replaces the one below (AuthMerging Off).
    pub require: Option<Arc<Require>>,
    /// `AuthMerging`.
    pub auth_merging: Option<AuthMerging>,
    /// `Order`, `Allow`, `Deny`: a layer that states any of them replaces the one below.
    pub compat: Option<Arc<Compat>>,
    /// `Satisfy`: true for All.
    pub satisfy_all: Option<bool>,
    /// `SetHandler`: `Some("none")` removes.
    pub handler: Option<String>,
    /// `Options`, in order of appearance.
    pub options: Option<Options>,
    /// `DirectoryIndex`; a single `disabled` gives an empty list.
    pub directory_index: Option<Vec<String>>,
    /// `DirectorySlash`.
    pub directory_slash: Option<bool>,
    /// `FallbackResource`; `Some("")`: disabled.
    pub fallback_resource: Option<String>,
    /// `AcceptPathInfo`.
    pub accept_path_info: Option<bool>,
    /// `AddType`: (extension lower case without dot, type), later ones win.
    pub add_type: Vec<(String, String)>,
    /// `AddLanguage`.
    pub add_language: Vec<(String, String)>,
    /// `AddCharset`.
    pub add_charset: Vec<(String, String)>,
    /// `AddEncoding`.
    pub add_encoding: Vec<(String, String)>,
    /// `RemoveType`, `RemoveLanguage`, `RemoveCharset`, `RemoveEncoding`: (which, extension).
    pub remove_mime: Vec<(MimeKind, String)>,
    /// `ForceType`; `Some("none")`: off.
    pub force_type: Option<String>,
    /// `DefaultLanguage`.
    pub default_language: Option<String>,
    /// `AddDefaultCharset`: `Some("")` off.
    pub default_charset: Option<String>,
    /// `FileETag` keywords: inode, mtime, size.
    pub file_etag: Option<(bool, bool, bool)>,
    /// `MaxRanges`: `Some(None)` no limit, `Some(Some(0))` none allowed.
    pub max_ranges: Option<Option<u32>>,
    /// `EnableSendfile`.
    pub sendfile: Option<bool>,
    /// `ErrorDocument` per code; later ones win.
    pub error_documents: Vec<(u16, ErrorDocument)>,
    /// `ServerSignature`.
    pub signature: Option<Signature>,
    /// `UseCanonicalName`.
    pub canonical_name: Option<CanonicalName>,
    /// `HostnameLookups` On or Double.
    pub hostname_lookups: Option<bool>,
    /// `LimitRequestBody`; 0: no limit.
    pub limit_body: Option<u64>,
    /// `LogLevel`.
    pub log_level: Option<LogLevels>,
    /// `Redirect` family, in order.
    pub redirects: Vec<Redirect>,
    /// `Alias` and `AliasMatch`, in order.
    pub aliases: Vec<Alias>,
    /// `SetEnvIf` family and `BrowserMatch`, in order.
    pub set_env_if: Vec<SetEnvIf>,
    /// `SetEnv`, `PassEnv` (resolved) and `UnsetEnv` (`None`), in order.
    pub set_env: Vec<(String, Option<String>)>,
    /// `ProxyPass` in a `<Location>`: the last matching section's wins.
    pub proxy_pass: Option<Arc<ProxyRule>>,
    /// `ProxyPassReverse` lines: base first, then the section's.
    pub reverse: Vec<ReverseRule>,
    /// `ProxyPassReverseCookieDomain`: (internal, public).
    pub cookie_domain: Vec<(String, String)>,
    /// `ProxyPassReverseCookiePath`: (internal, public).
    pub cookie_path: Vec<(String, String)>,
    /// `ProxyPassInterpolateEnv`.
    pub interpolate_env: Option<bool>,
    /// `ProxyPreserveHost`.
    pub preserve_host: Option<bool>,
    /// `ProxyAddHeaders`.
    pub add_headers: Option<bool>,
    /// `ProxyErrorOverride`; codes accumulate.
    pub error_override: Option<ErrorOverride>,
    /// `Proxy100Continue`.
    pub continue_100: Option<bool>,
    /// `AllowMethods`.
    pub allow_methods: Option<Vec<String>>,
    /// `ReadBufferSize`.
    pub read_buffer: Option<usize>,
    /// `Timeout`-like values that a `<Proxy>` section may set by ProxySet stand in the worker.
    pub proxy_timeout: Option<Duration>,
}

/// `AuthMerging`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthMerging {
    /// The inner set replaces the outer.
    Off,
    /// Both must pass.
    And,
    /// One must pass.
    Or,
}

/// A tree of `Require` lines (spec: modules 6).
#[derive(Clone, Debug)]
pub enum Require {
    /// `all granted` (true) or `all denied`.
    All(bool),
    /// `ip`.
    Ip(Vec<IpNet>),
    /// `host`: names whose suffix at a label the client's verified name must have.
    Host(Vec<String>),
    /// `forward-dns`.
    ForwardDns(Vec<String>),
    /// `local`.
    Local,
    /// `env`.
    Env(Vec<String>),
    /// `method`.
    Method(Vec<String>),
    /// `not` in front of one of the above.
    Not(Box<Require>),
    /// `<RequireAll>`.
    AllOf(Vec<Require>),
    /// `<RequireAny>`, and several lines in one section.
    AnyOf(Vec<Require>),
    /// `<RequireNone>`.
    NoneOf(Vec<Require>),
}

/// `Order`, `Allow`, `Deny` of mod_access_compat.
#[derive(Clone, Debug, Default)]
pub struct Compat {
    /// `Order`.
    pub order: Order,
    /// `Allow from`.
    pub allow: Vec<HostRule>,
    /// `Deny from`.
    pub deny: Vec<HostRule>,
}

/// `Order`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// `deny,allow`: allowed by default, Allow overrides Deny.
    #[default]
    DenyAllow,
    /// `allow,deny`: denied by default, Deny overrides Allow.
    AllowDeny,
    /// `mutual-failure`.
    MutualFailure,
}

/// A word behind `Allow from`.
#[derive(Clone, Debug)]
pub enum HostRule {
    /// `all`
    All,
    /// An address or network.
    Net(IpNet),
    /// A host name or domain suffix.
    Host(String),
    /// `env=NAME` (true) or `env=!NAME`.
    Env(String, bool),
}

/// `Options`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bits that this layer sets, or with `relative` adds.
    pub on: u8,
    /// Bits that this layer removes.
    pub off: u8,
    /// Every word had a sign: merge into what is below; otherwise replace it.
    pub relative: bool,
}

impl Options {
    /// `FollowSymLinks`
    pub const FOLLOW: u8 = 1;
    /// `SymLinksIfOwnerMatch`
    pub const OWNER: u8 = 2;
    /// `Indexes`
    pub const INDEXES: u8 = 4;
    /// `MultiViews`
    pub const MULTIVIEWS: u8 = 8;
    /// `ExecCGI`
    pub const EXEC: u8 = 16;
    /// `Includes`, `IncludesNOEXEC`
    pub const INCLUDES: u8 = 32;
}

/// Which extension table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MimeKind {
    /// AddType
    Type,
    /// AddLanguage
    Language,
    /// AddCharset
    Charset,
    /// AddEncoding
    Encoding,
}

/// `ErrorDocument`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorDocument {
    /// `default`
    Default,
    /// A text.
    Text(String),
    /// A local path.
    Path(String),
    /// An absolute URL: a redirect.
    Url(String),
}

/// `ServerSignature`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signature {
    /// No line.
    #[default]
    Off,
    /// Server and host.
    On,
    /// With the administrator's address.
    Email,
}

/// `UseCanonicalName`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CanonicalName {
    /// The Host field.
    #[default]
    Off,
    /// ServerName.
    On,
    /// Reverse lookup.
    Dns,
}

/// `LogLevel`: a plain level and levels of modules (name without `mod_`, `.c`, `_module`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLevels {
    /// The plain level: 0 emerg ... 7 debug, 8 to 15 trace1 to trace8; `None`: the inherited one.
    pub plain: Option<u8>,
    /// Levels of modules; a plain level discards those before it.
    pub modules: Vec<(String, u8)>,
}

/// `Redirect`, `RedirectMatch`.
#[derive(Clone, Debug)]
pub struct Redirect {
    /// A path prefix, a pattern, or `None` inside a `<Location>` (the whole section).
    pub from: RedirectFrom,
    /// The status.
    pub status: u16,
    /// The target; `None` for a status that is no redirect.
    pub to: Option<String>,
    /// Where it stands.
    pub span: Span,
}

/// The left side of a redirect.
#[derive(Clone, Debug)]
pub enum RedirectFrom {
    /// `Redirect /path`
    Prefix(Vec<u8>),
    /// `RedirectMatch`
    Match(Pattern),
    /// `Redirect URL` in a `<Location>`.
    Section,
}

/// `Alias`, `AliasMatch`.
#[derive(Clone, Debug)]
pub struct Alias {
    /// A path prefix or a pattern.
    pub from: RedirectFrom,
    /// A directory or file, absolute; may hold `$1` with a pattern.
    pub to: PathBuf,
    /// Where it stands.
    pub span: Span,
}

/// `SetEnvIf`, `SetEnvIfNoCase`, `BrowserMatch`, `BrowserMatchNoCase`.
#[derive(Clone, Debug)]
pub struct SetEnvIf {
    /// What is looked at.
    pub attribute: EnvAttribute,
    /// The expression.
    pub pattern: Pattern,
    /// (name, value) to set, `None` to unset.
    pub assign: Vec<(String, Option<String>)>,
}

/// The attribute of a `SetEnvIf`.
#[derive(Clone, Debug)]
pub enum EnvAttribute {
    /// A request field, or a variable set before when there is no such field.
    Field(String),
    /// Any field whose name matches.
    Fields(Pattern),
    /// `Remote_Host`
    RemoteHost,
    /// `Remote_Addr`
    RemoteAddr,
    /// `Server_Addr`
    ServerAddr,
    /// `Request_Method`
    Method,
    /// `Request_Protocol`
    Protocol,
    /// `Request_URI`
    Uri,
}

/// `ProxyPassReverse`.
#[derive(Clone, Debug)]
pub struct ReverseRule {
    /// The public path.
    pub fake: String,
    /// The backend's URL or path.
    pub real: String,
    /// `interpolate`.
    pub interpolate: bool,
}

/// `ProxyErrorOverride`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorOverride {
    /// On or Off.
    pub on: bool,
    /// These codes; empty: 400 to 599.
    pub codes: Vec<u16>,
}

impl Layer {
    /// What holds when `over` applies after this one.
    pub fn merged(&self, over: &Layer) -> Layer {
        fn pick<T: Clone>(over: &Option<T>, base: &Option<T>) -> Option<T> {
            over.as_ref().or(base.as_ref()).cloned()
        }
        fn join<T: Clone>(base: &[T], over: &[T]) -> Vec<T> {
            base.iter().chain(over).cloned().collect()
        }
        Layer {
            require: self.merged_require(over),
            auth_merging: over.auth_merging,
            compat: pick(&over.compat, &self.compat),
            satisfy_all: pick(&over.satisfy_all, &self.satisfy_all),
            handler: pick(&over.handler, &self.handler),
            options: merged_options(self.options, over.options),
            directory_index: pick(&over.directory_index, &self.directory_index),
            directory_slash: pick(&over.directory_slash, &self.directory_slash),
            fallback_resource: pick(&over.fallback_resource, &self.fallback_resource),
            accept_path_info: pick(&over.accept_path_info, &self.accept_path_info),
            add_type: join(&self.add_type, &over.add_type),
            add_language: join(&self.add_language, &over.add_language),
            add_charset: join(&self.add_charset, &over.add_charset),
            add_encoding: join(&self.add_encoding, &over.add_encoding),
            remove_mime: self.merged_removals(over),
            force_type: pick(&over.force_type, &self.force_type),
            default_language: pick(&over.default_language, &self.default_language),
            default_charset: pick(&over.default_charset, &self.default_charset),
            file_etag: pick(&over.file_etag, &self.file_etag),
            max_ranges: pick(&over.max_ranges, &self.max_ranges),
            sendfile: pick(&over.sendfile, &self.sendfile),
            error_documents: join(&self.error_documents, &over.error_documents),
            signature: pick(&over.signature, &self.signature),
            canonical_name: pick(&over.canonical_name, &self.canonical_name),
            hostname_lookups: pick(&over.hostname_lookups, &self.hostname_lookups),
            limit_body: pick(&over.limit_body, &self.limit_body),
            log_level: merged_levels(&self.log_level, &over.log_level),
            redirects: join(&over.redirects, &self.redirects),
            aliases: join(&over.aliases, &self.aliases),
            set_env_if: join(&self.set_env_if, &over.set_env_if),
            set_env: join(&self.set_env, &over.set_env),
            proxy_pass: pick(&over.proxy_pass, &self.proxy_pass),
            reverse: join(&self.reverse, &over.reverse),
            cookie_domain: join(&self.cookie_domain, &over.cookie_domain),
            cookie_path: join(&self.cookie_path, &over.cookie_path),
            interpolate_env: pick(&over.interpolate_env, &self.interpolate_env),
            preserve_host: pick(&over.preserve_host, &self.preserve_host),
            add_headers: pick(&over.add_headers, &self.add_headers),
            error_override: merged_override(&self.error_override, &over.error_override),
            continue_100: pick(&over.continue_100, &self.continue_100),
            allow_methods: pick(&over.allow_methods, &self.allow_methods),
            read_buffer: pick(&over.read_buffer, &self.read_buffer),
            proxy_timeout: pick(&over.proxy_timeout, &self.proxy_timeout),
        }
    }

    /// What is added again further in is no longer removed.
    fn merged_removals(&self, over: &Layer) -> Vec<(MimeKind, String)> {
        let added = |(kind, extension): &(MimeKind, String)| {
            let list = match kind {
                MimeKind::Type => &over.add_type,
                MimeKind::Language => &over.add_language,
                MimeKind::Charset => &over.add_charset,
                MimeKind::Encoding => &over.add_encoding,
            };
            list.iter().any(|(e, _)| e == extension)
        };
        let kept = self.remove_mime.iter().filter(|r| !added(r));
        kept.chain(&over.remove_mime).cloned().collect()
    }

    fn merged_require(&self, over: &Layer) -> Option<Arc<Require>> {
        let (Some(outer), Some(inner)) = (&self.require, &over.require) else {
            return over.require.clone().or_else(|| self.require.clone());
        };
        let both = || vec![Require::clone(outer), Require::clone(inner)];
        match over.auth_merging.unwrap_or(AuthMerging::Off) {
            AuthMerging::Off => Some(inner.clone()),
            AuthMerging::And => Some(Arc::new(Require::AllOf(both()))),
            AuthMerging::Or => Some(Arc::new(Require::AnyOf(both()))),
        }
    }
}

/// What two `Options` lines say together, the second one later or further in.
pub fn merged_options(base: Option<Options>, over: Option<Options>) -> Option<Options> {
    match (base, over) {
        (Some(b), Some(o)) if o.relative => Some(Options {
            on: (b.on | o.on) & !o.off,
            off: if b.relative {
                (b.off | o.off) & !o.on
            } else {
                0
            },
            relative: b.relative,
        }),
        (b, o) => o.or(b),
    }
}

fn merged_levels(base: &Option<LogLevels>, over: &Option<LogLevels>) -> Option<LogLevels> {
    match (base, over) {
        (Some(b), Some(o)) if o.plain.is_none() => {
            let mut modules = b.modules.clone();
            modules.retain(|(m, _)| o.modules.iter().all(|(n, _)| n != m));
            modules.extend(o.modules.iter().cloned());
            Some(LogLevels {
                plain: b.plain,
                modules,
            })
        }
        (b, o) => o.as_ref().or(b.as_ref()).cloned(),
    }
}

fn merged_override(
    base: &Option<ErrorOverride>,
    over: &Option<ErrorOverride>,
) -> Option<ErrorOverride> {
    match (base, over) {
        (Some(b), Some(o)) if o.on && b.on && !(b.codes.is_empty() || o.codes.is_empty()) => {
            let mut codes = b.codes.clone();
            codes.extend(o.codes.iter().filter(|c| !b.codes.contains(c)));
            Some(ErrorOverride { on: true, codes })
        }
        (b, o) => o.as_ref().or(b.as_ref()).cloned(),
    }
}
