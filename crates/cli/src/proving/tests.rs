#![allow(clippy::unwrap_used)]

use loop_testkit::{Sandbox, TestRepo};

use super::*;

/// Proves an agent whose sandbox is a script; `None`: it has none.
fn proof(sandbox: &Sandbox, repo: &TestRepo, script: Option<&str>, permissions: &str) -> Proof {
    let prefix = script.map_or_else(String::new, |script| {
        let file = sandbox.write("box", format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        format!(", sandbox: ['{}', '{{flags}}', --]", file.display())
    });
    let text = format!(
        "agents:\n  CC: {{kind: generic, command: [cc], permissions: {permissions}}}\nrotation: [CC]\n"
    );
    let kinds = BTreeMap::from([("boxed".to_owned(), {
        let yaml =
            format!("{{kind: boxed, start: [cc]{prefix}, permissions: {{edits: ['--may={{git_dir}}']}}}}");
        loop_core::Profile::parse(&yaml, "boxed.yaml").unwrap()
    })]);
    let text = text.replace("kind: generic, command: [cc]", "kind: boxed");
    let config = Config::parse(&text, "loop.yaml", &kinds).unwrap();
    let opened = Repo::discover(repo.path()).unwrap();
    Trial::new(&opened, &config, &config.agents[0], &sandbox.env_text()).prove()
}

/// Everything that the repository consists of.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => all.extend(files(&path)),
            false => all.push(path),
        }
    }
    all.sort();
    all
}

#[test]
fn a_trial_runs_in_the_sandbox_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("shop");
    repo.commit("a", "a", "first");
    let before = (files(repo.path()), repo.git(&["for-each-ref"]), repo.git(&["reflog"]));
    let script = "echo \"$1 $2\" > \"$HOME/ran\"; shift 2; exec \"$@\"";
    let made = proof(&sandbox, &repo, Some(script), "edits").unwrap();
    assert_eq!(made, "a trial commit was made in its sandbox");
    assert_eq!(sandbox.read("home/ran"), format!("--may={}/.git --\n", repo.path().display()));
    assert_eq!(before, (files(repo.path()), repo.git(&["for-each-ref"]), repo.git(&["reflog"])));
}

#[test]
fn what_only_the_sandbox_refuses_is_told_as_such() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("shop");
    repo.commit("a", "a", "first");
    let script = "echo \"fatal: cannot lock $GIT_DIR: Read-only file system\" >&2; exit 128";
    let refused = proof(&sandbox, &repo, Some(script), "edits").unwrap_err();
    assert!(refused.says.starts_with("in its sandbox a trial commit was refused"), "{refused:?}");
    assert!(refused.next.contains(".git to its sandbox"), "{refused:?}");
    // A person allows what would be refused, and nothing is refused where there is no sandbox.
    for permissions in ["ask", "all"] {
        assert_eq!(proof(&sandbox, &repo, Some(script), permissions).unwrap(), "a trial commit was made");
    }
    assert_eq!(proof(&sandbox, &repo, None, "edits").unwrap(), "a trial commit was made");
}

#[test]
fn a_lock_that_was_left_behind_is_named() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("shop");
    repo.commit("a", "a", "first");
    for name in ["index.lock", "HEAD.lock"] {
        let lock = repo.path().join(".git").join(name);
        fs::write(&lock, "").unwrap();
        let refused = proof(&sandbox, &repo, None, "edits").unwrap_err();
        assert!(refused.says.contains(&format!("holds {}", lock.display())), "{refused:?}");
        assert!(refused.next.contains(&format!("delete {}", lock.display())), "{refused:?}");
        fs::remove_file(lock).unwrap();
    }
    // Somebody's commit that is just being made stands in nobody's way.
    let lock = repo.path().join(".git/index.lock");
    fs::write(&lock, "").unwrap();
    std::thread::scope(|scope| {
        let held = scope.spawn(|| proof(&sandbox, &repo, None, "edits"));
        std::thread::sleep(Duration::from_millis(200));
        fs::remove_file(&lock).unwrap();
        assert_eq!(held.join().unwrap().unwrap(), "a trial commit was made");
    });
}

#[test]
fn hooks_that_could_still_refuse_are_named_and_not_run() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("shop");
    repo.commit("a", "a", "first");
    let hook = repo.path().join(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\ntouch ran\nexec sleep 600\n").unwrap();
    assert_eq!(proof(&sandbox, &repo, None, "edits").unwrap(), "a trial commit was made", "not executable");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let made = proof(&sandbox, &repo, None, "edits").unwrap();
    assert_eq!(made, "a trial commit was made, your pre-commit aside");
    assert!(!repo.path().join("ran").exists());
}

#[test]
fn what_git_says_is_one_line_with_the_way_out() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("shop");
    repo.commit("a", "a", "first");
    for (name, value) in
        [("gpg.format", "ssh"), ("commit.gpgSign", "true"), ("user.signingKey", "/no/such/key.pub")]
    {
        repo.git(&["config", name, value]);
    }
    let refused = proof(&sandbox, &repo, None, "edits").unwrap_err();
    assert!(refused.says.contains("/no/such/key.pub") && !refused.says.contains('\n'), "{refused:?}");
    assert!(refused.next.contains("git config commit.gpgSign false"), "{refused:?}");
}

#[test]
fn signing_is_tried_and_a_passphrase_does_not_hang() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("shop");
    repo.commit("a", "a", "first");
    let made = |name: &str, passphrase: &str| {
        let file = sandbox.home().join(name);
        let mut command = sandbox.command("ssh-keygen");
        command.args(["-q", "-t", "ed25519", "-N", passphrase, "-f"]).arg(&file);
        command.status().is_ok_and(|status| status.success()).then_some(file)
    };
    let (Some(open), Some(locked)) = (made("open", ""), made("locked", "secret")) else {
        loop_testkit::skipped("there is no ssh-keygen");
        return;
    };
    let sign_with = |key: &Path| {
        repo.git(&["config", "gpg.format", "ssh"]);
        repo.git(&["config", "commit.gpgSign", "true"]);
        repo.git(&["config", "user.signingKey", &key.display().to_string()]);
    };
    sign_with(&open);
    assert_eq!(proof(&sandbox, &repo, None, "edits").unwrap(), "a trial commit was made, signed");
    sign_with(&locked);
    let refused = proof(&sandbox, &repo, None, "edits").unwrap_err();
    assert!(refused.says.contains("passphrase") && refused.next.contains("SSH_AUTH_SOCK"), "{refused:?}");
}
