//! What holds a loop that neither passes nor blocks.

use crate::decide::testing::Scene;
use crate::decide::{Resume, Rounds, rounds};

fn counted(agents: &str, sections: &str) -> (u32, usize) {
    let scene = Scene::new(agents, sections);
    let Rounds { done, turns, .. } = rounds(&scene.status, &scene.config, &scene.facts);
    (done, turns)
}

#[test]
fn a_round_is_a_turn_of_everyone() {
    for (agents, sections, expected) in [
        ("CC Codex", "", (0, 0)),
        ("CC Codex", "CC", (0, 1)),
        ("CC Codex", "CC\nCodex", (1, 0)),
        ("CC Codex", "CC\nCodex\nCC", (1, 1)),
        // People's sections are in no round.
        ("CC Codex", "Dana\nCC\nDana\nHermes\nCodex\nDana", (1, 0)),
        // At most as many turns as agents.
        ("CC Codex", "CC\nCC", (1, 0)),
        ("CC Codex OC", "CC\nCodex\nCC\nCodex", (1, 1)),
        ("CC Codex OC", "CC > Helper\nHelper\nCodex\nOC", (1, 1)),
        ("CC", "CC\nCC", (2, 0)),
    ] {
        assert_eq!(counted(agents, sections), expected, "{agents}: {sections}");
    }
    let table = |sections: &str| {
        let scene = Scene::new("CC Codex OC", sections).table("CC>Codex Codex>OC OC>Codex");
        rounds(&scene.status, &scene.config, &scene.facts).done
    };
    assert_eq!(table("CC\nCodex\nOC"), 1);
    assert_eq!(table("CC\nCodex\nOC\nCodex\nOC"), 2);
    assert_eq!(table("CC\nCodex\nOC\nCodex\nOC\nCodex"), 2);
}

#[test]
fn rounds_run_out() {
    let scene = |turns: usize, of: Option<u32>| {
        let sections = ["CC", "Codex"].repeat(turns).into_iter().take(turns).collect::<Vec<_>>().join("\n");
        Scene::new("CC Codex", &sections)
            .config(|config| {
                config.limits.rounds = of;
                config.limits.no_progress = None;
            })
            .facts(|_| {})
    };
    assert_eq!(scene(3, Some(2)).told(), "wake Codex");
    assert_eq!(scene(4, Some(2)).told(), "held rounds");
    assert_eq!(scene(400, None).told(), "wake CC");
    let mut unknown = scene(4, Some(2));
    unknown.facts.repository = false;
    assert_eq!(unknown.told(), "wake CC");
    let resumed = |resume: Resume| scene(4, Some(2)).facts(|facts| facts.resumed = Some(resume)).told();
    assert_eq!(resumed(Resume { after_turn: 4, ..Resume::default() }), "wake CC");
    assert_eq!(resumed(Resume { after_turn: 0, ..Resume::default() }), "held rounds");
    assert_eq!(resumed(Resume { after_turn: 0, rounds: Some(3), ..Resume::default() }), "wake CC");
    let half = rounds(&scene(2, Some(2)).status, &scene(2, Some(2)).config, &scene(2, Some(2)).facts);
    assert!(half.is_half());
    assert_eq!(half.current(), 2);
    insta::assert_snapshot!(half.notice().unwrap(), @"1 of 2 rounds are used; then the loop is held (`loop resume --rounds N`)");
}

#[test]
fn time_and_tokens_run_out() {
    let scene = || Scene::new("CC Codex", "CC");
    assert_eq!(scene().facts(|facts| facts.minutes = Some(479.9)).told(), "wake Codex");
    assert_eq!(scene().facts(|facts| facts.minutes = Some(480.0)).told(), "held hours");
    assert_eq!(scene().facts(|facts| facts.turn_minutes = Some(59.0)).told(), "wake Codex");
    assert_eq!(scene().facts(|facts| facts.turn_minutes = Some(60.0)).told(), "held turn-minutes");
    assert_eq!(scene().facts(|facts| facts.tokens = Some(u64::MAX)).told(), "wake Codex");
    let tokens =
        scene().config(|config| config.limits.tokens = Some(10)).facts(|facts| facts.tokens = Some(10));
    assert_eq!(tokens.told(), "held tokens");
    let more = scene().facts(|facts| {
        facts.minutes = Some(600.0);
        facts.resumed = Some(Resume { after_turn: 1, hours: Some(12.5), ..Resume::default() });
    });
    assert_eq!(more.told(), "wake Codex");
    assert_eq!(scene().facts(|facts| facts.minutes = Some(f64::NAN)).told(), "wake Codex");
    let later = scene().facts(|facts| facts.minutes = Some(500.0)).decided().decision;
    let latest = scene().facts(|facts| facts.minutes = Some(510.0)).decided().decision;
    assert_eq!(later.key(), latest.key(), "a growing figure is no new decision");
}

#[test]
fn talk_without_work_is_no_progress() {
    let told = |sections: &str, changes: &str| Scene::new("CC Codex", sections).changes(changes).told();
    let four = "CC\nCodex\nCC\nCodex";
    assert_eq!(told(four, ""), "held no-progress");
    assert_eq!(told("CC\nCodex\nCC", ""), "wake Codex");
    assert_eq!(told(four, "1:CC"), "wake CC");
    assert_eq!(told("CC\nCodex\nCC\nCodex\nCC", "1:CC"), "held no-progress");
    // Work under way, and a verdict, are progress.
    assert_eq!(told(four, "5:CC"), "wake CC");
    let other = Scene::new("CC Codex", "CC\nCodex\nCC pass\nCodex").policy(crate::config::PassPolicy::Other);
    assert_eq!(other.changes("2:CC").told(), "wake CC");
    // Sections of people are no turns of agents.
    assert_eq!(told("CC\nDana\nCodex\nDana\nCC", ""), "wake Codex");
    assert_eq!(Scene::new("CC", "CC\nCC").facts(|_| {}).told(), "wake CC");
    assert_eq!(Scene::new("CC", "CC\nCC\nCC\nCC").facts(|_| {}).told(), "held no-progress");
    let resumed = Resume { after_turn: 4, ..Resume::default() };
    let scene =
        Scene::new("CC Codex", "CC\nCodex\nCC\nCodex\nCC").facts(|facts| facts.resumed = Some(resumed));
    assert_eq!(scene.told(), "wake Codex");
    assert_eq!(Scene::new("CC Codex", four).told(), "wake CC");
}

#[test]
fn code_that_goes_in_circles_is_no_progress() {
    let told = |trees: &str| {
        let sections = ["CC", "Codex"].repeat(9).into_iter().take(trees.len()).collect::<Vec<_>>().join("\n");
        let changes: Vec<String> = (1..=trees.len()).map(|n| format!("{n}:CC")).collect();
        Scene::new("CC Codex", &sections).changes(&changes.join(" ")).trees(trees).told()
    };
    assert_eq!(told("ABC"), "wake Codex");
    assert_eq!(told("ABA"), "wake Codex");
    assert_eq!(told("AABBA"), "wake Codex");
    assert_eq!(told("ABAB"), "held oscillation");
    assert_eq!(told("ABACA"), "held oscillation");
    assert_eq!(told("ABABB"), "held oscillation");
    assert_eq!(told("ABABC"), "wake Codex");
}
