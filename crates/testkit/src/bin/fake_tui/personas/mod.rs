//! The CLIs that are played. One more is one more file here and one more row in [`TABLE`].

use loop_testkit::terminal::wrap_words;

use crate::input::Timing;
use crate::paint::{Picture, View};

mod claude_code;
mod codex;
mod gemini;
mod generic;
mod hermes;
mod opencode;
mod qwen;

/// Every persona.
pub(crate) const TABLE: &[Persona] = &[
    claude_code::PERSONA,
    codex::PERSONA,
    opencode::PERSONA,
    gemini::PERSONA,
    qwen::PERSONA,
    hermes::PERSONA,
    generic::PERSONA,
];

/// One CLI's manners and looks.
pub(crate) struct Persona {
    /// Its profile's name.
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) timing: Timing,
    pub(crate) while_busy: WhileBusy,
    /// Tab submits, as Enter does.
    pub(crate) tab_submits: bool,
    /// What becomes of input before it is ready.
    pub(crate) early: Early,
    /// It has no use for commands of this beginning, at rest or at work: the words, and the text stays.
    pub(crate) refusals: &'static [Refusal],
    pub(crate) alternate: bool,
    pub(crate) hides_cursor: bool,
    /// The first is shown for a name that it does not have.
    pub(crate) dialogs: &'static [Dialog],
    pub(crate) draw: fn(&View<'_>) -> Picture,
    /// What it shows before it takes input.
    pub(crate) starting: fn(&View<'_>) -> Picture,
}

/// What a submit key does while it works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhileBusy {
    /// The text becomes a turn of its own.
    Queues,
    /// Enter puts it into the running turn, Tab queues it.
    Steers,
    /// It goes into the running turn.
    Merges,
    /// Commands are refused and stay, plain text is queued.
    Refuses,
    /// The running turn is interrupted.
    Interrupts,
}

/// What becomes of input before it is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Early {
    /// It stands in the composer, with Enter as a line break.
    Kept,
    Lost,
}

/// The two keys that may submit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Enter {
    Enter,
    Tab,
}

/// A text that is refused with words.
pub(crate) struct Refusal {
    pub(crate) begins: &'static str,
    pub(crate) only_busy: bool,
    pub(crate) words: &'static str,
}

impl Persona {
    pub(crate) fn dialog(&self, name: &str) -> &'static Dialog {
        let named = self.dialogs.iter().find(|dialog| dialog.name == name);
        named.or(self.dialogs.first()).unwrap_or(&NO_DIALOG)
    }

    /// The words with which it refuses `text`.
    pub(crate) fn refuses(&self, text: &str, is_busy: bool) -> Option<String> {
        let refusal = self
            .refusals
            .iter()
            .find(|refusal| text.starts_with(refusal.begins) && (is_busy || !refusal.only_busy))?;
        Some(refusal.words.replace("{word}", text.split_whitespace().next().unwrap_or_default()))
    }
}

/// A dialog, as it was recorded: the first line is `title: …`.
#[derive(Debug)]
pub(crate) struct Dialog {
    pub(crate) name: &'static str,
    pub(crate) recorded: &'static str,
    /// Enter ends the program: the default of some warnings.
    pub(crate) enter_leaves: bool,
    /// Letters and digits that answer it.
    pub(crate) hotkeys: &'static str,
}

static NO_DIALOG: Dialog = Dialog {
    name: "question",
    recorded: "title: \n? go on\n  press y or n\n",
    enter_leaves: false,
    hotkeys: "yn",
};

impl Dialog {
    /// As it is recorded, broken where the window is narrower.
    pub(crate) fn picture(&self, columns: usize) -> Picture {
        let mut lines = self.recorded.lines();
        let title =
            lines.next().and_then(|line| line.strip_prefix("title:")).map(|title| title.trim().to_owned());
        let below = lines.flat_map(|line| fold(line, columns)).collect();
        Picture { title: title.filter(|title| title != "host"), below, ..Picture::default() }
    }
}

/// A recorded line in a window of another width: rules are cut, words go on below themselves.
pub(crate) fn fold(line: &str, columns: usize) -> Vec<String> {
    if line.starts_with(['─', '╭', '│', '╰', '▀', '▄']) {
        return vec![line.chars().take(columns).collect()];
    }
    let indentation: String = line.chars().take_while(|c| *c == ' ').take(columns / 2).collect();
    wrap_words(line, columns + 1, &indentation)
}

#[cfg(test)]
mod tests;
