//! Whom a section wakes.

use crate::decide::testing::{Scene, name};
use crate::decide::{Resume, expected};

fn check(agents: &str, sections: &str, expected: &str) {
    let scene = Scene::new(agents, sections);
    assert_eq!(scene.told(), expected, "{agents}: {sections}");
}

#[test]
fn the_ring_goes_round() {
    for (sections, expected) in [
        ("", "wake CC"),
        ("CC", "wake Codex"),
        ("CC\nCodex", "wake OC"),
        ("CC\nCodex\nOC", "wake CC"),
        // Several in a row by one agent make one hand-over.
        ("CC\nCC\nCC", "wake Codex"),
        // Out of turn moves the turn all the same.
        ("CC\nOC", "wake CC"),
    ] {
        check("CC Codex OC", sections, expected);
    }
    check("CC", "CC", "wake CC");
}

#[test]
fn a_target_gets_the_turn() {
    for (sections, expected) in [
        ("CC > OC", "wake OC"),
        ("CC > CC", "wake CC"),
        ("CC > OC\nOC", "wake CC"),
        // Called in from outside: afterwards the rotation goes on where it was.
        ("CC > Helper", "wake Helper"),
        ("CC > Helper\nHelper", "wake Codex"),
        ("CC > Helper\nHelper\nHelper", "wake Codex"),
        ("CC > Helper\nHelper > OC", "wake OC"),
        ("CC > Helper\nDana", "wake Helper"),
        ("CC\nHelper", "wake Codex"),
        ("CC > OC\nHelper", "wake OC"),
        ("Helper", "wake CC"),
        ("Dana > Codex", "wake Codex"),
        ("CC\nDana > OC", "wake OC"),
        ("CC\nDana > OC\nOC", "wake CC"),
        ("CC > Dana", "held for-person"),
        ("CC > Hermes", "held for-person"),
        ("Dana > Hermes", "held for-person"),
        // A target that nobody here has is told by the parser and ignored.
        ("CC > Nobody", "wake Codex"),
    ] {
        check("CC Codex OC", sections, expected);
    }
}

#[test]
fn a_section_of_a_person_leaves_the_turn_with_whoever_was_due() {
    for (sections, expected) in [
        ("Dana", "wake CC"),
        ("Hermes\nDana", "wake CC"),
        ("CC\nDana", "wake Codex"),
        ("CC\nHermes\nDana", "wake Codex"),
        ("CC > OC\nDana", "wake OC"),
        ("CC\nCodex blocked\nDana", "wake Codex"),
        ("CC\nCodex blocked\nDana\nHermes", "wake Codex"),
        ("CC\nCodex blocked\nDana > CC", "wake CC"),
        ("CC\nHelper blocked\nDana", "wake Helper"),
        ("CC\nCodex pass\nDana", "wake OC"),
        // After a pass the target does not matter: the next after the passing agent is due.
        ("CC\nCodex > CC pass\nDana", "wake OC"),
        ("CC\nCodex pass\nDana\nOC", "wake CC"),
        // Whoever asked gets the answer.
        ("CC > Dana\nDana", "wake CC"),
        ("CC > Dana\nDana > OC", "wake OC"),
        ("CC > Dana\nHermes", "wake CC"),
        ("Dana > Hermes\nHermes", "wake CC"),
    ] {
        check("CC Codex OC", sections, expected);
    }
}

#[test]
fn blocks_and_hand_overs_to_people_wait_for_an_answer() {
    let resumed = |sections: &str, after_turn: usize, to: Option<&str>| {
        let to = to.map(name);
        let resume = Resume { after_turn, to, ..Resume::default() };
        Scene::new("CC Codex OC", sections).facts(|facts| facts.resumed = Some(resume)).told()
    };
    assert_eq!(resumed("CC\nCodex blocked no key", 1, None), "held blocked");
    assert_eq!(resumed("CC\nCodex blocked no key", 2, None), "wake Codex");
    assert_eq!(resumed("CC\nCodex blocked no key", 9, None), "wake Codex");
    assert_eq!(resumed("CC\nCodex blocked no key", 2, Some("CC")), "wake CC");
    assert_eq!(resumed("CC\nCodex blocked no key", 2, Some("Helper")), "wake Helper");
    assert_eq!(resumed("CC\nCodex blocked no key", 9, Some("CC")), "wake CC");
    assert_eq!(resumed("CC > Dana", 0, None), "held for-person");
    assert_eq!(resumed("CC > Dana", 1, None), "wake CC");
    assert_eq!(resumed("CC > Dana", 1, Some("OC")), "wake OC");
    // `--to` holds until the next turn, and a person's section leaves it standing.
    assert_eq!(resumed("CC\nCodex", 1, Some("OC")), "wake OC");
    assert_eq!(resumed("CC\nOC", 1, Some("OC")), "wake CC");
    assert_eq!(resumed("CC\nDana", 1, Some("OC")), "wake OC");
    assert_eq!(resumed("", 0, Some("OC")), "wake OC");
    // Nobody can be sent to a person by `resume`.
    assert_eq!(resumed("CC", 1, Some("Dana")), "wake Codex");
    // An older block has been overtaken.
    assert_eq!(Scene::new("CC Codex OC", "CC blocked\nCodex").told(), "wake OC");
}

#[test]
fn skipped_agents_are_left_out() {
    let skipping = |sections: &str, skipped: &[&str]| {
        let scene = Scene::new("CC Codex OC", sections);
        let by_person = scene
            .clone()
            .facts(|facts| facts.skipped = skipped.iter().map(|text| name(text)).collect())
            .told();
        let by_file = scene.config(|config| {
            for agent in &mut config.agents {
                agent.skip = skipped.iter().any(|text| agent.name.matches(text));
            }
        });
        assert_eq!(by_file.told(), by_person, "{sections}");
        by_person
    };
    assert_eq!(skipping("", &["CC"]), "wake Codex");
    assert_eq!(skipping("CC", &["Codex"]), "wake OC");
    assert_eq!(skipping("CC", &["Codex", "OC"]), "wake CC");
    let left = Scene::new("CC Codex OC", "CC")
        .facts(|facts| facts.skipped = [name("Codex"), name("OC")].into())
        .decided();
    insta::assert_snapshot!(left.decision.reason(), @"nobody else is left (Codex, OC are skipped)");
    assert_eq!(skipping("CC > Codex", &["Codex"]), "wake OC");
    assert_eq!(skipping("CC > OC", &["OC"]), "wake Codex");
    assert_eq!(skipping("Dana > Codex", &["Codex"]), "wake OC");
    assert_eq!(skipping("CC > OC", &["OC", "Codex"]), "wake CC");
    assert_eq!(skipping("CC > Helper", &["Helper"]), "wake Codex");
    assert_eq!(skipping("CC blocked\nDana", &["CC"]), "wake Codex");
    assert_eq!(skipping("CC", &["CC", "Codex", "OC"]), "held all-skipped");
    assert_eq!(skipping("", &["CC", "Codex", "OC"]), "held all-skipped");
    assert_eq!(skipping("CC > Helper", &["CC", "Codex", "OC"]), "wake Helper");
}

#[test]
fn a_table_need_not_lead_back() {
    let table =
        |sections: &str| Scene::new("CC Codex OC", sections).table("CC>Codex Codex>OC OC>Codex").told();
    assert_eq!(table(""), "wake CC");
    assert_eq!(table("CC"), "wake Codex");
    assert_eq!(table("CC\nCodex\nOC"), "wake Codex");
    assert_eq!(table("CC\nCodex\nOC\nDana > CC\nCC"), "wake Codex");
}

#[test]
fn out_of_turn_is_told_where_it_is_known() {
    let scene = Scene::new("CC Codex OC", "CC\nOC\nOC\nCC");
    assert_eq!(scene.told(), "wake Codex");
    assert_eq!(scene.clone().unwoken(&[2, 3]).told(), "wake Codex +out-of-turn");
    assert_eq!(scene.unwoken(&[1, 4]).told(), "wake Codex");
}

#[test]
fn who_was_expected() {
    let scene = Scene::new("CC Codex OC", "CC\nOC\nDana\nCC > Dana\nDana");
    let names: Vec<String> = (0..=7)
        .map(|n| expected(&scene.status, &scene.config, &scene.facts, n).unwrap().to_string())
        .collect();
    assert_eq!(names, ["CC", "CC", "Codex", "CC", "CC", "CC", "CC", "CC"]);
    // A later `resume --to` does not change who was expected before it.
    let resume = Resume { after_turn: 5, to: Some(name("OC")), ..Resume::default() };
    let scene = scene.facts(|facts| facts.resumed = Some(resume));
    let at = |n| expected(&scene.status, &scene.config, &scene.facts, n).unwrap();
    assert_eq!((at(3), at(6)), (name("CC"), name("OC")));
}
