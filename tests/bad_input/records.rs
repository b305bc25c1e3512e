//! Records of an agent that runs elsewhere, in a program of its own: only its SQLite store tells how it stands.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, thread};

use jiff::Timestamp;
use loop_testkit::{TestRepo, eventually};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};

use super::bench::{Bench, LONG, Said, script};

/// The user's own profile of a desktop agent.
const PROFILE: &str = "profiles:
  zcode:
    kind: zcode
    version: 1
    about: a desktop agent with a SQLite store
    like: generic
    invoke: take your turn, {name}
    records:
      format: sqlite
      at: ~/.zcode/cli/db/db.sqlite
      table: session
      id: id
      updated: time_updated
      not: {task_type: subagent_child}
";

const CAST: &str = "agents:
  ZCode: {kind: zcode, transport: command, command: [sh, ../inject, '{name}', '{text}']}
  CC: {kind: scripted, transport: wait}
rotation: [ZCode, CC]
pass: any
handover_grace: 0
";

const TABLES: &str = "create table session (id text primary key, title text, project_id text, time_created integer, \
                      time_updated integer, task_type text); create table message (id text, session_id text)";

/// The agent's own side: it writes its store, and waits for no lock, so that any that it met would be an error.
struct Desktop {
    runtime: tokio::runtime::Runtime,
    store: SqliteConnection,
}

impl Desktop {
    fn path(bench: &Bench) -> PathBuf {
        bench.sandbox.home().join(".zcode/cli/db/db.sqlite")
    }

    fn open(path: &Path) -> Self {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .busy_timeout(Duration::ZERO)
            .disable_statement_logging();
        let store = runtime.block_on(options.connect()).unwrap();
        Self { runtime, store }
    }

    /// A new store, as the desktop agent makes it.
    fn new(path: &Path) -> Self {
        let mut desktop = Self::open(path);
        desktop.run("pragma journal_mode = wal");
        desktop.run(TABLES);
        desktop
    }

    fn run(&mut self, sql: &str) {
        let done = sqlx::raw_sql(sqlx::AssertSqlSafe(sql.to_owned())).execute(&mut self.store);
        self.runtime.block_on(done).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// Something happens in a conversation, so many seconds ago.
    fn event(&mut self, id: &str, kind: &str, ago: i64) {
        let at = Timestamp::now().as_millisecond() - ago * 1000;
        self.run(&format!(
            "insert into session values ('{id}', 't', 'p', {at}, {at}, {kind}) \
             on conflict (id) do update set time_updated = {at}"
        ));
    }

    fn close(self) {
        self.runtime.block_on(self.store.close()).unwrap();
    }
}

/// What keeps happening until it is stopped.
struct Busy {
    stop: Arc<AtomicBool>,
    thread: thread::JoinHandle<()>,
}

impl Busy {
    fn at(path: PathBuf, id: &'static str, kind: &'static str) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut desktop = Desktop::open(&path);
            // Two programs of the agent's own do wait for each other.
            desktop.run("pragma busy_timeout = 5000");
            while !stopped.load(Ordering::Relaxed) {
                desktop.event(id, kind, 0);
                thread::sleep(Duration::from_millis(200));
            }
        });
        Self { stop, thread }
    }

    fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
    }
}

/// A loop that has woken the desktop agent.
fn raise() -> (Bench, TestRepo) {
    let bench = Bench::with(PROFILE);
    script(&bench.sandbox.root().join("inject"), "echo \"$1: $2\" >> ../injected");
    let repo = bench.up("shop", CAST);
    eventually("the wake", LONG, || {
        let text = fs::read_to_string(bench.sandbox.root().join("injected")).unwrap_or_default();
        if text.contains("ZCode: take your turn, ZCode") { Ok(()) } else { Err(text) }
    });
    (bench, repo)
}

fn watch(bench: &Bench, repo: &TestRepo, arguments: &[&str]) -> Child {
    let arguments = [&["wait", "--settled", "ZCode"], arguments].concat();
    let mut command = bench.command(repo.path(), &arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn end(child: Child) -> Said {
    Said::of(&child.wait_with_output().unwrap())
}

#[test]
fn a_desktop_agents_store_wakes_every_subscriber_once_it_stands_still() {
    let (bench, repo) = raise();
    let path = Desktop::path(&bench);
    // Somebody watches before there is a store at all.
    let before = watch(&bench, &repo, &["--quiet", "6s", "--timeout", "120s"]);
    let mut desktop = Desktop::new(&path);
    desktop.event("yesterday", "'chat'", 86_400);
    // A sub-agent of another day whose last event is stuck, and one that works on and on.
    desktop.event("stuck", "'subagent_child'", 7200);
    let sub = Busy::at(path.clone(), "sub", "'subagent_child'");
    let work = Busy::at(path.clone(), "main", "null");
    let mut during: Vec<Child> =
        (0..3).map(|_| watch(&bench, &repo, &["--quiet", "6s", "--timeout", "120s"])).collect();
    during.push(before);
    // It works for longer than any quiet window.
    let short = bench.run(repo.path(), &["wait", "--settled", "zcode", "--quiet", "6s", "--timeout", "10s"]);
    short.check(4, &["timed out: ZCode has been still for a moment only"]);
    for child in &mut during {
        assert_eq!(child.try_wait().unwrap(), None, "settled while it worked");
    }
    bench.run(repo.path(), &["commit", "ZCode", "-m", "built"]).check(0, &["turn 1 by ZCode -> CC"]);
    work.end();
    for child in during {
        let said = end(child);
        assert_eq!(
            (said.code, said.out.as_str()),
            (Some(0), "ZCode session main has settled!\n"),
            "{said:?}"
        );
    }
    // Who comes afterwards misses nothing.
    let after = bench
        .run(repo.path(), &["wait", "--settled", "ZCode", "--quiet", "1s", "--timeout", "60s", "--json"]);
    after.check(0, &[]);
    let answer: serde_json::Value = serde_json::from_str(&after.out).unwrap();
    assert_eq!((answer["state"].as_str(), answer["conversation"].as_str()), (Some("settled"), Some("main")));
    sub.end();
    desktop.run("pragma wal_checkpoint(truncate)");
    desktop.close();
    let mut names: Vec<String> = fs::read_dir(path.parent().unwrap())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["db.sqlite"], "something was left beside the agent's store");
}

#[test]
fn a_store_in_trouble_is_named_and_settles_nobody() {
    let (bench, repo) = raise();
    let path = Desktop::path(&bench);
    let wait = |timeout: &str| {
        bench.run(repo.path(), &["wait", "--settled", "ZCode", "--quiet", "1s", "--timeout", timeout])
    };
    let cannot = format!("cannot read {}", path.display());
    // Its turn is over, or the router would call it again for its section.
    bench.run(repo.path(), &["commit", "ZCode", "-m", "built"]).check(0, &["turn 1 by ZCode -> CC"]);
    wait("2s").check(4, &["ZCode cannot be told: its records know of no conversation in this folder"]);

    // A locked one: in this mode even readers are shut out.
    let mut desktop = Desktop::new(&path);
    desktop.event("main", "null", 0);
    desktop.run("pragma locking_mode = exclusive; begin exclusive; update session set title = 'y'");
    wait("3s").check(4, &[&cannot, "database is locked"]);
    desktop.run("commit; pragma locking_mode = normal; select count(*) from session");
    wait("60s").check(0, &["ZCode session main has settled!"]);

    // A newer one.
    desktop.run("alter table session rename column time_updated to updated_at");
    wait("3s").check(4, &[&cannot, "no such column: time_updated"]);
    desktop.run("alter table session rename column updated_at to time_updated");
    desktop.run("alter table session rename to sessions");
    wait("3s").check(4, &[&cannot, "no such table: session"]);
    desktop.run("alter table sessions rename to session; alter table session add column workspace text; create table x (y)");
    wait("60s").check(0, &["ZCode session main has settled!"]);
    desktop.close();

    // Damaged ones.
    let whole = fs::read(&path).unwrap();
    let mut garbage = whole.clone();
    garbage[..100].fill(0xa5);
    for (damaged, says) in [
        (garbage, "file is not a database"),
        (whole[..whole.len() - 1000].to_vec(), "it ends in the middle of a page"),
        (vec![b'x'; 40], ""),
    ] {
        fs::write(&path, damaged).unwrap();
        wait("3s").check(4, &[&cannot, says]);
    }
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    wait("3s").check(4, &[&cannot, "it is no regular file"]);
    fs::remove_dir(&path).unwrap();
    wait("2s").check(4, &["its records know of no conversation in this folder"]);

    // Deleted while it is watched, and made anew.
    fs::write(&path, &whole).unwrap();
    let watcher = watch(&bench, &repo, &["--quiet", "4s", "--timeout", "120s"]);
    thread::sleep(Duration::from_secs(1));
    fs::remove_file(&path).unwrap();
    thread::sleep(Duration::from_secs(1));
    let mut desktop = Desktop::new(&path);
    desktop.event("anew", "'chat'", 0);
    let said = end(watcher);
    assert_eq!((said.code, said.out.as_str()), (Some(0), "ZCode session anew has settled!\n"), "{said:?}");
    // The router watched all the time; it is there, and well.
    let log = fs::read_to_string(bench.state().join("router.log")).unwrap();
    assert!(!log.contains("panic"), "{log}");
    assert_eq!(bench.status(&repo)["state"], "running");
}

#[test]
fn two_loops_with_agents_of_one_name_never_share_records() {
    let bench = Bench::with(&PROFILE.replace("at: ~/.zcode", "folder: project_id\n      at: ~/.zcode"));
    script(&bench.sandbox.root().join("inject"), "echo \"$PWD $1: $2\" >> ../injected");
    let shop = bench.up("shop", CAST);
    let mill = bench.up("mill", CAST);
    eventually("both wakes", LONG, || {
        let text = fs::read_to_string(bench.sandbox.root().join("injected")).unwrap_or_default();
        if text.lines().count() == 2 { Ok(()) } else { Err(text) }
    });
    for repo in [&shop, &mill] {
        bench.run(repo.path(), &["commit", "ZCode", "-m", "built"]).check(0, &["turn 1 by ZCode -> CC"]);
    }
    let path = Desktop::path(&bench);
    let mut desktop = Desktop::new(&path);
    let real = |repo: &TestRepo| repo.path().canonicalize().unwrap().display().to_string();
    for (id, repo) in [("of-shop", &shop), ("of-mill", &mill)] {
        desktop.event(id, "null", 0);
        desktop.run(&format!("update session set project_id = '{}' where id = '{id}'", real(repo)));
    }
    let work = Busy::at(path, "of-mill", "null");
    let watched = watch(&bench, &mill, &["--quiet", "2s", "--timeout", "120s"]);
    let settled =
        bench.run(shop.path(), &["wait", "--settled", "ZCode", "--quiet", "2s", "--timeout", "60s"]);
    assert_eq!((settled.code, settled.out.as_str()), (Some(0), "ZCode session of-shop has settled!\n"));
    let mut watched = watched;
    assert_eq!(watched.try_wait().unwrap(), None, "it works in the other repository");
    work.end();
    assert_eq!(end(watched).out, "ZCode session of-mill has settled!\n");
}
