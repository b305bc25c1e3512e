//! One case: a script for the fake, and what a person does to its window, both drawn from one seed.

use loop_testkit::tui::{Chance, Event, Script, Start, What, When};

/// What happens around one wake.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) script: Script,
    pub(crate) columns: u64,
    pub(crate) rows: u64,
    /// Milliseconds from the beginning to the wake.
    pub(crate) wait_ms: u64,
    /// When a person goes into the window's history.
    pub(crate) copy_mode_ms: Option<u64>,
    /// When a person makes the window wider or narrower, and how wide.
    pub(crate) resize_ms: Option<(u64, u64)>,
}

/// What a person types.
const DRAFTS: [&str; 4] = ["wait", "please look at 小明", "ok, and then", "y"];

impl Case {
    /// The case of this seed.
    pub(crate) fn of(seed: u64, persona: &str) -> Self {
        let mut chance = Chance::new(seed);
        let mut script = Script { serial: seed, seed, ..Script::default() };
        script.turn_ms = if chance.percent(20) { chance.between(0, 100) } else { chance.between(300, 1500) };
        script.start = start(&mut chance, persona);
        if chance.percent(12) {
            script.swallow = u32::try_from(chance.between(1, 2)).unwrap_or(1);
        } else if chance.percent(3) {
            script.swallow = u32::try_from(chance.between(3, 5)).unwrap_or(3);
        }
        script.wipe = chance.percent(3);
        script.popup = chance.percent(6);
        script.ghost = chance.percent(5).then(|| "fix the flaky test".to_owned());
        script.draw_ms = if chance.percent(10) { chance.between(50, 400) } else { 0 };
        script.events = events(&mut chance, persona);
        let widths = [120, 120, 120, 120, 120, 120, 120, 80, 61, 40, 20];
        let mut case = Self {
            columns: *chance.pick(&widths),
            rows: *chance.pick(&[30, 30, 30, 12]),
            wait_ms: chance.between(0, 200),
            copy_mode_ms: chance.percent(5).then(|| chance.between(0, 1500)),
            resize_ms: chance.percent(3).then(|| (chance.between(0, 1500), *chance.pick(&widths))),
            script,
        };
        // Drawn last: what a seed gave before it still gives.
        if chance.percent(6) {
            let when = *chance.pick(&[When::Begin, When::Text, When::Key, When::Submitted]);
            let what = What::Ghost("write the tests first".to_owned());
            case.script.events.push(Event { when, after_ms: chance.between(0, 1200), what });
        }
        case
    }

    /// Nothing but the CLI's own suggestions ever stands in the composer, our text aside.
    pub(crate) fn has_only_suggestions(&self) -> bool {
        let has_draft = matches!(self.script.start, Start::Draft(_))
            || self.script.events.iter().any(|event| matches!(event.what, What::Draft(_)));
        let has_ghost = self.script.ghost.is_some()
            || self.script.events.iter().any(|event| matches!(event.what, What::Ghost(_)));
        has_ghost && !has_draft
    }
}

/// The fakes whose limits are drawn as recorded.
fn has_limit(persona: &str) -> bool {
    ["claude-code", "codex", "generic"].contains(&persona)
}

fn dialog(chance: &mut Chance) -> String {
    // A name that a persona does not have gives its first one.
    (*chance.pick(&["permission", "permission", "trust", "bypass", "hooks", "key"])).to_owned()
}

fn start(chance: &mut Chance, persona: &str) -> Start {
    match chance.between(0, 99) {
        0..=7 => Start::Busy(chance.between(100, 2000)),
        8..=12 => Start::Dialog(dialog(chance)),
        13..=18 => Start::Draft((*chance.pick(&DRAFTS)).to_owned()),
        19..=21 if has_limit(persona) => Start::Limited,
        22..=24 => Start::Updated,
        25..=30 => Start::Slow(chance.between(50, 1500)),
        31..=32 => Start::Shell,
        33..=34 => Start::Exit,
        _ => Start::Idle,
    }
}

fn events(chance: &mut Chance, persona: &str) -> Vec<Event> {
    let mut events = Vec::new();
    let anytime = [When::Begin, When::Text, When::Text, When::Key, When::Submitted];
    let before = [When::Begin, When::Text, When::Text, When::Key];
    let mut add = |chance: &mut Chance, percent: u64, when: &[When], longest: u64, what: What| {
        if chance.percent(percent) {
            events.push(Event { when: *chance.pick(when), after_ms: chance.between(0, longest), what });
        }
    };
    let name = dialog(chance);
    add(chance, 7, &anytime, 1200, What::Dialog(name));
    let draft = (*chance.pick(&DRAFTS)).to_owned();
    add(chance, 7, &before, 1200, What::Draft(draft));
    add(chance, 2, &before, 1200, What::Clear);
    let works = chance.between(100, 2000);
    add(chance, 4, &before, 1200, What::Turn(works));
    if has_limit(persona) {
        add(chance, 2, &anytime, 1000, What::Limit);
    }
    add(chance, 2, &anytime, 1000, What::Update);
    let stall = chance.between(300, 4000);
    add(chance, 5, &[When::Text, When::Key], 300, What::Stall(stall));
    add(chance, 1, &anytime, 1000, What::Shell);
    add(chance, 1, &anytime, 1000, What::Exit);
    events
}
