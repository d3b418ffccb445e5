//! What every server has: sections, paths, limits, conditionals.

use super::super::accepted;
use super::super::directive::{content, limits, log, process, section, server};
use super::Class::{NoMeaning, NotThere, NotYet, OnRead, Opens, Works};
use super::table;

table! {
    module "core":
    "<Directory>" [SV] Raw "" "Hold directives for a directory and what is below it"
        => Opens(section::DIRECTORY);
    "<DirectoryMatch>" [SV] Raw "" "Hold directives for directories whose path matches a pattern"
        => Opens(section::DIRECTORY_MATCH);
    "<Else>" [SVDH|NOT_IN_LIMIT] Raw "" "Hold directives for requests that no earlier <If> took"
        => NotThere;
    "<ElseIf>" [SVDH|NOT_IN_LIMIT] Raw "" "Hold directives for requests that fit a condition and no earlier <If>"
        => NotThere;
    "<Files>" [SVDH|NOT_IN_LOCATION|NOT_IN_LIMIT] Raw "" "Hold directives for files by base name"
        => Opens(section::FILES);
    "<FilesMatch>" [SVDH|NOT_IN_LOCATION|NOT_IN_LIMIT] Raw "" "Hold directives for files whose base name matches a pattern"
        => Opens(section::FILES_MATCH);
    "<If>" [SVDH|NOT_IN_LIMIT] Raw "" "Hold directives for requests that fit a condition"
        => NotThere;
    "<IfDefine>" [SVDH] Raw "" "Read what it holds if a name is defined" => OnRead;
    "<IfDirective>" [SVDH] Raw "" "Read what it holds if a directive is known" => OnRead;
    "<IfFile>" [SVDH] Raw "" "Read what it holds if a file exists" => OnRead;
    "<IfModule>" [SVDH] Raw "" "Read what it holds if a module is loaded" => OnRead;
    "<IfSection>" [SVDH] Raw "" "Read what it holds if a section is known" => OnRead;
    "<Limit>" [DH] Raw "" "Restrict access rules to some methods" => Opens(section::LIMIT);
    "<LimitExcept>" [DH] Raw "" "Restrict access rules to all methods but some"
        => Opens(section::LIMIT_EXCEPT);
    "<Location>" [SV] Raw "" "Hold directives for URL paths below one" => Opens(section::LOCATION);
    "<LocationMatch>" [SV] Raw "" "Hold directives for URL paths that match a pattern"
        => Opens(section::LOCATION_MATCH);
    "<VirtualHost>" [S] Raw "" "Hold a server of its own, chosen by address and name"
        => Opens(section::VIRTUAL_HOST);
    "AcceptFilter" [S] Two "http data" "Wait for a client's first bytes before taking its connection"
        => Works(process::accept_filter);
    "AcceptPathInfo" [SVDH] One "Default" "Say whether a path may go on behind a file's name"
        => Works(content::accept_path_info);
    "AccessFileName" [SV] Raw ".htaccess" "Name the files in directories that would hold directives"
        => NoMeaning("no .htaccess file is read here, so its name is not needed");
    "AddDefaultCharset" [SVDH] One "Off" "Add a character set to text answers that have none"
        => Works(content::add_default_charset);
    "AllowEncodedSlashes" [SV] One "Off" "Say what becomes of %2F in a path"
        => Works(limits::allow_encoded_slashes);
    "AllowOverride" [D] Raw "None" "Say what .htaccess files may change; only None is there"
        => Works(content::allow_override);
    "AllowOverrideList" [D] Raw "None" "List the directives that .htaccess files may use; only None is there"
        => Works(accepted::only_none);
    "CGIPassAuth" [DH] Flag "Off" "Give the Authorization field to scripts"
        => Works(accepted::only_off);
    "CGIVar" [SVDH] Two "" "Choose how a CGI variable is made" => NotThere;
    "ContentDigest" [SVDH] Flag "Off" "Add a Content-MD5 field to files"
        => NotYet("no Content-MD5 field is made");
    "CoreDumpDirectory" [S] One "" "Name the directory for core dumps"
        => Works(process::core_dump_directory);
    "DefaultRuntimeDir" [SV] One "logs" "Name the directory for run-time files" => OnRead;
    "DefaultType" [SVDH] One "none" "Give a type to files that have none"
        => NoMeaning("httpd 2.4 ignores it as well; ForceType and AddType say what a file is");
    "Define" [SVD] OneOrTwo "" "Give a name a value for ${NAME} and <IfDefine>" => OnRead;
    "DocumentRoot" [SV] One "htdocs" "Name the directory whose files are served"
        => Works(server::document_root);
    "EnableMMAP" [SVDH] One "On" "Map files into memory to send them"
        => NoMeaning("files are never mapped into memory here");
    "EnableSendfile" [SVDH] One "Off" "Let the kernel send files"
        => Works(content::enable_sendfile);
    "Error" [SVDH] Raw "" "Stop reading with a message" => Works(accepted::error);
    "ErrorDocument" [SVDH] Two "" "Choose what a client sees for an error"
        => Works(content::error_document);
    "ErrorLog" [SV] One "logs/error_log" "Say where errors are logged" => Works(log::error_log);
    "ErrorLogFormat" [SV] OneOrTwo "" "Lay out the lines of the error log"
        => Works(log::error_log_format);
    "ExtendedStatus" [S] Flag "On" "Keep details of each request for the status page"
        => Works(process::extended_status);
    "FileETag" [SVDH] Raw "MTime Size" "Choose what a file's ETag is made of"
        => Works(content::file_etag);
    "FlushMaxPipelined" [SV] One "5" "Bound the answers held back for pipelined requests"
        => NoMeaning("answers leave when the client can take them, nothing is held back");
    "FlushMaxThreshold" [SV] One "65535" "Bound the bytes held back before a write"
        => NoMeaning("answers leave when the client can take them, nothing is held back");
    "ForceType" [SVDH] One "" "Give all files here one type" => Works(content::force_type);
    "HostnameLookups" [SVD] One "Off" "Look up the names of clients"
        => Works(content::hostname_lookups);
    "HttpProtocolOptions" [SV] Each "Strict LenientMethods Allow0.9" "Choose how strictly requests are read"
        => Works(limits::http_protocol_options);
    "Include" [SVD] One "" "Read other files here, which must exist" => OnRead;
    "IncludeOptional" [SVD] One "" "Read other files here, if there are any" => OnRead;
    "LimitInternalRecursion" [SV] OneOrTwo "10" "Bound internal redirects of one request"
        => Works(limits::limit_internal_recursion);
    "LimitRequestBody" [SVDH] One "1073741824" "Bound the size of request bodies"
        => Works(limits::limit_request_body);
    "LimitRequestFields" [SV] One "100" "Bound the number of request fields"
        => Works(limits::limit_request_fields);
    "LimitRequestFieldsize" [SV] One "8190" "Bound the size of one request field"
        => Works(limits::limit_request_field_size);
    "LimitRequestLine" [SV] One "8190" "Bound the size of the request line"
        => Works(limits::limit_request_line);
    "LimitXMLRequestBody" [SVDH] One "1000000" "Bound the size of XML request bodies that the server itself reads"
        => Works(accepted::no_reader);
    "LogLevel" [SVD] Each "warn" "Choose how much is logged, also per module"
        => Works(log::log_level);
    "MaxConnectionsPerChild" [S] One "0" "Replace a child after so many connections"
        => Works(process::max_connections_per_child);
    "MaxMemFree" [S] One "2048" "Bound the memory that a child keeps for reuse"
        => NoMeaning("buffers come from a bounded pool");
    "MaxRangeOverlaps" [SVD] One "20" "Bound overlapping ranges in one request" => NotThere;
    "MaxRangeReversals" [SVD] One "20" "Bound ranges out of order in one request" => NotThere;
    "MaxRanges" [SVD] One "200" "Bound the ranges in one request" => Works(content::max_ranges);
    "MaxRequestsPerChild" [S] One "0" "Replace a child after so many connections (old name)"
        => Works(process::max_connections_per_child);
    "MergeSlashes" [SV] Flag "On" "Take several slashes in a path for one"
        => Works(limits::merge_slashes);
    "MergeTrailers" [SV] Flag "Off" "Put trailers among the request's fields"
        => Works(accepted::only_off);
    "Mutex" [S] Raw "default" "Choose how processes lock each other out"
        => NoMeaning("children agree by locks in shared memory and by kernel file locks, with nothing to choose");
    "NameVirtualHost" [SV] One "" "Say on which address virtual hosts are chosen by name"
        => NoMeaning("virtual hosts with the same address are told apart by name without it");
    "Options" [SVDH] Raw "FollowSymlinks" "Say what is allowed in a directory"
        => Works(content::options);
    "PidFile" [S] One "logs/httpd.pid" "Name the file for the supervisor's process number"
        => Works(process::pid_file);
    "Port" [SV] One "" "Name the port to listen on, in httpd before 2.0" => Works(accepted::port);
    "Protocol" [SV] One "http" "Name the protocol that a listener speaks" => NotThere;
    "Protocols" [SV] Each "http/1.1" "List the protocols that clients may choose"
        => Works(limits::protocols);
    "ProtocolsHonorOrder" [SV] One "On" "Prefer the server's order of protocols"
        => NoMeaning("http/1.1 is the only protocol here, so there is no order");
    "QualifyRedirectURL" [SVDH] Flag "Off" "Make REDIRECT_URL an absolute URL"
        => Works(accepted::only_off);
    "ReadBufferSize" [SVD] One "8192" "Choose the size of the buffers that bodies pass through"
        => Works(limits::read_buffer_size);
    "RegexDefaultOptions" [S] Raw "DOTALL DOLLAR_ENDONLY" "Set options of all regular expressions"
        => Works(accepted::regex_options);
    "RegisterHttpMethod" [S] Each "" "Make a method known"
        => NoMeaning("every method that is a token is known");
    "RLimitCPU" [SVDH] OneOrTwo "" "Bound the processor time of scripts" => NotThere;
    "RLimitMEM" [SVDH] OneOrTwo "" "Bound the memory of scripts" => NotThere;
    "RLimitNPROC" [SVDH] OneOrTwo "" "Bound the number of scripts" => NotThere;
    "ScoreBoardFile" [S] One "muster.scoreboard" "Name the file of the slot table"
        => Works(process::score_board_file);
    "SeeRequestTail" [S] Flag "Off" "Show the end of long request lines in the status"
        => Works(server::see_request_tail);
    "ServerAdmin" [SV] One "" "Name whom error pages tell people to write to"
        => Works(server::server_admin);
    "ServerAlias" [SV] Raw "" "Add names to a virtual host" => Works(server::server_alias);
    "ServerName" [SV] One "" "Name the server" => Works(server::server_name);
    "ServerPath" [SV] One "" "Choose a virtual host by path for clients that send no Host"
        => Works(server::server_path);
    "ServerRoot" [SV] One "/etc/muster" "Name the directory that relative paths start from"
        => OnRead;
    "ServerSignature" [SVDH] One "Off" "Put a line about the server under its own pages"
        => Works(server::server_signature);
    "ServerTokens" [S] One "Prod" "Choose what the Server field tells"
        => Works(server::server_tokens);
    "SetHandler" [SVDH] One "" "Let one handler answer" => Works(content::set_handler);
    "SetInputFilter" [SVDH] One "" "Send request bodies through filters" => NotThere;
    "SetOutputFilter" [SVDH] One "" "Send answers through filters"
        => Works(accepted::set_output_filter);
    "StrictHostCheck" [SV] Flag "Off" "Refuse requests for hosts that no server names"
        => Works(server::strict_host_check);
    "ThreadStackSize" [S] One "" "Choose the stack size of threads"
        => NoMeaning("a child serves all its connections on one stack");
    "Timeout" [SV] One "60" "Bound each wait for a client or a backend" => Works(limits::timeout);
    "TraceEnable" [SV] One "Off" "Answer the method TRACE" => Works(limits::trace_enable);
    "UnDefine" [SVD] One "" "Take back a name that Define gave" => OnRead;
    "UseCanonicalName" [SVD] One "Off" "Choose the name in redirects to this server"
        => Works(server::use_canonical_name);
    "UseCanonicalPhysicalPort" [SVD] One "Off" "Choose the port in redirects to this server"
        => Works(server::use_canonical_physical_port);
    module "http_core":
    "KeepAlive" [SV] Flag "On" "Serve several requests on one connection"
        => Works(limits::keep_alive);
    "KeepAliveTimeout" [SV] One "5" "Bound the wait for a connection's next request"
        => Works(limits::keep_alive_timeout);
    "MaxKeepAliveRequests" [SV] One "100" "Bound the requests of one connection"
        => Works(limits::max_keep_alive_requests);
}
