//! The modules of httpd, for LoadModule and `<IfModule>`.
//!
//! muster has no modules to load: a LoadModule line only makes a name count, so that the guarded
//! lines of a configuration are read exactly where httpd would read them.

use super::registry::Directive;

/// A module of httpd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Module {
    /// The identifier without `_module`: `proxy_http`.
    pub id: &'static str,
    /// The source file that `<IfModule>` may name: `mod_proxy_http.c`.
    pub source: &'static str,
    /// What it is to muster.
    pub standing: Standing,
}

/// What a module is to muster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Always loaded, as in a stock httpd.
    Static,
    /// muster does its work: it counts as loaded where a configuration has no LoadModule at all.
    Done,
    /// A module of httpd whose work muster does not do (yet).
    Known,
}

impl Module {
    /// Whether it is a multi-processing module: one of them is always there.
    pub fn is_mpm(&self) -> bool {
        self.id.starts_with("mpm_")
    }
}

/// The module that `<IfModule NAME>` or LoadModule's first word names: `proxy_module` or
/// `mod_proxy.c`, in exact letter case.
pub fn find(name: &str) -> Option<&'static Module> {
    match name.strip_suffix("_module") {
        Some(id) => MODULES.iter().find(|m| m.id == id),
        None => MODULES.iter().find(|m| m.source == name),
    }
}

/// The module that defines a directive; `None` for what is muster's own.
pub fn of(directive: &Directive) -> Option<&'static Module> {
    let stem = |m: &Module| m.source.strip_suffix(".c") == Some(directive.module);
    MODULES.iter().find(|m| stem(m))
}

/// All of them.
pub fn all() -> &'static [Module] {
    MODULES
}

const fn m(id: &'static str, source: &'static str, standing: Standing) -> Module {
    Module {
        id,
        source,
        standing,
    }
}

use Standing::{Done, Known, Static};

const MODULES: &[Module] = &[
    m("core", "core.c", Static),
    m("so", "mod_so.c", Static),
    m("watchdog", "mod_watchdog.c", Static),
    m("http", "http_core.c", Static),
    m("log_config", "mod_log_config.c", Static),
    m("logio", "mod_logio.c", Static),
    m("version", "mod_version.c", Static),
    m("unixd", "mod_unixd.c", Static),
    m("access_compat", "mod_access_compat.c", Done),
    m("actions", "mod_actions.c", Known),
    m("alias", "mod_alias.c", Done),
    m("allowmethods", "mod_allowmethods.c", Done),
    m("asis", "mod_asis.c", Known),
    m("auth_basic", "mod_auth_basic.c", Known),
    m("auth_digest", "mod_auth_digest.c", Known),
    m("auth_form", "mod_auth_form.c", Known),
    m("authn_anon", "mod_authn_anon.c", Known),
    m("authn_core", "mod_authn_core.c", Known),
    m("authn_dbd", "mod_authn_dbd.c", Known),
    m("authn_dbm", "mod_authn_dbm.c", Known),
    m("authn_file", "mod_authn_file.c", Known),
    m("authn_socache", "mod_authn_socache.c", Known),
    m("authnz_fcgi", "mod_authnz_fcgi.c", Known),
    m("authnz_ldap", "mod_authnz_ldap.c", Known),
    m("authz_core", "mod_authz_core.c", Done),
    m("authz_dbd", "mod_authz_dbd.c", Known),
    m("authz_dbm", "mod_authz_dbm.c", Known),
    m("authz_groupfile", "mod_authz_groupfile.c", Known),
    m("authz_host", "mod_authz_host.c", Done),
    m("authz_owner", "mod_authz_owner.c", Known),
    m("authz_user", "mod_authz_user.c", Known),
    m("autoindex", "mod_autoindex.c", Known),
    m("brotli", "mod_brotli.c", Known),
    m("bucketeer", "mod_bucketeer.c", Known),
    m("buffer", "mod_buffer.c", Known),
    m("cache", "mod_cache.c", Known),
    m("cache_disk", "mod_cache_disk.c", Known),
    m("cache_socache", "mod_cache_socache.c", Known),
    m("case_filter", "mod_case_filter.c", Known),
    m("case_filter_in", "mod_case_filter_in.c", Known),
    m("cern_meta", "mod_cern_meta.c", Known),
    m("cgi", "mod_cgi.c", Known),
    m("cgid", "mod_cgid.c", Known),
    m("charset_lite", "mod_charset_lite.c", Known),
    m("data", "mod_data.c", Known),
    m("dav", "mod_dav.c", Known),
    m("dav_fs", "mod_dav_fs.c", Known),
    m("dav_lock", "mod_dav_lock.c", Known),
    m("dbd", "mod_dbd.c", Known),
    m("deflate", "mod_deflate.c", Known),
    m("dialup", "mod_dialup.c", Known),
    m("dir", "mod_dir.c", Done),
    m("dumpio", "mod_dumpio.c", Known),
    m("echo", "mod_echo.c", Known),
    m("env", "mod_env.c", Done),
    m("example_hooks", "mod_example_hooks.c", Known),
    m("example_ipc", "mod_example_ipc.c", Known),
    m("expires", "mod_expires.c", Known),
    m("ext_filter", "mod_ext_filter.c", Known),
    m("file_cache", "mod_file_cache.c", Known),
    m("filter", "mod_filter.c", Known),
    m("headers", "mod_headers.c", Known),
    m("heartbeat", "mod_heartbeat.c", Done),
    m("heartmonitor", "mod_heartmonitor.c", Done),
    m("http2", "mod_http2.c", Known),
    m("ident", "mod_ident.c", Known),
    m("imagemap", "mod_imagemap.c", Known),
    m("include", "mod_include.c", Known),
    m("info", "mod_info.c", Known),
    m("lbmethod_bybusyness", "mod_lbmethod_bybusyness.c", Done),
    m("lbmethod_byrequests", "mod_lbmethod_byrequests.c", Done),
    m("lbmethod_bytraffic", "mod_lbmethod_bytraffic.c", Done),
    m("lbmethod_heartbeat", "mod_lbmethod_heartbeat.c", Done),
    m("ldap", "util_ldap.c", Known),
    m("log_debug", "mod_log_debug.c", Known),
    m("log_forensic", "mod_log_forensic.c", Known),
    m("lua", "mod_lua.c", Known),
    m("macro", "mod_macro.c", Done),
    m("md", "mod_md.c", Known),
    m("mime", "mod_mime.c", Done),
    m("mime_magic", "mod_mime_magic.c", Known),
    m("mpm_event", "event.c", Known),
    m("mpm_prefork", "prefork.c", Done),
    m("mpm_worker", "worker.c", Known),
    m("negotiation", "mod_negotiation.c", Known),
    m("optional_fn_export", "mod_optional_fn_export.c", Known),
    m("optional_fn_import", "mod_optional_fn_import.c", Known),
    m("optional_hook_export", "mod_optional_hook_export.c", Known),
    m("optional_hook_import", "mod_optional_hook_import.c", Known),
    m("proxy", "mod_proxy.c", Done),
    m("proxy_ajp", "mod_proxy_ajp.c", Known),
    m("proxy_balancer", "mod_proxy_balancer.c", Done),
    m("proxy_beacon", "mod_proxy_beacon.c", Done),
    m("proxy_connect", "mod_proxy_connect.c", Known),
    m("proxy_express", "mod_proxy_express.c", Known),
    m("proxy_fcgi", "mod_proxy_fcgi.c", Known),
    m("proxy_fdpass", "mod_proxy_fdpass.c", Known),
    m("proxy_ftp", "mod_proxy_ftp.c", Known),
    m("proxy_hcheck", "mod_proxy_hcheck.c", Done),
    m("proxy_html", "mod_proxy_html.c", Known),
    m("proxy_http", "mod_proxy_http.c", Done),
    m("proxy_http2", "mod_proxy_http2.c", Known),
    m("proxy_scgi", "mod_proxy_scgi.c", Known),
    m("proxy_uwsgi", "mod_proxy_uwsgi.c", Known),
    m("proxy_wstunnel", "mod_proxy_wstunnel.c", Known),
    m("ratelimit", "mod_ratelimit.c", Known),
    m("reflector", "mod_reflector.c", Known),
    m("remoteip", "mod_remoteip.c", Known),
    m("reqtimeout", "mod_reqtimeout.c", Done),
    m("request", "mod_request.c", Known),
    m("rewrite", "mod_rewrite.c", Known),
    m("sed", "mod_sed.c", Known),
    m("session", "mod_session.c", Known),
    m("session_cookie", "mod_session_cookie.c", Known),
    m("session_crypto", "mod_session_crypto.c", Known),
    m("session_dbd", "mod_session_dbd.c", Known),
    m("setenvif", "mod_setenvif.c", Done),
    m("slotmem_plain", "mod_slotmem_plain.c", Known),
    m("slotmem_shm", "mod_slotmem_shm.c", Done),
    m("socache_dbm", "mod_socache_dbm.c", Known),
    m("socache_memcache", "mod_socache_memcache.c", Known),
    m("socache_redis", "mod_socache_redis.c", Known),
    m("socache_shmcb", "mod_socache_shmcb.c", Known),
    m("speling", "mod_speling.c", Known),
    m("ssl", "mod_ssl.c", Known),
    m("status", "mod_status.c", Done),
    m("substitute", "mod_substitute.c", Known),
    m("suexec", "mod_suexec.c", Known),
    m("systemd", "mod_systemd.c", Known),
    m("unique_id", "mod_unique_id.c", Known),
    m("userdir", "mod_userdir.c", Known),
    m("usertrack", "mod_usertrack.c", Known),
    m("vhost_alias", "mod_vhost_alias.c", Known),
    m("xml2enc", "mod_xml2enc.c", Known),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::registry;

    #[test]
    fn every_directive_of_httpd_has_its_module() {
        for d in registry::all() {
            assert!(of(d).is_some(), "{} of {}", d.name, d.module);
        }
    }

    #[test]
    fn names_are_those_of_ifmodule() {
        assert_eq!(find("http_module").unwrap().source, "http_core.c");
        assert_eq!(find("prefork.c").unwrap().id, "mpm_prefork");
        assert!(find("mod_proxy").is_none());
    }
}
