//! `loop wait --settled`: whoever is woken by the end of a process learns that an agent has finished.

use std::process::{Child, Command, Stdio};

use loop_testkit::script::{Script, Step};
use loop_testkit::{eventually, require_tool};

use crate::stage::{LONG, LOOP, Place, Stage, commit, pass, turn, work, write_line};

/// `loop wait --settled NAME …` in the background.
fn watch(place: &Place<'_>, arguments: &[&str]) -> Child {
    let mut command: Command = place.repo.command(LOOP);
    command.args(["wait", "--settled"]).args(arguments).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// What it printed, once it has ended.
fn told(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A loop in which CC works as long as the file `gate` is missing, and Codex asks something.
fn raise(stage: &Stage) -> Place<'_> {
    let shop = stage.shop();
    let gate = stage.sandbox.root().join("gate").display().to_string();
    let first = turn([Step::WaitFor(gate), write_line("a"), commit("first"), Step::Sleep(300)]);
    let asks = turn([Step::Ask("which colour?".into()), commit("asked")]);
    shop.cast(
        &[("CC", Script::of([first, work("second")])), ("Codex", Script::of([asks, pass()]))],
        "pass: other",
    );
    shop.run(&["init", "the task"]);
    shop.run(&["up", "--yes"]);
    shop
}

#[test]
fn before_during_and_after_the_work() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let stage = Stage::new("");
    let shop = raise(&stage);
    // Its wake may still be on the way: that is before the work.
    let before = watch(&shop, &["CC", "--timeout", "90s"]);
    eventually("CC at work", LONG, || match shop.wakes("CC") {
        1 => Ok(()),
        wakes => Err(format!("{wakes} wakes")),
    });
    let during = watch(&shop, &["CC", "--timeout", "90s", "--json"]);
    let too_short = shop.try_loop(&["wait", "--settled", "CC", "--timeout", "3s"]);
    assert_eq!(too_short.code, Some(4), "{too_short:?}");
    assert!(too_short.err.contains("timed out: CC works"), "{too_short:?}");
    stage.sandbox.write("gate", "");
    let (code, out) = told(before);
    assert_eq!((code, out.as_str()), (Some(0), "CC session unknown has settled!\n"), "{}", shop.story());
    let (code, out) = told(during);
    assert_eq!(code, Some(0), "{out}");
    let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((answer["agent"].as_str(), answer["state"].as_str()), (Some("CC"), Some("settled")));
    assert_eq!(shop.authors(), ["CC"], "it had committed by then");

    // Codex asks: a person must come.
    let asked = shop.try_loop(&["wait", "--settled", "codex", "--timeout", "90s"]);
    assert_eq!(asked.code, Some(1), "{asked:?}");
    assert!(asked.out.starts_with("Codex asks for a person: which colour?"), "{asked:?}");

    // Nobody misses a window: who comes afterwards is told at once.
    let after = shop.try_loop(&["wait", "--settled", "CC", "--timeout", "90s"]);
    assert_eq!((after.code, after.out.as_str()), (Some(0), "CC session unknown has settled!\n"));

    // An agent that is taken away will never settle.
    let gone = watch(&shop, &["Codex", "--timeout", "90s"]);
    drop(told(gone));
    stage.sandbox.tmux(&["kill-window", "-t", "loop-shop:Codex"]);
    let gone = shop.try_loop(&["wait", "--settled", "Codex", "--timeout", "90s"]);
    assert_eq!(gone.code, Some(1), "{gone:?}");
    assert!(gone.out.starts_with("Codex is gone: "), "{gone:?}");
    let nobody = shop.try_loop(&["wait", "--settled", "Dana"]);
    assert_eq!(nobody.code, Some(1), "{nobody:?}");
    shop.run(&["down"]);
    stage.nothing_runs();
}
