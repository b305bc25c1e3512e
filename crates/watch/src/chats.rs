//! Records with a file of JSON lines per conversation: which file, read anew or only further.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use loop_core::records::{RecordState, Recorded};
use serde_json::Value;

use crate::story::Story;
use crate::tail::{Stamp, Tail};

/// How far from the end a file is read at first, and further while nothing there tells how the turn stands.
const REACHES: [u64; 3] = [1 << 20, 8 << 20, 64 << 20];

/// What was written since the last look is read up to this much; beyond it the end is read anew.
const MOST_NEW: u64 = 64 << 20;

/// Others that changed this recently are worth a note.
const RECENTLY: SignedDuration = SignedDuration::from_hours(1);

/// What the lines of one conversation tell.
pub(crate) trait Lines: Default + Send + 'static {
    /// Takes the next line.
    fn take(&mut self, line: &Value);

    /// How the newest turn stands, and what it was asked.
    fn story(&self) -> &Story;

    /// How much background work runs that was begun `since`.
    fn background(&self, _since: Option<Timestamp>) -> u32 {
        0
    }
}

/// Where the files of one agent's conversations lie.
pub(crate) trait Shelf: Send + 'static {
    /// Finds the asked conversation's file, or those of all main conversations of the agent's folder.
    fn find(&mut self, asked: Option<&str>, now: Timestamp) -> io::Result<Vec<Chat>>;

    /// When the agent's process began, where that is known.
    fn since(&self) -> Option<Timestamp> {
        None
    }
}

/// A conversation's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chat {
    pub(crate) id: String,
    pub(crate) path: PathBuf,
    pub(crate) stamp: Stamp,
}

/// The conversations of one agent.
pub(crate) struct Chats<S, L> {
    shelf: S,
    reading: Option<Reading<L>>,
}

struct Reading<L> {
    path: PathBuf,
    tail: Tail,
    lines: L,
    /// How much had been told when a line came that was too long to be read.
    lost: Option<u64>,
}

/// A longer line is not searched for a line behind half of another.
const MOST_GLUED: usize = 1 << 20;

/// In so many places of one line the beginning of another is looked for.
const MOST_BEGINNINGS: usize = 64;

impl<S: Shelf, L: Lines> Chats<S, L> {
    pub(crate) fn new(shelf: S) -> Self {
        Self { shelf, reading: None }
    }

    pub(crate) fn look(&mut self, asked: Option<&str>, now: Timestamp) -> Recorded {
        let unreadable = |error: &io::Error, what: &Path| {
            let why = format!("cannot read {}: {error}", what.display());
            Recorded::without_conversation(RecordState::Unreadable(why))
        };
        let chats = match self.shelf.find(asked, now) {
            Ok(chats) => chats,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return unreadable(&error, Path::new("its records")),
        };
        let Some(chat) = chats.iter().max_by_key(|chat| chat.stamp.modified) else {
            self.reading = None;
            return Recorded::without_conversation(RecordState::Nothing);
        };
        let mut recorded = match self.read(chat) {
            Ok(()) => self.recorded(chat),
            // It was there a moment ago.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.reading = None;
                return Recorded::without_conversation(RecordState::Nothing);
            }
            Err(error) => {
                self.reading = None;
                unreadable(&error, &chat.path)
            }
        };
        recorded.conversation = Some(chat.id.clone());
        recorded.note = note(&chats, chat, now);
        recorded
    }

    /// Reads what is new, or the end of a file that is not the one that was read before.
    fn read(&mut self, chat: &Chat) -> io::Result<()> {
        if let Some(reading) = &mut self.reading
            && reading.path == chat.path
            && reading.tail.continues(chat.stamp)
            && reading.tail.left(chat.stamp) <= MOST_NEW
        {
            // The same size with another time can be a file that was written over in place.
            if reading.tail.stamp() == Some(chat.stamp) {
                return Ok(());
            }
            if reading.tail.left(chat.stamp) > 0 {
                return reading.further();
            }
        }
        self.reading = None;
        for reach in REACHES {
            let mut reading = Reading {
                path: chat.path.clone(),
                tail: Tail::near_the_end(chat.stamp, reach),
                lines: L::default(),
                lost: None,
            };
            reading.further()?;
            let enough = reading.lines.story().is_told() || reading.tail.is_whole();
            self.reading = Some(reading);
            if enough {
                break;
            }
        }
        Ok(())
    }

    fn recorded(&self, chat: &Chat) -> Recorded {
        let mut recorded = Recorded::without_conversation(RecordState::Still);
        let modified = Timestamp::new(chat.stamp.modified.0, chat.stamp.modified.1 as i32).ok();
        let Some(reading) = &self.reading else { return recorded };
        let story = reading.lines.story();
        let background = reading.lines.background(self.shelf.since());
        recorded.prompt = story.prompt().cloned();
        recorded.state = match story.state() {
            Some(RecordState::Idle) if background > 0 => RecordState::Background(background),
            // What came after the end could not be read: perhaps the next turn has begun.
            Some(RecordState::Idle) if reading.lost == Some(story.told()) => RecordState::Still,
            Some(state) => state.clone(),
            // A file that was only just opened for a conversation.
            None if reading.tail.is_whole() => RecordState::Nothing,
            None => RecordState::Unreadable(format!(
                "the last {} MB of {} tell of no turn",
                REACHES[REACHES.len() - 1] >> 20,
                chat.path.display()
            )),
        };
        recorded.changed = match recorded.state {
            RecordState::Idle if story.changed().is_some() => story.changed(),
            _ => story.changed().max(modified),
        };
        recorded
    }
}

impl<L: Lines> Reading<L> {
    fn further(&mut self) -> io::Result<()> {
        let Self { path, tail, lines, lost } = self;
        tail.read(path, |line| match line.map(parsed) {
            Some(Some(line)) => lines.take(&line),
            // It is half of one, of a newer form, or damaged: the others still count.
            Some(None) => {}
            None => *lost = Some(lines.story().told()),
        })?;
        Ok(())
    }
}

/// The object in a line. Damaged UTF-8 within a string is no reason to lose what stands around it, and half a line of a
/// program that died in the middle of it none to lose the next, which was written behind it.
fn parsed(line: &[u8]) -> Option<Value> {
    let object = |text: &[u8]| serde_json::from_slice(text).ok().filter(Value::is_object);
    if let Some(value) = object(line) {
        return Some(value);
    }
    let text = String::from_utf8_lossy(line);
    object(text.as_bytes()).or_else(|| {
        let is_short = text.len() <= MOST_GLUED;
        let mut beginnings =
            text.match_indices("{\"").filter(|(at, _)| is_short && *at > 0).take(MOST_BEGINNINGS);
        beginnings.find_map(|(at, _)| object(&text.as_bytes()[at..]))
    })
}

fn note(chats: &[Chat], read: &Chat, now: Timestamp) -> String {
    let recent = |chat: &&Chat| {
        let age = SignedDuration::from_secs(now.as_second().saturating_sub(chat.stamp.modified.0));
        chat.path != read.path && age < RECENTLY
    };
    match chats.iter().filter(recent).count() {
        0 => String::new(),
        others => format!("{} conversations in this folder are in use; the newest is read", others + 1),
    }
}

/// What the first lines of conversations say, remembered per file: they do not change any more.
#[derive(Debug)]
pub(crate) struct Heads<T> {
    known: HashMap<PathBuf, (u64, T)>,
}

impl<T> Default for Heads<T> {
    fn default() -> Self {
        Self { known: HashMap::new() }
    }
}

/// The most files whose heads are remembered.
const MOST_HEADS: usize = 20_000;

impl<T: Clone> Heads<T> {
    /// The head of `path`, read by `read` when the file is not known yet. What `read` cannot tell yet is asked again.
    pub(crate) fn of(
        &mut self,
        path: &Path,
        stamp: Stamp,
        read: impl FnOnce(&Path) -> io::Result<Option<T>>,
    ) -> Option<T> {
        if let Some((inode, head)) = self.known.get(path)
            && *inode == stamp.inode()
        {
            return Some(head.clone());
        }
        let head = read(path).ok().flatten()?;
        if self.known.len() >= MOST_HEADS {
            self.known.clear();
        }
        self.known.insert(path.to_owned(), (stamp.inode(), head.clone()));
        Some(head)
    }
}

/// Whether `id` can be part of a file's name and lead nowhere else.
pub(crate) fn is_file_name(id: &str) -> bool {
    !id.is_empty() && id.len() <= 200 && !id.contains(['/', '\0']) && !id.starts_with('.')
}
