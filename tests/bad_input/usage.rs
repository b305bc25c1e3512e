//! Every command used in the wrong place or with the wrong words.

use std::fs;

use super::bench::{Bench, CAST, Said, normal, same};

/// Commands that need a loop, with arguments that are right.
const NEED_A_LOOP: &[&[&str]] = &[
    &["up"],
    &["down"],
    &["attach"],
    &["turn", "CC"],
    &["commit", "CC", "-m", "x"],
    &["log"],
    &["say", "x"],
    &["accept"],
    &["pause"],
    &["resume"],
    &["skip", "CC"],
    &["stop"],
    &["wait", "CC", "--timeout", "1s"],
    &["archive"],
    &["trust"],
];

/// Commands that need no loop, but a repository.
const NEED_A_REPOSITORY: &[&[&str]] = &[
    &["init", "x"],
    &["status"],
    &["agents"],
    &["agents", "add", "Gemini=gemini"],
    &["agents", "remove", "CC"],
    &["agents", "register", "CC"],
    &["agents", "forget", "CC"],
    &["hooks", "install"],
    &["hooks", "uninstall"],
    &["hooks", "status"],
    &["uninstall"],
    &["uninstall", "--dry-run"],
];

/// Command lines that are no command lines.
const NO_COMMAND_LINE: &[&[&str]] = &[
    &[],
    &["nothing"],
    &["inti"],
    &["init", "--agent"],
    &["init", "a", "b"],
    &["init", "x", "--here", "--worktree"],
    &["init", "x", "--take-changes", "--worktree"],
    &["init", "x", "--agent", ""],
    &["init", "x", "--agent", "C C=codex"],
    &["init", "x", "--agent", "CC=nothing"],
    &["init", "x", "--planner", ""],
    &["init", "x", "--pass", ""],
    &["init", "x", "--pass", "not a name"],
    &["init", "x", "--task-file", "f"],
    &["up", "x"],
    &["down", "x"],
    &["run", "x", "y"],
    &["attach", "a", "b"],
    &["router", "--port", "99999"],
    &["router", "--port", "x"],
    &["router", "--listen", "x"],
    &["notify", "a", "b"],
    &["turn"],
    &["turn", "a", "b"],
    &["commit"],
    &["commit", "CC"],
    &["commit", "CC", "-m"],
    &["commit", "CC", "-m", "x", "--pass", "--blocked", "y"],
    &["commit", "CC", "-m", "x", "stray"],
    &["commit", "CC", "-m", ""],
    &["commit", "CC", "-m", " \n"],
    &["status", "x"],
    &["log", "x"],
    &["check", "a", "b"],
    &["check", "--require", "blocked"],
    &["say"],
    &["say", ""],
    &["say", "\n\t"],
    &["accept", "x"],
    &["pause", "--nope"],
    &["resume", "--rounds", "many"],
    &["resume", "--rounds=-1"],
    &["resume", "--hours", "nan"],
    &["resume", "--hours=-1"],
    &["skip"],
    &["stop", "x"],
    &["agents", "nope"],
    &["agents", "add"],
    &["agents", "remove"],
    &["agents", "register"],
    &["agents", "forget"],
    &["hooks"],
    &["hooks", "nope"],
    &["hooks", "install", "x"],
    &["uninstall", "x"],
    &["doctor", "x"],
    &["wait"],
    &["wait", "CC", "--timeout", "soon"],
    &["wait", "CC", "--passed"],
    &["archive", "x"],
    &["trust", "x"],
    &["key", "x"],
    &["store"],
    &["store", "burn"],
    &["tell"],
    &["demo", "x"],
    &["completions"],
    &["completions", "tcsh"],
    &["help", "a", "b"],
];

#[test]
fn a_command_line_that_is_none() {
    let bench = Bench::new();
    let repo = bench.opened("shop", CAST);
    for arguments in NO_COMMAND_LINE {
        let said = bench.refuses(&repo, arguments, 2, &[]);
        assert!(said.out.is_empty() && !said.err.is_empty(), "{arguments:?}: {said:?}");
    }
}

#[test]
fn outside_a_repository() {
    let bench = Bench::new();
    let folder = bench.sandbox.root().join("plain");
    fs::create_dir(&folder).unwrap();
    let before = bench.traces(&folder);
    let more: &[&[&str]] = &[&["run", "x"], &["wait", "--passed"]];
    for arguments in NEED_A_LOOP.iter().chain(NEED_A_REPOSITORY).chain(more) {
        let said = bench.run(&folder, arguments);
        said.check(1, &["no git repository at or above", "next: run this inside a repository"]);
        assert_eq!(said, bench.run(&folder, arguments));
    }
    bench.run(&folder, &["notify"]).check(0, &[]);
    bench
        .run(&folder, &["check"])
        .check(1, &["cannot read loop.yaml", "next: name the loop.yaml with --config"]);
    same(&before, &bench.traces(&folder), "");
    assert!(!bench.state().exists(), "state was made outside a repository");
    let said = bench.run(&folder, &["status"]);
    insta::assert_snapshot!(normal(&bench, &said), @r"
    error: no git repository at or above [ROOT]/plain
    next: run this inside a repository, or make one with `git init`
    ");
}

#[test]
fn in_a_bare_repository() {
    let bench = Bench::new();
    let folder = bench.sandbox.root().join("shop.git");
    bench.sandbox.git(&["init", "--quiet", "--bare", &folder.display().to_string()]);
    let before = bench.traces(&folder);
    for arguments in NEED_A_LOOP.iter().chain(NEED_A_REPOSITORY) {
        let said = bench.run(&folder, arguments);
        said.check(1, &["is a bare repository", "next: use a worktree of it"]);
        assert_eq!(said, bench.run(&folder, arguments));
    }
    bench.run(&folder, &["notify"]).check(0, &[]);
    same(&before, &bench.traces(&folder), "");
}

#[test]
fn without_a_loop() {
    let bench = Bench::new();
    let repo = bench.sandbox.repo("shop");
    // `loop down` stops what still runs, also after the loop's end.
    bench.refuses(&repo, &["down"], 0, &["0 windows closed; no router ran"]);
    for arguments in NEED_A_LOOP.iter().filter(|words| words[0] != "down") {
        let said = bench.refuses(&repo, arguments, 1, &["there is no loop"]);
        assert!(said.err.contains("loop init"), "{arguments:?}: {said:?}");
    }
    bench.refuses(&repo, &["status"], 0, &["There is no loop here"]);
    bench.refuses(&repo, &["wait", "--passed"], 3, &["there is no loop here"]);
    bench.refuses(&repo, &["notify"], 0, &[]);
    bench.refuses(&repo, &["run"], 2, &["what is to be done?"]);
}

#[test]
fn names_that_nobody_has() {
    let bench = Bench::new();
    let repo = bench.opened("shop", CAST);
    let cases: &[&[&str]] = &[
        &["turn", "Nobody"],
        &["turn", ""],
        &["turn", "CC\u{1b}[31m"],
        &["commit", "Nobody", "-m", "x"],
        &["commit", "CC", "-m", "x", "--to", "Nobody"],
        &["say", "x", "--to", "Nobody"],
        &["skip", "Nobody"],
        &["resume", "--to", "Nobody"],
        &["wait", "Nobody", "--timeout", "1s"],
    ];
    for arguments in cases {
        bench.refuses(
            &repo,
            arguments,
            1,
            &["nobody here is called", "next: the names in loop.yaml: CC, Codex, Dana"],
        );
    }
    let cases: &[(&[&str], &str)] = &[
        (&["say", "x", "--as", "CC"], "`loop say` is for people"),
        (&["say", "x", "--as", "Nobody"], "Nobody"),
        (&["commit", "Dana", "-m", "x", "--pass"], "only an agent's section gives a verdict"),
        (&["commit", "CC", "-m", "x", "--body", "nothing.md"], "cannot read the body"),
        (&["commit", "CC", "-m", "x", "--", "../elsewhere"], "is not in this repository"),
        (&["commit", "CC", "-m", "x", "--", "nothing.txt"], "nothing.txt"),
        (&["help", "nothing"], "there is no topic"),
        (&["attach", "CC"], "no windows"),
        (&["check", "nothing.md", "--config", "nothing.yaml"], "nothing.yaml"),
        (&["archive"], "not"),
    ];
    for (arguments, words) in cases {
        bench.refuses(&repo, arguments, 1, &[words]);
    }
    bench.refuses(
        &repo,
        &["wait", "CC", "--timeout", "1s"],
        5,
        &["the router is not running", "next: `loop up`"],
    );
    bench.refuses(&repo, &["wait", "--passed", "--timeout", "1s"], 4, &["timed out"]);
    bench.refuses(&repo, &["turn", "Codex"], 3, &["It is not your turn"]);
    let said = bench.run(repo.path(), &["turn", "Nobody"]);
    insta::assert_snapshot!(normal(&bench, &said), @r"
    error: nobody here is called Nobody
    next: the names in loop.yaml: CC, Codex, Dana
    ");
}

#[test]
fn without_a_home() {
    let bench = Bench::new();
    let repo = bench.opened("shop", CAST);
    let before = bench.traces(repo.path());
    for home in [None, Some(""), Some("relative")] {
        for arguments in [&["status"][..], &["turn", "CC"], &["init", "x"], &["key"], &["router"]] {
            let mut command = bench.command(repo.path(), arguments);
            command.env_remove("HOME");
            home.map(|home| command.env("HOME", home));
            Said::of(&command.output().unwrap()).check(1, &["HOME is not set to a folder", "next: set HOME"]);
        }
        let mut command = bench.command(repo.path(), &["notify"]);
        command.env_remove("HOME");
        Said::of(&command.output().unwrap()).check(0, &[]);
    }
    same(&before, &bench.traces(repo.path()), "");
}

#[test]
fn a_state_folder_that_cannot_be_used() {
    let bench = Bench::new();
    let repo = bench.opened("shop", CAST);
    fs::remove_dir_all(bench.state()).unwrap();
    fs::write(bench.state(), "in its place").unwrap();
    let more: &[&[&str]] =
        &[&["status"], &["status", "--all"], &["store", "check"], &["key"], &["router"], &["down", "--all"]];
    let agents: &[&str] = &["turn", "commit"];
    for arguments in NEED_A_LOOP.iter().chain(more).filter(|words| !agents.contains(&words[0])) {
        bench.refuses(&repo, arguments, 5, &["agent-loop", "next: see to it that you can write there"]);
    }
    assert_eq!(fs::read_to_string(bench.state()).unwrap(), "in its place");
    let said = bench.run(repo.path(), &["status"]);
    insta::assert_snapshot!(normal(&bench, &said), @r"
    error: cannot use [ROOT]/home/.local/state/agent-loop
      because: File exists (os error 17)
    next: see to it that you can write there; `loop store where` names the place, XDG_STATE_HOME in the environment moves it
    ");
    // Agents go on from git alone.
    bench.run(repo.path(), &["turn", "CC"]).check(0, &["turn 1 is yours"]);
    bench.run(repo.path(), &["commit", "CC", "-m", "x"]).check(0, &[]);
}

#[test]
fn a_store_that_is_damaged() {
    let bench = Bench::new();
    let repo = bench.opened("shop", CAST);
    let store = bench.state().join("loop.db");
    for name in ["loop.db", "loop.db-wal", "loop.db-shm"] {
        // Not every one is there.
        let _ = fs::remove_file(bench.state().join(name));
    }
    for text in ["no database at all ".repeat(1000), format!("SQLite format 3\0{}", "x".repeat(9000))] {
        fs::write(&store, &text).unwrap();
        for arguments in [
            &["status"][..],
            &["log"],
            &["pause"],
            &["up", "--yes"],
            &["router"],
            &["store", "check"],
            &["say", "x"],
        ] {
            bench.refuses(
                &repo,
                arguments,
                5,
                &[
                    "loop.db cannot be read as a store",
                    "it was left as it is",
                    "turns and verdicts are in git",
                ],
            );
        }
        assert_eq!(fs::read_to_string(&store).unwrap(), text);
    }
    let said = bench.run(repo.path(), &["status"]);
    insta::assert_snapshot!(normal(&bench, &said), @r"
    error: [ROOT]/home/.local/state/agent-loop/loop.db cannot be read as a store: the file is damaged or is no SQLite database; it was left as it is; move it, its -wal and its -shm file away to start with an empty store (turns and verdicts are in git)
    ");
    bench.run(repo.path(), &["turn", "CC"]).check(0, &["turn 1 is yours"]);
    bench.run(repo.path(), &["commit", "CC", "-m", "x"]).check(0, &[]);
}

#[test]
fn settings_that_cannot_be_read() {
    let bench = Bench::new();
    let repo = bench.opened("shop", CAST);
    let cases = [
        ("port: many\n", "port"),
        ("prot: 1\n", "prot"),
        ("timings: {look: -1}\n", "give seconds"),
        ("tell: {command: \"'open\"}\n", "command"),
        ("[", "config.yaml"),
        ("store: mongodb://user:secret@host/x\n", "mongodb"),
    ];
    for (text, words) in cases {
        bench.sandbox.write("home/.config/agent-loop/config.yaml", text);
        let arguments = if text.starts_with("tell") { ["up", "--yes"].as_slice() } else { &["status"] };
        let said = bench.refuses(&repo, arguments, 1, &[words]);
        assert!(!said.text().contains("secret"), "{said:?}");
    }
    bench.run(repo.path(), &["notify"]).check(0, &[]);
}
