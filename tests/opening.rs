//! Opening a loop where something stands already, and what the commands around it advise.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::stage::{LOOP, Place, Said, Stage};

const AGENTS: [&str; 4] = ["--agent", "CC=scripted", "--agent", "Codex=scripted"];

const CAST: &str = "agents:\n  CC: {kind: scripted, transport: wait}\n  Codex: {kind: scripted, transport: wait}\nrotation: [CC, Codex]\npass: any\n";

fn init(place: &Place<'_>, task: &str, more: &[&str]) -> Said {
    place.try_loop(&[&["init", task], &AGENTS[..], more].concat())
}

#[track_caller]
fn says(said: &Said, code: i32, words: &[&str]) {
    assert_eq!(said.code, Some(code), "{said:?}");
    let text = format!("{}{}", said.out, said.err);
    for word in words {
        assert!(text.contains(word), "{word:?} is missing in {said:?}");
    }
}

/// Runs a line of advice in a shell, as a user who pastes it.
#[track_caller]
fn paste(place: &Place<'_>, line: &str) {
    let output = place.repo.command("sh").args(["-ec", line]).output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

fn at<'stage>(place: &Place<'stage>, folder: &Path) -> Place<'stage> {
    place.stage.place(place.repo.at(folder), "there")
}

#[test]
fn again_changes_nothing_and_names_the_next_step() {
    let stage = Stage::new("");
    let shop = stage.shop();
    says(&init(&shop, "one", &[]), 0, &["hook      post-commit, installed", "Nobody was woken"]);
    let tip = shop.repo.tip();
    says(&init(&shop, "two", &[]), 0, &["nothing was changed", "`loop status`", "--worktree"]);
    shop.run(&["commit", "CC", "-m", "done", "--pass", "--all"]);
    shop.run(&["accept"]);
    says(&init(&shop, "two", &[]), 0, &["nothing was changed", "`loop archive`"]);
    assert_ne!(shop.repo.tip(), tip);
    assert_eq!(shop.repo.git(&["branch", "--format=%(refname:short)"]), "loop/one\nmain");
}

#[test]
fn a_second_loop_gets_a_worktree_of_the_default_branch() {
    let stage = Stage::new("");
    let shop = stage.place(stage.sandbox.repo("a shop"), "shop");
    init(&shop, "one", &[]);
    let said = init(&shop, "two", &["--worktree"]);
    says(&said, 0, &["the worktree starts at main", "branch    loop/two"]);
    let folder = stage.sandbox.root().join("a shop-two");
    let there = at(&shop, &folder);
    assert_eq!(there.repo.git(&["log", "--format=%s"]), "loop: start two\nfirst commit");
    // The folder's name has a blank: what is to be pasted is quoted.
    let cd = said.out.lines().find_map(|line| line.strip_prefix("The loop lives in its worktree: ")).unwrap();
    paste(&shop, &format!("{cd} && test -f STATUS.md"));
    says(&shop.try_loop(&["status"]), 0, &["one"]);
    says(&there.try_loop(&["status"]), 0, &["two"]);
    // Back in the linked worktree, the merge is to be made where main is checked out.
    shop.repo.git(&["switch", "--quiet", "main"]);
    there.run(&["accept"]);
    let said = there.run(&["archive"]);
    let merge = said.lines().find_map(|line| line.strip_prefix("to merge: ")).unwrap();
    assert!(merge.starts_with("git -C '"), "{said}");
    paste(&there, merge);
    assert!(shop.repo.path().join("project-archive").is_dir());
}

#[test]
fn a_worktree_of_a_commit_with_a_loop_is_made_by_hand() {
    let stage = Stage::new("");
    let shop = stage.shop();
    init(&shop, "one", &["--here"]);
    let said = init(&shop, "two", &["--worktree"]);
    says(
        &said,
        1,
        &["at HEAD and on the default branch", "git worktree add -b loop/two", "loop init --here"],
    );
    let line = said.err.split('`').find(|part| part.starts_with("git worktree")).unwrap();
    paste(&shop, &line.replace("COMMIT", "HEAD^"));
    let there = at(&shop, &stage.sandbox.root().join("shop-two"));
    says(&init(&there, "two", &["--here"]), 0, &["branch    loop/two"]);
}

#[test]
fn on_another_branch_the_loop_that_goes_on_is_named() {
    let stage = Stage::new("");
    let shop = stage.shop();
    shop.repo.commit("loop.yaml", CAST, "how the loop works here");
    shop.run(&["init", "one"]);
    shop.repo.git(&["switch", "--quiet", "main"]);
    let words = ["lives on loop/one and is not over", "loop init --worktree", "git switch loop/one"];
    says(&shop.try_loop(&["init", "two"]), 1, &words);
    says(&shop.try_loop(&["run", "two", "--yes"]), 1, &words);
    // Nor is main's loop.yaml read or approved for it.
    shop.repo.commit("loop.yaml", format!("{CAST}verify: [touch, pwned]\n"), "of main alone");
    for arguments in [&["up", "--yes"][..], &["trust", "--yes"]] {
        let said = shop.try_loop(arguments);
        says(&said, 1, &["this is branch main; the loop lives on loop/one", "git switch loop/one"]);
    }
    assert!(stage.router().is_none());
    shop.repo.git(&["switch", "--quiet", "loop/one"]);
    says(&shop.try_loop(&["up"]), 1, &["is not approved"]);
    // A loop whose branch is gone is over.
    shop.repo.git(&["switch", "--quiet", "main"]);
    shop.repo.git(&["branch", "--quiet", "-D", "loop/one"]);
    says(&shop.try_loop(&["init", "two"]), 0, &["branch    loop/two"]);
}

#[test]
fn after_an_uninstall_a_new_loop_is_opened() {
    let stage = Stage::new("");
    let shop = stage.shop();
    init(&shop, "one", &[]);
    shop.run(&["uninstall"]);
    shop.repo.git(&["switch", "--quiet", "main"]);
    says(&init(&shop, "two", &[]), 0, &["branch    loop/two"]);
    says(&shop.try_loop(&["status"]), 0, &["two"]);
}

#[test]
fn of_two_at_the_same_time_one_opens_and_the_other_sees_it() {
    let stage = Stage::new("");
    let shop = stage.shop();
    let start = |task: &str| {
        let arguments = [&["init", task], &AGENTS[..]].concat();
        let mut command: Command = shop.repo.command(LOOP);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let both = ["one", "two"].map(start).map(|child| child.wait_with_output().unwrap());
    let said = both.map(|output| {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    });
    let count = |words: &str| said.iter().filter(|said| said.contains(words)).count();
    assert_eq!((count("Nobody was woken"), count("there is a loop here already")), (1, 1), "{said:?}");
    assert_eq!(shop.repo.git(&["branch", "--list", "loop/*"]).lines().count(), 1);
}

#[test]
fn a_tracked_skill_of_other_words_is_left_alone() {
    const SKILL: &str = ".claude/skills/agent-loop/SKILL.md";
    let stage = Stage::new("");
    let shop = stage.shop();
    shop.repo.commit(SKILL, "our own words\n", "a skill of ours");
    let arguments = ["init", "one", "--agent", "CC=claude-code", "--agent", "Codex=codex"];
    let dry = shop.run(&[&arguments[..], &["--dry-run"]].concat());
    let said = shop.run(&arguments);
    for text in [&dry, &said] {
        assert!(text.contains(&format!("{SKILL} is tracked by git")), "{text}");
        assert!(text.contains("`loop agents add CC`"), "{text}");
    }
    assert!(!dry.contains(&format!("write {SKILL}")), "{dry}");
    assert_eq!(shop.repo.read(SKILL), "our own words\n");
    assert_eq!(shop.repo.git(&["status", "--porcelain"]), "");
    // Asked for, it is replaced, and given back.
    shop.run(&["agents", "add", "CC"]);
    assert_ne!(shop.repo.read(SKILL), "our own words\n");
    let said = shop.run(&["uninstall"]);
    assert!(said.contains(&format!("as before  {SKILL}")), "{said}");
    assert_eq!(shop.repo.read(SKILL), "our own words\n");
}

#[test]
fn an_edit_of_loop_yaml_that_is_not_committed_is_named() {
    let stage = Stage::new("");
    let shop = stage.shop();
    shop.repo.commit("loop.yaml", CAST, "how the loop works here");
    shop.run(&["init", "one"]);
    shop.repo.write("loop.yaml", format!("{CAST}limits: {{rounds: 3}}\n"));
    let said = shop.try_loop(&["trust", "--yes"]);
    says(&said, 1, &["your edit of loop.yaml is not committed", "git commit"]);
    let said = shop.try_loop(&["up", "--yes"]);
    says(&said, 0, &["your edit of loop.yaml is not committed; the committed one holds"]);
    shop.repo.git(&["commit", "--quiet", "-m", "loop.yaml", "--", "loop.yaml"]);
    says(&shop.try_loop(&["trust", "--yes"]), 0, &["approved."]);
    shop.run(&["down"]);
    stage.nothing_runs();
}

#[test]
fn who_may_not_speak_is_told_how_to() {
    let stage = Stage::new("");
    let shop = stage.shop();
    shop.repo.commit("loop.yaml", CAST, "how the loop works here");
    shop.run(&["init", "one"]);
    let said = shop.try_loop(&["say", "hello"]);
    says(&said, 1, &["`people: [Test]`"]);
    shop.repo.write("loop.yaml", format!("{CAST}people: [Test]\n"));
    let line = said.err.split('`').find(|part| part.starts_with("git commit")).unwrap();
    let line = line.replace("loop trust", &format!("'{LOOP}' trust --yes"));
    paste(&shop, &line);
    says(&shop.try_loop(&["say", "hello"]), 0, &["Test: hello"]);
}

#[test]
fn an_accepted_loop_is_accepted_once() {
    let stage = Stage::new("");
    let shop = stage.shop();
    init(&shop, "one", &[]);
    let first = shop.run(&["accept"]);
    assert!(first.contains("accepted by"), "{first}");
    let again = shop.run(&["accept"]);
    assert!(again.contains("accepted already"), "{again}");
    shop.run(&["commit", "CC", "-m", "more", "--all"]);
    let anew = shop.run(&["accept"]);
    assert!(!anew.contains("already"), "{anew}");
}
