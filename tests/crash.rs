//! The router is killed, between turns and in the middle of a send; each turn is handed over once.

use std::time::Duration;

use loop_testkit::script::{Script, Step};
use loop_testkit::{eventually, require_tool};

use crate::stage::{LONG, Place, Stage, commit, pass, review, turn, work, write_line};

#[test]
fn a_router_that_is_killed_during_every_turn_wakes_nobody_twice() {
    let stage = Stage::new("");
    let shop = stage.shop();
    let gate = |n: usize| Step::WaitFor(stage.sandbox.root().join(format!("gate-{n}")).display().to_string());
    let cc = |n: usize| turn([gate(n), write_line("x"), commit("a part")]);
    let codex = |n: usize| turn([gate(n), commit("a finding")]);
    shop.cast(
        &[("CC", Script::of([cc(1), cc(3), cc(5)])), ("Codex", Script::of([codex(2), codex(4), pass()]))],
        "pass: other",
    );
    shop.run(&["init", "the task"]);
    shop.run(&["up", "--yes", "--headless"]);
    for n in 1..=5 {
        eventually(&format!("wake {n}"), LONG, || match shop.wakes("CC") + shop.wakes("Codex") {
            wakes if wakes == n => Ok(()),
            wakes => Err(format!("{wakes} wakes\n{}", shop.story())),
        });
        stage.kill_router();
        // The agent ends its turn with nobody there: its commit says so, and is found at the next start.
        stage.sandbox.write(&format!("gate-{n}"), "");
        eventually("the section", LONG, || match shop.authors() {
            authors if authors.len() == n => Ok(()),
            authors => Err(format!("{authors:?}")),
        });
        shop.run(&["up", "--yes", "--headless"]);
    }
    shop.passes();
    assert_eq!((shop.wakes("CC"), shop.wakes("Codex")), (3, 3), "{}", shop.story());
    shop.run(&["down"]);
    stage.nothing_runs();
}

#[test]
fn a_router_that_is_killed_in_the_middle_of_a_send_looks_first() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let stage = Stage::new("");
    let shop = stage.shop();
    shop.cast(
        &[
            ("CC", Script::of((0..4).map(|n| work(&format!("part {n}"))))),
            ("Codex", Script::of([review("a finding"), review("another"), review("one more"), pass()])),
        ],
        "pass: other",
    );
    shop.run(&["init", "the task"]);
    shop.run(&["up", "--yes"]);
    // Before the text is there; with the text in the composer; and while its Enter is on the way or has just been heard.
    for (state, later) in [("typing", 0), ("typed", 0), ("typed", 60), ("typed", 150)] {
        eventually(&format!("a wake that is {state}"), LONG, || {
            if sends_now(&shop, state) { Ok(()) } else { Err(shop.story()) }
        });
        std::thread::sleep(Duration::from_millis(later));
        stage.kill_router();
        shop.run(&["up", "--yes"]);
    }
    shop.passes();
    assert_eq!(shop.authors().len(), 8, "{}", shop.story());
    assert_eq!((shop.wakes("CC"), shop.wakes("Codex")), (4, 4), "{}", shop.story());
    shop.run(&["down"]);
    stage.nothing_runs();
}

/// Whether a wake is in `state`.
fn sends_now(place: &Place<'_>, state: &str) -> bool {
    let status = place.status();
    let deliveries = status["deliveries"].as_array().cloned().unwrap_or_default();
    deliveries.iter().any(|delivery| delivery["state"] == state)
}
