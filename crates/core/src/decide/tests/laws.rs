//! What holds for every loop.

use proptest::prelude::*;

use crate::cast::Role;
use crate::config::PassPolicy;
use crate::decide::testing::{Scene, name, names};
use crate::decide::{
    Accept, Change, Decision, Facts, Hold, Resume, Stopped, TurnFacts, Verify, Who, decide, expected, rounds,
};
use crate::history::{Damage, Recorded};
use crate::name::Name;
use crate::rotation::Rotation;
use crate::status::{Turn, Verdict};

const CAST: [&str; 6] = ["CC", "Codex", "OC", "Helper", "Hermes", "Dana"];

fn anyone() -> impl Strategy<Value = Name> {
    prop::sample::select(CAST.to_vec()).prop_map(name)
}

fn agent() -> impl Strategy<Value = Name> {
    prop::sample::select(CAST[..3].to_vec()).prop_map(name)
}

fn commit() -> impl Strategy<Value = String> {
    "[0-3a-c]{7,10}"
}

fn verdict() -> impl Strategy<Value = Option<Verdict>> {
    prop_oneof![
        4 => Just(None),
        2 => prop::option::of(commit()).prop_map(|commit| Some(Verdict::Pass { commit })),
        1 => prop::option::of("[a-z]{0,5}").prop_map(|reason| Some(Verdict::Blocked { reason })),
    ]
}

/// Sections as no parser would make them: numbers and roles may be wrong.
fn turn() -> impl Strategy<Value = Turn> {
    let role = prop_oneof![8 => Just(Role::Agent), 1 => Just(Role::Planner), 1 => Just(Role::Person)];
    (anyone(), role, prop::option::weighted(0.2, anyone()), verdict(), 0..30_usize).prop_map(
        |(author, role, to, verdict, n)| Turn {
            n,
            author,
            role,
            to,
            summary: String::new(),
            verdict,
            line: n,
            span: 0..0,
            body: 0..0,
            fingerprint: n.to_string(),
        },
    )
}

fn verify() -> impl Strategy<Value = Option<Verify>> {
    prop::option::of(prop::sample::select(vec![
        Verify::Running,
        Verify::Passed,
        Verify::Failed("exit 1".to_owned()),
    ]))
}

fn turn_facts() -> impl Strategy<Value = TurnFacts> {
    let woken = prop::option::of(any::<bool>());
    (prop::option::of(commit()), woken, prop::option::of("[ab]"), verify(), any::<bool>())
        .prop_map(|(commit, woken, tree, verify, ended)| TurnFacts { commit, woken, tree, verify, ended })
}

fn change() -> impl Strategy<Value = Change> {
    let by = prop_oneof![anyone().prop_map(Who::Agent), Just(Who::Person("Dana".to_owned()))];
    (commit(), 0..14_usize, by, any::<bool>()).prop_map(|(commit, turn, by, set_up)| Change {
        commit,
        turn,
        by,
        set_up,
    })
}

fn damage() -> impl Strategy<Value = Damage> {
    let recorded = || {
        (anyone(), 0..9_usize).prop_map(|(author, n)| Recorded {
            n,
            author,
            fingerprint: String::new(),
            summary: String::new(),
            commit: None,
            answered: true,
        })
    };
    prop_oneof![
        recorded().prop_map(Damage::Vanished),
        (recorded(), 0..99_usize).prop_map(|(was, line)| Damage::Edited { was, line }),
        (recorded(), anyone(), 0..99_usize).prop_map(|(was, now, line)| Damage::Reattributed {
            was,
            now,
            line
        }),
        (anyone(), 0..99_usize).prop_map(|(author, line)| Damage::Inserted { n: 1, author, line }),
        (0..99_usize).prop_map(|line| Damage::TwoNames { commit: None, authors: Vec::new(), line }),
    ]
}

prop_compose! {
    fn facts()(
        repository: bool,
        commits in prop::collection::vec(commit(), 0..4),
        turns in prop::collection::btree_map(0..14_usize, turn_facts(), 0..10),
        changes in prop::collection::vec(change(), 0..6),
        skipped in prop::collection::btree_set(anyone(), 0..3),
        paused in prop::option::weighted(0.1, "[a-z]{0,3}"),
        minutes in prop::option::of(any::<f64>()),
        turn_minutes in prop::option::of(any::<f64>()),
        resumed in prop::option::weighted(0.3, (any::<u8>(), prop::option::of(anyone()), prop::option::of(any::<u32>()), prop::option::of(any::<f64>()))),
        accepted in prop::option::weighted(0.1, 0..14_usize),
        damage in prop::collection::vec(damage(), 0..2),
        stopped in prop::option::weighted(0.1, prop::sample::select(vec![Hold::Dead, Hold::Config, Hold::Unreadable, Hold::Damaged])),
    ) -> Facts {
        Facts {
            repository, commits, turns, changes, skipped, paused, minutes, turn_minutes, damage,
            tokens: None,
            damaged_at: None,
            resumed: resumed.map(|(after_turn, to, rounds, hours)| Resume { after_turn: (after_turn % 16).into(), to, rounds, hours }),
            accepted: accepted.map(|after_turn| Accept { after_turn, by: "Dana".to_owned(), why: None, commit: Some("abc".to_owned()) }),
            stopped: stopped.map(|why| Stopped { why, reason: String::new(), next: String::new() }),
        }
    }
}

fn policy() -> impl Strategy<Value = PassPolicy> {
    prop_oneof![
        Just(PassPolicy::Any),
        Just(PassPolicy::Other),
        Just(PassPolicy::All),
        prop::collection::vec(anyone(), 0..3).prop_map(PassPolicy::Names),
    ]
}

/// Rotations as no checked configuration has them, too: empty, with strangers, tables that lead nowhere.
fn rotation() -> impl Strategy<Value = Rotation> {
    prop_oneof![
        prop::collection::vec(anyone(), 0..5).prop_map(Rotation::Ring),
        prop::collection::vec((anyone(), anyone()), 0..5).prop_map(Rotation::Table),
    ]
}

prop_compose! {
    fn scene()(
        turns in prop::collection::vec(turn(), 0..12),
        facts in facts(),
        policy in policy(),
        rotation in rotation(),
        verify: bool,
    ) -> Scene {
        let mut scene = Scene::new("CC Codex OC", "").policy(policy);
        scene.status.turns = turns;
        scene.config.rotation = rotation;
        scene.config.verify = verify.then(|| vec!["make".to_owned()]);
        scene.facts = facts;
        scene
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn deciding_never_panics_and_is_always_the_same(scene in scene()) {
        let decided = scene.decided();
        prop_assert_eq!(&decided, &scene.decided());
        prop_assert_eq!(decided.decision.turn(), scene.status.turns.len() + 1);
        prop_assert!(!decided.decision.key().is_empty());
        for n in [0, 1, 5, usize::MAX] {
            expected(&scene.status, &scene.config, &scene.facts, n);
        }
        rounds(&scene.status, &scene.config, &scene.facts).current();
        let lines: Vec<usize> = decided.diagnostics.iter().map(|diagnostic| diagnostic.line).collect();
        prop_assert!(lines.is_sorted());
    }

    #[test]
    fn only_a_newest_pass_or_a_person_ends_a_loop(scene in scene()) {
        if let Decision::Passed { .. } = scene.decided().decision {
            let turns = &scene.status.turns;
            let accepted = scene.facts.accepted.is_some_and(|accept| accept.after_turn == turns.len());
            let passed = turns.last().is_some_and(|turn| {
                turn.role == Role::Agent && matches!(turn.verdict, Some(Verdict::Pass { .. }))
            });
            prop_assert!(accepted || passed);
        }
    }

    #[test]
    fn nobody_skipped_is_woken(scene in scene()) {
        if let Decision::Wake { agent, .. } = scene.decided().decision {
            prop_assert!(!scene.facts.skipped.contains(&agent));
        }
    }

    #[test]
    fn a_ring_gives_the_turn_to_somebody_else(
        sections in prop::collection::vec(agent(), 1..9),
        skipped in prop::collection::btree_set(agent(), 0..3),
    ) {
        let text: Vec<String> = sections.iter().map(ToString::to_string).collect();
        let mut scene = Scene::new("CC Codex OC", &text.join("\n"));
        scene.facts.skipped = skipped;
        let others: Vec<Name> = names("CC Codex OC")
            .into_iter()
            .filter(|name| !scene.facts.skipped.contains(name) && Some(name) != sections.last())
            .collect();
        match scene.decided().decision {
            Decision::Wake { agent, .. } if !others.is_empty() => prop_assert!(others.contains(&agent)),
            Decision::Wake { agent, .. } => prop_assert_eq!(Some(&agent), sections.last()),
            other => prop_assert!(scene.facts.skipped.len() == 3, "{:?}", other),
        }
    }

    #[test]
    fn without_a_repository_nothing_but_the_text_holds(scene in scene()) {
        let empty = Facts::default();
        if let Decision::Held { why, .. } = decide(&scene.status, &scene.config, &empty).decision {
            prop_assert!(matches!(why, Hold::Blocked | Hold::ForPerson | Hold::AllSkipped), "{why}");
        }
    }
}
