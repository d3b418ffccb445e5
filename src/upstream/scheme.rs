//! Which schemes can be spoken to a backend: asked in turn, the first that knows the scheme has it.

/// How a backend is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1 in clear, over TCP or a Unix socket.
    Http,
}

/// A scheme that has a name here.
#[derive(Clone, Copy, Debug)]
pub struct Scheme {
    /// Lower case.
    pub name: &'static str,
    /// The port of a URL without one.
    pub port: u16,
    /// What speaks it, or what is missing for it.
    pub protocol: Result<Protocol, &'static str>,
}

/// All that are known. Others (FastCGI, AJP, SCGI, uwsgi) take their place here when they are there.
const SCHEMES: &[Scheme] = &[
    Scheme {
        name: "http",
        port: 80,
        protocol: Ok(Protocol::Http),
    },
    Scheme {
        name: "https",
        port: 443,
        protocol: Err("TLS to backends is not there yet"),
    },
];

/// The scheme of this name.
pub fn find(name: &[u8]) -> Option<&'static Scheme> {
    SCHEMES.iter().find(|s| s.name.as_bytes() == name)
}

/// What speaks `name`; the error is the reason for the log.
pub fn protocol(name: &str) -> Result<Protocol, String> {
    match find(name.as_bytes()).map(|s| s.protocol) {
        Some(Ok(protocol)) => Ok(protocol),
        Some(Err(missing)) => Err(format!("scheme {name} cannot be used: {missing}")),
        None => Err(format!(
            "no protocol handler was valid for the scheme {name}; http can be proxied to"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_is_spoken_and_the_rest_is_named() {
        assert_eq!(protocol("http"), Ok(Protocol::Http));
        assert!(protocol("https").unwrap_err().contains("TLS"));
        assert!(protocol("fcgi").unwrap_err().contains("scheme fcgi"));
    }
}
