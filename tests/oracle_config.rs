//! The same configuration to apache2 and to muster: both take it or both refuse it, for the same
//! line and in the same words. Skipped where apache2 is not installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use muster::config::build::{Invocation, Loaded, load};
use muster::config::dump;

const APACHE: &str = "/usr/sbin/apache2";
const MODULES: &str = "/usr/lib/apache2/modules";

/// What every text starts with; both sides count these lines.
fn prelude(dir: &Path) -> String {
    let modules = [
        "mpm_event",
        "authz_core",
        "authz_host",
        "access_compat",
        "alias",
        "dir",
        "env",
        "macro",
        "mime",
        "proxy",
        "proxy_http",
        "setenvif",
        "slotmem_shm",
        "proxy_balancer",
        "lbmethod_byrequests",
        "status",
        "reqtimeout",
        "allowmethods",
    ];
    let mut text: String = modules
        .iter()
        .map(|m| format!("LoadModule {m}_module {MODULES}/mod_{m}.so\n"))
        .collect();
    let dir = dir.display();
    text.push_str(&format!(
        "ServerRoot {dir}\nErrorLog error.log\nPidFile pid\nServerName main.test\nTypesConfig /dev/null\nDocumentRoot {dir}\n"
    ));
    text
}

struct Room {
    dir: PathBuf,
}

impl Room {
    fn new(name: &str) -> Option<Room> {
        if !Path::new(APACHE).exists() {
            eprintln!("apache2 is not installed: nothing to compare with");
            return None;
        }
        let dir = std::env::temp_dir().join(format!("muster-oracle-{name}-{}", std::process::id()));
        fs::create_dir_all(dir.join("empty")).unwrap();
        fs::create_dir_all(dir.join("inc/sub")).unwrap();
        fs::write(dir.join("inc/a.cnf"), "SetEnv A 1\n").unwrap();
        fs::write(dir.join("inc/b.cnf"), "# b\nInclude inc/sub/*.cnf\n").unwrap();
        fs::write(dir.join("inc/sub/c.cnf"), "SetEnv C 1\n").unwrap();
        fs::write(dir.join("bad.cnf"), "# one\n# two\n</Location>\n").unwrap();
        fs::write(dir.join("worse.cnf"), "\nNoSuchThing\n").unwrap();
        fs::write(dir.join("chain.cnf"), "#\n#\nInclude bad.cnf\n").unwrap();
        fs::write(dir.join("open.cnf"), "<Location /x>\n").unwrap();
        Some(Room { dir })
    }

    fn write(&self, text: &str) -> PathBuf {
        let file = self.dir.join("main.conf");
        fs::write(&file, prelude(&self.dir) + text).unwrap();
        file
    }

    /// What apache2 says, without its notes: nothing when it takes the file.
    fn apache(&self, file: &Path, args: &[&str]) -> (bool, String, String) {
        let out = Command::new(APACHE)
            .arg("-f")
            .arg(file)
            .args(args)
            .env_clear()
            .output()
            .unwrap();
        let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
        (out.status.success(), text(&out.stdout), text(&out.stderr))
    }

    fn muster(&self, file: &Path) -> Loaded {
        load(&Invocation {
            program: "apache2".into(),
            file: Some(file.to_path_buf()),
            ..Invocation::default()
        })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Lines of a refusal; apache2's log doubles backslashes in what it quotes.
fn refusal(stderr: &str) -> Vec<String> {
    let noise = |l: &&str| {
        !l.starts_with('[') && !l.contains("AH00558") && *l != "Syntax OK" && !l.is_empty()
    };
    let lines = stderr.lines().filter(noise);
    lines
        .map(|l| l.replace("\\\\", "\\").replace("\\n\\t", " "))
        .collect()
}

/// Texts that both must take.
const TAKEN: &[&str] = &[
    "",
    "# comment \\\nNoSuchThing\nTimeout 5",
    "Time\\\nout\\\n 5",
    "timeOUT 5\n<LOCATION /x>\n</location>",
    "\"Timeout\" '5'",
    "<Location \"/a b\">\nRequire all granted\n</Location>",
    "<IfModule mod_proxy.c>\nTimeout 5\n</IfModule>\n<IfModule mod_ssl.c>\nNoSuchThing\n<X>\n</X>\n</IfModule>",
    "<IfModule !ssl_module>\nTimeout 5\n</IfModule>",
    "<IfModule mod_proxy>\nNoSuchThing\n</IfModule>",
    "<IfDefine X>\nNoSuchThing\n</IfDefine>\nDefine X\n<IfDefine X>\nTimeout 5\n</IfDefine>",
    "<VirtualHost *:80>\nDefine X\n</VirtualHost>\n<IfDefine !X>\nNoSuchThing\n</IfDefine>",
    "Define X\nUnDefine X\n<IfDefine X>\nNoSuchThing\n</IfDefine>",
    "<IfVersion >= 2.4>\nTimeout 5\n</IfVersion>\n<IfVersion < 2.4>\nNoSuchThing\n</IfVersion>",
    "<IfVersion 2.4.71>\nTimeout 5\n</IfVersion>\n<IfVersion !~ ^2>\nNoSuchThing\n</IfVersion>",
    "<IfVersion = /^2.4/>\nTimeout 5\n</IfVersion>",
    "<IfFile main.conf>\nTimeout 5\n</IfFile>\n<IfFile nope>\nNoSuchThing\n</IfFile>",
    "<IfDirective ProxyPass>\nTimeout 5\n</IfDirective>\n<IfDirective Header>\nNoSuchThing\n</IfDirective>",
    "<IfSection Location>\nTimeout 5\n</IfSection>\n<IfSection Nope>\nNoSuchThing\n</IfSection>",
    "Include inc/*.cnf\nIncludeOptional nope.cnf\nIncludeOptional nope/*.cnf\nIncludeOptional nope*",
    "Include inc\nInclude empty",
    "<Location /x>\nInclude inc/a.cnf\n</Location>",
    "Define P inc\nInclude ${P}/a.cnf",
    "ServerAdmin ${NOPE}",
    "<Macro m $a $ab>\nServerAdmin $ab$a\n</Macro>\nUse M x y\nUndefMacro m",
    "<Macro v @n>\n<VirtualHost *:80>\nServerAdmin @n\n</VirtualHost>\n</Macro>\nUse v \"a b\"",
    "<Directory />\n<Limit GET POST>\nRequire all denied\n</Limit>\n</Directory>",
    "<Location /x>\nProxyPass http://127.0.0.1:9/\n</Location>",
    "<Proxy *>\nRequire all granted\n</Proxy>",
    "<Proxy balancer://b>\nBalancerMember http://127.0.0.1:9\nProxySet lbmethod=byrequests\n</Proxy>",
    "KeepAlive oN and more words",
    "LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so",
    "<Files x>\nRequire all granted\n</Files>",
    "RegexDefaultOptions DOTALL",
    "ErrorDocument 404 \"text",
];

/// Texts that both must refuse, for the same line and in the same words.
const REFUSED: &[&str] = &[
    "NoSuchThing",
    "Timeout 5\n\nNoSuchThing a b \\\n c \\\n d\nTimeout 6",
    "<NoSuchThing x>\n</NoSuchThing>",
    "ServerName foo # bar",
    "Timeout",
    "Timeout 1 2",
    "KeepAlive Perhaps",
    "LogLevel",
    "AddType x",
    "Define",
    "Define a:b c",
    "Require all granted",
    "<Location /x>\nListen 80\n</Location>",
    "<Location /x>\n<Location /y>\n</Location>\n</Location>",
    "<Location /x>\n<Files y>\n</Files>\n</Location>",
    "<VirtualHost *:80>\n<VirtualHost *:81>\n</VirtualHost>\n</VirtualHost>",
    "<VirtualHost *:80>\nPidFile x\n</VirtualHost>",
    "<VirtualHost *:80>\nRequire all granted\n</VirtualHost>",
    "<Directory />\nProxyPass / http://127.0.0.1:9/\n</Directory>",
    "<Files x>\nProxyPass / http://127.0.0.1:9/\n</Files>",
    "<Directory />\n<Limit GET>\n<Files x>\n</Files>\n</Limit>\n</Directory>",
    "<Limit GET>\n</Limit>",
    "<Location>\n</Location>",
    "<Location\n</Location>",
    "<Location /x\n</Location>",
    "<Location /x>\n</VirtualHost>",
    "</Location>",
    "<Location /x>\n</Location",
    "<Location /x>\n</Location >",
    "Timeout 5\n<VirtualHost *:80>\nTimeout 6",
    "<IfModule nope.c>\nTimeout 6",
    "<IfModule nope.c>\n<X>\n</Y>\n</IfModule>",
    "<IfModule mod_so.c>\n<Location /x>\n</IfModule>\n</Location>",
    "<IfModule>\n</IfModule>",
    "<IfDefine X\n</IfDefine>",
    "Include nope.cnf",
    "Include nope/*.cnf",
    "Include inc/*.nope",
    "Include bad.cnf",
    "Timeout 5\nInclude chain.cnf",
    "Include worse.cnf",
    "Include open.cnf\n</Location>",
    "Use m",
    "<Macro m $a>\nTimeout $a\n</Macro>\nUse m",
    "<Macro m $a>\nTimeout $a\n</Macro>\nUse other 5",
    "<Macro m $a>\n# one\nNoSuchThing $a\n</Macro>\nTimeout 5\nUse m 5",
    "<Macro m $a>\nUse m $a\n</Macro>\nUse m 5",
    "<Macro m>\nTimeout 5",
    "UndefMacro m",
    "<Macro m>\nTimeout 5\n</Macro>\nUndefMacro x",
    "<Macro m>\nTimeout 5\n</Macro>\nUse",
    "<Macro>\n</Macro>",
    "<Macro m $a $a>\n$a\n</Macro>",
    "<Macro m\n</Macro>",
    "<Macro m>\n\n# c\n\nNoSuchThing a\\\nb\n</Macro>\nUse m",
    "<IfVersion ?? 2.4>\n</IfVersion>",
    "<IfVersion > x>\n</IfVersion>",
    "<Location /x>\n<IfModule mod_so.c>\n</Location>\n</IfModule>",
    "UnDefine a:b",
    "Error",
    "Error stop here",
    "Error \"a b\"",
    "<Location /x>\n<Directory />\n</Directory>\n</Location>",
    "<LocationMatch \"(\">\n</LocationMatch>",
    "ServerRoot /nowhere",
    "DocumentRoot /nowhere/at/all",
    "Port 80",
    "FancyIndexing On",
    "<Proxy balancer://x>\nBalancerMember http://h loadfacter=2\n</Proxy>",
    "<Proxy balancer://x>\nBalancerMember http://h loadfactor = 2\n</Proxy>",
    "BalancerMember balancer://x http://h loadfactor = 2",
    "<Location /x>\nBalancerMember balancer://x http://h\n</Location>",
    "<Directory /x>\nBalancerMember balancer://x http://h route=a\n</Directory>",
    "<Location /x>\nBalancerMember http://h\n</Location>",
    "<Location /x>\nProxySet retry=3\n</Location>",
    "ProxySet retry=3",
];

#[test]
fn both_take_the_same_texts() {
    let Some(room) = Room::new("taken") else {
        return;
    };
    let mut wrong = Vec::new();
    for text in TAKEN {
        let file = room.write(text);
        let (fine, _, stderr) = room.apache(&file, &["-t"]);
        let ours = room.muster(&file).complaint_lines("apache2");
        if !fine || !ours.is_empty() {
            wrong.push(format!(
                "{text:?}\n  apache2: {:?}\n  muster: {ours:?}",
                refusal(&stderr)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn both_refuse_the_same_texts_in_the_same_words() {
    let Some(room) = Room::new("refused") else {
        return;
    };
    let mut wrong = Vec::new();
    for text in REFUSED {
        let file = room.write(text);
        let (fine, _, stderr) = room.apache(&file, &["-t"]);
        let theirs = refusal(&stderr);
        let ours = room.muster(&file).complaint_lines("apache2");
        // Behind httpd's words may stand more: the directive's help is our own, and a hint.
        let same = ours.len() >= theirs.len()
            && theirs.iter().zip(&ours).all(|(t, o)| {
                let head = t.split(", ").next().unwrap_or(t);
                o == t
                    || (t.contains("argument") && o.starts_with(head))
                    || o.starts_with(t.as_str())
            });
        if fine || theirs.is_empty() || !same {
            wrong.push(format!(
                "{text:?}\n  apache2: {theirs:#?}\n  muster: {ours:#?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Words of blanks, quotes and backslashes: what `Define` makes of them, as `Error` shows it.
#[test]
fn both_split_words_alike() {
    let Some(room) = Room::new("words") else {
        return;
    };
    let mut seed: u64 = 0x2545_f491_4f6c_dd1d;
    let mut random = move |n: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % n as u64) as usize
    };
    let pieces = [
        "a", "b", " ", "\t", "\"", "'", "\\", "\\\"", "\\'", "${", "}", "$", "X", "#", ">",
    ];
    for round in 0..150 {
        let length = 1 + random(8);
        let word: String = (0..length).map(|_| pieces[random(pieces.len())]).collect();
        let text = format!("Define X {word}\nError v:${{X}}:");
        let file = room.write(&text);
        let (_, _, stderr) = room.apache(&file, &["-t"]);
        let theirs = refusal(&stderr);
        let ours = room.muster(&file).complaint_lines("apache2");
        let cut = |lines: &[String]| {
            let last = lines
                .first()
                .filter(|l| l.contains("takes 1-2"))
                .or(lines.last());
            let last = last.cloned().unwrap_or_default();
            last.split(", ")
                .next()
                .unwrap_or_default()
                .replace("\\\\", "\\")
        };
        assert_eq!(
            cut(&theirs),
            cut(&ours),
            "round {round}: {text:?}\n{theirs:#?}\n{ours:#?}"
        );
    }
}

#[test]
fn both_list_virtual_hosts_and_files_alike() {
    let Some(room) = Room::new("dumps") else {
        return;
    };
    let file = room.write(
        "Include inc/*.cnf\nDefine FOO bar\nDefine BARE\n\
         <VirtualHost *:8081 127.0.0.1:8082>\nServerName a.test\nServerAlias aa.test *.wild.test bb.test\n</VirtualHost>\n\
         <VirtualHost *:8081>\nServerName b.test:99\n</VirtualHost>\n\
         <VirtualHost 127.0.0.1:8082>\nServerName c.test\n</VirtualHost>\n\
         <VirtualHost *>\nServerName d.test\n</VirtualHost>\n\
         <VirtualHost *>\nServerName y.test\n</VirtualHost>\n\
         <VirtualHost 127.0.0.2>\nServerName e.test\n</VirtualHost>\n\
         <VirtualHost [::1]:80>\nServerName f.test\n</VirtualHost>\n\
         <VirtualHost _default_:9000>\n</VirtualHost>\n\
         <VirtualHost *:70 10.0.0.1:5 127.0.0.1:80>\nServerName g.test\n</VirtualHost>\n",
    );
    let ours = room.muster(&file);
    let settings = ours.settings.as_ref().unwrap();
    let (_, theirs, _) = room.apache(&file, &["-t", "-D", "DUMP_VHOSTS"]);
    assert_eq!(dump::vhosts(settings), theirs);
    let (_, theirs, _) = room.apache(&file, &["-t", "-D", "DUMP_INCLUDES"]);
    assert_eq!(dump::includes(&ours.files), theirs);
    let (_, theirs, _) = room.apache(&file, &["-M"]);
    assert_eq!(dump::loaded_modules(settings), theirs);
    let (_, theirs, _) = room.apache(&file, &["-l"]);
    assert_eq!(dump::compiled_in(), theirs);
    let info = format!("LoadModule info_module {MODULES}/mod_info.so\n");
    let text = info + &fs::read_to_string(&file).unwrap();
    // mod_info forgets the closing tag of an empty section.
    let text = text.replace("_default_:9000>\n", "_default_:9000>\nServerName z.test\n");
    fs::write(&file, text).unwrap();
    let (_, theirs, _) = room.apache(&file, &["-t", "-D", "DUMP_CONFIG"]);
    assert_eq!(dump::config(&room.muster(&file).tree), theirs);
}
