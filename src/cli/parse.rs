//! Words to meaning; nothing is done here.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::config::dump::HIDDEN;
use crate::supervisor::control::Verb;

/// What the words say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// `-d`
    pub server_root: Option<PathBuf>,
    /// `-f`
    pub file: Option<PathBuf>,
    /// `-C`
    pub before: Vec<String>,
    /// `-c`
    pub after: Vec<String>,
    /// `-D`, and what `-S` and `-M` stand for.
    pub defines: Vec<String>,
    /// `-e`
    pub startup_level: Option<u8>,
    /// `-E`
    pub startup_errors: Option<PathBuf>,
    /// `-k`
    pub verb: Option<Verb>,
    /// `-t`, `-S`, `-M`: check, show, do not start.
    pub test: bool,
    /// `-T`
    pub skip_document_root: bool,
    /// `-v`
    pub version: bool,
    /// `-V`
    pub long_version: bool,
    /// `-l`
    pub list_modules: bool,
    /// `-L`
    pub list_directives: bool,
    /// `-X`, `-DONE_PROCESS`, `-DDEBUG`
    pub single: bool,
    /// `-DFOREGROUND`, `-DNO_DETACH`
    pub foreground: bool,
    /// `--explain URL`
    pub explain: Option<String>,
    /// The words behind `scoreboard`.
    pub scoreboard: Option<Vec<OsString>>,
    /// The words behind `announce`.
    pub announce: Option<Vec<OsString>>,
    /// The words behind `beacon`.
    pub beacon: Option<Vec<OsString>>,
    /// All words.
    pub words: Vec<String>,
}

/// The words are wrong: what to say before the usage, if anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage(pub Option<String>);

/// Reads the words behind the program's name.
///
/// # Errors
/// [`Usage`] for `-h`, an unknown option, a missing or bad value, a second `-k`, a stray word.
pub fn parse(args: &[OsString]) -> Result<CommandLine, Usage> {
    let mut line = CommandLine {
        words: args
            .iter()
            .map(|w| w.to_string_lossy().into_owned())
            .collect(),
        ..CommandLine::default()
    };
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let word = word.to_string_lossy().into_owned();
        if word == "scoreboard" {
            line.scoreboard = Some(words.cloned().collect());
            return Ok(line);
        }
        let tool = match word.as_str() {
            "announce" => Some(&mut line.announce),
            "beacon" => Some(&mut line.beacon),
            _ => None,
        };
        if let Some(tool) = tool {
            *tool = Some(words.cloned().collect());
            return Ok(line);
        }
        if let Some(long) = word.strip_prefix("--") {
            let (name, attached) = match long.split_once('=') {
                Some((n, v)) => (n, Some(v.to_owned())),
                None => (long, None),
            };
            match name {
                "explain" => line.explain = Some(value("-explain", attached, &mut words)?),
                "version" => line.version = true,
                "help" => return Err(Usage(None)),
                _ => return Err(Usage(Some(format!("unknown option --{name}")))),
            }
            continue;
        }
        let Some(letters) = word.strip_prefix('-').filter(|l| !l.is_empty()) else {
            return Err(Usage(Some(format!("unexpected word {word:?}"))));
        };
        let mut rest = letters.chars();
        while let Some(letter) = rest.next() {
            if WITH_VALUE.contains(letter) {
                let attached = Some(rest.as_str().to_owned()).filter(|s| !s.is_empty());
                let value = value(&letter.to_string(), attached, &mut words)?;
                set_value(&mut line, letter, value)?;
                break;
            }
            set_flag(&mut line, letter)?;
        }
    }
    Ok(line)
}

const WITH_VALUE: &str = "dfCcDeEk";

fn value<'a>(
    option: &str,
    attached: Option<String>,
    words: &mut impl Iterator<Item = &'a OsString>,
) -> Result<String, Usage> {
    attached
        .or_else(|| words.next().map(|w| w.to_string_lossy().into_owned()))
        .ok_or_else(|| Usage(Some(format!("option requires an argument -- {option}"))))
}

fn set_value(line: &mut CommandLine, letter: char, value: String) -> Result<(), Usage> {
    match letter {
        'd' => line.server_root = Some(value.into()),
        'f' => line.file = Some(value.into()),
        'C' => line.before.push(value),
        'c' => line.after.push(value),
        'D' => define(line, value),
        'E' => line.startup_errors = Some(value.into()),
        'e' => match crate::log::level::number(&value) {
            Some(n) => line.startup_level = Some(n),
            None => return Err(Usage(Some(format!("bad level for -e: {value}")))),
        },
        _ => {
            if line.verb.is_some() {
                return Err(Usage(Some("-k may stand only once".into())));
            }
            let bad = || Usage(Some(format!("unknown word for -k: {value}")));
            line.verb = Some(Verb::parse(&value).ok_or_else(bad)?);
        }
    }
    Ok(())
}

fn set_flag(line: &mut CommandLine, letter: char) -> Result<(), Usage> {
    match letter {
        't' => line.test = true,
        'T' => line.skip_document_root = true,
        'S' => {
            line.test = true;
            define(line, "DUMP_VHOSTS".into());
            define(line, "DUMP_RUN_CFG".into());
        }
        'M' => {
            line.test = true;
            define(line, "DUMP_MODULES".into());
        }
        'v' => line.version = true,
        'V' => line.long_version = true,
        'l' => line.list_modules = true,
        'L' => line.list_directives = true,
        'X' => line.single = true,
        'h' => return Err(Usage(None)),
        other => return Err(Usage(Some(format!("illegal option -- {other}")))),
    }
    Ok(())
}

fn define(line: &mut CommandLine, name: String) {
    match name.as_str() {
        "FOREGROUND" | "NO_DETACH" => line.foreground = true,
        "ONE_PROCESS" | "DEBUG" => line.single = true,
        // httpd checks and shows for these without `-t` as well.
        n if n.starts_with("DUMP_") => line.test = true,
        _ => {}
    }
    line.defines.push(name);
}

impl CommandLine {
    /// All words for the log, without secrets: those of `ProxyBeaconSecret`, and the values of the
    /// `hidden` names.
    pub fn shown(&self, hidden: &[&str]) -> String {
        let mut text = String::from("muster");
        for word in &self.words {
            text.push(' ');
            text.push_str(&without_secrets(word, hidden));
        }
        text
    }
}

/// `-c` and `-C` lines may be attached to their letters, and several lines may be one word.
fn without_secrets(word: &str, hidden: &[&str]) -> String {
    let line = |line: &str| {
        let low = line.to_ascii_lowercase();
        let mut end = line.len();
        if let Some(at) = low.find("proxybeaconsecret") {
            let behind = at + "proxybeaconsecret".len();
            if !low[behind..].starts_with("file") {
                end = behind;
            }
        }
        if let Some(at) = low.find("define") {
            let rest = line[at + "define".len()..].trim_start();
            let name = rest.split_ascii_whitespace().next().unwrap_or_default();
            let plain = name.trim_matches(['"', '\'']);
            if hidden.contains(&plain) {
                let behind = line.len() - rest.len() + name.len();
                end = end.min(behind);
            }
        }
        match line[end..].trim().is_empty() {
            true => line.to_owned(),
            false => format!("{} {HIDDEN}", &line[..end]),
        }
    };
    word.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// The summary of all options.
pub fn usage(program: &str) -> String {
    format!(
        "Usage: {program} [-D name] [-d directory] [-f file]
              [-C \"directive\"] [-c \"directive\"]
              [-k start|restart|graceful|graceful-stop|stop]
              [-v] [-V] [-h] [-l] [-L] [-t] [-T] [-S] [-M] [-X]
       {program} [options] --explain URL
       {program} [options] scoreboard [--json | --watch] [FILE]
       {program} announce --to PROXY:PORT --url URL --secret-file FILE [-- COMMAND]
       {program} [options] beacon check | secret ...
Options:
  -D name            : define a name for use in <IfDefine name> directives
                       (FOREGROUND: do not go to the background;
                       ALLOW_WRITABLE_CONFIG: root starts although everybody may
                       write a configuration file)
  -d directory       : specify an alternate initial ServerRoot
  -f file            : specify an alternate ServerConfigFile
  -C \"directive\"     : process directive before reading config files
  -c \"directive\"     : process directive after reading config files
  -e level           : show startup errors of level (see LogLevel)
  -E file            : log startup errors to file
  -v                 : show version number
  -V                 : show compile settings
  -h                 : list available command line options (this page)
  -l                 : list compiled in modules
  -L                 : list available configuration directives
  -t -D DUMP_VHOSTS  : show parsed vhost settings
  -t -D DUMP_RUN_CFG : show parsed run settings
  -S                 : a synonym for -t -D DUMP_VHOSTS -D DUMP_RUN_CFG
  -t -D DUMP_MODULES : show all loaded modules
  -M                 : a synonym for -t -D DUMP_MODULES
  -t -D DUMP_INCLUDES: show all included configuration files
  -t -D DUMP_CONFIG  : show the configuration as it was understood
  -t                 : run syntax check for config files
  -T                 : start without DocumentRoot(s) check
  -X                 : debug mode (only one process, in the foreground)
  --explain URL      : print how a request for URL would travel; sends nothing
  scoreboard         : print what all processes are doing
  announce           : tell proxies of a backend (announce --help)
  beacon check       : judge announcements as a receiver would (beacon --help)
  beacon secret FILE : make a file with a random secret"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> Result<CommandLine, Usage> {
        let words: Vec<OsString> = words.split_whitespace().map(OsString::from).collect();
        parse(&words)
    }

    #[test]
    fn values_may_be_attached_and_letters_joined() {
        let line = read("-f a.conf -d/srv -DFOREGROUND -D X -tT -C Listen").unwrap();
        assert_eq!(line.file, Some("a.conf".into()));
        assert_eq!(line.server_root, Some("/srv".into()));
        assert_eq!(line.defines, ["FOREGROUND", "X"]);
        assert!(line.foreground && line.test && line.skip_document_root);
        assert_eq!(line.before, ["Listen"]);
        let line = read("-S").unwrap();
        assert_eq!(line.defines, ["DUMP_VHOSTS", "DUMP_RUN_CFG"]);
    }

    #[test]
    fn wrong_words_give_the_usage() {
        for (words, text) in [
            ("-q", "illegal option -- q"),
            ("-k", "option requires an argument -- k"),
            ("-k start -k stop", "-k may stand only once"),
            ("-k begin", "unknown word for -k: begin"),
            ("-e loud", "bad level for -e: loud"),
            ("--nothing", "unknown option --nothing"),
        ] {
            assert_eq!(read(words), Err(Usage(Some(text.into()))), "{words}");
        }
        assert_eq!(read("-h"), Err(Usage(None)));
        assert!(read("stray").is_err());
    }

    #[test]
    fn words_behind_scoreboard_are_its_own() {
        let line = read("-f a.conf scoreboard --json -x").unwrap();
        assert_eq!(line.scoreboard.unwrap(), ["--json", "-x"]);
    }

    #[test]
    fn no_secret_is_shown() {
        let shown = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            parse(&words).unwrap().shown(&["KEY"])
        };
        let secret = "hex:00112233445566778899aabbccddeeff";
        let own = format!("proxybeaconsecret {secret}");
        let attached = format!("-CProxyBeaconSecret\t\"{secret}\"");
        let define = format!("Define \"KEY\" {secret}");
        let lines = format!("Listen 80\n  ProxyBeaconSecret {secret}\nListen 81");
        let text = shown(&[
            "-f", "a.conf", "-c", &own, &attached, "-tc", &own, "-C", &define, "-c", &lines,
        ]);
        assert!(
            !text.contains("0011") && text.matches(HIDDEN).count() == 5,
            "{text}"
        );
        assert!(
            text.starts_with("muster -f a.conf -c proxybeaconsecret *** "),
            "{text}"
        );
        assert!(
            text.contains("Listen 80\n") && text.ends_with("\nListen 81"),
            "{text}"
        );
        let plain = [
            "-C",
            "Define OTHER x",
            "-c",
            "ProxyBeaconSecretFile /etc/key",
        ];
        assert_eq!(shown(&plain), format!("muster {}", plain.join(" ")));
    }
}
