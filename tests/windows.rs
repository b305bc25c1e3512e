//! Agents in real tmux windows, from `loop init` to `loop archive`.

use loop_testkit::script::{Script, Step};
use loop_testkit::{eventually, require_tool};

use crate::stage::{Stage, commit, pass, review, sh, turn, work, write_line};

#[test]
fn two_agents_play_until_one_passes() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let stage = Stage::new("");
    let shop = stage.shop();
    shop.cast(
        &[
            ("CC", Script::of([work("the form"), work("the form without JavaScript")])),
            ("Codex", Script::of([review("F1 P1 CC.txt:1 needs JavaScript"), pass()])),
        ],
        "pass: other\npeople: [Dana]",
    );
    let config = shop.repo.read("loop.yaml");
    shop.run(&["init", "make the login form work"]);
    let up = shop.run(&["up", "--yes"]);
    assert!(up.contains("tmux") && !up.contains("NOT READY"), "{up}");
    shop.passes();
    assert_eq!(shop.authors(), ["CC", "Codex", "CC", "Codex"]);
    assert_eq!((shop.wakes("CC"), shop.wakes("Codex")), (2, 2), "{}", shop.story());
    // Nobody can be shown a window without a terminal; that tmux says so proves that it was asked for.
    for arguments in [&["attach"][..], &["attach", "Codex"]] {
        let attach = shop.try_loop(arguments);
        assert!(attach.err.contains("not a terminal"), "{attach:?}");
    }
    let windows = stage.sandbox.tmux(&["list-windows", "-a", "-F", "#{session_name}:#{window_name}"]);
    assert_eq!(windows, "loop-shop:CC\nloop-shop:Codex");

    let archived = shop.run(&["archive"]);
    assert!(archived.contains("project-archive/"), "{archived}");
    assert!(archived.contains("\nclosed: 2 windows of the agents\n"), "{archived}");
    assert_eq!(shop.repo.read("loop.yaml"), config);
    assert!(!shop.repo.path().join("STATUS.md").exists());
    assert_eq!(shop.repo.git(&["status", "--porcelain"]), "");
    let down = shop.run(&["down"]);
    assert!(down.contains("the router has stopped"), "{down}");
    stage.nothing_runs();

    shop.run(&["init", "a second task"]);
    let status = shop.status();
    assert_eq!(
        (&status["state"], &status["decision"]["agent"]),
        (&"running".into(), &"CC".into()),
        "{status}"
    );
}

#[test]
fn five_agents_follow_a_table() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let stage = Stage::new("");
    let shop = stage.shop();
    let to = |name: &str| Step::Commit {
        summary: "look at this first".into(),
        body: None,
        pass: false,
        blocked: None,
        to: Some(name.into()),
    };
    shop.cast(
        &[
            ("Ada", Script::of([work("write it"), work("mend it"), pass()])),
            ("Bob", Script::of([turn([write_line("a test"), commit("test it")]), pass()])),
            ("Cy", Script::of([turn([to("Ada")]), pass()])),
            ("Dee", Script::of([work("never reached: skipped")])),
            ("Eve", Script::of([pass(), pass()])),
        ],
        "rotation: {Ada: Bob, Bob: Cy, Cy: Dee, Dee: Eve, Eve: Ada}\npass: all\nlimits: {rounds: 5}",
    );
    shop.run(&["init", "five of them"]);
    shop.run(&["up", "--yes"]);
    shop.run(&["skip", "Dee"]);
    shop.passes();
    // Cy handed back to Ada; Dee is left out, and has no say under `all`.
    let authors = shop.authors();
    assert_eq!(authors, ["Ada", "Bob", "Cy", "Ada", "Bob", "Cy", "Eve", "Ada"], "{}", shop.story());
    let wakes = shop.all_wakes(&["Ada", "Bob", "Cy", "Dee", "Eve"]);
    let expected = [("Ada", 3), ("Bob", 2), ("Cy", 2), ("Dee", 0), ("Eve", 1)];
    assert_eq!(wakes, expected.into_iter().collect(), "{}", shop.story());
    shop.run(&["down"]);
    stage.nothing_runs();
}

#[test]
fn what_was_down_goes_on_when_it_is_up_again() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let stage = Stage::new("");
    let shop = stage.shop();
    let slow = turn([sh("touch begun; sleep 60"), commit("never")]);
    shop.cast(
        &[("CC", Script::of([slow, work("the second time")])), ("Codex", Script::of([pass()]))],
        "pass: other",
    );
    shop.run(&["init", "a long night"]);
    shop.run(&["up", "--yes"]);
    eventually("CC works", std::time::Duration::from_secs(30), || {
        if shop.repo.path().join("begun").exists() { Ok(()) } else { Err(shop.story()) }
    });
    shop.run(&["down"]);
    stage.nothing_runs();
    let up = shop.run(&["up"]);
    assert!(!up.contains("paused"), "{up}");
    shop.passes();
    assert_eq!(shop.authors(), ["CC", "Codex"]);
}
