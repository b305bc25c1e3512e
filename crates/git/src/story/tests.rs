#![allow(clippy::unwrap_used)]

use loop_core::decide::Who;

use super::*;
use crate::testing::Sandbox;

fn cast() -> Cast {
    let names = |texts: &[&str]| texts.iter().map(|text| Name::new(text).unwrap()).collect();
    Cast {
        agents: names(&["CC", "Codex", "OpenCode"]),
        planner: Some(Name::new("Hermes").unwrap()),
        people: names(&["Dana"]),
    }
}

const PREAMBLE: &str = "# Task\n\n<!-- loop: 2026-abc -->\n";

/// A loop in a real repository, written commit by commit.
struct Loop {
    sandbox: Sandbox,
    text: String,
    commits: Vec<CommitId>,
}

impl Loop {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        sandbox.write("old", "1");
        sandbox.commit_all("before the loop");
        let mut this = Self { sandbox, text: PREAMBLE.to_owned(), commits: Vec::new() };
        this.sandbox.write("loop.yaml", "x");
        this.commit("loop: init\n\nLoop-Init: 2026-abc");
        this
    }

    fn section(&mut self, heading: &str, body: &str) -> &mut Self {
        self.text.push_str(&format!("\n## {heading}\n\n{body}\n"));
        self
    }

    fn code(&mut self, path: &str, text: &str) -> &mut Self {
        self.sandbox.write(path, text);
        self
    }

    fn commit(&mut self, message: &str) -> CommitId {
        self.sandbox.write("STATUS.md", &self.text);
        let commit = self.sandbox.commit_all(message);
        self.commits.push(commit.clone());
        commit
    }

    fn story(&self) -> Story {
        let tip = self.commits.last().unwrap();
        self.story_from(None, tip)
    }

    fn story_from(&self, base: Option<&CommitId>, tip: &CommitId) -> Story {
        self.sandbox.repo().story(tip, base, "STATUS.md", &cast(), &|path| path == "loop.yaml").unwrap()
    }
}

fn commits(story: &Story) -> Vec<&CommitId> {
    story.turns.iter().map(|turn| &turn.commit).collect()
}

fn people(story: &Story) -> Vec<(usize, String)> {
    let who = |who: &Who| match who {
        Who::Agent(name) => name.to_string(),
        Who::Person(name) => format!("person {name}"),
    };
    story
        .changes
        .iter()
        .filter(|change| !change.set_up)
        .map(|change| (change.turn, who(&change.by)))
        .collect()
}

#[test]
fn sections_have_commits_and_changes_have_authors() {
    let mut the = Loop::new();
    let init = the.commits[0].clone();
    the.code("a.rs", "1").commit("wip");
    let one = the.code("a.rs", "2").section("CC: built it", "text").commit("CC: built it\n\nLoop-Agent: CC");
    let two = the.section("Codex: looks odd", "F1 P1 a.rs:1 odd").commit("Codex: looks odd");
    the.code("a.rs", "3").commit("a fix, with a trailer\n\nLoop-Agent: codex");
    let three = the.code("b.rs", "1").section("cc: mended", "").commit("CC: mended");
    the.code("c.rs", "1").commit("nobody's yet");
    let story = the.story();
    assert_eq!(commits(&story), [&one, &two, &three]);
    assert_eq!(story.start, Some(init.clone()));
    let expected = [(1, "CC"), (1, "CC"), (3, "Codex"), (3, "CC"), (4, "person Dana")];
    assert_eq!(people(&story), expected.map(|(turn, name)| (turn, name.to_owned())));
    assert!(story.changes[0].set_up && story.changes[0].commit == init.as_str());
    assert!(story.two_names.is_empty() && story.unreadable.is_empty());
    assert_eq!(story.turns[0].tree, story.turns[1].tree, "a review changes no code");
    assert_ne!(story.turns[1].tree, story.turns[2].tree);

    let from_base = the.story_from(Some(&init), the.commits.last().unwrap());
    assert_eq!((from_base.turns, &from_base.changes[..]), (story.turns, &story.changes[1..]));
    assert_eq!(from_base.start, None);
}

#[test]
fn code_that_comes_back_has_the_same_tree() {
    let mut the = Loop::new();
    the.code("a", "1").section("CC: one", "").commit("1");
    the.code("a", "2").section("Codex: two", "").commit("2");
    the.code("a", "1").section("CC: three", "").commit("3");
    let story = the.story();
    assert_eq!(story.turns[0].tree, story.turns[2].tree);
    assert_ne!(story.turns[0].tree, story.turns[1].tree);
}

#[test]
fn the_commit_is_the_one_with_the_present_form() {
    let mut the = Loop::new();
    the.section("CC: one", "first try").commit("1");
    the.text = the.text.replace("first try", "second try");
    let edited = the.code("a", "1").commit("reworded, with a fix");
    the.text = the.text.replace("second try", "second\n\n   try");
    the.commit("white space");
    let two = the.section("CC: one", "second try").commit("the very same words again");
    let story = the.story();
    assert_eq!(commits(&story), [&edited, &two]);
    assert_eq!(people(&story), [(1, "CC".to_owned())]);
}

#[test]
fn what_closes_a_section_makes_no_new_one_of_it() {
    for (open, close) in
        [("```rust\nlet x;", "```"), ("<!-- note", "-->"), ("<pre>\nx", "</pre>"), ("~~~~", "~~~~")]
    {
        let mut the = Loop::new();
        let one = the.section("CC: one", open).commit("1");
        the.text.push_str(&format!("{close}\n"));
        let two = the.section("Codex: two", "").commit("2");
        assert_eq!(commits(&the.story()), [&one, &two], "{open}");
    }
}

#[test]
fn people_and_planners_are_named_as_such() {
    let mut the = Loop::new();
    the.code("a", "1").section("Dana: a hint", "").commit("by hand");
    the.code("a", "2").commit("x\n\nLoop-Agent: Hermes");
    the.code("a", "3").commit("x\n\nLoop-Agent: Nobody");
    the.section("Codex: next", "").commit("x");
    let expected = [(1, "person Dana"), (2, "person Hermes"), (2, "Codex")];
    assert_eq!(people(&the.story()), expected.map(|(turn, name)| (turn, name.to_owned())));
}

#[test]
fn two_names_in_one_commit_are_reported() {
    let mut the = Loop::new();
    the.section("CC: one", "").commit("1");
    let both = the.section("Codex: two", "").section("CC: three", "").commit("both");
    the.section("Codex: four", "").section("codex: five", "").commit("one name");
    let names = ["Codex", "CC"].map(|name| Name::new(name).unwrap()).to_vec();
    assert_eq!(the.story().two_names, [(both, names)]);
}

#[test]
fn unreadable_contents_are_passed_over() {
    let mut the = Loop::new();
    let one = the.section("CC: one", "").commit("1");
    std::fs::write(the.sandbox.path().join("STATUS.md"), b"# \xff\n").unwrap();
    let broken = the.sandbox.commit_all("latin1");
    let two = the.section("Codex: two", "").commit("mended");
    let story = the.story();
    assert_eq!(commits(&story), [&one, &two]);
    assert_eq!(story.unreadable, std::slice::from_ref(&broken));
    let at_broken = the.story_from(None, &broken);
    assert_eq!(commits(&at_broken), [&one], "the last readable one counts");
}

#[test]
fn another_loop_is_another_story() {
    let mut the = Loop::new();
    the.code("a", "1").section("CC: one", "").commit("1");
    let last = the.commits.last().unwrap().clone();
    std::fs::remove_file(the.sandbox.path().join("STATUS.md")).unwrap();
    let archived = the.sandbox.commit_all("loop: archive\n\nLoop-Archive: 2026-abc");
    assert!(the.story_from(None, &archived).turns.is_empty());
    the.code("a", "2").commits.clear();
    the.text = PREAMBLE.replace("2026-abc", "2027-def");
    let init = the.commit("loop: init");
    let one = the.code("a", "3").section("CC: one", "").commit("1");
    let story = the.story();
    assert_eq!((commits(&story), &story.start), (vec![&one], &Some(init.clone())));
    assert_eq!(story.changes.len(), 2, "init brought a change of its own here");
    let repo = the.sandbox.repo();
    assert_eq!(repo.loop_start(&one, "STATUS.md", "2027-def").unwrap(), Some(init));
    assert_eq!(repo.loop_start(&one, "STATUS.md", "nothing").unwrap(), None);
    let first = repo.loop_start(&one, "STATUS.md", "2026-abc").unwrap().unwrap();
    assert!(repo.is_ancestor(&first, &last).unwrap());
}

#[test]
fn a_deleted_and_restored_file_is_the_same_loop() {
    let mut the = Loop::new();
    let one = the.section("CC: one", "").commit("1");
    std::fs::remove_file(the.sandbox.path().join("STATUS.md")).unwrap();
    let gone = the.sandbox.commit_all("oops");
    assert!(the.story_from(Some(&the.commits[0]), &gone).turns.is_empty());
    let two = the.section("Codex: two", "").commit("restored");
    assert_eq!(commits(&the.story()), [&one, &two]);
}

#[test]
fn merges_follow_the_first_parent() {
    let mut the = Loop::new();
    let init = the.commits[0].clone();
    the.sandbox.run(&["checkout", "-q", "-b", "upstream", "main~1"]);
    the.sandbox.write("upstream", "1");
    the.sandbox.commit_all("upstream work");
    the.sandbox.run(&["checkout", "-q", "main"]);
    let one = the.section("CC: one", "").commit("1");
    the.sandbox.run(&["merge", "-q", "--no-ff", "-m", "merge upstream", "upstream"]);
    let two = the.section("Codex: two", "").commit("2");
    for base in [None, Some(&init)] {
        let story = the.story_from(base, &two);
        assert_eq!(commits(&story), [&one, &two]);
        assert_eq!(people(&story), [(2, "Codex".to_owned())], "the merge, not the commit that it brought");
    }
    // A base that is no ancestor (after a rebase) is none.
    let upstream = the.sandbox.repo().branch_tip("upstream").unwrap().unwrap();
    let elsewhere = the.sandbox.run(&["commit-tree", "-m", "x", &format!("{upstream}^{{tree}}")]);
    let elsewhere: CommitId = elsewhere.trim().parse().unwrap();
    assert_eq!(the.story_from(Some(&elsewhere), &two), the.story_from(None, &two));
}

#[test]
fn a_shallow_clone_knows_what_it_has() {
    let mut the = Loop::new();
    for n in 0..5 {
        let name = ["CC", "Codex"][n % 2];
        the.code("a", &n.to_string()).section(&format!("{name}: {n}"), "").commit("x");
    }
    let clone = the.sandbox.outside("clone");
    let source = format!("file://{}", the.sandbox.path().display());
    the.sandbox.run(&["clone", "-q", "--depth=2", &source, &clone.to_string_lossy()]);
    let repo = Repo::discover(&clone).unwrap();
    let tip = the.commits.last().unwrap();
    let story = repo.story(tip, None, "STATUS.md", &cast(), &|_| false).unwrap();
    let oldest = &the.commits[the.commits.len() - 2];
    assert_eq!(commits(&story), [oldest, oldest, oldest, oldest, tip]);
    assert!(repo.story(tip, Some(&the.commits[0]), "STATUS.md", &cast(), &|_| false).is_ok());
}

#[test]
fn a_status_file_in_a_folder_or_behind_a_link() {
    let sandbox = Sandbox::new();
    sandbox.link("STATUS.md", "docs/loop/STATUS.md");
    sandbox.write("docs/loop/STATUS.md", PREAMBLE);
    sandbox.write("docs/other.md", "1");
    sandbox.commit_all("init");
    sandbox.write("docs/loop/STATUS.md", &format!("{PREAMBLE}\n## CC: one\n"));
    let one = sandbox.commit_all("1");
    sandbox.write("docs/loop/STATUS.md", &format!("{PREAMBLE}\n## CC: one\n\n## Codex: two\n"));
    let two = sandbox.commit_all("2");
    for file in ["STATUS.md", "docs/loop/STATUS.md"] {
        let story = sandbox.repo().story(&two, None, file, &cast(), &|_| false).unwrap();
        assert_eq!(commits(&story), [&one, &two], "{file}");
        assert_eq!(story.turns[0].tree, story.turns[1].tree, "{file}");
        assert_eq!(story.changes.len(), 1, "{file}: only the first commit");
    }
}

#[test]
fn a_cache_gives_the_same_story() {
    let mut the = Loop::new();
    let repo = the.sandbox.repo();
    let mut cache = StoryCache::default();
    for n in 0..24 {
        let name = ["CC", "Codex"][n % 2];
        the.code("a", &n.to_string()).section(&format!("{name}: turn {n}"), "```\nopen\n```\n");
        if n == 12 {
            the.text = the.text.replace("turn 5", "turn five");
        }
        let tip = the.commit("x");
        let cached = repo.story_cached(&mut cache, &tip, None, "STATUS.md", &cast(), &|_| false).unwrap();
        let fresh = repo.story(&tip, None, "STATUS.md", &cast(), &|_| false).unwrap();
        assert_eq!(cached, fresh);
        assert_eq!(cached.turns.len(), n + 1);
    }
    let other = Cast { agents: vec![Name::new("Codex").unwrap()], ..Cast::default() };
    let tip = the.commits.last().unwrap();
    let story = repo.story_cached(&mut cache, tip, None, "STATUS.md", &other, &|_| false).unwrap();
    assert_eq!(story.turns.len(), 12, "another cast empties the cache");
}

#[test]
fn the_beginning_of_a_text_reads_as_it_reads_alone() {
    let parts = [
        PREAMBLE,
        "\n## CC: one\n\ntext\n",
        "## Codex: two\n```\nopen\n",
        "## CC: inside a fence\n```\n",
        "- item\n",
        "\n  ## OpenCode: three\nparagraph\n",
        "## CC: one\n\ntext\n",
        "<details>\n",
        "## Codex: in html?\n\n",
        "\n   \n## Codex: five",
    ];
    let whole: String = parts.concat();
    let read = sections::Read::of(loop_core::status::parse(whole.as_bytes(), &cast()).unwrap());
    let mut without_parsing = 0;
    for end in 0..=whole.len() {
        let older = &whole.as_bytes()[..end];
        let Some(known) = read.beginning(older) else { continue };
        let alone = Sections::of(&loop_core::status::parse(older, &cast()).unwrap());
        assert_eq!(*known, alone, "{:?}", &whole[..end]);
        without_parsing += 1;
    }
    assert!(without_parsing > 5, "{without_parsing}");
}
