//! What every real CLI is tried at, with its own set-up.

use std::path::{Path, PathBuf};

use loop_testkit::eventually;
use loop_testkit::stub_model::{ModelScript, ModelStep};

use super::{Model, RUN, WINDOW, alone, cast, passed, play, real_agent, story, two_turns};
use crate::stage::{LONG, Place, Stage};

/// A real CLI as these tests cast it.
pub(super) struct Player {
    pub(super) name: &'static str,
    /// By which its program is found.
    pub(super) variable: &'static str,
    /// Its entry in `loop.yaml`.
    pub(super) entry: &'static str,
    /// Writes what it knows of its first start.
    pub(super) knows: Knows,
}

/// Writes what a CLI knows of its first start.
pub(super) type Knows = fn(&Stage, &Place<'_>, &Model);

/// One test with one player and Rex.
pub(super) struct Scene<'a> {
    pub(super) stage: &'a Stage,
    pub(super) shop: &'a Place<'a>,
    pub(super) model: &'a Model,
    program: PathBuf,
    player: &'a Player,
}

impl Player {
    /// Sets the scene for `test`, which is given by its whole name, unless real CLIs are not asked for.
    pub(super) fn on_stage(
        &self,
        test: &str,
        timings: &str,
        script: impl FnOnce(&Path) -> ModelScript,
        act: impl FnOnce(&Scene<'_>),
    ) {
        let Some(program) = real_agent(self.variable) else { return };
        if alone(test) {
            return;
        }
        let stage = Stage::new(timings);
        let shop = stage.place(stage.sandbox.repo("shop"), "agents");
        let model = Model::start(&stage, &script(shop.repo.path()));
        cast(&shop, self.entry);
        (self.knows)(&stage, &shop, &model);
        act(&Scene { stage: &stage, shop: &shop, model: &model, program, player: self });
    }

    pub(super) fn takes_its_turns_in_a_window(&self, test: &str) {
        self.on_stage(test, "", two_turns, |scene| {
            let up = scene.play(&[]);
            assert!(!up.contains("NOT READY"), "{up}");
            scene.passes(WINDOW, true);
        });
    }

    /// `expanded`: whether the CLI puts the skill's body beside the call.
    pub(super) fn takes_its_turns_headless(
        &self,
        test: &str,
        script: impl FnOnce(&Path) -> ModelScript,
        expanded: bool,
    ) {
        self.on_stage(test, "", script, |scene| {
            scene.play(&["--headless"]);
            scene.passes(RUN, expanded);
        });
    }

    /// It asks whether to trust the folder; nobody but a person answers it.
    pub(super) fn asks_at_its_start(&self, test: &str) {
        self.on_stage(test, "", two_turns, |scene| {
            let up = scene.play(&[]);
            assert!(up.contains("NOT READY") && up.contains("asks whether to trust the folder"), "{up}");
            eventually("the wake to wait for the dialog", LONG, || {
                let log = scene.shop.run(&["log"]);
                if log.contains("trust the folder") { Ok(()) } else { Err(scene.story()) }
            });
            assert_eq!(scene.model.log().iter().filter(|line| line.event == "call").count(), 0);
            scene.press("Enter");
            scene.passes(WINDOW, true);
        });
    }

    /// It asks for a permission, which a person gives with `key`.
    pub(super) fn asks_in_its_turn(&self, test: &str, key: &str) {
        let script = |repo: &Path| {
            let mut script = two_turns(repo);
            // No command that `permissions: edits` allows.
            script.turns[0].insert(1, ModelStep::Shell("sh -c 'echo asked >> ../asked'".to_owned()));
            script
        };
        // The question stands longer than a screen must be still until a turn counts as over.
        self.on_stage(test, "timings: {look: 0.2, quiet: 1, sweep: 2, ask: 3}", script, |scene| {
            scene.play(&[]);
            eventually("a person to be told", LONG, || {
                let log = scene.shop.run(&["log"]);
                let tells =
                    |line: &str| line.contains("  person  ") && line.contains("asks for a permission");
                if log.lines().any(tells) { Ok(()) } else { Err(scene.story()) }
            });
            assert!(!scene.stage.sandbox.root().join("asked").exists(), "{}", scene.story());
            scene.press(key);
            scene.passes(WINDOW, true);
            assert_eq!(scene.stage.sandbox.read("asked"), "asked\n");
        });
    }
}

impl Scene<'_> {
    /// Opens the loop and lets it begin; returns what `loop up` said.
    pub(super) fn play(&self, options: &[&str]) -> String {
        play(self.shop, self.model, &self.program, self.player.name, options)
    }

    /// Presses a key in the player's window, as a person does.
    fn press(&self, key: &str) {
        let window = format!("loop-shop:{}", self.player.name);
        self.stage.sandbox.tmux(&["send-keys", "-t", &window, key]);
    }

    fn passes(&self, expected: &[&str], expanded: bool) {
        passed(self.stage, self.shop, self.model, self.player.name, expected, expanded);
    }

    pub(super) fn story(&self) -> String {
        story(self.shop, self.model)
    }
}
