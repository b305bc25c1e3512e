//! What a window shows at its start and later: dialogs, and a screen that no rule knows any more.

use std::path::{Path, PathBuf};

use loop_testkit::tui::{Script, Start, read_truth};
use loop_testkit::{eventually, require_tool};

use crate::stage::{LONG, LOOP, Place, Stage};

/// A loop of one agent that a fake CLI plays.
struct Played<'stage> {
    shop: Place<'stage>,
    script: PathBuf,
    log: PathBuf,
}

impl<'stage> Played<'stage> {
    fn new(stage: &'stage Stage, start: Start, more: &str) -> Self {
        let shop = stage.shop();
        let script = stage.sandbox.root().join("tui.json");
        let log = stage.sandbox.root().join("tui.log");
        let fake = Path::new(LOOP).with_file_name("loop-fake-tui");
        assert!(fake.exists(), "{} is not built: cargo build -p loop-testkit", fake.display());
        let words = [&fake, Path::new("--persona"), Path::new("claude-code"), Path::new("--script"), &script]
            .into_iter()
            .chain([Path::new("--log"), &log]);
        let words: Vec<String> = words.map(|word| word.display().to_string()).collect();
        let command = serde_json::to_string(&words).unwrap();
        let text = format!(
            "agents:\n  CC: {{kind: claude-code, command: {command}{more}}}\nrotation: [CC]\npass: any\n"
        );
        shop.repo.commit("loop.yaml", text, "how the loop works here");
        let played = Self { shop, script, log };
        played.shows(1, start);
        played.shop.run(&["init", "the task"]);
        played
    }

    /// From now on it shows this.
    fn shows(&self, serial: u64, start: Start) {
        let script = Script { serial, start, turn_ms: 600_000, ..Script::default() };
        let beside = self.script.with_extension("new");
        std::fs::write(&beside, serde_json::to_string(&script).unwrap()).unwrap();
        std::fs::rename(beside, &self.script).unwrap();
    }

    fn count(&self, event: &str) -> usize {
        read_truth(&self.log).iter().filter(|line| line.event == event).count()
    }

    #[track_caller]
    fn until(&self, event: &str, times: usize) {
        eventually(event, LONG, || match self.count(event) {
            count if count == times => Ok(()),
            _ => Err(format!("{:?}\n{}", read_truth(&self.log), self.shop.story())),
        });
    }

    /// Waits until `loop status` says this to the person.
    #[track_caller]
    fn you(&self, words: &str) -> String {
        eventually(words, LONG, || match self.shop.status()["you"].as_str() {
            Some(you) if you.contains(words) => Ok(you.to_owned()),
            you => Err(format!("{you:?}\n{}", self.shop.story())),
        })
    }
}

const TIMINGS: &str = "timings: {look: 0.2, quiet: 1.5, sweep: 2, ready: 2}";

#[test]
fn a_screen_that_an_update_changed_is_told_and_typed_into_only_when_it_is_known_again() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let stage = Stage::new(TIMINGS);
    let played = Played::new(&stage, Start::Updated, "");
    let up = played.shop.try_loop(&["up", "--yes"]);
    assert_eq!(up.code, Some(1), "{up:?}");
    for words in ["NOT READY", "not ready after 2 s", "`signs:` under the agent", "its last lines:"] {
        assert!(up.out.contains(words), "{words}: {up:?}");
    }
    let you = played.you("nobody can tell what CC does: its last line is `");
    assert!(you.contains("`loop attach CC` shows its window"), "{you}");
    let agents = played.shop.run(&["agents"]);
    assert!(agents.contains("nobody can tell what CC does: its last line is `"), "{agents}");
    let doctor = played.shop.try_loop(&["doctor"]);
    let doctor = format!("{}{}", doctor.out, doctor.err);
    assert!(doctor.contains("(after an update?), say so with `signs:` under CC"), "{doctor}");
    assert_eq!((played.count("submitted"), played.count("key-at-dialog")), (0, 0));
    played.shows(2, Start::Idle);
    played.until("submitted", 1);
    let wakes = read_truth(&played.log).into_iter().filter(|line| line.event == "submitted");
    assert_eq!(wakes.map(|line| line.text).collect::<Vec<_>>(), ["/agent-loop CC"]);
    played.shop.run(&["down"]);
    stage.nothing_runs();
}

#[test]
fn a_dialog_at_the_start_is_answered_once_where_the_user_says_so() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let stage = Stage::new(TIMINGS);
    let played = Played::new(&stage, Start::Dialog("trust".into()), ", answers: [trust]");
    let up = played.shop.run(&["up", "--yes"]);
    assert!(!up.contains("NOT READY"), "{up}");
    played.until("submitted", 1);
    assert_eq!(played.count("dialog-answered"), 1);
    // The same one later is a person's.
    played.shows(2, Start::Dialog("trust".into()));
    played.you("CC asks whether to trust the folder");
    played.shop.run(&["agents"]);
    assert_eq!((played.count("dialog-answered"), played.count("key-at-dialog")), (1, 0));
    played.shop.run(&["down"]);
    stage.nothing_runs();
}

#[test]
fn a_dialog_that_the_user_did_not_name_is_a_person_s() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let stage = Stage::new(TIMINGS);
    let played = Played::new(&stage, Start::Dialog("bypass".into()), ", answers: [trust]");
    let up = played.shop.try_loop(&["up", "--yes"]);
    assert_eq!(up.code, Some(1), "{up:?}");
    let words = "the agent asks whether to run without asking for permissions; answer it in its window (Down, then Enter";
    assert!(up.out.contains(words), "{up:?}");
    played.you("CC asks whether to run without asking for permissions");
    assert_eq!((played.count("dialog-answered"), played.count("key-at-dialog")), (0, 0));
    // Once it is answered, the wake goes.
    stage.sandbox.tmux(&["send-keys", "-t", "loop-shop:CC", "1"]);
    played.until("submitted", 1);
    assert_eq!(played.count("dialog-answered"), 1);
    played.shop.run(&["down"]);
    stage.nothing_runs();
}

#[test]
fn no_key_reaches_a_usage_limit() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let stage = Stage::new(TIMINGS);
    let played = Played::new(&stage, Start::Limited, "");
    let up = played.shop.try_loop(&["up", "--yes"]);
    assert_eq!(up.code, Some(1), "{up:?}");
    assert!(up.out.contains("the agent has met a usage limit: "), "{up:?}");
    // When it ends cannot be read: a person goes on.
    played.shop.until("held", "CC has met a usage limit");
    assert_eq!(played.count("submitted"), 0);
    played.shows(2, Start::Idle);
    assert_eq!(played.count("submitted"), 0);
    played.shop.run(&["resume"]);
    played.until("submitted", 1);
    played.shop.run(&["down"]);
    stage.nothing_runs();
}
