//! Files: aliases, types, indexes, listings.

use super::super::accepted;
use super::super::directive::{alias, content, env};
use super::Class::{NoMeaning, NotThere, NotYet, Works};
use super::table;

table! {
    module "mod_actions":
    "Action" [SVDH] TwoOrThree "" "Run a script for a handler or type" => NotThere;
    "Script" [SVD] Two "" "Run a script for a method" => NotThere;
    module "mod_alias":
    "Alias" [SVD|NOT_IN_DIRECTORY|NOT_IN_FILES|NOT_IN_LIMIT|NOT_IN_IF] OneOrTwo "" "Serve a URL path from a directory or file elsewhere"
        => Works(alias::alias);
    "AliasMatch" [SV] Two "" "Serve URL paths that match a pattern from elsewhere"
        => Works(alias::alias_match);
    "AliasPreservePath" [SVDH] Flag "Off" "Keep the rest of the path behind an Alias in a Location"
        => Works(accepted::only_off);
    "Redirect" [SVDH] OneToThree "" "Send clients to another URL" => Works(alias::redirect);
    "RedirectMatch" [SVDH] TwoOrThree "" "Send clients to another URL by a pattern"
        => Works(alias::redirect_match);
    "RedirectPermanent" [SVDH] Two "" "Send clients to another URL for good"
        => Works(alias::redirect_permanent);
    "RedirectRelative" [SVDH] Flag "Off" "Leave the target of a redirect relative"
        => Works(accepted::only_off);
    "RedirectTemp" [SVDH] Two "" "Send clients to another URL for now"
        => Works(alias::redirect_temp);
    "ScriptAlias" [SVD|NOT_IN_DIRECTORY|NOT_IN_FILES|NOT_IN_LIMIT|NOT_IN_IF] OneOrTwo "" "Run the programs in a directory for a URL path"
        => NotThere;
    "ScriptAliasMatch" [SV] Two "" "Run programs for URL paths that match a pattern" => NotThere;
    module "mod_autoindex":
    "AddAlt" [SVDH] EachAfterFirst "" "Give icons in listings a text by file name"
        => NotYet("directories are not listed");
    "AddAltByEncoding" [SVDH] EachAfterFirst "" "Give icons in listings a text by encoding"
        => NotYet("directories are not listed");
    "AddAltByType" [SVDH] EachAfterFirst "" "Give icons in listings a text by type"
        => NotYet("directories are not listed");
    "AddDescription" [SVDH] EachAfterFirst "" "Describe files in listings"
        => NotYet("directories are not listed");
    "AddIcon" [SVDH] EachAfterFirst "" "Choose icons in listings by file name"
        => NotYet("directories are not listed");
    "AddIconByEncoding" [SVDH] EachAfterFirst "" "Choose icons in listings by encoding"
        => NotYet("directories are not listed");
    "AddIconByType" [SVDH] EachAfterFirst "" "Choose icons in listings by type"
        => NotYet("directories are not listed");
    "DefaultIcon" [SVDH] One "" "Choose the icon of other files in listings"
        => NotYet("directories are not listed");
    "FancyIndexing" [SVDH] Raw "" "Make listings with columns, in old versions of httpd"
        => Works(accepted::fancy_indexing);
    "HeaderName" [SVDH] One "" "Name the file shown above a listing"
        => NotYet("directories are not listed");
    "IndexHeadInsert" [SVDH] One "" "Put text in the head of a listing"
        => NotYet("directories are not listed");
    "IndexIgnore" [SVDH] Each "." "Leave files out of listings"
        => NotYet("directories are not listed");
    "IndexIgnoreReset" [SVDH] Flag "" "Forget which files are left out of listings"
        => NotYet("directories are not listed");
    "IndexOptions" [SVDH] Raw "" "Choose how listings look" => NotYet("directories are not listed");
    "IndexOrderDefault" [SVDH] Two "Ascending Name" "Choose the order of listings"
        => NotYet("directories are not listed");
    "IndexStyleSheet" [SVDH] One "" "Name the style sheet of listings"
        => NotYet("directories are not listed");
    "ReadmeName" [SVDH] One "" "Name the file shown below a listing"
        => NotYet("directories are not listed");
    module "mod_cern_meta":
    "MetaDir" [SVDH] One ".web" "Name the directory of files with header fields" => NotThere;
    "MetaFiles" [SVDH] Flag "Off" "Add the header fields of CERN meta files" => NotThere;
    "MetaSuffix" [SVDH] One ".meta" "Name the suffix of CERN meta files" => NotThere;
    module "mod_cgid":
    "CGIDScriptTimeout" [SVD] One "" "Bound the wait for a script's output" => NotThere;
    "ScriptLog" [SV] One "" "Name the log of failed scripts" => NotThere;
    "ScriptLogBuffer" [SV] One "1024" "Bound what is logged of a body" => NotThere;
    "ScriptLogLength" [SV] One "10385760" "Bound the log of failed scripts" => NotThere;
    "ScriptSock" [S] One "cgisock" "Name the socket of the script starter" => NotThere;
    module "mod_dav":
    "DAV" [D] One "Off" "Let clients change files by WebDAV" => Works(accepted::only_off);
    "DAVBasePath" [D] One "" "Name the root of a WebDAV tree" => NotThere;
    "DAVDepthInfinity" [SVD] Flag "Off" "Allow WebDAV questions about whole trees"
        => Works(accepted::only_off);
    "DAVLockDiscovery" [SVD] Flag "On" "Answer WebDAV questions about locks" => NotThere;
    "DAVMinTimeout" [SVD] One "0" "Keep WebDAV locks at least so long" => NotThere;
    module "mod_dav_fs":
    "DAVLockDB" [SV] One "" "Name the file of WebDAV locks" => NotThere;
    module "mod_dav_lock":
    "DAVGenericLockDB" [D] One "" "Name the file of generic WebDAV locks" => NotThere;
    module "mod_dir":
    "DirectoryCheckHandler" [SVDH] Flag "Off" "Look for index files although a handler is set"
        => Works(accepted::only_off);
    "DirectoryIndex" [SVDH] Raw "index.html" "List the files that stand for a directory"
        => Works(content::directory_index);
    "DirectoryIndexRedirect" [SVDH] One "Off" "Send clients to the index file's URL"
        => Works(accepted::only_off);
    "DirectorySlash" [SVDH] Flag "On" "Send clients from /dir to /dir/"
        => Works(content::directory_slash);
    "FallbackResource" [SVDH] One "disabled" "Serve one resource for paths without a file"
        => Works(content::fallback_resource);
    module "mod_env":
    "PassEnv" [SVDH] Each "" "Pass variables of the server's environment to requests"
        => Works(env::pass_env);
    "SetEnv" [SVDH] OneOrTwo "" "Set a variable for requests" => Works(env::set_env);
    "UnsetEnv" [SVDH] Each "" "Remove a variable from requests" => Works(env::unset_env);
    module "mod_imagemap":
    "ImapBase" [SVDH] One "http://servername/" "Choose the base of image maps" => NotThere;
    "ImapDefault" [SVDH] One "nocontent" "Choose what a click outside of an image map does"
        => NotThere;
    "ImapMenu" [SVDH] One "" "Choose the menu of an image map" => NotThere;
    module "mod_include":
    "SSIEndTag" [SV] One "-->" "Choose how an include element ends" => NotThere;
    "SSIErrorMsg" [SVDH] One "" "Choose the message of a failed include element" => NotThere;
    "SSIEtag" [DH] Flag "Off" "Keep ETags of pages with includes" => NotThere;
    "SSILastModified" [DH] Flag "Off" "Keep Last-Modified of pages with includes" => NotThere;
    "SSILegacyExprParser" [DH] Flag "Off" "Read conditions of includes the old way" => NotThere;
    "SSIStartTag" [SV] One "<!--#" "Choose how an include element starts" => NotThere;
    "SSITimeFormat" [SVDH] One "" "Choose how includes write times" => NotThere;
    "SSIUndefinedEcho" [SVDH] One "(none)" "Choose what unset variables show in includes"
        => NotThere;
    "XBitHack" [SVDH] One "Off" "Look for include elements in executable files"
        => Works(accepted::only_off);
    module "mod_info":
    "AddModuleInfo" [SV] Two "" "Add text to the server-info page"
        => NotYet("there is no server-info page");
    module "mod_mime":
    "AddCharset" [SVDH] EachAfterFirst "" "Give a character set to files by extension"
        => Works(content::add_charset);
    "AddEncoding" [SVDH] EachAfterFirst "" "Give an encoding to files by extension"
        => Works(content::add_encoding);
    "AddHandler" [SVDH] EachAfterFirst "" "Give a handler to files by extension"
        => Works(accepted::add_handler);
    "AddInputFilter" [SVDH] EachAfterFirst "" "Send request bodies for files by extension through filters"
        => NotThere;
    "AddLanguage" [SVDH] EachAfterFirst "" "Give a language to files by extension"
        => Works(content::add_language);
    "AddOutputFilter" [SVDH] EachAfterFirst "" "Send files by extension through filters"
        => Works(accepted::add_output_filter);
    "AddType" [SVDH] EachAfterFirst "" "Give a type to files by extension"
        => Works(content::add_type);
    "DefaultLanguage" [SVDH] One "" "Give a language to files that have none"
        => Works(content::default_language);
    "ModMimeUsePathInfo" [D] Flag "Off" "Look at extensions behind a file's name too"
        => Works(accepted::only_off);
    "MultiviewsMatch" [SVDH|NOT_IN_LOCATION|NOT_IN_LIMIT] Each "NegotiatedOnly" "Choose what MultiViews looks for"
        => NotYet("nothing is negotiated");
    "RemoveCharset" [SVDH] Each "" "Forget the character set of extensions"
        => Works(content::remove_charset);
    "RemoveEncoding" [SVDH] Each "" "Forget the encoding of extensions"
        => Works(content::remove_encoding);
    "RemoveHandler" [SVDH] Each "" "Forget the handler of extensions"
        => NoMeaning("handlers by extension are not there to be forgotten");
    "RemoveInputFilter" [SVDH] Each "" "Forget the input filters of extensions"
        => NoMeaning("filters by extension are not there to be forgotten");
    "RemoveLanguage" [SVDH] Each "" "Forget the language of extensions"
        => Works(content::remove_language);
    "RemoveOutputFilter" [SVDH] Each "" "Forget the output filters of extensions"
        => NoMeaning("filters by extension are not there to be forgotten");
    "RemoveType" [SVDH] Each "" "Forget the type of extensions" => Works(content::remove_type);
    "TypesConfig" [SV] One "mime.types" "Name the file of types by extension"
        => Works(content::types_config);
    module "mod_mime_magic":
    "MimeMagicFile" [SV] One "" "Tell types by looking into files"
        => NotYet("types are told by extension only");
    module "mod_negotiation":
    "CacheNegotiatedDocs" [SV] Flag "Off" "Let HTTP/1.0 caches keep negotiated files"
        => NotYet("nothing is negotiated");
    "ForceLanguagePriority" [SVDH] Each "Prefer" "Choose a language when several or none fit"
        => NotYet("nothing is negotiated");
    "LanguagePriority" [SVDH] Each "" "Order languages for clients that prefer none"
        => NotYet("nothing is negotiated");
    module "mod_reflector":
    "ReflectorHeader" [SVDH] OneOrTwo "" "Send a request field back with the body" => NotThere;
    module "mod_speling":
    "CheckBasenameMatch" [SVDH] Flag "Off" "Look for files with another extension"
        => Works(accepted::only_off);
    "CheckCaseOnly" [SVDH] Flag "Off" "Look for files in another letter case only"
        => Works(accepted::only_off);
    "CheckSpelling" [SVDH] Flag "Off" "Look for files with a similar name"
        => Works(accepted::only_off);
    module "mod_userdir":
    "UserDir" [SV] Raw "" "Serve directories of the machine's users" => Works(accepted::user_dir);
    module "mod_usertrack":
    "CookieDomain" [SVDH] One "" "Name the domain of tracking cookies" => NotThere;
    "CookieExpires" [SVDH] One "" "Bound the life of tracking cookies" => NotThere;
    "CookieHttpOnly" [SVDH] Flag "Off" "Hide tracking cookies from scripts" => NotThere;
    "CookieName" [SVDH] One "Apache" "Name the tracking cookie" => NotThere;
    "CookieSameSite" [SVDH] One "" "Restrict tracking cookies to one site" => NotThere;
    "CookieSecure" [SVDH] Flag "Off" "Send tracking cookies over TLS only" => NotThere;
    "CookieStyle" [SVDH] One "Netscape" "Choose the form of tracking cookies" => NotThere;
    "CookieTracking" [SVDH] Flag "Off" "Follow clients by a cookie" => Works(accepted::only_off);
    module "mod_vhost_alias":
    "VirtualDocumentRoot" [SV] One "" "Make a document root of the host's name" => NotThere;
    "VirtualDocumentRootIP" [SV] One "" "Make a document root of the server's address" => NotThere;
    "VirtualScriptAlias" [SV] One "" "Make a script directory of the host's name" => NotThere;
    "VirtualScriptAliasIP" [SV] One "" "Make a script directory of the server's address"
        => NotThere;
    module "mod_file_cache":
    "cachefile" [SV] Each "" "Open files at start"
        => NotYet("files are opened when they are asked for");
    "mmapfile" [SV] Each "" "Map files at start"
        => NotYet("files are opened when they are asked for");
}
