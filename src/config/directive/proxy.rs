//! mod_proxy's values that are no mapping and no workers.

use super::value::{TIME_FORM, Unit, flag, interval, number};
use crate::config::args::Args;
use crate::config::frame::Build;
use crate::config::layer::{ErrorOverride, ReverseRule};
use crate::config::settings::{BadHeader, ProxyStatus, SectionKind, Via};

/// `ProxyRequests On|Off`
pub fn proxy_requests(_: &mut Build, args: &Args) -> Result<(), String> {
    if args.flag() {
        return Err("ProxyRequests On: forwarding to any host (a forward proxy) is not there in this version of muster; ProxyPass needs no ProxyRequests".into());
    }
    Ok(())
}

/// `ProxyPassReverse [/path] URL [interpolate]`
pub fn proxy_pass_reverse(b: &mut Build, args: &Args) -> Result<(), String> {
    let mut words = args.words.clone();
    let interpolate = words.len() > 1
        && words
            .last()
            .is_some_and(|w| w.eq_ignore_ascii_case("interpolate"));
    if interpolate {
        words.pop();
    }
    let location = b.within(SectionKind::Location).map(|s| s.argument.clone());
    let (fake, real) = match (words.as_slice(), location) {
        ([real], Some(path)) => (path, real.clone()),
        ([_], None) => {
            return Err("ProxyPassReverse needs a path when not defined in a location".into());
        }
        ([fake, real], None) => (fake.clone(), real.clone()),
        ([_, _], Some(_)) => {
            return Err("ProxyPassReverse can not have a path when defined in a location.".into());
        }
        _ => {
            return Err(
                "Invalid ProxyPassReverse parameter: write [path] URL [interpolate]".into(),
            );
        }
    };
    b.layer().reverse.push(ReverseRule {
        fake,
        real,
        interpolate,
    });
    Ok(())
}

/// `ProxyPassReverseCookieDomain internal public [interpolate]`
pub fn proxy_pass_reverse_cookie_domain(b: &mut Build, args: &Args) -> Result<(), String> {
    let pair = cookie_pair(b, args)?;
    b.layer().cookie_domain.push(pair);
    Ok(())
}

/// `ProxyPassReverseCookiePath internal public [interpolate]`
pub fn proxy_pass_reverse_cookie_path(b: &mut Build, args: &Args) -> Result<(), String> {
    let pair = cookie_pair(b, args)?;
    b.layer().cookie_path.push(pair);
    Ok(())
}

fn cookie_pair(b: &Build, args: &Args) -> Result<(String, String), String> {
    if let Some(word) = args.opt(2) {
        if !word.eq_ignore_ascii_case("interpolate") {
            return Err(format!(
                "{}: the third word can only be interpolate, not \"{word}\"",
                b.directive
            ));
        }
        if args.words.iter().any(|w| w.contains("${")) {
            return Err(format!(
                "{}: variables (interpolate) are not there in this version of muster",
                b.directive
            ));
        }
    }
    Ok((args.get(0).to_string(), args.get(1).to_string()))
}

/// `ProxyPassInterpolateEnv On|Off`
pub fn proxy_pass_interpolate_env(b: &mut Build, args: &Args) -> Result<(), String> {
    b.layer().interpolate_env = Some(args.flag());
    Ok(())
}

/// `ProxyPassInherit On|Off`
pub fn proxy_pass_inherit(b: &mut Build, args: &Args) -> Result<(), String> {
    b.server().proxy.pass_inherit = Some(args.flag());
    Ok(())
}

/// `ProxyPreserveHost On|Off`
pub fn proxy_preserve_host(b: &mut Build, args: &Args) -> Result<(), String> {
    b.layer().preserve_host = Some(args.flag());
    Ok(())
}

/// `ProxyAddHeaders On|Off`
pub fn proxy_add_headers(b: &mut Build, args: &Args) -> Result<(), String> {
    b.layer().add_headers = Some(args.flag());
    Ok(())
}

/// `Proxy100Continue On|Off`
pub fn proxy_100_continue(b: &mut Build, args: &Args) -> Result<(), String> {
    b.layer().continue_100 = Some(args.flag());
    Ok(())
}

/// `ProxyVia Off|On|Full|Block`
pub fn proxy_via(b: &mut Build, args: &Args) -> Result<(), String> {
    let value = match args.get(0).to_ascii_lowercase().as_str() {
        "off" => Via::Off,
        "on" => Via::On,
        "full" => Via::Full,
        "block" => Via::Block,
        _ => return Err("ProxyVia must be one of: off | on | full | block".into()),
    };
    b.server().proxy.via = Some(value);
    Ok(())
}

/// `ProxyErrorOverride Off|On [code ...]`; the codes of several lines come together.
pub fn proxy_error_override(b: &mut Build, args: &Args) -> Result<(), String> {
    let on =
        flag(args.get(0)).ok_or("ProxyErrorOverride first parameter must be one of: off | on")?;
    let mut codes = Vec::new();
    for word in args.rest(1) {
        let code = number::<u16>(word)
            .filter(|c| (400..=599).contains(c))
            .ok_or_else(|| {
                format!("ProxyErrorOverride: status codes to intercept must be valid HTTP Status Codes >=400 && <600 (\"{word}\")")
            })?;
        codes.push(code);
    }
    if !on && !codes.is_empty() {
        return Err("ProxyErrorOverride: status codes must follow a value of 'on'".into());
    }
    let layer = b.layer();
    let mut value = layer.error_override.take().unwrap_or_default();
    // A line without codes means all of them, whatever other lines list.
    let all = codes.is_empty() || (value.on && value.codes.is_empty());
    value = ErrorOverride {
        on,
        codes: if all {
            Vec::new()
        } else {
            [value.codes, codes].concat()
        },
    };
    value.codes.sort_unstable();
    value.codes.dedup();
    layer.error_override = Some(value);
    Ok(())
}

/// `ProxyBadHeader IsError|Ignore|StartBody`
pub fn proxy_bad_header(b: &mut Build, args: &Args) -> Result<(), String> {
    let value = match args.get(0).to_ascii_lowercase().as_str() {
        "iserror" => BadHeader::IsError,
        "ignore" => BadHeader::Ignore,
        "startbody" => BadHeader::StartBody,
        _ => return Err("ProxyBadHeader must be one of: IsError | Ignore | StartBody".into()),
    };
    if value != BadHeader::IsError {
        b.warn(format!(
            "ProxyBadHeader {}: a backend's malformed header is answered 502 all the same",
            args.get(0)
        ));
    }
    b.server().proxy.bad_header = Some(value);
    Ok(())
}

/// `ProxyTimeout seconds`
pub fn proxy_timeout(b: &mut Build, args: &Args) -> Result<(), String> {
    let value = interval(args.get(0), Unit::Seconds)
        .filter(|d| !d.is_zero())
        .ok_or_else(|| {
            format!(
                "Proxy Timeout must be at least 1 second. (\"{}\"; {TIME_FORM}, and not 0)",
                args.get(0)
            )
        })?;
    b.server().proxy.timeout = Some(value);
    Ok(())
}

/// `ProxyIOBufferSize bytes`
pub fn proxy_io_buffer_size(b: &mut Build, args: &Args) -> Result<(), String> {
    let value = match number::<usize>(args.get(0)) {
        Some(0) => 8192,
        Some(n) if (512..=0x7fff_ffff).contains(&n) => n,
        _ => return Err("ProxyIOBufferSize must be >= 512 bytes, or 0 for system default.".into()),
    };
    b.server().proxy.io_buffer = Some(value);
    Ok(())
}

/// `ProxyReceiveBufferSize bytes`
pub fn proxy_receive_buffer_size(b: &mut Build, args: &Args) -> Result<(), String> {
    let value = number::<u32>(args.get(0))
        .filter(|n| *n == 0 || (512..=0x7fff_ffff).contains(n))
        .ok_or("ProxyReceiveBufferSize must be >= 512 bytes, or 0 for system default.")?;
    b.server().proxy.receive_buffer = Some(value);
    Ok(())
}

/// `ProxyMaxForwards n`; below 0: not added
pub fn proxy_max_forwards(b: &mut Build, args: &Args) -> Result<(), String> {
    let text = args.get(0);
    let value = match text.strip_prefix('-') {
        Some(rest) if number::<u64>(rest).is_some() => None,
        _ => Some(
            number::<u64>(text)
                .ok_or_else(|| format!("ProxyMaxForwards must be a number, not \"{text}\""))?,
        ),
    };
    b.server().proxy.max_forwards = Some(value);
    Ok(())
}

/// `ProxyBlock word ...`
pub fn proxy_block(b: &mut Build, args: &Args) -> Result<(), String> {
    let words = args.words.clone();
    b.server().proxy.block.extend(words);
    Ok(())
}

/// `ProxySourceAddress address`
pub fn proxy_source_address(b: &mut Build, args: &Args) -> Result<(), String> {
    let value = args.get(0).parse().map_err(|_| {
        format!(
            "ProxySourceAddress invalid value: \"{}\" is no IP address",
            args.get(0)
        )
    })?;
    b.server().proxy.source_address = Some(value);
    Ok(())
}

/// `ProxyStatus Off|On|Full`
pub fn proxy_status(b: &mut Build, args: &Args) -> Result<(), String> {
    let value = match args.get(0).to_ascii_lowercase().as_str() {
        "off" => ProxyStatus::Off,
        "on" => ProxyStatus::On,
        "full" => ProxyStatus::Full,
        _ => return Err("ProxyStatus must be one of: off | on | full".into()),
    };
    b.server().proxy.status = Some(value);
    Ok(())
}
