//! What variables of a request ask of proxying (spec: proxy 10).

use crate::request::Env;

/// The variables that `SetEnvIf` and `SetEnv` may set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// `proxy-nokeepalive`: `Connection: close` to the backend.
    pub no_keep_alive: bool,
    /// `force-proxy-request-1.0`.
    pub old: bool,
    /// `proxy-sendcl` (and HTTP/1.0, which knows no chunks): a chunked body is collected and counted.
    pub counted: bool,
    /// `proxy-initial-not-pooled`: the first request of a client's connection gets a fresh one.
    pub initial_fresh: bool,
    /// `proxy-interim-response`.
    pub interim: Interim,
}

/// `proxy-interim-response`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interim {
    /// 100 only for clients that wait for one.
    #[default]
    Usual,
    /// `RFC`: all.
    All,
    /// `Suppress`: none.
    None,
}

impl Wishes {
    /// Of a request's variables; mostly there are none.
    pub fn of(env: &Env) -> Wishes {
        if env.is_empty() {
            return Wishes::default();
        }
        let old = env.contains("force-proxy-request-1.0");
        let chunked = env.contains("proxy-sendchunked") || env.contains("proxy-sendchunks");
        Wishes {
            no_keep_alive: env.contains("proxy-nokeepalive"),
            old,
            counted: old || (env.contains("proxy-sendcl") && !chunked),
            initial_fresh: env.contains("proxy-initial-not-pooled"),
            interim: match env.get("proxy-interim-response") {
                Some(v) if v.eq_ignore_ascii_case(b"RFC") => Interim::All,
                Some(v) if v.eq_ignore_ascii_case(b"Suppress") => Interim::None,
                _ => Interim::Usual,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read() {
        let mut env = Env::default();
        assert_eq!(Wishes::of(&env), Wishes::default());
        env.set("proxy-nokeepalive", "1");
        env.set("proxy-interim-response", "rfc");
        let wishes = Wishes::of(&env);
        assert!(wishes.no_keep_alive && !wishes.old);
        assert_eq!(wishes.interim, Interim::All);
    }
}
