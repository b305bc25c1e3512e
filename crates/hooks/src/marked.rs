//! Our lines in somebody else's file: put in between two marks, found by them, taken out without a trace.
//!
//! The law: for bytes that hold none of our marks, taking out what was put in gives the same bytes again, wherever
//! it was put and whether or not the file ends with a line break. A section therefore brings exactly one line
//! break: behind itself, or, behind a last line that has none, before itself.

use std::ops::Range;

/// The line before our section.
pub(crate) const OPEN: &str = "# >>> loop >>>";
/// The line behind it.
pub(crate) const CLOSE: &str = "# <<< loop <<<";

/// One of the marks stands alone, in this line (from 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Half {
    pub(crate) line: usize,
}

/// Puts `section` (from mark to mark, without a final line break) before the byte `at`, the start of a line or the
/// end of the bytes.
pub(crate) fn insert(bytes: &[u8], at: usize, section: &[u8]) -> Vec<u8> {
    let (before, after) = bytes.split_at(at);
    let own_line = before.last().is_none_or(|byte| *byte == b'\n');
    let parts: [&[u8]; 4] =
        if own_line { [before, section, b"\n", after] } else { [before, b"\n", section, after] };
    parts.concat()
}

/// Returns where the first section stands, both marks included, without the line break around it.
pub(crate) fn find(bytes: &[u8]) -> Result<Option<Range<usize>>, Half> {
    let mut open: Option<(usize, usize)> = None;
    let mut start = 0;
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let number = index + 1;
        // A tool may have given the whole file CRLF; the marks are still ours.
        let text = line.trim_ascii_end();
        match open {
            None if text == OPEN.as_bytes() => open = Some((start, number)),
            None if text == CLOSE.as_bytes() => return Err(Half { line: number }),
            Some((_, line)) if text == OPEN.as_bytes() => return Err(Half { line }),
            Some((from, _)) if text == CLOSE.as_bytes() => return Ok(Some(from..start + text.len())),
            _ => {}
        }
        start += line.len();
    }
    open.map_or(Ok(None), |(_, line)| Err(Half { line }))
}

/// Takes every section out; `None` when there is none.
pub(crate) fn remove(bytes: &[u8]) -> Result<Option<Vec<u8>>, Half> {
    let Some(section) = find(bytes)? else { return Ok(None) };
    let mut cut = section;
    let behind = &bytes[cut.end..];
    let line_end = behind.len() - behind.trim_ascii_start().len();
    match behind[..line_end].iter().position(|byte| *byte == b'\n') {
        Some(line_break) => cut.end += line_break + 1,
        None => {
            cut.end += line_end;
            cut.start = cut.start.saturating_sub(1);
        }
    }
    let rest = [&bytes[..cut.start], &bytes[cut.end..]].concat();
    Ok(Some(remove(&rest)?.unwrap_or(rest)))
}

/// Puts `section` in the place of the one that stands at `place`.
pub(crate) fn replace(bytes: &[u8], place: &Range<usize>, section: &[u8]) -> Vec<u8> {
    [&bytes[..place.start], section, &bytes[place.end..]].concat()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const SECTION: &[u8] = b"# >>> loop >>>\nours\n# <<< loop <<<";

    #[test]
    fn remove_undoes_insert() {
        for (before, at) in [
            (&b""[..], 0),
            (b"#!/bin/sh", 9),
            (b"#!/bin/sh\n", 10),
            (b"#!/bin/sh\nexit 0", 10),
            (b"#!/bin/sh\nexit 0", 16),
            (b"#!/bin/sh\r\nexit 0\r\n", 11),
            (b"\n\n", 1),
            (b"\xff\x00\n", 3),
            (b" ", 1),
        ] {
            let with = insert(before, at, SECTION);
            assert_eq!(&with[find(&with).unwrap().unwrap()], SECTION);
            assert_eq!(remove(&with).unwrap().unwrap(), before, "{before:?} at {at}");
        }
    }

    #[test]
    fn what_a_user_adds_later_stays() {
        let with = insert(b"#!/bin/sh", 9, SECTION);
        let edited = [&with[..], b"\nmine\n"].concat();
        assert_eq!(remove(&edited).unwrap().unwrap(), b"#!/bin/sh\nmine\n");
        let twice = insert(&insert(b"a\n", 2, SECTION), 0, SECTION);
        assert_eq!(remove(&twice).unwrap().unwrap(), b"a\n");
    }

    #[test]
    fn a_file_that_became_crlf_still_has_our_section() {
        let with = String::from_utf8(insert(b"a\nb\n", 2, SECTION)).unwrap().replace('\n', "\r\n");
        assert_eq!(remove(with.as_bytes()).unwrap().unwrap(), b"a\r\nb\r\n");
    }

    #[test]
    fn half_a_section_is_nobodys() {
        let cases = [
            ("# >>> loop >>>\nx\n", 1),
            ("x\n# <<< loop <<<\n", 2),
            ("# >>> loop >>>\n# >>> loop >>>\n# <<< loop <<<\n", 1),
        ];
        for (text, line) in cases {
            assert_eq!(remove(text.as_bytes()), Err(Half { line }), "{text:?}");
        }
        assert_eq!(remove(b"echo '# >>> loop >>>'\n"), Ok(None));
    }
}
