//! What counts as a proof: what hook and records say about one turn, held against each other.

use jiff::{SignedDuration, Timestamp};

use super::{Event, Sights, Signal};
use crate::records::{RecordState, Recorded};

/// What hook and records say about one turn, held against each other.
pub(super) struct Turn<'a> {
    signal: Option<&'a Signal>,
    records: Option<&'a Recorded>,
    woken: Option<Timestamp>,
}

impl<'a> Turn<'a> {
    pub(super) fn new(sights: &Sights<'a>, woken: Option<Timestamp>) -> Self {
        Self { signal: sights.signal, records: sights.records, woken }
    }

    fn state(&self) -> Option<&'a RecordState> {
        self.records.map(|records| &records.state)
    }

    fn changed(&self) -> Option<Timestamp> {
        self.records.and_then(|records| records.changed)
    }

    fn of_one_conversation(&self) -> bool {
        let signal = self.signal.and_then(|signal| signal.conversation.as_deref());
        let records = self.records.and_then(|records| records.conversation.as_deref());
        signal.is_none() || records.is_none() || signal == records
    }

    /// The newest signal, where it is this one and of the conversation that was read.
    fn last(&self, event: Event) -> Option<&'a Signal> {
        self.signal.filter(|signal| signal.event == event && self.of_one_conversation())
    }

    /// The end that the hook told of this turn, background work or not.
    fn finished(&self) -> Option<&'a Signal> {
        let prompted = self.records.and_then(|records| records.prompt.as_ref()).map(|prompt| prompt.at);
        self.last(Event::Finished)
            .filter(|signal| Some(signal.at) >= self.woken && Some(signal.at) >= prompted)
    }

    pub(super) fn signal_proves(&self) -> bool {
        self.finished().is_some_and(|signal| signal.background == 0)
    }

    /// The records' own end of this turn.
    pub(super) fn records_prove(&self) -> bool {
        let Some(changed) = self.changed() else { return false };
        let started = self.signal.filter(|signal| signal.event == Event::Started).map(|signal| signal.at);
        self.state() == Some(&RecordState::Idle)
            && self.of_one_conversation()
            && Some(changed) >= self.woken
            && Some(changed) >= started
    }

    pub(super) fn started_and_not_ended(&self) -> bool {
        self.signal.is_some_and(|signal| signal.event == Event::Started) && !self.records_prove()
    }

    /// Whether the hook's word is newer than the records'.
    fn told_after_records(&self, signal: &Signal) -> bool {
        self.changed().is_none_or(|changed| changed <= signal.at)
    }

    pub(super) fn records_claim_work(&self) -> bool {
        let claims = matches!(self.state(), Some(RecordState::Working | RecordState::Asks(_)));
        claims && !self.finished().is_some_and(|signal| self.told_after_records(signal))
    }

    pub(super) fn records_are_still(&self) -> bool {
        matches!(self.state(), Some(RecordState::Still | RecordState::Idle))
            && self.changed().is_some_and(|changed| Some(changed) >= self.woken)
    }

    /// Why nothing can be told although nothing shows that it works, in words for a person.
    pub(super) fn why_records_are_silent(&self) -> String {
        match self.state() {
            Some(RecordState::Unreadable(why)) => why.clone(),
            Some(RecordState::Nothing) => "its records know of no conversation in this folder".to_owned(),
            Some(_) if self.woken.is_some() => "its records show nothing since its wake".to_owned(),
            _ => "neither its turn hook nor its records nor its screen tell how it stands".to_owned(),
        }
    }

    pub(super) fn records_unchanged_for(&self, now: Timestamp) -> SignedDuration {
        self.changed().map_or(SignedDuration::ZERO, |changed| now.duration_since(changed))
    }

    pub(super) fn background(&self) -> u32 {
        let recorded = match self.state() {
            Some(RecordState::Background(count)) => *count,
            _ => 0,
        };
        let ended = matches!(self.state(), Some(RecordState::Idle | RecordState::Background(_)));
        match self.finished() {
            Some(signal) if !ended || self.told_after_records(signal) => signal.background,
            _ => recorded,
        }
    }

    pub(super) fn asks(&self) -> Option<String> {
        if let Some(RecordState::Asks(says)) = self.state()
            && self.records_claim_work()
        {
            return Some(says.clone());
        }
        let signal = self.last(Event::Asks)?;
        self.told_after_records(signal)
            .then(|| signal.says.clone().unwrap_or_else(|| "it waits for an answer".to_owned()))
    }

    pub(super) fn limited(&self) -> Option<&'a str> {
        let Some(RecordState::Limited(words)) = self.state() else { return None };
        let changed = self.changed();
        let begun_since = self.signal.filter(|signal| signal.event == Event::Started).map(|signal| signal.at);
        (changed >= self.woken && changed >= begun_since).then_some(words)
    }

    pub(super) fn conversation(&self) -> Option<String> {
        let told = self.signal.and_then(|signal| signal.conversation.clone());
        told.or_else(|| self.records.and_then(|records| records.conversation.clone()))
    }
}
