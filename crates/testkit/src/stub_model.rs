//! What the stub model answers, and what it saw: the files behind `loop-stub-model --script FILE --log FILE`.
//!
//! The stub takes the model's place behind a real agent CLI, so that a test can drive the real program without a
//! network. Whatever is asked without a call of the skill is answered with text; a call takes the steps of its turn,
//! one by one, through the CLI's own tools.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// What the model does when the skill is called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelScript {
    /// The name of the skill.
    pub skill: String,
    /// A text of the skill's body: where it stands in the request, the CLI has really expanded the skill.
    pub marker: String,
    /// The steps of each call, in order. Which call it is is counted in the conversation that the CLI sends, so a
    /// repeated request gets the same answer.
    pub turns: Vec<Vec<ModelStep>>,
    /// Milliseconds before each answer.
    pub think_ms: u64,
    /// What it says when the steps are taken.
    pub done: String,
}

/// One use of a tool. In texts `{name}` is the word behind the skill's name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ModelStep {
    /// A command for the shell tool.
    Shell(String),
    /// A whole file, written with the tool for it where the CLI has one.
    Write {
        /// Its full path.
        path: String,
        /// Its content.
        text: String,
    },
}

impl Default for ModelScript {
    fn default() -> Self {
        Self {
            skill: "agent-loop".to_owned(),
            marker: "# agent-loop: one turn".to_owned(),
            turns: Vec::new(),
            think_ms: 0,
            done: "done".to_owned(),
        }
    }
}

impl ModelScript {
    /// As a file's content.
    ///
    /// # Panics
    /// Never: every script can be written as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a script is plain data")
    }
}

/// One request, as the stub saw it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelLine {
    /// Milliseconds since 1970, when it had been read.
    pub at_ms: u64,
    /// `call`: the skill was called. `result`: a tool's output. `end`: the output of the last one.
    /// `words`: other text. `side`: a request that offers no shell (titles and the like). `other`: no question to a
    /// model.
    pub event: String,
    /// The name that was called.
    #[serde(default)]
    pub name: Option<String>,
    /// The number of the call in this conversation, from 1.
    #[serde(default)]
    pub call: usize,
    /// Whether the skill's body stood beside the call.
    #[serde(default)]
    pub expanded: bool,
    /// The text that called, the tool's output, or the request's first line.
    #[serde(default)]
    pub text: String,
}

/// Reads a log; a file that does not exist yet is empty.
pub fn read_model_log(path: &Path) -> Vec<ModelLine> {
    let content = std::fs::read_to_string(path).unwrap_or_default();
    content.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}
