//! Putting one member into a JSON text and taking it out again, leaving every other byte where it stands.
//!
//! Settings files are read with comments and trailing commas, as the CLIs do. A member is put behind everything that
//! its container holds, comments included, in the container's own style: on a line of its own where the container
//! has lines, with a comma behind it where the last member had one. Taking it out undoes exactly that.

use std::ops::Range;

use jsonc_parser::ast::{Array, Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};

/// Why a text cannot be read as JSON, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unread {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) why: String,
}

/// A JSON text that was read.
pub(super) struct Json<'t> {
    text: &'t str,
    tokens: Vec<TokenAndRange<'t>>,
    root: Option<Value<'t>>,
}

const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

impl<'t> Json<'t> {
    pub(super) fn read(text: &'t str) -> Result<Self, Unread> {
        let collect = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
        let parsed = parse_to_ast(text, &collect, &OPTIONS).map_err(|error| Unread {
            line: error.line_display(),
            column: error.column_display(),
            why: error.kind().to_string(),
        })?;
        let mut tokens = parsed.tokens.unwrap_or_default();
        tokens.sort_by_key(Ranged::start);
        Ok(Self { text, tokens, root: parsed.value })
    }

    pub(super) fn root(&self) -> Option<&Value<'t>> {
        self.root.as_ref()
    }

    /// Where something of the text stands, for a person.
    pub(super) fn place(&self, at: usize) -> (usize, usize) {
        let before = &self.text[..at];
        let line = before.matches('\n').count() + 1;
        (line, before.rsplit('\n').next().unwrap_or_default().chars().count() + 1)
    }

    /// The text with `member` as the last one of a container.
    pub(super) fn put(&self, container: &Container, member: &str) -> String {
        let Range { start: open, end } = container.range.clone();
        let close = end - 1;
        let before = self.before(close);
        let last = container.members.last();
        let has_lines = self.text[open..end].contains('\n');
        let indent = match last.map(|last| self.indent(last.start)) {
            // The container's members have their own line each, or none has.
            Some((indent, true)) => indent.to_owned(),
            _ => format!("{}{}", self.indent(open).0, self.unit()),
        };
        let line_break = self.line_break();
        let mut new = match (has_lines, last) {
            (false, None) => format!("{line_break}{indent}{member}{line_break}{}", self.indent(open).0),
            (false, Some(_)) => format!(" {member}"),
            (true, _) => format!("{line_break}{indent}{member}"),
        };
        let mut text = self.text.to_owned();
        let trailing_comma = last.is_some_and(|last| self.comma_behind(last.end).is_some());
        if trailing_comma {
            new.push(',');
        }
        text.insert_str(before, &new);
        if let Some(last) = last.filter(|_| !trailing_comma) {
            text.insert(last.end, ',');
        }
        text
    }

    /// The text without a member.
    pub(super) fn take(&self, container: &Container, member: &Range<usize>) -> String {
        let previous = container.members.iter().rev().find(|other| other.end <= member.start);
        let mut from = self.before(member.start);
        let comma = self.comma_behind(member.end);
        let to = comma.map_or(member.end, |comma| comma + 1);
        let rest_of_line = self.text[to..].split('\n').next().unwrap_or_default();
        // What comes behind must not become part of a comment.
        if self.line_comment_ends(from) && !rest_of_line.trim().is_empty() {
            from = member.start;
        }
        let mut text = format!("{}{}", &self.text[..from], &self.text[to..]);
        // The last of several: the comma before it was for its sake.
        if comma.is_none()
            && let Some(comma) = previous.and_then(|previous| self.comma_behind(previous.end))
        {
            text.remove(comma);
        }
        if container.members.len() == 1 {
            // The lines of an empty container were for our sake, too, unless somebody's comment stands in it.
            let open = container.range.start + 1;
            let close = container.range.end - 1 - (to - from);
            if text[open..close].trim().is_empty() {
                text.replace_range(open..close, "");
            }
        }
        text
    }

    /// Where the last thing before `at` ends: a value, a comma, a bracket or a comment.
    fn before(&self, at: usize) -> usize {
        let before = self.tokens.iter().rev().find(|token| token.end() <= at);
        before.map_or(0, Ranged::end)
    }

    fn comma_behind(&self, at: usize) -> Option<usize> {
        let behind = self.tokens.iter().filter(|token| token.start() >= at);
        let mut behind =
            behind.skip_while(|token| matches!(token.token, Token::CommentLine(_) | Token::CommentBlock(_)));
        behind.next().filter(|token| matches!(token.token, Token::Comma)).map(Ranged::start)
    }

    fn line_comment_ends(&self, at: usize) -> bool {
        self.tokens.iter().any(|token| token.end() == at && matches!(token.token, Token::CommentLine(_)))
    }

    /// The white space that begins the line of `at`, and whether nothing else stands between.
    fn indent(&self, at: usize) -> (&str, bool) {
        let start = self.text[..at].rfind('\n').map_or(0, |line_break| line_break + 1);
        let before = &self.text[start..at];
        let indent = &before[..before.len() - before.trim_start().len()];
        (indent, indent.len() == before.len() && start > 0)
    }

    /// One step of indentation: that of the first member at the top.
    fn unit(&self) -> &str {
        let first = match &self.root {
            Some(Value::Object(object)) => object.properties.first().map(Ranged::start),
            _ => None,
        };
        match first.map(|first| self.indent(first)) {
            Some((indent, true)) if !indent.is_empty() => indent,
            _ => "  ",
        }
    }

    fn line_break(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }
}

/// An object or array, and where its members stand.
#[derive(Debug, Clone)]
pub(super) struct Container {
    range: Range<usize>,
    members: Vec<Range<usize>>,
}

impl From<&Object<'_>> for Container {
    fn from(object: &Object<'_>) -> Self {
        Self { range: range(object), members: object.properties.iter().map(range).collect() }
    }
}

impl From<&Array<'_>> for Container {
    fn from(array: &Array<'_>) -> Self {
        Self { range: range(array), members: array.elements.iter().map(range).collect() }
    }
}

/// The property of this name that counts: of two, the last.
pub(super) fn property<'o, 't>(object: &'o Object<'t>, name: &str) -> Option<&'o ObjectProp<'t>> {
    object.properties.iter().rev().find(|property| property.name.as_str() == name)
}

/// Where something stands.
pub(super) fn range(node: &impl Ranged) -> Range<usize> {
    node.start()..node.end()
}
