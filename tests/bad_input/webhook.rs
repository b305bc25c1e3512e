//! Requests to the webhook that must do nothing.

use std::io::{Read, Write};
use std::net::TcpStream;

use loop_testkit::TestRepo;
use serde_json::{Value, json};

use super::bench::{Bench, CAST, LONG};

struct Answer {
    status: u16,
    text: String,
}

/// Sends one request and reads the answer to its end.
fn send(bench: &Bench, head: &[(&str, &str)], body: &[u8]) -> Answer {
    let router = bench.router().expect("a router");
    let mut stream = TcpStream::connect(router["addr"].as_str().unwrap()).expect("the router listens");
    stream.set_read_timeout(Some(LONG)).unwrap();
    let mut request =
        "POST /webhook/agent-loop HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n".to_owned();
    if !head.iter().any(|(name, _)| *name == "Content-Length") {
        request.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    for (name, value) in head {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str("\r\n");
    // A body that is refused early may not be taken whole.
    let _ = stream.write_all(request.as_bytes()).and_then(|()| stream.write_all(body));
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let text = String::from_utf8(answer).expect("an answer in UTF-8");
    let status = text.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    Answer { status, text }
}

fn key(bench: &Bench) -> String {
    let key = std::fs::read_to_string(bench.state().join("key")).unwrap();
    format!("Bearer {}", key.trim())
}

fn deliveries(bench: &Bench, repo: &TestRepo) -> Value {
    bench.status(repo)["deliveries"].clone()
}

#[test]
fn no_request_but_a_commit_passes_the_turn() {
    let bench = Bench::new();
    let repo = bench.up("shop", CAST);
    bench.until_woken(&repo, "CC");
    let before = deliveries(&bench, &repo);
    let key = key(&bench);
    let good = [("Authorization", key.as_str())];
    let here = repo.path().display().to_string();
    let body = |author: &str, repo: &str| json!({"author": author, "message": "x", "repo": repo}).to_string();
    let huge = format!("{{\"author\":\"CC\",\"message\":\"{}\"}}", "x".repeat(3_000_000));
    let deep = "[".repeat(100_000);
    let cases: Vec<(&str, String, u16)> = vec![
        ("no body", String::new(), 400),
        ("half a body", "{\"author\":".into(), 400),
        ("no object", "[\"CC\"]".into(), 400),
        ("too deep", deep, 400),
        ("an author that is no text", "{\"author\":{}}".into(), 400),
        ("no author", "{\"message\":\"x\"}".into(), 400),
        ("a NUL in the author", body("CC\0", &here), 422),
        ("huge", huge, 413),
        ("an unknown author", body("Mallory", &here), 422),
        ("shell in the author", body("CC\"; touch pwned; \"", &here), 422),
        ("shell in the author, too", body("$(touch pwned)`touch pwned`", &here), 422),
        ("control characters", body("CC\u{1b}[2J\u{7}\r\n\u{202e}", &here), 422),
        ("an unknown repository", body("CC", "/nowhere"), 404),
        ("shell in the repository", body("CC", "/tmp/\"; touch pwned; \""), 404),
        ("a repository with a NUL", body("CC", "/tmp/\0/x"), 404),
        ("a way out of the repository", body("CC", &format!("{here}/../..")), 404),
        (
            "shell in the message",
            json!({"author": "CC", "message": "\"; touch pwned; \"\u{1b}[31m", "repo": here}).to_string(),
            202,
        ),
        ("the right author, again", body("cc", &here), 202),
    ];
    for (what, body, status) in &cases {
        for _ in 0..2 {
            let answer = send(&bench, &good, body.as_bytes());
            assert_eq!(answer.status, *status, "{what}: {}", answer.text);
            let (head, text) = answer.text.split_once("\r\n\r\n").expect("a body");
            let bad = text.chars().any(|c| c.is_control() && c != '\n' || c == '\u{202e}');
            assert!(!bad, "{what}: a control character is sent back: {text:?}");
            if *status >= 400 && *status != 413 {
                assert!(head.contains("application/problem+json"), "{what}: {head}");
                let problem: Value = serde_json::from_str(text).expect("JSON");
                assert!(problem["title"].is_string() && problem["hint"].is_string(), "{what}: {problem}");
            }
        }
    }
    let not_utf8 = send(&bench, &good, b"{\"author\":\"CC\xff\"}");
    assert_eq!(not_utf8.status, 400, "{}", not_utf8.text);
    let claimed = send(&bench, &[good[0], ("Content-Length", "99999999999")], b"");
    assert_eq!(claimed.status, 413, "{}", claimed.text);

    let short = format!("{}0", &key[..key.len() - 1]);
    let wrong = format!("Bearer {}", "0".repeat(64));
    for bad in [
        &[][..],
        &[("Authorization", "Bearer ")],
        &[("Authorization", wrong.as_str())],
        &[("Authorization", "Basic eDp5")],
        &[("X-Key", key.as_str())],
    ] {
        let answer = send(&bench, bad, body("CC", &here).as_bytes());
        assert_eq!(answer.status, 401, "{}", answer.text);
        assert!(answer.text.contains("loop key"), "{}", answer.text);
    }
    assert!(key.ends_with('0') || send(&bench, &[("Authorization", &short)], b"{}").status == 401);
    for (name, value) in [("Origin", "http://evil.example"), ("Origin", "null")] {
        let answer = send(&bench, &[good[0], (name, value)], body("CC", &here).as_bytes());
        assert_eq!(answer.status, 403, "{}", answer.text);
    }

    assert_eq!(deliveries(&bench, &repo), before, "a delivery was made or changed");
    for folder in [bench.sandbox.root(), repo.path().to_owned(), bench.state(), bench.sandbox.home()] {
        assert!(!folder.join("pwned").exists(), "{}", folder.display());
    }
    assert!(!std::path::Path::new("pwned").exists() && !std::path::Path::new("/tmp/pwned").exists());
    let log = std::fs::read_to_string(bench.state().join("router.log")).unwrap();
    let secret = key.trim_start_matches("Bearer ");
    assert!(!log.contains(secret), "the key stands in the log");
    assert!(!log.chars().any(|c| c.is_control() && c != '\n'), "a control character in the log: {log:?}");
    // It still works.
    bench.run(repo.path(), &["commit", "CC", "-m", "first"]).check(0, &["turn 1 by CC -> Codex"]);
}

#[test]
fn without_a_repository_it_must_be_the_only_loop() {
    let bench = Bench::new();
    bench.up("one", CAST);
    let key = key(&bench);
    let ring = || send(&bench, &[("Authorization", &key)], b"{\"author\":\"CC\",\"message\":\"x\"}");
    assert_eq!(ring().status, 202);
    bench.up("two", CAST);
    let answer = ring();
    assert_eq!(answer.status, 409, "{}", answer.text);
    assert!(
        answer.text.contains("2 loops are known here") && answer.text.contains("hint"),
        "{}",
        answer.text
    );
}
