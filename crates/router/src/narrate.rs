//! What became of a notice, in words: into the loop's own log, and to a person where one must know.

use jiff::Timestamp;
use loop_core::decide::{Decision, Hold, rounds};
use loop_store::{LoopPatch, LoopRow, Severity, StoreError, TurnRecord};
use sha2::{Digest, Sha256};

use crate::desk::Desk;
use crate::reading::{Known, Observed};
use crate::relay::{Notice, headline};
use crate::tell::{Kind, Message, patiently};

/// As many of the things that a person was told last are remembered.
const REMEMBERED: usize = 12;

impl Desk {
    /// Puts into the loop's own log what is new, and tells a person what a person must know.
    pub(crate) async fn narrate(
        &self,
        row: &LoopRow,
        known: &Known,
        observed: &Observed,
        recorded: &[TurnRecord],
        changed: bool,
        notice: &Notice,
    ) -> Result<(), StoreError> {
        let before: std::collections::HashMap<usize, &str> =
            known.turns.iter().map(|record| (record.n, record.fingerprint.as_str())).collect();
        let fresh = recorded.iter().filter(|turn| before.get(&turn.n) != Some(&turn.fingerprint.as_str()));
        for turn in fresh {
            let verdict = match turn.verdict.as_deref() {
                Some("pass") => " REVIEW-PASS",
                Some(_) => " REVIEW-BLOCKED",
                None => "",
            };
            let text = format!("turn {} by {}: {}{verdict}", turn.n, turn.author, turn.summary);
            self.say(Some(&row.id), "turn", &text).await?;
        }
        let decision = &observed.decided.decision;
        if changed {
            let (text, loud) = headline(decision);
            tracing::info!(loop_id = row.id, from = notice.from, "{text}");
            self.say(Some(&row.id), "decision", &text).await?;
            self.note_half(row, observed).await?;
            if loud.is_none() && row.told.is_some() {
                // What held the loop is over: should it come back, it is told again.
                let patch = LoopPatch { told: Some(None), ..LoopPatch::default() };
                self.store.update_loop(&row.id, patch).await?;
            }
        }
        self.tell_decision(row, decision).await
    }

    /// Half of the rounds are used: for the log and `loop status`, no reason to call anybody.
    async fn note_half(&self, row: &LoopRow, observed: &Observed) -> Result<(), StoreError> {
        let rounds = rounds(&observed.status, &observed.config, &observed.facts);
        let half = rounds.of.is_some_and(|of| rounds.done == of.div_ceil(2));
        let Some(notice) = rounds.notice().filter(|_| half && rounds.turns == 0) else { return Ok(()) };
        let said = self.store.events_of_kind(&row.id, "notice").await?;
        let since = observed.facts.resumed.as_ref().map_or(0, |resume| resume.after_turn);
        let text = format!("since turn {since}: {notice}");
        if said.iter().any(|event| event.text == text) {
            return Ok(());
        }
        self.say(Some(&row.id), "notice", &text).await
    }

    /// Remembers the commit in which damage was first seen, before the hold that names it is written down.
    pub(crate) async fn note_damage(
        &self,
        row: &LoopRow,
        known: &Known,
        observed: &Observed,
    ) -> Result<(), StoreError> {
        let holds =
            matches!(observed.decided.decision, Decision::Held { why: Hold::Damaged | Hold::TwoNames, .. });
        match &observed.facts.damaged_at {
            Some(commit) if holds && known.damaged_at.is_none() => {
                self.say(Some(&row.id), "damage", commit).await
            }
            _ => Ok(()),
        }
    }

    /// Tells a person of a decision that they must know, once.
    pub(crate) async fn tell_decision(&self, row: &LoopRow, decision: &Decision) -> Result<(), StoreError> {
        match headline(decision) {
            (text, Some(title)) if row.up => self.tell_once(row, title, &decision.key(), &text).await,
            _ => Ok(()),
        }
    }

    /// Somebody should have been told and nobody could be: said once, for `loop log`.
    async fn note_untold(&self, row: &LoopRow) -> Result<(), StoreError> {
        if !self.store.events_of_kind(&row.id, "untold").await?.is_empty() {
            return Ok(());
        }
        let text = "nobody was told: no `tell:` is configured (`loop help tell`); `loop status` says it";
        self.say(Some(&row.id), "untold", text).await
    }

    /// Tells a person, unless they were told of this very thing: `what` names it.
    pub(crate) async fn tell_once(
        &self,
        row: &LoopRow,
        title: &str,
        what: &str,
        text: &str,
    ) -> Result<(), StoreError> {
        let mark = hex::encode(&Sha256::digest(format!("{title}|{what}"))[..8]);
        let _telling = self.telling.lock().await;
        let told = self.store.loop_row(&row.id).await?.and_then(|row| row.told).unwrap_or_default();
        let mut marks: Vec<&str> = told.split_whitespace().collect();
        if marks.contains(&mark.as_str()) {
            return Ok(());
        }
        marks.push(&mark);
        let told = marks[marks.len().saturating_sub(REMEMBERED)..].join(" ");
        self.store.update_loop(&row.id, LoopPatch { told: Some(Some(told)), ..LoopPatch::default() }).await?;
        // `held: …` says its title already.
        let said = if text.starts_with(title) { text.to_owned() } else { format!("{title}: {text}") };
        if self.options.tell.is_empty() {
            if matches!(title, "waiting" | "dead") {
                // A decision is in the log already; this would stand nowhere else.
                self.say(Some(&row.id), "person", &said).await?;
            }
            return self.note_untold(row).await;
        }
        self.say(Some(&row.id), "told", &said).await?;
        let headline = format!("loop {title}: {}", row.slug);
        let message = Message::new(Kind::of(title, what), &headline, text, &row.worktree, Timestamp::now());
        self.dispatch(&message.of_loop(&row.id));
        Ok(())
    }

    /// Sends a message by every channel, each in its own time; what does not go out is an incident.
    fn dispatch(&self, message: &Message) {
        for configured in self.options.tell.configured() {
            let (configured, message, me) = (configured.clone(), message.clone(), self.me.clone());
            let pauses = self.options.tell.pauses().to_vec();
            self.errands.spawn(async move {
                let Err(error) = patiently(&configured, &message, &pauses).await else { return };
                let Some(desk) = me.upgrade() else { return };
                let detail = format!("{}: {error}; {}", configured.name, error.next());
                let noted = desk.incident(
                    Severity::Medium,
                    message.loop_id.as_deref(),
                    "a person could not be told",
                    &detail,
                );
                if let Err(error) = noted.await {
                    tracing::error!(%error, "an incident cannot be recorded");
                }
            });
        }
    }
}
