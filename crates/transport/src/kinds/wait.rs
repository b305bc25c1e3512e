//! The agent itself blocks in `loop wait NAME`, and is answered there.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use loop_core::{DeliveryState, Name};
use tokio::sync::oneshot;

use super::{Options, Row};
use crate::transport::{Presence, Progress, Receipt, Session, Transport, TransportError, Wake};

pub(super) const ROW: Row = Row {
    name: "wait",
    about: "the agent blocks in `loop wait NAME` and is answered there",
    open: |options: &Options| Arc::new(Wait { room: options.wait_room.clone() }),
};

/// How long a waiting agent may take to take the text: it only has to be polled once.
const HANDOVER: Duration = Duration::from_secs(5);

type Place = (String, Name);

/// A text on its way to a waiting agent, and the agent's word that it has it.
struct Handed {
    text: String,
    taken: oneshot::Sender<()>,
}

/// Where agents wait to be called. Clones are the same room.
#[derive(Clone, Default)]
pub struct WaitRoom {
    seats: Arc<Mutex<Seats>>,
}

impl std::fmt::Debug for WaitRoom {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("WaitRoom").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Seats {
    next: u64,
    taken: HashMap<Place, VecDeque<Waiter>>,
    /// When somebody was last called to a place.
    called: HashMap<Place, Instant>,
}

/// One that sits in a place.
struct Waiter {
    number: u64,
    /// When it began to wait, maybe in an earlier seat.
    since: Instant,
    sender: oneshot::Sender<Handed>,
}

/// Gives the seat back when the agent stops waiting.
struct Seat {
    room: WaitRoom,
    place: Place,
    number: u64,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut seats = self.room.seats.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waiters) = seats.taken.get_mut(&self.place) {
            waiters.retain(|waiter| waiter.number != self.number);
            if waiters.is_empty() {
                seats.taken.remove(&self.place);
            }
        }
    }
}

impl WaitRoom {
    /// Waits until `agent` is woken in this loop, and returns the text.
    ///
    /// Dropping the future gives the place back; a text is never handed to one that was dropped. `waited`: for how
    /// long the same agent has waited already, seat after seat. Who waited before another was called has not come
    /// back from that turn.
    pub async fn wait(&self, loop_id: &str, agent: &Name, waited: Duration) -> String {
        let now = Instant::now();
        let since = now.checked_sub(waited).unwrap_or(now);
        loop {
            let place = (loop_id.to_owned(), agent.clone());
            let (sender, receiver) = oneshot::channel();
            let number = {
                let mut seats = self.seats.lock().unwrap_or_else(PoisonError::into_inner);
                seats.next += 1;
                let number = seats.next;
                seats.taken.entry(place.clone()).or_default().push_back(Waiter { number, since, sender });
                number
            };
            let _seat = Seat { room: self.clone(), place, number };
            // Both errors mean that the caller gave up between handing over and being told: wait on.
            if let Ok(Handed { text, taken }) = receiver.await
                && taken.send(()).is_ok()
            {
                return text;
            }
        }
    }

    /// Whether somebody waits for `agent` to be woken.
    pub fn is_waiting(&self, loop_id: &str, agent: &Name) -> bool {
        self.presence(loop_id, agent).is_some()
    }

    /// Who waits for `agent` to be woken: one that came since somebody was called, or only such as waited before.
    fn presence(&self, loop_id: &str, agent: &Name) -> Option<Presence> {
        let place = (loop_id.to_owned(), agent.clone());
        let seats = self.seats.lock().unwrap_or_else(PoisonError::into_inner);
        let waiters = seats.taken.get(&place)?;
        let called = seats.called.get(&place);
        let came_back = waiters.iter().any(|waiter| called.is_none_or(|called| waiter.since > *called));
        Some(if came_back { Presence::Waiting } else { Presence::WaitingBehind })
    }

    /// Hands `text` to the one that has waited longest; `false` when nobody took it.
    async fn hand(&self, loop_id: &str, agent: &Name, text: &str) -> bool {
        let place = (loop_id.to_owned(), agent.clone());
        loop {
            let waiter = {
                let mut seats = self.seats.lock().unwrap_or_else(PoisonError::into_inner);
                let waiters = seats.taken.get_mut(&place);
                let waiter = waiters.and_then(VecDeque::pop_front);
                if seats.taken.get(&place).is_some_and(VecDeque::is_empty) {
                    seats.taken.remove(&place);
                }
                waiter
            };
            let Some(Waiter { sender, .. }) = waiter else { return false };
            let (taken, told) = oneshot::channel();
            let handed = Handed { text: text.to_owned(), taken };
            // One that has gone meanwhile is passed over; what it did not take is still ours to give.
            if sender.send(handed).is_ok() && matches!(tokio::time::timeout(HANDOVER, told).await, Ok(Ok(())))
            {
                let mut seats = self.seats.lock().unwrap_or_else(PoisonError::into_inner);
                seats.called.insert(place, Instant::now());
                return true;
            }
        }
    }
}

struct Wait {
    room: WaitRoom,
}

impl Wait {
    fn absent(session: &Session) -> Presence {
        Presence::Unknown(format!("not waiting: nobody is in `loop wait {}` now", session.agent))
    }
}

#[async_trait]
impl Transport for Wait {
    async fn probe(&self, session: &Session) -> Result<Presence, TransportError> {
        let waiting = self.room.presence(&session.loop_id, &session.agent);
        Ok(waiting.unwrap_or_else(|| Self::absent(session)))
    }

    async fn wake(
        &self,
        session: &Session,
        wake: &Wake,
        _progress: &dyn Progress,
    ) -> Result<Receipt, TransportError> {
        if !self.room.hand(&session.loop_id, &session.agent, &wake.text).await {
            return Err(TransportError::NotNow(Self::absent(session)));
        }
        Ok(Receipt {
            state: DeliveryState::Started,
            conversation: None,
            note: format!("answered its `loop wait {}`", session.agent),
            address: None,
        })
    }

    async fn interrupt(&self, session: &Session) -> Result<(), TransportError> {
        Err(TransportError::Failed(format!(
            "{} is reached by `loop wait` only and cannot be interrupted from here; stop it where it runs",
            session.agent
        )))
    }

    async fn capture(&self, _session: &Session) -> Result<String, TransportError> {
        Ok(String::new())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn name() -> Name {
        Name::new("CC").unwrap()
    }

    #[tokio::test]
    async fn one_wake_reaches_one_waiter() {
        let room = WaitRoom::default();
        let first = tokio::spawn({
            let room = room.clone();
            async move { room.wait("l", &name(), Duration::ZERO).await }
        });
        while !room.is_waiting("l", &name()) {
            tokio::task::yield_now().await;
        }
        assert!(!room.is_waiting("other", &name()));
        assert!(room.hand("l", &name(), "go").await);
        assert_eq!(first.await.unwrap(), "go");
        assert!(!room.hand("l", &name(), "again").await);
    }

    #[tokio::test]
    async fn who_waited_before_another_was_called_has_not_come_back() {
        let room = WaitRoom::default();
        let agent = name();
        let called = tokio::spawn({
            let room = room.clone();
            async move { room.wait("l", &name(), Duration::ZERO).await }
        });
        while !room.is_waiting("l", &agent) {
            tokio::task::yield_now().await;
        }
        let behind = room.wait("l", &agent, Duration::ZERO);
        tokio::pin!(behind);
        assert!(futures_poll_once(behind.as_mut()).await.is_none());
        assert_eq!(room.presence("l", &agent), Some(Presence::Waiting), "nobody was called yet");
        assert!(room.hand("l", &agent, "go").await);
        assert_eq!(called.await.unwrap(), "go");
        assert_eq!(room.presence("l", &agent), Some(Presence::WaitingBehind));
        {
            // The same, in a new seat; and one that has really come back.
            let again = room.wait("l", &agent, Duration::from_secs(20));
            tokio::pin!(again);
            assert!(futures_poll_once(again.as_mut()).await.is_none());
            assert_eq!(room.presence("l", &agent), Some(Presence::WaitingBehind));
            let back = room.wait("l", &agent, Duration::ZERO);
            tokio::pin!(back);
            assert!(futures_poll_once(back.as_mut()).await.is_none());
            assert_eq!(room.presence("l", &agent), Some(Presence::Waiting));
        }
        // For its next turn who waits behind is called like anybody.
        let (handed, text) = tokio::join!(room.hand("l", &agent, "next"), behind);
        assert_eq!((handed, text.as_str()), (true, "next"));
    }

    #[tokio::test]
    async fn one_that_gave_up_is_passed_over() {
        let room = WaitRoom::default();
        {
            let agent = name();
            let gone = room.wait("l", &agent, Duration::ZERO);
            tokio::pin!(gone);
            // Takes its seat, then leaves.
            assert!(futures_poll_once(gone.as_mut()).await.is_none());
            assert!(room.is_waiting("l", &name()));
        }
        assert!(!room.is_waiting("l", &name()));
        assert!(!room.hand("l", &name(), "go").await);
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_is_never_polled_again_takes_nothing() {
        let room = WaitRoom::default();
        let agent = name();
        let stuck = room.wait("l", &agent, Duration::ZERO);
        tokio::pin!(stuck);
        assert!(futures_poll_once(stuck.as_mut()).await.is_none());
        assert!(!room.hand("l", &name(), "go").await);
        // Polled after all, it does not take what was withdrawn, but waits on.
        assert!(futures_poll_once(stuck.as_mut()).await.is_none());
        assert!(room.is_waiting("l", &name()));
    }

    async fn futures_poll_once<F: Future>(mut future: std::pin::Pin<&mut F>) -> Option<F::Output> {
        std::future::poll_fn(|context| {
            std::task::Poll::Ready(match future.as_mut().poll(context) {
                std::task::Poll::Ready(output) => Some(output),
                std::task::Poll::Pending => None,
            })
        })
        .await
    }
}
