//! Where the parts of a YAML text end, and how one is put in or taken out.

use std::ops::Range;

use super::edit::Edit;
use super::tree::{Node, Place, Value};

/// A text with the places of all its scalars, so that a bracket or `#` in one of them is not taken for YAML.
pub(super) struct Layout<'a> {
    text: &'a str,
    scalars: Vec<Range<usize>>,
}

/// A flow collection: its brackets and the commas between its parts.
struct Flow {
    close: usize,
    commas: Vec<usize>,
}

impl<'a> Layout<'a> {
    pub(super) fn new(text: &'a str, root: &Node) -> Self {
        let mut scalars = Vec::new();
        collect(root, &mut scalars);
        scalars.sort_by_key(|scalar| scalar.start);
        Self { text, scalars }
    }

    /// The edits that put `new` behind the last part of a map or list.
    pub(super) fn appended(&self, node: &Node, new: &str) -> Vec<Edit> {
        let Some(last) = starts(node).last().copied() else {
            // `{}` and `[]` have brackets only; nothing at all would be refused before.
            return self
                .flow(node)
                .map(|flow| (flow.close..flow.close, new.to_owned()))
                .into_iter()
                .collect();
        };
        match self.flow(node) {
            Some(flow) => self.appended_in_flow(&flow, last, new),
            None => {
                let prefix = &self.text[self.line_start(last)..last];
                let end = self.past_its_comments(self.end(node), prefix.len());
                vec![self.line_below(end, &format!("{prefix}{new}"))]
            }
        }
    }

    /// The edits that put `new` into a list as item `place`, behind the item before it.
    pub(super) fn inserted(&self, node: &Node, place: usize, new: &str) -> Vec<Edit> {
        let starts = starts(node);
        let (Some(&start), true) =
            (place.checked_sub(1).and_then(|before| starts.get(before)), place < starts.len())
        else {
            return self.appended(node, new);
        };
        let end = self.part_end(node, place - 1);
        let prefix = &self.text[self.line_start(start)..start];
        let Some(flow) = self.flow(node) else {
            let end = self.past_its_comments(end, prefix.len());
            return vec![self.line_below(end, &format!("{prefix}{new}"))];
        };
        let own_lines =
            flow.commas.get(place - 1).is_some_and(|comma| self.text[*comma..starts[place]].contains('\n'));
        if own_lines && prefix.chars().all(char::is_whitespace) {
            return vec![self.line_below(end, &format!("{prefix}{new},"))];
        }
        vec![(end..end, format!(", {new}"))]
    }

    fn appended_in_flow(&self, flow: &Flow, last: usize, new: &str) -> Vec<Edit> {
        let mut content = self.content_end(flow.close);
        let comma = self.text[..content].ends_with(',');
        if self.text[..content].ends_with(':') {
            // `{CC: }`: the space belongs to the colon.
            content = flow.close;
        }
        if !self.text[content..flow.close].contains('\n') {
            let new = if comma { format!(" {new}") } else { format!(", {new}") };
            return vec![(content..content, new)];
        }
        // One part per line: a line of its own, with a comma at its end where the others have one.
        let prefix = &self.text[self.line_start(last)..last];
        let indentation: String = prefix.chars().take_while(|c| c.is_whitespace()).collect();
        let line = self.line_below(content, &format!("{indentation}{new}{}", if comma { "," } else { "" }));
        if comma { vec![line] } else { vec![(content..content, ",".to_owned()), line] }
    }

    /// The edits that take out the part with `index` of a map or list.
    pub(super) fn removed(&self, node: &Node, index: usize) -> Vec<Edit> {
        let starts = starts(node);
        let Some(&start) = starts.get(index) else { return Vec::new() };
        let line = self.line_start(start);
        let alone_before = self.text[line..start].chars().all(|c| c.is_whitespace() || c == '-');
        let Some(flow) = self.flow(node) else {
            let end = self.past_its_comments(self.part_end(node, index), start - line);
            return vec![(line..self.past_line(end), String::new())];
        };
        match flow.commas.get(index) {
            Some(comma) => {
                let rest = &self.text[comma + 1..];
                let end = comma + 1 + (rest.len() - rest.trim_start_matches([' ', '\t']).len());
                if alone_before && self.text[end..].starts_with(['\r', '\n']) {
                    return vec![(line..self.past_line(end), String::new())];
                }
                vec![(start..end, String::new())]
            }
            None => {
                let end = self.content_end(flow.close);
                let from = index.checked_sub(1).and_then(|before| flow.commas.get(before)).copied();
                match from {
                    // A trailing comma is fine, and a comment behind it stays.
                    Some(comma) if self.text[comma..start].contains('\n') && alone_before => {
                        vec![(line..self.past_line(end).min(self.line_start(flow.close)), String::new())]
                    }
                    Some(comma) => vec![(comma..end, String::new())],
                    None => vec![(start..end, String::new())],
                }
            }
        }
    }

    /// Behind the last byte of a value, closing brackets included.
    fn end(&self, node: &Node) -> usize {
        if let Some(flow) = self.flow(node) {
            return flow.close + 1;
        }
        let parts = match &node.value {
            _ if self.text[node.place.start..].starts_with('*') => 0,
            Value::List(items) => items.len(),
            Value::Map(entries) => entries.len(),
            _ => 0,
        };
        let end = (0..parts).map(|part| self.part_end(node, part)).fold(node.place.end, usize::max);
        // A block scalar takes its last newline with it.
        self.text[..end].trim_end().len().max(node.place.start)
    }

    fn part_end(&self, node: &Node, index: usize) -> usize {
        match &node.value {
            Value::List(items) => self.end(&items[index]),
            Value::Map(entries) => {
                let (key, value) = &entries[index];
                key.place.end.max(self.end(value))
            }
            _ => node.place.end,
        }
    }

    /// The brackets and commas of `node`, when it is a flow collection.
    fn flow(&self, node: &Node) -> Option<Flow> {
        let open = node.place.start;
        if !matches!(node.value, Value::List(_) | Value::Map(_)) || !self.text[open..].starts_with(['[', '{'])
        {
            return None;
        }
        let mut depth = 0_usize;
        let mut commas = Vec::new();
        for (at, character) in self.bare(open) {
            match character {
                '[' | '{' => depth += 1,
                ']' | '}' if depth == 1 => return Some(Flow { close: at, commas }),
                ']' | '}' => depth -= 1,
                ',' if depth == 1 => commas.push(at),
                _ => {}
            }
        }
        None
    }

    /// Behind the last thing before the bracket at `close` that is neither space nor comment.
    fn content_end(&self, close: usize) -> usize {
        let line_of = |at: usize| self.line_start(at);
        let mut end = self.text[..close].trim_end().len();
        // A comment runs to the end of its line, so a line that ends in one is cut where the comment begins.
        while let Some(comment) = self.comment_in(line_of(end), end) {
            end = self.text[..comment].trim_end().len();
        }
        end
    }

    /// Where the comment begins that the line from `line` to `end` ends in.
    fn comment_in(&self, line: usize, end: usize) -> Option<usize> {
        let mut before = ' ';
        for (at, character) in self.text[line..end].char_indices() {
            let inside = self.scalars.iter().any(|scalar| scalar.contains(&(line + at)));
            if character == '#' && before.is_whitespace() && !inside {
                return Some(line + at);
            }
            before = character;
        }
        None
    }

    /// The characters from `from` on that are in no scalar and no comment.
    fn bare(&self, from: usize) -> impl Iterator<Item = (usize, char)> {
        let mut comment = false;
        let mut blank = true;
        self.text[from..].char_indices().filter_map(move |(at, character)| {
            let at = from + at;
            let in_scalar = self.scalars.iter().any(|scalar| scalar.contains(&at));
            comment = match character {
                '\n' => false,
                '#' if blank && !in_scalar => true,
                _ => comment,
            };
            blank = character.is_whitespace();
            (!comment && !in_scalar).then_some((at, character))
        })
    }

    /// Goes on from `end` past the comment lines below it that are indented deeper than its part.
    fn past_its_comments(&self, end: usize, indentation: usize) -> usize {
        let mut end = end;
        let mut next = self.past_line(end);
        for line in self.text[next..].split_inclusive('\n') {
            let content = line.trim();
            let indented = line.len() - line.trim_start().len();
            if content.starts_with('#') && indented > indentation {
                end = next + line.trim_end().len();
            } else if !content.is_empty() {
                break;
            }
            next += line.len();
        }
        end
    }

    /// The edit that writes a line below the one that holds `at`, in the file's own newline style.
    fn line_below(&self, at: usize, line: &str) -> Edit {
        let newline = if self.text.contains("\r\n") { "\r\n" } else { "\n" };
        let next = self.past_line(at);
        let ended = self.text[..next].ends_with('\n');
        let line = if ended { format!("{line}{newline}") } else { format!("{newline}{line}") };
        (next..next, line)
    }

    fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |newline| newline + 1)
    }

    /// The start of the line below the one that holds `at`.
    fn past_line(&self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |newline| at + newline + 1)
    }
}

/// The text with all edits made. Edits that overlap an earlier one are left out; the caller reads the result.
pub(super) fn applied(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut result = String::with_capacity(text.len() + 64);
    let mut done = 0;
    for (range, new) in edits {
        if range.start >= done {
            result.push_str(&text[done..range.start]);
            result.push_str(&new);
            done = range.end;
        }
    }
    result.push_str(&text[done..]);
    result
}

/// Where the parts of a map (its keys) or list (its items) start.
fn starts(node: &Node) -> Vec<usize> {
    match &node.value {
        Value::Map(entries) => entries.iter().map(|(key, _)| key.place.start).collect(),
        Value::List(items) => items.iter().map(|item| item.place.start).collect(),
        _ => Vec::new(),
    }
}

fn collect(node: &Node, scalars: &mut Vec<Range<usize>>) {
    let mut push = |place: Place| scalars.push(place.start..place.end);
    match &node.value {
        Value::List(items) => items.iter().for_each(|item| collect(item, scalars)),
        Value::Map(entries) => {
            for (key, value) in entries {
                scalars.push(key.place.start..key.place.end);
                collect(value, scalars);
            }
        }
        _ => push(node.place),
    }
}
