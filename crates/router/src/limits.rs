//! Usage limits: read once, waited out, and looked at when they end.
//!
//! What a limit says (`resets 3pm`) means something else a minute after three, so its end is read when it is first
//! seen, and remembered. Nothing is typed before; a while after its end the agent is woken as the next attempt, where
//! its composer is to be seen and empty.

use jiff::{SignedDuration, Timestamp};
use loop_core::config::OnLimit;
use loop_core::{Config, Name, limit};
use loop_store::{Limited, LoopPatch, LoopRow, StoreError};

use crate::desk::Desk;
use crate::facts::LIMITED;

/// What is done about an agent that has met a usage limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outlook {
    /// It is waited for.
    Wait,
    /// The limit has ended: it may be woken, whatever its window still shows.
    Over,
    /// Nobody waits for it: the loop is held, or it is left out.
    Given,
}

impl Desk {
    /// The limit that an agent shows with these words: what is on record of it, or written down now.
    pub(crate) async fn note_limit(
        &self,
        row: &LoopRow,
        agent: &Name,
        words: &str,
    ) -> Result<Limited, StoreError> {
        let known = self.store.witnessed(&row.id, agent).await?.limited;
        if let Some(known) = known.as_ref().filter(|known| known.words == words) {
            return Ok(known.clone());
        }
        let now = Timestamp::now();
        let until = limit::until(words, &now.to_zoned_datetime(self.options.time_zone.clone()));
        let since = known.map_or(now, |known| known.since);
        let limited = Limited { words: words.to_owned(), since, until };
        self.store.keep_limit(&row.id, agent, Some(&limited)).await?;
        let text = format!("{agent} has met a usage limit: {words} ({})", self.ends(&limited));
        self.say(Some(&row.id), "delivery", &text).await?;
        Ok(limited)
    }

    /// Forgets the limit of an agent that is seen without one, or that is woken.
    pub(crate) async fn forget_limit(&self, row: &LoopRow, agent: &Name) -> Result<(), StoreError> {
        if self.store.witnessed(&row.id, agent).await?.limited.is_some() {
            self.store.keep_limit(&row.id, agent, None).await?;
        }
        Ok(())
    }

    /// When a limit ends, in words.
    pub(crate) fn ends(&self, limited: &Limited) -> String {
        match limited.until {
            Some(until) => {
                let until = until.to_zoned_datetime(self.options.time_zone.clone());
                format!("until {}", until.strftime("%Y-%m-%d %H:%M %Z"))
            }
            None => "until when cannot be read".to_owned(),
        }
    }

    /// Does about a limit what the agent's `on_limit` says.
    pub(crate) async fn outlook(
        &self,
        row: &LoopRow,
        config: &Config,
        agent: &Name,
        limited: &Limited,
    ) -> Result<Outlook, StoreError> {
        let now = Timestamp::now();
        if limited.until.is_some_and(|until| now >= until + signed(self.options.limit_margin)) {
            return Ok(Outlook::Over);
        }
        let on_limit = config.agent(agent).map(|agent| agent.on_limit).unwrap_or_default();
        let why = format!("{agent} {LIMITED_WORDS}: {} ({})", limited.words, self.ends(limited));
        match on_limit {
            OnLimit::Skip => {
                if !row.skipped.contains(agent) {
                    let mut skipped = row.skipped.clone();
                    skipped.push(agent.clone());
                    self.change(row, LoopPatch { skipped: Some(skipped), ..LoopPatch::default() }).await?;
                    self.say(Some(&row.id), "steer", &format!("{why}: it is skipped until then")).await?;
                    self.tell_once(
                        row,
                        "waiting",
                        &format!("skipped {why}"),
                        &format!("{why}; it is skipped"),
                    )
                    .await?;
                }
                Ok(Outlook::Given)
            }
            OnLimit::Hold => self.hold_for(row, agent, limited, &why).await,
            OnLimit::Wait if limited.until.is_none() => self.hold_for(row, agent, limited, &why).await,
            OnLimit::Wait if now.duration_since(limited.since) >= signed(self.options.limit_patience) => {
                self.hold_for(row, agent, limited, &why).await
            }
            OnLimit::Wait => Ok(Outlook::Wait),
        }
    }

    /// Holds the loop until a person goes on; then the agent is woken whatever its window still shows.
    async fn hold_for(
        &self,
        row: &LoopRow,
        agent: &Name,
        limited: &Limited,
        why: &str,
    ) -> Result<Outlook, StoreError> {
        let ended =
            Limited { until: Some(limited.since - signed(self.options.limit_margin)), ..limited.clone() };
        self.store.keep_limit(&row.id, agent, Some(&ended)).await?;
        self.change(row, LoopPatch { paused: Some(Some(why.to_owned())), ..LoopPatch::default() }).await?;
        self.say(Some(&row.id), "steer", &format!("held: {why}")).await?;
        Ok(Outlook::Given)
    }

    /// Lets agents take part again whose limits have ended.
    pub(crate) async fn unskip(&self) -> Result<(), StoreError> {
        let now = Timestamp::now();
        for (loop_id, agent, limited) in self.store.limited().await? {
            let Some(row) = self.store.loop_row(&loop_id).await? else { continue };
            let is_over = limited.until.is_some_and(|until| now >= until + signed(self.options.limit_margin));
            if !is_over || !row.skipped.contains(&agent) || row.paused.is_some() {
                continue;
            }
            let skips = self.config_of(&row).is_ok_and(|config| {
                config.agent(&agent).is_some_and(|agent| agent.on_limit == OnLimit::Skip)
            });
            if !skips {
                continue;
            }
            let skipped = row.skipped.iter().filter(|other| **other != agent).cloned().collect();
            self.change(&row, LoopPatch { skipped: Some(skipped), ..LoopPatch::default() }).await?;
            self.say(
                Some(&row.id),
                "steer",
                &format!("the usage limit of {agent} has ended: it takes part again"),
            )
            .await?;
        }
        Ok(())
    }

    async fn change(&self, row: &LoopRow, patch: LoopPatch) -> Result<(), StoreError> {
        self.store.update_loop(&row.id, patch).await?;
        self.ring(&row.id, "limit");
        Ok(())
    }
}

/// The words by which a person knows such a hold.
const LIMITED_WORDS: &str = "has met a usage limit";

/// Why a wake that met a limit came to nothing; it counts as no miss.
pub(crate) fn met(limited: &Limited) -> String {
    format!("{LIMITED}: {}", limited.words)
}

fn signed(time: std::time::Duration) -> SignedDuration {
    SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX)
}
