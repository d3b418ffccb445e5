//! Processes, modules, macros.

use super::super::accepted;
use super::super::directive::process;
use super::Class::{NoMeaning, NotThere, OnRead, Works};
use super::table;

table! {
    module "event":
    "AsyncRequestWorkerFactor" [S] One "2" "Bound idle connections per thread"
        => NoMeaning("a child serves thousands of connections by itself");
    "GracefulShutdownTimeout" [S] One "0" "Bound how long a graceful stop waits"
        => Works(process::graceful_shutdown_timeout);
    "Listen" [S] Raw "" "Accept connections on an address and port" => Works(process::listen);
    "ListenBacklog" [S] One "511" "Bound the connections that wait to be accepted"
        => Works(process::listen_back_log);
    "ListenCoresBucketsRatio" [S] One "0" "Make several listening sockets per address"
        => NoMeaning("children share one listening socket and balance it among themselves");
    "ListenTCPDeferAccept" [S] One "" "Choose how long the kernel waits for a client's data"
        => NoMeaning("AcceptFilter decides whether the kernel waits for data");
    "MaxClients" [S] One "" "Bound the requests served at once (old name)"
        => Works(process::max_request_workers);
    "MaxRequestWorkers" [S] One "" "Bound the requests served at once"
        => Works(process::max_request_workers);
    "MaxSpareThreads" [S] One "" "Bound idle threads"
        => NoMeaning("a child serves thousands of connections, so none are kept in reserve");
    "MinSpareThreads" [S] One "" "Keep some idle threads"
        => NoMeaning("a child serves thousands of connections, so none are kept in reserve");
    "ReceiveBufferSize" [S] One "0" "Choose the size of sockets' receive buffers"
        => Works(process::receive_buffer_size);
    "SendBufferSize" [S] One "0" "Choose the size of sockets' send buffers"
        => Works(process::send_buffer_size);
    "ServerLimit" [S] One "256" "Bound the number of children" => Works(process::server_limit);
    "StartServers" [S] One "" "Choose the number of children" => Works(process::start_servers);
    "ThreadLimit" [S] One "" "Bound ThreadsPerChild"
        => NoMeaning("a child has one loop instead of threads");
    "ThreadsPerChild" [S] One "" "Choose the number of threads of a child"
        => NoMeaning("a child has one loop instead of threads");
    module "prefork":
    "MaxSpareServers" [S] One "10" "Bound idle children"
        => NoMeaning("a child serves thousands of connections, so none are kept in reserve");
    "MinSpareServers" [S] One "5" "Keep some idle children"
        => NoMeaning("a child serves thousands of connections, so none are kept in reserve");
    module "mod_unixd":
    "ChrootDir" [S] One "" "Change the root directory after start" => NotThere;
    "Group" [S] One "www-data" "Name the group that children run as" => Works(process::group);
    "Suexec" [S] Flag "Off" "Run scripts as other users" => Works(accepted::only_off);
    "User" [S] One "www-data" "Name the user that children run as" => Works(process::user);
    module "mod_so":
    "LoadFile" [SV] Each "" "Load a library" => OnRead;
    "LoadModule" [SV] Two "" "Count a module as loaded" => OnRead;
    module "mod_watchdog":
    "WatchdogInterval" [S] One "1" "Choose how often heartbeats are sent"
        => Works(process::watchdog_interval);
    module "mod_version":
    "<IfVersion>" [SVDH] OneToThree "" "Read what it holds for some versions of httpd" => OnRead;
    module "mod_macro":
    "<Macro>" [SVDH] Raw "" "Give a name to lines with parameters" => OnRead;
    "MacroIgnoreBadNesting" [SVDH] Raw "" "Allow a macro to hold unbalanced sections" => OnRead;
    "MacroIgnoreEmptyArgs" [SVDH] Raw "" "Allow empty arguments of macros" => OnRead;
    "UndefMacro" [SVDH] One "" "Forget a macro" => OnRead;
    "Use" [SVDH] Raw "" "Put a macro's lines here" => OnRead;
    module "mod_suexec":
    "SuexecUserGroup" [SV] Two "" "Run scripts as a user and group" => NotThere;
}
