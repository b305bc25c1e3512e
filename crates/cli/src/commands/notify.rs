//! `loop notify`: rings the router for HEAD. The hook calls it; nothing that is slow may stand before it.

use std::path::PathBuf;
use std::process::ExitCode;

use loop_hooks::PROBE_VARIABLE;
use loop_hooks::notify::NotifyInput;

use crate::output;
use crate::settings::Settings;

/// Ring the router for HEAD (the hook calls it)
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Who made the commit, where the section does not say
    pub(crate) name: Option<String>,
}

/// Rings. Always succeeds: a commit never fails because of it.
pub(crate) fn run(name: Option<&str>) -> ExitCode {
    let (Ok(cwd), Some(state_dir), Some(config_dir)) =
        (std::env::current_dir(), state_dir(), folder("XDG_CONFIG_HOME", ".config"))
    else {
        return ExitCode::SUCCESS;
    };
    let settings_file = config_dir.join("config.yaml");
    // Wrong settings are for the commands that a person calls to complain about.
    let kinds = Settings::read(&settings_file).map(|settings| settings.kinds).unwrap_or_default();
    let lines = loop_hooks::notify::run(NotifyInput {
        cwd,
        git_dir: variable("GIT_DIR"),
        probe: variable(PROBE_VARIABLE),
        router_file: state_dir.join("router.json"),
        key_file: state_dir.join("key"),
        name: name.map(str::to_owned),
        kinds,
    });
    for line in lines {
        output::note(line);
    }
    ExitCode::SUCCESS
}

/// The state folder, for what may not wait until the whole world is read.
pub(crate) fn state_dir() -> Option<PathBuf> {
    folder("XDG_STATE_HOME", ".local/state")
}

fn folder(name: &str, default: &str) -> Option<PathBuf> {
    let set = variable(name).filter(|folder| folder.is_absolute());
    Some(set.or_else(|| Some(variable("HOME")?.join(default)))?.join("agent-loop"))
}

/// A variable of the environment that is set to something.
pub(crate) fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}
