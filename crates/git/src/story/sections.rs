//! What of a STATUS.md is needed to follow its sections through the commits.

use std::collections::HashMap;
use std::sync::Arc;

use loop_core::{Name, Status};

use super::Seen;
use super::walk::Link;

/// The sections of one content of STATUS.md.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sections {
    pub(super) loop_id: Option<String>,
    /// Contents that share sections share these too, as most of them only grow.
    pub(super) list: Vec<Arc<Section>>,
}

/// One section, in the form that it has in one content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) author: Name,
    pub(super) fingerprint: String,
    /// Its length without white space.
    length: usize,
    /// What stands at its end without white space: enough to see what closed it.
    end: String,
}

/// How much of a section's end is kept.
const END: usize = 128;

impl Sections {
    pub(super) fn of(status: &Status) -> Self {
        let list = status.turns.iter().map(|turn| {
            let text = status.text.get(turn.span.clone()).unwrap_or_default();
            let packed: String = text.chars().filter(|c| !c.is_whitespace()).collect();
            let end = packed.char_indices().rev().nth(END - 1).map_or(0, |(at, _)| at);
            Arc::new(Section {
                author: turn.author.clone(),
                fingerprint: turn.fingerprint.clone(),
                length: packed.len(),
                end: packed[end..].to_owned(),
            })
        });
        Self { loop_id: status.loop_id.clone(), list: list.collect() }
    }

    /// How many sections these two have in common from the top.
    fn common(&self, other: &Self) -> usize {
        let pairs = self.list.iter().zip(&other.list);
        pairs.take_while(|(one, other)| Arc::ptr_eq(one, other) || key(one) == key(other)).count()
    }
}

/// A content that was read, kept because older ones usually are its beginning.
#[derive(Debug)]
pub(super) struct Read {
    text: Vec<u8>,
    /// Where each section begins.
    starts: Vec<usize>,
    pub(super) sections: Arc<Sections>,
}

impl Read {
    pub(super) fn of(status: Status) -> Self {
        let sections = Arc::new(Sections::of(&status));
        let starts = status.turns.iter().map(|turn| turn.span.start).collect();
        Self { text: status.text.into_bytes(), starts, sections }
    }

    /// Returns the sections of `older` without parsing it, if it is the beginning of this text up to a section.
    ///
    /// What a section's heading follows is complete: no block that is open there could hold a heading at the top
    /// level of the document. So the beginning alone has the same sections as it has here.
    pub(super) fn beginning(&self, older: &[u8]) -> Option<Arc<Sections>> {
        let older = older.trim_ascii_end();
        if !self.text.starts_with(older) {
            return None;
        }
        let count = self.starts.partition_point(|start| *start < older.len());
        let next = self.starts.get(count).copied().unwrap_or(self.text.len());
        if !self.text[older.len()..next].trim_ascii().is_empty() {
            return None;
        }
        if count == self.starts.len() {
            return Some(Arc::clone(&self.sections));
        }
        let list = self.sections.list[..count].to_vec();
        Some(Arc::new(Sections { loop_id: self.sections.loop_id.clone(), list }))
    }
}

impl Section {
    /// Whether this is `earlier` with nothing more than what closes a block that it had left open: the next append
    /// writes that, and it makes no new section of it.
    fn only_closed(&self, earlier: &Self) -> bool {
        let Some(more) = self.length.checked_sub(earlier.length).filter(|more| *more > 0) else {
            return false;
        };
        let Some(at) = self.end.len().checked_sub(more).filter(|at| self.end.is_char_boundary(*at)) else {
            return false;
        };
        let (kept, added) = self.end.split_at(at);
        self.author == earlier.author && earlier.end.ends_with(kept) && closes(added)
    }
}

/// What the append writes behind a closing mark, without white space, where the mark alone would give a verdict.
const CLOSED_NOTE: &str = "(closedhere)";

/// Whether a text without white space consists of closing marks only.
fn closes(text: &str) -> bool {
    let mut rest = text;
    while !rest.is_empty() {
        let mark = ["`", "~", "-->", "]]>", "?>", CLOSED_NOTE];
        let tag = rest.strip_prefix("</").and_then(|tag| {
            let name = tag.find('>')?;
            tag[..name].bytes().all(|byte| byte.is_ascii_alphanumeric()).then(|| &tag[name + 1..])
        });
        match tag.or_else(|| mark.iter().find_map(|mark| rest.strip_prefix(mark))) {
            Some(left) => rest = left,
            None => return false,
        }
    }
    true
}

/// Returns, for every present section, where it was seen first in its present form. Of equal ones, the second
/// counts as seen where two of them stood.
pub(super) fn first_seen(present: &Sections, before: Option<&Sections>, links: &[Link]) -> Vec<Option<Seen>> {
    let mut seen = vec![None; present.list.len()];
    let ordinals = ordinals(&present.list);
    if let Some(before) = before {
        look(present, &ordinals, before, Seen::Before, &mut seen);
    }
    let mut last = before.map(std::ptr::from_ref);
    for (at, link) in links.iter().enumerate() {
        let Some(sections) = link.sections.as_deref() else { continue };
        // Most commits leave STATUS.md alone; the cache gives them the same sections.
        if last.replace(std::ptr::from_ref(sections)) == Some(std::ptr::from_ref(sections)) {
            continue;
        }
        look(present, &ordinals, sections, Seen::In(at), &mut seen);
    }
    seen
}

/// How many equal sections stand before each one.
fn ordinals(list: &[Arc<Section>]) -> Vec<usize> {
    let mut counts: HashMap<(&Name, &str), usize> = HashMap::new();
    let mut ordinals = Vec::with_capacity(list.len());
    for section in list {
        let count = counts.entry(key(section)).or_default();
        ordinals.push(*count);
        *count += 1;
    }
    ordinals
}

fn key(section: &Section) -> (&Name, &str) {
    (&section.author, &section.fingerprint)
}

fn look(present: &Sections, ordinals: &[usize], then: &Sections, at: Seen, seen: &mut [Option<Seen>]) {
    let common = present.common(then);
    for seen in &mut seen[..common] {
        seen.get_or_insert(at);
    }
    if common == then.list.len() || seen.iter().all(Option::is_some) {
        return;
    }
    let mut counts: HashMap<(&Name, &str), usize> = HashMap::new();
    for section in &then.list {
        *counts.entry(key(section)).or_default() += 1;
    }
    for (index, section) in present.list.iter().enumerate() {
        if seen[index].is_some() {
            continue;
        }
        let stands = counts.get(&key(section)).is_some_and(|count| *count > ordinals[index]);
        let last = index + 1 == then.list.len();
        let stood_open = last && section.only_closed(&then.list[index]);
        if stands || stood_open {
            seen[index] = Some(at);
        }
    }
}

/// What one content of STATUS.md has that the one before had not.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Brought {
    /// The authors of new sections.
    pub(super) added: Vec<Name>,
    /// The authors of sections whose text changed.
    pub(super) edited: Vec<Name>,
}

impl Brought {
    pub(super) fn between(before: Option<&Sections>, now: &Sections) -> Self {
        let common = before.map_or(0, |before| before.common(now));
        let before = before.map_or(&[][..], |before| &before.list);
        let mut same: HashMap<(&Name, &str), usize> = HashMap::new();
        for section in &before[common..] {
            *same.entry(key(section)).or_default() += 1;
        }
        let mut fresh = Vec::new();
        for (index, section) in now.list.iter().enumerate().skip(common) {
            match same.get_mut(&key(section)).filter(|count| **count > 0) {
                Some(count) => *count -= 1,
                None => fresh.push((index, section)),
            }
        }
        // What is left of before stands in a changed form now, if its author has a fresh one.
        let mut changed: HashMap<&Name, usize> = HashMap::new();
        for ((author, _), count) in same {
            *changed.entry(author).or_default() += count;
        }
        let mut brought = Self::default();
        for (index, section) in fresh {
            match changed.get_mut(&section.author).filter(|count| **count > 0) {
                Some(count) => {
                    *count -= 1;
                    let closed = before.get(index).is_some_and(|earlier| section.only_closed(earlier));
                    if !closed {
                        brought.edited.push(section.author.clone());
                    }
                }
                None => brought.added.push(section.author.clone()),
            }
        }
        brought
    }

    /// Whose section this is about: a new one before a changed one.
    pub(super) fn author(&self) -> Option<&Name> {
        self.added.first().or(self.edited.first())
    }
}
