//! One pass over the Markdown events: where the blocks are that sections and verdicts depend on.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::html;

/// What one pass has found; every list is in document order.
#[derive(Debug, Default)]
pub(crate) struct Scan<'a> {
    /// Level-2 ATX headings and all setext headings outside quotes.
    pub(crate) headings: Vec<Heading<'a>>,
    /// Code blocks.
    pub(crate) code: Vec<Block>,
    /// HTML blocks.
    pub(crate) html: Vec<Block>,
    /// Thematic breaks.
    pub(crate) rules: Vec<Range<usize>>,
    /// Closed HTML comments.
    pub(crate) comments: Vec<Range<usize>>,
    /// Inline code.
    pub(crate) inline_code: Vec<Range<usize>>,
    /// Inline markup (code, emphasis, links, tags) that runs over a line end; only the outermost.
    pub(crate) folded: Vec<Range<usize>>,
    /// Inline end tags.
    pub(crate) end_tags: Vec<Range<usize>>,
    /// The block that was asked for.
    pub(crate) watched: Option<Watched<'a>>,
}

/// A heading.
#[derive(Debug)]
pub(crate) struct Heading<'a> {
    pub(crate) range: Range<usize>,
    /// Underlined, not marked with `#`.
    pub(crate) setext: bool,
    /// Not in a list.
    pub(crate) top: bool,
    pub(crate) pieces: Vec<Piece<'a>>,
}

/// A code or HTML block.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) range: Range<usize>,
    /// In no quote and no list.
    pub(crate) top: bool,
    pub(crate) in_quote: bool,
    /// For code: fenced.
    pub(crate) fenced: bool,
}

/// A paragraph or heading at the top level, with what is in it.
#[derive(Debug)]
pub(crate) struct Watched<'a> {
    pub(crate) range: Range<usize>,
    pub(crate) setext: bool,
    pub(crate) atx: bool,
    pub(crate) pieces: Vec<Piece<'a>>,
}

/// A part of a paragraph's or heading's content.
#[derive(Debug, Clone)]
pub(crate) struct Piece<'a> {
    pub(crate) kind: PieceKind,
    pub(crate) text: CowStr<'a>,
    pub(crate) range: Range<usize>,
}

/// What a piece is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PieceKind {
    Text,
    Code,
    /// Emphasis begins or ends here; the range is that of the mark, `whole` that of everything it emphasises.
    Mark {
        whole: Range<usize>,
    },
    Comment,
    Html,
    Break,
}

/// Reads `text`. With `watch`, keeps the paragraph or heading that starts there or behind, in no quote or list,
/// if it is the first block there.
pub(crate) fn scan(text: &str, watch: Option<usize>) -> Scan<'_> {
    let mut pass =
        Pass { text, found: Scan::default(), lists: 0, quotes: 0, current: None, watch, newline: 0 };
    for (event, range) in Parser::new_ext(text, Options::empty()).into_offset_iter() {
        pass.event(event, range);
    }
    pass.found
}

/// The heading or watched block that is being read.
struct Current<'a> {
    range: Range<usize>,
    heading: Option<HeadingLevel>,
    watched: bool,
    pieces: Vec<Piece<'a>>,
}

struct Pass<'a> {
    text: &'a str,
    found: Scan<'a>,
    lists: usize,
    quotes: usize,
    current: Option<Current<'a>>,
    watch: Option<usize>,
    /// The first line end at or behind the last inline markup.
    newline: usize,
}

impl<'a> Pass<'a> {
    fn event(&mut self, event: Event<'a>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(&tag, range),
            Event::End(end) => self.end(end, range),
            Event::Text(text) => self.piece(PieceKind::Text, text, range),
            Event::Code(text) => {
                self.folded(&range);
                self.found.inline_code.push(range.clone());
                self.piece(PieceKind::Code, text, range);
            }
            Event::InlineHtml(html) => {
                self.folded(&range);
                let kind = if html.starts_with("<!--") {
                    self.found.comments.push(range.clone());
                    PieceKind::Comment
                } else {
                    if html.starts_with("</") {
                        self.found.end_tags.push(range.clone());
                    }
                    PieceKind::Html
                };
                self.piece(kind, html, range);
            }
            Event::SoftBreak | Event::HardBreak => self.piece(PieceKind::Break, CowStr::Borrowed(" "), range),
            Event::Rule => {
                self.not_watched(&range);
                self.found.rules.push(range);
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag<'a>, range: Range<usize>) {
        match tag {
            Tag::Paragraph => self.block(range, None),
            Tag::Heading { level, .. } => self.block(range, Some(*level)),
            Tag::CodeBlock(kind) => {
                self.not_watched(&range);
                let fenced = matches!(kind, CodeBlockKind::Fenced(_));
                let block = self.here(range, fenced);
                self.found.code.push(block);
            }
            Tag::HtmlBlock => {
                self.not_watched(&range);
                for (token, place) in html::tokens(&self.text[range.clone()]) {
                    if token == html::Token::Comment {
                        self.found.comments.push(range.start + place.start..range.start + place.end);
                    }
                }
                let block = self.here(range, false);
                self.found.html.push(block);
            }
            Tag::BlockQuote(_) => {
                self.not_watched(&range);
                self.quotes += 1;
            }
            Tag::List(_) => {
                self.not_watched(&range);
                self.lists += 1;
            }
            Tag::Emphasis | Tag::Strong => {
                self.folded(&range);
                let mark = if matches!(tag, Tag::Strong) { 2 } else { 1 };
                self.mark(range.start..range.start + mark, range);
            }
            Tag::Link { .. } | Tag::Image { .. } => self.folded(&range),
            _ => {}
        }
    }

    fn end(&mut self, end: TagEnd, range: Range<usize>) {
        match end {
            TagEnd::Paragraph | TagEnd::Heading(_) => self.block_end(),
            TagEnd::BlockQuote(_) => self.quotes -= 1,
            TagEnd::List(_) => self.lists -= 1,
            TagEnd::Emphasis => self.mark(range.end - 1..range.end, range),
            TagEnd::Strong => self.mark(range.end - 2..range.end, range),
            _ => {}
        }
    }

    fn here(&self, range: Range<usize>, fenced: bool) -> Block {
        Block { range, top: self.lists + self.quotes == 0, in_quote: self.quotes > 0, fenced }
    }

    /// A block that cannot be the watched one: if it starts behind the watched place, that place is taken.
    fn not_watched(&mut self, range: &Range<usize>) {
        if self.watch.is_some_and(|watch| range.start >= watch) {
            self.watch = None;
        }
    }

    fn block(&mut self, range: Range<usize>, heading: Option<HeadingLevel>) {
        let top = self.lists + self.quotes == 0;
        let watched = top && self.watch.is_some_and(|watch| range.start >= watch);
        if watched {
            self.watch = None;
        }
        if watched || (heading.is_some() && self.quotes == 0) {
            self.current = Some(Current { range, heading, watched, pieces: Vec::new() });
        }
    }

    fn block_end(&mut self) {
        let Some(Current { range, heading, watched, pieces }) = self.current.take() else { return };
        let atx = heading.is_some() && is_atx(&self.text[range.start..]);
        let setext = heading.is_some() && !atx;
        if watched {
            let pieces = pieces.clone();
            self.found.watched = Some(Watched { range: range.clone(), setext, atx, pieces });
        }
        if setext || (atx && heading == Some(HeadingLevel::H2)) {
            self.found.headings.push(Heading { range, setext, top: self.lists == 0, pieces });
        }
    }

    fn mark(&mut self, mark: Range<usize>, whole: Range<usize>) {
        self.piece(PieceKind::Mark { whole }, CowStr::Borrowed(""), mark);
    }

    fn piece(&mut self, kind: PieceKind, text: CowStr<'a>, range: Range<usize>) {
        if let Some(current) = &mut self.current {
            current.pieces.push(Piece { kind, text, range });
        }
    }

    /// Keeps the range when it runs over a line end. Ranges come in order of their starts, and one lies inside
    /// another or beside it: the outer one is enough.
    fn folded(&mut self, range: &Range<usize>) {
        if self.newline < range.start {
            let ahead = self.text[range.start..].find('\n');
            self.newline = ahead.map_or(self.text.len(), |offset| range.start + offset);
        }
        let inside = self.found.folded.last().is_some_and(|outer| range.end <= outer.end);
        if self.newline < range.end && !inside {
            self.found.folded.push(range.clone());
        }
    }
}

/// Whether a heading's source starts with `#` marks: pulldown-cmark does not tell the two kinds apart.
fn is_atx(source: &str) -> bool {
    let rest = source.trim_start_matches('#');
    let marks = source.len() - rest.len();
    (1..=6).contains(&marks) && rest.chars().next().is_none_or(|c| c.is_ascii_whitespace())
}

/// The part of `ranges` (sorted by start, none inside another) that touches `place`.
pub(crate) fn touching<'r>(ranges: &'r [Range<usize>], place: &Range<usize>) -> &'r [Range<usize>] {
    let from = ranges.partition_point(|range| range.end <= place.start);
    let to = ranges.partition_point(|range| range.start < place.end);
    &ranges[from..to.max(from)]
}
