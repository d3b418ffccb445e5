//! Databases, Lua, managed certificates and other modules.

use super::super::accepted;
use super::Class::{NotThere, Works};
use super::table;

table! {
    module "mod_dbd":
    "DBDExptime" [SV] One "300" "Bound how long database connections idle" => NotThere;
    "DBDInitSQL" [SV] One "" "Run a statement on each new database connection" => NotThere;
    "DBDKeep" [SV] One "2" "Keep some database connections" => NotThere;
    "DBDMax" [SV] One "10" "Bound the number of database connections" => NotThere;
    "DBDMin" [SV] One "1" "Open some database connections at start" => NotThere;
    "DBDParams" [SV] One "" "Say which database to use" => NotThere;
    "DBDPersist" [SV] Flag "On" "Keep database connections" => NotThere;
    "DBDPrepareSQL" [SV] OneOrTwo "" "Give a name to a database query" => NotThere;
    "DBDriver" [SV] One "" "Choose the kind of database" => NotThere;
    module "mod_dialup":
    "ModemStandard" [D] One "" "Send files as slowly as a modem" => NotThere;
    module "mod_echo":
    "ProtocolEcho" [SV] Flag "Off" "Send back whatever a client sends" => Works(accepted::only_off);
    module "mod_lua":
    "<LuaHookAccessChecker>" [SVDH] Raw "" "Hold a Lua function that checks access" => NotThere;
    "<LuaHookAuthChecker>" [SVDH] Raw "" "Hold a Lua function that checks rights" => NotThere;
    "<LuaHookCheckUserID>" [SVDH] Raw "" "Hold a Lua function that checks users" => NotThere;
    "<LuaHookFixups>" [SVDH] Raw "" "Hold a Lua function that runs before the answer" => NotThere;
    "<LuaHookMapToStorage>" [SVDH] Raw "" "Hold a Lua function that finds files" => NotThere;
    "<LuaHookPreTranslateName>" [SVDH] Raw "" "Hold a Lua function that maps raw URLs" => NotThere;
    "<LuaHookTranslateName>" [SVDH] Raw "" "Hold a Lua function that maps URLs" => NotThere;
    "<LuaHookTypeChecker>" [SVDH] Raw "" "Hold a Lua function that tells types" => NotThere;
    "<LuaQuickHandler>" [SVDH] Raw "" "Hold a Lua function that answers before all else"
        => NotThere;
    "LuaAuthzProvider" [SV] Three "" "Make a Lua function a rule for Require" => NotThere;
    "LuaCodeCache" [SVDH] One "stat" "Choose when Lua files are read again" => NotThere;
    "LuaHookAccessChecker" [SVDH] TwoOrThree "" "Check access by a Lua function" => NotThere;
    "LuaHookAuthChecker" [SVDH] TwoOrThree "" "Check rights by a Lua function" => NotThere;
    "LuaHookCheckUserID" [SVDH] TwoOrThree "" "Check users by a Lua function" => NotThere;
    "LuaHookFixups" [SVDH] Two "" "Run a Lua function before the answer" => NotThere;
    "LuaHookInsertFilter" [SVDH] Two "" "Add filters by a Lua function" => NotThere;
    "LuaHookLog" [SVDH] Two "" "Log by a Lua function" => NotThere;
    "LuaHookMapToStorage" [SVDH] Two "" "Find files by a Lua function" => NotThere;
    "LuaHookPreTranslateName" [SVDH] Two "" "Map raw URLs by a Lua function" => NotThere;
    "LuaHookTranslateName" [SVDH] TwoOrThree "" "Map URLs by a Lua function" => NotThere;
    "LuaHookTypeChecker" [SVDH] Two "" "Tell types by a Lua function" => NotThere;
    "LuaInherit" [SVDH] One "parent-first" "Choose the order of inherited Lua functions"
        => NotThere;
    "LuaInputFilter" [SVDH] Three "" "Make a Lua function a filter of request bodies" => NotThere;
    "LuaMapHandler" [SVDH] TwoOrThree "" "Answer paths by a Lua function" => NotThere;
    "LuaOutputFilter" [SVDH] Three "" "Make a Lua function a filter of answers" => NotThere;
    "LuaPackageCPath" [SVDH] One "" "Add places of Lua libraries in C" => NotThere;
    "LuaPackagePath" [SVDH] One "" "Add places of Lua libraries" => NotThere;
    "LuaQuickHandler" [SVDH] Two "" "Answer before all else by a Lua function" => NotThere;
    "LuaRoot" [SVDH] One "" "Name the directory of Lua files" => NotThere;
    "LuaScope" [SVDH] OneToThree "once" "Choose how long Lua states live" => NotThere;
    module "mod_md":
    "<MDomain>" [SV] Raw "" "Hold settings of a managed certificate" => NotThere;
    "<MDomainSet>" [SV] Raw "" "Hold settings of a managed certificate (old name)" => NotThere;
    "MDActivationDelay" [SV] One "" "Wait before a new certificate is used" => NotThere;
    "MDBaseServer" [SV] One "Off" "Manage a certificate of the main server" => NotThere;
    "MDCACertificateFile" [SV] One "" "Name the authorities of the certificate service" => NotThere;
    "MDCAChallenges" [SV] Raw "" "List the ways to prove that a name is owned" => NotThere;
    "MDCertificateAgreement" [SV] One "" "Accept the terms of the certificate service" => NotThere;
    "MDCertificateAuthority" [SV] Raw "letsencrypt" "Name the certificate service" => NotThere;
    "MDCertificateCheck" [SV] Two "" "Name a site that checks certificates" => NotThere;
    "MDCertificateFile" [SV] One "" "Name a certificate that is renewed by hand" => NotThere;
    "MDCertificateKeyFile" [SV] One "" "Name the key of a certificate renewed by hand" => NotThere;
    "MDCertificateProtocol" [SV] One "ACME" "Choose the protocol of the certificate service"
        => NotThere;
    "MDCertificateStatus" [SV] One "On" "Show managed certificates at a URL" => NotThere;
    "MDChallengeDns01" [SV] Raw "" "Run a program that changes DNS for a proof" => NotThere;
    "MDChallengeDns01Version" [SV] One "1" "Choose how that program is called" => NotThere;
    "MDCheckInterval" [SV] One "12h" "Choose how often certificates are looked at" => NotThere;
    "MDContactEmail" [SV] One "" "Give the certificate service an address" => NotThere;
    "MDDriveMode" [SV] One "auto" "Choose when certificates are renewed (old name)" => NotThere;
    "MDExternalAccountBinding" [SV] OneOrTwo "" "Bind to an account of the certificate service"
        => NotThere;
    "MDHttpProxy" [SV] One "" "Reach the certificate service through a proxy" => NotThere;
    "MDHttpProxyCACertificateFile" [SV] One "" "Name the authorities of that proxy" => NotThere;
    "MDInitialDelay" [SV] One "0" "Wait before certificates are first looked at" => NotThere;
    "MDMatchNames" [SV] One "all" "Choose how names of hosts and certificates must agree"
        => NotThere;
    "MDMember" [SV] Raw "" "Choose whether host names join a certificate by themselves" => NotThere;
    "MDMembers" [SV] Raw "auto" "Choose whether host names join a certificate by themselves"
        => NotThere;
    "MDMessageCmd" [SV] Raw "" "Run a program on events of certificates" => NotThere;
    "MDMustStaple" [SV] One "Off" "Ask for certificates that must be stapled" => NotThere;
    "MDNotifyCmd" [SV] Raw "" "Run a program when certificates are ready" => NotThere;
    "MDomain" [SV] Raw "" "Manage a certificate for names" => NotThere;
    "MDPortMap" [SV] OneOrTwo "http:80 https:443" "Say which ports the world sees" => NotThere;
    "MDPrivateKeys" [SV] Raw "RSA 2048" "Choose the keys of certificates" => NotThere;
    "MDProfile" [SV] One "" "Choose the profile of certificates" => NotThere;
    "MDProfileMandatory" [SV] One "Off" "Insist on the profile of certificates" => NotThere;
    "MDRenewMode" [SV] One "auto" "Choose when certificates are renewed" => NotThere;
    "MDRenewViaARI" [SV] One "On" "Let the certificate service say when to renew" => NotThere;
    "MDRenewWindow" [SV] One "33%" "Choose how early certificates are renewed" => NotThere;
    "MDRequireHttps" [SVDH|NOT_IN_DIRECTORY|NOT_IN_LOCATION|NOT_IN_LIMIT] One "off" "Send clients to https"
        => NotThere;
    "MDRetryDelay" [SV] One "5s" "Wait before a failed renewal is tried again" => NotThere;
    "MDRetryFailover" [SV] One "13" "Change the certificate service after failures" => NotThere;
    "MDServerStatus" [SV] One "On" "Show managed certificates on the status page" => NotThere;
    "MDStapleOthers" [SV] One "On" "Staple certificates that are not managed" => NotThere;
    "MDStapling" [SV] One "Off" "Staple managed certificates" => NotThere;
    "MDStaplingKeepResponse" [SV] One "7d" "Bound how long stapled answers are kept" => NotThere;
    "MDStaplingRenewWindow" [SV] One "33%" "Choose how early stapled answers are renewed"
        => NotThere;
    "MDStoreDir" [SV] One "md" "Name the directory of managed certificates" => NotThere;
    "MDStoreLocks" [SV] One "Off" "Lock the directory of managed certificates" => NotThere;
    "MDWarnWindow" [SV] One "10%" "Choose how early to warn of certificates that end" => NotThere;
    module "mod_socache_memcache":
    "MemcacheConnTTL" [SV] One "15" "Bound how long memcached connections idle" => NotThere;
    module "mod_socache_redis":
    "RedisConnPoolTTL" [SV] One "15" "Bound how long Redis connections idle" => NotThere;
    "RedisTimeout" [SV] One "5" "Bound the waits for Redis" => NotThere;
}
