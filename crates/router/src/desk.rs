//! What relay, courier and the HTTP service share.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use loop_store::{Severity, Store, StoreError};
use loop_transport::{Transport, WaitRoom};
use tokio::sync::{Notify, broadcast};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::metrics::Counters;
use crate::options::Options;
use crate::patience::Patience;
use crate::rendezvous::Place;
use crate::seats::Seats;
use crate::verify::Job;
use crate::witness::Watchers;

/// The router's desk: one per router, shared by all its tasks.
pub struct Desk {
    pub(crate) options: Options,
    pub(crate) store: Store,
    pub(crate) seats: Seats,
    pub(crate) transports: HashMap<String, Arc<dyn Transport>>,
    pub(crate) wait_room: WaitRoom,
    pub(crate) counters: Counters,
    pub(crate) rung: Rung,
    pub(crate) patience: Patience,
    /// The words of ended usage limits past which deliveries were sent.
    pub(crate) ended: Mutex<HashMap<String, String>>,
    /// Who reads the agents' records.
    pub(crate) watchers: Watchers,
    /// What the relay said about loops that it could not read, so that it says it once.
    pub(crate) complaints: Mutex<HashMap<String, String>>,
    /// Loops that are looked at again in a moment anyway.
    pub(crate) expected: Mutex<HashSet<String>>,
    /// Runs of `verify` to be started.
    pub(crate) verify_jobs: tokio::sync::mpsc::UnboundedSender<Job>,
    /// Held while it is looked up and noted what a person was told: of two that tell the same, one does.
    pub(crate) telling: tokio::sync::Mutex<()>,
    /// Messages to people that are on their way.
    pub(crate) errands: TaskTracker,
    /// Deliveries whose text is being put into a window right now.
    pub(crate) sending: Mutex<HashSet<String>>,
    /// Rung whenever the courier should look.
    pub(crate) bell: Notify,
    /// Loops to be looked at.
    pub(crate) notices: tokio::sync::mpsc::UnboundedSender<crate::relay::Notice>,
    /// What happens, for those who listen.
    pub(crate) news: broadcast::Sender<News>,
    /// Rung when a loop was added or ended.
    pub(crate) loops_changed: Notify,
    pub(crate) stop: CancellationToken,
    /// Where this router is found.
    pub(crate) place: Place,
    /// The desk itself, for what happens in a moment.
    pub(crate) me: std::sync::Weak<Desk>,
    /// The name under which this router holds leases.
    pub(crate) owner: String,
}

/// One line of news, as the event stream carries it.
#[derive(Debug, Clone, serde::Serialize)]
pub struct News {
    /// The loop it belongs to.
    pub loop_id: Option<String>,
    /// When.
    pub at: Timestamp,
    /// `turn`, `decision`, `delivery`, `told`, `untold`, `person`, `steer`, `verify`, `router`.
    pub kind: String,
    /// In words.
    pub text: String,
}

impl Desk {
    /// Writes a line into a loop's own log and tells those who listen.
    pub(crate) async fn say(&self, loop_id: Option<&str>, kind: &str, text: &str) -> Result<(), StoreError> {
        let at = Timestamp::now();
        if let Some(loop_id) = loop_id {
            self.store.event(loop_id, at, kind, text).await?;
        }
        self.announce(loop_id, at, kind, text);
        Ok(())
    }

    /// Writes down that something went wrong, for `loop incidents`.
    pub(crate) async fn incident(
        &self,
        severity: Severity,
        loop_id: Option<&str>,
        what: &str,
        detail: &str,
    ) -> Result<(), StoreError> {
        self.store
            .incident(&loop_store::Incident::new(Timestamp::now(), severity, loop_id, what, detail))
            .await
    }

    /// Tells those who listen of a line that is in the log already.
    pub(crate) fn announce(&self, loop_id: Option<&str>, at: Timestamp, kind: &str, text: &str) {
        // Nobody listening is no error.
        let _ = self.news.send(News {
            loop_id: loop_id.map(str::to_owned),
            at,
            kind: kind.to_owned(),
            text: text.to_owned(),
        });
    }

    /// Rings for a loop.
    pub(crate) fn ring(&self, loop_id: &str, from: &'static str) {
        // The relay's end is gone only while the router stops.
        let _ = self.notices.send(crate::relay::Notice { loop_id: loop_id.to_owned(), from });
    }

    /// Writes down that this delivery is sent past a usage limit that has ended, with its words.
    pub(crate) fn note_ended(&self, delivery: &str, words: &str) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.insert(delivery.to_owned(), words.to_owned());
    }

    /// Whether these are the words of the limit past which this delivery was sent.
    pub(crate) fn has_ended(&self, delivery: &str, words: &str) -> bool {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.get(delivery).is_some_and(|of| of == words)
    }

    /// Forgets what is known of the ended limits of other deliveries.
    pub(crate) fn keep_ended(&self, is_kept: impl Fn(&str) -> bool) {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).retain(|delivery, _| is_kept(delivery));
    }

    /// Whether the delivery's text is being sent right now.
    pub(crate) fn is_sending(&self, delivery: &str) -> bool {
        self.sending.lock().unwrap_or_else(PoisonError::into_inner).contains(delivery)
    }

    /// Writes down that the delivery's text is being sent, or no more.
    pub(crate) fn note_sending(&self, delivery: &str, is_sending: bool) {
        let mut sending = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        match is_sending {
            true => sending.insert(delivery.to_owned()),
            false => sending.remove(delivery),
        };
    }

    /// Whether the loop is looked at again in a moment, because git is in the middle of something.
    pub(crate) fn is_expected(&self, loop_id: &str) -> bool {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner).contains(loop_id)
    }

    /// Rings for a loop in a moment, unless that is to happen already: git is in the middle of something there, and
    /// its end rings in no reliable way.
    pub(crate) fn look_again(&self, loop_id: &str) {
        let mut expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        if !expected.insert(loop_id.to_owned()) {
            return;
        }
        let (loop_id, notices, me) = (loop_id.to_owned(), self.notices.clone(), self.me.clone());
        let pause = self.options.look;
        tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            if let Some(desk) = me.upgrade() {
                desk.expected.lock().unwrap_or_else(PoisonError::into_inner).remove(&loop_id);
            }
            // The relay's end is gone only while the router stops.
            let _ = notices.send(crate::relay::Notice { loop_id, from: "git" });
        });
    }
}

/// The decision of each loop that a ring was last told.
#[derive(Default)]
pub(crate) struct Rung {
    told: Mutex<HashMap<String, String>>,
}

impl Rung {
    /// Whether no ring for this loop was told this decision before; from now on one was.
    pub(crate) fn is_new(&self, loop_id: &str, decision: &str) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.insert(loop_id.to_owned(), decision.to_owned()).as_deref() != Some(decision)
    }
}
