//! The hook never runs: the turn is handed over all the same.

use loop_testkit::script::{Script, Step};

use crate::stage::{Place, Stage, sh};

/// Plays a loop whose agents commit by hand, so that nothing rings but the hook, if it runs.
fn check(silence: impl Fn(&Place<'_>)) {
    let stage = Stage::new("");
    let shop = stage.shop();
    let section = |body: &str| Step::Section { summary: "my part".into(), body: body.into(), to: None };
    let write = || sh("date >> dates.txt");
    shop.cast(
        &[
            ("CC", Script::of([vec![write(), section("Done.")], vec![write(), section("Done again.")]])),
            (
                "Codex",
                Script::of([vec![section("F1 P1 dates.txt:1 once more")], vec![section("REVIEW-PASS")]]),
            ),
        ],
        "pass: other",
    );
    shop.run(&["init", "dates"]);
    silence(&shop);
    shop.run(&["up", "--yes", "--headless"]);
    shop.passes();
    assert_eq!(shop.authors(), ["CC", "Codex", "CC", "Codex"]);
    assert_eq!((shop.wakes("CC"), shop.wakes("Codex")), (2, 2), "{}", shop.story());
    shop.run(&["down"]);
    stage.nothing_runs();
}

#[test]
fn hooks_are_switched_off() {
    check(|shop| drop(shop.repo.git(&["config", "core.hooksPath", "/dev/null"])));
}

#[test]
fn the_hook_was_removed_and_references_are_packed() {
    check(|shop| {
        std::fs::remove_file(shop.repo.path().join(".git/hooks/post-commit")).unwrap();
        shop.repo.git(&["pack-refs", "--all"]);
    });
}
