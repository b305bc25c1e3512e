//! Transcripts in the middle of a write, out of order, or turned into something else while they are watched.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use loop_core::profile::RecordsFormat;
use loop_core::records::Recorded;
use loop_watch::Watcher;
use serde_json::{Value, json};

use crate::stage::{Stage, append, at, iso, look, word};

const THREAD: &str = "01a22f08-4d07-7032-9fe4-a30455560acd";

/// One kind of transcripts: where, the lines before anything was asked, and the first and the last line of a turn.
struct Kind {
    format: RecordsFormat,
    path: &'static str,
    head: Vec<Value>,
    prompt: fn(f64) -> Value,
    end: fn(f64) -> Value,
    /// What a whole turn reads as.
    over: &'static str,
}

impl Kind {
    fn file(&self, stage: &Stage) -> PathBuf {
        let path = self.path.replace("{slug}", &stage.slug()).replace("{thread}", THREAD);
        stage.write("tmp/name/.project_root", &["{repo}".to_owned()]);
        let lines: Vec<String> = self.head.iter().map(Value::to_string).collect();
        stage.write(&path, &lines)
    }

    fn watcher(&self, stage: &Stage) -> Watcher {
        stage.watcher(self.format, if self.format == RecordsFormat::Gemini { "~/tmp" } else { "~/p" })
    }
}

fn line(stage: &Stage, value: &Value) -> String {
    value.to_string().replace("{repo}", stage.repo.to_str().unwrap()) + "\n"
}

fn kinds() -> [Kind; 4] {
    [
        Kind {
            format: RecordsFormat::Claude,
            path: "p/{slug}/s1.jsonl",
            head: Vec::new(),
            prompt: |s| json!({"type": "user", "timestamp": iso(s), "cwd": "{repo}", "message": {"content": "hi"}}),
            end: |s| {
                json!({"type": "assistant", "timestamp": iso(s), "cwd": "{repo}",
                    "message": {"stop_reason": "end_turn", "content": [{"type": "text", "text": "done"}]}})
            },
            over: "idle",
        },
        Kind {
            format: RecordsFormat::Codex,
            path: "p/2026/12/01/rollout-2026-12-01T00-00-00-{thread}.jsonl",
            head: vec![json!({"timestamp": iso(0.0), "type": "session_meta", "payload": {"cwd": "{repo}"}})],
            prompt: |s| json!({"timestamp": iso(s), "type": "event_msg", "payload": {"type": "user_message", "message": "hi"}}),
            end: |s| {
                json!({"timestamp": iso(s), "type": "event_msg",
                    "payload": {"type": "task_complete", "last_agent_message": "done"}})
            },
            over: "idle",
        },
        Kind {
            format: RecordsFormat::Gemini,
            path: "tmp/name/chats/session-x.jsonl",
            head: vec![json!({"sessionId": "g1", "kind": "main"})],
            prompt: |s| json!({"id": "1", "timestamp": iso(s), "type": "user", "content": "hi"}),
            end: |s| json!({"id": "2", "timestamp": iso(s), "type": "gemini", "content": "done"}),
            over: "still",
        },
        Kind {
            format: RecordsFormat::Qwen,
            path: "p/{slug}/chats/q1.jsonl",
            head: Vec::new(),
            prompt: |s| json!({"type": "user", "timestamp": iso(s), "cwd": "{repo}", "message": {"parts": [{"text": "hi"}]}}),
            end: |s| json!({"type": "assistant", "timestamp": iso(s), "cwd": "{repo}", "message": {"parts": [{"text": "done"}]}}),
            over: "idle",
        },
    ]
}

#[tokio::test]
async fn half_a_line_tells_nothing_until_it_is_whole() {
    for kind in kinds() {
        let stage = Stage::new();
        let file = kind.file(&stage);
        append(&file, &line(&stage, &(kind.prompt)(1.0)));
        let mut watcher = kind.watcher(&stage);
        let end = line(&stage, &(kind.end)(2.0));
        for cut in [1, end.len() / 2, end.len() - 2] {
            append(&file, &end[..cut]);
            assert_eq!(word(&look(&mut watcher).await), "working", "{:?}: {cut} bytes", kind.format);
            assert_eq!(word(&look(&mut kind.watcher(&stage)).await), "working", "{:?}: anew", kind.format);
            fs::OpenOptions::new()
                .write(true)
                .open(&file)
                .unwrap()
                .set_len(file.metadata().unwrap().len() - cut as u64)
                .unwrap();
        }
        append(&file, &end[..9]);
        look(&mut watcher).await;
        append(&file, &end[9..]);
        assert_eq!(word(&look(&mut watcher).await), kind.over, "{:?}: whole", kind.format);
    }
}

#[tokio::test]
async fn a_half_line_that_never_ends_costs_no_line_but_the_next() {
    for kind in kinds() {
        let stage = Stage::new();
        let file = kind.file(&stage);
        append(&file, &line(&stage, &(kind.prompt)(1.0)));
        // The CLI died in the middle of a line, and was started again: it goes on behind it.
        let half = &line(&stage, &(kind.end)(2.0))[..40];
        append(&file, half);
        let mut watcher = kind.watcher(&stage);
        assert_eq!(word(&look(&mut watcher).await), "working", "{:?}", kind.format);
        append(&file, &line(&stage, &(kind.prompt)(30.0)));
        append(&file, &line(&stage, &(kind.end)(31.0)));
        assert_eq!(word(&look(&mut watcher).await), kind.over, "{:?}", kind.format);
        append(&file, half);
        append(&file, &line(&stage, &(kind.prompt)(40.0)));
        // A turn that began behind half a line has begun.
        assert_eq!(word(&look(&mut watcher).await), "working", "{:?}: the next turn", kind.format);
        let prompt = look(&mut watcher).await.prompt.unwrap();
        assert_eq!(prompt.at, at(40.0), "{:?}", kind.format);
    }
}

#[tokio::test]
async fn a_turn_that_begins_after_the_clock_was_set_back_is_no_settled_one() {
    for kind in kinds() {
        for back in [2.5, 5.0, 30.0, 59.0, 3600.0, 1e6] {
            let stage = Stage::new();
            let file = kind.file(&stage);
            append(&file, &line(&stage, &(kind.prompt)(1.0)));
            append(&file, &line(&stage, &(kind.end)(100.0)));
            append(&file, &line(&stage, &(kind.prompt)(100.0 - back)));
            let mut watcher = kind.watcher(&stage);
            assert_eq!(word(&look(&mut watcher).await), "working", "{:?}: {back} s", kind.format);
            append(&file, &line(&stage, &(kind.end)(101.0 - back)));
            assert_eq!(word(&look(&mut watcher).await), kind.over, "{:?}: {back} s", kind.format);
        }
    }
}

#[tokio::test]
async fn a_line_of_the_future_or_without_a_time_holds_nothing_up() {
    for kind in kinds() {
        let stage = Stage::new();
        let file = kind.file(&stage);
        append(&file, &line(&stage, &(kind.prompt)(1e9)));
        append(&file, &line(&stage, &(kind.end)(2.0)));
        assert_eq!(word(&look(&mut kind.watcher(&stage)).await), kind.over, "{:?}: future", kind.format);
        for time in [json!(null), json!(17), json!("yesterday"), json!("9999-99-99T00:00:00Z"), json!("")] {
            let mut prompt = (kind.prompt)(3.0);
            prompt["timestamp"] = time.clone();
            append(&file, &line(&stage, &prompt));
            assert_eq!(word(&look(&mut kind.watcher(&stage)).await), "working", "{:?}: {time}", kind.format);
            let mut end = (kind.end)(4.0);
            end["timestamp"] = time.clone();
            append(&file, &line(&stage, &end));
            assert_eq!(word(&look(&mut kind.watcher(&stage)).await), kind.over, "{:?}: {time}", kind.format);
        }
    }
}

#[tokio::test]
async fn what_is_longer_than_any_line_leaves_an_end_unproved() {
    for kind in kinds() {
        let stage = Stage::new();
        let file = kind.file(&stage);
        append(&file, &line(&stage, &(kind.prompt)(1.0)));
        append(&file, &line(&stage, &(kind.end)(2.0)));
        let mut watcher = kind.watcher(&stage);
        assert_eq!(word(&look(&mut watcher).await), kind.over, "{:?}", kind.format);
        // A prompt with fifty megabytes of pasted pictures: too long to be read, but something has been asked.
        let mut long = (kind.prompt)(3.0);
        long["paste"] = Value::String("x".repeat(50 << 20));
        append(&file, &line(&stage, &long));
        for (how, watcher) in [("further", &mut watcher), ("anew", &mut kind.watcher(&stage))] {
            let said = word(&look(watcher).await);
            assert!(said == "still" || said == "working", "{:?} {how}: {said}", kind.format);
        }
        append(&file, &line(&stage, &(kind.end)(4.0)));
        for (how, watcher) in [("further", &mut watcher), ("anew", &mut kind.watcher(&stage))] {
            assert_eq!(word(&look(watcher).await), kind.over, "{:?} {how}", kind.format);
        }
    }
}

#[tokio::test]
async fn a_file_of_nothing_but_bytes_tells_nothing() {
    for kind in kinds() {
        let stage = Stage::new();
        let file = kind.file(&stage);
        for bytes in
            [vec![0xff; 3000], b"\xfe\n\xff\n".repeat(500), vec![0; 3000], vec![b'\n'; 3000], Vec::new()]
        {
            fs::write(&file, &bytes).unwrap();
            let said = word(&look(&mut kind.watcher(&stage)).await);
            assert_eq!(said, "nothing", "{:?}: {:?}…", kind.format, bytes.first());
        }
        // In UTF-16, as an editor may save it.
        let text = line(&stage, &(kind.end)(2.0));
        let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        fs::write(&file, wide).unwrap();
        assert_eq!(word(&look(&mut kind.watcher(&stage)).await), "nothing", "{:?}", kind.format);
    }
}

async fn in_time(watcher: &mut Watcher) -> Recorded {
    let look = watcher.look(None, Timestamp::now());
    tokio::time::timeout(Duration::from_secs(30), look).await.expect("a look that comes back")
}

/// Puts something in the place of a file.
type Change = fn(&Path);

fn pipe(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Runs a test with a time of its own: a thread that hangs in `open` keeps the runtime from ending.
fn within_a_runtime(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| runtime.block_on(test)));
    runtime.shutdown_background();
    if let Err(panic) = ended {
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn a_transcript_that_turns_into_something_else_while_it_is_watched() {
    within_a_runtime(async {
        for kind in kinds() {
            let stage = Stage::new();
            let file = kind.file(&stage);
            append(&file, &line(&stage, &(kind.prompt)(1.0)));
            let mut watcher = kind.watcher(&stage);
            assert_eq!(word(&in_time(&mut watcher).await), "working", "{:?}", kind.format);
            let kept = file.with_extension("kept");
            let changes: [(&str, Change); 4] = [
                ("a folder", |path| fs::create_dir(path).unwrap()),
                ("a pipe", pipe),
                ("a link to itself", |path| symlink(path.file_name().unwrap(), path).unwrap()),
                ("a link to nothing", |path| symlink("/nowhere/at/all", path).unwrap()),
            ];
            for (what, change) in changes {
                fs::rename(&file, &kept).unwrap();
                change(&file);
                let said = word(&in_time(&mut watcher).await);
                assert!(
                    said == "nothing" || said.starts_with("unreadable"),
                    "{:?}, {what}: {said}",
                    kind.format
                );
                fs::remove_file(&file).or_else(|_| fs::remove_dir(&file)).unwrap();
                fs::rename(&kept, &file).unwrap();
                assert_eq!(word(&in_time(&mut watcher).await), "working", "{:?}, after {what}", kind.format);
            }
        }
    });
}

#[test]
fn a_pipe_beside_the_transcripts_holds_nothing_up() {
    within_a_runtime(async {
        let kind = kinds().into_iter().find(|kind| kind.format == RecordsFormat::Gemini).unwrap();
        for name in ["projects.json", "tmp/name/.project_root"] {
            let stage = Stage::new();
            let file = kind.file(&stage);
            append(&file, &line(&stage, &(kind.prompt)(1.0)));
            fs::remove_file(stage.home().join(name)).ok();
            pipe(&stage.home().join(name));
            let said = word(&in_time(&mut kind.watcher(&stage)).await);
            assert!(matches!(said.as_str(), "nothing" | "working"), "{name}: {said}");
        }
    });
}

#[tokio::test]
async fn of_two_conversations_in_one_folder_the_newest_or_the_agents_own() {
    for kind in kinds() {
        let stage = Stage::new();
        let old = kind.file(&stage);
        append(&old, &line(&stage, &(kind.prompt)(1.0)));
        append(&old, &line(&stage, &(kind.end)(2.0)));
        let (id, new_id, new) = match kind.format {
            RecordsFormat::Claude => ("s1", "s2", old.with_file_name("s2.jsonl")),
            RecordsFormat::Qwen => ("q1", "q2", old.with_file_name("q2.jsonl")),
            RecordsFormat::Gemini => ("g1", "g2", old.with_file_name("session-y.jsonl")),
            _ => {
                let new = "01a22f08-4d07-7032-9fe4-a30455560ace";
                (THREAD, new, old.with_file_name(format!("rollout-2026-12-01T00-00-01-{new}.jsonl")))
            }
        };
        let begun = std::time::SystemTime::now() - Duration::from_secs(600);
        fs::File::options().append(true).open(&old).unwrap().set_modified(begun).unwrap();
        let head = fs::read_to_string(&old).unwrap();
        let head = head.lines().take(kind.head.len()).map(|head| head.replace("\"g1\"", "\"g2\"") + "\n");
        fs::write(&new, head.collect::<String>()).unwrap();
        append(&new, &line(&stage, &(kind.prompt)(3.0)));
        let mut watcher = kind.watcher(&stage);
        let newest = look(&mut watcher).await;
        assert_eq!(
            (word(&newest).as_str(), newest.conversation.as_deref()),
            ("working", Some(new_id)),
            "{:?}",
            kind.format
        );
        assert!(newest.note.contains("2 conversations"), "{:?}: {}", kind.format, newest.note);
        let own = watcher.look(Some(id), Timestamp::now()).await;
        assert_eq!(
            (word(&own).as_str(), own.conversation.as_deref()),
            (kind.over, Some(id)),
            "{:?}",
            kind.format
        );
        // What a person does in the old one is none of the agent's, as long as the agent is known by its own.
        append(&old, &line(&stage, &(kind.prompt)(5.0)));
        let own = watcher.look(Some(new_id), Timestamp::now()).await;
        assert_eq!(word(&own), "working", "{:?}", kind.format);
        append(&new, &line(&stage, &(kind.end)(6.0)));
        let own = watcher.look(Some(new_id), Timestamp::now()).await;
        assert_eq!((word(&own).as_str(), own.changed.is_some()), (kind.over, true), "{:?}", kind.format);
    }
}

#[tokio::test]
async fn invalid_utf8_inside_a_text_costs_only_itself() {
    for kind in kinds() {
        let stage = Stage::new();
        let file = kind.file(&stage);
        append(&file, &line(&stage, &(kind.prompt)(1.0)));
        let end = line(&stage, &(kind.end)(2.0)).replace("done", "d\u{1}ne").into_bytes();
        let damaged: Vec<u8> = String::from_utf8(end).unwrap().replace("\\u0001", "\u{1}").into_bytes();
        let damaged: Vec<u8> = damaged.into_iter().map(|byte| if byte == 1 { 0xc3 } else { byte }).collect();
        fs::OpenOptions::new().append(true).open(&file).unwrap().write_all(&damaged).unwrap();
        assert_eq!(word(&look(&mut kind.watcher(&stage)).await), kind.over, "{:?}", kind.format);
    }
}
