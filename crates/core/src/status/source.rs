//! The text of a STATUS.md as the Markdown reader wants it, and its lines.

use std::borrow::Cow;
use std::ops::Range;

use super::StatusError;

/// A checked text without BOM, in which every line ends with `\n` or `\r\n`, for the parser's eyes.
///
/// Offsets into it are offsets into the file, less [`Source::bom`].
#[derive(Debug)]
pub(crate) struct Source<'a> {
    /// The text; as long as the file without its BOM.
    pub(crate) text: Cow<'a, str>,
    /// Length of the byte order mark: 0 or 3.
    pub(crate) bom: usize,
    /// Where the lines are.
    pub(crate) lines: Lines,
}

impl<'a> Source<'a> {
    /// Checks the bytes.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, StatusError> {
        let whole = std::str::from_utf8(bytes).map_err(|error| {
            let byte = error.valid_up_to();
            StatusError::NotUtf8 { byte, line: line_of_byte(&bytes[..byte]) }
        })?;
        if let Some(byte) = whole.find('\0') {
            return Err(StatusError::Nul { line: line_of_byte(&bytes[..byte]) });
        }
        let text = whole.strip_prefix('\u{feff}').unwrap_or(whole);
        let bom = whole.len() - text.len();
        let text = plain_end_tags(lone_returns_as_newlines(text));
        let lines = Lines::of(&text);
        Ok(Self { text, bom, lines })
    }
}

/// The line, from 1, on which a text goes on behind `before`.
fn line_of_byte(before: &[u8]) -> usize {
    let mut line = 1;
    for (index, byte) in before.iter().enumerate() {
        if *byte == b'\n' || (*byte == b'\r' && before.get(index + 1) != Some(&b'\n')) {
            line += 1;
        }
    }
    line
}

/// A lone carriage return ends a line in CommonMark, but the parser looks for `\n` alone where it reads code and
/// HTML. The replacement has the same length, so offsets stay.
fn lone_returns_as_newlines(text: &str) -> Cow<'_, str> {
    let lone = |(at, _): (usize, &str)| text.as_bytes().get(at + 1) != Some(&b'\n');
    if !text.match_indices('\r').any(lone) {
        return Cow::Borrowed(text);
    }
    let mut changed = String::with_capacity(text.len());
    let mut pieces = text.split('\r');
    changed.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        changed.push(if piece.starts_with('\n') { '\r' } else { '\n' });
        changed.push_str(piece);
    }
    Cow::Owned(changed)
}

/// `</PRE>` ends `<pre>` in CommonMark, but the parser knows the four end tags that matter in lower case alone.
fn plain_end_tags(text: Cow<'_, str>) -> Cow<'_, str> {
    const TAGS: [&str; 4] = ["</pre>", "</script>", "</style>", "</textarea>"];
    let shouted = |at: usize| {
        TAGS.iter().find(|tag| {
            let found = text.as_bytes().get(at..at + tag.len()).unwrap_or_default();
            found.eq_ignore_ascii_case(tag.as_bytes()) && found != tag.as_bytes()
        })
    };
    let found: Vec<(usize, &str)> =
        text.match_indices("</").filter_map(|(at, _)| shouted(at).map(|tag| (at, *tag))).collect();
    if found.is_empty() {
        return text;
    }
    let mut changed = text.into_owned();
    for (at, tag) in found {
        changed.replace_range(at..at + tag.len(), tag);
    }
    Cow::Owned(changed)
}

/// Where the lines of a text start.
#[derive(Debug)]
pub(crate) struct Lines {
    starts: Vec<usize>,
    end: usize,
}

impl Lines {
    /// Finds the lines of a text whose lines end with `\n`.
    pub(crate) fn of(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        let starts = std::iter::once(0).chain(ends).collect();
        Self { starts, end: text.len() }
    }

    /// Index, from 0, of the line that holds `offset`.
    pub(crate) fn index(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset) - 1
    }

    /// Number, from 1, of the line that holds `offset`.
    pub(crate) fn number(&self, offset: usize) -> usize {
        self.index(offset) + 1
    }

    /// Start of the line that holds `offset`.
    pub(crate) fn start(&self, offset: usize) -> usize {
        self.starts[self.index(offset)]
    }

    /// The line of this index, its line end included.
    pub(crate) fn range(&self, index: usize) -> Range<usize> {
        self.starts[index]..self.starts.get(index + 1).copied().unwrap_or(self.end)
    }
}

/// A line without its line end.
pub(crate) fn without_line_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_lone_return_ends_a_line_and_moves_nothing() {
        let source = Source::read("\u{feff}a\rb\r\nc\r".as_bytes()).unwrap();
        assert_eq!(source.text, "a\nb\r\nc\n");
        assert_eq!(source.bom, 3);
        assert_eq!([0, 2, 5, 7].map(|offset| source.lines.number(offset)), [1, 2, 3, 4]);
    }

    #[test]
    fn end_tags_are_known_in_any_case() {
        let source = Source::read("<PRE>\n</Pre> </SCRIPT></B>".as_bytes()).unwrap();
        assert_eq!(source.text, "<PRE>\n</pre> </script></B>");
    }

    #[test]
    fn bad_bytes_are_named_with_their_line() {
        assert_eq!(Source::read(b"a\r\nb\xff").unwrap_err(), StatusError::NotUtf8 { byte: 4, line: 2 });
        assert_eq!(Source::read(b"a\nb\r\0").unwrap_err(), StatusError::Nul { line: 3 });
    }
}
