//! What `-S`, `-M`, `-l`, `-L` and `-t -D DUMP_...` print, in httpd's layout.

use std::fmt::Write;
use std::net::IpAddr;
use std::path::PathBuf;

use super::modules::{self, Standing};
use super::registry::{self, ArgSpec, Class, Directive};
use super::settings::{HostAddress, LogTarget, Server, Settings};
use super::tree::Node;

/// What is shown in the place of a secret.
pub const HIDDEN: &str = "***";

/// `DUMP_VHOSTS`: which server answers on which address, with names and lines.
pub fn vhosts(settings: &Settings) -> String {
    let mut out = String::from("VirtualHost configuration:\n");
    for Bucket { address, servers } in buckets(settings) {
        let shown = shown(address);
        let [only] = servers[..] else {
            let port = address.port.map_or("*".to_string(), |p| p.to_string());
            let _ = writeln!(out, "{shown:<22} is a NameVirtualHost");
            for (i, server) in servers.iter().enumerate() {
                let name = format!("{} ({})", server.name, server.span);
                if i == 0 {
                    let _ = writeln!(out, "         default server {name}");
                }
                let _ = writeln!(out, "         port {port} namevhost {name}");
                for alias in &server.aliases {
                    let _ = writeln!(out, "                 alias {alias}");
                }
                for alias in &server.wild_aliases {
                    let _ = writeln!(out, "                 wild alias {alias}");
                }
            }
            continue;
        };
        let _ = writeln!(out, "{shown:<22} {} ({})", only.name, only.span);
    }
    out
}

/// An address and port that virtual hosts are bound to, and those that are, in file order.
struct Bucket<'a> {
    address: &'a HostAddress,
    servers: Vec<&'a Server>,
}

fn buckets(settings: &Settings) -> Vec<Bucket<'_>> {
    let mut out: Vec<Bucket<'_>> = Vec::new();
    for server in &settings.servers {
        for address in &server.addresses {
            let same =
                |b: &&mut Bucket<'_>| (b.address.ip, b.address.port) == (address.ip, address.port);
            match out.iter_mut().find(same) {
                Some(bucket) => bucket.servers.push(server),
                None => out.push(Bucket {
                    address,
                    servers: vec![server],
                }),
            }
        }
    }
    // httpd walks a hash table of explicit addresses first; its order is kept so that outputs
    // can be compared line by line.
    out.sort_by_key(|b| b.address.ip.map_or(usize::MAX, hash));
    out
}

/// httpd's `hash_addr`: of the address's last four bytes as a little-endian number.
fn hash(ip: IpAddr) -> usize {
    let last = match ip {
        IpAddr::V4(v4) => v4.octets(),
        IpAddr::V6(v6) => {
            let o = v6.octets();
            [o[12], o[13], o[14], o[15]]
        }
    };
    let key = u32::from_le_bytes(last);
    let key = key ^ (key >> 16);
    (((key >> 8) ^ key) % 256) as usize
}

fn shown(address: &HostAddress) -> String {
    let port = address.port.map_or("*".to_string(), |p| p.to_string());
    match address.ip {
        None => format!("*:{port}"),
        Some(IpAddr::V4(ip)) => format!("{ip}:{port}"),
        Some(IpAddr::V6(ip)) => format!("[{ip}]:{port}"),
    }
}

/// Whom children run as, for [`run_cfg`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Who {
    /// The user's name and number, where known.
    pub user: Option<(String, u32)>,
    /// The group's name and number, where known.
    pub group: Option<(String, u32)>,
}

/// `DUMP_RUN_CFG`: values of the whole instance.
pub fn run_cfg(settings: &Settings, who: Who) -> String {
    let process = &settings.process;
    let main = &settings.servers[0];
    let error_log = match settings.log_targets.get(main.error_log.index()) {
        Some(LogTarget::File(path)) => path.display().to_string(),
        Some(LogTarget::Pipe(words)) => format!("|{}", words.join(" ")),
        Some(LogTarget::ShellPipe(line)) => format!("|${line}"),
        Some(LogTarget::Syslog { facility, .. }) => format!("syslog:{facility}"),
        Some(LogTarget::Stderr) | None => "/dev/stderr".to_string(),
    };
    let mut out = String::new();
    let mut line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    line(format!(
        "ServerRoot: \"{}\"",
        settings.server_root.display()
    ));
    line(format!(
        "Main DocumentRoot: \"{}\"",
        main.document_root.display()
    ));
    line(format!("Main ErrorLog: \"{error_log}\""));
    line(format!(
        "Mutex default: dir=\"{}\" mechanism=fcntl ",
        process.runtime_dir.display()
    ));
    line(format!("PidFile: \"{}\"", process.pid_file.display()));
    for (name, value) in &settings.defines {
        line(match value {
            Some(value) => format!("Define: {name}={value}"),
            None => format!("Define: {name}"),
        });
    }
    let unknown = || ("#-1".to_string(), u32::MAX);
    let (user, uid) = who.user.unwrap_or_else(unknown);
    let (group, gid) = who.group.unwrap_or_else(unknown);
    line(format!("User: name=\"{user}\" id={uid}"));
    line(format!("Group: name=\"{group}\" id={gid}"));
    out
}

/// `-M`, `DUMP_MODULES`: the modules that count as loaded.
pub fn loaded_modules(settings: &Settings) -> String {
    let mut out = String::from("Loaded Modules:\n");
    for (id, fixed) in &settings.modules {
        let how = if *fixed { "static" } else { "shared" };
        let _ = writeln!(out, " {id}_module ({how})");
    }
    out
}

/// `-l`: the modules that always count as loaded.
pub fn compiled_in() -> String {
    let mut out = String::from("Compiled in modules:\n");
    let fixed = modules::all()
        .iter()
        .filter(|m| m.standing == Standing::Static);
    for module in fixed {
        let _ = writeln!(out, "  {}", module.source);
    }
    out
}

/// `DUMP_INCLUDES`: the files read, each with the line that named it.
pub fn includes(files: &[(u32, u32, PathBuf)]) -> String {
    let mut out = String::from("Included configuration files:\n");
    for (depth, line, path) in files {
        let indent = "  ".repeat(*depth as usize + 1);
        let number = match depth {
            0 => "*".to_string(),
            _ => line.to_string(),
        };
        let _ = writeln!(out, "{indent}({number}) {}", path.display());
    }
    out
}

/// `DUMP_CONFIG`: the directives as read, with their files and lines.
pub fn config(tree: &[Node]) -> String {
    let mut out = String::new();
    nodes(tree, 0, &mut String::new(), &mut out);
    out
}

fn nodes(tree: &[Node], depth: usize, file: &mut String, out: &mut String) {
    let indent = "  ".repeat(depth);
    for node in tree {
        if node.span.file.as_ref() != file.as_str() {
            *file = node.span.file.to_string();
            let _ = writeln!(out, "{indent}# In file: {file}");
        }
        let bracket = if node.section { "<" } else { "" };
        let blank = if node.rest.is_empty() || node.rest == ">" {
            ""
        } else {
            " "
        };
        let _ = writeln!(out, "{indent}#{:4}:", node.span.line);
        let rest = match node.name.eq_ignore_ascii_case("ProxyBeaconSecret") {
            true => HIDDEN,
            false => &node.rest,
        };
        let _ = writeln!(out, "{indent}{bracket}{}{blank}{rest}", node.name);
        if node.section {
            nodes(&node.children, depth + 1, file, out);
            let _ = writeln!(out, "{indent}</{}>", node.name);
        }
    }
}

/// `-L`: every directive of the table.
pub fn directives() -> String {
    let mut out = String::new();
    for d in registry::all() {
        let section = if d.section { ">" } else { "" };
        let _ = writeln!(out, "{}{section} ({}.c)", d.shown(), d.module);
        let _ = writeln!(out, "\t{}.", d.help);
        let _ = writeln!(out, "\tAllowed in {}; {}.", d.places, arguments(d));
        if !d.default.is_empty() {
            let _ = writeln!(out, "\tDefault: {}", d.default);
        }
        match d.class {
            Class::Works(_) | Class::Opens(_) | Class::OnRead => {}
            Class::NoMeaning(why) => {
                let _ = writeln!(out, "\tAccepted, has no meaning here: {why}.");
            }
            Class::NotYet(why) => {
                let _ = writeln!(out, "\tAccepted, has no effect yet: {why}.");
            }
            Class::NotThere => out.push_str("\tNot there yet: refused.\n"),
        }
    }
    out
}

fn arguments(d: &Directive) -> &'static str {
    match d.args {
        ArgSpec::None => "no arguments",
        ArgSpec::One => "one argument",
        ArgSpec::Two => "two arguments",
        ArgSpec::Three => "three arguments",
        ArgSpec::OneOrTwo => "one or two arguments",
        ArgSpec::TwoOrThree => "two or three arguments",
        ArgSpec::OneToThree => "one to three arguments",
        ArgSpec::OneOrThree => "one or three arguments",
        ArgSpec::Each => "one or more arguments",
        ArgSpec::EachAfterFirst => "two or more arguments",
        ArgSpec::Flag => "On or Off",
        ArgSpec::Raw if d.section => "an argument of its own form",
        ArgSpec::Raw => "arguments of their own form",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explicit_addresses_come_in_httpds_order() {
        let of = |text: &str| hash(text.parse().unwrap());
        assert_eq!([of("::1"), of("127.0.0.2"), of("127.0.0.1")], [1, 125, 126]);
    }

    #[test]
    fn includes_are_indented_by_depth() {
        let files = [
            (0, 0, "/m".into()),
            (1, 12, "/a".into()),
            (2, 1, "/b".into()),
        ];
        assert_eq!(
            includes(&files),
            "Included configuration files:\n  (*) /m\n    (12) /a\n      (1) /b\n"
        );
    }

    #[test]
    fn every_directive_is_listed() {
        let listing = directives();
        assert!(listing.contains("ProxyPass (mod_proxy.c)\n\tMap a URL path to a backend.\n"));
        assert!(listing.contains("<Location> (core.c)\n"));
        assert!(compiled_in().ends_with("  mod_unixd.c\n"));
    }
}
