//! What an agent's own side tells of its turn: by its turn hooks, and by the records of its CLI.

use loop_core::DeliveryState;
use loop_transport::Presence;
use serde_json::{Value, json};

use crate::world::{ID, World};

/// CC's hooks are Claude Code's; its records stand in a folder of the test's.
fn config(world_more: &str) -> String {
    format!(
        "agents:\n  CC: {{kind: scripted, transport: command, turn_hooks: claude-code{world_more}}}\n  \
         Codex: {{kind: scripted, transport: command}}\nrotation: [CC, Codex]\npass: any\n"
    )
}

async fn tell(world: &World, body: Value) -> Value {
    let answer = world.post("/api/turn-hook").json(&body).send().await.unwrap();
    assert_eq!(answer.status(), 202);
    answer.json().await.unwrap()
}

fn hook(world: &World, event: &str, more: &Value) -> Value {
    let mut body = json!({
        "kind": "claude-code", "event": event, "loop": ID, "agent": "CC", "conversation": "c-1",
        "cwd": world.repo.path().canonicalize().unwrap(), "prompt": "/agent-loop CC", "background": 0,
    });
    for (key, value) in more.as_object().cloned().unwrap_or_default() {
        body[key] = value;
    }
    body
}

async fn state(world: &World, wanted: DeliveryState) {
    world
        .until(wanted.as_str(), || async {
            let deliveries = world.deliveries().await;
            match deliveries.first().map(|delivery| delivery.state) {
                Some(state) if state == wanted => Ok(()),
                _ => Err(world.ledger().await),
            }
        })
        .await;
}

#[tokio::test]
async fn a_turn_hook_proves_the_start_and_tells_the_conversation() {
    let world = World::with(&config(""), |_| {}).await;
    world.woken("CC", 1).await;
    state(&world, DeliveryState::Submitted).await;
    world.fake.set(ID, "CC", Presence::Busy);
    assert_eq!(tell(&world, hook(&world, "started", &json!({}))).await["status"], "ok");
    state(&world, DeliveryState::Started).await;
    let session = world.store().await.sessions(Some(ID)).await.unwrap();
    let cc = session.iter().find(|session| session.agent.as_str() == "CC").unwrap();
    assert_eq!(cc.conversation.as_deref(), Some("c-1"));
}

#[tokio::test]
async fn a_start_is_proved_although_the_end_was_told_before_anybody_looked() {
    let mut world = World::with(&config(""), |_| {}).await;
    world.woken("CC", 1).await;
    state(&world, DeliveryState::Submitted).await;
    // Both come in between two looks.
    world.options.look = std::time::Duration::from_secs(2);
    world.restart().await;
    world.fake.set(ID, "CC", Presence::Busy);
    tell(&world, hook(&world, "started", &json!({}))).await;
    tell(&world, hook(&world, "finished", &json!({"prompt": null}))).await;
    state(&world, DeliveryState::Started).await;
}

#[tokio::test]
async fn what_is_not_the_agents_own_is_ignored() {
    let world = World::with(&config(""), |_| {}).await;
    world.woken("CC", 1).await;
    world.fake.set(ID, "CC", Presence::Busy);
    tell(&world, hook(&world, "started", &json!({}))).await;
    state(&world, DeliveryState::Started).await;
    for foreign in [
        json!({"kind": "codex"}),
        json!({"cwd": "/elsewhere"}),
        json!({"loop": "another", "conversation": "c-2"}),
        json!({"agent": "Dana", "conversation": "c-2"}),
        json!({"agent": "not a name", "conversation": null}),
        // Another conversation in the same folder: a person's, or one that the agent itself started.
        json!({"conversation": "c-2", "event": "finished"}),
        json!({"conversation": "c-2", "event": "started", "prompt": "what time is it"}),
        json!({"loop": null, "agent": null, "conversation": "c-9"}),
        // An id that would be an option of the agent's CLI.
        json!({"event": "started", "conversation": "--no-sandbox"}),
        json!({"loop": null, "agent": null, "conversation": null}),
    ] {
        let body = hook(&world, "finished", &foreign);
        assert_eq!(tell(&world, body).await["status"], "ignored", "{foreign}");
    }
    // Known by the conversation alone; and a new conversation that begins with our wake.
    let alone = hook(&world, "asks", &json!({"loop": null, "agent": null}));
    assert_eq!(tell(&world, alone).await["status"], "ok");
    // A window that went on for a new loop has the variables of the loop that it was opened for.
    let kept = hook(&world, "asks", &json!({"loop": "the-loop-before"}));
    assert_eq!(tell(&world, kept).await["status"], "ok");
    let anew = hook(&world, "started", &json!({"conversation": "c-2"}));
    assert_eq!(tell(&world, anew).await["status"], "ok");
}

#[tokio::test]
async fn background_work_is_work() {
    let world = World::with(&config(""), |_| {}).await;
    world.woken("CC", 1).await;
    world.fake.set(ID, "CC", Presence::Busy);
    tell(&world, hook(&world, "started", &json!({}))).await;
    state(&world, DeliveryState::Started).await;
    tell(&world, hook(&world, "finished", &json!({"background": 1}))).await;
    world.idle("CC");
    world.settle().await;
    world.settle().await;
    assert_eq!(world.wakes("CC"), 1, "it was not woken again: {}", world.ledger().await);
    state(&world, DeliveryState::Started).await;
    tell(&world, hook(&world, "finished", &json!({}))).await;
    // Now it has settled, without a section: woken once more.
    world.woken("CC", 2).await;
}

#[tokio::test]
async fn what_only_the_hook_knows_of_a_question_reaches_a_person() {
    let world = World::with(&config(""), |options| options.ask_patience = std::time::Duration::ZERO).await;
    world.woken("CC", 1).await;
    tell(&world, hook(&world, "started", &json!({}))).await;
    tell(&world, hook(&world, "asks", &json!({"says": "may I delete it?"}))).await;
    world.fake.set(ID, "CC", Presence::Unknown("?".into()));
    world
        .until("a person to be told", || async {
            let told = world.events("told").await;
            if told.iter().any(|line| line.contains("may I delete it?")) {
                Ok(())
            } else {
                Err(format!("{told:?}"))
            }
        })
        .await;
}

/// A rollout of Codex' in the repository's folder, in which `prompt` was asked now; more lines can follow.
fn rollout(world: &World, id: &str, prompt: &str) -> std::path::PathBuf {
    let folder = world.sandbox.root().join("rollouts/2026/12/01");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(format!("rollout-2026-12-01T00-00-00-{id}.jsonl"));
    let cwd = world.repo.path().canonicalize().unwrap();
    record(&file, "session_meta", &json!({"id": id, "cwd": cwd, "timestamp": jiff::Timestamp::now()}));
    record(&file, "event_msg", &json!({"type": "task_started", "turn_id": "t1"}));
    record(&file, "event_msg", &json!({"type": "user_message", "message": prompt}));
    file
}

fn record(file: &std::path::Path, kind: &str, payload: &Value) {
    use std::io::Write;
    let line = json!({"timestamp": jiff::Timestamp::now(), "type": kind, "payload": payload});
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

const ROLLOUTS: &str = ", records: {format: codex, at: ['{repo}/../rollouts']}";
const CONVERSATION: &str = "0198c0de-0000-7000-8000-000000000001";

#[tokio::test]
async fn records_prove_the_start() {
    let world = World::with(&config(ROLLOUTS), |_| {}).await;
    world.woken("CC", 1).await;
    world.fake.set(ID, "CC", Presence::Busy);
    rollout(&world, CONVERSATION, "/agent-loop CC");
    state(&world, DeliveryState::Started).await;
    let sessions = world.store().await.sessions(Some(ID)).await.unwrap();
    let cc = sessions.iter().find(|session| session.agent.as_str() == "CC").unwrap();
    assert_eq!(cc.conversation.as_deref(), Some(CONVERSATION));
}

#[tokio::test]
async fn a_persons_own_conversation_in_the_same_folder_says_nothing_of_the_agent() {
    let world = World::with(&config(ROLLOUTS), |_| {}).await;
    world.woken("CC", 1).await;
    world.idle("CC");
    // A person works there all the time; CC has finished, without a section.
    let theirs = rollout(&world, CONVERSATION, "what time is it?");
    world
        .until("CC to be woken once more", || async {
            record(&theirs, "event_msg", &json!({"type": "exec_command_begin"}));
            if world.wakes("CC") == 2 { Ok(()) } else { Err(world.ledger().await) }
        })
        .await;
}

#[tokio::test]
async fn what_is_no_turn_hook_is_refused_and_changes_nothing() {
    let world = World::with(&config(""), |_| {}).await;
    world.woken("CC", 1).await;
    world.fake.set(ID, "CC", Presence::Busy);
    tell(&world, hook(&world, "started", &json!({}))).await;
    state(&world, DeliveryState::Started).await;
    let before = world.ledger().await;
    let good = hook(&world, "finished", &json!({}));
    let nulled = |key: &str, value: Value| {
        let mut body = good.clone();
        body[key] = value;
        body.to_string()
    };
    let huge = nulled("says", json!("x".repeat(300 * 1024)));
    for (what, body, status) in [
        ("nothing", String::new(), 400),
        ("half an object", good.to_string()[..40].to_owned(), 400),
        ("as deep as it gets", "[".repeat(100_000), 400),
        ("a list", "[]".to_owned(), 400),
        ("an unknown event", nulled("event", json!("exploded")), 400),
        ("an event that is a number", nulled("event", json!(1)), 400),
        ("no event", nulled("event", Value::Null), 400),
        ("no kind", nulled("kind", Value::Null), 400),
        ("background work of less than nothing", nulled("background", json!(-1)), 400),
        ("a prompt that is an object", nulled("prompt", json!({})), 400),
        ("a conversation that is a list", nulled("conversation", json!([])), 400),
        ("oversize", huge, 413),
    ] {
        let request = world.post("/api/turn-hook").header("content-type", "application/json");
        let answer = request.body(body).send().await.unwrap();
        let got = answer.status().as_u16();
        assert!(got == status || (status == 400 && got == 422), "{what}: {got}");
        let kind = answer.headers()["content-type"].to_str().unwrap().to_owned();
        assert!(kind.starts_with("application/problem+json"), "{what}: {kind}");
    }
    let other_type = world.post("/api/turn-hook").header("content-type", "text/plain");
    assert!(other_type.body(good.to_string()).send().await.unwrap().status().is_client_error());
    for key in ["", "0", &"0".repeat(64)] {
        let answer = world.http.post(world.url("/api/turn-hook")).bearer_auth(key).json(&good).send().await;
        assert_eq!(answer.unwrap().status(), 401, "{key:?}");
    }
    let answer = world.http.post(world.url("/api/turn-hook")).json(&good).send().await;
    assert_eq!(answer.unwrap().status(), 401);
    world.settle().await;
    assert_eq!(world.ledger().await, before);
}

#[tokio::test]
async fn a_hook_that_is_told_again_and_again_counts_once() {
    let world = World::with(&config(""), |_| {}).await;
    world.woken("CC", 1).await;
    world.fake.set(ID, "CC", Presence::Busy);
    for _ in 0..20 {
        assert_eq!(tell(&world, hook(&world, "started", &json!({}))).await["status"], "ok");
    }
    state(&world, DeliveryState::Started).await;
    // The end of the turn, told while the screen still shows work, and told again: it has not settled.
    for _ in 0..20 {
        tell(&world, hook(&world, "finished", &json!({}))).await;
    }
    world.settle().await;
    assert_eq!(world.wakes("CC"), 1, "{}", world.ledger().await);
    state(&world, DeliveryState::Started).await;
    // It commits, and the turn goes on to Codex once, whatever is told of CC afterwards.
    world.turn("CC", "first", "");
    world.woken("Codex", 1).await;
    for event in ["started", "finished", "asks"] {
        for _ in 0..5 {
            tell(&world, hook(&world, event, &json!({"prompt": "/agent-loop CC", "says": "?"}))).await;
        }
    }
    world.settle().await;
    assert_eq!((world.wakes("CC"), world.wakes("Codex")), (1, 1), "{}", world.ledger().await);
}
