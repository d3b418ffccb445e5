//! The reverse proxy and its helpers.

use super::super::accepted;
use super::super::directive::{balancer, beacon, health, heartbeat, pass, proxy, section};
use super::Class::{NotThere, Opens, Works};
use super::table;

table! {
    module "mod_proxy":
    "<Proxy>" [SV] Raw "" "Hold directives for proxied requests by target, or define a balancer"
        => Opens(section::PROXY);
    "<ProxyMatch>" [SV] Raw "" "Hold directives for proxied requests whose target matches a pattern"
        => Opens(section::PROXY_MATCH);
    "BalancerGrowth" [SV] One "5" "Leave room for members added at run time"
        => Works(balancer::balancer_growth);
    "BalancerInherit" [SV] Flag "On" "Let virtual hosts use the main server's balancers"
        => Works(balancer::balancer_inherit);
    "BalancerMember" [SVD] Raw "" "Add a member to a balancer" => Works(balancer::balancer_member);
    "BalancerPersist" [SV] Flag "Off" "Keep changes made at run time over restarts"
        => Works(balancer::balancer_persist);
    "NoProxy" [SV] Each "" "List hosts that a forward proxy asks directly" => NotThere;
    "Proxy100Continue" [SVD] Flag "On" "Pass Expect: 100-continue on to backends"
        => Works(proxy::proxy_100_continue);
    "ProxyAddHeaders" [SVD] Flag "On" "Tell backends about the client in X-Forwarded fields"
        => Works(proxy::proxy_add_headers);
    "ProxyBadHeader" [SV] One "IsError" "Choose what becomes of a backend's malformed field"
        => Works(proxy::proxy_bad_header);
    "ProxyBlock" [SV] Each "" "List words and hosts that are not proxied to"
        => Works(proxy::proxy_block);
    "ProxyDomain" [SV] One "" "Complete host names of forward proxy requests" => NotThere;
    "ProxyErrorOverride" [SVD] Each "Off" "Show own error pages for backends' errors"
        => Works(proxy::proxy_error_override);
    "ProxyIOBufferSize" [SV] One "8192" "Choose the size of buffers towards backends"
        => Works(proxy::proxy_io_buffer_size);
    "ProxyMaxForwards" [SV] One "-1" "Bound how many proxies a request may pass"
        => Works(proxy::proxy_max_forwards);
    "ProxyPass" [SVD|NOT_IN_DIRECTORY|NOT_IN_FILES|NOT_IN_LIMIT|NOT_IN_IF] Raw "" "Map a URL path to a backend"
        => Works(pass::proxy_pass);
    "ProxyPassInherit" [SV] Flag "On" "Let virtual hosts use the main server's ProxyPass lines"
        => Works(proxy::proxy_pass_inherit);
    "ProxyPassInterpolateEnv" [SVD] Flag "Off" "Put variables into ProxyPass lines per request"
        => Works(proxy::proxy_pass_interpolate_env);
    "ProxyPassMatch" [SVD|NOT_IN_DIRECTORY|NOT_IN_FILES|NOT_IN_LIMIT|NOT_IN_IF] Raw "" "Map URL paths that match a pattern to a backend"
        => Works(pass::proxy_pass_match);
    "ProxyPassReverse" [SVD|NOT_IN_DIRECTORY|NOT_IN_FILES|NOT_IN_LIMIT|NOT_IN_IF] OneToThree "" "Turn a backend's redirects back to public URLs"
        => Works(proxy::proxy_pass_reverse);
    "ProxyPassReverseCookieDomain" [SVD] TwoOrThree "" "Turn the domain of backends' cookies to a public one"
        => Works(proxy::proxy_pass_reverse_cookie_domain);
    "ProxyPassReverseCookiePath" [SVD] TwoOrThree "" "Turn the path of backends' cookies to a public one"
        => Works(proxy::proxy_pass_reverse_cookie_path);
    "ProxyPreserveHost" [SVD] Flag "Off" "Pass the client's Host field on to backends"
        => Works(proxy::proxy_preserve_host);
    "ProxyReceiveBufferSize" [SV] One "0" "Choose the receive buffer of backend sockets"
        => Works(proxy::proxy_receive_buffer_size);
    "ProxyRemote" [SV] TwoOrThree "" "Reach backends through another proxy" => NotThere;
    "ProxyRemoteMatch" [SV] TwoOrThree "" "Reach backends that match a pattern through another proxy"
        => NotThere;
    "ProxyRequests" [SV] Flag "Off" "Proxy to wherever clients ask; only Off is there"
        => Works(proxy::proxy_requests);
    "ProxySet" [SVD] Raw "" "Set parameters of a balancer or worker" => Works(balancer::proxy_set);
    "ProxySourceAddress" [SV] One "" "Choose the own address towards backends"
        => Works(proxy::proxy_source_address);
    "ProxyStatus" [SV] One "Off" "Show balancers on the status page" => Works(proxy::proxy_status);
    "ProxyTimeout" [SV] One "" "Bound each wait for a backend" => Works(proxy::proxy_timeout);
    "ProxyVia" [SV] One "Off" "Choose what becomes of the Via field" => Works(proxy::proxy_via);
    module "mod_proxy_beacon":
    "ProxyBeaconAddress" [SV] Raw "" "Name the proxies that this server announces itself to"
        => Works(beacon::proxy_beacon_address);
    "ProxyBeaconAdvertise" [SV] Raw "" "Say under which URL proxies reach this server"
        => Works(beacon::proxy_beacon_advertise);
    "ProxyBeaconAllow" [SV] Raw "" "List the networks and hosts that announced backends may be on"
        => Works(beacon::proxy_beacon_allow);
    "ProxyBeaconBalancer" [SV] Raw "" "Name the balancer that announced backends join"
        => Works(beacon::proxy_beacon_balancer);
    "ProxyBeaconInterval" [SV] Raw "5" "Choose how often a server announces itself"
        => Works(beacon::proxy_beacon_interval);
    "ProxyBeaconListen" [SV] Raw "" "Listen for announcements of backends"
        => Works(beacon::proxy_beacon_listen);
    "ProxyBeaconMac" [SV] Raw "hmac-sha256" "Choose how announcements are signed and which are taken"
        => Works(beacon::proxy_beacon_mac);
    "ProxyBeaconMaxSkew" [SV] Raw "30" "Bound how far the clocks of announcers may be off"
        => Works(beacon::proxy_beacon_max_skew);
    "ProxyBeaconSecret" [SV] Raw "" "Give the key that announcements are signed with"
        => Works(beacon::proxy_beacon_secret);
    "ProxyBeaconSecretFile" [SV] Raw "" "Name the file with the key that announcements are signed with"
        => Works(beacon::proxy_beacon_secret_file);
    "ProxyBeaconTimeout" [SV] Raw "0" "Bound how long a silent backend stays a member"
        => Works(beacon::proxy_beacon_timeout);
    module "mod_proxy_connect":
    "AllowCONNECT" [SV] Each "443 563" "List the ports that CONNECT may reach" => NotThere;
    module "mod_proxy_express":
    "ProxyExpressDBMFile" [SVDH] One "" "Name the table of hosts and backends" => NotThere;
    "ProxyExpressDBMType" [SVDH] One "default" "Choose the kind of the table of hosts and backends"
        => NotThere;
    "ProxyExpressEnable" [SVDH] Flag "Off" "Find backends by host in a table"
        => Works(accepted::only_off);
    module "mod_proxy_fcgi":
    "ProxyFCGIBackendType" [SVDH] One "FPM" "Say which FastCGI server is behind" => NotThere;
    "ProxyFCGISetEnvIf" [SVDH] TwoOrThree "" "Set FastCGI variables by a condition" => NotThere;
    module "mod_proxy_ftp":
    "ProxyFtpDirCharset" [SVD] One "ISO-8859-1" "Choose the character set of FTP listings"
        => NotThere;
    "ProxyFtpEscapeWildcards" [SVD] Flag "On" "Escape wildcards for FTP servers" => NotThere;
    "ProxyFtpListOnWildcard" [SVD] Flag "On" "List FTP files by wildcard" => NotThere;
    module "mod_proxy_hcheck":
    "ProxyHCExpr" [SVDH] Raw "" "Give a name to a test of health check answers"
        => Works(health::proxy_hc_expr);
    "ProxyHCTemplate" [SVDH] Raw "" "Give a name to a set of health check parameters"
        => Works(health::proxy_hc_template);
    "ProxyHCTPsize" [S] One "16" "Bound the health checks that run at once"
        => Works(health::proxy_hc_tpsize);
    module "mod_proxy_scgi":
    "ProxySCGIInternalRedirect" [SVD] One "On" "Follow redirects of SCGI backends within the server"
        => NotThere;
    "ProxySCGISendfile" [SVD] One "Off" "Let SCGI backends name files to send" => NotThere;
    module "mod_proxy_wstunnel":
    "ProxyWebsocketFallbackToProxyHttp" [SVD] Flag "On" "Send other requests of a websocket path by plain HTTP"
        => NotThere;
    module "mod_heartbeat":
    "HeartbeatAddress" [S] One "" "Name where heartbeats are sent to"
        => Works(heartbeat::heartbeat_address);
    module "mod_heartmonitor":
    "HeartbeatListen" [S] One "" "Listen for heartbeats of backends"
        => Works(heartbeat::heartbeat_listen);
    "HeartbeatMaxServers" [S] One "10" "Bound the number of backends that send heartbeats"
        => Works(heartbeat::heartbeat_max_servers);
    "HeartbeatStorage" [S] One "logs/hb.dat" "Name the file of heartbeats"
        => Works(heartbeat::heartbeat_storage);
}
