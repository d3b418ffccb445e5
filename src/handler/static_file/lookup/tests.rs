//! Names in a tree with links, devices and a secret beside it.

use super::*;
use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;

/// A root with files, and something beside it; removed when dropped.
struct Tree(PathBuf);

impl Tree {
    fn new(name: &str) -> Tree {
        let top = std::env::temp_dir().join(format!("muster-find-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&top);
        fs::create_dir_all(top.join("root/a/b")).unwrap();
        fs::create_dir_all(top.join("outside")).unwrap();
        fs::write(top.join("root/a/file.txt"), "inside").unwrap();
        fs::write(top.join("outside/secret"), "secret").unwrap();
        Tree(top)
    }

    fn root(&self) -> PathBuf {
        self.0.join("root")
    }

    fn find(&self, rest: &str, links: Links) -> Found {
        find(&self.root(), rest.as_bytes(), &|_| links)
    }

    fn text(&self, rest: &str, links: Links) -> Option<String> {
        match self.find(rest, links) {
            Found::File(mut open) => {
                let mut text = String::new();
                open.file.read_to_string(&mut text).unwrap();
                assert_eq!(open.size, text.len() as u64);
                Some(text)
            }
            _ => None,
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const ALL: [Links; 4] = [Links::Never, Links::SameOwner, Links::Inside, Links::Always];

#[test]
fn files_and_directories() {
    let tree = Tree::new("plain");
    for links in ALL {
        assert_eq!(tree.text("/a/file.txt", links).as_deref(), Some("inside"));
        assert_eq!(tree.text("a//file.txt", links).as_deref(), Some("inside"));
        for directory in ["", "/", "/a", "/a/", "/a/b"] {
            assert!(
                matches!(tree.find(directory, links), Found::Directory),
                "{directory}"
            );
        }
        for missing in ["/x", "/a/x", "/x/y", "/a/b/c/d"] {
            assert!(
                matches!(tree.find(missing, links), Found::Missing),
                "{missing}"
            );
        }
        for dots in [
            "/..",
            "/../outside/secret",
            "/a/../../outside/secret",
            "/./a",
        ] {
            assert!(
                matches!(tree.find(dots, links), Found::Denied(Denial::Kind)),
                "{dots}"
            );
        }
        let long = format!("/{}", "a".repeat(300));
        let denied = tree.find(&long, links);
        assert!(matches!(
            denied,
            Found::Denied(Denial::System(libc::ENAMETOOLONG))
        ));
    }
    let Found::File(open) = tree.find("/a/file.txt/more/x", Links::Never) else {
        panic!("the file is there");
    };
    assert_eq!(open.path_info, b"/more/x");
    // The root may be a file: Alias /x /path/file.
    let file = tree.root().join("a/file.txt");
    assert!(matches!(
        find(&file, b"", &|_| Links::Never),
        Found::File(_)
    ));
    assert!(matches!(
        find(&tree.root().join("none"), b"/", &|_| Links::Never),
        Found::Missing
    ));
}

#[test]
fn what_is_no_file_is_never_opened() {
    let tree = Tree::new("fifo");
    nix::unistd::mkfifo(&tree.root().join("fifo"), Mode::S_IRWXU).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(tree.root().join("socket")).unwrap();
    symlink("/dev/zero", tree.root().join("zero")).unwrap();
    for name in ["/fifo", "/socket"] {
        assert!(
            matches!(tree.find(name, Links::Always), Found::Denied(Denial::Kind)),
            "{name}"
        );
    }
    assert!(matches!(
        tree.find("/zero", Links::Always),
        Found::Denied(Denial::Kind)
    ));
}

#[test]
fn links_only_as_options_say() {
    let tree = Tree::new("links");
    let root = tree.root();
    symlink("a/file.txt", root.join("near")).unwrap();
    symlink(root.join("a"), root.join("absolute")).unwrap();
    symlink("../outside/secret", root.join("out")).unwrap();
    symlink(tree.0.join("outside"), root.join("out-dir")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    symlink("loop", root.join("loop")).unwrap();

    let link = |found: Found| matches!(found, Found::Denied(Denial::Link));
    for name in [
        "/near",
        "/absolute/file.txt",
        "/out",
        "/out-dir/secret",
        "/dangling",
        "/loop",
    ] {
        assert!(link(tree.find(name, Links::Never)), "{name}");
    }
    for name in ["/near", "/absolute/file.txt"] {
        for links in [Links::SameOwner, Links::Inside, Links::Always] {
            assert_eq!(
                tree.text(name, links).as_deref(),
                Some("inside"),
                "{name} {links:?}"
            );
        }
    }
    for name in ["/out", "/out-dir/secret"] {
        assert!(link(tree.find(name, Links::Inside)), "{name}");
        assert_eq!(
            tree.text(name, Links::Always).as_deref(),
            Some("secret"),
            "{name}"
        );
        assert_eq!(
            tree.text(name, Links::SameOwner).as_deref(),
            Some("secret"),
            "{name}"
        );
    }
    for name in ["/dangling", "/loop"] {
        assert!(link(tree.find(name, Links::Always)), "{name}");
    }
    symlink("/proc/self/environ", root.join("env")).unwrap();
    assert!(link(tree.find("/env", Links::Inside)));

    // A directory beside the root whose name begins with the root's is not inside.
    fs::create_dir(tree.0.join("root2")).unwrap();
    fs::write(tree.0.join("root2/f"), "x").unwrap();
    symlink("../root2/f", root.join("beside")).unwrap();
    assert!(link(tree.find("/beside", Links::Inside)));
    // The root itself may be reached by a link.
    symlink(&root, tree.0.join("www")).unwrap();
    let found = find(&tree.0.join("www"), b"/near", &|_| Links::Inside);
    assert!(matches!(found, Found::File(_)));
}

#[test]
fn each_directory_has_its_options() {
    let tree = Tree::new("options");
    symlink("../a/file.txt", tree.root().join("a/link")).unwrap();
    symlink("a", tree.root().join("b")).unwrap();
    let inner = tree.root().join("a");
    let links = |path: &Path| match path == inner {
        true => Links::Always,
        false => Links::Never,
    };
    assert!(matches!(
        find(&tree.root(), b"/a/link", &links),
        Found::File(_)
    ));
    assert!(matches!(
        find(&tree.root(), b"/b/link", &links),
        Found::Denied(Denial::Link)
    ));
}
