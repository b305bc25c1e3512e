//! The handshake back: an agent that nothing can wake blocks in its own turn, in `loop wait`, and is answered there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use loop_testkit::Sandbox;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::bad_input::bench::{Bench, CAST, Said, end, is_waiting};
use crate::stage::{LOOP, Stage};

/// A folder that is no repository, of a user without a router.
struct Corner {
    sandbox: Sandbox,
}

impl Corner {
    fn new() -> Self {
        Self { sandbox: Sandbox::new() }
    }

    fn file(&self) -> PathBuf {
        self.sandbox.root().join("handshake.txt")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.sandbox.loop_cmd(Path::new(LOOP));
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str]) -> Said {
        Said::of(&self.command(arguments).output().unwrap())
    }

    fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).spawn().unwrap()
    }

    /// What lies in the folder beside the sandbox's own folders.
    fn files(&self) -> Vec<String> {
        let names = fs::read_dir(self.sandbox.root()).unwrap().map(|file| file.unwrap());
        let files = names.filter(|file| file.file_type().unwrap().is_file());
        files.map(|file| file.file_name().into_string().unwrap()).collect()
    }
}

#[test]
fn one_that_lies_there_is_taken_at_once() {
    let corner = Corner::new();
    corner.run(&["signal", "handshake.txt", "the review is done"]).check(0, &["handed over in"]);
    let file = corner.sandbox.root().join("handshake.txt");
    let old = std::time::SystemTime::now() - Duration::from_secs(60);
    fs::File::options().write(true).open(file).unwrap().set_modified(old).unwrap();
    let said = corner.run(&["wait", "--file", "handshake.txt", "--timeout", "20s"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(
        said.out.starts_with("HANDSHAKE-RECEIVED after ") && said.out.ends_with("s\nthe review is done\n")
    );
    assert!(corner.files().is_empty(), "{:?}", corner.files());
    // It counts once.
    corner
        .run(&["wait", "--file", "handshake.txt", "--timeout", "0"])
        .check(4, &["timed out", "is not there"]);
}

#[test]
fn one_that_comes_is_taken() {
    let corner = Corner::new();
    let waiter = corner.start(&["wait", "--file", "handshake.txt", "--timeout", "60s", "--json"]);
    is_waiting(&waiter);
    let mut signal = corner.command(&["signal", "handshake.txt", "-"]);
    let mut signal = signal.stdin(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut signal.stdin.take().unwrap(), "two\nlines ü".as_bytes()).unwrap();
    end(signal).check(0, &[]);
    let said = end(waiter);
    assert_eq!(said.code, Some(0), "{said:?}");
    let answer: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(answer["received"], true);
    assert_eq!(answer["content"], "two\nlines ü");
    assert_eq!(answer["path"], corner.file().display().to_string());
    assert!(answer["after_s"].as_f64().is_some());
    assert!(corner.files().is_empty(), "{:?}", corner.files());
}

#[test]
fn any_program_can_write_it_also_slowly_and_into_a_new_folder() {
    let corner = Corner::new();
    let waiter = corner.start(&["wait", "--file", "new/folder/f", "--timeout", "60s"]);
    is_waiting(&waiter);
    let mut shell = corner.sandbox.command("sh");
    let line =
        "mkdir -p new/folder; exec 3>new/folder/f; sleep 1.5; printf one >&3; sleep 0.5; printf two >&3";
    assert!(shell.args(["-c", line]).status().unwrap().success());
    let said = end(waiter);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.ends_with("s\nonetwo\n"), "{said:?}");
    let left = fs::read_dir(corner.sandbox.root().join("new/folder")).unwrap().count();
    assert_eq!(left, 0);
}

#[test]
fn of_several_waiters_exactly_one_gets_it() {
    let corner = Corner::new();
    let waiters: Vec<Child> =
        (0..4).map(|_| corner.start(&["wait", "--file", "handshake.txt", "--timeout", "4s"])).collect();
    waiters.iter().for_each(is_waiting);
    corner.run(&["signal", "handshake.txt", "only one"]).check(0, &[]);
    let ends: Vec<Said> = waiters.into_iter().map(end).collect();
    let codes = |code| ends.iter().filter(|said| said.code == Some(code)).count();
    assert_eq!((codes(0), codes(4)), (1, 3), "{ends:?}");
    let got: Vec<&Said> = ends.iter().filter(|said| said.out.contains("only one")).collect();
    assert_eq!(got.len(), 1, "{ends:?}");
    assert!(corner.files().is_empty(), "{:?}", corner.files());
}

#[test]
fn the_time_runs_out() {
    let corner = Corner::new();
    let began = Instant::now();
    let said = corner.run(&["wait", "--file", "handshake.txt", "--timeout", "0.5", "--json"]);
    assert_eq!(said.code, Some(4), "{said:?}");
    assert!(began.elapsed() >= Duration::from_millis(500));
    let answer: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((&answer["received"], &answer["content"]), (&Value::Bool(false), &Value::Null));
}

#[test]
fn older_ones_are_left_alone() {
    let corner = Corner::new();
    let file = corner.sandbox.write("handshake.txt", "of yesterday");
    let old = std::time::SystemTime::now() - Duration::from_secs(86_400);
    fs::File::options().write(true).open(&file).unwrap().set_modified(old).unwrap();
    for since in ["now", "10m"] {
        let arguments = ["wait", "--file", "handshake.txt", "--since", since, "--timeout", "0"];
        let said = corner.run(&arguments);
        said.check(4, &["before --since; waiting for a newer one", "timed out"]);
        assert_eq!(said.err.matches("waiting for a newer one").count(), 1, "{said:?}");
    }
    assert_eq!(corner.sandbox.read("handshake.txt"), "of yesterday");
    let waiter = corner.start(&["wait", "--file", "handshake.txt", "--since", "now", "--timeout", "60s"]);
    is_waiting(&waiter);
    corner.run(&["signal", "handshake.txt", "of today"]).check(1, &["was not taken yet", "--force"]);
    corner.run(&["signal", "handshake.txt", "of today", "--force"]).check(0, &["handshake.txt.before-"]);
    let said = end(waiter);
    assert!(said.out.ends_with("of today\n"), "{said:?}");
    let files = corner.files();
    assert!(files.len() == 1 && files[0].starts_with("handshake.txt.before-"), "{files:?}");
    assert_eq!(corner.sandbox.read(&files[0]), "of yesterday");
    let said = corner.run(&["wait", "--file", &files[0], "--since", "2h", "--timeout", "0"]);
    assert_eq!(said.code, Some(4), "{said:?}");
    let said = corner.run(&["wait", "--file", &files[0], "--since", "30h"]);
    assert_eq!(said.code, Some(0), "{said:?}");
}

#[test]
fn a_killed_waiter_loses_nothing() {
    for signal in [Signal::KILL, Signal::INT] {
        let corner = Corner::new();
        let waiter = corner.start(&["wait", "--file", "handshake.txt"]);
        is_waiting(&waiter);
        kill_process(Pid::from_child(&waiter), signal).unwrap();
        assert_eq!(end(waiter).code, None);
        corner.run(&["signal", "handshake.txt", "still here"]).check(0, &[]);
        let said = corner.run(&["wait", "--file", "handshake.txt", "--timeout", "20s"]);
        assert!(said.out.contains("still here"), "{said:?}");
    }
}

#[test]
fn one_whose_reader_has_gone_puts_it_back() {
    let corner = Corner::new();
    corner.run(&["signal", "handshake.txt", "nobody reads this"]).check(0, &[]);
    let mut waiter = corner.start(&["wait", "--file", "handshake.txt"]);
    drop(waiter.stdout.take());
    let said = end(waiter);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.err.contains("nobody reads what was handed over"), "{said:?}");
    assert_eq!(corner.sandbox.read("handshake.txt"), "nobody reads this\n");
}

#[test]
fn what_is_no_hand_over_is_refused_and_stays() {
    let corner = Corner::new();
    let root = corner.sandbox.root();
    fs::create_dir(root.join("folder")).unwrap();
    std::os::unix::fs::symlink(root.join("folder"), root.join("link")).unwrap();
    assert!(corner.sandbox.command("mkfifo").arg("pipe").status().unwrap().success());
    corner.sandbox.write("binary", [0xff, 0, 1]);
    corner.sandbox.write("large", vec![b'x'; 1024 * 1024 + 1]);
    for (file, words) in [
        ("folder", "is a folder"),
        ("link", "is a symbolic link"),
        ("pipe", "is a pipe"),
        ("binary", "is not text"),
        ("large", "more than the 1 MB"),
    ] {
        corner.run(&["wait", "--file", file, "--timeout", "20s"]).check(1, &[words, "next: "]);
        assert!(root.join(file).symlink_metadata().is_ok());
        if !matches!(file, "binary" | "large") {
            corner.run(&["signal", file, "x", "--force"]).check(1, &[words]);
        }
    }
    corner.run(&["signal", "no/such/f", "x"]).check(1, &["there is no folder", "mkdir -p"]);
    for arguments in [
        &["wait", "--file", "f", "--passed"][..],
        &["wait", "CC", "--file", "f"],
        &["wait", "--file", "f", "--since", "yesterday"],
        &["wait", "--since", "now"],
        &["wait", "--file", "folder/"],
        &["signal"],
    ] {
        assert_eq!(corner.run(arguments).code, Some(2), "{arguments:?}");
    }
}

/// A waiting agent, as a process of its own.
fn waits_for_turn(bench: &Bench, folder: &Path, name: &str, timeout: &str) -> Child {
    let mut command = bench.command(folder, &["wait", name, "--timeout", timeout]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn an_agent_waits_for_its_turn_over_a_new_start_of_the_router() {
    let bench = Bench::new();
    let repo = bench.up("shop", CAST);
    let state = bench.sandbox.home().join(".local/state/agent-loop");
    let log = || fs::read_to_string(state.join("router.log")).unwrap_or_default();
    // Its time runs out, and Ctrl-C gives the seat back: neither takes the wake with it.
    let said = end(waits_for_turn(&bench, repo.path(), "Codex", "1s"));
    said.check(4, &["it is not Codex's turn"]);
    let codex = waits_for_turn(&bench, repo.path(), "Codex", "120s");
    is_waiting(&codex);
    kill_process(Pid::from_child(&codex), Signal::INT).unwrap();
    assert_eq!(end(codex).code, None);
    let codex = waits_for_turn(&bench, repo.path(), "Codex", "120s");
    is_waiting(&codex);
    bench.run(repo.path(), &["router", "--stop"]).check(0, &[]);
    bench.run(repo.path(), &["up", "--yes"]).check(0, &[]);
    end(waits_for_turn(&bench, repo.path(), "CC", "60s")).check(0, &["/agent-loop CC"]);
    bench.run(repo.path(), &["turn", "CC"]).check(0, &[]);
    bench.run(repo.path(), &["commit", "CC", "-m", "first"]).check(0, &["-> Codex"]);
    let said = end(codex);
    assert_eq!((said.code, said.out.trim()), (Some(0), "/agent-loop Codex"), "{said:?}\n{}", log());
    // The end of the loop ends the wait of everybody else.
    let cc = waits_for_turn(&bench, repo.path(), "CC", "120s");
    is_waiting(&cc);
    bench.run(repo.path(), &["turn", "Codex"]).check(0, &[]);
    bench.run(repo.path(), &["commit", "Codex", "-m", "fine", "--pass"]).check(0, &[]);
    end(cc).check(3, &["the loop has passed"]);
    bench.run(repo.path(), &["archive"]).check(0, &[]);
    bench.run(repo.path(), &["down"]);
    bench.run(repo.path(), &["router", "--stop"]);
}

#[test]
fn an_agent_with_a_place_of_its_own_is_not_moved() {
    let stage = Stage::new("");
    let shop = stage.shop();
    shop.cast(&[("CC", crate::stage::again([crate::stage::review("a look")]))], "people: [Dana]\npass: any");
    shop.run(&["init", "the task"]);
    shop.run(&["up", "--yes", "--headless"]);
    let said = shop.try_loop(&["wait", "CC", "--timeout", "1s"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.err.contains("reached by `exec` and is called there"), "{said:?}");
    let said = shop.try_loop(&["wait", "Dana", "--timeout", "1s"]);
    assert!(said.code == Some(1) && said.err.contains("Dana is no agent"), "{said:?}");
    shop.run(&["down"]);
    stage.nothing_runs();
}
