//! Open repositories, one seat each: a loop is read by one notice at a time, and not again while nothing is new.

use std::collections::HashMap;
use std::sync::Arc;

use loop_core::DeliveryState;
use loop_store::{Delivery, LoopRow};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::reading::Reader;

/// What is kept of one loop between two looks.
#[derive(Default)]
pub(crate) struct Seat {
    pub(crate) reader: Option<Reader>,
    pub(crate) seen: Option<Seen>,
}

/// From what the last decision was made: equal means that reading again would lead to the same.
#[derive(PartialEq)]
pub(crate) struct Seen {
    row: LoopRow,
    open: Vec<(String, DeliveryState)>,
    tip: String,
}

impl Seen {
    pub(crate) fn new(row: &LoopRow, deliveries: &[Delivery], tip: String) -> Self {
        Self { row: row.clone(), open: open(deliveries.iter()), tip }
    }
}

fn open<'a>(deliveries: impl Iterator<Item = &'a Delivery>) -> Vec<(String, DeliveryState)> {
    let open = deliveries.filter(|delivery| !delivery.state.is_final());
    let mut open: Vec<_> = open.map(|delivery| (delivery.id.clone(), delivery.state)).collect();
    open.sort_by(|left, right| left.0.cmp(&right.0));
    open
}

/// Every loop's seat.
#[derive(Default)]
pub(crate) struct Seats {
    all: Mutex<HashMap<String, Arc<Mutex<Seat>>>>,
}

impl Seats {
    /// Waits until the loop's seat is free and takes it.
    pub(crate) async fn take(&self, loop_id: &str) -> OwnedMutexGuard<Seat> {
        let seat = Arc::clone(self.all.lock().await.entry(loop_id.to_owned()).or_default());
        seat.lock_owned().await
    }

    /// Closes what is kept open of a loop that has ended.
    pub(crate) async fn close(&self, loop_id: &str) {
        self.all.lock().await.remove(loop_id);
    }

    /// Returns those of `rows` at which something may be new, by id: their row or deliveries are not as they were
    /// at the last look, or the branch has another tip.
    pub(crate) async fn with_news(&self, rows: Vec<LoopRow>, deliveries: &[Delivery]) -> Vec<String> {
        let mut by_loop: HashMap<&str, Vec<&Delivery>> = HashMap::new();
        for delivery in deliveries {
            by_loop.entry(&delivery.loop_id).or_default().push(delivery);
        }
        let mut news = Vec::new();
        let mut same = Vec::new();
        let all = self.all.lock().await;
        for row in rows {
            let open = open(by_loop.remove(row.id.as_str()).unwrap_or_default().into_iter());
            let seat = all.get(&row.id).and_then(|seat| Arc::clone(seat).try_lock_owned().ok());
            let seat = seat
                .filter(|seat| seat.seen.as_ref().is_some_and(|seen| seen.row == row && seen.open == open));
            match seat {
                Some(seat) => same.push((row, seat)),
                None => news.push(row.id),
            }
        }
        drop(all);
        let moved = tokio::task::spawn_blocking(move || {
            let moved = same.into_iter().filter(|(row, seat)| !is_at_rest(row, seat));
            moved.map(|(row, _)| row.id).collect::<Vec<_>>()
        });
        news.extend(moved.await.unwrap_or_default());
        news
    }
}

/// Whether the branch is where it was.
fn is_at_rest(row: &LoopRow, seat: &Seat) -> bool {
    let (Some(reader), Some(seen)) = (&seat.reader, &seat.seen) else { return false };
    row.worktree.is_dir()
        && reader.tip(&row.branch).is_ok_and(|tip| tip.is_some_and(|tip| tip.as_str() == seen.tip))
}
