//! A commit that git refuses: the section is taken back byte for byte, git's words are shown, and nothing of the
//! user's index goes with it.

use std::fs;

use loop_testkit::TestRepo;

use super::bench::{Bench, CAST, normal, same, script};

/// A loop with one staged and one unstaged change of the user's, and an agent's new file.
fn with_changes(bench: &Bench) -> TestRepo {
    let repo = bench.opened("shop", CAST);
    repo.write("staged.txt", "the user's\n");
    repo.git(&["add", "staged.txt"]);
    repo.write("README.md", "# A project\n\nedited\n");
    repo.write("new.txt", "the agent's\n");
    repo
}

/// Both writers are refused with `words`; `refuses` compares file, index and references.
#[track_caller]
fn both_are_refused(bench: &Bench, repo: &TestRepo, words: &[&str]) {
    let text = fs::read(repo.path().join("STATUS.md")).unwrap();
    for arguments in [&["commit", "CC", "-m", "tried", "--", "new.txt"][..], &["say", "hello"]] {
        bench.refuses(repo, arguments, 1, words);
        assert_eq!(fs::read(repo.path().join("STATUS.md")).unwrap(), text);
    }
    let status = repo.git(&["status", "--porcelain"]);
    assert_eq!(status, " M README.md\nA  staged.txt\n?? new.txt");
}

#[test]
fn by_a_hook() {
    for hook in ["commit-msg", "pre-commit", "prepare-commit-msg"] {
        let bench = Bench::new();
        let repo = with_changes(&bench);
        let text = format!("printf 'wanted by %s: \\033[31ma ticket\\033[0m\\n' {hook} >&2\nexit 1");
        script(&repo.path().join(".git/hooks").join(hook), &text);
        let words = format!("wanted by {hook}:");
        both_are_refused(
            &bench,
            &repo,
            &["git refused to commit", &words, "a ticket", "taken back from STATUS.md"],
        );
        // The next turn opens with what git said.
        fs::remove_file(repo.path().join(".git/hooks").join(hook)).unwrap();
        let committed = bench.run(repo.path(), &["commit", "CC", "-m", "tried", "--", "new.txt"]);
        committed.check(0, &["1 file besides STATUS.md"]);
        assert_eq!(repo.git(&["show", "--format=", "--name-only"]), "STATUS.md\nnew.txt");
        assert_eq!(repo.git(&["status", "--porcelain"]), " M README.md\nA  staged.txt");
    }
}

#[test]
fn by_signing() {
    let bench = Bench::new();
    let repo = with_changes(&bench);
    script(&bench.sandbox.root().join("gpg"), "echo 'gpg: no secret key' >&2\nexit 2");
    repo.git(&["config", "commit.gpgsign", "true"]);
    repo.git(&["config", "gpg.program", &bench.sandbox.root().join("gpg").display().to_string()]);
    both_are_refused(&bench, &repo, &["gpg: no secret key", "taken back from STATUS.md"]);
    let said = bench.run(repo.path(), &["commit", "CC", "-m", "tried", "--", "new.txt"]);
    insta::assert_snapshot!(normal(&bench, &said), @r"
    error: git refused to commit: error: gpg failed to sign the data:
    gpg: no secret key

    fatal: failed to write commit object
    next: mend the cause and try again; the section was taken back from STATUS.md
    ");
}

#[test]
fn by_a_missing_identity() {
    let bench = Bench::new();
    let repo = with_changes(&bench);
    bench.sandbox.write("home/.gitconfig", "[user]\n\tuseConfigOnly = true\n");
    both_are_refused(
        &bench,
        &repo,
        &["git does not know in whose name to commit", "git config --global user.name"],
    );
    let said = bench.run(repo.path(), &["commit", "CC", "-m", "tried"]);
    insta::assert_snapshot!(normal(&bench, &said), @r"
    loop: `loop turn CC` was not called before, so this turn's changes cannot be told from earlier ones; only STATUS.md is committed. Name the files (`-- PATHS`) or say --all.
    error: git does not know in whose name to commit
    next: git config --global user.name 'Your Name' && git config --global user.email you@example.com; the section was taken back from STATUS.md
    ");
    bench.sandbox.write("home/.gitconfig", "[user]\n\tname = Test\n\temail = test@example.org\n");
    let other = bench.sandbox.repo("other");
    bench.sandbox.write("home/.gitconfig", "[user]\n\tuseConfigOnly = true\n");
    bench.refuses(
        &other,
        &["init", "again", "--agent", "CC=scripted"],
        1,
        &["git does not know in whose name"],
    );
}

#[test]
fn by_a_locked_index() {
    let bench = Bench::new();
    let repo = with_changes(&bench);
    repo.write(".git/index.lock", "");
    both_are_refused_while_locked(&bench, &repo);
    fs::remove_file(repo.path().join(".git/index.lock")).unwrap();
    bench.run(repo.path(), &["commit", "CC", "-m", "tried", "--", "new.txt"]).check(0, &[]);
}

#[track_caller]
fn both_are_refused_while_locked(bench: &Bench, repo: &TestRepo) {
    let arguments = ["commit", "CC", "-m", "tried", "--", "new.txt"];
    let said =
        bench.refuses(repo, &arguments, 1, &["another git process holds", "index.lock", "wait for it"]);
    insta::assert_snapshot!(normal(bench, &said), @r"
    error: another git process holds [ROOT]/shop/.git/index.lock
    next: wait for it; if no git runs any more, delete [ROOT]/shop/.git/index.lock; the section was taken back from STATUS.md
    ");
}

#[test]
fn by_a_merge_under_way() {
    let bench = Bench::new();
    let repo = with_changes(&bench);
    let tip = repo.tip();
    repo.write(".git/MERGE_HEAD", format!("{tip}\n"));
    for arguments in [&["commit", "CC", "-m", "tried"][..], &["say", "hello"], &["init", "another"], &["up"]]
    {
        bench.refuses(&repo, arguments, 1, &["merge is under way", "finish or abort it"]);
    }
    bench.refuses(&repo, &["turn", "CC"], 3, &["merge is under way"]);
}

#[test]
fn before_the_first_commit() {
    let bench = Bench::new();
    let folder = bench.sandbox.root().join("unborn");
    bench.sandbox.git(&["init", "--quiet", &folder.display().to_string()]);
    let before = bench.traces(&folder);
    for _ in 0..2 {
        let said = bench.run(&folder, &["init", "make it work", "--agent", "CC=scripted"]);
        said.check(1, &["this repository has no commit yet", "git commit --allow-empty"]);
        bench.run(&folder, &["run", "make it work"]).check(1, &["this repository has no commit yet"]);
        bench.run(&folder, &["status"]).check(0, &["There is no loop here"]);
        bench.run(&folder, &["turn", "CC"]).check(1, &["there is no loop.yaml"]);
        bench.run(&folder, &["commit", "CC", "-m", "x"]).check(1, &["there is no loop.yaml"]);
        bench.run(&folder, &["notify"]).check(0, &[]);
    }
    same(&before, &bench.traces(&folder), "");
}
