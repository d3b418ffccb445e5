//! HTTP/2.

use super::super::accepted;
use super::Class::{NotThere, NotYet, Works};
use super::table;

table! {
    module "mod_http2":
    "H2CopyFiles" [SVDH] One "Off" "Read files instead of sending them as such"
        => NotYet("clients are served over HTTP/1.1");
    "H2Direct" [SV] One "" "Take HTTP/2 without asking first"
        => NotYet("clients are served over HTTP/1.1");
    "H2EarlyHint" [SVDH] Two "" "Send a field early as a hint"
        => NotYet("clients are served over HTTP/1.1");
    "H2EarlyHints" [SV] One "Off" "Pass on 103 answers"
        => NotYet("clients are served over HTTP/1.1");
    "H2MaxDataFrameLen" [SV] One "0" "Bound the size of data frames"
        => NotYet("clients are served over HTTP/1.1");
    "H2MaxHeaderBlockLen" [SV] One "0" "Bound the size of HTTP/2 heads"
        => Works(accepted::no_reader);
    "H2MaxSessionStreams" [SV] One "100" "Bound the requests at once on one HTTP/2 connection"
        => Works(accepted::no_reader);
    "H2MaxStreamErrors" [SV] One "8" "Bound a client's faults on one HTTP/2 connection"
        => Works(accepted::no_reader);
    "H2MaxWorkerIdleSeconds" [SV] One "600" "Bound how long an HTTP/2 thread idles"
        => NotYet("clients are served over HTTP/1.1");
    "H2MaxWorkers" [SV] One "" "Bound the threads for HTTP/2"
        => NotYet("clients are served over HTTP/1.1");
    "H2MinWorkers" [SV] One "" "Keep some threads for HTTP/2"
        => NotYet("clients are served over HTTP/1.1");
    "H2ModernTLSOnly" [SV] One "On" "Ask for modern TLS below HTTP/2" => Works(accepted::no_reader);
    "H2OutputBuffering" [SV] One "On" "Gather output before it is sent"
        => NotYet("clients are served over HTTP/1.1");
    "H2Padding" [SV] One "0" "Hide the sizes of frames"
        => NotYet("clients are served over HTTP/1.1");
    "H2ProxyRequests" [SVDH] One "Off" "Allow forward proxying over HTTP/2" => NotThere;
    "H2Push" [SVDH] One "On" "Send resources before they are asked for"
        => NotYet("clients are served over HTTP/1.1");
    "H2PushDiarySize" [SV] One "256" "Remember what was sent unasked"
        => NotYet("clients are served over HTTP/1.1");
    "H2PushPriority" [SV] TwoOrThree "* After 16" "Order what is sent unasked"
        => NotYet("clients are served over HTTP/1.1");
    "H2PushResource" [SVDH] OneToThree "" "Name what is sent unasked"
        => NotYet("clients are served over HTTP/1.1");
    "H2SerializeHeaders" [SV] One "Off" "Write requests out as HTTP/1.1 first"
        => NotYet("clients are served over HTTP/1.1");
    "H2SessionExtraFiles" [SV] One "" "Bound open files of an HTTP/2 connection"
        => NotYet("clients are served over HTTP/1.1");
    "H2StreamMaxMemSize" [SV] One "32768" "Bound the memory of an HTTP/2 request"
        => NotYet("clients are served over HTTP/1.1");
    "H2StreamTimeout" [SV] One "" "Bound the waits of an HTTP/2 request"
        => NotYet("clients are served over HTTP/1.1");
    "H2TLSCoolDownSecs" [SV] One "1" "Start with small TLS records again after a pause"
        => NotYet("clients are served over HTTP/1.1");
    "H2TLSWarmUpSize" [SV] One "1048576" "Start with small TLS records"
        => NotYet("clients are served over HTTP/1.1");
    "H2Upgrade" [SVDH] One "" "Let clients change from HTTP/1.1 to HTTP/2"
        => NotYet("clients are served over HTTP/1.1");
    "H2WebSockets" [SV] One "Off" "Carry websockets over HTTP/2"
        => NotYet("clients are served over HTTP/1.1");
    "H2WindowSize" [SV] One "65535" "Choose how much a client may send ahead"
        => NotYet("clients are served over HTTP/1.1");
}
