#![allow(clippy::unwrap_used)]

use std::ffi::OsString;

use super::*;
use crate::testing::Sandbox;

fn commit_with(sandbox: &Sandbox, paths: &[&str], message: &str, hooks: bool) -> Result<Committed, GitError> {
    let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
    let mut slow = || {};
    let opts = CommitOpts { hooks, ..CommitOpts::usual(&mut slow) };
    commit_paths(&sandbox.git(), &paths, message, opts)
}

fn commit(sandbox: &Sandbox, paths: &[&str]) -> Result<Committed, GitError> {
    commit_with(sandbox, paths, "CC: work\n\nLoop-Agent: CC\n", true)
}

/// What a commit changed, as `git show` names it.
fn changed(sandbox: &Sandbox, id: &CommitId) -> String {
    sandbox.run(&["show", "--no-renames", "--name-status", "--format=", id.as_str()])
}

fn status(sandbox: &Sandbox) -> String {
    sandbox.run(&["status", "--porcelain"])
}

/// A repository with one commit of `a` and `b`.
fn with_files() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1\n");
    sandbox.write("b", "1\n");
    sandbox.commit_all("first");
    sandbox
}

#[test]
fn new_changed_and_deleted_files_and_nothing_else() {
    let sandbox = with_files();
    sandbox.write("deleted", "1");
    sandbox.write("staged-and-deleted", "1");
    sandbox.commit_all("more");
    sandbox.write("a", "2\n");
    sandbox.write("new *[file]", "1");
    sandbox.write("new xfile", "not named: patterns are no patterns");
    sandbox.write("folder/one", "1");
    sandbox.write("folder/two", "1");
    std::fs::remove_file(sandbox.path().join("deleted")).unwrap();
    sandbox.run(&["rm", "-q", "staged-and-deleted"]);
    // The user's own work in progress: staged, staged and changed again, new and staged, changed.
    sandbox.write("b", "2\n");
    sandbox.run(&["add", "b"]);
    sandbox.write("b", "3\n");
    sandbox.write("c", "1\n");
    sandbox.run(&["add", "c"]);
    let staged_before = sandbox.run(&["diff", "--cached", "--", "b", "c"]);
    let committed =
        commit(&sandbox, &["a", "new *[file]", "folder", "deleted", "staged-and-deleted"]).unwrap();
    let expected = "M\ta\nD\tdeleted\nA\tfolder/one\nA\tfolder/two\nA\tnew *[file]\nD\tstaged-and-deleted\n";
    assert_eq!(changed(&sandbox, &committed.id), expected);
    assert_eq!(sandbox.run(&["diff", "--cached"]), staged_before);
    assert_eq!(status(&sandbox), "MM b\nA  c\n?? \"new xfile\"\n");
    let info = sandbox.repo().commit_info(&committed.id).unwrap();
    assert_eq!((info.subject.as_str(), info.loop_agent.as_deref()), ("CC: work", Some("CC")));
}

#[test]
fn the_first_commit_and_odd_names() {
    let sandbox = Sandbox::new();
    let odd = PathBuf::from(OsString::from_vec(b":(odd) \xff\n\"name".to_vec()));
    std::fs::write(sandbox.path().join(&odd), "1").unwrap();
    sandbox.write("other", "1");
    sandbox.run(&["add", "other"]);
    let mut slow = || {};
    let committed =
        commit_paths(&sandbox.git(), &[odd], "# no comment\n", CommitOpts::usual(&mut slow)).unwrap();
    assert_eq!(sandbox.repo().commit_info(&committed.id).unwrap().subject, "# no comment");
    assert_eq!(status(&sandbox), "A  other\n");
}

#[test]
fn a_refusing_hook_leaves_everything_as_it_was() {
    for hook in ["pre-commit", "commit-msg", "prepare-commit-msg"] {
        let sandbox = with_files();
        sandbox.write("a", "2\n");
        sandbox.write("new", "1\n");
        sandbox.write("b", "2\n");
        sandbox.run(&["add", "b"]);
        let before = (status(&sandbox), sandbox.repo().head().unwrap());
        sandbox.hook(hook, "echo \"on stdout\"; printf '\\033[31mno ticket\\033[0m\\n' >&2; exit 1");
        let error = commit(&sandbox, &["a", "new"]).unwrap_err();
        let GitError::Refused { words, .. } = &error else { panic!("{error}") };
        assert!(
            words.contains("no ticket") && words.contains("on stdout") && !words.contains('\u{1b}'),
            "{words}"
        );
        assert_eq!((status(&sandbox), sandbox.repo().head().unwrap()), before, "{hook}");
        let own = commit_with(&sandbox, &["a", "new"], "loop: archive\n", false).unwrap();
        assert_eq!(changed(&sandbox, &own.id), "M\ta\nA\tnew\n", "loop's own commits run no hook");
        assert!(
            !sandbox.path().join(".git/loop").read_dir().unwrap().any(|_| true),
            "nothing is left behind"
        );
    }
}

#[test]
fn hooks_see_the_commit_as_git_gives_it() {
    let sandbox = with_files();
    let seen = sandbox.outside("seen");
    let script = format!(
        "{{ git diff --cached --name-only -- '*.rs'; env | grep -E '^GIT_(LITERAL|EDITOR|OPT)'; }} > '{}'",
        seen.display()
    );
    sandbox.hook("pre-commit", &script);
    sandbox.write("src/new.rs", "1\n");
    commit(&sandbox, &["src/new.rs"]).unwrap();
    assert_eq!(std::fs::read_to_string(seen).unwrap(), "src/new.rs\nGIT_EDITOR=:\n");
}

#[test]
fn a_hook_that_changes_the_message_or_hangs_after_the_commit() {
    let sandbox = with_files();
    sandbox.hook("commit-msg", "printf '\\nChange-Id: I1\\n' >> \"$1\"");
    sandbox.hook("post-commit", "echo after >&2; sleep 600");
    sandbox.write("a", "2\n");
    let mut slow = 0;
    let mut on_slow = || slow += 1;
    let opts = CommitOpts {
        hooks: true,
        slow_after: Duration::from_millis(200),
        deadline: Duration::from_millis(1500),
        on_slow: &mut on_slow,
    };
    let committed = commit_paths(&sandbox.git(), &["a".into()], "CC: x\n\nLoop-Agent: CC\n", opts).unwrap();
    assert!(committed.words.contains("after"), "{}", committed.words);
    assert_eq!(slow, 1);
    let message = sandbox.repo().commit_info(&committed.id).unwrap().message;
    assert!(message.contains("Change-Id: I1"), "{message}");
}

#[test]
fn a_hook_that_hangs_before_the_commit_is_ended() {
    let sandbox = with_files();
    sandbox.hook("pre-commit", "echo waiting; sleep 600");
    sandbox.write("new", "1\n");
    let mut slow = || {};
    let opts = CommitOpts { deadline: Duration::from_millis(700), ..CommitOpts::usual(&mut slow) };
    let error = commit_paths(&sandbox.git(), &["new".into()], "x\n", opts).unwrap_err();
    assert!(matches!(&error, GitError::TimedOut { words, .. } if words == "waiting"), "{error}");
    assert_eq!(status(&sandbox), "?? new\n");
    assert!(!sandbox.path().join(".git/index.lock").exists());
}

#[test]
fn without_a_name_it_says_how_to_set_one() {
    let sandbox = with_files();
    sandbox.run(&["config", "--unset", "user.name"]);
    sandbox.run(&["config", "--unset", "user.email"]);
    sandbox.run(&["config", "user.useConfigOnly", "true"]);
    sandbox.write("new", "1\n");
    let error = commit(&sandbox, &["new"]).unwrap_err();
    assert!(matches!(error, GitError::NoIdentity { .. }), "{error}");
    assert!(error.hint().unwrap().contains("git config --global user.name"));
    assert_eq!(status(&sandbox), "?? new\n");
    let env = [("GIT_AUTHOR_NAME", "CI"), ("GIT_AUTHOR_EMAIL", "ci@x"), ("GIT_COMMITTER_NAME", "CI")];
    let env = env.into_iter().chain([("GIT_COMMITTER_EMAIL", "ci@x")]);
    let env = env.fold(sandbox.env(), |env, (name, value)| env.with(name, value));
    let git = sandbox.repo().git(&env);
    assert_eq!(git.identity().unwrap(), ("CI".to_owned(), "ci@x".to_owned()));
    let mut slow = || {};
    commit_paths(&git, &["new".into()], "x\n", CommitOpts::usual(&mut slow)).unwrap();
}

#[test]
fn a_held_index_is_waited_for_and_then_named() {
    let sandbox = with_files();
    sandbox.write("a", "2\n");
    let lock = sandbox.path().join(".git/index.lock");
    std::fs::write(&lock, "").unwrap();
    let error = commit(&sandbox, &["a"]).unwrap_err();
    assert!(matches!(&error, GitError::Locked { path } if path.ends_with(".git/index.lock")), "{error}");
    assert!(error.hint().unwrap().contains("index.lock"));
    thread::scope(|scope| {
        let waiting = scope.spawn(|| commit(&sandbox, &["a"]));
        thread::sleep(Duration::from_millis(100));
        std::fs::remove_file(&lock).unwrap();
        waiting.join().unwrap().unwrap();
    });
}

#[test]
fn what_cannot_be_committed_is_said_by_git() {
    let sandbox = with_files();
    sandbox.write(".gitignore", "*.log\nbuild/\n");
    sandbox.write("kept.log", "1");
    sandbox.run(&["add", "-f", "kept.log"]);
    sandbox.commit_all("ignore");
    sandbox.write("debug.log", "1");
    sandbox.write("build/out", "1");
    sandbox.write("new", "1");
    for (paths, word) in [
        (vec!["a"], "nothing"),
        (vec!["nowhere"], "nowhere"),
        (vec!["new", "debug.log"], "debug.log is ignored"),
        (vec!["build/out"], "build/out is ignored"),
    ] {
        let error = commit(&sandbox, &paths).unwrap_err();
        assert!(error.to_string().contains(word), "{paths:?}: {error}");
        assert_eq!(status(&sandbox), "?? new\n", "{paths:?}");
    }
    sandbox.write("kept.log", "2");
    commit(&sandbox, &["kept.log"]).unwrap();
}

#[test]
fn in_the_middle_of_a_merge_git_refuses() {
    let sandbox = with_files();
    sandbox.run(&["checkout", "-q", "-b", "side"]);
    sandbox.write("a", "side\n");
    sandbox.commit_all("side");
    sandbox.run(&["checkout", "-q", "main"]);
    sandbox.write("a", "main\n");
    sandbox.commit_all("main");
    sandbox.try_run(&["merge", "side"]);
    sandbox.write("new", "1\n");
    let before = status(&sandbox);
    let error = commit(&sandbox, &["new"]).unwrap_err();
    assert!(error.to_string().contains("merge"), "{error}");
    assert_eq!(status(&sandbox), before);
}

#[test]
fn worktrees_submodules_and_detached_heads() {
    let sandbox = with_files();
    let linked = sandbox.linked_worktree("linked");
    std::fs::write(linked.join("new"), "1").unwrap();
    let mut slow = || {};
    let git = Git::at(&linked, &sandbox.env());
    commit_paths(&git, &["new".into()], "x\n", CommitOpts::usual(&mut slow)).unwrap();
    assert_eq!(sandbox.run(&["log", "--format=%s", "linked"]), "x\nfirst\n");

    sandbox.run(&["checkout", "-q", "--detach"]);
    sandbox.write("a", "2\n");
    let committed = commit(&sandbox, &["a"]).unwrap();
    assert_eq!(sandbox.repo().head().unwrap(), Head::Detached(committed.id));
}
