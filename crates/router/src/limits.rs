//! Usage limits: read once, waited out, and looked at when they end.
//!
//! What a limit says (`resets 3pm`) means something else a minute after three, so its end is read when it is first
//! seen, and remembered. Nothing is typed before; a while after its end the agent is woken as the next attempt, where
//! its composer is to be seen and empty.

use jiff::{SignedDuration, Timestamp};
use loop_core::config::OnLimit;
use loop_core::{Config, Name, limit};
use loop_store::{Delivery, Limited, LoopPatch, LoopRow, StoreError};

use crate::desk::Desk;
use crate::facts::LIMITED;

/// Two ends that are less apart are one.
const SAME: SignedDuration = SignedDuration::from_secs(120);

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
        if let Some(known) = known.as_ref().filter(|known| is_same(known.until, until, now)) {
            return Ok(known.clone());
        }
        let since = known.as_ref().map_or(now, |known| known.since);
        let skipped = known.is_some_and(|known| known.skipped);
        let limited = Limited { words: words.to_owned(), since, until, skipped };
        self.store.keep_limit(&row.id, agent, Some(&limited)).await?;
        self.say(Some(&row.id), "delivery", &self.met_words(agent, &limited)).await?;
        Ok(limited)
    }

    /// Forgets the limit of an agent that is seen without one, or that is woken.
    pub(crate) async fn forget_limit(&self, row: &LoopRow, agent: &Name) -> Result<(), StoreError> {
        if self.store.witnessed(&row.id, agent).await?.limited.is_some() {
            self.store.keep_limit(&row.id, agent, None).await?;
        }
        Ok(())
    }

    /// That an agent has met a limit, and when it ends.
    pub(crate) fn met_words(&self, agent: &Name, limited: &Limited) -> String {
        format!("{agent} {LIMITED_WORDS}: {} ({})", limited.words, self.ends(limited))
    }

    /// Tells a person, once per wake, what is waited for.
    pub(crate) async fn tell_limit(
        &self,
        row: &LoopRow,
        delivery: &Delivery,
        why: &str,
    ) -> Result<(), StoreError> {
        self.tell_once(row, "waiting", &format!("limited {}", delivery.id), why).await
    }

    /// When a limit ends, in words.
    fn ends(&self, limited: &Limited) -> String {
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
        let why = self.met_words(agent, limited);
        match on_limit {
            OnLimit::Skip => {
                if !row.skipped.contains(agent) {
                    let mine = Limited { skipped: true, ..limited.clone() };
                    self.store.keep_limit(&row.id, agent, Some(&mine)).await?;
                    let mut skipped = row.skipped.clone();
                    skipped.push(agent.clone());
                    self.change(row, LoopPatch { skipped: Some(skipped), ..LoopPatch::default() }).await?;
                    // Where nobody knows the end, nobody but a person takes it in again.
                    let how_long = match limited.until {
                        Some(_) => "it is skipped until then".to_owned(),
                        None => format!("it is skipped until `loop skip {agent} --undo`"),
                    };
                    self.say(Some(&row.id), "steer", &format!("{why}: {how_long}")).await?;
                    self.tell_once(row, "waiting", &format!("skipped {why}"), &format!("{why}; {how_long}"))
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

    /// Lets agents take part again who were left out for limits that have ended. Whom a person leaves out stays out.
    pub(crate) async fn unskip(&self) -> Result<(), StoreError> {
        let now = Timestamp::now();
        for (loop_id, agent, limited) in self.store.limited().await? {
            let Some(row) = self.store.loop_row(&loop_id).await? else { continue };
            let is_over = limited.until.is_some_and(|until| now >= until + signed(self.options.limit_margin));
            if !is_over || !limited.skipped || row.paused.is_some() {
                continue;
            }
            self.store.keep_limit(&loop_id, &agent, Some(&Limited { skipped: false, ..limited })).await?;
            if !row.skipped.contains(&agent) {
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

/// Words that count down (`in 90 seconds`) tell of one limit, also at their end, where they tell of no time any more.
fn is_same(known: Option<Timestamp>, read: Option<Timestamp>, now: Timestamp) -> bool {
    known.is_some_and(|known| known.duration_since(read.unwrap_or(now)).abs() < SAME)
}

fn signed(time: std::time::Duration) -> SignedDuration {
    SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX)
}
