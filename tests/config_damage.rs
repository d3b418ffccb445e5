//! Damaged configurations: lines cut, joined, swapped and mixed at random. Whatever comes of it,
//! reading ends, nothing panics, and what is refused is refused with a place and a reason.

use std::fs;
use std::path::{Path, PathBuf};

use muster::config::build::{Invocation, load};
use muster::config::diagnostic::Shape;
use muster::config::registry;

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/config")
}

/// Lines of all cases, and one of each directive with some words.
fn lines() -> Vec<String> {
    let mut files: Vec<PathBuf> = fs::read_dir(cases())
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "conf"))
        .filter(|p| !p.ends_with("loop.conf"))
        .collect();
    files.sort();
    let mut lines: Vec<String> = files
        .iter()
        .flat_map(|f| {
            fs::read_to_string(f)
                .unwrap()
                .lines()
                .map(str::to_string)
                .collect::<Vec<_>>()
        })
        .collect();
    let words = [
        "",
        "On",
        "x",
        "/x http://127.0.0.1:9/",
        "5 5 5",
        "balancer://b a=b",
        "\"\" ''",
        "~ (",
    ];
    for (i, d) in registry::all().enumerate() {
        if d.name == "Include" || d.name == "IncludeOptional" {
            continue;
        }
        let word = words[i % words.len()];
        match d.section {
            true => lines.extend([format!("<{} {word}>", d.name), format!("</{}>", d.name)]),
            false => lines.push(format!("{} {word}", d.name)),
        }
    }
    lines
}

#[test]
fn damaged_texts_are_refused_in_good_order() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let lines = lines();
    let file = std::env::temp_dir().join(format!("muster-damage-{}.conf", std::process::id()));
    for round in 0..600 {
        let mut text = Vec::new();
        for _ in 0..random.below(40) {
            let mut line = lines[random.below(lines.len())].clone().into_bytes();
            match random.below(8) {
                0 => line.truncate(random.below(line.len() + 1)),
                1 => {
                    let at = random.below(line.len() + 1);
                    line.insert(
                        at,
                        [b'"', b'\\', b'<', b'>', b'$', 0xff, b'\'', b' '][random.below(8)],
                    );
                }
                2 => line.push(b'\\'),
                3 => {
                    let word = lines[random.below(lines.len())].clone();
                    line.extend_from_slice(word.as_bytes());
                }
                _ => {}
            }
            text.extend_from_slice(&line);
            if random.below(20) != 0 {
                text.push(b'\n');
            }
        }
        fs::write(&file, &text).unwrap();
        let loaded = load(&Invocation {
            program: "muster".into(),
            server_root: Some(cases()),
            file: Some(file.clone()),
            ..Invocation::default()
        });
        let shown = String::from_utf8_lossy(&text);
        assert_eq!(
            loaded.settings.is_some(),
            loaded.complaints.is_empty(),
            "{round}: {shown}"
        );
        for c in &loaded.complaints {
            assert!(!c.text.is_empty(), "{round}: {shown}");
            let placed = c.span.line > 0 || c.shape == Shape::Plain;
            assert!(placed, "{round}: {c:?}\n{shown}");
        }
    }
    fs::remove_file(file).unwrap();
}
