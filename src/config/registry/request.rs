//! Logs, and what looks at requests: variables, timeouts, rewriting, sessions.

use super::super::accepted;
use super::super::directive::{env, limits, log};
use super::Class::{NoMeaning, NotThere, Works};
use super::table;

table! {
    module "mod_log_config":
    "BufferedLogs" [SV] Flag "Off" "Gather log lines before they are written"
        => NoMeaning("log lines are always gathered and written once per turn of a child's loop");
    "CustomLog" [SV] TwoOrThree "" "Log requests in a format" => Works(log::custom_log);
    "GlobalLog" [S] TwoOrThree "" "Log requests of all servers in a format"
        => Works(log::global_log);
    "LogFormat" [SV] OneOrTwo "" "Give a log format a name, or TransferLog its format"
        => Works(log::log_format);
    "TransferLog" [SV] One "" "Log requests in the latest format" => Works(log::transfer_log);
    module "mod_log_debug":
    "LogMessage" [SVD] OneToThree "" "Log a message for each request" => NotThere;
    module "mod_log_forensic":
    "ForensicLog" [SV] One "" "Log requests before and after they are served" => NotThere;
    module "mod_logio":
    "LogIOTrackTTFB" [SVDH] Flag "Off" "Measure the time to the first byte"
        => NoMeaning("the time to the first byte is always measured");
    module "mod_setenvif":
    "BrowserMatch" [SVDH] Raw "" "Set variables by the client's User-Agent"
        => Works(env::browser_match);
    "BrowserMatchNoCase" [SVDH] Raw "" "Set variables by the client's User-Agent in any letter case"
        => Works(env::browser_match_no_case);
    "SetEnvIf" [SVDH] Raw "" "Set variables by a property of the request" => Works(env::set_env_if);
    "SetEnvIfExpr" [SVDH] Raw "" "Set variables by a condition" => NotThere;
    "SetEnvIfNoCase" [SVDH] Raw "" "Set variables by a property of the request in any letter case"
        => Works(env::set_env_if_no_case);
    module "mod_reqtimeout":
    "RequestReadTimeout" [SV] Raw "header=20-40,MinRate=500 body=20,MinRate=500" "Bound how long a request may take to arrive"
        => Works(limits::request_read_timeout);
    module "mod_remoteip":
    "RemoteIPHeader" [SV] One "" "Take the client's address from a request field" => NotThere;
    "RemoteIPInternalProxy" [SV] Each "" "Trust proxies of the own network" => NotThere;
    "RemoteIPInternalProxyList" [SV] One "" "Trust proxies of the own network, listed in a file"
        => NotThere;
    "RemoteIPProxiesHeader" [SV] One "" "Name the field that lists the proxies passed" => NotThere;
    "RemoteIPProxyProtocol" [SV] Flag "Off" "Take the client's address from a PROXY protocol line"
        => Works(accepted::only_off);
    "RemoteIPProxyProtocolExceptions" [SV] Raw "" "List clients that send no PROXY protocol line"
        => NotThere;
    "RemoteIPTrustedProxy" [SV] Each "" "Trust proxies elsewhere" => NotThere;
    "RemoteIPTrustedProxyList" [SV] One "" "Trust proxies elsewhere, listed in a file" => NotThere;
    module "mod_rewrite":
    "RewriteBase" [SVDH] One "" "Choose the URL path that rewrites in a directory start from"
        => NotThere;
    "RewriteCond" [SVDH] Raw "" "Give a rewriting rule a condition" => NotThere;
    "RewriteEngine" [SVDH] Flag "Off" "Switch rewriting rules on" => Works(accepted::only_off);
    "RewriteMap" [SV] TwoOrThree "" "Give rewriting rules a table to look things up in" => NotThere;
    "RewriteOptions" [SVDH] Each "" "Choose how rewriting rules are inherited" => NotThere;
    "RewriteRule" [SVDH] Raw "" "Rewrite a request's URL by a pattern" => NotThere;
    module "mod_session":
    "Session" [SVDH] Flag "Off" "Keep a session for each client" => Works(accepted::only_off);
    "SessionEnv" [SVDH] Flag "Off" "Put a session into a variable" => Works(accepted::only_off);
    "SessionExclude" [SVDH] One "" "Keep no session for some paths" => NotThere;
    "SessionExpiryUpdateInterval" [SVDH] One "0" "Save writes of sessions' times" => NotThere;
    "SessionHeader" [SVDH] One "" "Take changes of a session from an answer's field" => NotThere;
    "SessionInclude" [SVDH] One "" "Keep a session for some paths only" => NotThere;
    "SessionMaxAge" [SVDH] One "0" "Bound the life of a session" => NotThere;
    module "mod_session_cookie":
    "SessionCookieName" [SVDH] Raw "" "Name the cookie that holds a session" => NotThere;
    "SessionCookieName2" [SVDH] Raw "" "Name the RFC 2965 cookie that holds a session" => NotThere;
    "SessionCookieRemove" [SVDH] Flag "Off" "Hide the session's cookie from backends" => NotThere;
    module "mod_session_crypto":
    "SessionCryptoCipher" [SVDH] One "aes256" "Choose the cipher of sessions" => NotThere;
    "SessionCryptoDriver" [S] Raw "" "Choose the library that encrypts sessions" => NotThere;
    "SessionCryptoPassphrase" [SVDH] Each "" "Give the key of sessions" => NotThere;
    "SessionCryptoPassphraseFile" [SVD] One "" "Name the file with the key of sessions" => NotThere;
    module "mod_session_dbd":
    "SessionDBDCookieName" [SVDH] Each "" "Name the cookie of a session kept in a database"
        => NotThere;
    "SessionDBDCookieName2" [SVDH] Each "" "Name the RFC 2965 cookie of a session kept in a database"
        => NotThere;
    "SessionDBDCookieRemove" [SVDH] Flag "On" "Hide the session's cookie from backends" => NotThere;
    "SessionDBDDeleteLabel" [SVDH] One "deletesession" "Name the query that deletes a session"
        => NotThere;
    "SessionDBDInsertLabel" [SVDH] One "insertsession" "Name the query that adds a session"
        => NotThere;
    "SessionDBDPerUser" [SVDH] Flag "Off" "Keep one session per user in a database" => NotThere;
    "SessionDBDSelectLabel" [SVDH] One "selectsession" "Name the query that reads a session"
        => NotThere;
    "SessionDBDUpdateLabel" [SVDH] One "updatesession" "Name the query that changes a session"
        => NotThere;
    module "mod_ident":
    "IdentityCheck" [SVD] Flag "Off" "Ask clients' machines for the user by RFC 1413"
        => Works(accepted::only_off);
    "IdentityCheckTimeout" [SVD] One "30" "Bound the wait for an RFC 1413 answer" => NotThere;
}
