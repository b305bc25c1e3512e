//! Usage limits: waited out, skipped, or held for a person; nothing is typed before.

use loop_testkit::script::{Script, Step};
use loop_testkit::{eventually, require_tool};
use serde_json::Value;

use crate::stage::{LONG, Place, Stage, pass, review, turn, work};

const TIMINGS: &str = "timings: {look: 0.2, quiet: 1.5, sweep: 1, limit: 0.5}";

/// A loop in which CC meets a limit of these words in its first turn.
fn raise<'stage>(stage: &'stage Stage, words: &str, more: &str) -> Place<'stage> {
    // Left out, CC is not there to be reviewed.
    let first = if more.contains("skip") { review("a finding") } else { pass() };
    let shop = stage.shop();
    let meets = turn([Step::Say(words.into())]);
    let cc = shop.agent("CC", &Script::of([meets, work("built")]));
    let codex = shop.agent("Codex", &Script::of([first, pass()]));
    let text = format!(
        "agents:\n  CC: {{kind: scripted, command: {cc}{more}}}\n  Codex: {{kind: scripted, command: {codex}}}\n\
         rotation: [CC, Codex]\npass: any\n"
    );
    shop.repo.commit("loop.yaml", text, "how the loop works here");
    shop.run(&["init", "the task"]);
    shop.run(&["up", "--yes"]);
    shop
}

#[test]
fn the_agent_is_woken_again_when_the_limit_has_ended() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let stage = Stage::new(TIMINGS);
    let shop = raise(&stage, "limit reached, try again in 8 seconds", "");
    eventually("the limit to be known", LONG, || {
        let waits = shop.status()["deliveries"].to_string();
        if waits.contains("usage limit") { Ok(()) } else { Err(format!("{waits}\n{}", shop.story())) }
    });
    assert_eq!(shop.status()["you"], Value::Null, "it is waited out");
    assert_eq!(shop.wakes("CC"), 1);
    shop.until("running", "");
    eventually("CC to be woken again", LONG, || match shop.wakes("CC") {
        2 => Ok(()),
        _ => Err(shop.story()),
    });
    shop.passes();
    let log = shop.run(&["log"]);
    assert!(log.contains("CC has met a usage limit: limit reached, try again in 8 seconds (until "), "{log}");
    assert_eq!(shop.wakes("CC"), 2, "{log}");
    shop.run(&["down"]);
    stage.nothing_runs();
}

#[test]
fn a_limit_whose_end_cannot_be_read_holds_the_loop() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let stage = Stage::new(TIMINGS);
    let shop = raise(&stage, "limit reached, ask your administrator", "");
    shop.until("held", "CC has met a usage limit");
    assert_eq!(shop.wakes("CC"), 1);
    // The person has mended it: the words still stand there, and do not stand in the way.
    shop.run(&["resume"]);
    shop.passes();
    assert_eq!(shop.wakes("CC"), 2, "{}", shop.story());
    shop.run(&["down"]);
    stage.nothing_runs();
}

#[test]
fn pausing_cancels_what_was_planned_for_its_end() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let stage = Stage::new(TIMINGS);
    let shop = raise(&stage, "limit reached, try again in 3 seconds", "");
    eventually("the limit to be known", LONG, || {
        let log = shop.run(&["log"]);
        if log.contains("usage limit") { Ok(()) } else { Err(log) }
    });
    shop.run(&["pause"]);
    let paused = std::time::Instant::now();
    // Its end, and the margin after it, go by.
    eventually("the end of the limit", LONG, || {
        let until = std::time::Instant::now();
        if until.duration_since(paused).as_secs() >= 6 { Ok(()) } else { Err("not yet".to_owned()) }
    });
    assert_eq!(shop.wakes("CC"), 1, "{}", shop.story());
    shop.run(&["resume"]);
    shop.passes();
    shop.run(&["down"]);
}

#[test]
fn an_agent_is_left_out_until_its_limit_has_ended() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let stage = Stage::new(TIMINGS);
    let shop = raise(&stage, "limit reached, try again in 20 seconds", ", on_limit: skip");
    eventually("Codex to go first", LONG, || match shop.authors().first().map(String::as_str) {
        Some("Codex") => Ok(()),
        _ => Err(shop.story()),
    });
    shop.passes();
    let log = shop.run(&["log"]);
    assert!(log.contains("it is skipped until then"), "{log}");
    shop.run(&["down"]);
    stage.nothing_runs();
}

#[test]
fn a_limit_can_hold_the_loop_at_once() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let stage = Stage::new(TIMINGS);
    let shop = raise(&stage, "limit reached, try again in 2 hours", ", on_limit: hold");
    shop.until("held", "CC has met a usage limit: limit reached, try again in 2 hours");
    shop.run(&["down"]);
    stage.nothing_runs();
}
