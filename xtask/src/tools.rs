//! What the tests need on the machine, fetched where that is possible.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::process::{self, cargo, command, on_path, output, succeeds};

/// A real agent CLI from npm, in the release whose screens its profile was last checked against.
pub(crate) struct RealAgent {
    /// What people call it.
    pub(crate) about: &'static str,
    /// The variable by which its tests find the program.
    pub(crate) variable: &'static str,
    /// The names of its tests begin with this.
    pub(crate) tests: &'static str,
    package: &'static str,
    version: &'static str,
    program: &'static str,
}

/// Those that tests exist for.
pub(crate) const REAL_AGENTS: &[RealAgent] = &[
    RealAgent {
        about: "Claude Code",
        variable: "LOOP_TEST_CLAUDE",
        tests: "real_agents::claude_code",
        package: "@anthropic-ai/claude-code",
        version: "2.1.197",
        program: "claude",
    },
    RealAgent {
        about: "Codex",
        variable: "LOOP_TEST_CODEX",
        tests: "real_agents::codex",
        package: "@openai/codex",
        version: "0.171.0",
        program: "codex",
    },
    RealAgent {
        about: "OpenCode",
        variable: "LOOP_TEST_OPENCODE",
        tests: "real_agents::opencode",
        package: "opencode-ai",
        version: "1.18.33",
        program: "opencode",
    },
    RealAgent {
        about: "Gemini CLI",
        variable: "LOOP_TEST_GEMINI",
        tests: "real_agents::gemini",
        package: "@google/gemini-cli",
        version: "0.61.0",
        program: "gemini",
    },
    RealAgent {
        about: "Qwen Code",
        variable: "LOOP_TEST_QWEN",
        tests: "real_agents::qwen",
        package: "@qwen-code/qwen-code",
        version: "0.15.10",
        program: "qwen",
    },
];

/// The release of cargo-deny that the configuration was written for.
const CARGO_DENY: &str = "0.20.2";

/// Makes sure that a program is there: installs its Debian package where this is root on Debian.
///
/// # Errors
/// Elsewhere, fails and says what to install.
pub(crate) fn require(program: &str, package: &str, root: &Path) -> Result<()> {
    if on_path(program) {
        return Ok(());
    }
    if !root_on_debian(root) {
        bail!(
            "{program} is missing and the tests need it; install it (Debian: apt-get install {package}; macOS: brew install {program})"
        );
    }
    println!("{program} is missing: installing the package {package}");
    let install = || {
        let mut apt = command("apt-get", root);
        apt.env("DEBIAN_FRONTEND", "noninteractive").args([
            "install",
            "--yes",
            "--no-install-recommends",
            package,
        ]);
        succeeds(&mut apt)
    };
    // The lists of a fresh machine are empty or old: then the first try fails, and costs little.
    let installed = install()? || (succeeds(command("apt-get", root).arg("update"))? && install()?);
    if !installed || !on_path(program) {
        bail!(
            "{program} is missing and the package {package} could not be installed; see apt-get's words above"
        );
    }
    Ok(())
}

/// Returns the program of a real agent in its pinned release, from npm, kept below the target folder.
pub(crate) fn real_agent(agent: &RealAgent, root: &Path) -> Result<PathBuf> {
    let RealAgent { about, package, version, program: name, .. } = agent;
    let dir = target_dir(root)?.join("agents").join(format!("{name}-{version}"));
    let program = dir.join("node_modules/.bin").join(name);
    let works = || output(command(name, root).arg("--version").env("PATH", path_with(&program))).is_ok();
    if program.exists() && works() {
        return Ok(program);
    }
    std::fs::create_dir_all(&dir)?;
    let mut npm = command("npm", &dir);
    npm.args(["install", "--no-audit", "--no-fund", "--no-save", "--prefix"]).arg(&dir);
    npm.arg(format!("{package}@{version}"));
    if !succeeds(&mut npm)? || !works() {
        bail!(
            "{about} {version} could not be installed from npm; `cargo xtask test --fast` leaves its tests out"
        );
    }
    Ok(program)
}

/// Returns the folder in which cargo-deny is, installing it below the target folder where it is missing.
pub(crate) fn cargo_deny(root: &Path) -> Result<PathBuf> {
    if let Some(program) = process::find("cargo-deny") {
        return Ok(program);
    }
    let tools = target_dir(root)?.join("tools").join(format!("cargo-deny-{CARGO_DENY}"));
    let program = tools.join("bin/cargo-deny");
    if program.is_file() {
        return Ok(program);
    }
    let mut install = cargo(root);
    install
        .args(["install", "cargo-deny", "--locked", "--debug", "--version", CARGO_DENY, "--root"])
        .arg(&tools);
    // Unoptimised, it is built in half the time and still checks within seconds. Without our target folder cargo
    // builds in one of its own and removes it: 1 GB that nothing else uses.
    if !succeeds(install.env_remove("CARGO_TARGET_DIR"))? {
        bail!("cargo-deny {CARGO_DENY} could not be installed; see cargo's words above");
    }
    Ok(program)
}

/// The folder that cargo builds into.
pub(crate) fn target_dir(root: &Path) -> Result<PathBuf> {
    let metadata = output(cargo(root).args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    match metadata["target_directory"].as_str() {
        Some(dir) => Ok(PathBuf::from(dir)),
        None => bail!("cargo metadata names no target folder"),
    }
}

/// The `PATH` with the folder of `program` in front.
pub(crate) fn path_with(program: &Path) -> std::ffi::OsString {
    let old = std::env::var_os("PATH").unwrap_or_default();
    let dirs = program.parent().map(PathBuf::from).into_iter().chain(std::env::split_paths(&old));
    std::env::join_paths(dirs).unwrap_or(old)
}

fn root_on_debian(dir: &Path) -> bool {
    let is_root = output(command("id", dir).arg("-u")).is_ok_and(|id| id.trim() == "0");
    Path::new("/etc/debian_version").exists() && on_path("apt-get") && is_root
}
