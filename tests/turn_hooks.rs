//! The agents' own CLIs tell the router: their hooks are installed, call `loop turn-hook`, and are given back.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::stage::{LOOP, Place, Stage};

const CLAUDE: &str = ".claude/settings.local.json";

fn command_of(place: &Place<'_>, file: &str, event: &str) -> String {
    let settings: Value = serde_json::from_str(&place.repo.read(file)).unwrap();
    let groups = settings["hooks"][event].as_array().cloned().unwrap_or_default();
    let ours = groups.last().unwrap()["hooks"][0]["command"].as_str().unwrap().to_owned();
    assert!(ours.contains(" turn-hook "), "{ours}");
    ours
}

/// Runs a hook as a CLI does, through a shell; returns what it printed, and how long it took.
fn call(stage: &Stage, command: &str, payload: &[u8]) -> (String, Duration) {
    let start = Instant::now();
    let mut shell = stage.sandbox.command("sh");
    shell.args(["-c", command]).env("LOOP_ID", "loop-7").env("LOOP_AGENT", "CC");
    let mut child =
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // One that reads nothing at all is no fault of the caller's.
    let _ = child.stdin.take().unwrap().write_all(payload);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = [output.stdout, output.stderr].concat();
    (String::from_utf8(said).unwrap(), start.elapsed())
}

/// Stands in the router's place for one request, and returns it.
fn listen(stage: &Stage, answer: bool) -> std::thread::JoinHandle<String> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let state = stage.state();
    fs::create_dir_all(&state).unwrap();
    fs::write(state.join("key"), "k".repeat(64)).unwrap();
    let router =
        json!({"pid": 1, "addr": addr, "version": "0", "started_at": "1970-01-01T00:00:00Z"}).to_string();
    let lock = fs::File::create(state.join("router.lock")).unwrap();
    lock.lock().unwrap();
    fs::write(state.join("router.json"), router).unwrap();
    std::thread::spawn(move || {
        let _lock = lock;
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        let mut piece = [0; 4096];
        while !request.ends_with(b"}") {
            let read = stream.read(&mut piece).unwrap();
            assert!(read > 0, "{}", String::from_utf8_lossy(&request));
            request.extend_from_slice(&piece[..read]);
        }
        if answer {
            let body = r#"{"status":"ok"}"#;
            write!(stream, "HTTP/1.1 202 Accepted\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        } else {
            // Until the caller gives up.
            let _ = stream.read(&mut piece);
        }
        String::from_utf8(request).unwrap()
    })
}

#[test]
fn a_hook_tells_the_router_and_nobody_else() {
    let stage = Stage::new("");
    let place = stage.shop();
    place.run(&["init", "Add a greeting", "--agent", "CC", "--turn-hooks"]);
    let command = command_of(&place, CLAUDE, "Stop");
    let payload = json!({
        "hook_event_name": "Stop", "session_id": "c1", "cwd": "/w", "background_tasks": [{}],
        "last_assistant_message": "not for the router",
    });
    let heard = listen(&stage, true);
    assert_eq!(call(&stage, &command, payload.to_string().as_bytes()).0, "");
    let request = heard.join().unwrap();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /api/turn-hook HTTP/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("Authorization: Bearer {}", "k".repeat(64))), "{head}");
    let body: Value = serde_json::from_str(body).unwrap();
    let expected = json!({
        "kind": "claude-code", "event": "finished", "loop": "loop-7", "agent": "CC", "conversation": "c1",
        "cwd": "/w", "prompt": null, "background": 1, "says": null,
    });
    assert_eq!(body, expected);
}

#[test]
fn a_hook_never_stands_in_an_agents_way() {
    let stage = Stage::new("");
    let heard = listen(&stage, false);
    let command = format!("'{LOOP}' turn-hook codex || :");
    let (said, took) = call(&stage, &command, br#"{"hook_event_name":"Stop"}"#);
    assert_eq!(said, "");
    assert!(took < Duration::from_secs(2), "{took:?}");
    heard.join().unwrap();
    let huge = format!(r#"{{"hook_event_name":"Stop","x":"{}"}}"#, "x".repeat(3 << 20));
    for payload in [&b""[..], b"\xff\x00", b"[]", br#"{"hook_event_name":"Nonsense"}"#, huge.as_bytes()] {
        assert_eq!(call(&stage, &command, payload).0, "");
    }
    for command in ["turn-hook", "turn-hook no-such-kind", "turn-hook codex a b c", "turn-hook codex {}"] {
        let (said, _) = call(&stage, &format!("'{LOOP}' {command} 2>/dev/null || :"), b"{}");
        assert_eq!(said, "", "{command}");
    }
    // The program is gone: its hooks are not missed.
    assert!(!call(&stage, "'/no/such/loop' turn-hook codex || :", b"{}").0.is_empty());
}

const CAST: [&str; 10] =
    ["--agent", "CC", "--agent", "Codex", "--agent", "Gemini", "--agent", "Qwen", "--agent", "OpenCode"];

fn everything(root: &Path) -> Vec<(std::path::PathBuf, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with(".git") {
                folders.push(path.clone());
            }
            found.push((path.clone(), fs::read(&path).ok()));
        }
    }
    found.sort();
    found
}

#[test]
fn settings_are_given_back() {
    let stage = Stage::new("");
    let place = stage.shop();
    let theirs = "{\n  // mine\n  \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"x\"}]},]},\n}\n";
    place.repo.write(".qwen/settings.json", theirs);
    place.repo.write(CLAUDE, "{}");
    let before = everything(place.repo.path());
    let options = [&["init", "Add a greeting", "--turn-hooks", "--here"], &CAST[..]].concat();
    let dry = place.run(&[&options[..], &["--dry-run"]].concat());
    assert!(dry.contains("write .codex/hooks.json (turn hooks of Codex)"), "{dry}");
    assert_eq!(everything(place.repo.path()), before);

    let said = place.run(&options);
    assert!(said.contains("Hooks need review"), "{said}");
    assert!(place.repo.read(".qwen/settings.json").contains("// mine"));
    // What was made for loop is hidden from git, and what was there before shows as it did.
    assert_eq!(place.repo.git(&["status", "--porcelain"]), "?? .claude/\n?? .qwen/");
    let with_hooks = everything(place.repo.path());
    let again = place.run(&["init", "--turn-hooks"]);
    assert!(again.contains("nothing to do"), "{again}");
    assert_eq!(everything(place.repo.path()), with_hooks);
    let doctor = place.try_loop(&["doctor"]).out;
    assert!(doctor.contains("unproven  CC turn hooks: in .claude/settings.local.json"), "{doctor}");

    // What somebody has added since stays.
    let gemini = place.repo.read(".gemini/settings.json");
    place.repo.write(".gemini/settings.json", gemini.replacen('{', "{\n  \"theme\": \"dark\",", 1));
    place.run(&["uninstall"]);
    let theme: Value = serde_json::from_str(&place.repo.read(".gemini/settings.json")).unwrap();
    assert_eq!(theme, json!({"theme": "dark"}));
    fs::remove_dir_all(place.repo.path().join(".gemini")).unwrap();
    let left = everything(place.repo.path());
    let ours = |path: &Path| path.ends_with("STATUS.md") || path.ends_with("loop.yaml");
    let left: Vec<_> = left.into_iter().filter(|(path, _)| !ours(path)).collect();
    assert_eq!(left, before);
}

#[test]
fn settings_that_cannot_be_read_stop_the_opening() {
    let stage = Stage::new("");
    let place = stage.shop();
    place.repo.write(".gemini/settings.json", "{\n  oops\n}\n");
    let before = everything(place.repo.path());
    let said =
        place.try_loop(&["init", "Add a greeting", "--agent", "Gemini", "--agent", "CC", "--turn-hooks"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.err.contains(".gemini/settings.json:2:3"), "{said:?}");
    assert!(said.err.contains("nothing was written"), "{said:?}");
    assert_eq!(everything(place.repo.path()), before);
}

#[test]
fn shared_hooks_are_committed_and_call_by_name() {
    let stage = Stage::new("");
    let place = stage.shop();
    place.run(&["init", "Add a greeting", "--agent", "CC", "--agent", "Codex", "--turn-hooks", "--share"]);
    let files = place.repo.git(&["show", "--name-only", "--format=", "HEAD"]);
    assert!(files.contains(".claude/settings.json") && files.contains(".codex/hooks.json"), "{files}");
    let command = command_of(&place, ".claude/settings.json", "Stop");
    assert!(!command.contains(LOOP), "{command}");
    // On a machine without `loop` nothing happens.
    assert_eq!(call(&stage, &format!("PATH=/nowhere; {command}"), b"{}").0, "");
}

#[test]
fn a_linked_worktree_has_codex_hooks_where_codex_looks() {
    let stage = Stage::new("");
    let place = stage.shop();
    place.run(&["init", "Add a greeting", "--agent", "CC", "--agent", "Codex", "--turn-hooks", "--worktree"]);
    let root = place.repo.path();
    assert!(root.join(".codex/hooks.json").exists());
    assert!(!root.join(CLAUDE).exists());
    assert_eq!(place.repo.git(&["status", "--porcelain"]), "");
    place.run(&["uninstall"]);
    assert!(!root.join(".codex").exists());
}
