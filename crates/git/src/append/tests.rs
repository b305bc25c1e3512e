#![allow(clippy::unwrap_used)]

use std::os::unix::fs::PermissionsExt;
use std::thread;

use loop_core::status::parse;
use loop_core::{Name, Verdict};

use super::*;
use crate::testing::Sandbox;
use crate::{CommitOpts, commit_paths};

fn cast() -> Cast {
    let agents = ["CC", "Codex"].map(|name| Name::new(name).unwrap()).to_vec();
    Cast { agents, ..Cast::default() }
}

fn section(author: &str, body: &str) -> NewSection {
    NewSection {
        author: Name::new(author).unwrap(),
        to: None,
        summary: "did it".to_owned(),
        body: body.to_owned(),
        verdict: None,
    }
}

fn append(sandbox: &Sandbox, file: &str) -> Result<Appended, GitError> {
    append_section(&sandbox.repo(), file, &cast(), &section("CC", "some text"))
}

fn bytes(sandbox: &Sandbox, file: &str) -> Vec<u8> {
    std::fs::read(sandbox.path().join(file)).unwrap()
}

#[test]
fn a_section_comes_and_goes_without_a_trace() {
    for before in ["# T\n", "", "# T\r\n\r\ntext\r\n", "\u{feff}# T", "# T\n\n## Codex: x\n```\nopen\n"] {
        let sandbox = Sandbox::new();
        sandbox.write("STATUS.md", before);
        let path = sandbox.path().join("STATUS.md");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        let appended = append(&sandbox, "STATUS.md").unwrap();
        assert_eq!((appended.path(), appended.relative()), (path.as_path(), Path::new("STATUS.md")));
        assert_eq!(appended.closed.is_empty(), !before.contains("open"), "{before:?}");
        let after = bytes(&sandbox, "STATUS.md");
        assert!(after.starts_with(before.as_bytes()));
        assert_eq!(parse(&after, &cast()).unwrap().turns.last().unwrap().author, Name::new("CC").unwrap());
        let crlf = before.contains("\r\n");
        let only_crlf = after.windows(2).filter(|pair| pair[1] == b'\n').all(|pair| pair[0] == b'\r');
        assert!(!crlf || only_crlf, "{:?}", String::from_utf8_lossy(&after));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        appended.undo().unwrap();
        assert_eq!(bytes(&sandbox, "STATUS.md"), before.as_bytes());
        let left: Vec<_> =
            std::fs::read_dir(sandbox.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "{left:?}");
    }
}

#[test]
fn a_file_that_was_not_there_is_gone_again() {
    let sandbox = Sandbox::new();
    let appended = append(&sandbox, "docs/loop/STATUS.md").unwrap();
    assert_eq!(parse(&bytes(&sandbox, "docs/loop/STATUS.md"), &cast()).unwrap().turns.len(), 1);
    appended.undo().unwrap();
    assert!(!sandbox.path().join("docs").exists());
}

#[test]
fn what_somebody_else_wrote_is_not_undone() {
    let sandbox = Sandbox::new();
    sandbox.write("STATUS.md", "# T\n");
    let appended = append(&sandbox, "STATUS.md").unwrap();
    let text = format!("{}more\n", sandbox.read("STATUS.md"));
    sandbox.write("STATUS.md", &text);
    assert!(matches!(appended.undo(), Err(GitError::Changed { .. })));
    assert_eq!(sandbox.read("STATUS.md"), text);
}

#[test]
fn links_are_followed_inside_and_refused_outside() {
    let sandbox = Sandbox::new();
    sandbox.write("docs/real.md", "# T\n");
    sandbox.link("STATUS.md", "docs/real.md");
    let appended = append(&sandbox, "STATUS.md").unwrap();
    assert_eq!(appended.relative(), Path::new("docs/real.md"));
    drop(appended);
    assert!(sandbox.read("docs/real.md").contains("## CC: did it"));
    assert!(sandbox.path().join("STATUS.md").is_symlink());

    let secret = sandbox.outside("secret.md");
    std::fs::write(&secret, "# T\n").unwrap();
    std::fs::create_dir(sandbox.outside("folder")).unwrap();
    sandbox.link("OUT.md", "../secret.md");
    sandbox.link("ABSOLUTE.md", &secret.to_string_lossy());
    sandbox.link("folder", "../folder");
    sandbox.link("CONFIG.md", ".git/config");
    sandbox.link("DANGLING.md", "nothing.md");
    for file in ["OUT.md", "ABSOLUTE.md", "folder/STATUS.md", "folder/deep/STATUS.md", "CONFIG.md"] {
        let error = append(&sandbox, file).unwrap_err();
        assert!(matches!(error, GitError::Outside { .. }), "{file}: {error}");
    }
    assert!(matches!(append(&sandbox, "DANGLING.md"), Err(GitError::NotAFile { .. })));
    for file in ["../x.md", "/tmp/x.md", ".git/x.md", ""] {
        assert!(matches!(append(&sandbox, file), Err(GitError::Path { .. })), "{file}");
    }
    assert_eq!(std::fs::read_to_string(secret).unwrap(), "# T\n");
    assert!(std::fs::read_dir(sandbox.outside("folder")).unwrap().next().is_none());
}

#[test]
fn what_cannot_be_appended_to_stays_as_it_is() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path().join("folder.md")).unwrap();
    assert!(matches!(append(&sandbox, "folder.md"), Err(GitError::NotAFile { .. })));
    let conflict = b"# T\n<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n";
    for text in [&b"# caf\xe9\n"[..], b"# nul\0\n", conflict] {
        std::fs::write(sandbox.path().join("STATUS.md"), text).unwrap();
        let error = append(&sandbox, "STATUS.md").unwrap_err();
        assert!(matches!(error, GitError::Append { .. }), "{error}");
        assert_eq!(bytes(&sandbox, "STATUS.md"), text);
    }
    sandbox.write("STATUS.md", "# T\n");
    let path = sandbox.path().join("STATUS.md");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o444)).unwrap();
    let error = append(&sandbox, "STATUS.md").unwrap_err();
    assert!(error.hint().unwrap().contains("chmod u+w"), "{error}");
    assert_eq!(sandbox.read("STATUS.md"), "# T\n");
    let big = std::fs::File::create(sandbox.path().join("BIG.md")).unwrap();
    big.set_len(crate::MAX_FILE_BYTES + 1).unwrap();
    assert!(matches!(append(&sandbox, "BIG.md"), Err(GitError::TooBig { .. })));
}

#[test]
fn two_at_once_are_two_sections_in_two_commits() {
    let sandbox = Sandbox::new();
    sandbox.write("STATUS.md", "# T\n");
    sandbox.commit_all("init");
    thread::scope(|scope| {
        for author in ["CC", "Codex"] {
            let sandbox = &sandbox;
            scope.spawn(move || {
                let section =
                    NewSection { verdict: Some(Verdict::Pass { commit: None }), ..section(author, "text") };
                let appended = append_section(&sandbox.repo(), "STATUS.md", &cast(), &section).unwrap();
                let mut slow = || {};
                let paths = [appended.relative().to_owned()];
                let message = format!("{author}: did it\n");
                commit_paths(&sandbox.git(), &paths, &message, CommitOpts::usual(&mut slow)).unwrap();
                drop(appended);
            });
        }
    });
    let status = parse(&bytes(&sandbox, "STATUS.md"), &cast()).unwrap();
    assert_eq!(status.turns.len(), 2);
    let tip = sandbox.repo().head().unwrap().tip().unwrap().clone();
    let story = sandbox.repo().story(&tip, None, "STATUS.md", &cast(), &|_| false).unwrap();
    assert!(story.two_names.is_empty() && story.turns.len() == 2);
    assert_ne!(story.turns[0].commit, story.turns[1].commit);
}

#[test]
fn closing_what_was_open_leaves_the_earlier_turn_its_commit() {
    for open in
        ["```rust\nlet x;", "~~~~", "<!-- note", "REVIEW-PASS\n\n<!-- note", "<pre>\nx", "<![CDATA[", "<?php"]
    {
        let sandbox = Sandbox::new();
        sandbox.write("STATUS.md", &format!("# T\n\n## Codex: x\n\n{open}\n"));
        let first = sandbox.commit_all("Codex: x");
        let appended = append(&sandbox, "STATUS.md").unwrap();
        assert_eq!(appended.closed.len(), 1, "{open}");
        let second = sandbox.commit_all("CC: did it");
        let story = sandbox.repo().story(&second, None, "STATUS.md", &cast(), &|_| false).unwrap();
        let commits: Vec<_> = story.turns.into_iter().map(|turn| turn.commit).collect();
        assert_eq!(commits, [first, second], "{open}: {}", sandbox.read("STATUS.md"));
    }
}
