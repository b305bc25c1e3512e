//! What was claimed against what happened.

use std::time::Duration;

use loop_core::DeliveryState;
use loop_testkit::tui::Truth;
use loop_transport::{Presence, Receipt, TransportError};

use super::case::Case;

/// What became of one wake, as the sender tells it.
pub(crate) struct Outcome {
    pub(crate) first: Result<Receipt, TransportError>,
    pub(crate) took: Duration,
    /// What the wakes said that followed a look at an unknown one.
    pub(crate) later: Vec<Result<Receipt, TransportError>>,
}

/// A broken promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Broken {
    /// Claimed, and not submitted exactly once.
    FalseSubmitted,
    Double,
    /// A key reached a dialog.
    Dialog,
    /// Another's words were submitted, alone or glued to ours.
    Foreign,
    /// It arrived, and is told not to have.
    Denied,
    /// What was unknown was not told right later.
    Unresolved,
    /// Refused because of a draft, where there was but a suggestion of the CLI's.
    Held,
}

/// One wake, judged.
pub(crate) struct Verdict {
    pub(crate) seed: u64,
    /// `arrived`, `refused: busy`, `failed`, `unknown`.
    pub(crate) claim: String,
    pub(crate) took: Duration,
    pub(crate) broken: Vec<Broken>,
    /// Keys that reached a dialog, another's letter or a suggestion of which the terminal did not know yet: each
    /// with how many microseconds before it had been written.
    pub(crate) crossed: Vec<u64>,
    /// The whole case in words.
    pub(crate) story: String,
}

impl Verdict {
    /// Keeps what a person needs to understand it.
    pub(crate) fn seen(mut self, persona: &str, case: &Case, truth: &[Truth], screen: &str) -> Self {
        let began = truth.first().map_or(0, |line| line.at);
        let lines: Vec<String> = truth
            .iter()
            .map(|line| {
                format!(
                    "  {:>6} ms {} {:?} {} ({}){}",
                    line.at.saturating_sub(began) / 1000,
                    line.event,
                    line.text,
                    line.how,
                    line.state,
                    line.shown_for
                        .map(|micros| {
                            let seen = if line.was_seen { "seen" } else { "not seen" };
                            format!(", shown for {micros} us, {seen} by the terminal")
                        })
                        .unwrap_or_default()
                )
            })
            .collect();
        self.story = format!(
            "{persona} --case {}: {:?}\n{}\n  {case:?}\n{}\n  screen at the end:\n{}\n",
            self.seed,
            self.broken,
            self.story,
            lines.join("\n"),
            screen.trim_end()
        );
        self
    }
}

pub(crate) fn judge(case: &Case, text: &str, outcome: &Outcome, truth: &[Truth]) -> Verdict {
    let mut broken = Vec::new();
    let mut crossed = Vec::new();
    let ours = truth.iter().filter(|line| line.event == "submitted" && line.text == text).count();
    if ours > 1 {
        broken.push(Broken::Double);
    }
    for line in truth {
        let wrong = match line.event.as_str() {
            "dialog-answered" | "key-at-dialog" => Broken::Dialog,
            "ghost-accepted" => Broken::Foreign,
            "submitted" if line.text != text => Broken::Foreign,
            _ => continue,
        };
        match line.shown_for {
            // The terminal passed the key on before it read what would have kept it from that. What it had read, and
            // be it a microsecond before, it could compare.
            Some(micros) if !line.was_seen => crossed.push(micros),
            _ => broken.push(wrong),
        }
    }
    // What crossed a key on its way could deceive anybody: then only what follows is judged.
    if crossed.is_empty() {
        broken.extend(claims(outcome, ours));
    }
    if case.has_only_suggestions() && is_held_for_a_draft(outcome) {
        broken.push(Broken::Held);
    }
    broken.sort_unstable();
    broken.dedup();
    let told = |sent: &Result<Receipt, TransportError>| match sent {
        Ok(receipt) => format!("{:?}: {}", receipt.state, receipt.note),
        Err(error) => format!("{}: {error}", claim(sent)),
    };
    let story =
        std::iter::once(&outcome.first).chain(&outcome.later).map(|sent| format!("  claimed {}", told(sent)));
    let story = story.collect::<Vec<_>>().join("\n");
    Verdict {
        seed: case.script.seed,
        claim: claim(&outcome.first),
        took: outcome.took,
        broken,
        crossed,
        story,
    }
}

fn is_held_for_a_draft(outcome: &Outcome) -> bool {
    let is_draft = |sent: &Result<Receipt, TransportError>| {
        matches!(sent, Err(TransportError::NotNow(Presence::Draft(_))))
    };
    is_draft(outcome.later.last().unwrap_or(&outcome.first))
}

/// Whether what was claimed is true.
fn claims(outcome: &Outcome, ours: usize) -> Option<Broken> {
    match &outcome.first {
        Ok(receipt) if is_submitted(receipt) => (ours == 0).then_some(Broken::FalseSubmitted),
        Ok(_)
        | Err(TransportError::NotNow(_) | TransportError::Failed(_) | TransportError::ToolMissing { .. }) => {
            (ours > 0).then_some(Broken::Denied)
        }
        Err(TransportError::Unknown(_)) => match outcome.later.last() {
            Some(Ok(receipt)) if is_submitted(receipt) => (ours == 0).then_some(Broken::Unresolved),
            _ => None,
        },
    }
}

fn is_submitted(receipt: &Receipt) -> bool {
    matches!(receipt.state, DeliveryState::Submitted | DeliveryState::Started)
}

fn claim(sent: &Result<Receipt, TransportError>) -> String {
    match sent {
        Ok(_) => "arrived".to_owned(),
        Err(TransportError::NotNow(presence)) => format!("refused: {}", word(presence)),
        Err(TransportError::Failed(_) | TransportError::ToolMissing { .. }) => "failed".to_owned(),
        Err(TransportError::Unknown(_)) => "unknown".to_owned(),
    }
}

fn word(presence: &Presence) -> &'static str {
    match presence {
        Presence::Gone(_) => "gone",
        Presence::Shell(_) => "shell",
        Presence::Starting => "starting",
        Presence::Idle => "idle",
        Presence::Busy => "busy",
        Presence::Asks { .. } => "asks",
        Presence::Draft(_) => "draft",
        Presence::Limited(_) => "limit",
        Presence::Unknown(_) => "not known",
        _ => "other",
    }
}
