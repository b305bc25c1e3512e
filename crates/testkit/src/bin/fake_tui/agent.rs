//! The CLI's manners: what becomes of each key, and what happens by itself.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use loop_testkit::terminal::Key;
use loop_testkit::tui::{Chance, Event, Script, Start, Truth, What, When};

use crate::input::Bursts;
use crate::paint::View;
use crate::personas::{Dialog, Early, Enter, Persona, WhileBusy};
use crate::record::Record;
use crate::shown::Shown;

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Exit(u8),
    Shell,
}

/// A person's letters come this far apart, in milliseconds.
const FINGERS_MS: (u64, u64) = (60, 160);

/// One running CLI.
pub(crate) struct Agent {
    persona: &'static Persona,
    script: Script,
    record: Record,
    chance: Chance,
    bursts: Bursts,
    composer: String,
    /// Since when another's first letter stands in the composer to be seen; `None`: there is none.
    foreign: Option<Shown>,
    /// What is suggested in the empty composer, and since when it stands there.
    ghost: Option<(String, Shown)>,
    /// What the terminal was asked behind a picture, and has not answered yet.
    asked: VecDeque<u64>,
    questions: u64,
    told: Vec<(bool, String)>,
    queue: VecDeque<String>,
    queue_shown: Vec<String>,
    turn: Option<(Instant, Instant)>,
    dialog: Option<(&'static Dialog, Shown)>,
    is_limited: bool,
    is_updated: bool,
    ready_at: Option<Instant>,
    notice: Option<(String, Instant)>,
    popup: bool,
    swallow: u32,
    wipe: bool,
    met: Vec<When>,
    pending: Vec<(Instant, What)>,
    stalled: Option<Instant>,
    draw_after: Option<Instant>,
    ending: Option<Ending>,
}

impl Agent {
    pub(crate) fn new(persona: &'static Persona, script: &Script, record: Record, now: Instant) -> Self {
        let mut agent = Self {
            persona,
            script: Script::default(),
            record,
            chance: Chance::new(0),
            bursts: Bursts::new(&persona.timing),
            composer: String::new(),
            foreign: None,
            ghost: None,
            asked: VecDeque::new(),
            questions: 0,
            told: Vec::new(),
            queue: VecDeque::new(),
            queue_shown: Vec::new(),
            turn: None,
            dialog: None,
            is_limited: false,
            is_updated: false,
            ready_at: None,
            notice: None,
            popup: false,
            swallow: 0,
            wipe: false,
            met: Vec::new(),
            pending: Vec::new(),
            stalled: None,
            draw_after: None,
            ending: None,
        };
        agent.begin(script, now);
        agent
    }

    pub(crate) fn persona(&self) -> &'static Persona {
        self.persona
    }

    /// Starts over as `script` says; what was told before stays on the screen.
    pub(crate) fn begin(&mut self, script: &Script, now: Instant) {
        self.chance = Chance::new(script.seed);
        self.bursts = Bursts::new(&self.persona.timing);
        self.composer.clear();
        self.foreign = None;
        self.ghost = script.ghost.clone().map(|words| (words, Shown::NotYet));
        self.queue.clear();
        self.queue_shown.clear();
        self.turn = None;
        self.dialog = None;
        self.is_limited = false;
        self.is_updated = false;
        self.ready_at = None;
        self.notice = None;
        self.popup = false;
        self.swallow = script.swallow;
        self.wipe = script.wipe;
        self.met.clear();
        self.pending.clear();
        self.stalled = None;
        self.draw_after = None;
        self.script = script.clone();
        match &script.start {
            Start::Idle => {}
            Start::Busy(milliseconds) => self.work(*milliseconds, now),
            Start::Dialog(name) => self.ask(name),
            Start::Draft(text) => {
                self.composer = text.clone();
                self.foreign = Some(Shown::NotYet);
            }
            Start::Limited => self.limit(),
            Start::Updated => self.is_updated = true,
            Start::Slow(milliseconds) => {
                self.told.clear();
                self.ready_at = Some(now + Duration::from_millis(*milliseconds));
            }
            Start::Shell => self.ending = Some(Ending::Shell),
            Start::Exit => self.ending = Some(Ending::Exit(0)),
        }
        self.log("begin", "", "");
        self.meet(When::Begin, now);
    }

    /// What the time that has passed brings.
    pub(crate) fn pass(&mut self, now: Instant) -> Option<Ending> {
        if self.stalls(now).is_none() {
            self.stalled = None;
            let due: Vec<What> = {
                let (due, later) =
                    std::mem::take(&mut self.pending).into_iter().partition(|(at, _)| *at <= now);
                self.pending = later;
                let mut due: Vec<(Instant, What)> = due;
                due.sort_by_key(|(at, _)| *at);
                due.into_iter().map(|(_, what)| what).collect()
            };
            due.into_iter().for_each(|what| self.happen(what, now));
            if self.turn.is_some_and(|(_, ends)| ends <= now) {
                self.end_turn(now);
            }
            if self.ready_at.is_some_and(|at| at <= now) {
                self.ready_at = None;
            }
            if self.notice.as_ref().is_some_and(|(_, until)| *until <= now) {
                self.notice = None;
            }
        }
        if let Some(ending) = self.ending {
            let event = if ending == Ending::Shell { "shell" } else { "exit" };
            self.log(event, "", "");
        }
        self.ending
    }

    /// How long it still neither hears nor draws.
    pub(crate) fn stalls(&self, now: Instant) -> Option<Duration> {
        self.stalled.and_then(|until| until.checked_duration_since(now)).filter(|rest| !rest.is_zero())
    }

    pub(crate) fn may_draw(&self, now: Instant) -> bool {
        self.draw_after.is_none_or(|at| at <= now)
    }

    /// When something is due again.
    pub(crate) fn next(&self, now: Instant) -> Option<Instant> {
        let due = self.pending.iter().map(|(at, _)| *at).min();
        let ends = self.turn.map(|(_, ends)| ends);
        due.into_iter().chain(ends).chain(self.draw_after.filter(|at| *at > now)).min()
    }

    /// What is drawn now is to be seen from now on. Returns whether the terminal is to be asked behind the picture:
    /// its answer tells that it has taken in what is new there.
    pub(crate) fn drawn(&mut self, now: Instant) -> bool {
        let question = self.questions + 1;
        let dialog = self.dialog.as_mut().map(|(_, shown)| shown);
        let is_empty = self.composer.is_empty() && self.turn.is_none();
        let ghost = self.ghost.as_mut().filter(|_| is_empty).map(|(_, shown)| shown);
        let mut is_new = false;
        for shown in dialog.into_iter().chain(self.foreign.as_mut()).chain(ghost) {
            is_new |= shown.draw(now, question);
        }
        if is_new {
            self.questions = question;
            self.asked.push_back(question);
        }
        is_new
    }

    fn answered(&mut self) {
        let Some(question) = self.asked.pop_front() else { return };
        let dialog = self.dialog.as_mut().map(|(_, shown)| shown);
        let ghost = self.ghost.as_mut().map(|(_, shown)| shown);
        dialog.into_iter().chain(self.foreign.as_mut()).chain(ghost).for_each(|shown| shown.answer(question));
    }

    pub(crate) fn view(&self, rows: usize, columns: usize, now: Instant) -> View<'_> {
        let is_ghost = self.composer.is_empty() && self.turn.is_none();
        View {
            rows,
            columns,
            is_starting: self.ready_at.is_some(),
            is_updated: self.is_updated,
            is_busy: self.turn.is_some(),
            worked: self.turn.map(|(began, _)| now.saturating_duration_since(began)).unwrap_or_default(),
            composer: &self.composer,
            ghost: self.ghost.as_ref().filter(|_| is_ghost).map(|(words, _)| words.as_str()),
            queue: &self.queue_shown,
            told: &self.told,
            notice: self.notice.as_ref().map(|(text, _)| text.as_str()),
            dialog: self.dialog.map(|(dialog, _)| dialog),
            is_limited: self.is_limited,
            popup: self.popup,
        }
    }

    /// Takes keys that came together.
    pub(crate) fn hear(&mut self, keys: &[Key], now: Instant) -> Option<Ending> {
        for key in keys {
            self.press(key, now);
            if self.ending.is_some() {
                break;
            }
        }
        // Many programs draw a little later than they hear.
        if keys.iter().any(|key| *key != Key::Answer) {
            self.draw_after = Some(now + Duration::from_millis(self.script.draw_ms));
        }
        self.pass(now)
    }

    fn press(&mut self, key: &Key, now: Instant) {
        if *key == Key::Answer {
            return self.answered();
        }
        if self.ready_at.is_some() {
            return self.too_early(key);
        }
        if let Some((dialog, shown)) = self.dialog {
            return self.press_at(dialog, shown, key, now);
        }
        match key {
            Key::Char(_) | Key::Paste(_) => {
                self.bursts.text(key, now, &mut self.chance);
                match key {
                    Key::Char(c) => self.composer.push(*c),
                    Key::Paste(text) => self.composer.push_str(text),
                    _ => {}
                }
                self.popup = self.script.popup && self.composer.starts_with(['/', '$']);
                self.meet(When::Text, now);
            }
            Key::Enter => self.submit(Enter::Enter, now),
            Key::Tab => self.submit(Enter::Tab, now),
            Key::Backspace => {
                self.composer.pop();
            }
            Key::Answer => {}
            Key::Clear => self.clear(),
            Key::Escape | Key::Interrupt if self.turn.is_some() => self.interrupt(),
            Key::Escape => self.popup = false,
            // At an empty prompt some CLIs end; a sender that clears this way would end them.
            Key::Interrupt if self.composer.is_empty() => self.ending = Some(Ending::Exit(130)),
            Key::Interrupt => self.clear(),
        }
    }

    fn too_early(&mut self, key: &Key) {
        match (self.persona.early, key) {
            (Early::Kept, Key::Char(c)) => self.composer.push(*c),
            (Early::Kept, Key::Paste(text)) => self.composer.push_str(text),
            (Early::Kept, Key::Enter) => {
                self.composer.push('\n');
                self.log("newline", "", "");
            }
            _ => self.log("lost", &format!("{key:?}"), ""),
        }
    }

    fn press_at(&mut self, dialog: &'static Dialog, shown: Shown, key: &Key, now: Instant) {
        let answers = match key {
            Key::Enter => true,
            Key::Char(c) => dialog.hotkeys.contains(*c),
            Key::Escape => true,
            _ => false,
        };
        let event = if answers { "dialog-answered" } else { "key-at-dialog" };
        self.log_shown(event, &format!("{}: {key:?}", dialog.name), "", Some((shown, now)));
        if answers {
            self.dialog = None;
            if dialog.enter_leaves && *key == Key::Enter {
                self.ending = Some(Ending::Exit(1));
            }
        }
    }

    fn submit(&mut self, key: Enter, now: Instant) {
        let is_busy = self.turn.is_some();
        if key == Enter::Tab && !self.persona.tab_submits {
            return;
        }
        // A key that only takes a line break is no key yet: what follows one follows the one that is heard.
        if self.bursts.breaks(now) && key == Enter::Enter {
            self.composer.push('\n');
            return self.log("newline", "", "");
        }
        self.meet(When::Key, now);
        if self.swallow > 0 {
            self.swallow -= 1;
            return self.log("swallowed", "", "");
        }
        if self.popup {
            self.popup = false;
            self.script.popup = false;
            return self.log("popup-took", "", "");
        }
        if self.wipe {
            self.wipe = false;
            self.log("wiped", &self.composer.clone(), "");
            return self.clear();
        }
        let text = self.composer.trim().to_owned();
        if text.is_empty() {
            if let Some((ghost, shown)) = self.ghost.take_if(|_| !is_busy && key == Enter::Enter) {
                self.log_shown("ghost-accepted", &ghost, "", Some((shown, now)));
                self.told.push((true, ghost));
                self.work(self.script.turn_ms, now);
            }
            return;
        }
        if let Some(words) = self.persona.refuses(&text, is_busy) {
            self.notice = Some((words.clone(), now + Duration::from_secs(3)));
            return self.log("refused", &text, &words);
        }
        self.take(&text, key, is_busy, now);
    }

    fn take(&mut self, text: &str, key: Enter, is_busy: bool, now: Instant) {
        let how = match (is_busy, self.persona.while_busy) {
            (false, _) => "turn",
            (true, WhileBusy::Steers) if key == Enter::Tab => "queued",
            (true, WhileBusy::Steers) => "steered",
            (true, WhileBusy::Queues | WhileBusy::Refuses) => "queued",
            (true, WhileBusy::Merges) => "merged",
            (true, WhileBusy::Interrupts) => "interrupts",
        };
        let foreign = self.foreign.map(|shown| (shown, now));
        self.log_shown("submitted", text, how, foreign);
        self.clear();
        match how {
            "turn" => {
                self.told.push((true, text.to_owned()));
                self.work(self.script.turn_ms, now);
            }
            "interrupts" => {
                self.interrupt();
                self.told.push((true, text.to_owned()));
                self.work(self.script.turn_ms, now);
            }
            "queued" => {
                self.queue.push_back(text.to_owned());
                self.queue_shown = self.queue.iter().cloned().collect();
            }
            _ => self.told.push((true, text.to_owned())),
        }
        self.meet(When::Submitted, now);
    }

    fn work(&mut self, milliseconds: u64, now: Instant) {
        self.turn = Some((now, now + Duration::from_millis(milliseconds)));
    }

    fn end_turn(&mut self, now: Instant) {
        self.turn = None;
        self.told.push((false, "All done.".to_owned()));
        self.log("ended", "", "");
        if let Some(next) = self.queue.pop_front() {
            self.queue_shown = self.queue.iter().cloned().collect();
            self.told.push((true, next));
            self.work(self.script.turn_ms, now);
        }
        // A window shows its newest lines only.
        let surplus = self.told.len().saturating_sub(40);
        self.told.drain(..surplus);
    }

    fn interrupt(&mut self) {
        self.turn = None;
        self.told.push((false, "Interrupted".to_owned()));
        self.log("interrupted", "", "");
    }

    fn clear(&mut self) {
        self.composer.clear();
        self.foreign = None;
        self.popup = false;
        if let Some((_, shown)) = &mut self.ghost {
            *shown = Shown::NotYet;
        }
    }

    fn ask(&mut self, name: &str) {
        let dialog = self.persona.dialog(name);
        self.dialog = Some((dialog, Shown::NotYet));
        self.log("dialog", dialog.name, "");
    }

    fn limit(&mut self) {
        self.turn = None;
        self.is_limited = true;
    }

    /// Plans what follows `when`, the first time that it comes about.
    fn meet(&mut self, when: When, now: Instant) {
        if self.met.contains(&when) {
            return;
        }
        self.met.push(when);
        let follows = |event: &&Event| event.when == when;
        let planned: Vec<_> = self.script.events.iter().filter(follows).cloned().collect();
        for event in planned {
            let at = now + Duration::from_millis(event.after_ms);
            self.pending.push((at, event.what));
        }
    }

    fn happen(&mut self, what: What, now: Instant) {
        match what {
            What::Dialog(name) => self.ask(&name),
            What::Draft(text) => {
                // One letter now, the rest after it.
                let mut letters = text.chars();
                let Some(letter) = letters.next() else { return };
                let rest = letters.as_str().to_owned();
                if self.dialog.is_none() {
                    self.composer.push(letter);
                    // The first is enough to be heeded.
                    self.foreign.get_or_insert(Shown::NotYet);
                }
                if !rest.is_empty() {
                    let pause = self.chance.between(FINGERS_MS.0, FINGERS_MS.1);
                    self.pending.push((now + Duration::from_millis(pause), What::Draft(rest)));
                }
            }
            What::Clear => self.clear(),
            What::Ghost(words) => self.ghost = Some((words, Shown::NotYet)),
            What::Turn(milliseconds) => {
                if self.turn.is_none() {
                    self.told.push((false, "A background task has ended.".to_owned()));
                    self.work(milliseconds, now);
                    self.log("turn-by-itself", "", "");
                }
            }
            What::Limit => self.limit(),
            What::Update => self.is_updated = true,
            What::Stall(milliseconds) => self.stalled = Some(now + Duration::from_millis(milliseconds)),
            What::Shell => self.ending = Some(Ending::Shell),
            What::Exit => self.ending = Some(Ending::Exit(0)),
        }
    }

    fn state(&self) -> &'static str {
        match () {
            () if self.ready_at.is_some() => "starting",
            () if self.dialog.is_some() => "dialog",
            () if self.is_updated => "updated",
            () if self.is_limited => "limited",
            () if self.turn.is_some() => "busy",
            () => "idle",
        }
    }

    fn log(&self, event: &str, text: &str, how: &str) {
        self.log_shown(event, text, how, None);
    }

    fn log_shown(&self, event: &str, text: &str, how: &str, shown: Option<(Shown, Instant)>) {
        self.record.write(Truth {
            at: 0,
            serial: self.script.serial,
            event: event.to_owned(),
            text: text.to_owned(),
            how: how.to_owned(),
            state: self.state().to_owned(),
            shown_for: shown.map(|(shown, now)| shown.micros(now)),
            was_seen: shown.is_some_and(|(shown, _)| shown.was_seen()),
        });
    }
}
