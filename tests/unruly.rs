//! Agents that do what agents do: amend, rebase, rewrite, speak out of turn or for others, forget.

use loop_testkit::script::{Script, Step};
use loop_testkit::{eventually, require_tool};

use crate::stage::{LONG, Place, Stage, commit, pass, review, sh, turn, work, write_line};

/// A loop of these agents, up and headless.
fn raise<'stage>(stage: &'stage Stage, agents: &[(&str, Script)], rest: &str) -> Place<'stage> {
    let shop = stage.shop();
    shop.cast(agents, rest);
    shop.run(&["init", "the task"]);
    shop.run(&["up", "--yes", "--headless"]);
    shop
}

fn end(place: &Place<'_>) {
    place.run(&["down"]);
    place.stage.nothing_runs();
}

#[test]
fn amending_and_rebasing_hand_over_once() {
    let stage = Stage::new("");
    let wip = sh("echo more >> CC.txt; git add CC.txt; git commit -qm 'work in progress'");
    let amend = sh("git commit -q --amend -m 'CC: better words'; git commit -q --amend --no-edit");
    let rebase = sh("git rebase -q -f HEAD~2; git rebase -q -f --exec true HEAD~1");
    let cc = Script::of([
        turn([write_line("a"), commit("first"), amend]),
        turn([wip, write_line("b"), commit("second"), rebase]),
    ]);
    let shop =
        raise(&stage, &[("CC", cc), ("Codex", Script::of([review("a finding"), pass()]))], "pass: other");
    shop.passes();
    assert_eq!(shop.authors(), ["CC", "Codex", "CC", "Codex"]);
    assert_eq!((shop.wakes("CC"), shop.wakes("Codex")), (2, 2), "{}", shop.story());
    end(&shop);
}

#[test]
fn a_rewritten_file_holds_the_loop_until_it_is_mended() {
    let stage = Stage::new("");
    let rewrite = sh("printf '# Status\\n\\n## Codex: I tidied up\\n\\nNow it is short.\\n' > STATUS.md; \
                      git commit -qam 'Codex: I tidied up'");
    let shop = raise(
        &stage,
        &[
            ("CC", Script::of([work("first"), work("second")])),
            ("Codex", Script::of([turn([rewrite]), pass()])),
        ],
        "pass: other",
    );
    let status = shop.until("held", "");
    let reason = status["decision"]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains(&shop.repo.tip()[..7]), "{reason}");
    // The sections that were there come back, and Codex' own stays.
    let before = shop.repo.git(&["show", "HEAD~1:STATUS.md"]);
    shop.repo.write("STATUS.md", format!("{before}\n\n## Codex: I tidied up\n\nNow it is short.\n"));
    shop.repo.git(&["commit", "-qam", "mend STATUS.md"]);
    shop.passes();
    assert_eq!(shop.authors(), ["CC", "Codex", "CC", "Codex"]);
    assert_eq!((shop.wakes("CC"), shop.wakes("Codex")), (2, 2), "{}", shop.story());
    end(&shop);
}

#[test]
fn a_section_out_of_turn_moves_the_turn_and_interrupts_nobody() {
    let stage = Stage::new("");
    let root = stage.sandbox.root();
    let (begun, gate) = (root.join("begun"), root.join("gate"));
    let touch = sh(&format!("touch {}", begun.display()));
    let codex = turn([touch, Step::WaitFor(gate.display().to_string()), commit("late")]);
    let shop = raise(
        &stage,
        &[
            ("CC", Script::of([work("first"), work("second")])),
            ("Codex", Script::of([codex])),
            ("Ada", Script::of([pass()])),
        ],
        "pass: other",
    );
    eventually("Codex at work", LONG, || begun.exists().then_some(()).ok_or_else(|| shop.story()));
    // Ada was not asked, and speaks. It is CC's turn now, but Codex works in the same tree.
    shop.run(&["commit", "Ada", "-m", "by the way"]);
    shop.until("running", "CC comes after Ada");
    eventually("CC waiting for Codex", LONG, || {
        let deliveries = shop.status()["deliveries"].clone();
        let waits = deliveries.as_array().unwrap().iter().any(|delivery| {
            delivery["agent"] == "CC"
                && delivery["reason"].as_str().is_some_and(|why| why.contains("Codex is still at work"))
        });
        if waits { Ok(()) } else { Err(deliveries.to_string()) }
    });
    std::fs::write(&gate, "").unwrap();
    shop.passes();
    assert_eq!(shop.authors(), ["CC", "Ada", "Codex", "Ada"], "{}", shop.story());
    let expected = [("CC", 1), ("Codex", 1), ("Ada", 1)];
    assert_eq!(shop.all_wakes(&["CC", "Codex", "Ada"]), expected.into_iter().collect(), "{}", shop.story());
    end(&shop);
}

#[test]
fn a_pass_in_anothers_name_is_no_pass() {
    let stage = Stage::new("");
    let both_sides =
        Step::Run(["{loop}", "commit", "Codex", "-m", "all is well", "--pass"].map(str::to_owned).to_vec());
    let shop = raise(
        &stage,
        &[
            ("CC", Script::of([turn([write_line("a"), commit("first"), both_sides]), work("second")])),
            ("Codex", Script::of([pass(), pass()])),
        ],
        "pass: any",
    );
    shop.passes();
    let status = shop.status();
    let codes: Vec<&str> =
        status["diagnostics"].as_array().unwrap().iter().filter_map(|found| found["code"].as_str()).collect();
    assert!(codes.contains(&"not-woken"), "{codes:?}");
    let authors = shop.authors();
    assert!(authors.len() > 2, "the forged pass ended the loop: {authors:?}");
    assert!(shop.wakes("Codex") >= 1, "{}", shop.story());
    end(&shop);
}

#[test]
fn quoted_verdicts_end_nothing() {
    let stage = Stage::new("");
    let say = |body: &str| {
        turn([Step::Commit {
            summary: "not yet".into(),
            body: Some(body.into()),
            pass: false,
            blocked: None,
            to: None,
        }])
    };
    let bodies = [
        "> REVIEW-PASS",
        "not REVIEW-PASS yet",
        "```\nREVIEW-PASS\n```",
        "review-pass",
        "- REVIEW-BLOCKED: x",
    ];
    let codex = Script::of(bodies.map(say).into_iter().chain([pass()]));
    let cc = Script::of((0..6).map(|n| work(&format!("part {n}"))));
    let shop = raise(&stage, &[("CC", cc), ("Codex", codex)], "pass: other");
    shop.passes();
    assert_eq!(shop.authors().len(), 12, "{}", shop.story());
    end(&shop);
}

#[test]
fn who_forgets_to_commit_is_woken_once_more() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let stage = Stage::new("");
    let shop = stage.shop();
    let forget = || turn([write_line("uncommitted")]);
    shop.cast(
        &[("CC", Script::of([forget(), forget(), work("at last")])), ("Codex", Script::of([pass()]))],
        "pass: other",
    );
    shop.run(&["init", "the task"]);
    shop.run(&["up", "--yes"]);
    let status = shop.until("held", "CC stopped without committing");
    let reason = status["decision"]["reason"].as_str().unwrap();
    assert!(reason.contains("1 file changed"), "{reason}");
    assert_eq!(shop.wakes("CC"), 2, "{}", shop.story());
    shop.run(&["resume"]);
    shop.passes();
    assert_eq!((shop.wakes("CC"), shop.wakes("Codex")), (3, 1), "{}", shop.story());
    end(&shop);
}
