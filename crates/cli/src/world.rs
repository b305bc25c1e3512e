//! The world around a command: environment, home, folders, terminal. The one place that reads them.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use loop_git::GitEnv;
use loop_hooks::HookEnv;
use loop_router::tell::{Around, Tell};
use loop_router::{Key, Options};
use loop_transport::tmux::Server;

use crate::failure::Failure;
use crate::settings::Settings;

/// What a command finds around it.
pub(crate) struct World {
    /// Where it was started.
    pub(crate) cwd: PathBuf,
    /// The user's home folder.
    pub(crate) home: PathBuf,
    /// `~/.config/agent-loop`.
    pub(crate) config_dir: PathBuf,
    /// `~/.local/state/agent-loop`.
    pub(crate) state_dir: PathBuf,
    /// The environment; values that are no UTF-8 are left out.
    pub(crate) env: BTreeMap<String, String>,
    /// The environment for git.
    pub(crate) git_env: GitEnv,
    /// This very program.
    pub(crate) exe: PathBuf,
    /// The user's settings.
    pub(crate) settings: Settings,
    /// How a person is reached.
    pub(crate) tell: Tell,
    /// Whether stdout takes colours.
    pub(crate) color: bool,
    /// Whether stderr takes colours.
    pub(crate) color_on_stderr: bool,
    /// Columns of the terminal; 100 where there is none.
    pub(crate) width: usize,
}

impl World {
    /// Reads the world.
    pub(crate) fn read() -> Result<Self, Failure> {
        let cwd = std::env::current_dir().map_err(|error| {
            Failure::users(anyhow::Error::new(error).context("the current folder is gone"))
        })?;
        // Whose home it is must be certain: an agent's or a service's environment without HOME would otherwise get
        // the state of whoever the password file names.
        if !std::env::var_os("HOME").is_some_and(|home| Path::new(&home).is_absolute()) {
            return Err(Failure::say(
                "HOME is not set to a folder, so it is not known whose settings and state to use",
            )
            .next("set HOME to the absolute path of your home folder"));
        }
        let folders = etcetera::base_strategy::Xdg::new().map_err(Failure::users)?;
        let config_dir = folders.config_dir().join("agent-loop");
        let state_dir = folders
            .state_dir()
            .unwrap_or_else(|| folders.home_dir().join(".local").join("state"))
            .join("agent-loop");
        let env: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let exe = std::env::current_exe().map_err(Failure::ours)?;
        let settings = Settings::read(&config_dir.join("config.yaml"))?;
        let around = Around { env: env.clone(), home: folders.home_dir().to_owned() };
        let tell = Tell::read(&settings.tell, &around).map_err(|error| {
            Failure::say(format!("{}: {error}", config_dir.join("config.yaml").display()))
                .next("mend the file; `loop help tell` has a line to copy for each channel")
        })?;
        let plain = env.get("NO_COLOR").is_some_and(|value| !value.is_empty())
            || env.get("TERM").is_some_and(|term| term == "dumb");
        let color = |terminal: bool| terminal && !plain;
        let width =
            rustix::termios::tcgetwinsize(std::io::stdout()).ok().map(|size| usize::from(size.ws_col));
        let columns = env.get("COLUMNS").and_then(|columns| columns.parse().ok());
        Ok(Self {
            cwd,
            home: folders.home_dir().to_owned(),
            config_dir,
            state_dir,
            git_env: GitEnv::from_vars(std::env::vars_os()),
            exe,
            color: color(std::io::stdout().is_terminal()),
            color_on_stderr: color(std::io::stderr().is_terminal()),
            width: columns.or(width).filter(|columns| *columns >= 20).unwrap_or(100),
            settings,
            tell,
            env,
        })
    }

    /// The file of the router's key.
    pub(crate) fn key_file(&self) -> PathBuf {
        self.state_dir.join("key")
    }

    /// `router.json`.
    pub(crate) fn router_file(&self) -> PathBuf {
        self.state_dir.join("router.json")
    }

    /// The user's own settings.
    pub(crate) fn config_file(&self) -> PathBuf {
        self.config_dir.join("config.yaml")
    }

    /// The key, made at first use.
    pub(crate) fn key(&self) -> Result<Key, Failure> {
        Ok(Key::read_or_make(&self.key_file())?)
    }

    /// The store's URL.
    pub(crate) fn store_url(&self) -> String {
        let default = || format!("sqlite://{}", self.state_dir.join("loop.db").display());
        self.settings.store.clone().unwrap_or_else(default)
    }

    /// The tmux server of this user.
    pub(crate) fn tmux(&self) -> Server {
        Server { socket: self.settings.tmux_socket.clone(), ..Server::default() }
    }

    /// The environment that agents get their share of: in it `loop` is this very program, also where it is not
    /// installed or an older one is.
    pub(crate) fn agent_env(&self) -> BTreeMap<String, String> {
        let mut env = self.env.clone();
        let path = env.get("PATH").map(String::as_str).unwrap_or_default();
        if let Some(path) = path_with(path, &self.exe) {
            env.insert("PATH".to_owned(), path);
        }
        env
    }

    /// What the hook's installer needs to know.
    pub(crate) fn hook_env(&self) -> HookEnv {
        HookEnv {
            git_env: self.git_env.clone(),
            loop_binary: self.exe.clone(),
            home: self.home.clone(),
            temp: std::env::temp_dir(),
        }
    }

    /// What a router of this user is started with.
    pub(crate) fn router_options(&self) -> Result<Options, Failure> {
        let mut options = Options::new(self.state_dir.clone(), self.key()?, self.git_env.clone());
        options.store_url = self.store_url();
        options.agent_env = self.agent_env();
        options.kinds = self.settings.kinds.clone();
        options.tell = self.tell.clone();
        options.tmux = self.tmux();
        options.time_zone = jiff::tz::TimeZone::system();
        self.settings.timings.apply(&mut options);
        if let Some(port) = self.settings.port {
            options.listen = SocketAddr::new(options.listen.ip(), port);
            options.port_may_move = false;
        }
        Ok(options)
    }
}

/// The `PATH` with the folder of `exe` in front; `None` where its name leads there already.
fn path_with(path: &str, exe: &Path) -> Option<String> {
    let (name, folder) = (exe.file_name()?, exe.parent()?);
    let found = which::which_in(name, Some(path), "/").ok();
    if found.is_some_and(|found| found.canonicalize().ok() == exe.canonicalize().ok()) {
        return None;
    }
    let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(path));
    std::env::join_paths(folders).ok()?.into_string().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn agents_find_this_very_program() {
        let root = tempfile::tempdir().unwrap();
        let folder = |name: &str| root.path().join(name);
        for name in ["new", "old"] {
            fs::create_dir(folder(name)).unwrap();
            fs::write(folder(name).join("loop"), "").unwrap();
            fs::set_permissions(folder(name).join("loop"), fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::create_dir(folder("linked")).unwrap();
        symlink(folder("new/loop"), folder("linked/loop")).unwrap();
        let text = |name: &str| folder(name).display().to_string();
        let exe = folder("new/loop");
        for (path, wanted) in [
            (text("new"), None),
            (format!("{}:{}", text("linked"), text("old")), None),
            (text("old"), Some(format!("{}:{}", text("new"), text("old")))),
            ("/nowhere".to_owned(), Some(format!("{}:/nowhere", text("new")))),
        ] {
            assert_eq!(path_with(&path, &exe), wanted, "{path}");
        }
    }
}
