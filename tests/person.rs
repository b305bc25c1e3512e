//! A person steps in; an agent that tries to is refused; a planner with a session hears of the end.

use loop_testkit::eventually;
use loop_testkit::script::{Script, Step};

use crate::stage::{LONG, Place, Stage, again, commit, pass, review, sh, turn, work, write_line};

fn raise<'stage>(stage: &'stage Stage, agents: &[(&str, Script)], rest: &str) -> Place<'stage> {
    let shop = stage.shop();
    shop.cast(agents, rest);
    shop.run(&["init", "the task"]);
    shop.run(&["up", "--yes", "--headless"]);
    shop
}

fn end(place: &Place<'_>) {
    place.run(&["down"]);
    place.stage.nothing_runs();
}

#[track_caller]
fn wakes(place: &Place<'_>, name: &str, expected: usize) {
    eventually(&format!("{expected} wakes of {name}"), LONG, || match place.wakes(name) {
        wakes if wakes == expected => Ok(()),
        wakes => Err(format!("{wakes}\n{}", place.story())),
    });
}

#[test]
fn says_something_to_one_agent_and_accepts() {
    let stage = Stage::new("");
    let gate = Step::WaitFor(stage.sandbox.root().join("gate").display().to_string());
    let shop = raise(
        &stage,
        &[
            ("CC", Script::of([turn([gate, write_line("a"), commit("first")]), work("as Dana says")])),
            ("Codex", again([review("a finding")])),
        ],
        "pass: other\npeople: [Dana]\nlimits: {rounds: 1}",
    );
    wakes(&shop, "CC", 1);
    stage.sandbox.write("gate", "");
    shop.until("held", "round");
    shop.run(&["say", "use the old table", "--to", "CC"]);
    shop.run(&["resume", "--rounds", "1"]);
    wakes(&shop, "CC", 2);
    eventually("the end of the round", LONG, || match shop.authors() {
        authors if authors == ["CC", "Codex", "Dana", "CC", "Codex"] => Ok(()),
        authors => Err(format!("{authors:?}")),
    });
    shop.until("held", "round");
    let said = shop.run(&["accept", "-m", "good enough"]);
    assert!(said.contains("accepted by Dana"), "{said}");
    let status = shop.until("passed", "");
    assert!(status["decision"]["reason"].as_str().unwrap().contains("Dana"), "{status}");
    shop.passes();
    shop.run(&["archive"]);
    end(&shop);
}

#[test]
fn is_told_on_accept_who_is_still_at_work() {
    let stage = Stage::new("");
    let never = Step::WaitFor(stage.sandbox.root().join("never").display().to_string());
    let cc = Script::of([turn([never])]);
    let shop = raise(&stage, &[("CC", cc), ("Codex", Script::of([pass()]))], "people: [Dana]");
    wakes(&shop, "CC", 1);
    let said = shop.try_loop(&["accept"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.err.contains("CC is still at work") && said.err.contains("`loop stop`"), "{said:?}");
    shop.run(&["stop"]);
    let said = shop.try_loop(&["accept"]);
    assert!(!said.err.contains("still at work"), "{said:?}");
    shop.passes();
    end(&shop);
}

#[test]
fn pauses_resumes_and_stops() {
    let stage = Stage::new("");
    let root = stage.sandbox.root();
    let gate = |name: &str| Step::WaitFor(root.join(name).display().to_string());
    let shop = raise(
        &stage,
        &[
            (
                "CC",
                Script::of([turn([gate("one"), write_line("a"), commit("first")]), turn([gate("never")])]),
            ),
            ("Codex", Script::of([review("a finding")])),
        ],
        "pass: other",
    );
    wakes(&shop, "CC", 1);
    shop.run(&["pause"]);
    stage.sandbox.write("one", "");
    // CC may end its turn, and nobody is woken after it.
    shop.until("held", "paused");
    eventually("CC's section", LONG, || match shop.authors() {
        authors if authors == ["CC"] => Ok(()),
        authors => Err(format!("{authors:?}")),
    });
    assert_eq!(shop.wakes("Codex"), 0);
    shop.run(&["resume"]);
    wakes(&shop, "Codex", 1);
    wakes(&shop, "CC", 2);
    // `stop` interrupts whoever works: the run of the never-ending turn is gone, the router is not.
    shop.run(&["stop"]);
    eventually("CC's end", LONG, || {
        match stage.running().iter().find(|(_, words)| words.contains("loop-fake-agent")) {
            None => Ok(()),
            Some(process) => Err(format!("{process:?}")),
        }
    });
    assert!(stage.router().is_some());
    shop.until("held", "");
    assert_eq!(shop.wakes("CC"), 2, "{}", shop.story());
    end(&shop);
}

#[test]
fn an_agent_cannot_steer() {
    let stage = Stage::new("");
    let tries = ["accept", "resume", "skip Codex", "stop", "pause", "down", "trust --yes"]
        .map(|words| format!("if {{loop}} {words} 2>>refused.txt; then echo '{words}' >> allowed.txt; fi"))
        .join("\n");
    // Also from a shell that left the agent's environment behind.
    let hidden = "env -i PATH=\"$PATH\" HOME=\"$HOME\" sh -c '{loop} accept 2>>refused.txt && echo hidden >> allowed.txt || true'";
    let shop = raise(
        &stage,
        &[
            ("CC", Script::of([turn([sh(&tries), sh(hidden), commit("tried")])])),
            ("Codex", Script::of([pass()])),
        ],
        "pass: any",
    );
    shop.passes();
    assert!(!shop.repo.path().join("allowed.txt").exists(), "{}", shop.story());
    let refused = shop.repo.read("refused.txt");
    assert_eq!(refused.matches("is for people; this is CC's session").count(), 8, "{refused}");
    assert_eq!(shop.authors(), ["CC", "Codex"]);
    end(&shop);
}

#[test]
fn a_planner_with_a_session_hears_of_the_end_once() {
    let stage = Stage::new("");
    let look = turn([]);
    let shop = raise(
        &stage,
        &[("CC", Script::of([work("first")])), ("Codex", Script::of([pass()])), ("Hermes", again([look]))],
        "rotation: [CC, Codex]\nplanner: Hermes\npass: other",
    );
    shop.passes();
    wakes(&shop, "Hermes", 1);
    // Nor is it woken again by further looks, or when it has said nothing.
    shop.run(&["router", "--stop"]);
    shop.run(&["up", "--yes", "--headless"]);
    shop.until("passed", "");
    eventually("two looks more", LONG, || {
        let log = std::fs::read_to_string(stage.state().join("router.log")).unwrap_or_default();
        if log.matches("the router listens").count() == 2 { Ok(()) } else { Err(log) }
    });
    end(&shop);
    assert_eq!(shop.wakes("Hermes"), 1, "{}", shop.story());
}

#[test]
fn is_one_of_the_agents_and_answers_with_commit() {
    let stage = Stage::new("");
    let file = stage.sandbox.root().join("told.txt");
    let script = format!("printf '%s | %s\\n' \"$1\" \"$2\" >> {}", file.display());
    let command = serde_json::to_string(&["sh", "-c", &script, "tell", "{title}", "{text}"]).unwrap();
    let path = "home/.config/agent-loop/config.yaml";
    let settings = stage.sandbox.read(path);
    stage.sandbox.write(path, format!("{settings}tell: {{command: {command}}}\n"));
    let shop = stage.shop();
    let cc = shop.agent("CC", &Script::of([work("first"), work("second")]));
    let cast = format!(
        "agents:\n  CC: {{kind: scripted, command: {cc}}}\n  Dana: {{kind: human}}\nrotation: [CC, Dana]\npass: other\n"
    );
    shop.repo.commit("loop.yaml", cast, "how the loop works here");
    shop.run(&["init", "the task"]);
    shop.run(&["up", "--yes", "--headless"]);
    let called = |times: usize| {
        eventually(&format!("{times} calls of Dana"), LONG, || {
            let told = std::fs::read_to_string(&file).unwrap_or_default();
            let calls = told.lines().filter(|line| line.contains("loop turn Dana")).count();
            if calls == times { Ok(()) } else { Err(format!("{told}\n{}", shop.story())) }
        });
    };
    called(1);
    // A person has no skill: the steps come with the turn.
    let turn = shop.run(&["turn", "Dana"]);
    for words in ["Dana: turn 2 is yours", "## 2. Work", "loop commit Dana -m", "## 4. Stop"] {
        assert!(turn.contains(words), "{words}: {turn}");
    }
    shop.run(&["commit", "Dana", "-m", "a finding"]);
    called(2);
    assert_eq!(shop.authors(), ["CC", "Dana", "CC"]);
    shop.run(&["commit", "Dana", "-m", "fine", "--pass"]);
    shop.passes();
    assert_eq!(shop.wakes("CC"), 2, "{}", shop.story());
    called(2);
    end(&shop);
}
