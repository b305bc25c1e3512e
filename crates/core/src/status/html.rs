//! HTML as far as it decides whether a line below it can be seen.

use std::ops::Range;

/// One token of an HTML text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token {
    /// `<name …>` that waits for its `</name>`.
    Open(String),
    /// `</name>`.
    Close(String),
    /// A comment with its end.
    Comment,
    /// Something that has begun and not ended: a comment, a tag, an instruction, the text of a script.
    Unended(&'static str),
}

/// HTML elements that never have an end tag.
const VOID: &[&str] = &[
    "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "keygen",
    "link", "meta", "param", "source", "track", "wbr",
];

/// Elements whose end tag may be left out: the next block ends them.
const END_OPTIONAL: &[&str] = &[
    "body", "caption", "colgroup", "dd", "dt", "head", "html", "li", "menuitem", "optgroup", "option", "p",
    "tbody", "td", "tfoot", "th", "thead", "tr",
];

/// Elements of blocks that a browser keeps open when they are written as `<name/>`.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "center",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "frameset",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "iframe",
    "legend",
    "main",
    "menu",
    "nav",
    "noframes",
    "ol",
    "pre",
    "search",
    "section",
    "summary",
    "table",
    "ul",
];

/// Elements whose content is text up to their own end tag.
const RAW_TEXT: &[&str] = &["script", "style", "textarea", "title"];

/// Splits an HTML text into the tokens that matter here, each with its range.
pub(crate) fn tokens(html: &str) -> Vec<(Token, Range<usize>)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(offset) = html[at..].find('<') {
        let start = at + offset;
        let rest = &html[start..];
        let (token, length) = token(rest);
        let end = start + length.unwrap_or(rest.len());
        if let Some(token) = token {
            if let Token::Open(name) = &token
                && RAW_TEXT.contains(&name.as_str())
            {
                let closing = end_tag(&html[end..], name);
                let name = name.clone();
                found.push((token, start..end));
                match closing {
                    Some(offset) => at = end + offset,
                    None => {
                        let what = RAW_TEXT.iter().find(|raw| **raw == name).copied().unwrap_or("tag");
                        found.push((Token::Unended(what), start..html.len()));
                        return found;
                    }
                }
                continue;
            }
            found.push((token, start..end));
        }
        at = end.max(start + 1);
    }
    found
}

/// Where `</name` stands in `html`.
fn end_tag(html: &str, name: &str) -> Option<usize> {
    html.match_indices("</").map(|(at, _)| at).find(|at| {
        html.as_bytes()
            .get(at + 2..at + 2 + name.len())
            .is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()))
    })
}

/// Reads the token at the start of `rest`, which begins with `<`; the length is `None` when it has no end.
fn token(rest: &str) -> (Option<Token>, Option<usize>) {
    let ended = |token, open: &str, close: &str, what| match rest[open.len()..].find(close) {
        Some(at) => (token, Some(open.len() + at + close.len())),
        None => (Some(Token::Unended(what)), None),
    };
    if rest.starts_with("<!--") {
        // `<!-->` and `<!--->` are whole comments, hence the search right behind `<!`.
        return match rest[2..].find("-->") {
            Some(at) => (Some(Token::Comment), Some(at + 5)),
            None => (Some(Token::Unended("comment")), None),
        };
    }
    if rest.starts_with("<?") {
        return ended(None, "<?", "?>", "processing instruction");
    }
    if rest.starts_with("<![CDATA[") {
        return ended(None, "<![CDATA[", "]]>", "CDATA section");
    }
    let mut after = rest[1..].chars();
    match after.next() {
        Some('!') if after.next().is_some_and(|c| c.is_ascii_alphabetic()) => {
            ended(None, "<!", ">", "declaration")
        }
        Some('/') if after.next().is_some_and(|c| c.is_ascii_alphabetic()) => {
            let name = tag_name(&rest[2..]);
            match rest.find('>') {
                Some(at) => (Some(Token::Close(name)), Some(at + 1)),
                None => (Some(Token::Unended("tag")), None),
            }
        }
        Some(first) if first.is_ascii_alphabetic() => {
            let name = tag_name(&rest[1..]);
            let Some(length) = tag_length(rest) else { return (Some(Token::Unended("tag")), None) };
            let closes_itself = rest[..length].ends_with("/>") && !is_known(&name);
            let waits = !closes_itself && !VOID.contains(&name.as_str());
            (waits.then_some(Token::Open(name)), Some(length))
        }
        _ => (None, Some(1)),
    }
}

/// Whether HTML knows the element: a browser takes `<div/>` for an open `<div>`.
fn is_known(name: &str) -> bool {
    BLOCKS.contains(&name) || END_OPTIONAL.contains(&name) || RAW_TEXT.contains(&name)
}

/// The tag's name in lower case.
fn tag_name(text: &str) -> String {
    text.chars()
        .take_while(|c| c.is_ascii_alphanumeric() || *c == '-')
        .collect::<String>()
        .to_ascii_lowercase()
}

/// Length of the tag at the start of `rest`, with respect to quoted attributes.
fn tag_length(rest: &str) -> Option<usize> {
    let mut quote = None;
    let mut after_equals = false;
    for (at, c) in rest.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '>') => return Some(at + 1),
            (None, '"' | '\'') if after_equals => quote = Some(c),
            _ => {}
        }
        after_equals = c == '=' || (after_equals && c.is_ascii_whitespace());
    }
    None
}

/// What is open at one point of a text.
#[derive(Debug, Default)]
pub(crate) struct Nesting {
    open: Vec<(String, usize)>,
}

impl Nesting {
    /// Takes in a whole HTML text that starts at `offset`. Returns what it began and did not end, if anything.
    pub(crate) fn read(&mut self, html: &str, offset: usize) -> Option<(&'static str, usize)> {
        let mut unended = None;
        for (token, range) in tokens(html) {
            match token {
                Token::Open(name) => self.open.push((name, offset + range.start)),
                Token::Close(name) => self.close(&name),
                Token::Comment => {}
                Token::Unended(what) => unended = Some((what, offset + range.start)),
            }
        }
        unended
    }

    /// Closes the innermost element of this name, with everything inside it.
    pub(crate) fn close(&mut self, name: &str) {
        if let Some(at) = self.open.iter().rposition(|(open, _)| open == name) {
            self.open.truncate(at);
        }
    }

    /// Forgets what ends with the block: the elements that need no end tag.
    pub(crate) fn end_block(&mut self) {
        self.open.retain(|(name, _)| !END_OPTIONAL.contains(&name.as_str()));
    }

    /// The innermost open element and where it was opened.
    pub(crate) fn innermost(&self) -> Option<(&str, usize)> {
        self.open.last().map(|(name, at)| (name.as_str(), *at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn innermost(html: &str) -> Option<String> {
        let mut nesting = Nesting::default();
        if let Some((what, _)) = nesting.read(html, 0) {
            return Some(format!("unended {what}"));
        }
        nesting.innermost().map(|(name, _)| name.to_owned())
    }

    #[test]
    fn what_stays_open() {
        for (html, expected) in [
            ("</details>", None),
            ("<details><summary>x</summary>y</details>", None),
            ("<br><img src='a>b'><hr/>", None),
            ("<ul><li>a<li>b</ul>", None),
            ("<Foo/>", None),
            ("<!-- <div> -->", None),
            ("<!-->", None),
            ("a < b && c > d", None),
            ("<div title=\"</div>\">", Some("div")),
            ("<details/>", Some("details")),
            ("<DIV>", Some("div")),
            ("<p>x", Some("p")),
            ("<div", Some("unended tag")),
            ("<div></div><!-- x", Some("unended comment")),
            ("<script>if (a<b) </scrip", Some("unended script")),
            ("<script>'<div>'</script>", None),
            ("<?php x", Some("unended processing instruction")),
            ("<!DOCTYPE html>", None),
            ("<![CDATA[ > ", Some("unended CDATA section")),
        ] {
            assert_eq!(innermost(html).as_deref(), expected, "{html}");
        }
    }
}
