//! What later commits did to earlier sections.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::name::Name;
use crate::status::{Status, Turn};

/// A section as it was recorded when it was last seen whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Its number.
    pub n: usize,
    /// Its author.
    pub author: Name,
    /// Its [fingerprint](crate::status::Turn::fingerprint).
    pub fingerprint: String,
    /// Its summary, to name it to a person.
    pub summary: String,
    /// The commit in which it stood.
    pub commit: Option<String>,
    /// Whether a turn was handed over, or the loop ended, because of it: only the newest unanswered section may change.
    pub answered: bool,
}

/// One thing that a later commit did to an earlier section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// A section is gone, or gone from its place.
    Vanished(Recorded),
    /// A section has another author now.
    Reattributed {
        /// As it was.
        was: Recorded,
        /// Its author now.
        now: Name,
        /// Its line now, from 1.
        line: usize,
    },
    /// A new section stands before one that was already there.
    Inserted {
        /// Its number now.
        n: usize,
        /// Its author.
        author: Name,
        /// Its line, from 1.
        line: usize,
    },
    /// An older section says something else now: a diagnostic, it holds nothing.
    Edited {
        /// As it was.
        was: Recorded,
        /// Its line now, from 1.
        line: usize,
    },
    /// One commit brought new sections of two names.
    TwoNames {
        /// The commit.
        commit: Option<String>,
        /// The names, in document order.
        authors: Vec<Name>,
        /// The line of the second one, from 1.
        line: usize,
    },
}

/// Compares the sections on record with those of the present STATUS.md.
///
/// White space never counts. The newest recorded section may change its summary, its body and its verdict while
/// it is unanswered, but not its author, and it may not go. New sections behind the recorded ones are no damage.
/// [`Damage::TwoNames`] cannot be seen here; it takes the commits.
pub fn compare(recorded: &[Recorded], status: &Status) -> Vec<Damage> {
    let mut places = vec![None; recorded.len()];
    find(recorded, &status.turns, (0, 0), 0, &mut places);
    told(recorded, &status.turns, &places)
}

/// What makes a section on record and one in the document the same, the strongest sign first.
#[derive(PartialEq, Eq, Hash)]
enum Sign<'a> {
    Text(&'a Name, &'a str),
    Heading(&'a Name, String),
    Author(&'a Name),
    Summary(String),
    Place(usize),
}

const SIGNS: usize = 5;

impl<'a> Sign<'a> {
    fn new(strength: usize, author: &'a Name, fingerprint: &'a str, summary: &str, place: usize) -> Self {
        let words = || summary.chars().filter(|character| !character.is_whitespace()).collect();
        match strength {
            0 => Self::Text(author, fingerprint),
            1 => Self::Heading(author, words()),
            2 => Self::Author(author),
            3 => Self::Summary(words()),
            _ => Self::Place(place),
        }
    }
}

/// Finds where the sections on record stand now: `places[n]` is the position of `recorded[n]`.
///
/// What the strongest sign finds, in an order that both sides share, holds the rest in place: between two found
/// sections only what is left between them is looked at, with the next sign. `from` are the positions of the
/// first section of `recorded` and `turns` in the whole.
fn find(
    recorded: &[Recorded],
    turns: &[Turn],
    from: (usize, usize),
    strength: usize,
    places: &mut [Option<usize>],
) {
    if recorded.is_empty() || turns.is_empty() || strength == SIGNS {
        return;
    }
    let found = same(recorded, turns, strength);
    for (was, now) in &found {
        places[from.0 + was] = Some(from.1 + now);
    }
    let mut start = (0, 0);
    for (was, now) in found.into_iter().chain([(recorded.len(), turns.len())]) {
        let gap = (from.0 + start.0, from.1 + start.1);
        find(&recorded[start.0..was], &turns[start.1..now], gap, strength + 1, places);
        start = (was + 1, now + 1);
    }
}

/// The longest run of sections, in the order of both sides, that one sign finds. Of several with the same sign the
/// first on record is the first in the document, and so on.
fn same(recorded: &[Recorded], turns: &[Turn], strength: usize) -> Vec<(usize, usize)> {
    let mut signs: HashMap<Sign<'_>, VecDeque<usize>> = HashMap::new();
    for (at, turn) in turns.iter().enumerate() {
        let sign = Sign::new(strength, &turn.author, &turn.fingerprint, &turn.summary, at);
        signs.entry(sign).or_default().push_back(at);
    }
    let mut pairs = Vec::with_capacity(recorded.len());
    for (at, was) in recorded.iter().enumerate() {
        let sign = Sign::new(strength, &was.author, &was.fingerprint, &was.summary, at);
        let now = signs.get_mut(&sign).and_then(VecDeque::pop_front);
        pairs.extend(now.map(|now| (at, now)));
    }
    longest_rising(&pairs)
}

/// The longest part of `pairs` in which the second number only rises; the first does already.
fn longest_rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // For each length, the pair that ends a run of that length with the smallest second number.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, (_, now)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < *now);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut run = Vec::with_capacity(ends.len());
    let mut end = ends.last().copied();
    while let Some(at) = end {
        run.push(pairs[at]);
        end = before[at];
    }
    run.reverse();
    run
}

fn told(recorded: &[Recorded], turns: &[Turn], places: &[Option<usize>]) -> Vec<Damage> {
    let mut damage = Vec::new();
    for (at, (was, place)) in recorded.iter().zip(places).enumerate() {
        let Some(now) = place.map(|place| &turns[place]) else {
            damage.push(Damage::Vanished(was.clone()));
            continue;
        };
        let may_change = at + 1 == recorded.len() && !was.answered;
        if now.author != was.author {
            let (was, line) = (was.clone(), now.line);
            damage.push(Damage::Reattributed { was, now: now.author.clone(), line });
        } else if now.fingerprint != was.fingerprint && !may_change {
            damage.push(Damage::Edited { was: was.clone(), line: now.line });
        }
    }
    let old: HashSet<usize> = places.iter().flatten().copied().collect();
    let last_old = old.iter().max().copied().unwrap_or(0);
    let new = turns.iter().enumerate().take(last_old).filter(|(at, _)| !old.contains(at));
    damage.extend(new.map(|(at, turn)| Damage::Inserted {
        n: at + 1,
        author: turn.author.clone(),
        line: turn.line,
    }));
    damage
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;
    use crate::cast::Role;

    /// Sections as `AUTHOR summary / body`; the fingerprint is all of it without white space.
    fn turns(text: &str) -> Vec<Turn> {
        let lines = text.split('\n').map(str::trim).filter(|line| !line.is_empty());
        let turn = |(at, line): (usize, &str)| {
            let (author, rest) = line.split_once(' ').unwrap();
            Turn {
                n: at + 1,
                author: Name::new(author).unwrap(),
                role: Role::Agent,
                to: None,
                summary: rest.split('/').next().unwrap().trim().to_owned(),
                verdict: None,
                line: at + 1,
                span: 0..0,
                body: 0..0,
                fingerprint: line.split_whitespace().collect(),
            }
        };
        lines.enumerate().map(turn).collect()
    }

    fn record(text: &str, answered: usize) -> Vec<Recorded> {
        let recorded = |turn: Turn| Recorded {
            n: turn.n,
            author: turn.author,
            fingerprint: turn.fingerprint,
            summary: turn.summary,
            commit: None,
            answered: turn.n <= answered,
        };
        turns(text).into_iter().map(recorded).collect()
    }

    fn status(text: &str) -> Status {
        Status { turns: turns(text), ..Status::default() }
    }

    /// The damage between two states, all but the newest section answered, in a few words.
    fn check(before: &str, after: &str, expected: &str) {
        let answered = turns(before).len().saturating_sub(1);
        assert_eq!(words(&record(before, answered), after), expected, "{before} => {after}");
    }

    fn words(recorded: &[Recorded], after: &str) -> String {
        let told: Vec<String> = compare(recorded, &status(after))
            .into_iter()
            .map(|damage| match damage {
                Damage::Vanished(was) => format!("gone {}", was.n),
                Damage::Reattributed { was, now, .. } => format!("{} now by {now}", was.n),
                Damage::Inserted { n, .. } => format!("inserted {n}"),
                Damage::Edited { was, .. } => format!("edited {}", was.n),
                Damage::TwoNames { .. } => "two names".to_owned(),
            })
            .collect();
        told.join(", ")
    }

    const THREE: &str = "CC one / a\nCodex two / b\nCC three / c";

    #[test]
    fn what_may_happen() {
        check("", "", "");
        check("", THREE, "");
        check(THREE, THREE, "");
        check(THREE, &format!("{THREE}\nCodex four\nDana five"), "");
        // The newest one, while unanswered: body, summary, and with them the verdict.
        check(THREE, "CC one / a\nCodex two / b\nCC three / REVIEW-PASS", "");
        check(THREE, "CC one / a\nCodex two / b\nCC drei / d", "");
        check(THREE, "CC one / a\nCodex two / b\nCC drei / d\nCodex four", "");
        // White space is nobody's change.
        check(THREE, "CC  one /a\nCodex   two / b\nCC three /   c", "");
        check("CC one\nCC one\nCC one", "CC one\nCC one\nCC one\nCC one", "");
    }

    #[test]
    fn older_bodies_that_change_are_pointed_out() {
        check(THREE, "CC one / z\nCodex two / b\nCC three / c", "edited 1");
        check(THREE, "CC one / z\nCodex zwei / y\nCC three / c", "edited 1, edited 2");
        let answered = record(THREE, 3);
        assert_eq!(words(&answered, "CC one / a\nCodex two / b\nCC three / d"), "edited 3");
        assert_eq!(words(&record(THREE, 1), "CC one / a\nCodex two / z\nCC three / c"), "edited 2");
    }

    #[test]
    fn sections_that_go_are_damage() {
        check(THREE, "", "gone 1, gone 2, gone 3");
        check(THREE, "CC one / a\nCodex two / b", "gone 3");
        check(THREE, "CC one / a\nCC three / c", "gone 2");
        check(THREE, "Codex two / b\nCC three / c\nCodex four", "gone 1");
        // One section of a file that was written anew is taken for the first of its author.
        check(THREE, "CC new / n", "edited 1, gone 2, gone 3");
        check("CC one\nCC one\nCC one", "CC one\nCC one", "gone 3");
        // An exchange of two: one keeps its place.
        check(THREE, "CC one / a\nCC three / c\nCodex two / b", "gone 2");
    }

    #[test]
    fn sections_that_change_hands_are_damage() {
        check(THREE, "CC one / a\nCC two / b\nCC three / c", "2 now by CC");
        check(THREE, "CC one / a\nCodex two / b\nCodex three / c", "3 now by Codex");
        check(THREE, "CC one / a\nCodex two / b\nCodex vier / d", "3 now by Codex");
        check("CC one", "Codex one", "1 now by Codex");
    }

    #[test]
    fn sections_put_before_others_are_damage() {
        check(THREE, &format!("Codex zero\n{THREE}"), "inserted 1");
        check(THREE, "CC one / a\nDana new\nCodex two / b\nCC three / c", "inserted 2");
        check(THREE, "CC one / a\nCodex two / b\nDana new\nCC three / c", "inserted 3");
        check(THREE, "CC one / a\nCodex two / b\nDana new\nCC three / changed", "inserted 3");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn appending_is_never_damage_and_taking_away_always_is(
            sections in prop::collection::vec((0..3_usize, 0..3_usize), 1..12),
            more in 0..3_usize,
            gone: prop::sample::Index,
        ) {
            let line = |(author, text): &(usize, usize)| format!("{} w{text}", ["CC", "Codex", "OC"][*author]);
            let lines: Vec<String> = sections.iter().map(line).collect();
            let recorded = record(&lines.join("\n"), lines.len());
            let mut longer = lines.clone();
            longer.extend(lines.iter().take(more).cloned());
            prop_assert_eq!(words(&recorded, &longer.join("\n")), "");
            let mut fewer = lines.clone();
            fewer.remove(gone.index(lines.len()));
            prop_assert!(words(&recorded, &fewer.join("\n")).contains("gone"));
        }

        #[test]
        fn comparing_anything_with_anything_is_told(
            before in prop::collection::vec((0..3_usize, 0..4_usize), 0..10),
            after in prop::collection::vec((0..3_usize, 0..4_usize), 0..10),
        ) {
            let line = |(author, text): &(usize, usize)| format!("{} w{text}", ["CC", "Codex", "OC"][*author]);
            let join = |sections: &[(usize, usize)]| sections.iter().map(line).collect::<Vec<_>>().join("\n");
            let recorded = record(&join(&before), before.len());
            let none = words(&recorded, &join(&after)).is_empty();
            prop_assert_eq!(none, after.starts_with(&before));
        }
    }
}
