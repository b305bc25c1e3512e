//! Scripted turns in simulated time: whatever the witnesses do, nothing settles early, and nothing late.

use proptest::prelude::*;

use super::*;

/// One thing that an agent does in a turn.
#[derive(Debug, Clone)]
enum Step {
    /// The model thinks and writes: the records change every second.
    Thinks(f64),
    /// A tool runs: the records stand still.
    Runs(f64),
    /// Sub-agents run; the screen is busy, the main records stand still.
    SubAgent(f64),
    /// It asks for permission and is answered after this time.
    Asks(f64),
    /// Its main turn ends while background work runs on for so long; then it takes up the result.
    Background(f64),
}

/// What the witnesses of one agent are worth.
#[derive(Debug, Clone)]
struct Witnesses {
    hook: Hook,
    records: Records,
    screen: Screen,
    /// Seconds between looks.
    every: f64,
    /// Seconds between wake and start.
    delay: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Hook {
    None,
    /// Every signal comes, so many seconds late.
    Comes(f64),
    /// The start comes, the end never.
    OnlyStart,
    /// The end comes, the start never.
    OnlyEnd,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Records {
    None,
    /// As they are, so many seconds late.
    Lag(f64),
    /// Only when they changed.
    Times(f64),
    /// Nobody can read them in every other ten seconds.
    Locked,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Screen {
    /// There is none.
    None,
    /// It shows how things stand.
    Clear,
    /// No rule knows it while the agent works, and for two seconds now and then.
    Foggy,
    /// It looks idle for so many of every twenty seconds while the agent works.
    Flickers(f64),
}

/// How things stand at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Truth {
    Waits,
    Works,
    Asks,
    /// The main turn is over, background work runs.
    Background,
    Done,
}

/// A turn as it really happens: what is true from when on, and when the records were written.
#[derive(Debug, Default)]
struct Script {
    truths: Vec<(f64, Truth)>,
    writes: Vec<f64>,
    end: f64,
}

impl Script {
    fn new(delay: f64, steps: &[Step]) -> Self {
        let mut script =
            Self { truths: vec![(f64::MIN, Truth::Waits), (delay, Truth::Works)], ..Self::default() };
        let mut now = delay;
        script.writes.push(now);
        for step in steps {
            let (truth, long) = match step {
                Step::Thinks(long) | Step::Runs(long) | Step::SubAgent(long) => (Truth::Works, *long),
                Step::Asks(long) => (Truth::Asks, *long),
                Step::Background(long) => (Truth::Background, *long),
            };
            script.truths.push((now, truth));
            script.writes.push(now);
            if matches!(step, Step::Thinks(_)) {
                script
                    .writes
                    .extend((1..).map(|second| now + f64::from(second)).take_while(|at| *at < now + long));
            }
            now += long;
            script.writes.push(now);
        }
        // Whatever came last, the model says a closing word.
        script.truths.push((now, Truth::Works));
        script.end = now + 2.0;
        script.truths.push((script.end, Truth::Done));
        script.writes.push(script.end);
        script
    }

    fn truth(&self, at: f64) -> (f64, Truth) {
        *self.truths.iter().rev().find(|(since, _)| *since <= at).unwrap()
    }

    fn signal(&self, now: f64, hook: Hook) -> Option<Signal> {
        let late = match hook {
            Hook::None => return None,
            Hook::Comes(late) => late,
            Hook::OnlyStart | Hook::OnlyEnd => 0.0,
        };
        let mut newest = Some(signal(Event::Finished, -30.0));
        let mut before = Truth::Waits;
        for (since, truth) in &self.truths[1..] {
            let event = match (before, truth) {
                (Truth::Waits | Truth::Background, Truth::Works) => Some((Event::Started, 0)),
                (Truth::Works, Truth::Asks) => Some((Event::Asks, 0)),
                (Truth::Works, Truth::Background) => Some((Event::Finished, 1)),
                (Truth::Works, Truth::Done) => Some((Event::Finished, 0)),
                _ => None,
            };
            before = *truth;
            let Some((event, background)) = event.filter(|_| since + late <= now) else { continue };
            let lost = match hook {
                Hook::OnlyStart => event != Event::Started,
                Hook::OnlyEnd => event != Event::Finished,
                Hook::None | Hook::Comes(_) => false,
            };
            if !lost {
                newest = Some(Signal { background, ..signal(event, since + late) });
            }
        }
        newest
    }

    fn recorded(&self, now: f64, records: Records) -> Option<Recorded> {
        let lag = match records {
            Records::None => return None,
            Records::Lag(lag) | Records::Times(lag) => lag,
            Records::Locked => 0.0,
        };
        let (_, truth) = self.truth(now - lag);
        let changed = self.writes.iter().copied().rfind(|at| at + lag <= now).unwrap_or(-30.0);
        if records == Records::Locked && !(now as u32 / 10).is_multiple_of(2) {
            return Some(recorded(RecordState::Unreadable("locked".to_owned()), changed));
        }
        let state = match truth {
            _ if matches!(records, Records::Times(_)) => RecordState::Still,
            Truth::Waits | Truth::Done => RecordState::Idle,
            // A permission question is not in the records.
            Truth::Works | Truth::Asks => RecordState::Working,
            Truth::Background => RecordState::Background(1),
        };
        let asked = changed >= 0.0;
        let prompt =
            Some(if asked { Prompt::new(at(self.writes[0]), "go") } else { Prompt::new(at(-60.0), "old") });
        Some(Recorded { prompt, ..recorded(state, changed) })
    }

    fn seen(&self, now: f64, screen: Screen) -> Option<Seen> {
        let (_, truth) = self.truth(now);
        let busy = match screen {
            Screen::None => return None,
            Screen::Clear => Seen::Busy,
            Screen::Foggy => unknown(),
            Screen::Flickers(long) if now % 20.0 < long => Seen::Idle,
            Screen::Flickers(_) => Seen::Busy,
        };
        Some(match truth {
            Truth::Works | Truth::Background => busy,
            Truth::Asks => Seen::Asks { says: "may it?".to_owned(), press: "1".to_owned() },
            Truth::Waits | Truth::Done if screen == Screen::Foggy && now % 9.0 < 2.0 => unknown(),
            Truth::Waits | Truth::Done => Seen::Idle,
        })
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0.2..20.0).prop_map(Step::Thinks),
        4 => (1.0..60.0).prop_map(Step::Runs),
        2 => (1.0..60.0).prop_map(Step::SubAgent),
        1 => (3.0..60.0).prop_map(Step::Asks),
        1 => (1.0..90.0).prop_map(Step::Background),
    ];
    proptest::collection::vec(step, 1..7)
}

fn witnesses() -> impl Strategy<Value = Witnesses> {
    let hook = prop_oneof![
        Just(Hook::None),
        (0.0..1.0).prop_map(Hook::Comes),
        Just(Hook::OnlyStart),
        Just(Hook::OnlyEnd),
    ];
    let records = prop_oneof![
        Just(Records::None),
        (0.0..8.0).prop_map(Records::Lag),
        (0.0..2.0).prop_map(Records::Times),
        Just(Records::Locked),
    ];
    let screen = prop_oneof![
        1 => Just(Screen::None),
        2 => Just(Screen::Clear),
        1 => Just(Screen::Foggy),
        2 => (0.5..13.0).prop_map(Screen::Flickers),
    ];
    (hook, records, screen, 0.5..3.0, 0.1..10.0)
        .prop_map(|(hook, records, screen, every, delay)| Witnesses { hook, records, screen, every, delay })
        .prop_filter("somebody must see the end", Witnesses::can_tell)
}

impl Witnesses {
    /// Whether the turn's end is seen by one who can also be believed: an end by hook or records, or a screen that
    /// shows work.
    fn can_tell(&self) -> bool {
        let hook = matches!(self.hook, Hook::Comes(_) | Hook::OnlyEnd);
        let records = matches!(self.records, Records::Lag(_));
        let screen = matches!(self.screen, Screen::Clear | Screen::Flickers(_));
        // Without a screen, times of change settle any tool that runs for longer than the window.
        let blind =
            self.screen == Screen::None && matches!(self.records, Records::Times(_) | Records::Locked);
        (hook || records || screen) && !blind
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_turn_settles_after_its_end_and_soon(steps in steps(), witnesses in witnesses()) {
        let script = Script::new(witnesses.delay, &steps);
        let mut settling = Settling::new(QUIET).woken(at(0.0));
        let mut now = 0.05;
        loop {
            let signal = script.signal(now, witnesses.hook);
            let records = script.recorded(now, witnesses.records);
            let screen = script.seen(now, witnesses.screen);
            let sights = Sights { signal: signal.as_ref(), records: records.as_ref(), screen: screen.as_ref() };
            let verdict = settling.see(at(now), &sights);
            if matches!(verdict, Verdict::Settled { .. }) {
                prop_assert!(now >= script.end, "settled at {now}, the turn ends at {}: {sights:?}", script.end);
                break;
            }
            let latest = script.end + QUIET.as_secs_f64() + 3.0;
            prop_assert!(now <= latest, "not settled by {latest}, the end was at {}: {verdict:?} {sights:?}", script.end);
            if let (Truth::Asks, Some(Seen::Asks { .. })) = (script.truth(now).1, &screen) {
                let asks = matches!(verdict, Verdict::Asks { .. });
                prop_assert!(asks, "a question is its own state: {verdict:?}");
            }
            now += witnesses.every;
        }
    }
}
