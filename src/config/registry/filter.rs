//! What changes or keeps bodies and fields: compression, caching, filters.

use super::super::accepted;
use super::Class::{NotThere, NotYet, Works};
use super::table;

table! {
    module "mod_brotli":
    "BrotliAlterETag" [SV] One "AddSuffix" "Choose what compression does to ETags"
        => NotYet("answers are not compressed");
    "BrotliCompressionMaxInputBlock" [SV] One "" "Choose the block size of compression"
        => NotYet("answers are not compressed");
    "BrotliCompressionQuality" [SV] One "5" "Choose how hard to compress"
        => NotYet("answers are not compressed");
    "BrotliCompressionWindow" [SV] One "18" "Choose the window of compression"
        => NotYet("answers are not compressed");
    "BrotliFilterNote" [SV] OneOrTwo "" "Note how well an answer was compressed"
        => NotYet("answers are not compressed");
    module "mod_buffer":
    "BufferSize" [D] One "131072" "Gather bodies into pieces of this size"
        => NotYet("bodies are not gathered into larger pieces");
    module "mod_cache":
    "CacheDefaultExpire" [SVD] One "3600" "Keep answers that state no life"
        => NotYet("answers are not cached");
    "CacheDetailHeader" [SVD] Flag "Off" "Say in a field what the cache did"
        => NotYet("answers are not cached");
    "CacheDisable" [SVD|NOT_IN_DIRECTORY|NOT_IN_FILES|NOT_IN_LIMIT|NOT_IN_IF] One "" "Leave URLs out of the cache"
        => NotYet("answers are not cached");
    "CacheEnable" [SVD|NOT_IN_DIRECTORY|NOT_IN_FILES|NOT_IN_LIMIT|NOT_IN_IF] OneOrTwo "" "Keep answers for URLs"
        => NotYet("answers are not cached");
    "CacheHeader" [SVD] Flag "Off" "Say in a field whether an answer came from the cache"
        => NotYet("answers are not cached");
    "CacheIgnoreCacheControl" [SV] Flag "Off" "Serve from the cache though the client asks for fresh"
        => NotYet("answers are not cached");
    "CacheIgnoreHeaders" [SV] Each "None" "Leave fields out of the cache"
        => NotYet("answers are not cached");
    "CacheIgnoreNoLastMod" [SVD] Flag "Off" "Keep answers without Last-Modified"
        => NotYet("answers are not cached");
    "CacheIgnoreQueryString" [SV] Flag "Off" "Keep one answer for all queries"
        => NotYet("answers are not cached");
    "CacheIgnoreURLSessionIdentifiers" [SV] Each "None" "Ignore session numbers in URLs"
        => NotYet("answers are not cached");
    "CacheKeyBaseURL" [SV] One "" "Choose the base of cache keys"
        => NotYet("answers are not cached");
    "CacheLastModifiedFactor" [SVD] One "0.1" "Guess an answer's life from its age"
        => NotYet("answers are not cached");
    "CacheLock" [SV] Flag "Off" "Let one request refresh an answer"
        => NotYet("answers are not cached");
    "CacheLockMaxAge" [SV] One "5" "Bound the life of a refresh lock"
        => NotYet("answers are not cached");
    "CacheLockPath" [SV] One "/tmp/mod_cache-lock" "Name the directory of refresh locks"
        => NotYet("answers are not cached");
    "CacheMaxExpire" [SVD] One "86400" "Bound how long answers are kept"
        => NotYet("answers are not cached");
    "CacheMinExpire" [SVD] One "0" "Keep answers at least so long"
        => NotYet("answers are not cached");
    "CacheQuickHandler" [SV] Flag "On" "Ask the cache before everything else"
        => NotYet("answers are not cached");
    "CacheStaleOnError" [SVD] Flag "On" "Serve an old answer when the backend fails"
        => NotYet("answers are not cached");
    "CacheStoreExpired" [SVD] Flag "Off" "Keep answers that are out of date"
        => NotYet("answers are not cached");
    "CacheStoreNoStore" [SVD] Flag "Off" "Keep answers marked no-store"
        => NotYet("answers are not cached");
    "CacheStorePrivate" [SVD] Flag "Off" "Keep answers marked private"
        => NotYet("answers are not cached");
    module "mod_cache_disk":
    "CacheDirLength" [SV] One "2" "Choose the length of cache directory names"
        => NotYet("answers are not cached");
    "CacheDirLevels" [SV] One "2" "Choose the depth of cache directories"
        => NotYet("answers are not cached");
    "CacheMaxFileSize" [SVD] One "1000000" "Bound the size of a kept answer"
        => NotYet("answers are not cached");
    "CacheMinFileSize" [SVD] One "1" "Keep only answers of at least this size"
        => NotYet("answers are not cached");
    "CacheReadSize" [SVD] One "0" "Send to the client after so many bytes"
        => NotYet("answers are not cached");
    "CacheReadTime" [SVD] One "0" "Send to the client after so many milliseconds"
        => NotYet("answers are not cached");
    "CacheRoot" [SV] One "" "Name the directory of the cache" => NotYet("answers are not cached");
    module "mod_cache_socache":
    "CacheSocache" [SV] One "" "Choose the shared cache of answers"
        => NotYet("answers are not cached");
    "CacheSocacheMaxSize" [SVD] One "102400" "Bound the size of a kept answer"
        => NotYet("answers are not cached");
    "CacheSocacheMaxTime" [SVD] One "86400" "Bound how long answers are kept"
        => NotYet("answers are not cached");
    "CacheSocacheMinTime" [SVD] One "600" "Keep answers at least so long"
        => NotYet("answers are not cached");
    "CacheSocacheReadSize" [SVD] One "0" "Send to the client after so many bytes"
        => NotYet("answers are not cached");
    "CacheSocacheReadTime" [SVD] One "0" "Send to the client after so many milliseconds"
        => NotYet("answers are not cached");
    module "mod_case_filter":
    "CaseFilter" [SV] Raw "Off" "Turn answers into capitals" => Works(accepted::only_off);
    module "mod_case_filter_in":
    "CaseFilterIn" [SV] Raw "Off" "Turn request bodies into capitals" => Works(accepted::only_off);
    module "mod_charset_lite":
    "CharsetDefault" [SVDH] One "" "Choose the character set that clients get" => NotThere;
    "CharsetOptions" [SVDH] Each "" "Choose how character sets are changed" => NotThere;
    "CharsetSourceEnc" [SVDH] One "" "Name the character set of files" => NotThere;
    module "mod_deflate":
    "DeflateAlterEtag" [SV] One "AddSuffix" "Choose what compression does to ETags"
        => NotYet("answers are not compressed");
    "DeflateBufferSize" [SV] One "8096" "Choose the block size of compression"
        => NotYet("answers are not compressed");
    "DeflateCompressionLevel" [SV] One "" "Choose how hard to compress"
        => NotYet("answers are not compressed");
    "DeflateFilterNote" [SV] OneOrTwo "" "Note how well an answer was compressed"
        => NotYet("answers are not compressed");
    "DeflateInflateLimitRequestBody" [SVDH] One "" "Bound request bodies that the server itself unpacks"
        => Works(accepted::no_reader);
    "DeflateInflateRatioBurst" [SVDH] One "3" "Bound how often a body may unpack too well"
        => Works(accepted::no_reader);
    "DeflateInflateRatioLimit" [SVDH] One "200" "Bound how well a body may unpack"
        => Works(accepted::no_reader);
    "DeflateMemLevel" [SV] One "9" "Choose the memory of compression"
        => NotYet("answers are not compressed");
    "DeflateWindowSize" [SV] One "15" "Choose the window of compression"
        => NotYet("answers are not compressed");
    module "mod_dumpio":
    "DumpIOInput" [SV] Flag "Off" "Log every byte that comes in" => Works(accepted::only_off);
    "DumpIOOutput" [SV] Flag "Off" "Log every byte that goes out" => Works(accepted::only_off);
    module "mod_expires":
    "ExpiresActive" [SVDH] Flag "Off" "Add Expires and max-age to answers"
        => NotYet("no Expires field is added");
    "ExpiresByType" [SVDH] Two "" "Choose the life of answers by type"
        => NotYet("no Expires field is added");
    "ExpiresDefault" [SVDH] One "" "Choose the life of other answers"
        => NotYet("no Expires field is added");
    module "mod_ext_filter":
    "ExtFilterDefine" [SV] Raw "" "Make a filter of a program" => NotThere;
    "ExtFilterOptions" [D] Each "" "Choose how filter programs behave" => NotThere;
    module "mod_filter":
    "AddOutputFilterByType" [SVDH] EachAfterFirst "" "Send answers through filters by type"
        => Works(accepted::add_output_filter_by_type);
    "FilterChain" [SVDH] Each "" "Order the filters of answers" => NotThere;
    "FilterDeclare" [SVDH] OneOrTwo "" "Declare a filter that acts by condition" => NotThere;
    "FilterProtocol" [SVDH] TwoOrThree "" "Say how a filter treats fields" => NotThere;
    "FilterProvider" [SVDH] Three "" "Choose a filter by condition" => NotThere;
    "FilterTrace" [SVD] Two "" "Log what filters do" => NotThere;
    module "mod_headers":
    "Header" [SVDH] Raw "" "Change fields of answers" => NotThere;
    "RequestHeader" [SVDH] Raw "" "Change fields of requests" => NotThere;
    module "mod_proxy_html":
    "ProxyHTMLBufSize" [SVD] One "8192" "Choose the buffer of the HTML rewriter" => NotThere;
    "ProxyHTMLCharsetOut" [SVD] One "" "Choose the character set of rewritten HTML" => NotThere;
    "ProxyHTMLDoctype" [SVD] OneOrTwo "" "Put a document type before rewritten HTML" => NotThere;
    "ProxyHTMLEnable" [SVD] Flag "Off" "Rewrite links in HTML from backends"
        => Works(accepted::only_off);
    "ProxyHTMLEvents" [SVD] Each "" "List the event attributes to rewrite in HTML" => NotThere;
    "ProxyHTMLExtended" [SVD] Flag "Off" "Rewrite scripts and styles in HTML too"
        => Works(accepted::only_off);
    "ProxyHTMLFixups" [SVD] Each "" "Tidy up HTML" => NotThere;
    "ProxyHTMLInterp" [SVD] Flag "Off" "Use variables in rewriting rules for HTML"
        => Works(accepted::only_off);
    "ProxyHTMLLinks" [SVD] EachAfterFirst "" "List the link attributes to rewrite in HTML"
        => NotThere;
    "ProxyHTMLMeta" [SVD] Flag "Off" "Make header fields of meta elements in HTML"
        => Works(accepted::only_off);
    "ProxyHTMLStripComments" [SVD] Flag "Off" "Remove comments from HTML"
        => Works(accepted::only_off);
    "ProxyHTMLURLMap" [SVD] Raw "" "Rewrite a URL in HTML" => NotThere;
    module "mod_request":
    "KeptBodySize" [D] One "0" "Keep request bodies for later use" => NotThere;
    module "mod_sed":
    "InputSed" [D] One "" "Edit request bodies" => NotThere;
    "OutputSed" [D] One "" "Edit answers" => NotThere;
    module "mod_substitute":
    "Substitute" [SVDH] One "" "Replace text in answers" => NotThere;
    "SubstituteInheritBefore" [SVDH] Flag "Off" "Choose the order of inherited replacements"
        => NotThere;
    "SubstituteMaxLineLength" [SVDH] One "1M" "Bound the lines in which text is replaced"
        => NotThere;
    module "mod_xml2enc":
    "xml2EncAlias" [S] EachAfterFirst "" "Give a character set another name" => NotThere;
    "xml2EncDefault" [SVDH] One "" "Choose the character set of unlabelled pages" => NotThere;
    "xml2StartParse" [SVDH] Each "" "Name the element where a page starts" => NotThere;
}
