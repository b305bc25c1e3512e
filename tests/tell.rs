//! A person is told of what needs one, by the channels of `tell:`, and of nothing else.

use loop_testkit::eventually;
use loop_testkit::script::{Script, Step};

use crate::stage::{LONG, Place, Stage, again, commit, pass, review, turn, work};

/// A user who is told into a file; wakes that fail are given up soon.
fn stage() -> Stage {
    let timings = "timings: {look: 0.2, quiet: 1.5, sweep: 2, retry: 0.02}";
    let stage = Stage::new(timings);
    let file = stage.sandbox.root().join("told.txt");
    let script = format!("printf '%s\\n' \"$1\" >> {}", file.display());
    let settings =
        std::fs::read_to_string(stage.sandbox.home().join(".config/agent-loop/config.yaml")).unwrap();
    let command = serde_json::to_string(&["sh", "-c", &script, "tell", "{title}"]).unwrap();
    stage
        .sandbox
        .write("home/.config/agent-loop/config.yaml", format!("{settings}tell: {{command: {command}}}\n"));
    stage
}

fn told(stage: &Stage) -> Vec<String> {
    let text = std::fs::read_to_string(stage.sandbox.root().join("told.txt")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[track_caller]
fn is_told(place: &Place<'_>, expected: &[&str]) {
    eventually(&format!("{expected:?}"), LONG, || match told(place.stage) {
        told if told == expected => Ok(()),
        told => Err(format!("{told:?}\n{}", place.story())),
    });
}

#[test]
fn of_held_blocked_and_passed_and_of_no_normal_turn() {
    let stage = stage();
    let shop = stage.shop();
    let blocked = Step::Commit {
        summary: "cannot go on".into(),
        body: None,
        pass: false,
        blocked: Some("which table?".into()),
        to: None,
    };
    shop.cast(
        &[
            ("CC", Script::of([work("first"), work("second"), work("third")])),
            ("Codex", Script::of([review("a finding"), turn([blocked]), turn([]), turn([]), pass()])),
        ],
        "pass: other",
    );
    shop.run(&["init", "the task"]);
    shop.run(&["up", "--yes", "--headless"]);
    shop.until("blocked", "which table?");
    is_told(&shop, &["loop blocked: the-task"]);
    shop.run(&["resume"]);
    shop.until("held", "Codex stopped without committing");
    is_told(&shop, &["loop blocked: the-task", "loop held: the-task"]);
    shop.run(&["resume"]);
    shop.passes();
    is_told(&shop, &["loop blocked: the-task", "loop held: the-task", "loop passed: the-task"]);
    shop.run(&["down"]);
    stage.nothing_runs();
    assert_eq!(told(&stage).len(), 3);
}

#[test]
fn of_a_wake_that_is_given_up() {
    let stage = stage();
    let shop = stage.shop();
    let cc = shop.agent("CC", &again([turn([commit("first")])]));
    let config = format!(
        "agents:\n  CC: {{kind: scripted, command: {cc}}}\n  Codex: {{kind: scripted, command: [./no-such-program, \"{{text}}\"]}}\n\
         rotation: [CC, Codex]\npass: other\n"
    );
    shop.repo.commit("loop.yaml", config, "how the loop works here");
    shop.run(&["init", "the task"]);
    // Codex cannot be run here: `up` says so by its exit code, and the loop begins all the same.
    let up = shop.try_loop(&["up", "--yes", "--headless"]);
    assert!(up.code == Some(1) && up.out.contains("NOT READY"), "{up:?}");
    let status = shop.until("held", "Codex could not be woken");
    assert!(status["decision"]["reason"].as_str().unwrap().contains("no-such-program"), "{status}");
    is_told(&shop, &["loop dead: the-task"]);
    shop.run(&["down"]);
    stage.nothing_runs();
}

#[test]
fn every_channel_is_tried_by_hand_and_says_what_became_of_it() {
    let stage = stage();
    let shop = stage.shop();
    let config = stage.sandbox.home().join(".config/agent-loop/config.yaml");
    let works = std::fs::read_to_string(&config).unwrap();
    let said = shop.try_loop(&["tell", "--test"]);
    assert!(said.code == Some(0) && said.out.starts_with("command  ok in "), "{said:?}");
    assert_eq!(told(&stage), ["loop: a test"]);
    // One that fails is named with the mend, and the other is told all the same. Nothing says the address.
    let both = works.replace("tell: {", "tell: {slack: {url: 'https://127.0.0.1:1/hunter2'}, ");
    std::fs::write(&config, &both).unwrap();
    let said = shop.try_loop(&["tell", "--test", "--json"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.err.contains("config.yaml holds secrets") && said.err.contains("chmod 600"), "{said:?}");
    let view: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    let (command, slack) = (&view["channels"][0], &view["channels"][1]);
    assert!(command["ok"] == true && command["error"].is_null() && command["ms"].is_number(), "{view}");
    assert!(slack["channel"] == "slack" && slack["ok"] == false && slack["place"] == "127.0.0.1:1", "{view}");
    assert!(slack["error"].as_str().unwrap().contains("cannot reach 127.0.0.1:1"), "{view}");
    assert_eq!(told(&stage).len(), 2);
    let shown = format!("{said:?}{:?}", shop.try_loop(&["tell", "--test"]));
    assert!(!shown.contains("hunter2") && shown.contains("slack    failed: "), "{shown}");
    // What cannot work is refused with file and key, also where the file is no YAML at all.
    for (text, words) in [
        (
            both.replace("https://127.0.0.1:1", "http://h.example"),
            "`tell.slack.url` must begin with https://",
        ),
        (both.replace("{url:", "{ulr:"), "`tell.slack.url` is missing"),
        (both.replace("hunter2'}", "hunter2"), "config.yaml"),
        (both.replace("tell: {", "tell: {pager: 1, "), "`tell.pager` is no channel; known: command, desktop"),
    ] {
        std::fs::write(&config, text).unwrap();
        let said = shop.try_loop(&["tell", "--test"]);
        assert!(said.code == Some(1) && said.err.contains(words), "{said:?}");
        assert!(said.err.contains("config.yaml") && !said.err.contains("hunter2"), "{said:?}");
    }
    std::fs::write(&config, works.split("tell:").next().unwrap()).unwrap();
    let said = shop.try_loop(&["tell", "--test"]);
    assert!(said.code == Some(1) && said.err.contains("no way to reach a person"), "{said:?}");
    assert!(said.err.contains("config.yaml") && said.err.contains("`loop help tell`"), "{said:?}");
}
