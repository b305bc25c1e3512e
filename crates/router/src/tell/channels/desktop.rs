//! The desktop of the machine that the router runs on, by the platform's own program.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use async_trait::async_trait;
use serde_json::Value;

use super::command::finds;
use super::{Channel, Opened, Row};
use crate::tell::error::TellError;
use crate::tell::fields::{Around, SettingsError};
use crate::tell::message::Message;
use crate::tell::program;

pub(super) const ROW: Row = Row {
    name: "desktop",
    about: "a notification on this machine's desktop (notify-send, osascript)",
    example: "true",
    open,
};

struct Desktop {
    env: BTreeMap<String, String>,
    mac: bool,
}

fn open(value: &Value, around: &Around) -> Result<Opened, SettingsError> {
    if *value != Value::Bool(true) {
        return Err(SettingsError::new("tell.desktop", "must be true or false"));
    }
    Ok(Opened::new(Desktop { env: around.env.clone(), mac: cfg!(target_os = "macos") }))
}

impl Desktop {
    fn variable(&self, name: &str) -> &str {
        self.env.get(name).map(String::as_str).unwrap_or_default()
    }

    fn program(&self) -> &'static str {
        if self.mac { "osascript" } else { "notify-send" }
    }
}

#[async_trait]
impl Channel for Desktop {
    fn place(&self) -> String {
        self.program().to_owned()
    }

    async fn ready(&self) -> Result<(), TellError> {
        let program = self.program();
        if !finds(program, self.variable("PATH")) {
            return Err(TellError::Missing {
                what: format!("there is no program `{program}` to notify the desktop with"),
                next: "install it (libnotify-bin, libnotify), or use another channel".to_owned(),
            });
        }
        let runtime = self.variable("XDG_RUNTIME_DIR");
        let has_bus = !self.variable("DBUS_SESSION_BUS_ADDRESS").is_empty()
            || !runtime.is_empty() && Path::new(runtime).join("bus").exists();
        if !self.mac && !has_bus {
            return Err(TellError::Missing {
                what: "there is no desktop session here: no session bus (DBUS_SESSION_BUS_ADDRESS)"
                    .to_owned(),
                next: "start loop from a terminal on the desktop, or use another channel".to_owned(),
            });
        }
        Ok(())
    }

    async fn send(&self, message: &Message) -> Result<(), TellError> {
        self.ready().await?;
        let arguments = if self.mac { osascript(message) } else { notify_send(message) };
        program::run(self.program(), &arguments, &self.env, &[]).await
    }
}

/// The title is plain text; the body is markup, in which notify-send also reads backslashes as C does.
fn notify_send(message: &Message) -> Vec<String> {
    let urgency = if message.kind.is_urgent() { "critical" } else { "normal" };
    let body =
        message.text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('\\', "\\\\");
    ["--app-name=loop", &format!("--urgency={urgency}"), "--", &message.title, &body]
        .map(str::to_owned)
        .to_vec()
}

/// The words are arguments of the script, never a part of it.
fn osascript(message: &Message) -> Vec<String> {
    let script = "display notification (item 2 of argv) with title (item 1 of argv)";
    ["-e", "on run argv", "-e", script, "-e", "end run", &message.title, &message.text]
        .map(str::to_owned)
        .to_vec()
}

impl fmt::Debug for Desktop {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Desktop").field("program", &self.program()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tell::message::Kind;

    #[test]
    fn hostile_words_stay_words() {
        let message = Message {
            title: "loop held: --urgency=low".into(),
            text: "<a href='x'>& \\n \" end run\" do shell script".into(),
            ..Message::test(Path::new("/r"), jiff::Timestamp::UNIX_EPOCH)
        };
        let message = Message { kind: Kind::Held, ..message };
        let escaped = "&lt;a href='x'&gt;&amp; \\\\n \" end run\" do shell script";
        assert_eq!(
            notify_send(&message),
            ["--app-name=loop", "--urgency=critical", "--", "loop held: --urgency=low", escaped]
        );
        let words = osascript(&message);
        assert_eq!(words[words.len() - 2..], [message.title, message.text]);
    }
}
