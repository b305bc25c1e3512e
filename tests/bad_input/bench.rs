//! One user's home with a repository, and what is compared before and after a command.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use loop_testkit::{Sandbox, TestRepo, eventually};
use serde_json::Value;

/// The program under test.
pub(crate) const LOOP: &str = env!("CARGO_BIN_EXE_loop");

/// The longest that one step may take on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Two agents who ask for their turns themselves, so that no window is needed.
pub(crate) const CAST: &str = "agents:
  CC: {kind: scripted, transport: wait}
  Codex: {kind: scripted, transport: wait}
rotation: [CC, Codex]
people: [Dana]
pass: any
handover_grace: 0
";

/// One user.
pub(crate) struct Bench {
    pub(crate) sandbox: Sandbox,
}

/// What a command said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    pub(crate) fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("output in UTF-8");
        Self { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    /// Everything, after a look for what must never reach a terminal.
    #[track_caller]
    pub(crate) fn text(&self) -> String {
        let text = format!("{}{}", self.out, self.err);
        let bad = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t'));
        assert_eq!(bad, None, "a control character is printed: {text:?}");
        assert!(!text.contains("panicked at"), "{text}");
        text
    }

    /// Checks the exit code and that every one of `words` was said.
    #[track_caller]
    pub(crate) fn check(&self, code: i32, words: &[&str]) {
        let text = self.text();
        assert_eq!(self.code, Some(code), "{text}");
        for word in words {
            assert!(text.contains(word), "{word:?} is missing in: {text}");
        }
        if matches!(code, 1 | 5) {
            assert!(self.err.contains("error: "), "an error belongs on stderr: {self:?}");
        }
    }
}

impl Bench {
    /// A user with a router on a free port and a tmux server of their own.
    pub(crate) fn new() -> Self {
        Self::with("")
    }

    /// The same with more settings.
    pub(crate) fn with(settings: &str) -> Self {
        let sandbox = Sandbox::new();
        let socket = sandbox.tmux_socket();
        let text = format!(
            "port: 0\ntmux_socket: {}\ntimings: {{look: 0.2, quiet: 1, sweep: 1}}\n{settings}",
            socket.display()
        );
        sandbox.write("home/.config/agent-loop/config.yaml", text);
        sandbox.write("home/.tmux.conf", "set -g default-shell /bin/sh\n");
        Self { sandbox }
    }

    /// A repository with a `loop.yaml` and a loop that was opened but is not up.
    pub(crate) fn opened(&self, name: &str, config: &str) -> TestRepo {
        let repo = self.sandbox.repo(name);
        repo.commit("loop.yaml", config, "how the loop works here");
        self.run(repo.path(), &["init", "make it work", "--here"]).check(0, &["Nobody was woken"]);
        repo
    }

    /// The same, approved and up.
    pub(crate) fn up(&self, name: &str, config: &str) -> TestRepo {
        let repo = self.opened(name, config);
        self.run(repo.path(), &["up", "--yes"]).check(0, &["up: the router is at"]);
        repo
    }

    /// A command of the program in `folder`.
    pub(crate) fn command(&self, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = self.sandbox.loop_cmd(Path::new(LOOP));
        command.args(arguments).current_dir(folder).stdin(Stdio::null());
        command
    }

    /// Runs the program in `folder`.
    pub(crate) fn run(&self, folder: &Path, arguments: &[&str]) -> Said {
        Said::of(&self.command(folder, arguments).output().expect("loop runs"))
    }

    /// Runs it twice: it must be refused in the same words with the same code, and change nothing.
    #[track_caller]
    pub(crate) fn refuses(&self, repo: &TestRepo, arguments: &[&str], code: i32, words: &[&str]) -> Said {
        let before = self.traces(repo.path());
        let first = self.run(repo.path(), arguments);
        first.check(code, words);
        let second = self.run(repo.path(), arguments);
        assert_eq!(first, second, "loop {arguments:?}, again");
        same(&before, &self.traces(repo.path()), &format!("loop {arguments:?}: {first:?}"));
        first
    }

    /// The state folder.
    pub(crate) fn state(&self) -> PathBuf {
        self.sandbox.home().join(".local/state/agent-loop")
    }

    /// What the running router wrote about itself.
    pub(crate) fn router(&self) -> Option<Value> {
        serde_json::from_str(&fs::read_to_string(self.state().join("router.json")).ok()?).ok()
    }

    /// `loop status --json`.
    pub(crate) fn status(&self, repo: &TestRepo) -> Value {
        let said = self.run(repo.path(), &["status", "--json"]);
        said.check(0, &[]);
        serde_json::from_str(&said.out).expect("JSON")
    }

    /// Waits until the loop is in `state` and what its status says contains `words`.
    #[track_caller]
    pub(crate) fn until(&self, repo: &TestRepo, state: &str, words: &str) -> Value {
        eventually(&format!("{state} with {words:?}"), LONG, || {
            let status = self.status(repo);
            let told = status["state"] == state && status.to_string().contains(words);
            if told { Ok(status) } else { Err(status.to_string()) }
        })
    }

    /// Waits until the store has the wake for `turn` on record and it waits for its agent.
    #[track_caller]
    pub(crate) fn until_woken(&self, repo: &TestRepo, name: &str) {
        self.run(repo.path(), &["wait", name, "--timeout", "60s"]).check(0, &[]);
    }

    /// Everything on disk that a refused command must not touch: the working tree, git's index, references and
    /// settings, and the home folder without the store.
    pub(crate) fn traces(&self, folder: &Path) -> BTreeMap<String, String> {
        let mut traces = BTreeMap::new();
        walk(folder, &mut traces);
        walk(&self.sandbox.home(), &mut traces);
        for arguments in [&["for-each-ref"][..], &["ls-files", "--stage"], &["symbolic-ref", "-q", "HEAD"]] {
            let output =
                self.sandbox.command("git").args(arguments).current_dir(folder).output().expect("git runs");
            traces.insert(format!("git {arguments:?}"), format!("{output:?}"));
        }
        traces
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = fs::read_to_string(self.state().join("router.log")).unwrap_or_default();
            eprintln!("--- the router's log\n{log}");
        }
        let Some(pid) = self.router().and_then(|router| router["pid"].as_i64()) else { return };
        let stopped = self.run(&self.sandbox.root(), &["router", "--stop"]).code == Some(0);
        if !stopped {
            // It may be gone already.
            let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).stderr(Stdio::null()).status();
        }
    }
}

/// Nothing was left, changed or taken away.
#[track_caller]
pub(crate) fn same(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>, what: &str) {
    let only = |one: &BTreeMap<String, String>, other: &BTreeMap<String, String>| -> Vec<String> {
        one.iter()
            .filter(|(path, text)| other.get(*path) != Some(*text))
            .map(|(path, _)| path.clone())
            .collect()
    };
    let (gone, new) = (only(before, after), only(after, before));
    assert!(gone.is_empty() && new.is_empty(), "{what}\nbefore: {gone:#?}\nafter: {new:#?}");
}

/// Path, mode and content of everything below `folder`.
fn walk(folder: &Path, traces: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let meta = entry.metadata().expect("a file's metadata");
        // The store, the key and a router's own files are made by whoever comes first. Git's own folder is compared
        // by what git says of it, and by its settings and hooks.
        let in_state = folder.ends_with("state/agent-loop");
        let ours = in_state && (name.starts_with("loop.db") || name.starts_with("router") || name == "key")
            || folder.ends_with(".local/state") && meta.is_dir();
        if ours && meta.is_dir() {
            walk(&path, traces);
        }
        let gits = folder.ends_with(".git") && !matches!(name.as_str(), "config" | "hooks" | "info");
        if ours || gits {
            continue;
        }
        let content = if meta.is_symlink() {
            fs::read_link(&path).expect("a link").display().to_string()
        } else if meta.is_dir() {
            walk(&path, traces);
            String::new()
        } else {
            String::from_utf8_lossy(&fs::read(&path).expect("a file")).into_owned()
        };
        traces.insert(format!("{} {:o}", path.display(), meta.permissions().mode()), content);
    }
}

/// Makes an executable script.
pub(crate) fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, format!("#!/bin/sh\n{text}\n")).expect("a script");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
}

/// An error text with what differs from run to run taken out.
pub(crate) fn normal(bench: &Bench, said: &Said) -> String {
    let root = bench.sandbox.root().display().to_string();
    said.text().replace(&root, "[ROOT]")
}

/// What a command that was started has said in the end.
pub(crate) fn end(child: Child) -> Said {
    Said::of(&child.wait_with_output().unwrap())
}

/// Waits until a waiter is at it: the threads that wait come behind everything else.
pub(crate) fn is_waiting(child: &Child) {
    eventually("a waiter that sleeps", LONG, || {
        let threads = fs::read_dir(format!("/proc/{}/task", child.id())).map_or(0, Iterator::count);
        if threads > 1 { Ok(()) } else { Err(format!("{threads} threads")) }
    });
}
