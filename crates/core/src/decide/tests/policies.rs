//! What ends a loop.

use crate::config::PassPolicy;
use crate::decide::testing::{Scene, id, name, names};
use crate::decide::{Accept, Decision, Hold, Resume, Stopped, Verify};
use crate::history::{Damage, Recorded};

fn told(policy: &PassPolicy, sections: &str, changes: &str) -> String {
    Scene::new("CC Codex OC", sections).policy(policy.clone()).changes(changes).told()
}

#[test]
fn any_newest_pass_ends_the_loop() {
    let any = PassPolicy::Any;
    for (sections, changes, expected) in [
        ("CC pass", "1:CC", "passed by CC"),
        ("CC\nCodex pass", "1:CC 2:Codex", "passed by Codex"),
        ("CC pass\nCodex", "", "wake OC"),
        ("CC pass\nDana", "", "wake Codex"),
        ("Helper pass", "", "passed by Helper"),
    ] {
        assert_eq!(told(&any, sections, changes), expected, "{sections}; {changes}");
    }
}

#[test]
fn other_wants_a_second_pair_of_eyes() {
    let other = PassPolicy::Other;
    for (sections, changes, expected) in [
        ("CC pass", "", "wake Codex +pass-not-enough"),
        ("CC\nCC pass", "1:CC", "wake Codex +pass-not-enough"),
        ("Dana\nHermes\nCC pass", "", "wake Codex +pass-not-enough"),
        ("CC\nCodex pass", "", "passed by Codex"),
        ("CC\nCodex pass", "1:CC", "passed by Codex"),
        ("CC\nCodex pass", "1:CC 2:Codex", "wake OC +pass-not-enough"),
        // In any of its turns: the newest change is CC's, whatever has been said since.
        ("CC\nCodex\nCC pass", "1:CC", "wake Codex +pass-not-enough"),
        ("CC\nCodex\nCC pass", "1:CC 2:Codex", "passed by CC"),
        ("CC\nCodex\nCC pass", "1:CC 3:Dana", "passed by CC"),
        // What comes after the section does not take its pass back.
        ("CC\nCodex pass", "1:CC 3:Codex", "passed by Codex"),
        // A target is followed when the pass is not enough.
        ("CC > OC pass", "", "wake OC +pass-not-enough"),
        ("CC > Dana pass", "", "held for-person +pass-not-enough"),
        ("CC\nCodex > Dana pass", "1:CC", "passed by Codex"),
    ] {
        assert_eq!(told(&other, sections, changes), expected, "{sections}; {changes}");
    }
}

#[test]
fn all_want_to_have_passed_the_same_state() {
    let all = PassPolicy::All;
    for (sections, changes, expected) in [
        ("CC pass", "", "wake Codex +pass-not-enough"),
        ("CC pass\nCodex pass", "", "wake OC +pass-not-enough"),
        ("CC pass\nCodex pass\nOC pass", "1:CC", "passed by OC"),
        ("CC pass\nCodex pass\nOC pass", "1:CC 2:Codex", "wake CC +pass-not-enough"),
        ("CC pass\nCodex pass\nOC pass", "1:CC 3:Dana", "wake CC +pass-not-enough"),
        ("CC pass\nCodex pass\nOC pass\nCC pass", "1:CC 2:Codex", "passed by CC"),
        ("CC pass\nCodex\nOC pass\nCC pass", "", "wake Codex +pass-not-enough"),
        ("CC pass\nCodex pass\nCC\nOC pass", "", "wake CC +pass-not-enough"),
        // People and the planner are not asked, nor is an agent outside the rotation that was never called in.
        ("CC pass\nDana\nCodex pass\nHermes\nOC pass", "", "passed by OC"),
        ("Helper\nCC pass\nCodex pass\nOC pass", "", "wake CC +pass-not-enough"),
        ("Helper pass\nCC pass\nCodex pass\nOC pass", "", "passed by OC"),
    ] {
        assert_eq!(told(&all, sections, changes), expected, "{sections}; {changes}");
    }
    let skipped = Scene::new("CC Codex OC", "CC pass\nCodex pass").policy(PassPolicy::All);
    assert_eq!(
        skipped.facts(|facts| facts.skipped = names("OC").into_iter().collect()).told(),
        "passed by Codex"
    );
}

#[test]
fn a_list_of_names_is_asked() {
    let policy = PassPolicy::Names(names("Codex OC"));
    for (sections, changes, expected) in [
        ("CC pass", "", "wake Codex +pass-not-enough"),
        ("CC\nCodex pass", "1:CC", "wake OC +pass-not-enough"),
        ("CC\nCodex pass\nOC pass", "1:CC", "passed by OC"),
        ("CC\nCodex pass\nOC pass", "1:CC 3:OC", "wake CC +pass-not-enough"),
    ] {
        assert_eq!(told(&policy, sections, changes), expected, "{sections}; {changes}");
    }
    let nobody = Scene::new("CC Codex OC", "CC pass").policy(PassPolicy::Names(names("Codex")));
    let nobody = nobody.facts(|facts| facts.skipped = names("Codex").into_iter().collect());
    assert_eq!(nobody.told(), "wake OC +pass-not-enough");
}

#[test]
fn a_pass_says_what_it_lacks() {
    let message = |policy: PassPolicy, sections: &str, changes: &str| {
        let scene = Scene::new("CC Codex OC", sections).policy(policy).changes(changes);
        scene.decided().diagnostics.iter().map(|d| d.message.clone()).collect::<Vec<_>>().join("; ")
    };
    insta::assert_snapshot!(message(PassPolicy::Other, "CC pass", "1:CC"), @"the pass of CC does not end the loop: no other agent has had a turn yet (pass: other)");
    insta::assert_snapshot!(message(PassPolicy::Other, "CC\nCodex pass", "1:CC 2:Codex"), @"the pass of Codex does not end the loop: the newest change is its own (c000000 in turn 2, pass: other)");
    insta::assert_snapshot!(message(PassPolicy::All, "CC pass", ""), @"the pass of CC does not end the loop: the newest section of Codex and OC does not pass (pass: all)");
    insta::assert_snapshot!(message(PassPolicy::All, "CC pass\nCodex pass\nOC pass", "2:Codex"), @"the pass of OC does not end the loop: c000000 by Codex came after the pass of CC in turn 1 (pass: all)");
}

#[test]
fn files_of_the_set_up_are_no_changes() {
    let scene = Scene::new("CC Codex", "Codex\nCC pass").policy(PassPolicy::Other).changes("2:CC");
    assert_eq!(scene.told(), "wake Codex +pass-not-enough");
    let set_up = scene.facts(|facts| facts.changes[0].set_up = true);
    assert_eq!(set_up.told(), "passed by CC");
}

#[test]
fn a_verdict_counts_from_an_agent_that_was_woken() {
    for (sections, unwoken, expected) in [
        ("CC\nCodex pass", 2, "wake OC +not-woken"),
        ("CC\nCodex blocked", 2, "wake OC +not-woken"),
        ("CC\nOC > CC pass", 2, "wake CC +out-of-turn +not-woken"),
        ("CC\nCodex pass", 1, "passed by Codex"),
    ] {
        let scene = Scene::new("CC Codex OC", sections).unwoken(&[unwoken]);
        assert_eq!(scene.told(), expected, "{sections}");
    }
    let all = Scene::new("CC Codex", "CC pass\nCodex pass").policy(PassPolicy::All).unwoken(&[1]);
    assert_eq!(all.told(), "wake CC +not-woken +pass-not-enough");
}

#[test]
fn a_pass_for_an_older_commit_does_not_count() {
    let told = |sha: &str, changes: &str| {
        Scene::new("CC Codex", &format!("CC\nCodex\nCC\nCodex pass {sha}")).changes(changes).told()
    };
    assert_eq!(told(&id("c", 2), "1:CC 3:CC"), "passed by Codex");
    assert_eq!(told(&id("c", 1), "1:CC 3:CC"), "wake CC +stale-pass");
    assert_eq!(told(&id("a", 3), "1:CC 3:CC"), "passed by Codex");
    assert_eq!(told(&id("a", 2), "1:CC 3:CC"), "wake CC +stale-pass");
    assert_eq!(told(&id("a", 2), "1:CC"), "passed by Codex");
    assert_eq!(told("deadbeef", "1:CC 3:CC"), "wake CC +stale-pass");
    // Nothing changed: no commit is older than that.
    assert_eq!(told("deadbeef", ""), "passed by Codex");
    // Without a repository nobody can tell.
    assert_eq!(Scene::new("CC Codex", "CC\nCodex pass deadbeef").told(), "passed by Codex");
    // A rebase after the end renames every commit.
    let scene = Scene::new("CC Codex", "CC\nCodex pass deadbeef").changes("1:CC");
    assert_eq!(scene.told(), "wake CC +stale-pass");
    let ended = scene.facts(|facts| facts.turns.entry(2).or_default().ended = true);
    assert_eq!(ended.told(), "passed by Codex");
}

#[test]
fn the_order_of_all_commits_is_used_where_it_is_known() {
    let scene = |sha: &str| {
        Scene::new("CC Codex", &format!("CC\nCodex pass {sha}")).changes("1:CC").facts(|facts| {
            facts.commits = vec![id("b", 1), id("c", 1), id("b", 2), id("a", 1), id("a", 2)];
        })
    };
    assert_eq!(scene(&id("b", 1)).told(), "wake CC +stale-pass");
    assert_eq!(scene(&id("b", 2)).told(), "passed by Codex");
    assert_eq!(scene(&id("c", 1)[..40]).told(), "passed by Codex");
}

#[test]
fn verify_has_the_last_word() {
    let scene = |verify: Option<Verify>| {
        Scene::new("CC Codex OC", "CC\nCodex\nOC pass")
            .config(|config| config.verify = Some(vec!["make".to_owned(), "test".to_owned()]))
            .changes("1:CC 2:Codex")
            .facts(|facts| facts.turns.entry(3).or_default().verify = verify)
    };
    assert_eq!(scene(None).told(), "held verifying");
    assert_eq!(scene(Some(Verify::Running)).told(), "held verifying");
    assert_eq!(scene(Some(Verify::Failed("exit 1".to_owned()))).told(), "wake Codex +verify-failed");
    let passed = scene(Some(Verify::Passed)).decided().decision;
    assert!(matches!(passed, Decision::Passed { verified: true, .. }), "{passed:?}");
    let person = scene(Some(Verify::Failed("exit 1".to_owned())))
        .facts(|facts| facts.changes[1].by = crate::decide::Who::Person("Dana".to_owned()));
    assert_eq!(person.told(), "wake CC +verify-failed");
    let without = scene(None).facts(|facts| facts.repository = false);
    let mut without = without;
    without.facts.repository = false;
    let decision = without.decided().decision;
    assert!(matches!(decision, Decision::Passed { verified: false, .. }), "{decision:?}");
}

#[test]
fn what_came_after_the_pass_is_counted() {
    let reason = |changes: &str| {
        Scene::new("CC Codex", "CC\nCodex pass").changes(changes).decided().decision.reason().to_owned()
    };
    insta::assert_snapshot!(reason("1:CC"), @"passed at a000000 by Codex in turn 2, unverified");
    insta::assert_snapshot!(reason("1:CC 3:CC"), @"passed at a000000 by Codex in turn 2, unverified, 1 commit since is unreviewed");
    insta::assert_snapshot!(reason("1:CC 3:CC 3:Dana"), @"passed at a000000 by Codex in turn 2, unverified, 2 commits since are unreviewed");
}

#[test]
fn a_person_ends_a_loop() {
    let accept = |after_turn| Accept {
        after_turn,
        by: "Dana".to_owned(),
        why: Some("good enough".to_owned()),
        commit: Some(id("c", 1)),
    };
    let scene = |after_turn| {
        Scene::new("CC Codex", "CC\nCodex blocked")
            .changes("1:CC 3:CC")
            .facts(|facts| facts.accepted = Some(accept(after_turn)))
    };
    assert_eq!(scene(2).told(), "passed by Dana");
    assert_eq!(scene(1).told(), "held blocked");
    insta::assert_snapshot!(scene(2).decided().decision.reason(), @"accepted by Dana (good enough) at c000000, unverified, 1 commit since is unreviewed");
}

fn recorded(n: usize) -> Recorded {
    Recorded {
        n,
        author: name("CC"),
        fingerprint: String::new(),
        summary: "did it".to_owned(),
        commit: Some(id("a", n)),
        answered: true,
    }
}

#[test]
fn damage_holds_the_loop_and_says_how_to_mend_it() {
    let scene = |damage: Vec<Damage>| {
        Scene::new("CC Codex", "CC\nCodex pass").facts(|facts| {
            facts.damage = damage;
            facts.damaged_at = Some(id("d", 1));
        })
    };
    let text = |damage: Vec<Damage>| match scene(damage).decided().decision {
        Decision::Held { why, reason, next, .. } => format!("{why}: {reason}; {next}"),
        other => format!("{other:?}"),
    };
    insta::assert_snapshot!(text(vec![Damage::Vanished(recorded(1))]), @"damaged: turn 1 by CC (did it) is gone from its place in STATUS.md in d000000; put the section back (see `git show a000000:STATUS.md`) and commit; the loop then goes on by itself");
    insta::assert_snapshot!(text(vec![Damage::Vanished(recorded(1)), Damage::Vanished(recorded(2))]), @"damaged: turns 1 by CC and 2 by CC are gone from STATUS.md in d000000; put the sections back (see `git show a000000:STATUS.md`) and commit; the loop then goes on by itself");
    insta::assert_snapshot!(text((1..=12).map(|n| Damage::Vanished(recorded(n))).collect()), @"damaged: 12 turns (1 to 12) are gone from STATUS.md in d000000; put the sections back (see `git show a000000:STATUS.md`) and commit; the loop then goes on by itself");
    insta::assert_snapshot!(text(vec![Damage::Reattributed { was: recorded(1), now: name("Codex"), line: 10 }]), @"damaged: turn 1 was by CC and is by Codex now in d000000; give it back its heading `## CC: …` (see `git show a000000:STATUS.md`) and commit; the loop then goes on by itself");
    insta::assert_snapshot!(text(vec![Damage::Inserted { n: 1, author: name("CC"), line: 10 }]), @"damaged: a new section by CC stands before older ones, as turn 1 in d000000; move the section in line 10 to the end of STATUS.md and commit; the loop then goes on by itself");
    assert_eq!(
        scene(vec![Damage::Edited { was: recorded(1), line: 10 }]).told(),
        "passed by Codex +old-body-changed"
    );
    let twelve = scene((1..=12).map(|n| Damage::Vanished(recorded(n))).collect());
    assert_eq!(twelve.told(), "held damaged +rewritten");
}

#[test]
fn two_names_in_one_commit_hold_until_a_person_has_looked() {
    let two = Damage::TwoNames { commit: Some(id("a", 2)), authors: names("CC Codex"), line: 20 };
    let scene = Scene::new("CC Codex", "CC\nCodex pass").facts(|facts| facts.damage = vec![two]);
    assert_eq!(scene.told(), "held two-names +two-names");
    let looked = scene.facts(|facts| facts.resumed = Some(Resume { after_turn: 2, ..Resume::default() }));
    assert_eq!(looked.told(), "passed by Codex");
}

#[test]
fn the_first_reason_stands() {
    let stop = |why| Stopped { why, reason: "r".to_owned(), next: "n".to_owned() };
    let scene = |sections: &str| {
        Scene::new("CC Codex", sections).facts(|facts| {
            facts.paused = Some("lunch".to_owned());
            facts.minutes = Some(10_000.0);
        })
    };
    assert_eq!(scene("CC pass").told(), "passed by CC");
    assert_eq!(scene("CC blocked").told(), "held blocked");
    assert_eq!(scene("CC > Dana").told(), "held paused");
    let stopped = |why, sections: &str| scene(sections).facts(|facts| facts.stopped = Some(stop(why)));
    assert_eq!(stopped(Hold::Unanswered, "CC pass").told(), "passed by CC");
    assert_eq!(stopped(Hold::Unanswered, "CC").told(), "held unanswered");
    assert_eq!(stopped(Hold::Config, "CC pass").told(), "held config");
    let accept = Accept { after_turn: 1, by: "Dana".to_owned(), why: None, commit: None };
    let accepted = |why| stopped(why, "CC").facts(|facts| facts.accepted = Some(accept.clone()));
    assert_eq!(accepted(Hold::Config).told(), "passed by Dana");
    assert_eq!(accepted(Hold::Unreadable).told(), "held unreadable");
    let damaged = accepted(Hold::Dead).facts(|facts| facts.damage = vec![Damage::Vanished(recorded(1))]);
    assert_eq!(damaged.told(), "passed by Dana +rewritten");
}
