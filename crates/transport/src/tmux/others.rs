//! An expression for the lines that are not among known ones: extended expressions have no "not".

use std::collections::BTreeMap;

/// How many characters behind the prompt are compared, at most; fewer where the expression would become too long.
const DEPTHS: [usize; 4] = [120, 60, 30, 15];

/// How long the expression may be: tmux takes 16 KB with everything that it is told at once.
const LONGEST: usize = 4_000;

/// Of any kind: no class of expressions has the space that does not break.
const BLANKS: &str = "[:space:]\u{a0}";

/// Whether a character means itself in tmux's formats and in expressions.
pub(super) fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, ' ' | '/' | '_' | '-')
}

/// An extended expression that matches every line that begins with `prompt` and is none of `lines`, as far as it
/// can tell: blanks at the end do not count, nor what follows a character with a meaning of its own. `None` where
/// they are too many.
pub(super) fn none_but(prompt: &str, lines: &[String]) -> Option<String> {
    let known = || lines.iter().filter_map(|line| line.strip_prefix(prompt)).map(str::trim_end);
    let begins: String = prompt.chars().map(literal).collect();
    DEPTHS.into_iter().find_map(|depth| {
        let mut tree = Tree::default();
        known().for_each(|line| tree.add(line, depth));
        let others = tree.others(tree.ends);
        // Too long is no use, and without any an expression would match what is known.
        (!others.is_empty() && others.len() <= LONGEST).then(|| format!("^{begins}{others}"))
    })
}

/// A character of the prompt, which has to be itself.
fn literal(c: char) -> String {
    match c {
        c if is_plain(c) || !c.is_ascii() => c.to_string(),
        '.' | '*' | '+' | '?' | '(' | ')' | '|' | '$' | '>' | '<' | '!' => format!("[{c}]"),
        _ => ".".to_owned(),
    }
}

/// Lines by their characters.
#[derive(Default)]
struct Tree {
    /// A line ends here.
    ends: bool,
    /// What goes on here cannot be told apart.
    open: bool,
    next: BTreeMap<char, Tree>,
}

impl Tree {
    fn add(&mut self, line: &str, depth: usize) {
        let mut here = self;
        for (at, c) in line.chars().enumerate() {
            if at == depth || !(is_plain(c) || can_stand_in_brackets(c)) {
                here.open = true;
                return;
            }
            here = here.next.entry(c).or_default();
        }
        here.ends = true;
    }

    /// An expression for what goes on here as no line does; empty: nothing can be said. `may_end`: a line ends here,
    /// or did before the blanks that led here, which do not count.
    fn others(&self, may_end: bool) -> String {
        if self.open {
            return String::new();
        }
        let mut choices = Vec::new();
        if !may_end {
            choices.push("$".to_owned());
        }
        let known: String = self.next.keys().filter(|c| **c != '-').collect();
        // A hyphen between two others would mean all from one to the other.
        let hyphen = if self.next.contains_key(&'-') { "-" } else { "" };
        let blanks = if may_end { BLANKS } else { "" };
        choices.push(format!("[^{known}{blanks}{hyphen}]"));
        if may_end {
            // Something else behind blanks; those that a line goes on with are followed below.
            let skipped = match (self.next.contains_key(&' '), self.next.contains_key(&'\u{a0}')) {
                (false, false) => BLANKS,
                (true, false) => "\u{a0}",
                (false, true) => "[:space:]",
                (true, true) => "",
            };
            if !skipped.is_empty() {
                choices.push(format!("[{skipped}]+[^{BLANKS}]"));
            }
        }
        for (c, tree) in &self.next {
            let others = tree.others(tree.ends || (may_end && c.is_whitespace()));
            if !others.is_empty() {
                choices.push(format!("{}{others}", literal(*c)));
            }
        }
        format!("({})", choices.join("|"))
    }
}

fn can_stand_in_brackets(c: char) -> bool {
    matches!(c, '.' | '*' | '+' | '?' | '(' | ')' | '|' | '$' | '!') || (!c.is_ascii() && !c.is_control())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use regex::Regex;

    use super::*;

    fn check(prompt: &str, known: &[&str], line: &str, is_other: bool) {
        let lines: Vec<String> = known.iter().map(|line| (*line).to_owned()).collect();
        let others = none_but(prompt, &lines).unwrap();
        assert!(!others.contains(['#', ',', '{', '}', ';']), "{others} has a meaning in a format");
        assert_eq!(
            Regex::new(&others).unwrap().is_match(line),
            is_other,
            "{line:?} among {known:?}: {others}"
        );
    }

    #[test]
    fn a_composer_that_has_changed_is_told_from_what_stands_above_it() {
        let known = ["❯ /agent-loop CC", "● All done.", "❯ fix it", "❯ /agent-loop CC", "  footer"];
        for line in known {
            check("❯", &known, line, false);
        }
        for line in [
            "❯ /agent-loop CCy",
            "❯ /agent-loop CC y",
            "❯ y/agent-loop CC",
            "❯ /agent-loop C",
            "❯ /agent-loopy CC",
            "❯ /agent-loop CC小",
            "❯",
            "❯ ",
            "❯ fix i",
            "❯y",
        ] {
            check("❯", &known, line, true);
        }
        check("❯", &known, "another line", false);
        check("❯", &known, " ❯ indented", false);
    }

    #[test]
    fn an_empty_composer_is_empty_however_it_is_drawn() {
        let known = ["❯ hello 小明", "}", "❯"];
        for (line, is_other) in
            [("❯", false), ("❯\u{a0}", false), ("❯\u{a0}x", true), ("❯ h", true), ("❯ 小", true)]
        {
            check("❯", &known, line, is_other);
        }
        check(
            " *",
            &[" *   Type your message or @path/to/file"],
            " *   Type your message or @path/to/file",
            false,
        );
        check(" *", &[" *   Type your message or @path/to/file"], " *   y", true);
        check(" >", &[" >"], " > y", true);
    }

    #[test]
    fn what_cannot_be_told_is_taken_for_known() {
        check("❯", &["❯ a{b}"], "❯ a{c}", false);
        check("❯", &["❯ a{b}"], "❯ b", true);
        check("❯", &["❯ a - $x (y) *z* w|v?"], "❯ a - $x (y) *z* w|v?", false);
        check("❯", &["❯ a - $x (y) *z* w|v?"], "❯ a - $x (y) *z* w|v? !", true);
        let long: Vec<String> = (0..20).map(|at| format!("❯ {at} {}", "long ".repeat(30))).collect();
        let others = none_but("❯", &long).unwrap();
        assert!(others.len() < LONGEST + 10, "{}", others.len());
        assert!(Regex::new(&others).unwrap().is_match("❯ 7 short"));
        let many: Vec<String> = (0..2000).map(|at| format!("❯ {at}")).collect();
        assert_eq!(none_but("❯", &many), None);
    }
}
