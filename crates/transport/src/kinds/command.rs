//! Any program of the user's, called once per wake with the address and the text.
//!
//! Its exit status is the answer: 0 submitted, 75 not now, 76 perhaps, anything else: it did not reach the agent.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use loop_core::DeliveryState;
use serde_json::Value;
use tokio::process::Command as Process;

use super::{Options, Row};
use crate::neutral;
use crate::process::{NotRun, run};
use crate::transport::{Presence, Progress, Receipt, Session, Transport, TransportError, Wake};

pub(super) const ROW: Row = Row {
    name: "command",
    about: "a program of yours, called once per wake with the address and the text",
    open: |_: &Options| Arc::new(Command { deadline: Duration::from_secs(30) }),
};

/// `EX_TEMPFAIL` of sysexits.h: the program asks to be called again later.
const NOT_NOW: i32 = 75;

/// `EX_PROTOCOL`: the text was handed over, and nobody knows what became of it.
const PERHAPS: i32 = 76;

struct Command {
    deadline: Duration,
}

/// The address as the program gets it: text as it is, anything else as JSON.
fn address_text(address: &Value) -> String {
    match address {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Program and arguments. A command without any placeholder gets address and text as its last two arguments.
fn argv(session: &Session, text: &str) -> Result<Vec<String>, TransportError> {
    let template = session.command.as_deref().unwrap_or_default();
    let address = address_text(&session.address);
    let mut argv = session.filled(template, text, &address);
    if argv.is_empty() {
        return Err(TransportError::Failed(format!(
            "{} has the transport `command` but no `command:` in loop.yaml; add the program to be called",
            session.agent
        )));
    }
    if argv == template {
        argv.extend([address, text.to_owned()]);
    }
    Ok(argv)
}

#[async_trait]
impl Transport for Command {
    fn sees_work(&self) -> bool {
        false
    }

    /// Only the program could know; it says so by its exit status when it is called.
    async fn probe(&self, _session: &Session) -> Result<Presence, TransportError> {
        Ok(Presence::Idle)
    }

    fn tells_idle(&self) -> bool {
        false
    }

    async fn wake(
        &self,
        session: &Session,
        wake: &Wake,
        _progress: &dyn Progress,
    ) -> Result<Receipt, TransportError> {
        let argv = argv(session, &wake.text)?;
        let program = argv.first().cloned().unwrap_or_default();
        let mut process = Process::new(&program);
        process
            .args(argv.iter().skip(1))
            .env_clear()
            .envs(&session.env)
            .env("LOOP_AGENT", session.agent.as_str())
            .env("LOOP_TEXT", &wake.text)
            .env("LOOP_ADDRESS", address_text(&session.address))
            .env("LOOP_REPO", &session.workdir)
            .current_dir(&session.workdir);
        let ran = match run(process, None, self.deadline).await {
            Ok(ran) => ran,
            Err(NotRun::Start(error)) => {
                return Err(TransportError::Failed(format!(
                    "cannot start `{program}` for {}: {error}; check `command:` in loop.yaml and that the program \
                     is executable",
                    session.agent
                )));
            }
            Err(NotRun::TimedOut) => {
                return Err(TransportError::Unknown(format!(
                    "`{program}` did not end within {} s and was stopped",
                    self.deadline.as_secs()
                )));
            }
            Err(NotRun::Wait(error)) => {
                return Err(TransportError::Unknown(format!("`{program}` cannot be waited for: {error}")));
            }
        };
        let said = neutral(&String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()));
        let last = said.lines().last().unwrap_or_default();
        match ran.status.code() {
            Some(0) => Ok(Receipt {
                state: DeliveryState::Submitted,
                conversation: None,
                note: format!("`{program}` exited with 0"),
                address: None,
            }),
            Some(NOT_NOW) => {
                let why = if last.is_empty() { "`command` exited with 75 (not now)" } else { last };
                Err(TransportError::NotNow(Presence::Unknown(why.to_owned())))
            }
            Some(PERHAPS) => Err(TransportError::Unknown(format!("`{program}` exited with 76: {last}"))),
            // A program that crashed may have delivered before.
            None => Err(TransportError::Unknown(format!("`{program}` was ended by {}: {last}", ran.status))),
            Some(code) => Err(TransportError::Failed(format!("`{program}` exited with {code}: {last}"))),
        }
    }

    async fn interrupt(&self, session: &Session) -> Result<(), TransportError> {
        Err(TransportError::Failed(format!(
            "{} is reached by a program of yours, which cannot interrupt; stop it in its own window",
            session.agent
        )))
    }

    async fn capture(&self, _session: &Session) -> Result<String, TransportError> {
        Ok(String::new())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::kinds::testing::session;
    use crate::transport::NoProgress;

    async fn wake(script: &str, deadline: Duration) -> Result<Receipt, TransportError> {
        let mut session = session("command");
        session.address = serde_json::json!("window 7");
        session.command = Some(["sh", "-c", script, "sh", "{session}", "{text}"].map(str::to_owned).into());
        let wake = Wake { delivery_id: "d".into(), attempt: 1, text: "/agent-loop CC".into() };
        Command { deadline }.wake(&session, &wake, &NoProgress).await
    }

    #[tokio::test]
    async fn the_exit_status_is_the_answer() {
        let deadline = Duration::from_secs(20);
        let right =
            r#"test "$1|$2" = 'window 7|/agent-loop CC' -a "$LOOP_ADDRESS" = "$1" -a "$LOOP_AGENT" = CC"#;
        assert_eq!(wake(right, deadline).await.unwrap().state, DeliveryState::Submitted);
        let busy = Presence::Unknown("the window is busy".into());
        assert_eq!(
            wake("echo the window is busy; exit 75", deadline).await,
            Err(TransportError::NotNow(busy))
        );
        let failed = wake("echo no such window >&2; exit 3", deadline).await.unwrap_err().to_string();
        assert_eq!(failed, "`sh` exited with 3: no such window");
        assert!(matches!(wake("exit 76", deadline).await, Err(TransportError::Unknown(_))));
        assert!(matches!(wake("kill -9 $$", deadline).await, Err(TransportError::Unknown(_))));
        let slow = wake("sleep 60", Duration::from_millis(200)).await;
        assert!(matches!(slow, Err(TransportError::Unknown(_))), "{slow:?}");
    }

    #[test]
    fn without_placeholders_address_and_text_come_last() {
        let mut session = session("command");
        assert!(argv(&session, "go").is_err());
        session.address = serde_json::json!({"hwnd": 7});
        session.command = Some(vec!["inject".into()]);
        assert_eq!(argv(&session, "go").unwrap(), ["inject", r#"{"hwnd":7}"#, "go"]);
        session.command = Some(vec!["inject".into(), "--to={name}".into()]);
        assert_eq!(argv(&session, "go").unwrap(), ["inject", "--to=CC"]);
    }

    #[tokio::test]
    async fn a_missing_program_has_not_reached_anybody() {
        let mut session = session("command");
        session.command = Some(vec!["no-such-program-here".into()]);
        let wake = Wake { delivery_id: "d".into(), attempt: 1, text: "go".into() };
        let command = Command { deadline: Duration::from_secs(5) };
        let error = command.wake(&session, &wake, &NoProgress).await.unwrap_err();
        assert!(
            matches!(&error, TransportError::Failed(why) if why.contains("no-such-program-here")),
            "{error}"
        );
    }
}
