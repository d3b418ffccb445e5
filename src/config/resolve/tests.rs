//! Reading: what becomes of guards, modules, brackets, and of what grows without end.

use std::path::Path;

use super::*;

/// Reads lines as if they stood on the command line.
fn read(text: &str) -> Resolved {
    let invocation = Invocation {
        program: "p".into(),
        before: text.lines().map(str::to_string).collect(),
        ..Invocation::default()
    };
    resolve(&invocation, Path::new("/dev/null"))
}

fn names(nodes: &[Node]) -> String {
    let name = |n: &Node| match n.section {
        true => format!("{}({})", n.name, names(&n.children)),
        false => n.name.clone(),
    };
    nodes.iter().map(name).collect::<Vec<_>>().join(" ")
}

fn texts(resolved: &Resolved) -> Vec<&str> {
    resolved
        .complaints
        .iter()
        .map(|c| c.text.as_str())
        .collect()
}

#[test]
fn guards_leave_no_trace_in_the_tree() {
    let got = read(
        "A\n<IfModule mod_so.c>\n<VirtualHost *>\nB\n<IfDefine X>\nC\n<D e>\n</D>\n</IfDefine>\n\
         Define X\n<IfDefine X>\nE\n</IfDefine>\n</VirtualHost>\n</IfModule>\nF",
    );
    assert_eq!(names(&got.tree), "A VirtualHost(B E) F");
    assert_eq!(texts(&got), [""; 0]);
    let vhost = &got.tree[1];
    assert_eq!((vhost.span.line, vhost.rest.as_str()), (3, "*>"));
}

#[test]
fn with_loadmodule_lines_only_what_is_loaded_counts_even_before_the_first() {
    let alone = read("<IfModule mod_proxy.c>\nA\n</IfModule>");
    assert_eq!(names(&alone.tree), "A");
    let text = "<IfModule mod_proxy.c>\nA\n</IfModule>\nLoadModule proxy_module x\n\
                <IfModule mod_proxy.c>\nB\n</IfModule>";
    let loading = read(text);
    assert_eq!(names(&loading.tree), "B");
    assert!(loading.modules.contains(&("proxy".to_string(), false)));
    assert!(loading.modules.contains(&("mpm_prefork".to_string(), true)));
    let skipped = read(
        "<IfModule mod_proxy.c>\nA\n</IfModule>\n<IfDefine X>\nLoadModule so_module x\n</IfDefine>",
    );
    assert_eq!(names(&skipped.tree), "");
    let event = read("<IfModule prefork.c>\nA\n</IfModule>\nLoadModule mpm_event_module x");
    assert_eq!(names(&event.tree), "");
}

#[test]
fn a_wrong_closing_tag_does_not_spoil_what_follows() {
    let got = read("<A x>\n<B y>\nC\n</A>\nD\n</B>\n<E z>\n</E");
    assert_eq!(names(&got.tree), "A(B(C)) D E()");
    assert_eq!(
        texts(&got),
        [
            "Expected </B> but saw </A>",
            "</B> without matching <B> section",
            "</E> directive missing closing '>'"
        ]
    );
}

#[test]
fn what_grows_without_end_is_stopped() {
    let mut bomb = String::from("Define V0 xxxxxxxxxxxxxxxx\n");
    for i in 1..64 {
        bomb.push_str(&format!("Define V{i} ${{V{}}}${{V{}}}\n", i - 1, i - 1));
    }
    let got = read(&bomb);
    assert_eq!(texts(&got), ["variables make the configuration too large"]);

    let mut macros = String::from("<Macro m0>\nA\n</Macro>\n");
    for i in 1..60 {
        let inner = i - 1;
        macros.push_str(&format!(
            "<Macro m{i}>\nUse m{inner}\nUse m{inner}\n</Macro>\n"
        ));
    }
    macros.push_str("Use m59");
    let got = read(&macros);
    assert_eq!(got.complaints.len(), 1, "{:?}", texts(&got));

    let deep = "<Location /x>\n".repeat(1000);
    let got = read(&deep);
    assert_eq!(texts(&got)[0], "sections are nested deeper than 128");
    let deep = format!("<IfDefine NO>\n{}", "<Location /x>\n".repeat(100_000));
    assert_eq!(
        texts(&read(&deep))[0],
        "sections are nested deeper than 128"
    );
}

#[test]
fn faults_are_counted_only_so_far() {
    let got = read(&"</X>\n".repeat(100_000));
    assert_eq!(got.complaints.len(), MAX_COMPLAINTS);
}

#[test]
fn a_file_that_includes_itself_ends_at_the_limit() {
    let dir = std::env::temp_dir().join(format!("muster-loop-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join("loop.conf");
    let line = format!("Include {}\n", file.display());
    std::fs::write(&file, line.repeat(2)).unwrap();
    let got = resolve(&Invocation::default(), &file);
    assert_eq!(
        texts(&got),
        ["Exceeded maximum include depth of 128, There appears to be a recursion."]
    );
    let huge = dir.join("huge.conf");
    std::fs::write(&huge, vec![b'#'; include::MAX_BYTES + 1]).unwrap();
    let got = resolve(&Invocation::default(), &huge);
    assert!(texts(&got)[0].ends_with("the configuration is larger than 64 MiB"));
    std::fs::write(&huge, b"A\nB\0C\n").unwrap();
    let got = resolve(&Invocation::default(), &huge);
    assert_eq!(got.complaints[0].span.line, 2);
    std::fs::remove_dir_all(dir).unwrap();
}
