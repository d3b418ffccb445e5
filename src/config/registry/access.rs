//! Who may do what: access rules, authentication, LDAP.

use super::super::accepted;
use super::super::directive::{access, limits};
use super::Class::{NotThere, Opens, Works};
use super::table;

table! {
    module "mod_access_compat":
    "allow" [DH] EachAfterFirst "" "Let clients in by address, name or variable"
        => Works(access::allow);
    "deny" [DH] EachAfterFirst "" "Keep clients out by address, name or variable"
        => Works(access::deny);
    "order" [DH] One "deny,allow" "Choose whether Allow or Deny has the last word"
        => Works(access::order);
    "Satisfy" [DH] One "All" "Ask for both or one of address and password"
        => Works(access::satisfy);
    module "mod_allowmethods":
    "AllowMethods" [D] Raw "reset" "List the methods that are allowed"
        => Works(limits::allow_methods);
    module "mod_auth_basic":
    "AuthBasicAuthoritative" [DH] Flag "On" "Let no other module judge a user that is not known"
        => NotThere;
    "AuthBasicFake" [DH] OneOrTwo "" "Make an Authorization field for the backend" => NotThere;
    "AuthBasicProvider" [DH] Each "file" "Say where users and passwords are looked up" => NotThere;
    "AuthBasicUseDigestAlgorithm" [DH] One "Off" "Check Basic passwords against Digest hashes"
        => NotThere;
    module "mod_auth_digest":
    "AuthDigestAlgorithm" [DH] One "MD5" "Choose the hash of Digest authentication" => NotThere;
    "AuthDigestDomain" [DH] Each "" "List the URLs that share one Digest login" => NotThere;
    "AuthDigestNcCheck" [DH] Flag "Off" "Check the request counts of clients" => NotThere;
    "AuthDigestNonceLifetime" [DH] One "300" "Bound how long a nonce is good" => NotThere;
    "AuthDigestProvider" [DH] Each "file" "Say where Digest hashes are looked up" => NotThere;
    "AuthDigestQop" [DH] Each "auth" "Choose the protection of Digest authentication" => NotThere;
    "AuthDigestShmemSize" [SV] One "1000" "Choose the memory for Digest clients" => NotThere;
    module "mod_auth_form":
    "AuthFormAuthoritative" [DH] Flag "On" "Let no other module judge a user that is not known"
        => NotThere;
    "AuthFormBody" [DH] One "httpd_body" "Name the form field with the request's body" => NotThere;
    "AuthFormDisableNoStore" [DH] Flag "Off" "Let browsers store the login page" => NotThere;
    "AuthFormFakeBasicAuth" [DH] Flag "Off" "Make an Authorization field of a form login"
        => NotThere;
    "AuthFormLocation" [DH] One "httpd_location" "Name the form field with the page to go to"
        => NotThere;
    "AuthFormLoginRequiredLocation" [DH] One "" "Name the page for clients that have not logged in"
        => NotThere;
    "AuthFormLoginSuccessLocation" [DH] One "" "Name the page after a login" => NotThere;
    "AuthFormLogoutLocation" [DH] One "" "Name the page after a logout" => NotThere;
    "AuthFormMethod" [DH] One "httpd_method" "Name the form field with the request's method"
        => NotThere;
    "AuthFormMimetype" [DH] One "httpd_mimetype" "Name the form field with the body's type"
        => NotThere;
    "AuthFormPassword" [DH] One "httpd_password" "Name the form field with the password"
        => NotThere;
    "AuthFormProvider" [DH] Each "file" "Say where users of login forms are looked up" => NotThere;
    "AuthFormSitePassphrase" [DH] One "" "Let sessions in by one passphrase" => NotThere;
    "AuthFormSize" [D] One "8192" "Bound the size of a login form" => NotThere;
    "AuthFormUsername" [DH] One "httpd_username" "Name the form field with the user's name"
        => NotThere;
    module "mod_authn_anon":
    "Anonymous" [DH] Each "" "Let some users in without a password" => NotThere;
    module "mod_authn_core":
    "<AuthnProviderAlias>" [S] Raw "" "Give a name to a way of looking up users" => NotThere;
    "AuthName" [DH] One "" "Name the realm that a browser shows when it asks for a password"
        => NotThere;
    "AuthType" [DH] One "" "Choose how users prove who they are" => NotThere;
    module "mod_authn_dbd":
    "AuthDBDUserPWQuery" [D] One "" "Look up a password in a database" => NotThere;
    "AuthDBDUserRealmQuery" [D] One "" "Look up a Digest hash in a database" => NotThere;
    module "mod_authn_dbm":
    "AuthDBMType" [DH] One "default" "Choose the kind of a DBM password file" => NotThere;
    "AuthDBMUserFile" [DH] One "" "Name a DBM file of users and passwords" => NotThere;
    module "mod_authn_file":
    "AuthUserFile" [DH] One "" "Name a file of users and passwords" => NotThere;
    module "mod_authn_socache":
    "AuthnCacheContext" [D] One "directory" "Keep cached logins of places apart" => NotThere;
    "AuthnCacheEnable" [S] Raw "" "Allow caching of logins" => NotThere;
    "AuthnCacheProvideFor" [DH] Each "" "List the lookups of users that are cached" => NotThere;
    "AuthnCacheSOCache" [S] One "" "Choose the cache of logins" => NotThere;
    "AuthnCacheTimeout" [DH] One "300" "Bound how long a login is cached" => NotThere;
    module "mod_authnz_fcgi":
    "AuthnzFcgiCheckAuthnProvider" [SVDH] Raw "" "Let a FastCGI program check users" => NotThere;
    "AuthnzFcgiDefineProvider" [S] Raw "" "Give a name to a FastCGI program that checks users"
        => NotThere;
    module "mod_authnz_ldap":
    "AuthLDAPAuthorizePrefix" [DH] One "AUTHORIZE_" "Prefix variables made of LDAP attributes"
        => NotThere;
    "AuthLDAPBindAuthoritative" [DH] Flag "On" "Let no other lookup judge a user that LDAP knows"
        => NotThere;
    "AuthLDAPBindDN" [DH] One "" "Name the LDAP entry to log in as" => NotThere;
    "AuthLDAPBindPassword" [DH] One "" "Give the password of the LDAP login" => NotThere;
    "AuthLDAPCharsetConfig" [SV] One "" "Name a file that maps languages to character sets"
        => NotThere;
    "AuthLDAPCompareAsUser" [DH] Flag "Off" "Compare as the user that logged in" => NotThere;
    "AuthLDAPCompareDNOnServer" [DH] Flag "On" "Let the LDAP server compare names" => NotThere;
    "AuthLDAPDereferenceAliases" [DH] One "always" "Choose when LDAP aliases are followed"
        => NotThere;
    "AuthLDAPGroupAttribute" [DH] Each "member uniquemember" "List the attributes that hold group members"
        => NotThere;
    "AuthLDAPGroupAttributeIsDN" [DH] Flag "On" "Look for full names in groups" => NotThere;
    "AuthLDAPInitialBindAsUser" [DH] Flag "Off" "Search as the user that logs in" => NotThere;
    "AuthLDAPInitialBindPattern" [DH] Two "(.*) $1" "Make an LDAP name of a user's name"
        => NotThere;
    "AuthLDAPMaxSubGroupDepth" [DH] One "10" "Bound how deep groups within groups are searched"
        => NotThere;
    "AuthLDAPRemoteUserAttribute" [DH] One "" "Take REMOTE_USER from an LDAP attribute" => NotThere;
    "AuthLDAPRemoteUserIsDN" [DH] Flag "Off" "Take the full LDAP name for REMOTE_USER" => NotThere;
    "AuthLDAPSearchAsUser" [DH] Flag "Off" "Search groups as the user that logged in" => NotThere;
    "AuthLDAPSubGroupAttribute" [DH] Each "member uniquemember" "List the attributes that hold groups within groups"
        => NotThere;
    "AuthLDAPSubGroupClass" [DH] Each "groupOfNames groupOfUniqueNames" "List the classes that are groups"
        => NotThere;
    "AuthLDAPURL" [DH] OneOrTwo "" "Say which LDAP server and entries users are looked up in"
        => NotThere;
    module "mod_authz_core":
    "<AuthzProviderAlias>" [S] Raw "" "Give a name to a rule that Require can use" => NotThere;
    "<RequireAll>" [DH] Raw "" "Let in who meets all the rules inside"
        => Opens(access::REQUIRE_ALL);
    "<RequireAny>" [DH] Raw "" "Let in who meets one of the rules inside"
        => Opens(access::REQUIRE_ANY);
    "<RequireNone>" [DH] Raw "" "Keep out who meets one of the rules inside"
        => Opens(access::REQUIRE_NONE);
    "AuthMerging" [DH] One "Off" "Join the rules of nested sections" => Works(access::auth_merging);
    "AuthzSendForbiddenOnFailure" [DH] Flag "Off" "Answer 403 instead of 401 to a user who may not"
        => Works(accepted::only_off);
    "Require" [DH] Raw "" "Let in who meets a rule" => Works(access::require);
    module "mod_authz_dbd":
    "AuthzDBDLoginToReferer" [D] Flag "Off" "Send clients back after a login" => NotThere;
    "AuthzDBDQuery" [D] One "" "Look up groups in a database" => NotThere;
    "AuthzDBDRedirectQuery" [D] One "" "Look up the page after a login in a database" => NotThere;
    module "mod_authz_dbm":
    "AuthDBMGroupFile" [DH] One "" "Name a DBM file of groups" => NotThere;
    "AuthzDBMType" [DH] One "default" "Choose the kind of a DBM group file" => NotThere;
    module "mod_authz_groupfile":
    "AuthGroupFile" [DH] One "" "Name a file of groups" => NotThere;
    module "util_ldap":
    "LDAPCacheEntries" [S] One "1024" "Bound the LDAP search cache" => NotThere;
    "LDAPCacheTTL" [S] One "600" "Bound how long LDAP searches are cached" => NotThere;
    "LDAPConnectionPoolTTL" [SV] One "-1" "Bound how long LDAP connections are kept" => NotThere;
    "LDAPConnectionTimeout" [S] One "" "Bound the wait for an LDAP connection" => NotThere;
    "LDAPLibraryDebug" [S] One "" "Log what the LDAP library does" => NotThere;
    "LDAPOpCacheEntries" [S] One "1024" "Bound the LDAP compare cache" => NotThere;
    "LDAPOpCacheTTL" [S] One "600" "Bound how long LDAP compares are cached" => NotThere;
    "LDAPReferralHopLimit" [DH] One "" "Bound how often LDAP referrals are followed" => NotThere;
    "LDAPReferrals" [DH] One "On" "Follow LDAP referrals" => NotThere;
    "LDAPRetries" [S] One "3" "Bound how often LDAP is asked again" => NotThere;
    "LDAPRetryDelay" [S] One "0" "Wait before LDAP is asked again" => NotThere;
    "LDAPSharedCacheFile" [S] One "" "Name the file of the LDAP cache" => NotThere;
    "LDAPSharedCacheSize" [S] One "500000" "Choose the size of the LDAP cache" => NotThere;
    "LDAPTimeout" [S] One "60" "Bound the wait for an LDAP answer" => NotThere;
    "LDAPTrustedClientCert" [DH] TwoOrThree "" "Name the certificate to show to LDAP servers"
        => NotThere;
    "LDAPTrustedGlobalCert" [S] TwoOrThree "" "Name the authorities of LDAP servers" => NotThere;
    "LDAPTrustedMode" [SV] One "NONE" "Choose the encryption of LDAP connections" => NotThere;
    "LDAPVerifyServerCert" [S] Flag "On" "Check the certificates of LDAP servers" => NotThere;
}
