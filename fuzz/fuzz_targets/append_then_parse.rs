//! A section can be added to any text that can be read; it is seen as it was meant, and nothing else changes.
//!
//! The first byte chooses the verdict; what follows a line `%%` in the input is the body, if there is one.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loop_core::append::{NewSection, plan};
use loop_core::{Cast, Name, Status, Verdict, status};

fuzz_target!(|input: (u8, &str)| {
    let (choice, input) = input;
    let (text, body) = input.split_once("\n%%\n").unwrap_or((input, ""));
    let names = |names: &[&str]| names.iter().filter_map(|name| Name::new(name).ok()).collect::<Vec<_>>();
    let cast = Cast {
        agents: names(&["CC", "Codex", "OpenCode"]),
        planner: Name::new("Hermes").ok(),
        people: names(&["Dana"]),
    };
    let Ok(before) = status::parse(text.as_bytes(), &cast) else { return };
    let section = NewSection {
        author: cast.agents[0].clone(),
        to: None,
        summary: "next".to_owned(),
        body: body.to_owned(),
        verdict: match choice % 3 {
            0 => None,
            1 => Some(Verdict::Pass { commit: None }),
            _ => Some(Verdict::Blocked { reason: Some("no key".to_owned()) }),
        },
    };
    let added = match plan(text.as_bytes(), &cast, &section) {
        Ok(plan) => plan.added,
        // A body may be refused; a text that can be read may not.
        Err(error) => {
            assert!(!body.is_empty(), "{error}");
            return;
        }
    };
    let whole = [text.as_bytes(), &added].concat();
    let after = status::parse(&whole, &cast).expect("the plan was proved");
    assert_eq!(after.turns.len(), before.turns.len() + 1);
    let said = |status: &Status| {
        status
            .turns
            .iter()
            .map(|turn| (turn.author.clone(), turn.to.clone(), turn.summary.clone(), turn.verdict.clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(&said(&after)[..before.turns.len()], &said(&before)[..]);
});
