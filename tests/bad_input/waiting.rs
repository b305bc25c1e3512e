//! `loop wait` and `loop signal`, used wrongly, interrupted, and in the middle of what goes wrong elsewhere.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use loop_testkit::eventually;
use rustix::process::{Pid, Signal, kill_process};

use super::bench::{Bench, CAST, LONG, LOOP, Said, end, is_waiting};

fn start(bench: &Bench, folder: &Path, arguments: &[&str]) -> Child {
    let mut command = bench.command(folder, arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn times_that_are_none() {
    let bench = Bench::new();
    let repo = bench.opened("shop", CAST);
    for what in [&["CC"][..], &["--settled", "CC"], &["--passed"], &["--file", "f"]] {
        for time in [
            "soon",
            "1d",
            "",
            " ",
            "1e99h",
            "NaN",
            "inf",
            "-inf",
            "1m30s",
            "٣s",
            "0x10",
            "1,5s",
            "s",
            "1 s s",
            "\u{1b}[31m",
        ] {
            let timeout = format!("--timeout={time}");
            let arguments = [&["wait"], what, &[timeout.as_str()]].concat();
            bench.run(repo.path(), &arguments).check(2, &["is no time", "write 30s, 30m or 2h"]);
        }
        for time in ["-1s", "-5", "-0.1m"] {
            let timeout = format!("--timeout={time}");
            let arguments = [&["wait"], what, &[timeout.as_str()]].concat();
            bench.run(repo.path(), &arguments).check(2, &["is no time"]);
        }
    }
    for arguments in [
        &["wait"][..],
        &["wait", "CC", "--quiet", "1s"],
        &["wait", "--settled", "CC", "--quiet", "never"],
        &["wait", "--settled", "CC", "--since", "now"],
        &["wait", "--settled", "CC", "CC"],
        &["wait", "--settled"],
        &["wait", "--settled", "CC", "--passed"],
        &["wait", "--file", "f", "--since", "-5m"],
        &["wait", "--file", ""],
    ] {
        bench.run(repo.path(), arguments).check(2, &[]);
    }
}

#[test]
fn names_that_are_nobodys_and_folders_without_a_loop() {
    let bench = Bench::new();
    let repo = bench.up("shop", CAST);
    for name in ["Nobody", "", "C C", "CC\n", "\u{1b}]0;x\u{7}", "../CC", "--", "CÇ", &"x".repeat(5000)] {
        for arguments in
            [&["wait", "--timeout", "1s", "--", name][..], &["wait", "--timeout", "1s", "--settled", name]]
        {
            let said = bench.run(repo.path(), arguments);
            assert!(matches!(said.code, Some(1 | 2)), "{name:?}: {said:?}");
            assert!(said.code == Some(2) || said.text().contains("CC, Codex"), "who there is: {said:?}");
        }
    }
    let other = bench.sandbox.repo("other");
    for folder in [other.path(), &bench.sandbox.root()] {
        for arguments in
            [&["wait", "CC", "--timeout", "1s"][..], &["wait", "--settled", "CC", "--timeout", "1s"]]
        {
            bench.run(folder, arguments).check(1, &["next: "]);
        }
        let passed = bench.run(folder, &["wait", "--passed", "--timeout", "1s"]);
        assert!(matches!(passed.code, Some(1 | 3)), "{passed:?}");
    }
}

#[test]
fn no_time_at_all_is_one_look() {
    let bench = Bench::new();
    let repo = bench.up("shop", CAST);
    // It is CC's turn: who only looks must be told, too.
    bench.until(&repo, "running", "CC");
    eventually("the call", LONG, || {
        let said = bench.run(repo.path(), &["wait", "CC", "--timeout", "0"]);
        if (said.code, said.out.trim()) == (Some(0), "/agent-loop CC") {
            Ok(())
        } else {
            Err(format!("{said:?}"))
        }
    });
    bench.run(repo.path(), &["wait", "Codex", "--timeout", "0"]).check(4, &["it is not Codex's turn"]);
    bench.run(repo.path(), &["wait", "--passed", "--timeout", "0"]).check(4, &["the loop is still running"]);
}

#[test]
fn of_two_who_wait_for_one_turn_exactly_one_gets_it() {
    let bench = Bench::new();
    let repo = bench.up("shop", CAST);
    bench.until_woken(&repo, "CC");
    let both: Vec<Child> =
        (0..2).map(|_| start(&bench, repo.path(), &["wait", "Codex", "--timeout", "20s"])).collect();
    both.iter().for_each(is_waiting);
    bench.run(repo.path(), &["commit", "CC", "-m", "work"]).check(0, &["-> Codex"]);
    // The second one is not the first come back without a section, however long it waits.
    let ends: Vec<Said> = both.into_iter().map(end).collect();
    let codes = |code| ends.iter().filter(|said| said.code == Some(code)).count();
    assert_eq!((codes(0), codes(4)), (1, 1), "{ends:?}");
    bench.run(repo.path(), &["commit", "Codex", "-m", "looked"]).check(0, &["-> CC"]);
    bench.until_woken(&repo, "CC");
}

/// Records that tell of a turn that has ended.
const CLAUDE: &str = "agents:
  CC: {kind: scripted, transport: command, command: ['true'], records: {format: claude, at: '{repo}/../chats'}}
  Codex: {kind: scripted, transport: wait}
rotation: [CC, Codex]
people: [Dana]
pass: any
handover_grace: 0
";

fn chat(bench: &Bench, folder: &Path, lines: &[serde_json::Value]) {
    let real = folder.canonicalize().unwrap().display().to_string();
    let slug = real.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let file = bench.sandbox.root().join("chats").join(slug).join("c1.jsonl");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let mut file = fs::File::options().create(true).append(true).open(file).unwrap();
    for line in lines {
        let mut line = line.clone();
        line["cwd"] = real.clone().into();
        line["timestamp"] = jiff::Timestamp::now().to_string().into();
        writeln!(file, "{line}").unwrap();
    }
}

fn prompt() -> serde_json::Value {
    serde_json::json!({"type": "user", "message": {"content": "/agent-loop CC"}})
}

fn answer() -> serde_json::Value {
    let content = serde_json::json!([{"type": "text", "text": "done"}]);
    serde_json::json!({"type": "assistant", "message": {"stop_reason": "end_turn", "content": content}})
}

#[test]
fn a_router_that_is_killed_and_a_loop_that_ends_while_somebody_waits() {
    let bench = Bench::new();
    let repo = bench.up("shop", CLAUDE);
    bench.until(&repo, "running", "CC");
    let settled = ["wait", "--settled", "CC", "--quiet", "1s", "--timeout", "120s"];
    chat(&bench, repo.path(), &[prompt()]);
    let waiting = start(&bench, repo.path(), &settled);
    let ended =
        [Signal::INT, Signal::TERM, Signal::HUP].map(|signal| (signal, start(&bench, repo.path(), &settled)));
    is_waiting(&waiting);
    for (signal, child) in ended {
        is_waiting(&child);
        kill_process(Pid::from_child(&child), signal).unwrap();
        let said = end(child);
        assert_eq!((said.code, said.out.as_str()), (None, ""), "ended by the signal itself: {said:?}");
    }
    // Nothing on standard input, and nobody who could type there.
    let mut closed = bench.sandbox.command("sh");
    closed
        .args(["-c", &format!("exec '{LOOP}' wait --settled CC --timeout 2s <&-")])
        .current_dir(repo.path());
    Said::of(&closed.output().unwrap()).check(4, &["timed out: CC works"]);

    let pid = bench.router().unwrap()["pid"].as_i64().unwrap();
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::KILL).unwrap();
    bench
        .run(repo.path(), &["wait", "--settled", "CC", "--timeout", "2s"])
        .check(4, &["timed out: CC works"]);
    bench.run(repo.path(), &["up", "--yes"]).check(0, &[]);
    bench.run(repo.path(), &["commit", "CC", "-m", "first"]).check(0, &["-> Codex"]);
    chat(&bench, repo.path(), &[answer()]);
    let said = end(waiting);
    assert_eq!((said.code, said.out.as_str()), (Some(0), "CC session c1 has settled!\n"), "{said:?}");

    // The end of the loop is told as such.
    chat(&bench, repo.path(), &[prompt()]);
    let waiting = start(&bench, repo.path(), &settled);
    is_waiting(&waiting);
    bench.until_woken(&repo, "Codex");
    bench.run(repo.path(), &["commit", "Codex", "-m", "fine", "--pass"]).check(0, &[]);
    bench.run(repo.path(), &["archive"]).check(0, &[]);
    bench.run(repo.path(), &["down"]).check(0, &[]);
    let said = end(waiting);
    said.check(3, &["the loop is over"]);
}

#[test]
fn places_that_take_no_hand_over() {
    let bench = Bench::new();
    let root = bench.sandbox.root();
    symlink("circle", root.join("circle")).unwrap();
    let _socket = UnixListener::bind(root.join("socket")).unwrap();
    fs::File::create(root.join("large")).unwrap().set_len(100 << 20).unwrap();
    bench.sandbox.write("nul", "a\0b");
    let strange = "new\nline \u{1b}[31m\u{202e}.txt";
    bench.sandbox.write(strange, [0xc3, 0x28]);
    fs::create_dir(root.join("\u{1b}[2J")).unwrap();
    for (file, words) in [
        ("circle", "is a symbolic link"),
        ("socket", "is a socket"),
        ("/dev/null", "is a device"),
        ("large", "more than the 1 MB"),
        ("nul", "it holds NUL bytes"),
        (strange, "is not text"),
        ("\u{1b}[2J", "is a folder"),
        ("nul/below", ""),
        ("circle/below", ""),
        (&"n".repeat(300), ""),
    ] {
        let said = bench.run(&root, &["wait", "--file", file, "--timeout", "20s"]);
        said.check(1, &[words]);
        assert!(!said.text().contains('\u{202e}'), "{said:?}");
    }
    assert_eq!(fs::metadata(root.join("large")).unwrap().len(), 100 << 20);
    for (file, text, words) in [
        ("/dev/null", "x", "is a device"),
        ("socket", "x", "is a socket"),
        ("circle", "x", "is a symbolic link"),
        ("nul/below", "x", ""),
        (&"n".repeat(300), "x", ""),
        ("f", "a\0", ""),
    ] {
        if text.contains('\0') {
            continue;
        }
        bench.run(&root, &["signal", file, text, "--force"]).check(1, &[words]);
    }
    // What comes on standard input and is none.
    for bytes in [vec![0xff; 10], b"a\0b".to_vec(), vec![b'x'; (10 << 20) + 1]] {
        let mut signal = bench.command(&root, &["signal", "f", "-"]);
        let mut child =
            signal.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // It takes no more than it needs.
        let _ = child.stdin.take().unwrap().write_all(&bytes);
        end(child).check(1, &["next: a hand-over is UTF-8 text of at most 1 MB"]);
        assert!(!root.join("f").exists());
    }
    let left: Vec<_> = fs::read_dir(&root)
        .unwrap()
        .filter(|file| file.as_ref().unwrap().file_name().to_string_lossy().starts_with(".loop-signal"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_strange_name_and_strange_words_reach_a_terminal_as_text() {
    let bench = Bench::new();
    let root = bench.sandbox.root();
    let name = "a b\n\u{1b}[31m\u{202e}$(touch pwned);'\".txt";
    bench.run(&root, &["signal", name, "\u{1b}]0;title\u{7}words\u{202e}"]).check(0, &["handed over in"]);
    let said = bench.run(&root, &["wait", "--file", name, "--timeout", "20s"]);
    said.check(0, &["HANDSHAKE-RECEIVED", "words"]);
    assert!(!said.text().contains('\u{202e}'), "{said:?}");
    bench.run(&root, &["signal", name, ""]).check(0, &[]);
    bench
        .run(&root, &["wait", "--file", name, "--timeout", "20s", "--json"])
        .check(0, &["\"received\": true"]);
    assert!(!root.join("pwned").exists());
}

#[test]
fn one_that_is_moved_in_from_another_file_system_is_taken_whole() {
    let bench = Bench::new();
    let root = bench.sandbox.root();
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else {
        eprintln!("SKIPPED: there is no /dev/shm");
        return;
    };
    if fs::metadata(memory.path()).unwrap().dev() == fs::metadata(&root).unwrap().dev() {
        eprintln!("SKIPPED: /dev/shm is no file system of its own");
        return;
    }
    let text = "line\n".repeat(200_000);
    fs::write(memory.path().join("f"), &text).unwrap();
    let waiter = start(&bench, &root, &["wait", "--file", "f", "--timeout", "60s"]);
    is_waiting(&waiter);
    assert!(bench.sandbox.command("mv").arg(memory.path().join("f")).arg("f").status().unwrap().success());
    let said = end(waiter);
    assert_eq!(said.code, Some(0));
    assert_eq!(said.out.split_once('\n').unwrap().1, text);
    // And a place that lies there itself.
    let there = memory.path().join("g");
    let there = there.to_str().unwrap();
    bench.run(&root, &["signal", there, "over there"]).check(0, &[]);
    bench.run(&root, &["wait", "--file", there, "--timeout", "20s"]).check(0, &["over there"]);
    assert_eq!(fs::read_dir(memory.path()).unwrap().count(), 0);
}

#[test]
fn a_writer_that_pauses_is_waited_for_and_one_that_dies_is_not() {
    let bench = Bench::new();
    let root = bench.sandbox.root();
    let waiter = start(&bench, &root, &["wait", "--file", "f", "--timeout", "60s"]);
    is_waiting(&waiter);
    let mut writer = fs::File::create(root.join("f")).unwrap();
    writer.write_all(b"half ").unwrap();
    std::thread::sleep(Duration::from_millis(2500));
    writer.write_all(b"and whole").unwrap();
    drop(writer);
    let said = end(waiter);
    assert!(said.out.ends_with("half and whole\n"), "{said:?}");
    // Out of time while it is written: said, and nothing is taken.
    let mut writer = fs::File::create(root.join("f")).unwrap();
    writer.write_all(b"half").unwrap();
    bench.run(&root, &["wait", "--file", "f", "--timeout", "3s"]).check(4, &["is still writing"]);
    assert_eq!(fs::read(root.join("f")).unwrap(), b"half");
    drop(writer);
    bench.run(&root, &["wait", "--file", "f", "--timeout", "20s"]).check(0, &["half"]);
}
