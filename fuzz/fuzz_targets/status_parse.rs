//! No bytes make the reader panic, and the sections it finds lie end to end.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loop_core::{Cast, Name, status};

fuzz_target!(|bytes: &[u8]| {
    let names = |names: &[&str]| names.iter().filter_map(|name| Name::new(name).ok()).collect::<Vec<_>>();
    let cast = Cast {
        agents: names(&["CC", "Codex", "OpenCode"]),
        planner: Name::new("Hermes").ok(),
        people: names(&["Dana"]),
    };
    let Ok(status) = status::parse(bytes, &cast) else { return };
    assert_eq!(status.text.as_bytes(), bytes);
    let mut at = status.preamble.end;
    for turn in &status.turns {
        assert_eq!(turn.span.start, at);
        assert!(status.text[turn.span.clone()].trim_start().starts_with("##"));
        at = turn.span.end;
    }
    assert_eq!(at, bytes.len());
});
