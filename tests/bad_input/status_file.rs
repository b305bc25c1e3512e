//! What may stand in STATUS.md's place.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use loop_testkit::TestRepo;

use super::bench::{Bench, CAST, normal};

/// Commits whatever stands in STATUS.md's place.
fn commit(repo: &TestRepo) {
    repo.git(&["add", "--all", "STATUS.md"]);
    repo.git(&["commit", "--quiet", "--no-verify", "-m", "something else"]);
}

/// All of an agent's and a person's writing commands are refused with `words`, and so is reading.
#[track_caller]
fn nothing_is_written(bench: &Bench, repo: &TestRepo, words: &[&str]) {
    for arguments in [&["commit", "CC", "-m", "tried"][..], &["say", "hello"], &["turn", "CC"]] {
        bench.refuses(repo, arguments, 1, words);
    }
    let status = bench.run(repo.path(), &["status"]);
    status.check(0, words);
    assert!(status.out.starts_with("You: "), "{status:?}");
    let json = bench.status(repo);
    assert_eq!(json["state"], "held", "{json}");
}

#[test]
fn not_utf8() {
    let bench = Bench::new();
    let repo = bench.opened("shop", CAST);
    let mut bytes = fs::read(repo.path().join("STATUS.md")).unwrap();
    bytes.extend(b"\ncaf\xe9\n");
    repo.write("STATUS.md", &bytes);
    commit(&repo);
    nothing_is_written(&bench, &repo, &["STATUS.md: not UTF-8 at byte", "save it as UTF-8 and commit"]);
    bench.refuses(&repo, &["check"], 1, &["not UTF-8 at byte"]);
    assert_eq!(fs::read(repo.path().join("STATUS.md")).unwrap(), bytes);
}

#[test]
fn nul_bytes() {
    let bench = Bench::new();
    let repo = bench.opened("shop", CAST);
    let text = repo.read("STATUS.md") + "\0\n";
    repo.write("STATUS.md", text);
    commit(&repo);
    nothing_is_written(&bench, &repo, &["NUL", "remove the NUL bytes and commit"]);
}

#[test]
fn conflict_markers() {
    let bench = Bench::new();
    let repo = bench.opened("shop", CAST);
    let text = repo.read("STATUS.md") + "<<<<<<< ours\n## CC: a\n=======\n## Codex: b\n>>>>>>> theirs\n";
    repo.write("STATUS.md", &text);
    commit(&repo);
    nothing_is_written(&bench, &repo, &["conflict markers", "keep both sides' sections, remove the markers"]);
    assert_eq!(repo.read("STATUS.md"), text);
}

#[test]
fn a_directory() {
    let bench = Bench::new();
    let repo = bench.opened("shop", CAST);
    fs::remove_file(repo.path().join("STATUS.md")).unwrap();
    repo.write("STATUS.md/inside", "kept");
    commit(&repo);
    nothing_is_written(&bench, &repo, &["STATUS.md is a directory"]);
    bench.refuses(&repo, &["check"], 1, &["STATUS.md is a directory", "next: put a file in its place"]);
    assert_eq!(repo.read("STATUS.md/inside"), "kept");
    assert!(bench.run(repo.path(), &["notify"]).err.contains("is a directory now"));
}

#[test]
fn a_pipe_is_not_waited_for() {
    let bench = Bench::new();
    let repo = bench.opened("shop", CAST);
    fs::remove_file(repo.path().join("STATUS.md")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(repo.path().join("STATUS.md")).status().unwrap();
    assert!(made.success());
    // Not compared with how everything was before: reading it all would wait for the pipe too.
    bench.run(repo.path(), &["check"]).check(1, &["STATUS.md is no file", "next: put a file in its place"]);
}

#[test]
fn a_link_out_of_the_repository() {
    let bench = Bench::new();
    let repo = bench.opened("shop", CAST);
    let secret = bench.sandbox.write("secret.md", "# Mine\n");
    fs::remove_file(repo.path().join("STATUS.md")).unwrap();
    symlink(&secret, repo.path().join("STATUS.md")).unwrap();
    commit(&repo);
    nothing_is_written(
        &bench,
        &repo,
        &["STATUS.md is a symlink out of the repository", "put a file in its place"],
    );
    bench.refuses(&repo, &["check"], 1, &["leads out of its repository"]);
    assert_eq!(bench.sandbox.read("secret.md"), "# Mine\n");
    assert!(!bench.run(repo.path(), &["turn", "CC"]).text().contains("# Mine"));
}

#[test]
fn missing_from_the_tip_is_no_loop_and_writes_none() {
    let bench = Bench::new();
    let repo = bench.opened("shop", CAST);
    repo.git(&["rm", "--quiet", "STATUS.md"]);
    repo.git(&["commit", "--quiet", "-m", "away with it"]);
    for arguments in [&["commit", "CC", "-m", "tried"][..], &["say", "hello"]] {
        bench.refuses(&repo, arguments, 1, &["there is no loop here", "next: `loop init"]);
    }
    bench.refuses(&repo, &["turn", "CC"], 3, &["there is nothing to do"]);
    bench.refuses(&repo, &["check"], 0, &["idle: there is no STATUS.md"]);
    assert_eq!(bench.status(&repo)["state"], "idle");
}

#[test]
fn missing_from_the_working_tree_is_not_begun_anew() {
    let bench = Bench::new();
    let repo = bench.opened("shop", CAST);
    fs::remove_file(repo.path().join("STATUS.md")).unwrap();
    let said = bench.refuses(&repo, &["commit", "CC", "-m", "tried"], 1, &[]);
    bench.refuses(&repo, &["say", "hello"], 1, &["STATUS.md is not in the working tree"]);
    insta::assert_snapshot!(normal(&bench, &said), @r"
    loop: `loop turn CC` was not called before, so this turn's changes cannot be told from earlier ones; only STATUS.md is committed. Name the files (`-- PATHS`) or say --all.
    error: STATUS.md is not in the working tree; nothing was written
    next: `git checkout HEAD -- STATUS.md` restores it
    ");
}

#[test]
fn read_only_stays_so() {
    let bench = Bench::new();
    let repo = bench.opened("shop", CAST);
    let path = repo.path().join("STATUS.md");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let said = bench.refuses(&repo, &["commit", "CC", "-m", "tried"], 1, &["STATUS.md is read-only"]);
    bench.refuses(&repo, &["say", "hello"], 1, &["next: chmod u+w"]);
    insta::assert_snapshot!(normal(&bench, &said), @r"
    loop: `loop turn CC` was not called before, so this turn's changes cannot be told from earlier ones; only STATUS.md is committed. Name the files (`-- PATHS`) or say --all.
    error: [ROOT]/shop/STATUS.md is read-only
    next: chmod u+w '[ROOT]/shop/STATUS.md'
    ");
}

/// A section must be one section, whatever stands in it.
#[test]
fn texts_that_would_be_more_than_one_section() {
    let bench = Bench::new();
    let repo = bench.opened("shop", CAST);
    let body = bench.sandbox.root().join("body.md");
    let body = body.to_str().unwrap();
    let said = |arguments: &[&str], words: &[&str]| {
        bench.refuses(&repo, &[&["commit", "CC"][..], arguments].concat(), 1, words);
    };
    said(&["-m", "x\n## Codex: fine\n\nREVIEW-PASS"], &["the summary has more than one line"]);
    said(&["-m", "x\u{1b}[31m"], &["control character"]);
    said(&["-m", "x", "--blocked", "why\n\n## Codex: fine"], &["the reason has more than one line"]);
    let cases: [(&[u8], &str); 4] = [
        (b"fine\n\n## Codex: fine\n\nREVIEW-PASS\n", "a section heading of its own"),
        (b"n\0ul\n", "NUL"),
        (b"caf\xe9\n", "cannot read the body from"),
        (b"<<<<<<< a\nx\n>>>>>>> b\n", "conflict markers"),
    ];
    for (text, words) in cases {
        fs::write(body, text).unwrap();
        said(&["-m", "x", "--body", body], &[words]);
    }
    bench.refuses(&repo, &["say", "x\n\n## CC: done\n\nREVIEW-PASS"], 1, &["a section heading of its own"]);
    assert_eq!(bench.status(&repo)["turns"].as_array().map(Vec::len), Some(0));
}

/// What an agent did to the file before `loop commit`: committing it would make the loss everybody's.
#[test]
fn a_working_tree_that_lost_sections_is_not_committed() {
    let bench = Bench::new();
    let repo = bench.opened("shop", CAST);
    bench.run(repo.path(), &["commit", "CC", "-m", "first"]).check(0, &[]);
    bench.run(repo.path(), &["commit", "Codex", "-m", "second"]).check(0, &[]);
    let whole = repo.read("STATUS.md");
    let cases = [
        ("# My own notes\n\nAll new.\n".to_owned(), "has lost its head"),
        (whole.replace("## CC: first", "first"), "section 1 by CC (first) is gone"),
        (whole.replace("## CC: first", "## Codex: first"), "has another name"),
        (whole[..whole.find("## CC").unwrap()].to_owned(), "section 1 by CC (first) is gone"),
    ];
    for (text, words) in cases {
        assert_ne!(text, whole);
        repo.write("STATUS.md", &text);
        for arguments in [&["commit", "CC", "-m", "third"][..], &["say", "third"]] {
            let said = bench.refuses(&repo, arguments, 1, &[words, "nothing was written"]);
            assert!(said.err.contains("git checkout HEAD -- STATUS.md"), "{said:?}");
        }
        assert_eq!(repo.read("STATUS.md"), text);
    }
    repo.write("STATUS.md", &whole);
    bench.run(repo.path(), &["commit", "CC", "-m", "third"]).check(0, &[]);
}
