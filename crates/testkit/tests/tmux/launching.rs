//! Windows are opened clean, and tell why they do not start.

use std::collections::BTreeSet;
use std::time::Duration;

use loop_core::Name;
use loop_testkit::script::{Script, Step};
use loop_testkit::{Sandbox, eventually, require_tool};
use loop_transport::Presence;
use loop_transport::tmux::{NotReady, OpenWindow, Server, Tags};

use crate::stage::{LONG, Stage, gated};

const SECRET: &str = "s3cret-\"$HOME\"-'value'";

/// Every process's arguments, as long as this runs.
fn watch_arguments() -> (std::sync::mpsc::Sender<()>, std::thread::JoinHandle<BTreeSet<String>>) {
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let watcher = std::thread::spawn(move || {
        let mut seen = BTreeSet::new();
        while stopped.try_recv().is_err() {
            for process in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
                let arguments = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
                if arguments.windows(6).any(|window| window == b"s3cret") {
                    seen.insert(String::from_utf8_lossy(&arguments).into_owned());
                }
            }
        }
        seen
    });
    (stop, watcher)
}

#[tokio::test]
async fn the_environment_is_exactly_what_was_given_and_no_argument_shows_it() {
    let (stop, watcher) = watch_arguments();
    let printenv = vec!["sh".to_owned(), "-c".to_owned(), "env -0 > environment".to_owned()];
    let script = Script::of([vec![Step::Run(printenv)]]);
    let opened = Stage::open_as("CC", &script, |window| {
        window.env.insert("SECRET".into(), SECRET.into());
        window.env.insert("LINES_OF_IT".into(), "one\n  two # not a comment\n".into());
        window.env.remove("XDG_CACHE_HOME");
    })
    .await;
    let Some(stage) = opened else { return };
    stage.ready.as_ref().unwrap();
    stage.wake().await.unwrap();
    stage.until_logged("end").await;
    stop.send(()).unwrap();
    assert_eq!(watcher.join().unwrap(), BTreeSet::new(), "the secret stood in a process's arguments");
    let environment = stage.repo.read("environment");
    let variables: BTreeSet<&str> = environment.split('\0').collect();
    assert!(variables.contains(format!("SECRET={SECRET}").as_str()), "{environment}");
    assert!(variables.contains("LINES_OF_IT=one\n  two # not a comment\n"), "{environment}");
    // The tmux server has it, the agent was not given it.
    assert!(!environment.contains("XDG_CACHE_HOME"), "{environment}");
    assert!(!stage.sandbox.tmux(&["list-panes", "-a", "-F", "#{pane_start_command}"]).contains("s3cret"));
}

#[tokio::test]
async fn a_program_that_ends_at_once_is_told_with_its_words() {
    let script = Script { exit_at_start: Some(3), ..Script::default() };
    let Some(stage) = Stage::open(&script).await else { return };
    let error = stage.ready.as_ref().unwrap_err();
    assert!(matches!(error, NotReady::Ended { .. }), "{error}");
    let text = error.to_string();
    // tmux 3.3 does not always learn how a program ended.
    assert!(text.contains("(exit 3)") || text.contains("(how is not known)"), "{text}");
    assert!(text.contains("cannot start: the script says so"), "{text}");
}

#[tokio::test]
async fn a_program_that_is_not_there_is_told() {
    let Some(stage) = Stage::open(&Script::default()).await else { return };
    let window = OpenWindow {
        session: "loop-other".into(),
        name: "Codex".into(),
        kind: "scripted".into(),
        argv: vec!["no-such-agent".into()],
        env: stage.sandbox.env_text(),
        cwd: stage.repo.path().to_owned(),
        tags: Tags { loop_id: "loop-1".into(), agent: Name::new("Codex").unwrap() },
    };
    let text = stage.server.open_window(&window).await.unwrap_err().to_string();
    assert!(text.contains("cannot find `no-such-agent` for Codex"), "{text}");
    assert!(!stage.server.session_exists("loop-other").await.unwrap(), "nothing is left behind");
}

#[tokio::test]
async fn an_agent_behind_a_shell_script_is_no_shell() {
    let opened = Stage::open_as("CC", &Script::of([gated()]), |window| {
        let wrapper = window.cwd.join("wrapper");
        std::fs::write(&wrapper, "#!/bin/sh\n\"$@\"\nexit $?\n").unwrap();
        std::fs::set_permissions(&wrapper, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        window.argv.insert(0, wrapper.display().to_string());
    })
    .await;
    let Some(stage) = opened else { return };
    stage.ready.as_ref().unwrap();
    stage.wake().await.unwrap();
    assert_eq!(stage.submitted(), ["/agent-loop CC"]);
}

#[tokio::test]
async fn what_never_gets_ready_is_told_with_its_last_lines() {
    let Some(stage) = Stage::open(&Script::default()).await else { return };
    let profile = loop_core::profile::builtin("claude-code").unwrap();
    let wait = Duration::from_millis(700);
    let ready = stage.server.wait_ready(&stage.pane, &profile, "claude", stage.repo.path(), wait).await;
    let text = ready.unwrap_err().to_string();
    assert!(text.contains("not ready after") && text.contains("loop-fake-agent plays CC"), "{text}");
}

#[tokio::test]
async fn an_agent_in_another_folder_is_told() {
    let Some(stage) = Stage::open(&Script::default()).await else { return };
    let elsewhere = stage.sandbox.home();
    let ready = stage.server.wait_ready(&stage.pane, &stage.session.profile, "x", &elsewhere, LONG).await;
    assert!(matches!(ready, Err(NotReady::Elsewhere { .. })), "{ready:?}");
}

#[tokio::test]
async fn windows_share_a_session_and_are_found_by_their_tags() {
    let Some(stage) = Stage::open(&Script::of([gated()])).await else { return };
    let names = || stage.sandbox.tmux(&["list-windows", "-t", "=loop-project", "-F", "#{window_name}"]);
    assert_eq!(names(), "CC", "the session's first window is the agent's own");
    let tags = Tags { loop_id: "loop-1".into(), agent: Name::new("Codex").unwrap() };
    let window = OpenWindow {
        session: "loop-project".into(),
        name: "Codex #{pane_id}".into(),
        kind: "scripted".into(),
        argv: stage.session.command.clone().unwrap(),
        env: stage.sandbox.env_text(),
        cwd: stage.repo.path().to_owned(),
        tags: tags.clone(),
    };
    let second = stage.server.open_window(&window).await.unwrap();
    assert_eq!(names(), "CC\nCodex #{pane_id}");
    assert_eq!(stage.server.find(&tags).await.unwrap().unwrap().id, second);
    assert_eq!(stage.server.panes_of("loop-1").await.unwrap().len(), 2);
    assert_eq!(stage.server.panes_of("loop-2").await.unwrap().len(), 0);
    // Started again in the same pane: id and tags stay.
    stage.server.respawn(&second, &window).await.unwrap();
    assert_eq!(stage.server.find(&tags).await.unwrap().unwrap().id, second);
    stage.server.kill_window(&second).await.unwrap();
    stage.server.kill_window(&second).await.unwrap();
    assert_eq!(stage.server.find(&tags).await.unwrap(), None);
    assert_eq!(stage.probe().await, Presence::Idle, "the neighbour is untouched");
}

#[tokio::test]
async fn what_stays_when_its_terminal_goes_is_ended_too() {
    let Some(stage) = Stage::open(&Script::of([gated()])).await else { return };
    // Like Gemini CLI: a parent and a child that do not mind a hang-up.
    let script = "trap '' HUP; sleep 600 & echo $$ > pids; echo $! >> pids; wait";
    let window = OpenWindow {
        session: "loop-project".into(),
        name: "stays".into(),
        kind: "scripted".into(),
        argv: ["sh", "-c", script].map(str::to_owned).into(),
        env: stage.sandbox.env_text(),
        cwd: stage.repo.path().to_owned(),
        tags: Tags { loop_id: "loop-1".into(), agent: Name::new("Codex").unwrap() },
    };
    let pane = stage.server.open_window(&window).await.unwrap();
    let pids = eventually("both processes", LONG, || {
        let text =
            std::fs::read_to_string(stage.repo.path().join("pids")).map_err(|error| error.to_string())?;
        if text.lines().count() == 2 { Ok(text) } else { Err(text) }
    });
    stage.server.kill_window(&pane).await.unwrap();
    for pid in pids.lines() {
        eventually("its end", LONG, || {
            let alive =
                std::process::Command::new("kill").args(["-0", pid]).output().unwrap().status.success();
            if alive { Err(pid.to_owned()) } else { Ok(()) }
        });
    }
}

#[tokio::test]
async fn what_is_left_of_an_agent_ends_before_it_is_started_again() {
    let Some(stage) = Stage::open(&Script::of([gated()])).await else { return };
    // It stays when its terminal goes; or it has ended, and what it started in the background stays.
    for (n, ends) in ["wait", "exit 0"].into_iter().enumerate() {
        let pids = format!("pids-{n}");
        let script = format!("trap '' HUP; sleep 600 & echo $! > {pids}; {ends}");
        let mut window = OpenWindow {
            session: "loop-project".into(),
            name: format!("stays-{n}"),
            kind: "scripted".into(),
            argv: ["sh", "-c", &script].map(str::to_owned).into(),
            env: stage.sandbox.env_text(),
            cwd: stage.repo.path().to_owned(),
            tags: Tags { loop_id: "loop-1".into(), agent: Name::new("Codex").unwrap() },
        };
        let pane = stage.server.open_window(&window).await.unwrap();
        let wanted = ends == "exit 0";
        let pid = loop_testkit::eventually_async("what it started, and its end", LONG, || async {
            let text = std::fs::read_to_string(stage.repo.path().join(&pids)).unwrap_or_default();
            let dead = stage.server.pane(&pane).await.unwrap().dead;
            if text.ends_with('\n') && dead == wanted {
                Ok(text)
            } else {
                Err(format!("{text:?}, dead: {dead}"))
            }
        })
        .await;
        // The new one looks for the old one at once; one that has ended may not have been reaped yet.
        let lives = format!("ps -o stat= -p {} | grep -q '^[^Z]'", pid.trim());
        let look =
            format!("if {lives}; then echo lives > found-{n}; else echo gone > found-{n}; fi; sleep 600");
        window.argv = ["sh", "-c", &look].map(str::to_owned).into();
        stage.server.respawn(&pane, &window).await.unwrap();
        let found = eventually("the new one's look", LONG, || {
            let found = std::fs::read_to_string(stage.repo.path().join(format!("found-{n}")));
            found
                .map_err(|error| error.to_string())
                .and_then(|text| if text.is_empty() { Err(text) } else { Ok(text) })
        });
        assert_eq!(found, "gone\n", "{ends}");
        stage.server.kill_window(&pane).await.unwrap();
    }
}

#[tokio::test]
async fn a_session_s_name_is_matched_whole() {
    if !require_tool("tmux", "-V") {
        return;
    }
    let sandbox = Sandbox::new();
    let server = Server {
        env: Some(sandbox.env_text()),
        config: Some("/dev/null".into()),
        ..Server::at(sandbox.tmux_socket())
    };
    assert!(server.version().await.unwrap().works());
    assert!(!server.session_exists("loop-x").await.unwrap(), "no server is no session");
    assert!(server.ensure_session("loop-xy", &sandbox.root()).await.unwrap());
    assert!(!server.session_exists("loop-x").await.unwrap());
    assert!(!server.ensure_session("loop-xy", &sandbox.root()).await.unwrap());
    sandbox.tmux(&["kill-server"]);
    assert_eq!(server.panes().await.unwrap(), [], "no server, no panes");
}

#[tokio::test]
async fn a_screen_that_nothing_says_how_to_read_is_told_with_the_way_out() {
    let yaml = "agents: {Asker: {kind: generic, command: [sh, x]}}\nrotation: [Asker]\npass: any\n";
    let Some(stage) = Stage::open_prompt(yaml).await else { return };
    let error = stage.ready.as_ref().unwrap_err();
    assert!(matches!(error, NotReady::Unread { .. }), "{error}");
    let text = error.to_string();
    for words in ["`signs:` under the agent", "`loop help loop-yaml`", "`transport: exec`", "\n>"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}
