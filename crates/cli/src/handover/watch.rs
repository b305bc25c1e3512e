//! Looking at the place of a hand-over until a whole one lies there.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::writer::{still_writes, writer};
use super::{MOST, Place};
use crate::failure::Failure;

/// A file that nobody is known to write counts as whole when it has stood still for so long.
const STILL: Duration = Duration::from_millis(200);

/// An empty one may be about to be written.
const STILL_EMPTY: Duration = Duration::from_secs(1);

/// File times lag behind the clock by as much: the kernel writes the time of its last tick.
const TICK: Duration = Duration::from_millis(20);

/// What was taken and never printed is left over when it has lain there for so long.
const LEFT_OVER: Duration = Duration::from_secs(10);

/// What a file was when it was looked at; another one of the same name has another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    identity: (u64, u64),
    size: u64,
    /// Seconds and nanoseconds since 1970.
    changed: (i64, i64),
}

impl Stamp {
    /// The stamp of a file.
    pub(crate) fn of(file: &Metadata) -> Self {
        Self {
            identity: (file.dev(), file.ino()),
            size: file.size(),
            changed: (file.mtime(), file.mtime_nsec()),
        }
    }

    fn changed(&self) -> Timestamp {
        let (seconds, nanoseconds) = self.changed;
        Timestamp::new(seconds, i32::try_from(nanoseconds).unwrap_or(0)).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// Whether it was written at `since` or later, as far as its file system can tell.
    fn is_since(&self, since: Timestamp) -> bool {
        let changed = self.changed();
        // Some file systems keep whole seconds only.
        let keeps_seconds = self.changed.1 == 0;
        let lag = if keeps_seconds { Duration::from_secs(1) } else { TICK };
        changed + lag >= since
    }

    /// Whether it is whole: it has not changed for a while, by its own time or by what was seen.
    fn is_still(&self, now: Timestamp, seen_for: Duration) -> bool {
        let needed = if self.size == 0 { STILL_EMPTY } else { STILL };
        let age = Duration::try_from(now.duration_since(self.changed())).unwrap_or_default();
        age >= needed || seen_for >= needed
    }
}

/// What a look gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// There is nothing yet.
    Nothing,
    /// One that is older than what is waited for, of this time.
    Older(Timestamp),
    /// One that may still grow; the process that has it open, where known.
    Unfinished(Option<u32>),
    /// One that can be taken.
    Whole(Stamp),
}

/// Looks again and again.
#[derive(Debug)]
pub(crate) struct Watch {
    place: Place,
    since: Option<Timestamp>,
    last: Option<(Stamp, Instant)>,
    writer: Option<u32>,
}

impl Watch {
    /// Watches the place for a file that was written at `since` or later.
    pub(crate) fn new(place: Place, since: Option<Timestamp>) -> Self {
        Self { place, since, last: None, writer: None }
    }

    /// Looks.
    ///
    /// # Errors
    /// Fails for what is no hand-over and will not become one: a link, a folder, a pipe, a file of more than 1 MB.
    pub(crate) fn look(&mut self) -> Result<Seen, Failure> {
        let Some(file) = self.place.file()? else {
            self.last = None;
            return Ok(Seen::Nothing);
        };
        let stamp = Stamp::of(&file);
        if self.since.is_some_and(|since| !stamp.is_since(since)) {
            return Ok(Seen::Older(stamp.changed()));
        }
        let now = Instant::now();
        let since = match self.last {
            Some((last, since)) if last == stamp => since,
            _ => {
                self.last = Some((stamp, now));
                now
            }
        };
        if !stamp.is_still(Timestamp::now(), now - since) {
            return Ok(Seen::Unfinished(self.writer));
        }
        // Who was seen writing is asked first: the others need not be looked through ten times a second.
        self.writer = match self.writer {
            Some(pid) if still_writes(pid, &self.place.path) => Some(pid),
            _ => writer(&self.place.path),
        };
        if self.writer.is_some() {
            return Ok(Seen::Unfinished(self.writer));
        }
        if stamp.size > MOST {
            return Err(Failure::say(format!(
                "{} has {} bytes, more than the 1 MB that a hand-over may have; it was left there",
                self.place.path.display(),
                stamp.size
            ))
            .next("put the text into a file of its own, and only its name into the hand-over"));
        }
        Ok(Seen::Whole(stamp))
    }

    /// Files that were taken and never printed: whoever took them was killed in between.
    pub(crate) fn left_over(&self) -> Vec<PathBuf> {
        let mut begin = self.place.name.clone();
        begin.push(".taken-");
        let Ok(names) = self.place.folder.read_dir() else { return Vec::new() };
        let now = Timestamp::now().as_second();
        let is_old = |file: Metadata| now - file.ctime() > LEFT_OVER.as_secs() as i64;
        let mut found: Vec<PathBuf> = names
            .flatten()
            .filter(|entry| entry.file_name().as_encoded_bytes().starts_with(begin.as_encoded_bytes()))
            .filter(|entry| entry.metadata().is_ok_and(is_old))
            .map(|entry| entry.path())
            .collect();
        found.sort();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(size: u64, changed: (i64, i64)) -> Stamp {
        Stamp { identity: (1, 2), size, changed }
    }

    fn at(seconds: i64, milliseconds: i64) -> Timestamp {
        Timestamp::from_millisecond(seconds * 1000 + milliseconds).unwrap_or_default()
    }

    #[test]
    fn a_file_is_whole_when_it_stands_still() {
        let milliseconds = Duration::from_millis;
        for (size, now, seen_for, expected) in [
            (1, at(100, 0), 0, false),
            (1, at(100, 199), 199, false),
            (1, at(100, 200), 0, true),
            // A clock that is behind: what was seen counts.
            (1, at(90, 0), 100, false),
            (1, at(90, 0), 200, true),
            (0, at(100, 999), 999, false),
            (0, at(101, 0), 0, true),
            (0, at(90, 0), 1000, true),
        ] {
            let still = stamp(size, (100, 0)).is_still(now, milliseconds(seen_for));
            assert_eq!(still, expected, "{size} {now} {seen_for}");
        }
    }

    #[test]
    fn older_ones_are_told_from_newer_ones() {
        for (changed, since, expected) in [
            ((100, 500_000_000), at(100, 500), true),
            ((100, 500_000_000), at(100, 510), true),
            ((100, 500_000_000), at(100, 600), false),
            ((100, 0), at(100, 900), true),
            ((100, 0), at(101, 500), false),
            ((101, 1), at(100, 0), true),
        ] {
            assert_eq!(stamp(1, changed).is_since(since), expected, "{changed:?} {since}");
        }
    }
}
