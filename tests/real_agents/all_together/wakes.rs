//! Wake after wake through the real router into a real CLI: each arrives, once, and how soon.
//!
//! A person hands the turn to the agent, which answers and hands it back; so the agent is idle whenever a wake is due.
//! `cargo xtask conformance --real` makes a table of what these tests measure.

use jiff::Timestamp;
use loop_testkit::eventually;
use loop_testkit::stub_model::ModelScript;
use serde_json::{Value, json};

use super::{PLAYERS, Player, turn};
use crate::real_agents::{Model, alone, measured, real_agent, story, up};
use crate::stage::{LONG, Place, Stage};

/// Says how many wakes are tried.
const WAKES: &str = "LOOP_TEST_WAKES";
/// As many without it.
const FEW: usize = 2;

#[test]
fn of_claude_code() {
    try_wakes(&PLAYERS[0], "of_claude_code");
}

#[test]
fn of_codex() {
    try_wakes(&PLAYERS[1], "of_codex");
}

#[test]
fn of_opencode() {
    try_wakes(&PLAYERS[2], "of_opencode");
}

#[test]
fn of_gemini() {
    try_wakes(&PLAYERS[3], "of_gemini");
}

#[test]
fn of_qwen() {
    try_wakes(&PLAYERS[4], "of_qwen");
}

/// One wake, in milliseconds.
struct Wake {
    /// From the end of the commit to the text in the composer.
    text: i64,
    /// From the submit key, which follows the text after the profile's pause, to the model.
    request: i64,
    /// From the end of the commit to the model.
    whole: i64,
}

fn try_wakes(player: &Player, test: &str) {
    let Some(program) = real_agent(player.variable) else { return };
    if alone(&format!("real_agents::all_together::wakes::{test}")) {
        return;
    }
    let wakes = std::env::var(WAKES).map_or(FEW, |wakes| wakes.parse().unwrap());
    let name = player.name;
    // As a user has it, but for what follows a turn.
    let stage = Stage::new("timings: {quiet: 1.5}");
    let shop = stage.place(stage.sandbox.repo("shop"), "agents");
    let answer = turn(&["loop commit {name} -m 'heard' --to Dana"]);
    let model =
        Model::start(&stage, &ModelScript { turns: vec![answer; wakes + 1], ..ModelScript::default() });
    let text = format!("agents:\n  {}\nrotation: [{name}]\npeople: [Dana]\nlimits: off\n", player.entry);
    shop.repo.commit("loop.yaml", text, "how the loop works here");
    (player.knows)(&stage, &shop, &model);
    shop.run(&["init", "hear what Dana says"]);
    let ready = up(&shop, &model, &[&program], &[]);
    assert_eq!(ready.code, Some(0), "{ready:?}\n{}", story(&shop, &model));
    // The first turn in a new home is slow for reasons of the CLI's own.
    answered(&shop, &model, name, 1);

    let mut ended = Vec::new();
    for wake in 1..=wakes {
        let settled = shop.try_loop(&["wait", "--settled", name, "--quiet", "1s", "--timeout", "60s"]);
        assert_eq!(settled.code, Some(0), "{settled:?}\n{}", story(&shop, &model));
        shop.run(&["say", "do you hear me?", "--to", name]);
        ended.push(Timestamp::now().as_millisecond());
        answered(&shop, &model, name, wake + 1);
    }
    let log = model.log();
    let calls: Vec<_> = log.iter().filter(|line| line.event == "call").collect();
    let numbers: Vec<usize> = calls.iter().map(|line| line.call).collect();
    assert_eq!(numbers, (1..=wakes + 1).collect::<Vec<_>>(), "{}", story(&shop, &model));
    assert!(log.iter().all(|line| line.event != "words"), "{}", story(&shop, &model));

    let told: Value = serde_json::from_str(&shop.run(&["log", "--json"])).unwrap();
    let list = |key: &str| told[key].as_array().cloned().unwrap_or_default();
    let deliveries: Vec<Value> =
        list("deliveries").into_iter().filter(|wake| wake["agent"] == name).collect();
    assert_eq!(deliveries.len(), wakes + 1, "{}", story(&shop, &model));
    let (mut times, mut started) = (Vec::new(), 0);
    let settle = settle_ms(&shop, player);
    for ((wake, call), ended) in deliveries.iter().zip(&calls).skip(1).zip(&ended) {
        let lines: Vec<Value> =
            list("ledger").into_iter().filter(|line| line["delivery_id"] == wake["id"]).collect();
        let at = |state: &str| {
            let line = lines.iter().find(|line| line["state"] == state)?;
            Some(line["at"].as_str()?.parse::<Timestamp>().ok()?.as_millisecond())
        };
        let times_of = |state: &str| lines.iter().filter(|line| line["state"] == state).count();
        for once in ["typing", "typed", "answered"] {
            assert_eq!(times_of(once), 1, "{once}: {lines:#?}\n{}", story(&shop, &model));
        }
        started += usize::from(at("started").is_some());
        let asked = i64::try_from(call.at_ms).unwrap();
        let typed = at("typed").unwrap();
        times.push(Wake { text: typed - ended, request: asked - typed - settle, whole: asked - ended });
    }
    let spread = |of: fn(&Wake) -> i64| {
        let mut all: Vec<i64> = times.iter().map(of).collect();
        all.sort_unstable();
        [all[0], all[all.len() / 2], all[all.len() - 1]]
    };
    let row = json!({
        "agent": name, "wakes": wakes, "arrived": times.len(), "requests": 1, "started": started,
        "text": spread(|wake| wake.text), "request": spread(|wake| wake.request), "whole": spread(|wake| wake.whole),
    });
    measured(&format!("wakes {row}"));

    shop.run(&["down"]);
    model.stop();
    stage.nothing_runs();
}

/// Waits until the agent has answered wake number `wake`.
fn answered(shop: &Place<'_>, model: &Model, name: &str, wake: usize) {
    eventually(&format!("the answer to wake {wake}"), LONG, || {
        match shop.authors().iter().filter(|author| *author == name).count() {
            turns if turns == wake => Ok(()),
            turns => Err(format!("{turns} turns\n{}", story(shop, model))),
        }
    });
}

/// The pause between text and submit key.
fn settle_ms(shop: &Place<'_>, player: &Player) -> i64 {
    let (_, kind) = player.entry.split_once("kind: ").unwrap();
    let kind = kind.split([',', '}']).next().unwrap();
    let told: Value = serde_json::from_str(&shop.run(&["agents", "profiles", kind, "--json"])).unwrap();
    told["profile"]["settle_ms"].as_i64().unwrap()
}
