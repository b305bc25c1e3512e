#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use loop_core::settle::Event;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const FILE: &str = "/w/settings.json";

fn call() -> Call {
    Call::Program("/opt/my loop/loop".into())
}

fn put_text(kind: &str, before: &str, call: &Call) -> String {
    let bytes = find(kind).unwrap().put(Path::new(FILE), Some(before.as_bytes()), call).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn take_text(kind: &str, text: &str) -> Option<String> {
    let rest = find(kind).unwrap().take(Path::new(FILE), text.as_bytes()).unwrap();
    rest.map(|rest| String::from_utf8(rest).unwrap())
}

/// How the hooks of Gemini stand in a file, with short words.
fn short(text: &str) -> String {
    let command = serde_json::to_string("'/opt/my loop/loop' turn-hook gemini || :").unwrap();
    text.replace(&format!("{{\"hooks\": [{{\"type\": \"command\", \"command\": {command}}}]}}"), "OURS")
}

#[test]
fn ours_come_last_and_everything_else_stays() {
    let ours = "\"hooks\": {\n    \"BeforeAgent\": [OURS],\n    \"AfterAgent\": [OURS],\n    \"Notification\": [OURS]\n  }";
    let cases: &[(&str, &str, String)] = &[
        ("no file, or an empty one", "", format!("{{\n  {ours}\n}}\n")),
        ("white space alone", "\n", format!("\n{{\n  {ours}\n}}\n")),
        ("an empty object", "{}", format!("{{\n  {ours}\n}}")),
        ("a comment alone", "// mine", format!("// mine\n{{\n  {ours}\n}}\n")),
        (
            "other settings",
            "{\n  \"a\": 1\n}\n",
            format!("{{\n  \"a\": 1,\n  {ours}\n}}\n"),
        ),
        (
            "comments behind the last member, and its trailing comma",
            "{\n  \"a\": 1, // one\n  // two\n}\n",
            format!("{{\n  \"a\": 1, // one\n  // two\n  {ours},\n}}\n"),
        ),
        (
            "a comment and no comma",
            "{\n  \"a\": 1 // one\n}\n",
            format!("{{\n  \"a\": 1, // one\n  {ours}\n}}\n"),
        ),
        (
            "all on one line",
            "{\"a\": 1, \"hooks\": {\"BeforeAgent\": [1], \"Z\": []}}",
            "{\"a\": 1, \"hooks\": {\"BeforeAgent\": [1, OURS], \"Z\": [], \"AfterAgent\": [OURS], \"Notification\": [OURS]}}".to_owned(),
        ),
        (
            "tabs, and hooks of others for the same event",
            "{\n\t\"hooks\": {\n\t\t\"BeforeAgent\": [\n\t\t\t{\"hooks\": [{\"type\": \"command\", \"command\": \"theirs\"}]}\n\t\t],\n\t\t\"X\": []\n\t}\n}\n",
            "{\n\t\"hooks\": {\n\t\t\"BeforeAgent\": [\n\t\t\t{\"hooks\": [{\"type\": \"command\", \"command\": \"theirs\"}]},\n\t\t\tOURS\n\t\t],\n\t\t\"X\": [],\n\t\t\"AfterAgent\": [OURS],\n\t\t\"Notification\": [OURS]\n\t}\n}\n".to_owned(),
        ),
        (
            "CRLF",
            "{\r\n  \"hooks\": {\r\n    \"BeforeAgent\": [],\r\n    \"AfterAgent\": []\r\n  }\r\n}\r\n",
            "{\r\n  \"hooks\": {\r\n    \"BeforeAgent\": [\r\n      OURS\r\n    ],\r\n    \"AfterAgent\": [\r\n      OURS\r\n    ],\r\n    \"Notification\": [OURS]\r\n  }\r\n}\r\n".to_owned(),
        ),
        ("a byte order mark", "\u{feff}{\"a\": 1}", "\u{feff}{\"a\": 1, \"hooks\": {\"...\"}}".to_owned()),
    ];
    for (what, before, expected) in cases {
        let after = put_text("gemini", before, &call());
        if expected.contains("...") {
            assert!(after.starts_with('\u{feff}'), "{what}: {after}");
        } else {
            assert_eq!(short(&after), *expected, "{what}");
        }
        assert_eq!(put_text("gemini", &after, &call()), after, "{what}: twice is once");
        let hooks = find("gemini").unwrap();
        assert_eq!(hooks.standing(Path::new(FILE), after.as_bytes(), &call()), Standing::Current, "{what}");
        assert_eq!(hooks.standing(Path::new(FILE), before.as_bytes(), &call()), Standing::Missing, "{what}");
    }
}

#[test]
fn taking_out_undoes_putting_in() {
    for before in [
        "{\n  \"a\": 1\n}\n",
        "{\n  \"a\": 1 // one\n}\n",
        "{\n  \"a\": 1, // one\n  // two\n}\n",
        "{\"a\": 1}",
        "{\"a\": 1,}",
        "{ \"a\": [ ] , /* x */ }",
        "\u{feff}{\r\n\t\"a\": {},\r\n\t\"hooks\": {\r\n\t\t\"Stop\": [1,\r\n\t\t\t2, // two\r\n\t\t]\r\n\t}}",
        "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"'/x' turn-hook other || :\"}]}]}}",
    ] {
        for row in kinds().iter().filter(|row| matches!(row.form, Form::Settings(_))) {
            let after = put_text(row.kind, before, &call());
            assert_ne!(after, before);
            assert_eq!(take_text(row.kind, &after).as_deref(), Some(before), "{}\n{after}", row.kind);
            assert_eq!(take_text(row.kind, before).as_deref(), Some(before));
        }
    }
    for bare in ["", "\n", "{}", "{ }\n", "{\"hooks\": {}}"] {
        assert_eq!(take_text("qwen", &put_text("qwen", bare, &call())), None, "{bare:?}");
    }
}

#[test]
fn what_was_added_later_stays() {
    let ours = put_text("claude-code", "{\n  \"a\": 1\n}\n", &call());
    let edited = ours.replacen("\"Stop\": [{", "\"Stop\": [\"theirs\", {", 1);
    let edited =
        edited.trim_end().trim_end_matches('}').trim_end().to_owned() + ",\n  \"permissions\": {}\n}\n";
    let rest = take_text("claude-code", &edited).unwrap();
    let value: Value = serde_json::from_str(&rest).unwrap();
    assert_eq!(value, json!({"a": 1, "permissions": {}, "hooks": {"Stop": ["theirs"]}}), "{rest}");

    // Nothing that comes behind ours becomes part of a comment before it.
    let command = "'/x/loop' turn-hook gemini || :";
    let entry = format!("{{\"hooks\": [{{\"command\": \"{command}\"}}]}}");
    let text = format!("{{\"hooks\": {{\"A\": [ // note\n {entry}, 2\n]}}}}");
    let rest = take_text("gemini", &text).unwrap();
    assert_eq!(rest, "{\"hooks\": {\"A\": [ // note\n  2\n]}}");
}

#[test]
fn a_program_that_moved_is_pointed_to_anew() {
    let there = Call::Program("/it's/here".into());
    for (old, new) in [(call(), there.clone()), (there, Call::ByName), (Call::ByName, call())] {
        for row in kinds().iter().filter(|row| row.by_hand().is_none()) {
            let plugin = matches!(row.form, Form::Plugin(_));
            let before = if plugin { None } else { Some(&b"{\"a\": 1}"[..]) };
            let first = row.put(Path::new(FILE), before, &old).unwrap();
            assert_eq!(row.standing(Path::new(FILE), &first, &new), Standing::Other);
            let second = row.put(Path::new(FILE), Some(&first), &new).unwrap();
            assert_eq!(second, row.put(Path::new(FILE), before, &new).unwrap(), "{}", row.kind);
            assert_eq!(row.take(Path::new(FILE), &second).unwrap().as_deref(), before, "{}", row.kind);
        }
    }
}

#[test]
fn what_cannot_be_understood_is_refused_with_its_place() {
    let cases = [
        ("{\n  \"a\": \n}", ":3:1 "),
        ("{a: 1}", ":1:2 "),
        ("[]", ":1:1 cannot be understood: it is no object"),
        ("{\n \"hooks\": []\n}", ":2:11 cannot be understood: `hooks` is no object"),
        ("{\"hooks\": {\"BeforeAgent\": {}}}", "`hooks.BeforeAgent` is no list"),
        ("{} {}", ":1:4 "),
    ];
    for (text, says) in cases {
        let error = find("gemini").unwrap().put(Path::new(FILE), Some(text.as_bytes()), &call()).unwrap_err();
        assert!(error.to_string().starts_with(FILE) && error.to_string().contains(says), "{text}: {error}");
    }
    let error = find("qwen").unwrap().put(Path::new(FILE), Some(b"{\n\xff}"), &call()).unwrap_err();
    assert!(error.to_string().contains(":2:1 cannot be understood: it is not UTF-8"), "{error}");
    let error = find("opencode").unwrap().put(Path::new(FILE), Some(b"export const X = 1\n"), &call());
    assert!(error.unwrap_err().to_string().contains("no plugin of loop's"));
    for program in ["loop", "/a\nb"] {
        let call = Call::Program(program.into());
        assert!(find("codex").unwrap().put(Path::new(FILE), None, &call).is_err(), "{program}");
    }
}

#[test]
fn only_our_own_commands_are_ours() {
    let codex = find("codex").unwrap();
    for (command, ours) in [
        ("'/a b/loop' turn-hook codex || :", true),
        ("command -v loop >/dev/null 2>&1 && loop turn-hook codex || :", true),
        ("'/a/loop' turn-hook qwen || :", false),
        ("loop turn-hook codex", false),
        ("mine; '/a/loop' turn-hook codex || :", false),
        ("'/a/loop' turn-hook codex || :; mine", false),
    ] {
        assert_eq!(codex.is_ours(command), ours, "{command}");
    }
}

#[test]
fn the_plugin_names_the_program_as_text() {
    let opencode = find("opencode").unwrap();
    let bytes = opencode.put(Path::new(FILE), None, &Call::Program("/a \"b\\c/loop".into())).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains("const LOOP = \"/a \\\"b\\\\c/loop\"\n"), "{text}");
}

#[test]
fn every_kind_that_a_profile_names_has_a_row() {
    for row in loop_core::profile::kinds() {
        if let Some(kind) = loop_core::profile::builtin(row.kind).unwrap().turn_hooks {
            assert!(find(&kind).is_some(), "{kind}");
        }
    }
    let folder = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/turn")).unwrap();
    let files: Vec<String> = folder
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    for row in kinds() {
        assert!(files.contains(&row.kind.replace('-', "_")), "{}", row.kind);
    }
}

#[test]
fn a_file_is_as_before_to_the_byte() {
    let folder = tempfile::tempdir().unwrap();
    let (target, path) = (folder.path().join("dotfiles.json"), folder.path().join("settings.json"));
    let hooks = find("qwen").unwrap();
    for before in ["", "{}", "{\"hooks\": {\"Stop\": []}}", "{\n}\n"] {
        fs::write(&target, before).unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).unwrap();
        let _ = fs::remove_file(&path);
        symlink(&target, &path).unwrap();
        let edit = put_in(hooks, &path, &call()).unwrap().unwrap();
        edit.write().unwrap();
        assert_eq!(put_in(hooks, &path, &call()).unwrap(), None);
        let out = |dry| take_out(hooks, &path, edit.before.as_deref(), &edit.after, dry).unwrap();
        assert_eq!(out(true), TakenOut::AsBefore);
        assert_eq!(out(false), TakenOut::AsBefore);
        assert_eq!(fs::read_to_string(&target).unwrap(), before);
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
        assert_eq!(out(false), TakenOut::Nothing);
    }
    fs::remove_file(&target).unwrap();
    assert!(put_in(hooks, &path, &call()).unwrap_err().to_string().contains("leads nowhere"));
}

#[test]
fn a_file_that_was_changed_since_loses_only_ours() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.json");
    let hooks = find("claude-code").unwrap();
    for (before, theirs, rest, taken) in [
        (None, "\"b\": 2", Some("{\"b\": 2}"), TakenOut::OnlyOurs),
        (None, "", None, TakenOut::OnlyOurs),
        (Some("{\"a\": 1}"), "", Some("{}"), TakenOut::OnlyOurs),
        (Some(" {}"), "", Some("{}"), TakenOut::AsBefore),
    ] {
        let _ = fs::remove_file(&path);
        if let Some(before) = before {
            fs::write(&path, before).unwrap();
        }
        let edit = put_in(hooks, &path, &call()).unwrap().unwrap();
        edit.write().unwrap();
        fs::write(&path, put_text("claude-code", &format!("{{{theirs}}}"), &call()) + " ").unwrap();
        let out = take_out(hooks, &path, before.map(str::as_bytes), &edit.after, false).unwrap();
        assert_eq!(out, taken, "{before:?} {theirs}");
        let now = fs::read_to_string(&path).ok();
        assert_eq!(now.as_deref().map(str::trim), rest, "{before:?} {theirs}");
    }
}

#[test]
fn what_the_clis_send_is_understood() {
    let said = |kind: &str, payload: Value| read(kind, payload.to_string().as_bytes(), "/here");
    let long = "a".repeat(500);
    let cases = [
        (
            "claude-code",
            json!({"hook_event_name": "UserPromptSubmit", "prompt": "/agent-loop CC"}),
            Some((Event::Started, 0)),
        ),
        (
            "claude-code",
            json!({"hook_event_name": "Stop", "background_tasks": [], "session_crons": []}),
            Some((Event::Finished, 0)),
        ),
        (
            "claude-code",
            json!({"hook_event_name": "Stop", "background_tasks": [{}, {}], "session_crons": [{"recurring": false}, {"recurring": true}]}),
            Some((Event::Finished, 3)),
        ),
        (
            "claude-code",
            json!({"hook_event_name": "StopFailure", "error": "rate_limit"}),
            Some((Event::Finished, 0)),
        ),
        (
            "claude-code",
            json!({"hook_event_name": "Notification", "notification_type": "permission_prompt"}),
            Some((Event::Asks, 0)),
        ),
        ("claude-code", json!({"hook_event_name": "Notification", "notification_type": "idle_prompt"}), None),
        ("claude-code", json!({"hook_event_name": "SubagentStop", "agent_id": "a1"}), None),
        ("claude-code", json!({"hook_event_name": "Stop", "agent_id": "a1"}), None),
        (
            "codex",
            json!({"hook_event_name": "UserPromptSubmit", "prompt": "$agent-loop Codex"}),
            Some((Event::Started, 0)),
        ),
        ("codex", json!({"hook_event_name": "Stop"}), Some((Event::Finished, 0))),
        ("codex", json!({"hook_event_name": "SubagentStop"}), None),
        (
            "codex",
            json!({"hook_event_name": "PermissionRequest", "tool_name": "Bash"}),
            Some((Event::Asks, 0)),
        ),
        ("codex", json!({"type": "agent-turn-complete", "thread-id": "t"}), None),
        ("gemini", json!({"hook_event_name": "BeforeAgent", "prompt": "x"}), Some((Event::Started, 0))),
        ("gemini", json!({"hook_event_name": "AfterAgent"}), Some((Event::Finished, 0))),
        (
            "gemini",
            json!({"hook_event_name": "Notification", "notification_type": "ToolPermission", "message": "m"}),
            Some((Event::Asks, 0)),
        ),
        ("qwen", json!({"hook_event_name": "UserPromptSubmit", "prompt": ""}), Some((Event::Started, 0))),
        ("qwen", json!({"hook_event_name": "Stop"}), Some((Event::Finished, 0))),
        ("opencode", json!({"event": "started", "session_id": "ses_1"}), Some((Event::Started, 0))),
        ("opencode", json!({"event": "finished", "parent_id": "ses_0"}), None),
        ("hermes", json!({"hook_event_name": "on_session_end"}), Some((Event::Finished, 0))),
        ("scripted", json!({"hook_event_name": "Stop"}), None),
        ("codex", json!("Stop"), None),
    ];
    for (kind, payload, expected) in cases {
        let heard = said(kind, payload.clone()).map(|hook| (hook.event, hook.background));
        assert_eq!(heard, expected, "{kind}: {payload}");
    }
    let payload = json!({"hook_event_name": "UserPromptSubmit", "prompt": format!("{long}\u{1b}"), "session_id": "s", "cwd": "/w"});
    let hook = said("qwen", payload).unwrap();
    assert_eq!((hook.conversation.as_deref(), hook.cwd.as_str()), (Some("s"), "/w"));
    assert!((300..=400).contains(&hook.prompt.unwrap().chars().count()));
    let payload = json!({"hook_event_name": "Stop", "last_assistant_message": "secret"});
    let hook = said("codex", payload).unwrap();
    assert_eq!(
        serde_json::to_string(&hook).unwrap(),
        r#"{"kind":"codex","event":"finished","loop":null,"agent":null,"conversation":null,"cwd":"/here","prompt":null,"background":0,"says":null}"#
    );
    assert_eq!(read("codex", b"\xff{", "/"), None);
}

/// Settings of a person's: other keys, hooks of their own, comments, in any style.
fn settings() -> impl Strategy<Value = String> {
    let gap = prop_oneof![
        Just(""),
        Just(" "),
        Just("\n"),
        Just("\n  "),
        Just("\r\n\t"),
        Just(" /* c */ "),
        Just(" // c\n")
    ];
    let scalar = prop_oneof![Just("1"), Just("\"x, ]}//\""), Just("null"), Just("{\"k\": [1, {}]}")];
    let list = |item: BoxedStrategy<String>, open: &'static str, close: &'static str| {
        (proptest::collection::vec((gap.clone(), item, gap.clone()), 1..4), gap.clone(), any::<bool>())
            .prop_map(move |(items, end, comma)| {
                let items: Vec<String> = items.iter().map(|(a, item, b)| format!("{a}{item}{b}")).collect();
                format!("{open}{}{}{end}{close}", items.join(","), if comma { "," } else { "" })
            })
            .boxed()
    };
    let events = list(scalar.prop_map(str::to_owned).boxed(), "[", "]");
    let event = (prop_oneof![Just("Stop"), Just("Other"), Just("PermissionRequest")], events)
        .prop_map(|(name, list)| format!("\"{name}\": {list}"));
    let hooks = list(event.boxed(), "\"hooks\": {", "}");
    let other = (0..9u8, prop_oneof![Just("1"), Just("[]"), Just("{}")])
        .prop_map(|(n, value)| format!("\"k{n}\":{value}"));
    let root = prop_oneof![2 => other.boxed(), 1 => hooks];
    list(root.boxed(), "{", "}")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn put_and_take_leave_no_trace(before in settings(), mark in any::<bool>()) {
        let before = if mark { format!("\u{feff}{before}") } else { before };
        let codex = find("codex").unwrap();
        let put = codex.put(Path::new(FILE), Some(before.as_bytes()), &call());
        let after = String::from_utf8(put.unwrap()).unwrap();
        prop_assert_eq!(&put_text("codex", &after, &call()), &after);
        let rest = take_text("codex", &after);
        prop_assert_eq!(rest.as_deref(), Some(before.as_str()), "{}", after);
    }
}
