//! `loop init`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use loop_core::config::{PassPolicy, render_new};
use loop_core::plain::plain;
use loop_core::{Config, Name, status};
use loop_git::{
    Blob, CommitOpts, DirtyKind, GitError, Head, ID_TRAILER, INIT_TRAILER, Repo, commit_paths,
    copy_included, switch_new_branch, worktree_add,
};
use loop_router::reading::{CONFIG_FILE, Reader, Reading};
use loop_router::steer::Steer;
use loop_store::{LoopRow, NewLoop};
use serde_json::json;

use crate::casting;
use crate::client::Client;
use crate::commands::DONE;
use crate::commands::trust::approve;
use crate::failure::{COMMAND_LINE, Done, Failure};
use crate::here::Here;
use crate::notifier;
use crate::output;
use crate::people::only_people;
use crate::scribe::Scribe;
use crate::skills;
use crate::world::World;

/// STATUS.md of a new loop.
const TEMPLATE: &str = include_str!("../../../../STATUS.template.md");

/// Open a loop in this repository: STATUS.md, loop.yaml, the skill and the hook
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// What is to be done, in a few words
    pub(crate) task: Option<String>,
    /// Read the task from a file (`-`: standard input); its first line is the title
    #[arg(long, value_name = "F", conflicts_with = "task")]
    pub(crate) task_file: Option<PathBuf>,
    /// An agent of the rotation, in order: NAME or NAME=KIND
    #[arg(long = "agent", value_name = "NAME[=KIND]")]
    pub(crate) agents: Vec<String>,
    /// Who plans: opens and closes the loop
    #[arg(long, value_name = "NAME")]
    pub(crate) planner: Option<String>,
    /// Who may end the loop: any, other, all, or names separated by commas
    #[arg(long, value_name = "P")]
    pub(crate) pass: Option<String>,
    /// Stay on the present branch instead of making loop/<slug>
    #[arg(long)]
    pub(crate) here: bool,
    /// Use a linked worktree of HEAD for the loop
    #[arg(long, conflicts_with = "here")]
    pub(crate) worktree: bool,
    /// Commit your own changes first, in one commit of yours
    #[arg(long)]
    pub(crate) take_changes: bool,
    /// Track the skill in git instead of leaving it untracked and excluded
    #[arg(long)]
    pub(crate) share: bool,
    /// Only say what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let client = Client::open(world).await?;
    let mut here = Here::open(world, Some(&client.store)).await?;
    if let Some(said) = there_already(world, &mut here)? {
        if args.json {
            output::json(&json!({"status": "unchanged", "loop": here.row.as_ref().map(|row| &row.id), "said": said}));
        } else {
            output::line(said);
        }
        return Ok(DONE);
    }
    if let Some(row) = &here.row {
        only_people(&client, row, "init").await?;
    }
    let plan = Plan::make(world, &here, &args)?;
    if args.dry_run {
        if args.json {
            output::json(&plan.json());
        } else {
            output::print(&plan.text());
        }
        return Ok(DONE);
    }
    let opened = plan.carry_out(world, &client, &here).await?;
    if args.json {
        output::json(&json!({
            "status": "ok", "loop": opened.row.id, "branch": opened.row.branch,
            "worktree": opened.row.worktree, "commit": opened.commit, "notes": opened.notes,
        }));
    } else {
        output::print(&opened.text(&plan));
    }
    Ok(DONE)
}

/// What stands in the place of a new loop: a loop that runs or has ended (nothing is changed), or somebody's file
/// (refused).
fn there_already(world: &World, here: &mut Here) -> Result<Option<String>, Failure> {
    match here.read(world) {
        Ok(Reading::Loop(observed)) if observed.status.loop_id.is_some() => {
            let (text, _) = loop_router::relay::headline(&observed.decided.decision);
            Ok(Some(format!("there is a loop here already, and nothing was changed. {}", plain(&text))))
        }
        Ok(Reading::Underway(operation)) => {
            Err(Failure::say(format!("{operation} is under way")).next("finish or abort it, then try again"))
        }
        Ok(Reading::Unreadable { why, .. }) => Err(Failure::say(why)),
        Ok(Reading::Idle { .. }) | Err(_) => match here.reader.repo().worktree_file("STATUS.md")? {
            Blob::Missing => Ok(None),
            _ => Err(foreign()),
        },
        Ok(Reading::Loop(_)) => Err(foreign()),
    }
}

fn foreign() -> Failure {
    Failure::say("there is a STATUS.md here that is no loop's, and it is not overwritten")
        .next("move it away, or let the loop use another file: `status_file: LOOP.md` in a loop.yaml of yours")
}

/// Everything that is going to be done, checked before anything is.
struct Plan {
    id: String,
    title: String,
    slug: String,
    status: String,
    config: Config,
    config_text: String,
    config_is_new: bool,
    branch: Option<String>,
    worktree: Option<PathBuf>,
    take: Vec<PathBuf>,
    share: bool,
    skills: Vec<String>,
    notes: Vec<String>,
}

impl Plan {
    fn make(world: &World, here: &Here, args: &Args) -> Result<Self, Failure> {
        let repo = here.reader.repo();
        let head = repo.head()?;
        let Some(tip) = head.tip() else {
            return Err(Failure::say("this repository has no commit yet")
                .next("make one: git commit --allow-empty -m \"first\""));
        };
        let git = repo.git(&world.git_env);
        let (person, _) = git.identity().map_err(|error| match error.hint() {
            Some(hint) => Failure::users(error).next(hint),
            None => Failure::users(error),
        })?;
        let (title, task) = task(world, args)?;
        let slug = casting::slug(&title);
        let mut notes = Vec::new();
        let existing = match here.reader.config_text(Some(tip)) {
            Ok(text) => Some(text),
            Err(loop_router::reading::ReadError::NoConfig(_)) => None,
            Err(error) => return Err(error.into()),
        };
        let config_is_new = existing.is_none();
        let config_text = match existing {
            Some(text) => {
                if !args.agents.is_empty() || args.planner.is_some() || args.pass.is_some() {
                    notes.push("the loop.yaml that is here is used as it is; --agent, --planner and --pass say nothing".to_owned());
                }
                text
            }
            None => new_config(world, repo, args, &person, &mut notes)?,
        };
        let config = Config::parse(&config_text, CONFIG_FILE, &world.settings.kinds).map_err(Failure::say)?;
        if !matches!(repo.worktree_file(&config.status_file)?, Blob::Missing) {
            return Err(foreign());
        }
        let id = uuid::Uuid::now_v7().to_string();
        let status = fill_template(&title, &task, &id, &config);
        let read = status::parse(status.as_bytes(), &config.cast()).map_err(Failure::say)?;
        if !read.turns.is_empty() || read.loop_id.as_deref() != Some(id.as_str()) {
            return Err(Failure::say("the task holds lines that read as sections of an agent (`## NAME: …`) or leaves a block open")
                .next("indent those lines or put them into a code block, and close what is open"));
        }
        let take = changed(world, repo, args)?;
        let branch = branch(repo, &head, args, &slug)?;
        let worktree = args.worktree.then(|| sibling(repo, &slug));
        if let Some(path) = &worktree
            && path.exists()
        {
            return Err(Failure::say(format!("{} is there already", path.display())).next("move it away, or choose another title"));
        }
        Ok(Self {
            skills: skills::folders(&config),
            id,
            title,
            slug,
            status,
            config,
            config_text,
            config_is_new,
            branch,
            worktree,
            take,
            share: args.share,
            notes,
        })
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "status": "dry-run", "title": self.title, "branch": self.branch, "worktree": self.worktree,
            "writes": self.writes(), "take": self.take, "notes": self.notes,
        })
    }

    fn writes(&self) -> Vec<String> {
        let mut writes = vec![self.config.status_file.clone()];
        if self.config_is_new {
            writes.push(CONFIG_FILE.to_owned());
        }
        writes.extend(self.skills.iter().map(|folder| format!("{folder}/agent-loop/SKILL.md")));
        writes
    }

    fn text(&self) -> String {
        let mut text = String::from("this would be done, and nothing was:\n");
        if !self.take.is_empty() {
            text.push_str(&format!("  commit your {} changed files\n", self.take.len()));
        }
        if let Some(worktree) = &self.worktree {
            text.push_str(&format!("  make the worktree {}\n", worktree.display()));
        }
        if let Some(branch) = &self.branch {
            text.push_str(&format!("  make the branch {branch}\n"));
        }
        for file in self.writes() {
            text.push_str(&format!("  write {file}\n"));
        }
        text.push_str("  install the post-commit notifier\n");
        for note in &self.notes {
            text.push_str(&format!("note: {note}\n"));
        }
        text
    }

    async fn carry_out(&self, world: &World, client: &Client, here: &Here) -> Result<Opened, Failure> {
        let from = here.reader.repo();
        let before = from.head()?;
        if !self.take.is_empty() {
            let mut on_slow = || output::note("loop: git has not finished after 10 s");
            let git = from.git(&world.git_env);
            commit_paths(&git, &self.take, "Work in progress before the loop", CommitOpts::usual(&mut on_slow))?;
        }
        let mut notes = self.notes.clone();
        let moved;
        let repo = match (&self.worktree, &self.branch) {
            (Some(path), Some(branch)) => {
                let tip = from.head()?.tip().cloned().ok_or_else(|| Failure::say("HEAD has no commit any more"))?;
                worktree_add(&from.git(&world.git_env), path, branch, &tip)?;
                let copied = copy_included(from, &world.git_env, path)?;
                if !copied.is_empty() {
                    notes.push(format!("{} files of .worktreeinclude were copied", copied.len()));
                }
                moved = Reader::open(path, &world.git_env)?;
                moved.repo()
            }
            (_, Some(branch)) => {
                switch_new_branch(&from.git(&world.git_env), branch)?;
                from
            }
            _ => from,
        };
        let mut scribe = Scribe::new(&client.store, &repo.place().worktree);
        let written = self.write(world, repo, &mut scribe, &mut notes).await;
        let commit = match written {
            Ok(commit) => commit,
            Err(failure) => {
                scribe.undo().await?;
                self.leave_branch(world, from, repo, &before)?;
                return Err(failure);
            }
        };
        let row = self.make_known(client, here, repo).await?;
        self.approve(world, client, &row, &mut notes).await?;
        Ok(Opened { row, commit, notes })
    }

    /// The files, the hook and the one commit.
    async fn write(
        &self,
        world: &World,
        repo: &Repo,
        scribe: &mut Scribe<'_>,
        notes: &mut Vec<String>,
    ) -> Result<String, Failure> {
        let root = repo.place().worktree.clone();
        let mut own = vec![PathBuf::from(&self.config.status_file), PathBuf::from(CONFIG_FILE)];
        scribe.file(&root.join(&self.config.status_file), self.status.as_bytes()).await?;
        if self.config_is_new {
            scribe.file(&root.join(CONFIG_FILE), self.config_text.as_bytes()).await?;
        }
        own.extend(skills::write(scribe, repo, &self.skills, self.share).await?);
        notifier::install_with_notes(world, &root, scribe, notes).await?;
        let message = format!(
            "loop: start {}\n\n{INIT_TRAILER}: {}\n{ID_TRAILER}: {}\n",
            self.title, self.id, self.id
        );
        let mut nothing = || {};
        let opts = CommitOpts {
            hooks: false,
            slow_after: Duration::from_secs(10),
            deadline: Duration::from_secs(120),
            on_slow: &mut nothing,
        };
        // An existing loop.yaml that is committed and unchanged is no part of this commit.
        let dirty = repo.dirty(&world.git_env)?;
        own.retain(|path| dirty.iter().any(|dirty| dirty.path == *path) || *path == Path::new(&self.config.status_file));
        let committed = commit_paths(&repo.git(&world.git_env), &own, &message, opts).map_err(|error| {
            let hint = match &error {
                GitError::Refused { words, .. } if words.contains("ignored") => {
                    Some("STATUS.md and loop.yaml must not be ignored by git: the commit is how agents talk".to_owned())
                }
                error => error.hint(),
            };
            match hint {
                Some(hint) => Failure::users(error).next(hint),
                None => Failure::users(error),
            }
        })?;
        Ok(committed.id.to_string())
    }

    /// After a failure: back to where the user was.
    fn leave_branch(&self, world: &World, from: &Repo, repo: &Repo, before: &Head) -> Result<(), Failure> {
        let Some(branch) = &self.branch else { return Ok(()) };
        let git = from.git(&world.git_env);
        let minute = Duration::from_secs(60);
        if self.worktree.is_some() {
            loop_git::worktree_remove(&git, &repo.place().worktree)?;
        } else {
            match before {
                Head::Branch { name, .. } => git.succeed("switch back", &["switch", "--quiet", name], minute)?,
                Head::Detached(commit) => {
                    git.succeed("switch back", &["switch", "--quiet", "--detach", commit.as_str()], minute)?
                }
            };
        }
        git.succeed("remove the branch", &["branch", "--quiet", "-D", branch], minute)?;
        Ok(())
    }

    async fn make_known(&self, client: &Client, here: &Here, repo: &Repo) -> Result<LoopRow, Failure> {
        // A loop that was here before and whose STATUS.md is gone has ended.
        if self.worktree.is_none()
            && let Some(old) = &here.row
        {
            client.end_loop(&old.id).await?;
        }
        let head = repo.head()?;
        let branch = head.branch().ok_or_else(|| Failure::say("HEAD is detached; a loop lives on a branch"))?;
        let place = repo.place();
        client
            .add_loop(&NewLoop {
                id: self.id.clone(),
                worktree: place.worktree.clone(),
                common_dir: place.common_dir.clone(),
                branch: branch.to_owned(),
                status_file: self.config.status_file.clone(),
                slug: self.slug.clone(),
                created_at: Timestamp::now(),
            })
            .await
    }

    /// What this command wrote itself is approved; so is what was approved for an earlier loop. `setup` runs only then.
    async fn approve(
        &self,
        world: &World,
        client: &Client,
        row: &LoopRow,
        notes: &mut Vec<String>,
    ) -> Result<(), Failure> {
        let hash = loop_core::config::hash(&self.config_text);
        let known = client.store.loops(true).await?.iter().any(|old| {
            old.approved.as_deref() == Some(hash.as_str()) && old.common_dir == row.common_dir
        });
        let setup = self.config.setup.as_ref().filter(|_| self.worktree.is_some());
        if self.config_is_new || known {
            client.steer(&row.id, &Steer::Trust { text: self.config_text.clone() }).await?;
        } else if setup.is_some() && output::can_ask() {
            approve(client, row, &self.config, &self.config_text, false).await?;
        } else {
            notes.push("this loop.yaml was not written by you here: `loop up` shows it and asks".to_owned());
            if setup.is_some() {
                notes.push("`setup` was not run: approve loop.yaml, then run it in the worktree".to_owned());
            }
            return Ok(());
        }
        if let Some(setup) = setup {
            run_setup(world, setup, &row.worktree)?;
        }
        Ok(())
    }
}

fn run_setup(world: &World, setup: &[String], worktree: &Path) -> Result<(), Failure> {
    let Some((program, arguments)) = setup.split_first() else { return Ok(()) };
    output::note(format!("running setup: {}", setup.join(" ")));
    let git_variables = world.env.keys().filter(|name| name.starts_with("GIT_"));
    let mut command = std::process::Command::new(program);
    command.args(arguments).current_dir(worktree).stdin(std::process::Stdio::null());
    for name in git_variables {
        command.env_remove(name);
    }
    let status = command.status().map_err(|error| {
        Failure::users(anyhow::Error::new(error).context(format!("cannot start setup ({program})")))
    })?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::say(format!("setup ended with {status}"))
        .next(format!("the loop is open in {}; mend setup there, then `loop up`", worktree.display())))
}

/// A loop that was opened.
struct Opened {
    row: LoopRow,
    commit: String,
    notes: Vec<String>,
}

impl Opened {
    fn text(&self, plan: &Plan) -> String {
        let mut text = format!("loop: {}\n", plan.title);
        text.push_str(&format!("  branch    {}\n", self.row.branch));
        if plan.worktree.is_some() {
            text.push_str(&format!("  worktree  {}\n", self.row.worktree.display()));
        }
        text.push_str(&format!("  commit    {} ({})\n", &self.commit[..7.min(self.commit.len())], plan.config.status_file));
        let order: Vec<&str> = plan.config.rotation.members().map(Name::as_str).collect();
        text.push_str(&format!("  agents    {}\n", order.join(" -> ")));
        text.push_str(&format!("  pass      {}\n", pass_words(&plan.config.pass)));
        for note in &self.notes {
            text.push_str(&format!("note: {note}\n"));
        }
        let verify = if plan.config.verify.is_none() { ", and `verify:` in loop.yaml if tests must pass" } else { "" };
        text.push_str(&format!("Nobody was woken. Next: look at STATUS.md{verify}; then `loop up`.\n"));
        if plan.worktree.is_some() {
            text.push_str(&format!("The loop lives in its worktree: cd {}\n", self.row.worktree.display()));
        }
        text
    }
}

/// The title and the whole task.
fn task(world: &World, args: &Args) -> Result<(String, String), Failure> {
    let text = match (&args.task, &args.task_file) {
        (Some(task), _) => task.clone(),
        (None, Some(file)) if file == Path::new("-") => std::io::read_to_string(std::io::stdin())
            .map_err(|error| Failure::users(anyhow::Error::new(error).context("cannot read the task")))?,
        (None, Some(file)) => std::fs::read_to_string(world.cwd.join(file)).map_err(|error| {
            Failure::users(anyhow::Error::new(error).context(format!("cannot read the task from {}", file.display())))
        })?,
        (None, None) => String::new(),
    };
    let text = text.trim();
    let Some(first) = text.lines().next() else {
        return Err(Failure::say("what is to be done?").code(COMMAND_LINE).next("loop init \"the task in a few words\", or --task-file F"));
    };
    if text.contains('\0') {
        return Err(Failure::say("the task holds NUL bytes").next("save it as plain text"));
    }
    let title: String = plain(first.trim().trim_start_matches('#').trim()).chars().take(120).collect();
    let task = if text.lines().count() == 1 { text.to_owned() } else { text.lines().skip(1).collect::<Vec<_>>().join("\n") };
    Ok((title, task.trim().to_owned()))
}

fn fill_template(title: &str, task: &str, id: &str, config: &Config) -> String {
    let order: Vec<&str> = config.rotation.members().map(Name::as_str).collect();
    // One pass: what is filled in is never looked at again.
    let mut filled = String::new();
    let mut rest = TEMPLATE;
    while let Some(open) = rest.find('{') {
        let Some(close) = rest[open..].find('}') else { break };
        let value = match &rest[open + 1..open + close] {
            "title" => title.to_owned(),
            "task" => task.to_owned(),
            "loop_id" => id.to_owned(),
            "rotation" => order.join(" -> "),
            "pass" => pass_words(&config.pass),
            other => format!("{{{other}}}"),
        };
        filled.push_str(&rest[..open]);
        filled.push_str(&value);
        rest = &rest[open + close + 1..];
    }
    filled.push_str(rest);
    filled
}

/// The policy in a person's words.
pub(crate) fn pass_words(pass: &PassPolicy) -> String {
    match pass {
        PassPolicy::Any => "any agent".to_owned(),
        PassPolicy::Other => "an agent that did not make the newest change".to_owned(),
        PassPolicy::All => "all agents together".to_owned(),
        PassPolicy::Names(names) => {
            let names: Vec<&str> = names.iter().map(Name::as_str).collect();
            names.join(" and ")
        }
    }
}

fn new_config(
    world: &World,
    repo: &Repo,
    args: &Args,
    person: &str,
    notes: &mut Vec<String>,
) -> Result<String, Failure> {
    let agents = casting::cast(world, &args.agents)?;
    let planner = args.planner.as_deref().map(Name::new).transpose().map_err(|error| {
        Failure::users(error).code(COMMAND_LINE)
    })?;
    let taken: Vec<&Name> = agents.iter().map(|(name, _)| name).chain(&planner).collect();
    let people: Vec<Name> = casting::person(person, &taken).into_iter().collect();
    let pass = match args.pass.as_deref() {
        Some(names) if names.contains(',') => format!("[{names}]"),
        Some(word) if matches!(word, "any" | "other" | "all") => word.to_owned(),
        Some(name) => format!("[{name}]"),
        None if agents.len() > 1 => "other".to_owned(),
        None => "any".to_owned(),
    };
    let mut text = render_new(&agents, planner.as_ref(), &people, &pass, None);
    if let Some(tests) = test_command(&repo.place().worktree) {
        let proposal = format!("# verify: {tests}");
        text = text
            .lines()
            .map(|line| if line.starts_with("# verify:") { format!("{proposal}   # must succeed in a clean checkout before a pass counts") } else { line.to_owned() })
            .collect::<Vec<_>>()
            .join("\n")
            + "\n";
        notes.push(format!("the project's tests could guard the pass: `verify: {tests}` in loop.yaml"));
    }
    if let Some(subject) = accepted_subject(world, repo, &agents[0].0, notes) {
        text.push_str(&format!("# The repository's commit-msg hook wants this form.\ncommit: {{subject: \"{subject}\"}}\n"));
    }
    Ok(text)
}

/// The project's own test command, by its build files.
fn test_command(root: &Path) -> Option<&'static str> {
    let has = |file: &str| root.join(file).is_file();
    let says = |file: &str, word: &str| std::fs::read_to_string(root.join(file)).is_ok_and(|text| text.contains(word));
    let table: [(bool, &'static str); 7] = [
        (has("Cargo.toml"), "cargo test"),
        (says("package.json", "\"test\""), "npm test"),
        (has("go.mod"), "go test ./..."),
        (has("pyproject.toml") || has("pytest.ini"), "python3 -m pytest"),
        (has("pom.xml"), "mvn -q test"),
        (has("gradlew"), "./gradlew test"),
        (says("Makefile", "\ntest:") || says("Makefile", "test:"), "make test"),
    ];
    table.into_iter().find(|(there, _)| *there).map(|(_, command)| command)
}

/// Tries the usual subject against the repository's commit-msg hook; `Some`: another form that it accepts.
fn accepted_subject(world: &World, repo: &Repo, agent: &Name, notes: &mut Vec<String>) -> Option<&'static str> {
    let forms = ["{name}: {summary}", "chore: {name}: {summary}", "chore({name}): {summary}", "{summary} ({name})"];
    let tried = |form: &str| -> Option<bool> {
        let folder = tempfile::tempdir().ok()?;
        let file = folder.path().join("COMMIT_EDITMSG");
        let subject = form.replace("{name}", agent.as_str()).replace("{summary}", "add a first version");
        std::fs::write(&file, format!("{subject}\n\nLoop-Agent: {agent}\n")).ok()?;
        let git = repo.git(&world.git_env);
        let file = file.to_string_lossy().into_owned();
        let args = ["hook", "run", "--ignore-missing", "commit-msg", "--", &file];
        git.run(&args, Duration::from_secs(20)).ok().map(|output| output.ok())
    };
    if tried(forms[0]).unwrap_or(true) {
        return None;
    }
    let accepted = forms.into_iter().skip(1).find(|form| tried(form) == Some(true));
    if accepted.is_none() {
        notes.push(format!(
            "the commit-msg hook refuses subjects like `{agent}: what I did`: set `commit: {{subject: …}}` in loop.yaml to a form that it takes"
        ));
    }
    accepted
}

/// Changed tracked files: refused, unless they are to be taken or left in the other worktree.
fn changed(world: &World, repo: &Repo, args: &Args) -> Result<Vec<PathBuf>, Failure> {
    let dirty = repo.dirty(&world.git_env)?;
    let changed: Vec<PathBuf> =
        dirty.into_iter().filter(|dirty| dirty.kind != DirtyKind::Untracked).map(|dirty| dirty.path).collect();
    if changed.is_empty() || args.worktree {
        return Ok(Vec::new());
    }
    if args.take_changes {
        return Ok(changed);
    }
    let names: Vec<String> =
        changed.iter().take(5).map(|path| plain(&path.to_string_lossy()).into_owned()).collect();
    Err(Failure::say(format!(
        "{} tracked {} changed ({}{}): agents could not tell your work from theirs",
        changed.len(),
        if changed.len() == 1 { "file is" } else { "files are" },
        names.join(", "),
        if changed.len() > 5 { ", …" } else { "" }
    ))
    .next("--take-changes commits them first as yours; --worktree leaves them here and works elsewhere; or commit or stash them"))
}

/// The branch to be made; `None`: the loop stays where HEAD is.
fn branch(repo: &Repo, head: &Head, args: &Args, slug: &str) -> Result<Option<String>, Failure> {
    let stays = match head {
        Head::Branch { name, .. } => {
            let default = repo.default_branch();
            args.here || default.as_deref().is_some_and(|default| default != name)
        }
        Head::Detached(_) if args.here => {
            return Err(Failure::say("HEAD is detached; a loop lives on a branch")
                .next("`git switch BRANCH`, or leave --here out"));
        }
        Head::Detached(_) => false,
    };
    if stays && !args.worktree {
        return Ok(None);
    }
    for number in 1..1000 {
        let name = if number == 1 { format!("loop/{slug}") } else { format!("loop/{slug}-{number}") };
        if repo.branch_is_free(&name)? {
            return Ok(Some(name));
        }
    }
    Err(Failure::say(format!("loop/{slug} and its next 998 names are taken")).next("choose another title"))
}

/// The folder of a loop's own worktree: beside the repository.
fn sibling(repo: &Repo, slug: &str) -> PathBuf {
    let root = &repo.place().worktree;
    let name = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    root.with_file_name(format!("{name}-{slug}"))
}
