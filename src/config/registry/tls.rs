//! TLS.

use super::super::accepted;
use super::Class::{NoMeaning, NotThere, NotYet, Works};
use super::table;

table! {
    module "mod_ssl":
    "SSLCACertificateFile" [SVDH] One "" "Name the authorities of clients' certificates"
        => NotThere;
    "SSLCACertificatePath" [SVDH] One "" "Name a directory of authorities of clients' certificates"
        => NotThere;
    "SSLCADNRequestFile" [SV] One "" "Name the authorities that clients are told of" => NotThere;
    "SSLCADNRequestPath" [SV] One "" "Name a directory of authorities that clients are told of"
        => NotThere;
    "SSLCARevocationCheck" [SV] Raw "none" "Check whether clients' certificates were revoked"
        => NotThere;
    "SSLCARevocationFile" [SV] One "" "Name a list of revoked clients' certificates" => NotThere;
    "SSLCARevocationPath" [SV] One "" "Name a directory of lists of revoked clients' certificates"
        => NotThere;
    "SSLCertificateChainFile" [SV] One "" "Name the certificates between ours and the root"
        => NotThere;
    "SSLCertificateFile" [SV] One "" "Name the server's certificate" => NotThere;
    "SSLCertificateKeyFile" [SV] One "" "Name the server's private key" => NotThere;
    "SSLCipherSuite" [SVDH] OneOrTwo "DEFAULT" "List the ciphers of TLS" => NotThere;
    "SSLCompression" [SV] Flag "Off" "Compress TLS" => Works(accepted::only_off);
    "SSLCryptoDevice" [S] One "builtin" "Choose cryptographic hardware"
        => NoMeaning("there is no cryptographic hardware support to choose");
    "SSLEngine" [SV] One "Off" "Speak TLS with clients" => Works(accepted::only_off);
    "SSLFIPS" [S] Flag "Off" "Use approved cryptography only" => Works(accepted::only_off);
    "SSLHonorCipherOrder" [SV] Flag "Off" "Prefer the server's order of ciphers" => NotThere;
    "SSLInsecureRenegotiation" [SV] Flag "Off" "Allow the old insecure renegotiation"
        => Works(accepted::only_off);
    "SSLLog" [SVDH] Raw "" "Name the log of TLS, in old versions of httpd"
        => Works(accepted::ssl_log);
    "SSLLogLevel" [SVDH] Raw "" "Choose how much is logged of TLS, in old versions of httpd"
        => Works(accepted::ssl_log_level);
    "SSLOCSPDefaultResponder" [SV] One "" "Name the default OCSP responder" => NotThere;
    "SSLOCSPEnable" [SV] Raw "Off" "Ask OCSP about clients' certificates" => NotThere;
    "SSLOCSPNoVerify" [SV] Flag "Off" "Skip the check of OCSP responders' certificates" => NotThere;
    "SSLOCSPOverrideResponder" [SV] Flag "Off" "Always ask the default OCSP responder" => NotThere;
    "SSLOCSPProxyURL" [SV] One "" "Reach OCSP responders through a proxy" => NotThere;
    "SSLOCSPResponderCertificateFile" [SV] One "" "Name the certificates of OCSP responders"
        => NotThere;
    "SSLOCSPResponderTimeout" [SV] One "10" "Bound the wait for an OCSP responder" => NotThere;
    "SSLOCSPResponseMaxAge" [SV] One "-1" "Bound the age of OCSP answers" => NotThere;
    "SSLOCSPResponseTimeSkew" [SV] One "300" "Bound how far clocks of OCSP responders may be off"
        => NotThere;
    "SSLOCSPUseRequestNonce" [SV] Flag "On" "Put a nonce into OCSP questions" => NotThere;
    "SSLOpenSSLConfCmd" [SV] Two "" "Pass a setting to OpenSSL" => NotThere;
    "SSLOptions" [SVDH] Raw "" "Choose what TLS adds to requests" => NotThere;
    "SSLPassPhraseDialog" [S] One "builtin" "Choose how the key's pass phrase is asked for"
        => NotThere;
    "SSLProtocol" [SV] Raw "all -SSLv3" "List the versions of TLS" => NotThere;
    "SSLProxyCACertificateFile" [SV|PROXY] One "" "Name the authorities of backends' certificates"
        => NotThere;
    "SSLProxyCACertificatePath" [SV|PROXY] One "" "Name a directory of authorities of backends' certificates"
        => NotThere;
    "SSLProxyCARevocationCheck" [SV|PROXY] Raw "none" "Check whether backends' certificates were revoked"
        => NotThere;
    "SSLProxyCARevocationFile" [SV|PROXY] One "" "Name a list of revoked backends' certificates"
        => NotThere;
    "SSLProxyCARevocationPath" [SV|PROXY] One "" "Name a directory of lists of revoked backends' certificates"
        => NotThere;
    "SSLProxyCheckPeerCN" [SV|PROXY] Flag "on" "Check the common name of backends' certificates"
        => NotThere;
    "SSLProxyCheckPeerExpire" [SV|PROXY] Flag "on" "Check whether backends' certificates have ended"
        => NotThere;
    "SSLProxyCheckPeerName" [SV|PROXY] Flag "on" "Check the names of backends' certificates"
        => NotThere;
    "SSLProxyCipherSuite" [SV|PROXY] OneOrTwo "" "List the ciphers of TLS towards backends"
        => NotThere;
    "SSLProxyEngine" [SV|PROXY] Flag "Off" "Speak TLS with backends" => Works(accepted::only_off);
    "SSLProxyMachineCertificateChainFile" [SV|PROXY] One "" "Name the certificates between the proxy's own and the root"
        => NotThere;
    "SSLProxyMachineCertificateFile" [SV|PROXY] One "" "Name the proxy's own certificates and keys"
        => NotThere;
    "SSLProxyMachineCertificatePath" [SV|PROXY] One "" "Name a directory of the proxy's own certificates and keys"
        => NotThere;
    "SSLProxyProtocol" [SV|PROXY] Raw "all -SSLv3" "List the versions of TLS towards backends"
        => NotThere;
    "SSLProxyVerify" [SV|PROXY] One "none" "Check backends' certificates" => NotThere;
    "SSLProxyVerifyDepth" [SV|PROXY] One "1" "Bound the length of backends' certificate chains"
        => NotThere;
    "SSLRandomSeed" [S] TwoOrThree "" "Choose where random numbers come from"
        => NoMeaning("random numbers come from the kernel");
    "SSLRenegBufferSize" [DH] One "131072" "Bound the body kept during a renegotiation" => NotThere;
    "SSLRequire" [DH] Raw "" "Let in who meets a condition" => NotThere;
    "SSLRequireSSL" [DH] Raw "" "Refuse requests without TLS" => NotThere;
    "SSLSessionCache" [S] One "none" "Keep TLS sessions for all processes"
        => NotYet("there is no TLS whose sessions could be kept");
    "SSLSessionCacheTimeout" [SV] One "300" "Bound how long TLS sessions are kept"
        => NotYet("there is no TLS whose sessions could be kept");
    "SSLSessionTicketKeyFile" [SV] One "" "Name the key of session tickets" => NotThere;
    "SSLSessionTickets" [SV] Flag "on" "Give clients session tickets" => NotThere;
    "SSLSRPUnknownUserSeed" [SV] One "" "Hide which SRP users exist" => NotThere;
    "SSLSRPVerifierFile" [SV] One "" "Name the file of SRP users" => NotThere;
    "SSLStaplingCache" [S] One "" "Keep stapled OCSP answers" => NotThere;
    "SSLStaplingErrorCacheTimeout" [SV] One "600" "Bound how long failed OCSP answers are kept"
        => NotThere;
    "SSLStaplingFakeTryLater" [SV] Flag "on" "Tell clients to try later when OCSP fails"
        => NotThere;
    "SSLStaplingForceURL" [SV] One "" "Ask this OCSP responder instead of the certificate's"
        => NotThere;
    "SSLStaplingResponderTimeout" [SV] One "10" "Bound the wait for an OCSP responder" => NotThere;
    "SSLStaplingResponseMaxAge" [SV] One "-1" "Bound the age of stapled OCSP answers" => NotThere;
    "SSLStaplingResponseTimeSkew" [SV] One "300" "Bound how far clocks of OCSP responders may be off"
        => NotThere;
    "SSLStaplingReturnResponderErrors" [SV] Flag "on" "Pass OCSP failures on to clients"
        => NotThere;
    "SSLStaplingStandardCacheTimeout" [SV] One "3600" "Bound how long stapled OCSP answers are kept"
        => NotThere;
    "SSLStrictSNIVHostCheck" [SV] Flag "off" "Refuse clients that name no host in TLS" => NotThere;
    "SSLUserName" [SVDH] One "" "Take the user's name from a certificate" => NotThere;
    "SSLUseStapling" [SV] Flag "Off" "Show clients an OCSP answer" => NotThere;
    "SSLVerifyClient" [SVDH] One "none" "Ask clients for certificates" => NotThere;
    "SSLVerifyDepth" [SVDH] One "1" "Bound the length of clients' certificate chains" => NotThere;
    "SSLVHostSNIPolicy" [S] One "authonly" "Choose how strictly the host of TLS and request must agree"
        => NotThere;
}
