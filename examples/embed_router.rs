//! A router inside a program of one's own: a scratch repository, two agents that are shell scripts, and a whole loop
//! from the first wake to the pass.
//!
//! `cargo run -p loop-router --example embed_router`

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::Command;

use jiff::Timestamp;
use loop_git::GitEnv;
use loop_router::steer::{Steer, steer};
use loop_router::{Key, Options, Router};
use loop_store::NewLoop;

const LOOP: &str = "shop-1";

const CONFIG: &str = r#"agents:
  CC:    {kind: generic, transport: exec, command: [sh, .git/agent.sh, "{name}", "wrote the shop", "please look"]}
  Codex: {kind: generic, transport: exec, command: [sh, .git/agent.sh, "{name}", "read the shop", REVIEW-PASS]}
rotation: [CC, Codex]
pass: any
"#;

/// What an agent does: work, append its section, commit.
const AGENT: &str = r#"set -e
echo "work of $1" >> shop.txt
printf '\n## %s: %s\n\n%s\n' "$1" "$2" "$3" >> STATUS.md
git add --all
git commit --quiet -m "$1: $2"
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let repository = folder.path().canonicalize()?.join("shop");
    scratch_repository(&repository)?;

    // The library reads no environment: what git and the agents may see is given to it.
    let key = Key::read_or_make(&folder.path().join("key"))?;
    let mut options = Options::new(folder.path().join("state"), key, GitEnv::from_vars(std::env::vars_os()));
    options.listen = ([127, 0, 0, 1], 0).into();
    options.agent_env = std::env::vars().collect();
    let router = Router::start(options).await?;
    println!("the router listens on {}", router.addr().ip());

    let mut news = router.news();
    let desk = router.desk();
    desk.store()
        .add_loop(&NewLoop {
            id: LOOP.into(),
            common_dir: repository.join(".git"),
            worktree: repository,
            branch: "main".into(),
            status_file: "STATUS.md".into(),
            slug: "shop".into(),
            created_at: Timestamp::now(),
        })
        .await?;
    // A person has read this configuration; only then may it start anything.
    let trust = Steer::Trust { text: CONFIG.into() };
    steer(desk.store(), LOOP, &trust, &BTreeMap::new(), Timestamp::now()).await?;
    steer(desk.store(), LOOP, &Steer::Up, &BTreeMap::new(), Timestamp::now()).await?;
    desk.loops_changed();
    desk.look_at(LOOP);

    loop {
        let line = news.recv().await?;
        if matches!(line.kind.as_str(), "turn" | "decision") {
            println!("{}: {}", line.kind, line.text);
        }
        if line.kind == "decision" && line.text.starts_with("passed") {
            break;
        }
    }
    router.stop().await;
    Ok(())
}

fn scratch_repository(path: &Path) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(path)?;
    let git = |arguments: &[&str]| -> Result<(), Box<dyn Error>> {
        let status = Command::new("git").args(arguments).current_dir(path).status()?;
        if status.success() { Ok(()) } else { Err(format!("git {arguments:?}: {status}").into()) }
    };
    git(&["init", "--quiet", "--initial-branch", "main"])?;
    git(&["config", "user.name", "Example"])?;
    git(&["config", "user.email", "example@example.org"])?;
    std::fs::write(path.join(".git/agent.sh"), AGENT)?;
    std::fs::write(path.join("loop.yaml"), CONFIG)?;
    std::fs::write(path.join("STATUS.md"), format!("# Build a shop\n\n<!-- loop: {LOOP} -->\n"))?;
    git(&["add", "--all"])?;
    git(&["commit", "--quiet", "-m", "open the loop"])
}
