//! Names that are no part of httpd 2.4: what httpd 2.2 and older had, and what modules of third
//! parties add. They are refused, but by name.

/// What there is to say about a directive that the table does not know; `None`: a name that
/// nobody is known to use.
pub fn about(name: &str) -> Option<String> {
    let same = |n: &str| n.eq_ignore_ascii_case(name);
    if let Some((_, instead)) = OLD.iter().find(|(n, _)| same(n)) {
        return Some(format!(
            "it is left over from httpd 2.2 or older; {instead}"
        ));
    }
    // Their spelling is kept: `CASLoginURL` is one, `CaseFilter` is not.
    let starts = |prefix: &str| {
        let rest = name.strip_prefix(prefix);
        rest.is_some_and(|r| prefix.ends_with('_') || !r.starts_with(|c: char| c.is_lowercase()))
    };
    let (_, module) = THIRD_PARTY.iter().find(|(prefix, _)| starts(prefix))?;
    Some(format!(
        "it belongs to {module}, which is no part of httpd and is not here"
    ))
}

/// What there is to say about a module that the list does not know.
pub fn about_module(identifier: &str) -> Option<&'static str> {
    let name = identifier.strip_suffix("_module").unwrap_or(identifier);
    let found = MODULES.iter().find(|(n, _)| *n == name);
    found.map(|(_, what)| *what)
}

/// Directives of old versions and what is used instead.
const OLD: &[(&str, &str)] = &[
    (
        "AcceptMutex",
        "take the line out, children need no accept lock",
    ),
    ("AccessConfig", "use Include"),
    ("AddModule", "use LoadModule"),
    ("AgentLog", "use CustomLog with %{User-agent}i"),
    ("AuthAuthoritative", "use AuthBasicAuthoritative"),
    ("AuthDBMAuthoritative", "take the line out"),
    ("AuthDBAuthoritative", "take the line out"),
    ("AuthDBUserFile", "use AuthDBMUserFile"),
    ("AuthDBGroupFile", "use AuthDBMGroupFile"),
    ("AuthDigestFile", "use AuthUserFile"),
    ("AuthDigestGroupFile", "use AuthGroupFile"),
    ("AuthLDAPAuthoritative", "use AuthLDAPBindAuthoritative"),
    ("AuthLDAPEnabled", "use AuthBasicProvider ldap"),
    ("AuthLDAPGroupAuthoritative", "take the line out"),
    ("AuthzDBMAuthoritative", "take the line out"),
    ("AuthzDefaultAuthoritative", "take the line out"),
    ("AuthzGroupFileAuthoritative", "take the line out"),
    ("AuthzLDAPAuthoritative", "take the line out"),
    ("AuthzOwnerAuthoritative", "take the line out"),
    ("AuthzUserAuthoritative", "take the line out"),
    (
        "AuthDigestEnableQueryStringHack",
        "use BrowserMatch with AuthDigestEnableQueryStringHack=On",
    ),
    ("BindAddress", "use Listen"),
    ("CacheForceCompletion", "take the line out"),
    ("CacheMaxStreamingBuffer", "take the line out"),
    ("CacheSize", "take the line out"),
    ("CacheGcInterval", "take the line out"),
    ("CacheOn", "use CacheEnable"),
    ("ClearModuleList", "take the line out"),
    ("CookieLog", "use CustomLog"),
    ("LockFile", "take the line out, children need no lock file"),
    ("MCacheMaxObjectCount", "take the line out"),
    ("MCacheMaxObjectSize", "take the line out"),
    ("MCacheMaxStreamingBuffer", "take the line out"),
    ("MCacheMinObjectSize", "take the line out"),
    ("MCacheRemovalAlgorithm", "take the line out"),
    ("MCacheSize", "take the line out"),
    ("NumServers", "use StartServers"),
    ("RefererIgnore", "use CustomLog with env="),
    ("RefererLog", "use CustomLog with %{Referer}i"),
    ("ResourceConfig", "use Include"),
    ("RewriteLock", "take the line out"),
    ("RewriteLog", "use LogLevel rewrite:trace3"),
    ("RewriteLogLevel", "use LogLevel rewrite:trace3"),
    ("ServerType", "take the line out"),
    ("SSLMutex", "take the line out"),
    ("StartThreads", "take the line out"),
    ("ThreadsPerServer", "take the line out"),
    ("Win32DisableAcceptEx", "use AcceptFilter"),
];

/// How directives of third-party modules start. Longer prefixes first where they overlap.
const THIRD_PARTY: &[(&str, &str)] = &[
    ("php_", "mod_php"),
    ("php5_", "mod_php"),
    ("suPHP_", "mod_suphp"),
    ("PHPIniDir", "mod_php"),
    ("Jk", "mod_jk"),
    ("SecRemoteRules", "mod_security2"),
    ("Sec", "mod_security2"),
    ("WSGI", "mod_wsgi"),
    ("Passenger", "Phusion Passenger"),
    ("Rails", "Phusion Passenger"),
    ("ModPagespeed", "mod_pagespeed"),
    ("Fcgid", "mod_fcgid"),
    ("FastCgi", "mod_fastcgi"),
    ("OIDC", "mod_auth_openidc"),
    ("OAuth2", "mod_oauth2"),
    ("Perl", "mod_perl"),
    ("Python", "mod_python"),
    ("Mono", "mod_mono"),
    ("QS_", "mod_qos"),
    ("DOS", "mod_evasive"),
    ("XSendFile", "mod_xsendfile"),
    ("RPAF", "mod_rpaf"),
    ("CloudFlare", "mod_cloudflare"),
    ("GeoIP", "mod_geoip"),
    ("MaxMindDB", "mod_maxminddb"),
    ("Mellon", "mod_auth_mellon"),
    ("Shib", "mod_shib"),
    ("CAS", "mod_auth_cas"),
    ("AuthCAS", "mod_auth_cas"),
    ("Gssapi", "mod_auth_gssapi"),
    ("Krb", "mod_auth_kerb"),
    ("NTLM", "mod_ntlm"),
    ("SSPI", "mod_authnz_sspi"),
    ("AuthExternal", "mod_authnz_external"),
    ("DefineExternal", "mod_authnz_external"),
    ("AddExternalAuth", "mod_authnz_external"),
    ("AuthPAM", "mod_authnz_pam"),
    ("AuthMySQL", "mod_auth_mysql"),
    ("AuthPG", "mod_auth_pgsql"),
    ("AuthTkt", "mod_auth_tkt"),
    ("TKTAuth", "mod_auth_tkt"),
    ("AuthJWT", "mod_authnz_jwt"),
    ("GnuTLS", "mod_gnutls"),
    ("NSS", "mod_nss"),
    ("TLSEngine", "mod_tls"),
    ("TLS", "mod_tls"),
    ("SVN", "mod_dav_svn"),
    ("AuthzSVN", "mod_authz_svn"),
    ("EnableMCPMReceive", "mod_cluster"),
    ("ManagerBalancerName", "mod_cluster"),
    ("EnableMCMPReceive", "mod_cluster"),
    ("AdvertiseFrequency", "mod_cluster"),
    ("AdvertiseGroup", "mod_cluster"),
    ("ServerAdvertise", "mod_cluster"),
    ("Maxcontext", "mod_cluster"),
    ("Maxnode", "mod_cluster"),
    ("MemManagerFile", "mod_cluster"),
    ("KeepAliveSeconds", "mod_cluster"),
    ("AssignUserId", "mpm_itk"),
    ("MaxClientsVHost", "mpm_itk"),
    ("NiceValue", "mpm_itk"),
    ("LimitUIDRange", "mpm_itk"),
    ("LimitGIDRange", "mpm_itk"),
    ("RUidGid", "mod_ruid2"),
    ("RMode", "mod_ruid2"),
    ("BandWidth", "mod_bw"),
    ("MaxConnPerIP", "mod_limitipconn"),
    ("NoIPLimit", "mod_limitipconn"),
    ("CBand", "mod_cband"),
    ("UploadProgress", "mod_upload_progress"),
    ("TrackUploads", "mod_upload_progress"),
    ("LogSQL", "mod_log_sql"),
    ("Dosd", "mod_dosdetector"),
    ("SpamhausOn", "mod_spamhaus"),
    ("Concat", "mod_concat"),
    ("H264", "mod_h264_streaming"),
    ("Tile", "mod_tile"),
    ("LoadTile", "mod_tile"),
    ("WebLogic", "the WebLogic plug-in"),
    ("WLogic", "the WebLogic plug-in"),
    ("WL", "the WebLogic plug-in"),
    ("MatchExpression", "the WebLogic plug-in"),
];

/// Modules of third parties, and of older versions: identifier without `_module`, what it is.
const MODULES: &[(&str, &str)] = &[
    (
        "php",
        "mod_php runs PHP inside of httpd; here PHP runs as a backend (FastCGI or HTTP)",
    ),
    (
        "php5",
        "mod_php runs PHP inside of httpd; here PHP runs as a backend (FastCGI or HTTP)",
    ),
    (
        "php7",
        "mod_php runs PHP inside of httpd; here PHP runs as a backend (FastCGI or HTTP)",
    ),
    (
        "jk",
        "mod_jk reaches Tomcat over AJP; use ProxyPass ajp:// instead",
    ),
    (
        "security2",
        "mod_security2 inspects requests; put it on a server of its own",
    ),
    (
        "wsgi",
        "mod_wsgi runs Python inside of httpd; here applications run as backends",
    ),
    (
        "passenger",
        "Passenger runs applications inside of httpd; here they run as backends",
    ),
    (
        "perl",
        "mod_perl runs Perl inside of httpd; here applications run as backends",
    ),
    (
        "python",
        "mod_python runs Python inside of httpd; here applications run as backends",
    ),
    (
        "fcgid",
        "mod_fcgid starts FastCGI programs; start them by themselves",
    ),
    (
        "fastcgi",
        "mod_fastcgi starts FastCGI programs; start them by themselves",
    ),
    ("pagespeed", "mod_pagespeed rewrites pages"),
    (
        "auth_openidc",
        "mod_auth_openidc logs users in by OpenID Connect",
    ),
    ("oauth2", "mod_oauth2 checks OAuth tokens"),
    ("auth_mellon", "mod_auth_mellon logs users in by SAML"),
    ("mod_shib", "mod_shib logs users in by SAML"),
    ("auth_cas", "mod_auth_cas logs users in by CAS"),
    ("auth_gssapi", "mod_auth_gssapi logs users in by Kerberos"),
    ("auth_kerb", "mod_auth_kerb logs users in by Kerberos"),
    (
        "auth_ntlm_winbind",
        "mod_auth_ntlm_winbind logs users in by NTLM",
    ),
    (
        "authnz_external",
        "mod_authnz_external asks a program about users",
    ),
    ("authnz_pam", "mod_authnz_pam asks PAM about users"),
    ("auth_tkt", "mod_auth_tkt checks tickets"),
    (
        "evasive",
        "mod_evasive keeps out clients that ask too often",
    ),
    (
        "evasive20",
        "mod_evasive keeps out clients that ask too often",
    ),
    ("qos", "mod_qos bounds requests by many measures"),
    ("geoip", "mod_geoip finds the country of clients"),
    ("maxminddb", "mod_maxminddb finds the country of clients"),
    (
        "rpaf",
        "mod_rpaf takes the client's address from a field; RemoteIPHeader does that",
    ),
    (
        "cloudflare",
        "mod_cloudflare takes the client's address from a field; RemoteIPHeader does that",
    ),
    (
        "xsendfile",
        "mod_xsendfile lets backends name files to send",
    ),
    ("gnutls", "mod_gnutls speaks TLS"),
    ("nss", "mod_nss speaks TLS"),
    ("tls", "mod_tls speaks TLS"),
    ("dav_svn", "mod_dav_svn serves Subversion"),
    ("authz_svn", "mod_authz_svn guards Subversion"),
    (
        "manager",
        "mod_manager of mod_cluster lets backends register",
    ),
    (
        "cluster_slotmem",
        "mod_cluster_slotmem belongs to mod_cluster",
    ),
    (
        "proxy_cluster",
        "mod_proxy_cluster balances by what backends report",
    ),
    (
        "advertise",
        "mod_advertise of mod_cluster announces the proxy",
    ),
    (
        "mpm_itk",
        "mpm_itk runs each virtual host as a user of its own",
    ),
    (
        "ruid2",
        "mod_ruid2 runs each virtual host as a user of its own",
    ),
    ("bw", "mod_bw slows clients down"),
    (
        "limitipconn",
        "mod_limitipconn bounds the connections of a client",
    ),
    ("upload_progress", "mod_upload_progress reports on uploads"),
    ("mono", "mod_mono runs .NET programs"),
    ("tile", "mod_tile serves map tiles"),
    (
        "weblogic",
        "the WebLogic plug-in reaches WebLogic; use ProxyPass instead",
    ),
    (
        "authn_default",
        "it is left over from httpd 2.2; take the line out",
    ),
    (
        "authz_default",
        "it is left over from httpd 2.2; take the line out",
    ),
    (
        "authn_alias",
        "it is left over from httpd 2.2 (now in mod_authn_core); take the line out",
    ),
    (
        "mem_cache",
        "it is left over from httpd 2.2; take the line out",
    ),
    (
        "disk_cache",
        "it is left over from httpd 2.2 and is cache_disk_module now",
    ),
];
