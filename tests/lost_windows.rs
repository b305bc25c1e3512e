//! Windows that go away or show something else: the wake waits and says so, and `loop up` mends it.

use loop_testkit::script::{Script, Step};
use loop_testkit::{eventually, require_tool};

use crate::stage::{LONG, Place, Stage, commit, pass, review, turn, work, write_line};

/// A loop whose first turn waits for the file `gate` in the sandbox.
fn raise(stage: &Stage, codex: Script) -> Place<'_> {
    let shop = stage.shop();
    let gate = stage.sandbox.root().join("gate").display().to_string();
    let first = turn([Step::WaitFor(gate), write_line("a"), commit("first")]);
    shop.cast(&[("CC", Script::of([first, work("second")])), ("Codex", codex)], "pass: other");
    shop.run(&["init", "the task"]);
    shop.run(&["up", "--yes"]);
    eventually("CC at work", LONG, || match shop.wakes("CC") {
        1 => Ok(()),
        wakes => Err(format!("{wakes} wakes")),
    });
    shop
}

/// Waits until `loop status` asks the person for what mends it.
#[track_caller]
fn asks_for_up(place: &Place<'_>, words: &str) {
    eventually(&format!("{words:?}, and the way out"), LONG, || {
        let you = place.status()["you"].clone();
        match you.as_str() {
            Some(you) if you.contains(words) && you.contains("`loop up`") => Ok(()),
            _ => Err(format!("{you}\n{}", place.story())),
        }
    });
}

#[test]
fn a_pane_is_closed() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let stage = Stage::new("");
    let shop = raise(&stage, Script::of([review("a finding"), pass()]));
    stage.sandbox.tmux(&["kill-window", "-t", "loop-shop:Codex"]);
    stage.sandbox.write("gate", "");
    asks_for_up(&shop, "Codex has no window");
    assert_eq!(shop.wakes("Codex"), 0);
    shop.run(&["up", "--yes"]);
    shop.passes();
    assert_eq!((shop.wakes("CC"), shop.wakes("Codex")), (2, 2), "{}", shop.story());
    shop.run(&["down"]);
    stage.nothing_runs();
}

#[test]
fn a_window_shows_a_shell() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let stage = Stage::new("");
    let shop = raise(&stage, Script::of([turn([commit("a finding"), Step::Shell]), pass()]));
    stage.sandbox.write("gate", "");
    asks_for_up(&shop, "Codex's window shows a shell");
    // Nothing was typed into it: a shell would have answered.
    let screen = stage.sandbox.tmux(&["capture-pane", "-p", "-t", "loop-shop:Codex"]);
    assert!(!screen.contains("not found"), "{screen}");
    shop.run(&["up", "--yes"]);
    shop.passes();
    assert_eq!((shop.wakes("CC"), shop.wakes("Codex")), (2, 2), "{}", shop.story());
    shop.run(&["down"]);
    stage.nothing_runs();
}

#[test]
fn the_tmux_server_is_killed() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let stage = Stage::new("");
    let stuck = Step::WaitFor(stage.sandbox.root().join("never").display().to_string());
    let shop = stage.shop();
    shop.cast(
        &[("CC", Script::of([turn([stuck]), work("first")])), ("Codex", Script::of([pass()]))],
        "pass: other",
    );
    shop.run(&["init", "the task"]);
    shop.run(&["up", "--yes"]);
    eventually("CC at work", LONG, || match shop.wakes("CC") {
        1 => Ok(()),
        wakes => Err(format!("{wakes} wakes")),
    });
    stage.sandbox.tmux(&["kill-server"]);
    asks_for_up(&shop, "CC has no window");
    shop.run(&["up", "--yes"]);
    shop.passes();
    assert_eq!((shop.wakes("CC"), shop.wakes("Codex")), (2, 1), "{}", shop.story());
    shop.run(&["down"]);
    stage.nothing_runs();
}
