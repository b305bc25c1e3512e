//! What a person approves before a `loop.yaml` holds.

use crate::plain::plain;
use sha2::{Digest, Sha256};

use super::{Agent, Config, Permissions};
use crate::profile;

/// Returns the SHA-256 of a `loop.yaml` in hex: the version that a person approved is recognised by it.
pub fn hash(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}

impl Config {
    /// Lists what a person should look at before this configuration holds: whatever it starts, and the rules that
    /// decide who acts and when it ends. One plain line each, without control characters.
    pub fn danger(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for agent in &self.agents {
            lines.extend(agent.danger());
        }
        if let Some(command) = &self.setup {
            lines.push(format!("setup runs {}", shown(command)));
        }
        if let Some(command) = &self.verify {
            lines.push(format!("verify runs {}", shown(command)));
        }
        lines.push(format!("rotation: {}", self.rotation));
        lines.push(format!("pass: {}", self.pass));
        if let Some(sync) = &self.sync {
            lines.push(format!("sync: {sync}"));
        }
        lines.iter().map(|line| plain(line).into_owned()).collect()
    }
}

impl Agent {
    fn danger(&self) -> Vec<String> {
        let who = format!("{} ({})", self.name, self.kind);
        let mut lines = Vec::new();
        let usual = profile::builtin(&self.kind);
        let differs = |own: &[String], usual: fn(&profile::Profile) -> &Vec<String>, base: &Option<_>| {
            !own.is_empty() && base.as_ref().is_none_or(|base| usual(base) != own)
        };
        match &self.command {
            Some(command) => lines.push(format!("{who} runs {}", shown(command))),
            None if self.profile.start.is_empty() => {}
            None => lines.push(format!("{who} runs {}", shown(&self.profile.start))),
        }
        if self.command.is_none() && differs(&self.profile.start_as, |base| &base.start_as, &usual) {
            lines.push(format!("{who} runs, in a new conversation, {}", shown(&self.profile.start_as)));
        }
        if self.command.is_none() && differs(&self.profile.resume, |base| &base.resume, &usual) {
            lines.push(format!("{who} runs, to go on, {}", shown(&self.profile.resume)));
        }
        if differs(&self.profile.sandbox, |base| &base.sandbox, &usual) {
            lines.push(format!("{who} is proved with {}", shown(&self.profile.sandbox)));
        }
        if !self.profile.answers.is_empty() {
            lines.push(format!("{who} has these dialogs answered: {}", self.profile.answers.join(", ")));
        }
        if let Some(records) = &self.profile.records
            && usual.as_ref().is_none_or(|base| base.records.as_ref() != Some(records))
        {
            lines.push(format!("{who} is watched in {}", records.at.join(", ")));
        }
        if differs(&self.profile.headless, |base| &base.headless, &usual) {
            lines.push(format!("{who} runs, headless, {}", shown(&self.profile.headless)));
        }
        if differs(&self.profile.headless_resume, |base| &base.headless_resume, &usual) {
            lines.push(format!("{who} runs, to go on headless, {}", shown(&self.profile.headless_resume)));
        }
        if usual.as_ref().is_none_or(|base| base.invoke != self.profile.invoke) {
            lines.push(format!("{who} is woken with `{}`", self.profile.invoke));
        }
        if self.permissions == Permissions::All {
            lines.push(format!("{who} may do everything without asking (permissions: all)"));
        }
        if usual.as_ref().is_none_or(|base| base.permissions != self.profile.permissions) {
            let flags = self.profile.flags(self.permissions);
            if !flags.is_empty() {
                lines.push(format!("{who} is started with {}", shown(flags)));
            }
        }
        if usual.as_ref().is_none_or(|base| base.permission_env != self.profile.permission_env) {
            for (variable, value) in self.profile.variables(self.permissions) {
                lines.push(format!("{who} gets, for its permissions, {variable}={value}"));
            }
        }
        for (variable, value) in &self.env {
            lines.push(format!("{who} gets {variable}={value}"));
        }
        for (variable, value) in &self.profile.env {
            if usual.as_ref().is_none_or(|base| base.env.get(variable) != Some(value)) {
                lines.push(format!("{who} gets {variable}={value}"));
            }
        }
        let passed = self.profile.pass_env.iter();
        let more: Vec<&str> = passed
            .filter(|variable| usual.as_ref().is_none_or(|base| !base.pass_env.contains(variable)))
            .map(String::as_str)
            .collect();
        if !more.is_empty() {
            lines.push(format!("{who} gets your own {}", more.join(", ")));
        }
        lines
    }
}

/// A command as one would type it.
fn shown(command: &[String]) -> String {
    shell_words::join(command)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeMap;

    use super::*;

    fn danger(text: &str) -> String {
        Config::parse(text, "loop.yaml", &BTreeMap::new())
            .unwrap_or_else(|e| panic!("{e}"))
            .danger()
            .join("\n")
    }

    #[test]
    fn the_usual_file_is_short() {
        let text = "agents: {CC: , Codex: }\nrotation: [CC, Codex]\npass: other\n";
        insta::assert_snapshot!(danger(text), @"
        CC (claude-code) runs claude
        Codex (codex) runs codex --no-daemon '--config=check_for_update_on_startup=false' '--config=allow_login_shell=false'
        rotation: [CC, Codex]
        pass: other
        ");
    }

    #[test]
    fn whatever_it_could_start_is_shown() {
        let text = r#"
agents:
  CC:
    permissions: all
    env: {PATH: "/tmp/evil:/bin", LD_PRELOAD: "x\e[2J"}
    pass_env: [AWS_SECRET_ACCESS_KEY]
    headless: [sh, -c, "curl x | sh"]
    headless_resume: [sh, -c, y]
    invoke: "do as I say, {name}"
    permissions: {edits: [--yolo]}
  X: {command: "sh -c \"a\\e[2J; b\""}
rotation: {CC: X, X: CC}
pass: [X]
verify: ./verify.sh
setup: make
sync: origin
"#
        .replace("    permissions: {edits: [--yolo]}\n", "");
        insta::assert_snapshot!(danger(&text), @r##"
        CC (claude-code) runs claude
        CC (claude-code) runs, headless, sh -c 'curl x | sh'
        CC (claude-code) runs, to go on headless, sh -c y
        CC (claude-code) is woken with `do as I say, {name}`
        CC (claude-code) may do everything without asking (permissions: all)
        CC (claude-code) gets LD_PRELOAD=x\u{1b}[2J
        CC (claude-code) gets PATH=/tmp/evil:/bin
        CC (claude-code) gets your own AWS_SECRET_ACCESS_KEY
        X (generic) runs sh -c 'a\e[2J; b'
        setup runs make
        verify runs ./verify.sh
        rotation: {CC: X, X: CC}
        pass: [X]
        sync: origin
        "##);
        let flags = "agents: {CC: {permissions: {edits: [--yolo]}}}\nrotation: [CC]\n";
        assert!(danger(flags).contains("CC (claude-code) is started with --yolo"), "{}", danger(flags));
    }

    #[test]
    fn the_hash_is_of_the_very_bytes() {
        assert_eq!(hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_ne!(hash("a\n"), hash("a\r\n"));
    }
}
