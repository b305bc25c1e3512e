//! One story that every transport must tell, with a fake behind each.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use loop_core::{DeliveryState, Name};
use loop_testkit::script::{Script, Step, submitted};
use loop_testkit::{Sandbox, eventually_async, require_tool};
use loop_transport::tmux::{OpenWindow, Server, Tags};
use loop_transport::{NoProgress, Options, Presence, Session, TABLE, Teller, TransportError, WaitRoom, Wake};
use tokio::task::JoinHandle;

const LONG: Duration = Duration::from_secs(30);
const TEXT: &str = "/agent-loop CC";

/// An agent behind one transport, as far as the story needs it.
struct Fake {
    session: Session,
    options: Options,
    /// How it is when it may be woken.
    idle: Presence,
    /// Whether it is [`Presence::Busy`] during a turn, or away from where it can be woken.
    shows_busy: bool,
    /// Whether it can be interrupted.
    stops: bool,
    /// The texts that really reached it.
    reached: Box<dyn Fn() -> Vec<String>>,
    /// Ends its turn.
    finish: Box<dyn Fn()>,
    /// Takes it away.
    vanish: Box<dyn FnOnce()>,
    _sandbox: Option<Arc<Sandbox>>,
}

fn session(kind: &str, sandbox: &Sandbox, command: Option<Vec<String>>) -> Session {
    let workdir = sandbox.root().join("work");
    fs::create_dir_all(&workdir).unwrap();
    let profile = loop_core::profile::builtin("scripted").unwrap();
    Session {
        command,
        env: sandbox.env_text(),
        outputs: sandbox.root().join("outputs"),
        ..Session::new("loop-1", Name::new("CC").unwrap(), kind, profile, &workdir)
    }
}

/// The scripted agent; each of its turns works until the file `gate` is there, and takes it away.
fn scripted(sandbox: &Sandbox) -> (Vec<String>, PathBuf) {
    let shut = vec!["rm".to_owned(), "gate".to_owned()];
    let script =
        Script { repeat_last: true, ..Script::of([vec![Step::WaitFor("gate".into()), Step::Run(shut)]]) };
    let script = sandbox.write("script.json", script.to_json());
    let log = sandbox.root().join("agent.log");
    let program = env!("CARGO_BIN_EXE_loop-fake-agent").to_owned();
    let words = ["--name", "CC", "--script", script.to_str().unwrap(), "--log", log.to_str().unwrap()];
    (std::iter::once(program).chain(words.map(str::to_owned)).collect(), log)
}

async fn tmux() -> Option<Fake> {
    if !require_tool("tmux", "-V") {
        return None;
    }
    let sandbox = Arc::new(Sandbox::new());
    let (argv, log) = scripted(&sandbox);
    let mut session = session("tmux", &sandbox, Some(argv.clone()));
    let server = Server {
        env: Some(sandbox.env_text()),
        config: Some("/dev/null".into()),
        ..Server::at(sandbox.tmux_socket())
    };
    let window = OpenWindow {
        session: "loop-x".to_owned(),
        name: "CC".to_owned(),
        kind: "scripted".to_owned(),
        argv,
        env: BTreeMap::from_iter(sandbox.env_text()),
        cwd: session.workdir.clone(),
        tags: Tags { loop_id: session.loop_id.clone(), agent: session.agent.clone() },
    };
    let pane = server.open_window(&window).await.unwrap();
    session.address = serde_json::json!({"pane": pane});
    let gate = session.workdir.join("gate");
    let tmux = Arc::clone(&sandbox);
    Some(Fake {
        options: Options { tmux: server, ..Options::new(sandbox.root().join("locks")) },
        session,
        idle: Presence::Idle,
        shows_busy: true,
        stops: true,
        reached: Box::new(move || submitted(&log)),
        finish: Box::new(move || fs::write(&gate, "").unwrap()),
        vanish: Box::new(move || {
            tmux.tmux(&["kill-pane", "-t", pane.as_str()]);
        }),
        _sandbox: Some(sandbox),
    })
}

fn exec() -> Fake {
    let sandbox = Sandbox::new();
    let (mut argv, log) = scripted(&sandbox);
    argv.extend(["--headless".to_owned(), "{text}".to_owned()]);
    let session = session("exec", &sandbox, Some(argv));
    let gate = session.workdir.join("gate");
    let workdir = session.workdir.clone();
    Fake {
        options: Options::new(sandbox.root().join("locks")),
        session,
        idle: Presence::Idle,
        shows_busy: true,
        stops: true,
        reached: Box::new(move || submitted(&log)),
        finish: Box::new(move || fs::write(&gate, "").unwrap()),
        vanish: Box::new(move || fs::remove_dir_all(workdir).unwrap()),
        _sandbox: Some(Arc::new(sandbox)),
    }
}

fn command() -> Fake {
    let sandbox = Sandbox::new();
    let program =
        sandbox.write("inject", "test -e busy && exit 75\nprintf '%s\\n' \"$1\" >> reached\n> busy\n");
    let argv = ["sh", program.to_str().unwrap(), "{text}"].map(str::to_owned).into();
    let session = session("command", &sandbox, Some(argv));
    let (busy, reached) = (session.workdir.join("busy"), session.workdir.join("reached"));
    Fake {
        options: Options::new(sandbox.root().join("locks")),
        session,
        idle: Presence::Idle,
        shows_busy: false,
        stops: false,
        reached: Box::new(move || {
            fs::read_to_string(&reached).unwrap_or_default().lines().map(str::to_owned).collect()
        }),
        finish: Box::new(move || fs::remove_file(&busy).unwrap()),
        vanish: Box::new(move || fs::remove_file(program).unwrap()),
        _sandbox: Some(Arc::new(sandbox)),
    }
}

fn wait() -> Fake {
    let sandbox = Sandbox::new();
    let session = session("wait", &sandbox, None);
    let options = Options::new(sandbox.root().join("locks"));
    let reached = Arc::new(Mutex::new(Vec::new()));
    let agent: Arc<Mutex<Option<JoinHandle<()>>>> = Arc::default();
    let sit_down = {
        let (room, reached, agent) = (options.wait_room.clone(), Arc::clone(&reached), Arc::clone(&agent));
        let name = session.agent.clone();
        move || {
            let (room, reached, name): (WaitRoom, _, _) = (room.clone(), Arc::clone(&reached), name.clone());
            let task = tokio::spawn(async move {
                let text = room.wait("loop-1", &name, Duration::ZERO).await;
                reached.lock().unwrap().push(text);
            });
            *agent.lock().unwrap() = Some(task);
        }
    };
    sit_down();
    Fake {
        options,
        session,
        idle: Presence::Waiting,
        shows_busy: false,
        stops: false,
        reached: Box::new(move || reached.lock().unwrap().clone()),
        finish: Box::new(sit_down),
        vanish: Box::new(move || agent.lock().unwrap().take().unwrap().abort()),
        _sandbox: Some(Arc::new(sandbox)),
    }
}

/// Somebody whose desk holds one note at a time.
#[derive(Debug)]
struct Desk {
    note: PathBuf,
    notes: PathBuf,
}

#[async_trait::async_trait]
impl Teller for Desk {
    async fn tell(&self, session: &Session, text: &str) -> Result<(), TransportError> {
        let not_now = || TransportError::NotNow(Presence::Unreachable("not now".to_owned()));
        let says_how = text.contains(&format!("`loop commit {} -m …`", session.agent));
        let is_away = self.notes.with_extension("away").exists();
        if !says_how || is_away || self.note.exists() {
            return Err(not_now());
        }
        fs::write(&self.note, text).unwrap();
        fs::write(&self.notes, fs::read_to_string(&self.notes).unwrap() + TEXT + "\n").unwrap();
        Ok(())
    }
}

fn person() -> Fake {
    let sandbox = Sandbox::new();
    let session = session("person", &sandbox, None);
    let (note, notes) = (session.workdir.join("note"), sandbox.write("notes", ""));
    let mut options = Options::new(sandbox.root().join("locks"));
    options.teller = Some(Arc::new(Desk { note: note.clone(), notes: notes.clone() }));
    let told = notes.clone();
    Fake {
        options,
        session,
        idle: Presence::Idle,
        shows_busy: false,
        stops: false,
        reached: Box::new(move || {
            fs::read_to_string(&told).unwrap_or_default().lines().map(str::to_owned).collect()
        }),
        finish: Box::new(move || fs::remove_file(&note).unwrap()),
        vanish: Box::new(move || fs::write(notes.with_extension("away"), "").unwrap()),
        _sandbox: Some(Arc::new(sandbox)),
    }
}

async fn story(name: &str, fake: Fake) {
    let mut session = fake.session.clone();
    let transport = loop_transport::open(name, &fake.options).unwrap();
    let wake = |n: u32| Wake { delivery_id: format!("d-{n}"), attempt: 1, text: TEXT.to_owned() };
    async fn until(
        name: &str,
        transport: &dyn loop_transport::Transport,
        session: &Session,
        wanted: &Presence,
    ) {
        eventually_async(&format!("{name} to be {wanted:?}"), LONG, || async {
            let presence = transport.probe(session).await.unwrap();
            if presence == *wanted { Ok(()) } else { Err(format!("{presence:?}")) }
        })
        .await;
    }
    let until_reached = async |count: usize| {
        eventually_async(&format!("{name}: text number {count}"), LONG, || async {
            let reached = (fake.reached)();
            if reached.len() == count { Ok(()) } else { Err(format!("{reached:?}")) }
        })
        .await;
        assert!((fake.reached)().iter().all(|text| text == TEXT), "{name}");
    };

    // Idle, then woken, then at work.
    until(name, &*transport, &session, &fake.idle).await;
    let receipt = transport.wake(&session, &wake(1), &NoProgress).await.unwrap();
    assert!(
        matches!(receipt.state, DeliveryState::Submitted | DeliveryState::Started),
        "{name}: {receipt:?}"
    );
    until_reached(1).await;
    session.address = receipt.address.unwrap_or(session.address);
    if fake.shows_busy {
        until(name, &*transport, &session, &Presence::Busy).await;
    } else if transport.sees_work() {
        assert_ne!(transport.probe(&session).await.unwrap(), fake.idle, "{name}");
    }

    // At work it is not spoken to.
    let refused = transport.wake(&session, &wake(2), &NoProgress).await;
    assert!(matches!(refused, Err(TransportError::NotNow(_))), "{name}: {refused:?}");
    let shown = transport.capture(&session).await.unwrap();
    assert!(!shown.chars().any(|c| c.is_control() && !"\n\t".contains(c)), "{name}: {shown:?}");

    // Done, and woken again.
    (fake.finish)();
    until(name, &*transport, &session, &fake.idle).await;
    until_reached(1).await;
    let receipt = transport.wake(&session, &wake(3), &NoProgress).await.unwrap();
    until_reached(2).await;
    session.address = receipt.address.unwrap_or(session.address);

    // Interrupted, or told that this cannot be done from here.
    match transport.interrupt(&session).await {
        Ok(()) => assert!(fake.stops, "{name}"),
        Err(TransportError::Failed(why)) => assert!(!fake.stops && why.contains("stop it"), "{name}: {why}"),
        Err(other) => panic!("{name}: {other:?}"),
    }
    if !fake.stops {
        (fake.finish)();
    }
    until(name, &*transport, &session, &fake.idle).await;

    // Taken away, nothing reaches it and nothing is claimed.
    (fake.vanish)();
    let gone = async || transport.wake(&session, &wake(4), &NoProgress).await;
    let error = gone().await.unwrap_err();
    let harmless = matches!(error, TransportError::NotNow(_) | TransportError::Failed(_));
    assert!(harmless, "{name}: {error:?}");
    assert_eq!((fake.reached)().len(), 2, "{name}");
}

#[tokio::test]
async fn every_transport_tells_the_same_story() {
    for row in TABLE {
        let fake = match row.name {
            "tmux" => tmux().await,
            "exec" => Some(exec()),
            "command" => Some(command()),
            "wait" => Some(wait()),
            "person" => Some(person()),
            other => panic!("the transport `{other}` needs a fake here"),
        };
        if let Some(fake) = fake {
            story(row.name, fake).await;
        }
    }
}
