//! What an agent's CLI may hand to `loop turn-hook`, whatever it is: it never fails, never speaks, never keeps the CLI,
//! and changes nothing that is not its own.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use loop_testkit::{TestRepo, eventually};
use serde_json::{Value, json};

use super::bench::{Bench, LONG, Said};

/// CC's CLI has Claude Code's hooks; it is called by a program that does nothing.
const CAST: &str = "agents:
  CC: {kind: scripted, transport: command, command: ['true'], turn_hooks: claude-code}
  Codex: {kind: scripted, transport: wait}
rotation: [CC, Codex]
people: [Dana]
pass: any
handover_grace: 0
";

const KINDS: [&str; 6] = ["claude-code", "codex", "opencode", "gemini", "qwen", "hermes"];

fn call(bench: &Bench, repo: &TestRepo, kind: &str, payload: &[u8]) -> Output {
    let id = bench.status(repo)["deliveries"][0]["loop_id"].as_str().unwrap().to_owned();
    let mut hook = bench.command(repo.path(), &["turn-hook", kind]);
    hook.env("LOOP_ID", id).env("LOOP_AGENT", "CC");
    hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = hook.spawn().unwrap();
    // It may have read enough before the end.
    let _ = child.stdin.take().unwrap().write_all(payload);
    child.wait_with_output().unwrap()
}

#[track_caller]
fn is_silent(output: &Output, what: &str) {
    let said = Said::of(output);
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (Some(0), "", ""), "{what}");
}

fn signals(bench: &Bench, repo: &TestRepo) -> Value {
    let mut status = bench.status(repo);
    for delivery in status["deliveries"].as_array_mut().unwrap() {
        for clock in ["worked_ms", "updated_at"] {
            delivery.as_object_mut().unwrap().remove(clock);
        }
    }
    json!([status["deliveries"], status["turns"]])
}

#[test]
fn nothing_that_is_handed_over_is_heard_or_changes_anything() {
    let bench = Bench::new();
    let repo = bench.up("shop", CAST);
    bench.until(&repo, "running", "submitted");
    let before = signals(&bench, &repo);
    let here = repo.path().display().to_string();
    let event = |more: Value| {
        let mut event = json!({"hook_event_name": "Stop", "session_id": "c1", "cwd": here});
        event.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        event.to_string().into_bytes()
    };
    let mut deep = b"{\"hook_event_name\":\"Stop\",\"x\":".to_vec();
    deep.extend_from_slice(&b"[".repeat(200_000));
    let payloads: Vec<(&str, Vec<u8>)> = vec![
        ("nothing", Vec::new()),
        ("white space", b" \n\t".to_vec()),
        ("garbage", (0..=255).cycle().take(10_000).collect()),
        ("half an object", b"{\"hook_event_name\": \"Sto".to_vec()),
        ("a list", b"[{\"hook_event_name\": \"Stop\"}]".to_vec()),
        ("no event", b"{\"session_id\": \"c1\"}".to_vec()),
        ("an event that is a number", b"{\"hook_event_name\": 7, \"event\": {}, \"type\": []}".to_vec()),
        ("as deep as it gets", deep),
        ("an id that is an option", event(json!({"session_id": "--no-sandbox"}))),
        ("an id of a megabyte", event(json!({"session_id": "x".repeat(1 << 20)}))),
        ("another folder", event(json!({"cwd": "/"}))),
        ("a folder next to it", event(json!({"cwd": format!("{here}2")}))),
        ("a way out", event(json!({"cwd": format!("{here}/../other")}))),
        ("ten megabytes", event(json!({"last_assistant_message": "x".repeat(10 << 20)}))),
        ("ten megabytes of nothing", vec![b' '; 10 << 20]),
    ];
    for (what, payload) in &payloads {
        for kind in KINDS {
            is_silent(&call(&bench, &repo, kind, payload), &format!("{what} of {kind}"));
        }
    }
    for kind in ["no-such-kind", "", "../codex", "CLAUDE-CODE\u{1b}", "--help2"] {
        if kind.starts_with("--") {
            continue;
        }
        is_silent(&call(&bench, &repo, kind, &event(json!({}))), kind);
    }
    assert_eq!(signals(&bench, &repo), before);
    let log = std::fs::read_to_string(bench.state().join("router.log")).unwrap();
    assert!(!log.contains("panic") && !log.chars().any(|c| c.is_control() && c != '\n'), "{log}");
    // What is right is heard, all the same.
    let prompt = event(json!({"hook_event_name": "UserPromptSubmit", "prompt": "/agent-loop CC"}));
    is_silent(&call(&bench, &repo, "claude-code", &prompt), "a turn that begins");
    bench.until(&repo, "running", "started");
}

/// A hook whose standard input stays open; how long it took.
fn held_open(bench: &Bench, folder: &Path, kind: &str, payload: &[u8]) -> Duration {
    let mut hook = bench.command(folder, &["turn-hook", kind]);
    hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let began = Instant::now();
    let mut child = hook.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(payload).unwrap();
    stdin.flush().unwrap();
    let status = child.wait().unwrap();
    let took = began.elapsed();
    drop(stdin);
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((status.code(), said.as_str()), (Some(0), ""), "{kind}");
    took
}

#[test]
fn a_cli_that_never_ends_its_words_is_not_kept() {
    let bench = Bench::new();
    let repo = bench.sandbox.repo("shop");
    for kind in KINDS.into_iter().filter(|kind| *kind != "opencode") {
        for payload in [&b""[..], b"{\"hook_event_name\":", b"{\"hook_event_name\":\"Stop\"}", b"not JSON"] {
            // A second and a half, and the start of a program on a busy machine; not for ever is what counts.
            let took = held_open(&bench, repo.path(), kind, payload);
            assert!(took < LONG, "{kind} {payload:?}: {took:?}");
        }
    }
}

#[test]
fn whatever_stands_in_the_routers_place_keeps_no_cli() {
    let bench = Bench::new();
    let repo = bench.sandbox.repo("shop");
    let state = bench.state();
    std::fs::create_dir_all(&state).unwrap();
    std::fs::write(state.join("key"), "k".repeat(64)).unwrap();
    let payload = br#"{"hook_event_name":"Stop","session_id":"c1"}"#;
    let run = |what: &str| {
        let mut hook = bench.command(repo.path(), &["turn-hook", "claude-code"]);
        hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let began = Instant::now();
        let mut child = hook.spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(payload);
        is_silent(&child.wait_with_output().unwrap(), what);
        assert!(began.elapsed() < LONG, "{what}: {:?}", began.elapsed());
    };
    run("no router at all");
    // One that takes the connection and never answers, and one that answers without end.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let lock = std::fs::File::create(state.join("router.lock")).unwrap();
    lock.lock().unwrap();
    let note = |addr: &str| {
        let text = json!({"pid": 1, "addr": addr, "version": "0", "started_at": "1970-01-01T00:00:00Z"});
        std::fs::write(state.join("router.json"), text.to_string()).unwrap();
    };
    note(&addr.to_string());
    run("one that never accepts");
    let babbler = std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut piece = [0; 4096];
            let asked = stream.read(&mut piece).unwrap_or(0);
            if piece[..asked].starts_with(b"QUIT") {
                return;
            }
            while stream.write_all(&[b'x'; 4096]).is_ok() {}
        }
    });
    run("one that babbles");
    for wrong in ["127.0.0.1:1", "not an address", "192.0.2.1:9", "[::1]:1", ""] {
        note(wrong);
        run(wrong);
    }
    std::fs::write(state.join("router.json"), "{").unwrap();
    run("a torn note");
    std::fs::remove_file(state.join("key")).unwrap();
    note(&addr.to_string());
    run("no key");
    drop(lock);
    run("a router that is gone");
    let mut quit = std::net::TcpStream::connect(addr).unwrap();
    quit.write_all(b"QUIT").unwrap();
    drop(quit);
    eventually("the babbler's end", LONG, || {
        if babbler.is_finished() { Ok(()) } else { Err("it babbles".to_owned()) }
    });
}
