//! What the conformance program found, each as a case of its own.

use loop_core::DeliveryState;
use loop_testkit::Sandbox;
use loop_testkit::tui::{Event, Script, Start, Truth, What, When};
use loop_transport::tmux::Server;
use loop_transport::{Presence, Receipt, TransportError};

use crate::kit::lane::Lane;

/// A window with a fake of this persona that plays `script`.
struct Stage {
    lane: Lane,
    script: Script,
    /// Ends the server when it is dropped.
    _sandbox: Sandbox,
}

impl Stage {
    async fn open(persona: &str, script: Script) -> Option<Self> {
        if !loop_testkit::require_tool("tmux", "-V") {
            return None;
        }
        let sandbox = Sandbox::new();
        let server = Server {
            env: Some(sandbox.env_text()),
            config: Some("/dev/null".into()),
            ..Server::at(sandbox.tmux_socket())
        };
        let fake = env!("CARGO_BIN_EXE_loop-fake-tui").as_ref();
        let lane = Lane::open(&sandbox, &server, fake, persona, 0).await;
        let script = Script { serial: 1, turn_ms: 20_000, ..script };
        lane.begin(&script, 120, 30).await;
        Some(Self { lane, script, _sandbox: sandbox })
    }

    async fn wake(&self) -> Result<Receipt, TransportError> {
        // A window that was just resized comes to rest first.
        loop_testkit::eventually_async(
            "the same state twice",
            std::time::Duration::from_secs(20),
            || async {
                let before = self.lane.probe().await;
                tokio::time::sleep(std::time::Duration::from_millis(400)).await;
                let after = self.lane.probe().await;
                let rests = before == after && after != Presence::Starting;
                if rests { Ok(()) } else { Err(format!("{before:?}, then {after:?}")) }
            },
        )
        .await;
        self.lane.wake().await
    }

    fn log(&self) -> Vec<Truth> {
        self.lane.truth(&self.script)
    }

    fn count(&self, event: &str) -> usize {
        self.log().iter().filter(|line| line.event == event).count()
    }

    /// It arrived: once, and nothing else did.
    async fn arrives(self) {
        let receipt = self.wake().await.unwrap();
        assert_eq!(receipt.state, DeliveryState::Submitted, "{}", receipt.note);
        let submitted: Vec<String> =
            self.log().into_iter().filter(|line| line.event == "submitted").map(|line| line.text).collect();
        assert_eq!(submitted, [self.lane.text()], "{:?}", self.log());
    }

    /// Nobody can say that it arrived, and it did not.
    async fn stays_unknown(self) {
        let error = self.wake().await.unwrap_err();
        assert!(matches!(error, TransportError::Unknown(_)), "{error:?}");
        assert_eq!(self.count("submitted"), 0, "{:?}", self.log());
    }

    /// It is refused, and no key was pressed.
    async fn refuses(self) {
        let error = self.wake().await.unwrap_err();
        assert!(matches!(error, TransportError::NotNow(_)), "{error:?}");
        for event in ["submitted", "dialog-answered", "key-at-dialog", "ghost-accepted"] {
            assert_eq!(self.count(event), 0, "{:?}", self.log());
        }
    }
}

fn on(when: When, after_ms: u64, what: What) -> Vec<Event> {
    vec![Event { when, after_ms, what }]
}

#[tokio::test]
async fn a_slash_command_that_was_wiped_is_not_taken_for_a_short_turn() {
    for persona in ["codex", "generic"] {
        let script = Script { wipe: true, ..Script::default() };
        let Some(stage) = Stage::open(persona, script).await else { return };
        stage.stays_unknown().await;
    }
}

#[tokio::test]
async fn an_old_prompt_that_comes_back_into_sight_is_no_proof() {
    let Some(mut stage) = Stage::open("hermes", Script { turn_ms: 10, ..Script::default() }).await else {
        return;
    };
    for serial in 2..8 {
        // As long as it takes to be seen working, and then the window is full of prompts.
        stage.lane.begin(&Script { serial, turn_ms: 400, ..Script::default() }, 20, 12).await;
        stage.wake().await.unwrap();
    }
    stage.script = Script { serial: 9, wipe: true, ..Script::default() };
    stage.lane.begin(&stage.script, 20, 12).await;
    stage.stays_unknown().await;
}

#[tokio::test]
async fn another_suggestion_below_an_old_prompt_without_an_answer_is_no_proof() {
    for persona in ["codex", "claude-code", "opencode"] {
        let Some(mut stage) = Stage::open(persona, Script { turn_ms: 20_000, ..Script::default() }).await
        else {
            return;
        };
        // Its turn is cut off, so nothing stands between the prompt and the composer.
        stage.wake().await.unwrap();
        let events = on(When::Text, 0, What::Ghost("write the tests first".into()));
        stage.script = Script { serial: 2, wipe: true, events, ..Script::default() };
        stage.lane.begin(&stage.script, 40, 30).await;
        stage.stays_unknown().await;
    }
}

#[tokio::test]
async fn older_prompts_that_a_larger_window_shows_are_no_proof() {
    let Some(mut stage) = Stage::open("hermes", Script { turn_ms: 10, ..Script::default() }).await else {
        return;
    };
    for serial in 2..10 {
        stage.lane.begin(&Script { serial, turn_ms: 400, ..Script::default() }, 60, 12).await;
        stage.wake().await.unwrap();
    }
    // What a stalled program shows, it shows on.
    loop_testkit::eventually_async("rest", std::time::Duration::from_secs(20), || async {
        let presence = stage.lane.probe().await;
        if presence == Presence::Idle { Ok(()) } else { Err(format!("{presence:?}")) }
    })
    .await;
    // It draws its larger window only after our text was put in.
    let events = on(When::Begin, 0, What::Stall(2800));
    stage.script = Script { serial: 10, turn_ms: 20_000, wipe: true, events, ..Script::default() };
    stage.lane.begin(&stage.script, 60, 30).await;
    let error = stage.lane.wake().await.unwrap_err();
    assert!(matches!(error, TransportError::Unknown(_)), "{error:?}");
    assert_eq!(stage.count("submitted"), 0, "{:?}", stage.log());
}

#[tokio::test]
async fn an_agent_that_begins_to_work_by_itself_has_not_taken_the_text_that_still_stands() {
    let events = on(When::Key, 200, What::Turn(20_000));
    let Some(stage) = Stage::open("codex", Script { swallow: 5, events, ..Script::default() }).await else {
        return;
    };
    stage.stays_unknown().await;
}

#[tokio::test]
async fn a_lost_key_is_pressed_again_where_no_rule_says_which_line_is_the_composer() {
    let Some(stage) = Stage::open("opencode", Script { swallow: 1, ..Script::default() }).await else {
        return;
    };
    stage.arrives().await;
}

#[tokio::test]
async fn words_that_already_stand_in_an_unread_composer_are_not_submitted_with_ours() {
    let start = Start::Draft("y".into());
    let Some(stage) = Stage::open("opencode", Script { start, ..Script::default() }).await else { return };
    stage.refuses().await;
}

#[tokio::test]
async fn a_suggestion_in_the_composer_holds_no_wake() {
    for persona in ["claude-code", "codex", "opencode", "gemini", "qwen", "hermes", "generic"] {
        let script = Script { ghost: Some("fix the flaky test".into()), ..Script::default() };
        let Some(stage) = Stage::open(persona, script).await else { return };
        stage.arrives().await;
    }
}

#[tokio::test]
async fn a_suggestion_that_comes_up_when_the_composer_is_emptied_is_not_submitted() {
    let events =
        [on(When::Text, 0, What::Ghost("fix the flaky test".into())), on(When::Text, 150, What::Clear)];
    let script = Script { events: events.concat(), ..Script::default() };
    let Some(stage) = Stage::open("claude-code", script).await else { return };
    stage.wake().await.unwrap_err();
    assert_eq!(stage.count("submitted") + stage.count("ghost-accepted"), 0, "{:?}", stage.log());
}

#[tokio::test]
async fn the_words_that_a_person_types_over_a_suggestion_are_not_submitted_with_ours() {
    let start = Start::Draft("fi".into());
    let script = Script { start, ghost: Some("fix the flaky test".into()), ..Script::default() };
    let Some(stage) = Stage::open("claude-code", script).await else { return };
    stage.refuses().await;
}

#[tokio::test]
async fn a_dialog_that_comes_up_behind_the_text_is_not_answered() {
    for persona in ["claude-code", "codex", "gemini", "qwen", "hermes"] {
        let events = on(When::Text, 150, What::Dialog("permission".into()));
        let Some(stage) = Stage::open(persona, Script { events, ..Script::default() }).await else { return };
        let error = stage.wake().await.unwrap_err();
        assert!(matches!(error, TransportError::Unknown(_)), "{persona}: {error:?}");
        assert_eq!(stage.count("dialog"), 1, "{persona}");
        assert_eq!(stage.count("dialog-answered") + stage.count("key-at-dialog"), 0, "{:?}", stage.log());
    }
}

#[tokio::test]
async fn a_screen_that_no_rule_knows_gets_nothing_typed() {
    for persona in ["claude-code", "codex", "opencode", "gemini", "qwen", "hermes", "generic"] {
        let start = Start::Updated;
        let Some(stage) = Stage::open(persona, Script { start, ..Script::default() }).await else { return };
        assert!(matches!(stage.lane.probe().await, Presence::Unknown(_)), "{persona}");
        stage.refuses().await;
    }
}

#[tokio::test]
async fn a_window_that_was_made_narrower_is_read_line_by_line() {
    // Its rule filled a row that tmux now takes for broken; the composer then stood in one line with it, and an old
    // prompt further up was taken for the composer.
    for persona in ["claude-code", "qwen"] {
        let Some(stage) = Stage::open(persona, Script::default()).await else { return };
        for (serial, columns) in [(2, 120), (3, 61), (4, 120), (5, 61)] {
            let script = Script { serial, turn_ms: 10, ..Script::default() };
            stage.lane.begin(&script, columns, 30).await;
            stage.wake().await.unwrap();
            let ours = |line: &Truth| line.event == "submitted" && line.text == stage.lane.text();
            assert_eq!(stage.lane.truth(&script).iter().filter(|line| ours(line)).count(), 1, "{persona}");
        }
    }
}

#[tokio::test]
async fn a_window_that_is_too_small_to_be_read_says_so_and_is_typed_into_when_it_is_larger() {
    // A hint that is cut off is no draft of somebody's, and one line shows no composer.
    for (persona, columns, rows) in [("gemini", 20, 12), ("claude-code", 120, 1)] {
        let Some(mut stage) = Stage::open(persona, Script::default()).await else { return };
        stage.script.serial = 2;
        stage.lane.begin(&stage.script, columns, rows).await;
        let error = stage.wake().await.unwrap_err();
        let size = format!("too small to be read, {columns} columns by {rows} lines: make it larger");
        assert!(
            matches!(&error, TransportError::NotNow(Presence::Unknown(why)) if why.contains(&size)),
            "{persona}: {error:?}"
        );
        assert_eq!(stage.count("submitted"), 0, "{persona}");
        stage.script.serial = 3;
        stage.lane.begin(&stage.script, 120, 30).await;
        stage.arrives().await;
    }
}

#[tokio::test]
async fn two_agents_of_one_name_in_two_repositories_are_never_crossed() {
    if !loop_testkit::require_tool("tmux", "-V") {
        return;
    }
    let sandbox = Sandbox::new();
    let server = Server {
        env: Some(sandbox.env_text()),
        config: Some("/dev/null".into()),
        ..Server::at(sandbox.tmux_socket())
    };
    let fake = env!("CARGO_BIN_EXE_loop-fake-tui").as_ref();
    let one = Lane::open(&sandbox, &server, fake, "claude-code", 0).await;
    let mut two = Lane::open(&sandbox, &server, fake, "claude-code", 1).await;
    assert_eq!(one.text(), two.text());
    let script = Script { serial: 1, turn_ms: 20_000, ..Script::default() };
    one.begin(&script, 120, 30).await;
    two.begin(&script, 20, 30).await;
    one.wake().await.unwrap();
    let submitted = |lane: &Lane| lane.truth(&script).iter().filter(|line| line.event == "submitted").count();
    assert_eq!((submitted(&one), submitted(&two)), (1, 0));
    // Also where an old address leads to the other's window: the tags find its own.
    two.take_address(&one);
    two.wake().await.unwrap();
    assert_eq!((submitted(&one), submitted(&two)), (1, 1));
}
