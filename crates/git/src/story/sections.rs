//! What of a STATUS.md is needed to follow its sections through the commits.

use std::collections::HashMap;

use loop_core::{Name, Status};

use super::Seen;
use super::walk::Link;

/// The sections of one content of STATUS.md.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sections {
    pub(super) loop_id: Option<String>,
    pub(super) list: Vec<Section>,
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
            Section {
                author: turn.author.clone(),
                fingerprint: turn.fingerprint.clone(),
                length: packed.len(),
                end: packed[end..].to_owned(),
            }
        });
        Self { loop_id: status.loop_id.clone(), list: list.collect() }
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

/// Whether a text without white space consists of closing marks only.
fn closes(text: &str) -> bool {
    let mut rest = text;
    while !rest.is_empty() {
        let mark = ["```", "~~~", "-->", "]]>", "?>", "`", "~", ">"];
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
fn ordinals(list: &[Section]) -> Vec<usize> {
    let mut counts: HashMap<(&Name, &str), usize> = HashMap::new();
    let ordinal = |section| {
        let count = counts.entry(key(section)).or_default();
        *count += 1;
        *count - 1
    };
    list.iter().map(ordinal).collect()
}

fn key(section: &Section) -> (&Name, &str) {
    (&section.author, &section.fingerprint)
}

fn look(present: &Sections, ordinals: &[usize], then: &Sections, at: Seen, seen: &mut [Option<Seen>]) {
    if seen.iter().all(Option::is_some) {
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
        let before = before.map_or(&[][..], |before| &before.list);
        let mut same: HashMap<(&Name, &str), usize> = HashMap::new();
        for section in before {
            *same.entry(key(section)).or_default() += 1;
        }
        let mut fresh = Vec::new();
        for (index, section) in now.list.iter().enumerate() {
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
