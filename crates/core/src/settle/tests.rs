//! The rules one by one as cases, and then all together on scripted turns.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::records::{Prompt, RecordState};

fn at(seconds: f64) -> Timestamp {
    Timestamp::from_millisecond(1_764_000_000_000 + (seconds * 1000.0) as i64).unwrap()
}

fn signal(event: Event, seconds: f64) -> Signal {
    Signal { event, at: at(seconds), conversation: None, background: 0, prompt: None, says: None }
}

fn recorded(state: RecordState, changed: f64) -> Recorded {
    Recorded { changed: Some(at(changed)), ..Recorded::without_conversation(state) }
}

fn unknown() -> Seen {
    Seen::Unknown("no rule knows it".to_owned())
}

/// What stands at each second from 0 on, and the second at which the turn counts as settled.
struct Case {
    name: &'static str,
    signal: fn(f64) -> Option<Signal>,
    records: fn(f64) -> Option<Recorded>,
    screen: fn(f64) -> Option<Seen>,
    settled: Option<u32>,
}

const NEVER: Option<u32> = None;

const CASES: &[Case] = &[
    Case {
        name: "hook and records agree: two looks are enough",
        signal: |_| Some(signal(Event::Finished, 1.0)),
        records: |_| Some(recorded(RecordState::Idle, 1.0)),
        screen: |_| None,
        settled: Some(3),
    },
    Case {
        name: "hook and screen agree",
        signal: |_| Some(signal(Event::Finished, 1.0)),
        records: |_| None,
        screen: |_| Some(Seen::Idle),
        settled: Some(3),
    },
    Case {
        name: "records and screen agree",
        signal: |_| None,
        records: |_| Some(recorded(RecordState::Idle, 1.0)),
        screen: |_| Some(Seen::Idle),
        settled: Some(2),
    },
    Case {
        name: "a busy screen outweighs both",
        signal: |_| Some(signal(Event::Finished, 1.0)),
        records: |_| Some(recorded(RecordState::Idle, 1.0)),
        screen: |_| Some(Seen::Busy),
        settled: NEVER,
    },
    Case {
        name: "the hook alone: the whole window",
        signal: |_| Some(signal(Event::Finished, 1.0)),
        records: |_| None,
        screen: |_| Some(unknown()),
        settled: Some(16),
    },
    Case {
        name: "the records alone: the whole window",
        signal: |_| None,
        records: |_| Some(recorded(RecordState::Idle, 1.0)),
        screen: |_| Some(unknown()),
        settled: Some(15),
    },
    Case {
        name: "the screen alone: the whole window",
        signal: |_| None,
        records: |_| None,
        screen: |_| Some(Seen::Idle),
        settled: Some(15),
    },
    Case {
        name: "only times of change, without a window",
        signal: |_| None,
        records: |second| Some(recorded(RecordState::Still, second.min(9.0))),
        screen: |_| None,
        settled: Some(24),
    },
    Case {
        name: "only times of change, with a window that nobody can read",
        signal: |_| None,
        records: |_| Some(recorded(RecordState::Still, 1.0)),
        screen: |_| Some(unknown()),
        settled: NEVER,
    },
    Case {
        name: "an earlier turn's hook and records prove nothing",
        signal: |_| Some(signal(Event::Finished, -1.0)),
        records: |_| Some(recorded(RecordState::Idle, -1.0)),
        screen: |_| Some(unknown()),
        settled: NEVER,
    },
    Case {
        name: "an earlier turn's records beside an idle screen: the whole window",
        signal: |_| None,
        records: |_| Some(recorded(RecordState::Idle, -1.0)),
        screen: |_| Some(Seen::Idle),
        settled: Some(15),
    },
    Case {
        name: "an end before the start that came since",
        signal: |_| Some(signal(Event::Started, 5.0)),
        records: |_| Some(recorded(RecordState::Idle, 4.0)),
        screen: |_| Some(unknown()),
        settled: NEVER,
    },
    Case {
        name: "the records know a later prompt than the hook's end",
        signal: |_| Some(signal(Event::Finished, 1.0)),
        records: |_| {
            let prompt = Some(Prompt::new(at(2.0), "more"));
            Some(Recorded { prompt, ..recorded(RecordState::Working, 2.0) })
        },
        screen: |_| Some(unknown()),
        settled: NEVER,
    },
    Case {
        name: "records that lag behind the hook",
        signal: |second| {
            Some(signal(if second < 10.0 { Event::Started } else { Event::Finished }, second.min(10.0)))
        },
        records: |_| Some(recorded(RecordState::Working, 3.0)),
        screen: |second| Some(if second < 10.0 { Seen::Busy } else { Seen::Idle }),
        settled: Some(12),
    },
    Case {
        name: "a hook that never came, and records that lag",
        signal: |_| None,
        records: |second| {
            Some(recorded(
                if second < 14.0 { RecordState::Working } else { RecordState::Idle },
                second.min(9.0),
            ))
        },
        screen: |second| Some(if second < 10.0 { Seen::Busy } else { Seen::Idle }),
        settled: Some(16),
    },
    Case {
        name: "a start without an end, and only a screen beside it",
        signal: |_| Some(signal(Event::Started, 1.0)),
        records: |_| None,
        screen: |second| Some(if second < 10.0 { Seen::Busy } else { Seen::Idle }),
        settled: Some(25),
    },
    Case {
        name: "what a crash left open is stale after two windows of an idle screen",
        signal: |_| None,
        records: |_| Some(recorded(RecordState::Working, -500.0)),
        screen: |_| Some(Seen::Idle),
        settled: Some(30),
    },
    Case {
        name: "a sub-agent that is stuck at its first step, the same",
        signal: |_| None,
        records: |_| Some(recorded(RecordState::Working, 20.0)),
        screen: |second| Some(if second < 30.0 { Seen::Busy } else { Seen::Idle }),
        settled: Some(60),
    },
    Case {
        name: "open records are not stale while the screen cannot be read",
        signal: |_| None,
        records: |_| Some(recorded(RecordState::Working, -500.0)),
        screen: |_| Some(unknown()),
        settled: NEVER,
    },
    Case {
        name: "background work of the hook's",
        signal: |_| Some(Signal { background: 1, ..signal(Event::Finished, 1.0) }),
        records: |_| None,
        screen: |_| Some(Seen::Idle),
        settled: NEVER,
    },
    Case {
        name: "background work of the records'",
        signal: |_| None,
        records: |_| Some(recorded(RecordState::Background(2), 1.0)),
        screen: |_| Some(Seen::Idle),
        settled: NEVER,
    },
    Case {
        name: "the hook counts background work later than the records",
        signal: |_| Some(signal(Event::Finished, 2.0)),
        records: |_| Some(recorded(RecordState::Background(2), 1.0)),
        screen: |_| Some(Seen::Idle),
        settled: Some(4),
    },
    Case {
        name: "the records saw background work end after the hook counted it",
        signal: |_| Some(Signal { background: 2, ..signal(Event::Finished, 1.0) }),
        records: |_| Some(recorded(RecordState::Idle, 2.0)),
        screen: |_| Some(Seen::Idle),
        settled: Some(2),
    },
    Case {
        name: "hook and records of two conversations prove nothing",
        signal: |_| Some(Signal { conversation: Some("title".to_owned()), ..signal(Event::Finished, 1.0) }),
        records: |_| {
            let conversation = Some("main".to_owned());
            Some(Recorded { conversation, ..recorded(RecordState::Idle, 1.0) })
        },
        screen: |_| Some(Seen::Idle),
        settled: Some(16),
    },
    Case {
        name: "records that cannot be read are no witness, but change is life",
        signal: |_| None,
        records: |second| Some(recorded(RecordState::Unreadable("locked".to_owned()), second.min(7.0))),
        screen: |_| Some(Seen::Idle),
        settled: Some(22),
    },
    Case {
        name: "a blink of the screen costs nothing, a longer one a new window",
        signal: |_| None,
        records: |_| None,
        screen: |second| {
            let blinks = (5.0..7.0).contains(&second) || (9.0..14.0).contains(&second);
            Some(if blinks { unknown() } else { Seen::Idle })
        },
        settled: Some(29),
    },
    Case {
        name: "a screen that flickers to busy never settles",
        signal: |_| None,
        records: |_| None,
        screen: |second| Some(if (second as u32).is_multiple_of(14) { Seen::Busy } else { Seen::Idle }),
        settled: NEVER,
    },
    Case {
        name: "a clock that runs ahead is life once",
        signal: |_| None,
        records: |_| Some(recorded(RecordState::Idle, 5000.0)),
        screen: |_| Some(unknown()),
        settled: Some(15),
    },
    Case { name: "no witness at all", signal: |_| None, records: |_| None, screen: |_| None, settled: NEVER },
    Case {
        name: "no store, a screen that nobody can read",
        signal: |_| None,
        records: |_| Some(Recorded::without_conversation(RecordState::Nothing)),
        screen: |_| Some(unknown()),
        settled: NEVER,
    },
];

#[test]
fn each_rule_by_itself() {
    for case in CASES {
        let mut settling = Settling::new(QUIET).woken(at(0.0));
        let settled = (0..200_u32).find(|second| {
            let second = f64::from(*second);
            let (signal, records, screen) =
                ((case.signal)(second), (case.records)(second), (case.screen)(second));
            // Nobody sees what has not happened yet.
            let signal = signal.filter(|signal| signal.at <= at(second));
            let sights =
                Sights { signal: signal.as_ref(), records: records.as_ref(), screen: screen.as_ref() };
            matches!(settling.see(at(second), &sights), Verdict::Settled { .. })
        });
        assert_eq!(settled, case.settled, "{}", case.name);
    }
}

#[test]
fn what_is_neither_working_nor_settled() {
    let says = |verdict: Verdict| format!("{verdict:?}");
    let see = |signal: Option<Signal>, records: Option<Recorded>, screen: Option<Seen>| {
        let sights = Sights { signal: signal.as_ref(), records: records.as_ref(), screen: screen.as_ref() };
        says(Settling::new(QUIET).woken(at(0.0)).see(at(10.0), &sights))
    };
    let asks = |says: &str| Signal { says: Some(says.to_owned()), ..signal(Event::Asks, 5.0) };
    let question = || Seen::Asks { says: "run it?".to_owned(), press: "1".to_owned() };
    let cases = [
        (
            see(None, Some(recorded(RecordState::Working, 9.0)), Some(question())),
            "Asks { says: \"run it?\", press: \"1\"",
        ),
        (see(Some(asks("may it?")), None, Some(unknown())), "Asks { says: \"may it?\""),
        (
            see(Some(asks("may it?")), Some(recorded(RecordState::Working, 4.0)), None),
            "Asks { says: \"may it?\"",
        ),
        (
            see(Some(asks("may it?")), Some(recorded(RecordState::Working, 6.0)), None),
            "Working(\"its records",
        ),
        (see(Some(asks("may it?")), None, Some(Seen::Busy)), "Working(\"its screen"),
        (
            see(None, Some(recorded(RecordState::Asks("which?".to_owned()), 4.0)), Some(unknown())),
            "Asks { says: \"which?\"",
        ),
        (see(None, None, Some(Seen::Limited("until 3pm".to_owned()))), "Limited(\"until 3pm\")"),
        (
            see(None, Some(recorded(RecordState::Limited("until 3pm".to_owned()), 4.0)), Some(Seen::Idle)),
            "Limited",
        ),
        (
            see(None, Some(recorded(RecordState::Limited("until 3pm".to_owned()), -4.0)), Some(Seen::Idle)),
            "Quiet",
        ),
        (
            see(
                Some(signal(Event::Started, 5.0)),
                Some(recorded(RecordState::Limited("x".to_owned()), 4.0)),
                Some(unknown()),
            ),
            "Working(\"its turn hook",
        ),
        (
            see(Some(signal(Event::Finished, 5.0)), None, Some(Seen::Gone("exit 1".to_owned()))),
            "Gone(\"exit 1\")",
        ),
        (see(None, None, Some(unknown())), "Unknown(\"no rule knows it\")"),
        (see(None, None, None), "Unknown(\"neither"),
        (see(Some(signal(Event::Finished, 5.0)), None, None), "Quiet { since: "),
    ];
    for (verdict, expected) in cases {
        assert!(verdict.starts_with(expected), "{verdict}\nshould be {expected}");
    }
}

#[test]
fn a_turn_began_when_the_agents_own_side_says_so() {
    let by_hook = |prompt: Option<&str>, text: &str| {
        let told = Signal { prompt: prompt.map(str::to_owned), ..signal(Event::Started, 1.0) };
        started(at(0.5), text, &Sights { signal: Some(&told), ..Sights::default() })
    };
    let by_records = |prompt: &str, text: &str, after: f64| {
        let records =
            Recorded { prompt: Some(Prompt::new(at(1.0), prompt)), ..recorded(RecordState::Working, 1.0) };
        started(at(after), text, &Sights { records: Some(&records), ..Sights::default() })
    };
    let body = "# Agent loop\nYou take part in a loop. Run `loop turn NAME`.\n\n/agent-loop CC";
    let codex = "$agent-loop Codex";
    let prose = "Run `loop turn CC` and follow it";
    for (prompt, text, began) in [
        ("/agent-loop CC", "/agent-loop CC", true),
        ("  /agent-loop \n CC ", "/agent-loop CC", true),
        (body, "/agent-loop CC", true),
        ("<skill><name>agent-loop</name> … </skill> Codex", codex, true),
        ("CC", "/agent-loop CC", true),
        (codex, codex, true),
        (prose, prose, true),
        ("/agent-loop CC2", "/agent-loop CC", false),
        ("what does CC say?", "/agent-loop CC", false),
        ("please look at agent-loop", "/agent-loop CC", false),
        ("CC", prose, false),
        ("", "/agent-loop CC", false),
        ("hello", prose, false),
    ] {
        assert_eq!(by_hook(Some(prompt), text), began, "hook: {prompt} for {text}");
        assert_eq!(by_records(prompt, text, 0.5), began, "records: {prompt} for {text}");
        assert!(!by_records(prompt, text, 1.5), "before the wake: {prompt}");
    }
    assert!(by_hook(None, "/agent-loop CC"));
    assert!(!started(at(0.5), "/agent-loop CC", &Sights::default()));
    let idle = Seen::Idle;
    assert!(!started(at(0.5), "/agent-loop CC", &Sights { screen: Some(&idle), ..Sights::default() }));
}

mod clocks;
mod turns;
