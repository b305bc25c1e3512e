//! Files as they are found: cut, damaged, replaced, huge, or not files at all.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use loop_core::profile::RecordsFormat;
use loop_watch::{Place, Watcher};
use proptest::prelude::*;
use serde_json::json;

use crate::stage::{Stage, append, iso, look, records, word};

fn prompt(seconds: f64) -> String {
    json!({"type": "user", "timestamp": iso(seconds), "cwd": "{repo}", "message": {"content": "hi"}})
        .to_string()
}

fn end(seconds: f64) -> String {
    let message = json!({"stop_reason": "end_turn", "content": [{"type": "text", "text": "done"}]});
    json!({"type": "assistant", "timestamp": iso(seconds), "cwd": "{repo}", "message": message}).to_string()
}

fn claude(stage: &Stage) -> Watcher {
    stage.watcher(RecordsFormat::Claude, "~/.claude/projects")
}

fn file(stage: &Stage, lines: &[String]) -> PathBuf {
    stage.write(&format!(".claude/projects/{}/s1.jsonl", stage.slug()), lines)
}

#[tokio::test]
async fn lines_that_cannot_be_read_are_left_out() {
    for damage in [
        "\n\n{\"type\":\"assistant\",\n",
        "[1, 2]\n\"text\"\nnull\n17\n",
        "\u{0}\u{0}\u{0}\n",
        "{\"type\":[],\"timestamp\":{},\"message\":7,\"toolUseResult\":[]}\n",
        "{\"type\":\"user\",\"timestamp\":\"yesterday\",\"isMeta\":true}\n",
        "{\"type\":\"of a newer form\",\"message\":{\"content\":[[]]}}\n",
    ] {
        let stage = Stage::new();
        let file = file(&stage, &[prompt(1.0), end(2.0)]);
        append(&file, damage);
        assert_eq!(word(&look(&mut claude(&stage)).await), "idle", "{damage:?}");
    }
}

#[tokio::test]
async fn damaged_utf8_costs_only_itself() {
    let stage = Stage::new();
    let file = file(&stage, &[prompt(1.0)]);
    let mut bytes = end(2.0).replace("done", "d#ne").into_bytes();
    let at = bytes.iter().position(|byte| *byte == b'#').unwrap();
    bytes[at] = 0xff;
    bytes.push(b'\n');
    fs::OpenOptions::new().append(true).open(file).unwrap().write_all(&bytes).unwrap();
    assert_eq!(word(&look(&mut claude(&stage)).await), "idle");
}

#[tokio::test]
async fn a_file_that_is_cut_replaced_or_deleted_is_read_anew() {
    let stage = Stage::new();
    let path = file(&stage, &[prompt(1.0), end(2.0)]);
    let mut watcher = claude(&stage);
    assert_eq!(word(&look(&mut watcher).await), "idle");
    file(&stage, &[prompt(1.0)]);
    assert_eq!(word(&look(&mut watcher).await), "working", "cut in place");
    let beside = path.with_extension("new");
    fs::copy(file(&stage, &[prompt(1.0), prompt(2.0), end(3.0)]), &beside).unwrap();
    assert_eq!(word(&look(&mut watcher).await), "idle", "grown");
    fs::rename(&beside, &path).unwrap();
    assert_eq!(word(&look(&mut watcher).await), "idle", "replaced by another file");
    fs::remove_file(&path).unwrap();
    assert_eq!(word(&look(&mut watcher).await), "nothing", "deleted");
    fs::remove_dir_all(path.parent().unwrap()).unwrap();
    assert_eq!(word(&look(&mut watcher).await), "nothing", "with its folder");
    file(&stage, &[prompt(1.0)]);
    assert_eq!(word(&look(&mut watcher).await), "working", "there again");
}

#[tokio::test]
async fn a_huge_transcript_is_read_from_its_end() {
    let stage = Stage::new();
    let path = file(&stage, &[prompt(1.0)]);
    // A hole of two gigabytes: to read it would take seconds.
    let mut open = fs::OpenOptions::new().write(true).open(&path).unwrap();
    open.seek(SeekFrom::Start(2 << 30)).unwrap();
    let repo = stage.repo.to_str().unwrap();
    open.write_all(format!("\n{}\n", end(2.0).replace("{repo}", repo)).as_bytes()).unwrap();
    let started = Instant::now();
    let mut watcher = claude(&stage);
    assert_eq!(word(&look(&mut watcher).await), "idle");
    append(&path, &format!("{}\n", prompt(3.0)));
    assert_eq!(word(&look(&mut watcher).await), "working");
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
}

#[tokio::test]
async fn what_tells_lies_further_back_than_the_last_megabyte() {
    let stage = Stage::new();
    let path = file(&stage, &[prompt(1.0), end(2.0)]);
    let snapshot =
        json!({"type": "file-history-snapshot", "snapshot": "x".repeat(300_000)}).to_string() + "\n";
    append(&path, &snapshot.repeat(10));
    let mut watcher = claude(&stage);
    assert_eq!(word(&look(&mut watcher).await), "idle");
    // More than is ever read: nothing is claimed.
    append(&path, &snapshot.repeat(216));
    assert!(word(&look(&mut claude(&stage)).await).contains("the last 64 MB"));
    assert_eq!(word(&look(&mut watcher).await), "idle", "whoever watched meanwhile knows");
}

#[tokio::test]
async fn what_is_no_file_does_not_hold_the_watch_up() {
    let stage = Stage::new();
    let path = file(&stage, &[prompt(1.0), end(2.0)]);
    let folder = path.parent().unwrap();
    symlink("loop.jsonl", folder.join("loop.jsonl")).unwrap();
    symlink("/nowhere", folder.join("away.jsonl")).unwrap();
    fs::create_dir(folder.join("dir.jsonl")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(folder.join("pipe.jsonl")).status().unwrap();
    assert!(made.success());
    let mut watcher = claude(&stage);
    assert_eq!(word(&look(&mut watcher).await), "idle");
    for id in ["loop", "dir", "pipe"] {
        let word = word(&watcher.look(Some(id), jiff::Timestamp::now()).await);
        assert!(word.starts_with("unreadable"), "{id}: {word}");
    }
    // A transcript that is a link to one elsewhere counts.
    let away = stage.home().join("kept.jsonl");
    fs::rename(&path, &away).unwrap();
    symlink(&away, &path).unwrap();
    assert_eq!(word(&look(&mut watcher).await), "idle");
}

#[tokio::test]
async fn places_that_lead_nowhere() {
    let stage = Stage::new();
    for format in RecordsFormat::ALL {
        assert_eq!(word(&look(&mut stage.watcher(format, "~/nothing/here")).await), "nothing", "{format:?}");
        let unset = word(&look(&mut stage.watcher(format, "$UNSET/x")).await);
        assert_eq!(unset, "unreadable: none of these places is set: $NOT_SET/x, $UNSET/x", "{format:?}");
        // A file where a folder should be, or the other way round.
        fs::create_dir_all(stage.home().join("dir")).unwrap();
        fs::write(stage.home().join("file"), "x").unwrap();
        for place in ["~/dir", "~/file"] {
            let word = word(&look(&mut stage.watcher(format, place)).await);
            assert!(word == "nothing" || word.starts_with("unreadable"), "{format:?} {place}: {word}");
        }
    }
    let place = Place { folder: "/no/such/tree".into(), ..stage.place() };
    let mut watcher = Watcher::new(&records(RecordsFormat::Claude, "~/.claude/projects"), place);
    assert_eq!(word(&look(&mut watcher).await), "nothing");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_that_a_file_holds_makes_a_look_fail(bytes in proptest::collection::vec(any::<u8>(), 0..600), cut in 0_usize..200) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let stage = Stage::new();
        let mut content = format!("{}\n", prompt(1.0).replace("{repo}", stage.repo.to_str().unwrap())).into_bytes();
        content.extend_from_slice(&bytes);
        content.extend_from_slice(&end(2.0).as_bytes()[..cut.min(end(2.0).len())]);
        let slug = stage.slug();
        for (format, at, path) in [
            (RecordsFormat::Claude, "~/p", format!("p/{slug}/s.jsonl")),
            (RecordsFormat::Qwen, "~/p", format!("p/{slug}/chats/s.jsonl")),
            (RecordsFormat::Codex, "~/p", "p/2026/12/01/rollout-2026-12-01T00-00-00-01a22f08-4d07-7032-9fe4-a30455560acd.jsonl".to_owned()),
            (RecordsFormat::Gemini, "~/p", "p/name/chats/session-x.jsonl".to_owned()),
            (RecordsFormat::OpenCode, "~/db", "db".to_owned()),
        ] {
            stage.write("p/name/.project_root", &["{repo}".to_owned()]);
            let file = stage.write(&path, &[]);
            fs::write(&file, &content).unwrap();
            let mut watcher = stage.watcher(format, at);
            for _ in 0..2 {
                let word = runtime.block_on(look(&mut watcher));
                prop_assert!(word.note.is_empty());
                fs::OpenOptions::new().append(true).open(&file).unwrap().write_all(&bytes).unwrap();
            }
        }
    }
}
