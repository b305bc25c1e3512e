//! A repository with a loop, a router and scripted agents: where every test here starts.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use loop_git::GitEnv;
use loop_router::steer::{Steer, steer};
use loop_router::tell::Tell;
use loop_router::{Key, Options, Router};
use loop_store::{Delivery, LoopRow, NewLoop, Store};
use loop_testkit::{Sandbox, TestRepo, eventually_async};
use loop_transport::{Presence, Transport};
use serde_json::Value;

use crate::fake::Fake;

pub(crate) const WAIT: Duration = Duration::from_secs(20);
pub(crate) const ID: &str = "shop-1";

pub(crate) struct World {
    pub(crate) sandbox: Sandbox,
    pub(crate) repo: TestRepo,
    pub(crate) fake: Arc<Fake>,
    pub(crate) options: Options,
    pub(crate) router: Option<Router>,
    pub(crate) http: reqwest::Client,
}

/// A `loop.yaml` with these agents in a ring, and further lines.
pub(crate) fn config(agents: &[&str], more: &str) -> String {
    let entries: Vec<String> =
        agents.iter().map(|name| format!("  {name}: {{kind: scripted, transport: command}}")).collect();
    format!("agents:\n{}\nrotation: [{}]\n{more}\n", entries.join("\n"), agents.join(", "))
}

impl World {
    /// Two agents, a loop that is up, and a router.
    pub(crate) async fn two() -> Self {
        Self::with(&config(&["CC", "Codex"], "pass: any"), |_| {}).await
    }

    pub(crate) async fn with(config: &str, change: impl FnOnce(&mut Options)) -> Self {
        let mut world = Self::down(config, change).await;
        world.up(ID).await;
        world.start().await;
        world
    }

    /// A loop that is known but not up, and no router.
    pub(crate) async fn down(config: &str, change: impl FnOnce(&mut Options)) -> Self {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("shop");
        let fake = Fake::new();
        let state = sandbox.root().join("state");
        let key = Key::read_or_make(&state.join("key")).unwrap();
        let mut options = Options::new(state, key, GitEnv::from_vars(sandbox.env()));
        options.listen = ([127, 0, 0, 1], 0).into();
        options.agent_env = sandbox.env_text();
        options.tell = Tell::command(vec!["/bin/true".to_owned()], BTreeMap::new());
        options.look = Duration::from_millis(20);
        options.quiet = Duration::from_millis(120);
        options.sweep = Duration::from_secs(3600);
        options.first_pause = Duration::from_millis(5);
        options.transports = vec![("command".to_owned(), Arc::clone(&fake) as Arc<dyn Transport>)];
        change(&mut options);
        loop_router::tls::provide();
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let world = Self { sandbox, repo, fake, options, router: None, http };
        world.open_loop(&world.repo, ID, "main", config).await;
        world
    }

    /// Commits `loop.yaml` and STATUS.md and makes the loop known.
    pub(crate) async fn open_loop(&self, repo: &TestRepo, id: &str, branch: &str, config: &str) {
        repo.write("loop.yaml", config);
        repo.write("STATUS.md", format!("# Build a shop\n\n<!-- loop: {id} -->\n\nSell things.\n"));
        repo.git(&["add", "loop.yaml", "STATUS.md"]);
        repo.git(&["commit", "--quiet", "-m", "open the loop", "--trailer", "Loop-Init: yes"]);
        let worktree = repo.path().canonicalize().unwrap();
        let common = repo.git(&["rev-parse", "--path-format=absolute", "--git-common-dir"]);
        let new = NewLoop {
            id: id.to_owned(),
            worktree,
            common_dir: Path::new(&common).canonicalize().unwrap(),
            branch: branch.to_owned(),
            status_file: "STATUS.md".to_owned(),
            slug: "shop".to_owned(),
            created_at: Timestamp::now(),
        };
        self.store().await.add_loop(&new).await.unwrap();
    }

    /// Approves `loop.yaml` and lets agents be woken.
    pub(crate) async fn up(&self, id: &str) {
        let store = self.store().await;
        let row = store.loop_row(id).await.unwrap().unwrap();
        let text = std::fs::read_to_string(row.worktree.join("loop.yaml")).unwrap();
        let now = Timestamp::now();
        steer(&store, id, &Steer::Trust { text }, &Default::default(), now).await.unwrap();
        steer(&store, id, &Steer::Up, &Default::default(), now).await.unwrap();
    }

    pub(crate) async fn start(&mut self) {
        self.router = Some(Router::start(self.options.clone()).await.unwrap());
    }

    /// Ends the router as a crash would.
    pub(crate) async fn crash(&mut self) {
        drop(self.router.take());
        // Tasks are cut off at their next await; the place is free once all of them are gone.
        tokio::task::yield_now().await;
    }

    pub(crate) async fn restart(&mut self) {
        self.crash().await;
        self.start().await;
    }

    /// The store by itself, router or not.
    pub(crate) async fn store(&self) -> Store {
        Store::open(&self.options.store_url).await.unwrap()
    }

    pub(crate) async fn row(&self) -> LoopRow {
        self.store().await.loop_row(ID).await.unwrap().unwrap()
    }

    /// Newest last.
    pub(crate) async fn deliveries(&self) -> Vec<Delivery> {
        let mut all = self.store().await.deliveries(ID, 500).await.unwrap();
        all.reverse();
        all
    }

    /// `turn agent attempt state` of every delivery, oldest first.
    pub(crate) async fn ledger(&self) -> String {
        let line = |d: &Delivery| format!("{} {} {} {}", d.turn, d.agent, d.attempt, d.state.as_str());
        self.deliveries().await.iter().map(line).collect::<Vec<_>>().join(", ")
    }

    pub(crate) async fn events(&self, kind: &str) -> Vec<String> {
        let events = self.store().await.events_of_kind(ID, kind).await.unwrap();
        events.into_iter().map(|event| event.text).collect()
    }

    /// Appends a section by hand and commits everything.
    pub(crate) fn section(&self, author: &str, summary: &str, body: &str) {
        self.repo.write(
            "STATUS.md",
            format!("{}\n## {author}: {summary}\n\n{body}\n", self.repo.read("STATUS.md").trim_end()),
        );
        self.repo.git(&["add", "--all"]);
        self.repo.git(&["commit", "--quiet", "-m", &format!("{author}: {summary}")]);
    }

    /// An agent's turn: its section, and then it is idle. Nobody rings.
    pub(crate) fn turn(&self, author: &str, summary: &str, body: &str) {
        self.section(author, summary, body);
        self.idle(author);
    }

    pub(crate) fn idle(&self, name: &str) {
        self.fake.set(ID, name, Presence::Idle);
    }

    pub(crate) fn wakes(&self, name: &str) -> usize {
        self.fake.wakes(ID, name).len()
    }

    /// Waits until `name` was woken `times` times.
    pub(crate) async fn woken(&self, name: &str, times: usize) {
        self.until(&format!("{name} to be woken {times} times"), || async {
            let wakes = self.wakes(name);
            if wakes == times { Ok(()) } else { Err(format!("{wakes} times; {}", self.ledger().await)) }
        })
        .await;
    }

    /// Waits until the loop is in this state with these words in its decision; returns the whole decision.
    pub(crate) async fn state(&self, state: &str, words: &str) -> String {
        self.until(&format!("{state} with {words:?}"), || async {
            let row = self.row().await;
            let decision = row.decision_json.unwrap_or_default();
            if row.state == state && decision.contains(words) {
                Ok(decision)
            } else {
                Err(format!("{} {decision}; {}", row.state, self.ledger().await))
            }
        })
        .await
    }

    pub(crate) async fn until<T, F>(&self, what: &str, look: impl FnMut() -> F) -> T
    where
        F: Future<Output = Result<T, String>>,
    {
        eventually_async(what, WAIT, look).await
    }

    /// Long enough for everything that could still happen by mistake.
    pub(crate) async fn settle(&self) {
        let desk = Arc::clone(self.router.as_ref().unwrap().desk());
        for _ in 0..6 {
            desk.look_at(ID);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.router.as_ref().unwrap().addr())
    }

    pub(crate) fn get(&self, path: &str) -> reqwest::RequestBuilder {
        self.http.get(self.url(path)).bearer_auth(self.options.key.expose())
    }

    pub(crate) fn post(&self, path: &str) -> reqwest::RequestBuilder {
        self.http.post(self.url(path)).bearer_auth(self.options.key.expose())
    }

    /// Steers the loop through the router.
    pub(crate) async fn steer(&self, command: &str, body: Value) {
        let answer = self.post(&format!("/api/loops/{ID}/{command}")).json(&body).send().await.unwrap();
        let status = answer.status();
        assert!(status.is_success(), "{command}: {status} {}", answer.text().await.unwrap());
    }

    /// Rings as the hook does; returns status and answer.
    pub(crate) async fn ring(&self, body: Value) -> (u16, Value) {
        let answer = self.post("/webhook/agent-loop").json(&body).send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    pub(crate) async fn ring_here(&self, author: &str) -> Value {
        let repo = self.repo.path().to_str().unwrap();
        let (status, answer) =
            self.ring(serde_json::json!({"author": author, "message": "x", "repo": repo})).await;
        assert_eq!(status, 202, "{answer}");
        answer
    }
}
