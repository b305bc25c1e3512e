//! Lines come out whole, once, and in order, however they were written.

#![allow(clippy::unwrap_used)]

use std::io::Write;

use proptest::prelude::*;

use super::*;

fn read(tail: &mut Tail, path: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    tail.read(path, |line| {
        let text = line.map_or("too long".into(), String::from_utf8_lossy);
        lines.push(text.into_owned());
    })
    .unwrap();
    lines
}

#[test]
fn a_first_reading_starts_with_a_whole_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    std::fs::write(&path, "first\nsecond\nthird\nhalf").unwrap();
    let stamp = Stamp::at(&path).unwrap();
    for (reach, expected) in [
        (100, &["first", "second", "third"][..]),
        (18, &["second", "third"][..]),
        (17, &["second", "third"][..]),
        (16, &["third"][..]),
        (4, &[][..]),
        (0, &[][..]),
    ] {
        let mut tail = Tail::near_the_end(stamp, reach);
        assert_eq!(read(&mut tail, &path), expected, "{reach}");
        assert_eq!(tail.is_whole(), reach >= 23, "{reach}");
    }
}

#[test]
fn a_line_without_end_takes_no_memory() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    std::fs::write(&path, "").unwrap();
    let mut tail = Tail::near_the_end(Stamp::at(&path).unwrap(), 100);
    File::options().write(true).open(&path).unwrap().set_len(LONGEST_LINE as u64 + 10).unwrap();
    assert_eq!(read(&mut tail, &path), ["too long"]);
    assert!(tail.half.is_empty() && tail.skipping);
    File::options().append(true).open(&path).unwrap().write_all(b"end\nnext\n").unwrap();
    assert_eq!(read(&mut tail, &path), ["next"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pieces_make_the_same_lines_as_the_whole(pieces in proptest::collection::vec("[ab\n]{0,12}", 0..12)) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        std::fs::write(&path, "").unwrap();
        let mut tail = Tail::near_the_end(Stamp::at(&path).unwrap(), 1000);
        let mut lines = Vec::new();
        for piece in &pieces {
            File::options().append(true).open(&path).unwrap().write_all(piece.as_bytes()).unwrap();
            lines.extend(read(&mut tail, &path));
        }
        let whole = pieces.concat();
        let expected: Vec<&str> = whole.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')).collect();
        prop_assert_eq!(lines, expected);
    }
}
