//! Who comes after whom.

use std::fmt;

use crate::name::Name;

/// The order of turns: a ring or a table of any number of agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rotation {
    /// Each one hands over to the next, the last to the first.
    Ring(Vec<Name>),
    /// From each name to its successor, in the order of the file.
    Table(Vec<(Name, Name)>),
}

impl Rotation {
    /// The first agent: the ring's first, the table's first row.
    pub fn first(&self) -> Option<&Name> {
        match self {
            Self::Ring(names) => names.first(),
            Self::Table(rows) => rows.first().map(|(from, _)| from),
        }
    }

    /// The successor of `name`, skipping whom `skipped` names; `None` when `name` is outside the rotation or
    /// everyone reachable is skipped. Gives the turn back to `name` only when nobody else is left.
    pub fn next(&self, name: &Name, skipped: &dyn Fn(&Name) -> bool) -> Option<&Name> {
        let mut seen = 0;
        let mut current = self.successor(name)?;
        while skipped(current) {
            seen += 1;
            if seen > self.len() {
                return None;
            }
            current = self.successor(current)?;
        }
        Some(current)
    }

    /// The first agent of the rotation that is not skipped, following successors from the first.
    pub fn first_active(&self, skipped: &dyn Fn(&Name) -> bool) -> Option<&Name> {
        let first = self.first()?;
        if skipped(first) { self.next(first, skipped) } else { Some(first) }
    }

    /// Whether `name` stands in the rotation.
    pub fn contains(&self, name: &Name) -> bool {
        self.members().any(|member| member == name)
    }

    /// Every name in the rotation, each once.
    pub fn members(&self) -> impl Iterator<Item = &Name> {
        let names: Vec<&Name> = match self {
            Self::Ring(names) => names.iter().collect(),
            Self::Table(rows) => rows.iter().map(|(from, _)| from).collect(),
        };
        names.into_iter()
    }

    /// How many agents the rotation has.
    pub fn len(&self) -> usize {
        match self {
            Self::Ring(names) => names.len(),
            Self::Table(rows) => rows.len(),
        }
    }

    /// Whether the rotation has no agent; a checked configuration never does.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn successor(&self, name: &Name) -> Option<&Name> {
        match self {
            Self::Ring(names) => {
                let place = names.iter().position(|member| member == name)?;
                names.get((place + 1) % names.len())
            }
            Self::Table(rows) => rows.iter().find(|(from, _)| from == name).map(|(_, to)| to),
        }
    }
}

/// As it stands in `loop.yaml`, in one line.
impl fmt::Display for Rotation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ring(names) => {
                let names: Vec<&str> = names.iter().map(Name::as_str).collect();
                write!(formatter, "[{}]", names.join(", "))
            }
            Self::Table(rows) => {
                let rows: Vec<String> = rows.iter().map(|(from, to)| format!("{from}: {to}")).collect();
                write!(formatter, "{{{}}}", rows.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn name(index: usize) -> Name {
        Name::new(&format!("A{index}")).unwrap()
    }

    fn ring(size: usize) -> Rotation {
        Rotation::Ring((0..size).map(name).collect())
    }

    fn table(targets: &[usize]) -> Rotation {
        Rotation::Table(targets.iter().enumerate().map(|(from, to)| (name(from), name(*to))).collect())
    }

    #[test]
    fn turns_go_round() {
        let nobody = |_: &Name| false;
        let cases: [(Rotation, &[usize]); 4] = [
            (ring(3), &[0, 1, 2, 0, 1]),
            (ring(1), &[0, 0]),
            (table(&[1, 2, 0]), &[0, 1, 2, 0]),
            // No way back to the first.
            (table(&[1, 2, 1]), &[0, 1, 2, 1, 2]),
        ];
        for (rotation, expected) in cases {
            let mut current = rotation.first().unwrap();
            for index in expected {
                assert_eq!(*current, name(*index), "{rotation}");
                current = rotation.next(current, &nobody).unwrap();
            }
        }
    }

    #[test]
    fn who_is_skipped_gets_no_turn() {
        let skipped = |index: usize| move |other: &Name| *other == name(index);
        assert_eq!(ring(3).next(&name(0), &skipped(1)), Some(&name(2)));
        assert_eq!(ring(2).next(&name(0), &skipped(1)), Some(&name(0)), "nobody else is left");
        assert_eq!(ring(3).first_active(&skipped(0)), Some(&name(1)));
        assert_eq!(ring(3).next(&name(0), &|_| true), None);
        assert_eq!(ring(3).first_active(&|_| true), None);
        assert_eq!(table(&[1, 1]).next(&name(0), &skipped(1)), None, "its way leads nowhere else");
        assert_eq!(ring(3).next(&name(7), &|_| false), None, "outside the rotation");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn a_ring_never_gives_the_turn_to_who_just_spoke_unless_nobody_else_is_left(
            size in 1_usize..8,
            speaker in 0_usize..8,
            skipped in proptest::collection::btree_set(0_usize..8, 0..8),
        ) {
            let speaker = speaker % size;
            let names: BTreeSet<Name> = skipped.iter().map(|index| name(*index)).collect();
            let left: Vec<usize> = (0..size).filter(|index| !skipped.contains(index)).collect();
            let rotation = ring(size);
            let next = rotation.next(&name(speaker), &|other| names.contains(other));
            match next {
                None => prop_assert!(left.is_empty()),
                Some(next) if *next == name(speaker) => prop_assert_eq!(left, vec![speaker]),
                Some(next) => {
                    prop_assert!(!names.contains(next));
                    // It is the nearest one that is left.
                    let distance = |index: usize| (index + size - speaker - 1) % size;
                    let nearest = left.iter().copied().min_by_key(|index| distance(*index));
                    prop_assert_eq!(Some(next.clone()), nearest.map(name));
                }
            }
        }

        #[test]
        fn a_table_always_ends_its_search_on_somebody_it_reaches(
            targets in proptest::collection::vec(0_usize..6, 1..7),
            speaker in 0_usize..6,
            skipped in proptest::collection::btree_set(0_usize..6, 0..6),
        ) {
            let size = targets.len();
            let targets: Vec<usize> = targets.iter().map(|target| target % size).collect();
            let names: BTreeSet<Name> = skipped.iter().map(|index| name(*index)).collect();
            let mut reached = BTreeSet::new();
            let mut current = targets[speaker % size];
            while reached.insert(current) {
                current = targets[current];
            }
            let rotation = table(&targets);
            let next = rotation.next(&name(speaker % size), &|other| names.contains(other));
            match next {
                None => prop_assert!(reached.iter().all(|index| skipped.contains(index))),
                Some(next) => {
                    prop_assert!(reached.iter().any(|index| name(*index) == *next));
                    prop_assert!(!names.contains(next));
                }
            }
        }

        #[test]
        fn everybody_in_a_ring_gets_one_turn_a_round(size in 1_usize..9) {
            let rotation = ring(size);
            let mut spoke = BTreeSet::new();
            let mut current = rotation.first().unwrap();
            for _ in 0..size {
                prop_assert!(spoke.insert(current.clone()));
                current = rotation.next(current, &|_| false).unwrap();
            }
            prop_assert_eq!(Some(current), rotation.first());
            prop_assert_eq!(rotation.members().count(), size);
        }
    }
}
