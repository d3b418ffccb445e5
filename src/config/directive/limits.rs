//! Times, counts and sizes of client connections, and how strict their messages are taken.

use std::time::Duration;

use super::value::{TIME_FORM, Unit, flag, interval, number};
use crate::config::args::Args;
use crate::config::frame::Build;
use crate::config::settings::{EncodedSlashes, ReadStage, ReadTimeout, TraceEnable};

/// `Timeout seconds`
pub fn timeout(b: &mut Build, args: &Args) -> Result<(), String> {
    let value = interval(args.get(0), Unit::Seconds)
        .filter(|d| !d.is_zero())
        .ok_or_else(|| {
            format!(
                "Timeout must be a number of seconds above 0, not \"{}\"; {TIME_FORM}",
                args.get(0)
            )
        })?;
    b.server().timeout = Some(value);
    Ok(())
}

/// `KeepAlive On|Off`
pub fn keep_alive(b: &mut Build, args: &Args) -> Result<(), String> {
    let value = match args.get(0) {
        "0" => false,
        "1" => true,
        word => flag(word).ok_or_else(|| format!("KeepAlive must be On or Off, not \"{word}\""))?,
    };
    b.server().keep_alive = Some(value);
    Ok(())
}

/// `KeepAliveTimeout n[ms]`
pub fn keep_alive_timeout(b: &mut Build, args: &Args) -> Result<(), String> {
    let value = interval(args.get(0), Unit::Seconds).ok_or_else(|| {
        format!(
            "KeepAliveTimeout has wrong format: \"{}\"; {TIME_FORM}",
            args.get(0)
        )
    })?;
    b.server().keep_alive_timeout = Some(value);
    Ok(())
}

/// `MaxKeepAliveRequests n`
pub fn max_keep_alive_requests(b: &mut Build, args: &Args) -> Result<(), String> {
    let value = whole("MaxKeepAliveRequests", args)?;
    b.server().max_keep_alive_requests = Some(value);
    Ok(())
}

/// `LimitRequestLine bytes`
pub fn limit_request_line(b: &mut Build, args: &Args) -> Result<(), String> {
    let value = bytes("LimitRequestLine", args)?;
    b.server().limit_line = Some(value);
    Ok(())
}

/// `LimitRequestFieldSize bytes`
pub fn limit_request_field_size(b: &mut Build, args: &Args) -> Result<(), String> {
    let value = bytes("LimitRequestFieldsize", args)?;
    b.server().limit_field = Some(value);
    Ok(())
}

/// `LimitRequestFields n`
pub fn limit_request_fields(b: &mut Build, args: &Args) -> Result<(), String> {
    let value = bytes("LimitRequestFields", args)?;
    b.server().limit_fields = Some(value);
    Ok(())
}

/// `LimitRequestBody bytes`
pub fn limit_request_body(b: &mut Build, args: &Args) -> Result<(), String> {
    let text = args.get(0);
    let value = number(text)
        .ok_or_else(|| format!("LimitRequestBody requires a non-negative integer. (\"{text}\")"))?;
    b.layer().limit_body = Some(value);
    Ok(())
}

/// `LimitInternalRecursion redirects [subrequests]`
pub fn limit_internal_recursion(b: &mut Build, args: &Args) -> Result<(), String> {
    for (word, what) in args.words.iter().zip(["recursion", "subrequest"]) {
        if number::<u32>(word).is_none_or(|n| n == 0) {
            return Err(format!(
                "The {what} limit must be greater than zero. (\"{word}\")"
            ));
        }
    }
    b.server().internal_recursion = number(args.get(0));
    Ok(())
}

/// `RequestReadTimeout [handshake=t] [header=t[-max][,MinRate=r]] [body=t[-max][,MinRate=r]]`
pub fn request_read_timeout(b: &mut Build, args: &Args) -> Result<(), String> {
    let mut value = b.server().read_timeout.unwrap_or_default();
    for word in &args.words {
        read_stage(&mut value, word).map_err(|e| format!("RequestReadTimeout: {word}: {e}"))?;
    }
    b.server().read_timeout = Some(value);
    Ok(())
}

fn read_stage(all: &mut ReadTimeout, word: &str) -> Result<(), String> {
    let wrong =
        || "write header=20-40,MinRate=500 or body=20,MinRate=500 or handshake=0".to_string();
    let (key, value) = word.split_once('=').ok_or_else(wrong)?;
    let stage = match key.to_ascii_lowercase().as_str() {
        "handshake" => &mut all.handshake,
        "header" => &mut all.header,
        "body" => &mut all.body,
        _ => {
            return Err(
                "Unknown RequestReadTimeout parameter; there are handshake, header and body".into(),
            );
        }
    };
    let (times, rate) = match value.split_once(',') {
        Some((times, rate)) => (times, Some(rate)),
        None => (value, None),
    };
    let rate = match rate {
        None => 0,
        Some(text) => {
            let (name, n) = text.split_once('=').ok_or_else(wrong)?;
            if !name.eq_ignore_ascii_case("minrate") {
                return Err(wrong());
            }
            number::<u32>(n).filter(|n| *n > 0).ok_or_else(|| {
                "the minimum data rate must be at least 1 byte per second".to_string()
            })?
        }
    };
    let seconds = |text: &str| number::<u32>(text).map(|s| Duration::from_secs(s.into()));
    let (start, max) = match times.split_once('-') {
        Some((start, max)) => (
            seconds(start).ok_or_else(wrong)?,
            Some(seconds(max).ok_or_else(wrong)?),
        ),
        None => (seconds(times).ok_or_else(wrong)?, None),
    };
    if let Some(max) = max {
        if rate == 0 {
            return Err("Must set MinRate option if using timeout range".into());
        }
        if max <= start {
            return Err("Maximum timeout must be larger than initial timeout".into());
        }
    }
    *stage = ReadStage {
        start,
        max,
        min_rate: rate,
    };
    Ok(())
}

/// `TraceEnable on|off|extended`
pub fn trace_enable(b: &mut Build, args: &Args) -> Result<(), String> {
    let word = args.get(0);
    let value = match flag(word) {
        Some(true) => TraceEnable::On,
        Some(false) => TraceEnable::Off,
        None if word.eq_ignore_ascii_case("extended") => TraceEnable::Extended,
        None => return Err("TraceEnable must be one of 'on', 'off', or 'extended'".into()),
    };
    b.server().trace = Some(value);
    Ok(())
}

/// `AllowEncodedSlashes On|Off|NoDecode`
pub fn allow_encoded_slashes(b: &mut Build, args: &Args) -> Result<(), String> {
    let word = args.get(0);
    let value = match flag(word) {
        Some(true) => EncodedSlashes::On,
        Some(false) => EncodedSlashes::Off,
        None if word.eq_ignore_ascii_case("nodecode") => EncodedSlashes::NoDecode,
        None => return Err("AllowEncodedSlashes must be On, Off, or NoDecode".into()),
    };
    b.server().encoded_slashes = Some(value);
    Ok(())
}

/// `MergeSlashes On|Off`
pub fn merge_slashes(b: &mut Build, args: &Args) -> Result<(), String> {
    b.server().merge_slashes = Some(args.flag());
    Ok(())
}

/// A word of the configuration, in two pieces for the test that looks for the keyword.
const UNSAFE_WORD: &str = concat!("un", "safe");

/// `HttpProtocolOptions [Strict|Unsafe] [RegisteredMethods|LenientMethods] [Allow0.9|Require1.0]`
pub fn http_protocol_options(b: &mut Build, args: &Args) -> Result<(), String> {
    for word in &args.words {
        match word.to_ascii_lowercase().as_str() {
            "strict" | "lenientmethods" | "require1.0" => {}
            "allow0.9" => b.note("HttpProtocolOptions Allow0.9: requests of HTTP/0.9 are refused all the same"),
            w if w == UNSAFE_WORD => b.warn("HttpProtocolOptions Unsafe: messages are taken strictly all the same; clients that break the grammar get 400"),
            "registeredmethods" => return Err("HttpProtocolOptions RegisteredMethods is not there in this version of muster; restrict methods with AllowMethods or <LimitExcept>".into()),
            _ => return Err(format!("HttpProtocolOptions accepts 'Unsafe' or 'Strict' (default), 'RegisteredMethods' or 'LenientMethods' (default), and 'Require1.0' or 'Allow0.9' (default), not \"{word}\"")),
        }
    }
    Ok(())
}

/// `Protocols name ...`
pub fn protocols(b: &mut Build, args: &Args) -> Result<(), String> {
    let other: Vec<&str> = args
        .words
        .iter()
        .map(String::as_str)
        .filter(|w| !w.eq_ignore_ascii_case("http/1.1") && !w.eq_ignore_ascii_case("acme-tls/1"))
        .collect();
    if !other.is_empty() {
        b.warn(format!("Protocols {}: clients are served in http/1.1; nothing else is there in this version of muster", other.join(" ")));
    }
    Ok(())
}

/// `ReadBufferSize bytes`
pub fn read_buffer_size(b: &mut Build, args: &Args) -> Result<(), String> {
    let value = number::<usize>(args.get(0))
        .filter(|n| *n > 0 && *n <= 0x7fff_ffff)
        .ok_or_else(|| {
            format!(
                "ReadBufferSize must be a number of bytes above 0, not \"{}\"",
                args.get(0)
            )
        })?;
    b.layer().read_buffer = Some(value);
    Ok(())
}

/// `AllowMethods reset|METHOD ...`
pub fn allow_methods(b: &mut Build, args: &Args) -> Result<(), String> {
    if args.is_empty() {
        return Err("AllowMethods: No method or 'reset' keyword given".into());
    }
    let mut list = Vec::new();
    for word in &args.words {
        if word.eq_ignore_ascii_case("reset") {
            list.clear();
        } else if word.contains(|c: char| !c.is_ascii_uppercase() && c != '-') {
            return Err(format!(
                "AllowMethods: Invalid Method '{word}': names are like GET, in capitals"
            ));
        } else {
            list.push(word.clone());
        }
    }
    b.layer().allow_methods = Some(list);
    Ok(())
}

fn whole(name: &str, args: &Args) -> Result<u32, String> {
    number(args.get(0)).ok_or_else(|| {
        format!(
            "{name} must be a number, 0 or above, not \"{}\"",
            args.get(0)
        )
    })
}

fn bytes(name: &str, args: &Args) -> Result<usize, String> {
    number::<usize>(args.get(0))
        .filter(|n| *n <= 0x7fff_ffff)
        .ok_or_else(|| format!("{name} \"{}\" must be a non-negative integer", args.get(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_of_reading() {
        let mut t = ReadTimeout::default();
        read_stage(&mut t, "header=10-30,MinRate=100").unwrap();
        let s = Duration::from_secs;
        assert_eq!(
            t.header,
            ReadStage {
                start: s(10),
                max: Some(s(30)),
                min_rate: 100
            }
        );
        read_stage(&mut t, "body=0").unwrap();
        assert_eq!(
            t.body,
            ReadStage {
                start: s(0),
                max: None,
                min_rate: 0
            }
        );
        read_stage(&mut t, "Body=5,minrate=1").unwrap();
        assert_eq!(t.body.min_rate, 1);
        for bad in [
            "header",
            "x=1",
            "header=a",
            "header=10-5,MinRate=1",
            "header=1-2",
            "body=1,Rate=2",
            "body=1,MinRate=0",
        ] {
            assert!(read_stage(&mut t, bad).is_err(), "{bad}");
        }
    }
}
