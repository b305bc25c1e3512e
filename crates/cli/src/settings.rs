//! The user's own settings: `config.yaml` in the configuration folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use loop_core::Profile;
use loop_router::Options;
use serde::Deserialize;

use crate::failure::Failure;

/// What may stand in the user's `config.yaml`; everything is optional.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Settings {
    /// The store's URL (`sqlite:///path/to/loop.db`).
    pub(crate) store: Option<String>,
    /// How a person is reached: channels by name, read by the router's crate.
    pub(crate) tell: serde_json::Value,
    /// The router's port.
    pub(crate) port: Option<u16>,
    /// The tmux socket, when not the default one.
    pub(crate) tmux_socket: Option<PathBuf>,
    /// Further kinds of agents, or overrides of built-in ones, by name.
    pub(crate) profiles: BTreeMap<String, serde::de::IgnoredAny>,
    /// Owners of mailbox tasks.
    pub(crate) owners: BTreeMap<String, serde_json::Value>,
    /// Folders in which repositories may be.
    pub(crate) roots: Vec<PathBuf>,
    /// How often the router looks, and how patient it is.
    pub(crate) timings: Timings,
    /// The kinds, read from `profiles`.
    #[serde(skip)]
    pub(crate) kinds: BTreeMap<String, Profile>,
}

/// `timings:`, each in seconds; what is not there keeps its usual value.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Timings {
    /// How often everything is looked at without being rung.
    sweep: Option<Seconds>,
    /// How often agents that have been woken are looked at.
    look: Option<Seconds>,
    /// How long an agent's screen must stand still before its turn counts as over.
    quiet: Option<Seconds>,
    /// How long an agent may ask something before a person is told.
    ask: Option<Seconds>,
    /// How long a wake may wait for anything else before a person is told.
    wait: Option<Seconds>,
    /// The pause after the first failed try to wake.
    retry: Option<Seconds>,
    /// How long after the end of a usage limit the agent is looked at and woken.
    limit: Option<Seconds>,
    /// How long an agent's window may take until it takes input.
    ready: Option<Seconds>,
}

/// How long a CLI may take until it takes input, where the user says nothing else.
const READY: Duration = Duration::from_secs(90);

impl Timings {
    /// How long an agent's window may take until it takes input.
    pub(crate) fn ready(self) -> Duration {
        self.ready.map_or(READY, |Seconds(time)| time)
    }

    /// Puts them into a router's options.
    pub(crate) fn apply(self, options: &mut Options) {
        let set = |place: &mut Duration, seconds: Option<Seconds>| {
            if let Some(Seconds(time)) = seconds {
                *place = time;
            }
        };
        set(&mut options.sweep, self.sweep);
        set(&mut options.look, self.look);
        set(&mut options.quiet, self.quiet);
        set(&mut options.ask_patience, self.ask);
        set(&mut options.wait_patience, self.wait);
        set(&mut options.first_pause, self.retry);
        set(&mut options.limit_margin, self.limit);
    }
}

/// A time of at least ten milliseconds and at most a day.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "f64")]
struct Seconds(Duration);

impl TryFrom<f64> for Seconds {
    type Error = String;

    fn try_from(seconds: f64) -> Result<Self, String> {
        if (0.01..=86_400.0).contains(&seconds) {
            return Ok(Self(Duration::from_secs_f64(seconds)));
        }
        Err(format!("{seconds} is no time; give seconds, from 0.01 to 86400"))
    }
}

impl Settings {
    /// Reads the file; none is as good as an empty one.
    pub(crate) fn read(file: &Path) -> Result<Self, Failure> {
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => {
                return Err(Failure::users(
                    anyhow::Error::new(error).context(format!("cannot read {}", file.display())),
                ));
            }
        };
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        // The lines around an error are a help, but not where one of them may hold a token.
        let may_hold_secrets = text.contains("tell") || text.contains("store");
        let options = serde_yaml::options! { with_snippet: !may_hold_secrets };
        let mut settings: Self = serde_yaml::from_str_with_options(&text, options).map_err(|error| {
            Failure::say(format!("{}: {error}", file.display())).next("mend the file, or remove it")
        })?;
        if !settings.profiles.is_empty() {
            settings.kinds =
                Profile::parse_all(&text, &file.display().to_string()).map_err(|mut error| {
                    // Its line may hold a variable's value.
                    if error.text.contains("env") {
                        error.text.clear();
                    }
                    Failure::say(error)
                })?;
        }
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_mistake_in_a_profile_is_told_with_its_line_and_no_value() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.yaml");
        let refused = |profile: &str| {
            std::fs::write(&file, format!("port: 0\nprofiles:\n  mine:\n{profile}")).unwrap();
            Settings::read(&file).unwrap_err().words()
        };
        let said = refused("    env: {TOKEN: s3cret}\n    awnsers: [trust]\n");
        assert!(said.contains("config.yaml:5:5: unknown key `awnsers`"), "{said}");
        assert!(said.contains("did you mean `answers`?") && !said.contains("s3cret"), "{said}");
        let said = refused("    env: {TOKEN: s3cret, 1X: y}\n");
        assert!(said.contains("config.yaml:4:26: `1X`") && !said.contains("s3cret"), "{said}");
    }

    #[test]
    fn timings_are_seconds() {
        let settings: Settings = serde_yaml::from_str("timings: {look: 0.2, quiet: 3}").unwrap();
        let seconds = |time: Option<Seconds>| time.map(|Seconds(time)| time.as_secs_f64());
        assert_eq!(seconds(settings.timings.look), Some(0.2));
        assert_eq!(seconds(settings.timings.quiet), Some(3.0));
        assert_eq!(seconds(settings.timings.sweep), None);
        for bad in ["{look: 0}", "{look: -1}", "{look: .nan}", "{look: soon}", "{lock: 1}"] {
            assert!(serde_yaml::from_str::<Settings>(&format!("timings: {bad}")).is_err(), "{bad}");
        }
    }
}
