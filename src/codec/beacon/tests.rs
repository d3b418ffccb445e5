//! All vectors, the own fields, and mutated datagrams.

use std::collections::HashMap;

use serde_json::Value;

use super::key::{self, digits};
use super::*;

const VECTORS: &str = include_str!("../../../tests/data/beacon-vectors.json");

fn vectors() -> Value {
    serde_json::from_str(VECTORS).unwrap()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap())
        .collect()
}

fn list<'a>(v: &'a Value, name: &str) -> &'a Vec<Value> {
    v[name].as_array().unwrap()
}

#[test]
fn primitives() {
    for p in list(&vectors(), "primitives") {
        let key = unhex(p["key_hex"].as_str().unwrap());
        let input = unhex(p["input_hex"].as_str().unwrap());
        let output = match p["alg"].as_str().unwrap() {
            "siphash" => digits(&key::siphash(key[..].try_into().unwrap(), &input)),
            _ => digits(&key::hmac_sha256(&key, &input)),
        };
        assert_eq!(output, p["output_hex"].as_str().unwrap(), "{}", p["name"]);
    }
}

#[test]
fn secrets() {
    for k in list(&vectors(), "keys") {
        let secret = k["secret"].as_str().unwrap();
        let key = Key::of_secret(secret.as_bytes()).ok();
        let hex = key.map(|k| digits(&k.bytes()));
        assert_eq!(hex.as_deref(), k["key_hex"].as_str(), "{secret}");
    }
    let key = Key::of_secret(b"shown?").unwrap();
    assert_eq!(format!("{key:?}"), "Key(..)");
}

#[test]
fn origins() {
    for u in list(&vectors(), "urls") {
        let url = u["url"].as_str().unwrap();
        let origin = Origin::parse(url.as_bytes());
        let text = origin.as_ref().map(Origin::as_str);
        assert_eq!(text, u["canonical"].as_str(), "{url}");
    }
    for url in [
        "ftp://h",
        "http://[::1%25eth0]",
        "http://[::1]x",
        "http://h:+80",
        "http://h /",
        "http://\u{e4}",
    ] {
        assert_eq!(Origin::parse(url.as_bytes()), None, "{url}");
    }
}

fn datagram(step: &Value, key: &Key) -> Vec<u8> {
    if let Some(text) = step["datagram"].as_str() {
        return text.as_bytes().to_vec();
    }
    if let Some(hex) = step["datagram_hex"].as_str() {
        return unhex(hex);
    }
    let r = &step["datagram_repeat"];
    let fill = r["fill"].as_str().unwrap();
    let times = r["times"].as_u64().unwrap() as usize;
    let text = format!("{}{}", r["prefix"].as_str().unwrap(), fill.repeat(times));
    let algorithm = match r["alg"].as_str() {
        Some("siphash") => Algorithm::SipHash,
        _ => Algorithm::HmacSha256,
    };
    let mac = key.mac(algorithm, text.as_bytes());
    format!("{text} mac={mac}").into_bytes()
}

#[test]
fn every_step_of_every_vector() {
    let all = vectors();
    let mut steps = 0;
    for v in list(&all, "vectors") {
        let secret = v["secret"].as_str().or(all["secret"].as_str()).unwrap();
        let mut verifier = Verifier {
            keys: vec![Key::of_secret(secret.as_bytes()).unwrap()],
            policy: MacPolicy::Any,
            max_skew: all["max_skew_s"].as_i64().unwrap() * 1_000_000,
        };
        let mut marks: HashMap<Origin, i64> = HashMap::new();
        for step in list(v, "steps") {
            steps += 1;
            verifier.policy = match step["policy"].as_str() {
                None => MacPolicy::Any,
                Some(name) => MacPolicy::by_name(name).unwrap(),
            };
            let bytes = datagram(step, &verifier.keys[0]);
            let now = step["now_us"].as_i64().unwrap();
            let verdict = verifier.judge(&bytes, now).and_then(|a| match &a.origin {
                Some(o) if marks.get(o).is_some_and(|mark| a.ts <= *mark) => Err(Refusal::Replayed),
                _ => Ok(a),
            });
            let expect = &step["expect"];
            let what = format!("{}: {step}", v["name"]);
            match verdict {
                Ok(a) => {
                    assert_eq!(expect["accepted"], true, "{what}");
                    let text = a.origin.as_ref().map(Origin::as_str);
                    assert_eq!(text, expect["canonical"].as_str(), "{what}");
                    if let Some(o) = a.origin {
                        marks.insert(o, a.ts);
                    }
                }
                Err(refusal) => {
                    assert_eq!(expect["accepted"], false, "{what}");
                    assert_eq!(Some(refusal.text()), expect["reason"].as_str(), "{what}");
                }
            }
        }
    }
    assert_eq!(steps, 68);
}

const NOW: i64 = 1_790_000_000_000_000;

fn verifier(policy: MacPolicy) -> Verifier {
    let key = |s: &str| Key::of_secret(s.as_bytes()).unwrap();
    Verifier {
        keys: vec![key("new"), key("old")],
        policy,
        max_skew: 30_000_000,
    }
}

fn signed(key: &Key, algorithm: Algorithm, text: &str) -> Vec<u8> {
    let mac = key.mac(algorithm, text.as_bytes());
    format!("{text} mac={mac}").into_bytes()
}

#[test]
fn what_is_signed_is_accepted_and_says_the_same() {
    let verifier = verifier(MacPolicy::Any);
    let origin = Origin::parse(b"http://10.0.0.5:8080/").unwrap();
    for (i, key) in verifier.keys.iter().enumerate() {
        for algorithm in [Algorithm::HmacSha256, Algorithm::SipHash] {
            let signer = Signer {
                key: key.clone(),
                algorithm,
            };
            let bytes = signer.datagram(&Fields {
                origin: Some(&origin),
                host: "web 1",
                pid: 7,
                seq: 8,
                ts: NOW,
                route: Some("r1"),
                load_factor: Some(250),
                leaving: true,
            });
            let a = verifier.judge(&bytes, NOW).unwrap();
            assert_eq!(a.origin.as_ref(), Some(&origin));
            assert_eq!((a.key, a.algorithm, a.ts), (i, algorithm, NOW));
            assert_eq!(
                (a.route, a.load_factor, a.leaving),
                (Some("r1"), Some(250), true)
            );
            let text = String::from_utf8(a.text.to_vec()).unwrap();
            assert!(text.contains(" host=web_1 pid=7 seq=8 "), "{text}");
        }
    }
}

#[test]
fn each_policy_takes_its_own_algorithm() {
    for (policy, hmac, sip) in [
        (MacPolicy::HmacSha256, true, false),
        (MacPolicy::SipHash, false, true),
        (MacPolicy::Any, true, true),
    ] {
        let v = verifier(policy);
        for (algorithm, taken) in [(Algorithm::HmacSha256, hmac), (Algorithm::SipHash, sip)] {
            let bytes = signed(&v.keys[0], algorithm, &format!("BEACON ts={NOW}"));
            let verdict = v.judge(&bytes, NOW).map(|_| ());
            let want = if taken {
                Ok(())
            } else {
                Err(Refusal::MacAlgorithm)
            };
            assert_eq!(verdict, want, "{policy:?} {algorithm:?}");
        }
    }
}

#[test]
fn own_fields_have_their_ranges() {
    let v = verifier(MacPolicy::HmacSha256);
    let judge = |more: &str| {
        let text = format!("BEACON url=http://h ts={NOW}{more}");
        let bytes = signed(&v.keys[1], Algorithm::HmacSha256, &text);
        v.judge(&bytes, NOW).map(|a| a.load_factor)
    };
    assert_eq!(judge(&format!(" route={}", "r".repeat(63))), Ok(None));
    assert_eq!(
        judge(&format!(" route={}", "r".repeat(64))),
        Err(Refusal::Route)
    );
    assert_eq!(judge(" route="), Ok(None));
    for (text, n) in [
        ("1", 100),
        ("2.5", 250),
        ("1.239", 123),
        ("100", 10_000),
        ("100.00", 10_000),
    ] {
        assert_eq!(judge(&format!(" loadfactor={text}")), Ok(Some(n)), "{text}");
    }
    for text in [
        "",
        "0",
        "0.99",
        "101",
        "100.001",
        "-1",
        "1e2",
        "+5",
        "1.x",
        ".5",
        "9999999999",
    ] {
        let verdict = judge(&format!(" loadfactor={text}"));
        assert_eq!(verdict, Err(Refusal::LoadFactor), "{text}");
    }
    assert_eq!(judge(" state=leaving"), Ok(None));
    assert_eq!(judge(" state=left"), Err(Refusal::State));
    assert_eq!(judge(" state=leaving state=leaving"), Err(Refusal::Format));
    assert_eq!(
        judge(" zone=a zone=b"),
        Ok(None),
        "unknown fields may repeat"
    );
    assert_eq!(
        judge(&format!(" {}=1", "k".repeat(33))),
        Err(Refusal::Format)
    );
    assert_eq!(judge(" =1"), Err(Refusal::Format));
    assert_eq!(judge(" 1a=1"), Err(Refusal::Format));
}

#[test]
fn refusals_have_numbers() {
    for (i, r) in Refusal::ALL.iter().enumerate() {
        assert_eq!(*r as usize, i);
        assert_eq!(Refusal::by_number(i as u8), Some(*r));
    }
    assert_eq!(Refusal::by_number(200), None);
}

/// A small generator, so that a failure is repeated by its seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % below
    }
}

const PIECES: [&str; 24] = [
    "url=http://10.0.0.5:8080",
    "url=HTTPS://H.example:443/",
    "url=",
    "host=b1",
    "pid=1",
    "seq=2",
    "ts=1790000000000000",
    "ts=179000000000000000",
    "ts=-1",
    "ts=",
    "route=r",
    "loadfactor=2.5",
    "loadfactor=1000",
    "state=leaving",
    "state=",
    "zone=1",
    "mac=00",
    " ",
    "\t",
    "=",
    "BEACON",
    "url=http://u@h",
    "url=http://[::1]:80",
    "x",
];

/// How many messages are made; `MUSTER_MUTATIONS` in the environment says another number. Ten
/// million take some minutes:
/// `MUSTER_MUTATIONS=10000000 cargo test --release --lib mutated_datagrams`
fn rounds() -> usize {
    let said = std::env::var("MUSTER_MUTATIONS").ok();
    said.and_then(|n| n.parse().ok()).unwrap_or(20_000)
}

fn mutate(dice: &mut Dice, bytes: &mut Vec<u8>) {
    for _ in 0..=dice.roll(4) {
        let at = dice.roll(bytes.len() + 1);
        match dice.roll(6) {
            0 if at < bytes.len() => bytes[at] ^= 1 << dice.roll(8),
            1 if at < bytes.len() => bytes[at] = dice.roll(256) as u8,
            2 if at < bytes.len() => drop(bytes.remove(at)),
            3 => bytes.insert(at, dice.roll(256) as u8),
            4 => bytes.truncate(at),
            _ => {
                let piece = PIECES[dice.roll(PIECES.len())];
                let with_blank = format!(" {piece}");
                bytes.splice(at..at, with_blank.bytes());
            }
        }
    }
}

#[test]
fn mutated_datagrams_are_never_taken_for_others() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let v = verifier(MacPolicy::Any);
    let mut accepted = 0;
    for round in 0..rounds() {
        // A text of pieces, right often enough to come past the first checks.
        let mut text = b"BEACON".to_vec();
        for _ in 0..dice.roll(8) {
            text.push(b' ');
            text.extend(PIECES[dice.roll(PIECES.len())].bytes());
        }
        if dice.roll(2) == 0 {
            text = format!("BEACON url=http://h{round} pid=1 ts={NOW}").into_bytes();
        }
        let algorithm = [Algorithm::HmacSha256, Algorithm::SipHash][dice.roll(2)];
        let key = &v.keys[dice.roll(2)];
        let authentic = dice.roll(2) == 0;
        if authentic && dice.roll(3) > 0 {
            mutate(&mut dice, &mut text);
        }
        let mut bytes = text.clone();
        bytes.extend(b" mac=");
        bytes.extend(key.mac(algorithm, &text).bytes());
        let right = bytes.clone();
        if !authentic {
            mutate(&mut dice, &mut bytes);
        }
        let Ok(a) = v.judge(&bytes, NOW) else {
            continue;
        };
        accepted += 1;
        assert!(
            authentic || bytes == right,
            "round {round}: accepted without its MAC: {bytes:?}"
        );
        assert!((a.ts - NOW).abs() <= v.max_skew);
        assert!(a.text.starts_with(b"BEACON ") && a.text.iter().all(|b| (0x20..0x7f).contains(b)));
        if let Some(o) = a.origin {
            assert_eq!(
                Origin::parse(o.as_str().as_bytes()),
                Some(o),
                "round {round}"
            );
        }
    }
    assert!(
        accepted > rounds() / 20,
        "the generator makes too little that is right: {accepted}"
    );
}
