//! Whatever STATUS.md, `loop.yaml` and facts say, a decision is made, it is the same twice, and a loop passes only
//! where somebody gave a pass.
//!
//! The bytes in front choose the configuration and the facts; the text behind is STATUS.md, or, behind a line
//! `%%`, `loop.yaml` too.

#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use loop_core::decide::{Accept, Change, Facts, Resume, TurnFacts, Verify, Who, decide};
use loop_core::{Config, Decision, Name, Verdict, status};

const CONFIGS: [&str; 5] = [
    "agents: {CC: {kind: generic}, Codex: {kind: generic}}\nrotation: [CC, Codex]\npass: other\n",
    "agents: {CC: {kind: generic}, Codex: {kind: generic}, OpenCode: {kind: generic}}\nrotation: [CC, Codex, OpenCode]\npass: all\n",
    "agents: {CC: {kind: generic}, Codex: {kind: generic}}\nrotation: {CC: Codex, Codex: CC}\npass: any\nverify: make test\n",
    "agents: {CC: {kind: generic}}\nrotation: [CC]\nlimits: {rounds: 1, hours: 1, turn_minutes: 1}\n",
    "agents: {CC: {kind: generic}, Codex: {kind: generic, skip: true}, Hermes: {kind: hermes}}\nrotation: [CC, Codex]\nplanner: Hermes\npeople: [Dana]\npass: [CC, Codex]\n",
];

fuzz_target!(|input: (u8, [u8; 12], &str)| {
    let (choice, bits, text) = input;
    let (text, yaml) = text.split_once("\n%%\n").unwrap_or((text, CONFIGS[usize::from(choice) % CONFIGS.len()]));
    let Ok(config) = Config::parse(yaml, "loop.yaml", &BTreeMap::new()) else { return };
    let Ok(status) = status::parse(text.as_bytes(), &config.cast()) else { return };
    let facts = facts(&bits, &config, status.turns.len());
    let decided = decide(&status, &config, &facts);
    assert_eq!(decided, decide(&status, &config, &facts));
    if let Decision::Passed { .. } = decided.decision {
        let newest = status.turns.last();
        let given = newest.is_some_and(|turn| matches!(turn.verdict, Some(Verdict::Pass { .. })));
        assert!(given || facts.accepted.is_some(), "nobody passed this");
    }
    if let Decision::Wake { agent, .. } = &decided.decision {
        assert!(config.agent(agent).is_some(), "{agent} is nobody here");
    }
});

fn facts(bits: &[u8; 12], config: &Config, turns: usize) -> Facts {
    if bits[0] & 1 == 0 {
        return Facts::default();
    }
    let name = |at: u8| config.agents[usize::from(at) % config.agents.len()].name.clone();
    let id = |n: u8| format!("{n:040x}");
    let who = |at: u8| if at & 8 == 0 { Who::Agent(name(at)) } else { Who::Person("Dana".to_owned()) };
    let turn_facts = |n: usize| TurnFacts {
        commit: Some(id(n as u8)),
        woken: [None, Some(true), Some(false)][(usize::from(bits[1]) + n) % 3],
        tree: Some(id(bits[2] % (n as u8 | 1))),
        verify: [None, Some(Verify::Running), Some(Verify::Passed), Some(Verify::Failed("no".to_owned()))]
            [(usize::from(bits[3]) + n) % 4]
            .clone(),
        ended: bits[4] & 1 == 1,
    };
    let change = |n: u8| Change {
        commit: id(n),
        turn: usize::from(n) % (turns + 2),
        by: who(bits[5].wrapping_add(n)),
        set_up: n & 4 == 4,
    };
    Facts {
        repository: true,
        commits: (0..bits[6]).map(id).collect(),
        turns: (1..=turns).map(|n| (n, turn_facts(n))).collect(),
        changes: (0..bits[7] % 9).map(change).collect(),
        skipped: (0..bits[8] % 3).map(name).collect::<Vec<Name>>().into_iter().collect(),
        paused: (bits[9] & 3 == 3).then(|| "lunch".to_owned()),
        minutes: Some(f64::from(bits[9]) * 7.0),
        turn_minutes: Some(f64::from(bits[10])),
        resumed: (bits[10] & 3 == 3).then(|| Resume {
            after_turn: usize::from(bits[11]) % (turns + 2),
            to: Some(name(bits[11])),
            ..Resume::default()
        }),
        accepted: (bits[11] & 7 == 7).then(|| Accept {
            after_turn: turns,
            by: "Dana".to_owned(),
            why: None,
            commit: None,
        }),
        ..Facts::default()
    }
}
