//! The store and, while it runs, the router: reads go to the store, writes through the router.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use jiff::Timestamp;
use loop_core::rendezvous::RouterFile;
use loop_core::{Name, Profile};
use loop_hooks::notify::router_lives;
use loop_router::Key;
use loop_router::steer::{Steer, SteerError, steer};
use loop_store::{LoopRow, NewLoop, SessionRow, Store};
use serde::Serialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::world::World;

/// Where a command reads and writes.
pub(crate) struct Client {
    /// The store.
    pub(crate) store: Store,
    /// The router, when it runs.
    pub(crate) router: Option<RouterLine>,
    /// Further kinds of agents from the user's settings.
    pub(crate) kinds: BTreeMap<String, Profile>,
}

/// A line to the running router.
#[derive(Clone)]
pub(crate) struct RouterLine {
    http: reqwest::Client,
    /// What `router.json` says.
    pub(crate) file: RouterFile,
    key: Key,
}

impl Client {
    /// Opens the store and looks for the router.
    pub(crate) async fn open(world: &World) -> Result<Self, Failure> {
        let router = RouterLine::find(world).await?;
        let store = Store::open(&world.store_url()).await?;
        Ok(Self { store, router, kinds: world.settings.kinds.clone() })
    }

    /// Makes a loop known.
    pub(crate) async fn add_loop(&self, new: &NewLoop) -> Result<LoopRow, Failure> {
        match &self.router {
            Some(router) => router.post("/api/loops", new).await,
            None => Ok(self.store.add_loop(new).await?),
        }
    }

    /// Steers a loop.
    pub(crate) async fn steer(&self, loop_id: &str, command: &Steer) -> Result<LoopRow, Failure> {
        match &self.router {
            Some(router) => {
                let body = serde_json::to_value(command).map_err(Failure::ours)?;
                let word = body.get("do").and_then(Value::as_str).unwrap_or_default().to_owned();
                router.post(&format!("/api/loops/{loop_id}/{word}"), &body).await
            }
            None => {
                steer(&self.store, loop_id, command, &self.kinds, Timestamp::now()).await.map_err(|error| {
                    match error {
                        SteerError::Store(error) => Failure::from(error),
                        error => Failure::users(error),
                    }
                })
            }
        }
    }

    /// Registers how an agent is reached.
    pub(crate) async fn put_session(&self, session: &SessionRow) -> Result<(), Failure> {
        match &self.router {
            Some(router) => router.post::<Value>("/api/sessions", session).await.map(drop),
            None => Ok(self.store.put_session(session).await?),
        }
    }

    /// Forgets how an agent is reached.
    pub(crate) async fn forget_session(&self, loop_id: &str, agent: &Name) -> Result<bool, Failure> {
        Ok(self.store.forget_session(loop_id, agent).await?)
    }

    /// Ends the record of a loop.
    pub(crate) async fn end_loop(&self, loop_id: &str) -> Result<(), Failure> {
        match &self.router {
            Some(router) => router.delete(&format!("/api/loops/{loop_id}")).await,
            None => Ok(self.store.end_loop(loop_id, Timestamp::now()).await?),
        }
    }
}

impl RouterLine {
    /// The router that `router.json` names, if it answers.
    pub(crate) async fn find(world: &World) -> Result<Option<Self>, Failure> {
        let Ok(text) = std::fs::read_to_string(world.router_file()) else { return Ok(None) };
        let Ok(file) = serde_json::from_str::<RouterFile>(&text) else { return Ok(None) };
        if !router_lives(&world.router_file()) {
            return Ok(None);
        }
        let http = reqwest::Client::builder()
            .no_proxy()
            .tls_backend_preconfigured(loop_router::tls::unused())
            .connect_timeout(Duration::from_secs(2))
            .build()
            .map_err(Failure::ours)?;
        let line = Self { http, file, key: world.key()? };
        let health = line.http.get(line.url("/health")).timeout(Duration::from_secs(3)).send().await;
        Ok(health.is_ok_and(|answer| answer.status().is_success()).then_some(line))
    }

    /// Where it listens.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.file.addr
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.file.addr)
    }

    /// A request with the key, for those who read the answer themselves.
    pub(crate) fn get_request(&self, path: &str) -> reqwest::RequestBuilder {
        self.http.get(self.url(path)).bearer_auth(self.key.expose())
    }

    /// A request as somebody else would make it, to prove that it is refused.
    pub(crate) fn stranger(&self, path: &str, key: Option<&str>) -> reqwest::RequestBuilder {
        let request = self.http.get(self.url(path));
        match key {
            Some(key) => request.bearer_auth(key),
            None => request,
        }
    }

    /// Asks.
    pub(crate) async fn get<T: serde::de::DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.answer(self.get_request(path).timeout(Duration::from_secs(30))).await
    }

    /// Sends.
    pub(crate) async fn post<T: serde::de::DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        let request = self.http.post(self.url(path)).bearer_auth(self.key.expose()).json(body);
        self.answer(request.timeout(Duration::from_secs(30))).await
    }

    /// Removes.
    pub(crate) async fn delete(&self, path: &str) -> Result<(), Failure> {
        let request = self.http.delete(self.url(path)).bearer_auth(self.key.expose());
        self.answer::<Value>(request.timeout(Duration::from_secs(30))).await.map(drop)
    }

    /// Asks for a wake; `None` when none came in time.
    pub(crate) async fn wait(&self, path: &str) -> Result<Option<String>, Failure> {
        let request = self.get_request(path).timeout(Duration::from_secs(70));
        let answer: Value = self.answer(request).await?;
        Ok(answer.get("text").and_then(Value::as_str).map(str::to_owned))
    }

    async fn answer<T: serde::de::DeserializeOwned>(
        &self,
        request: reqwest::RequestBuilder,
    ) -> Result<T, Failure> {
        let unreachable = |error: reqwest::Error| {
            Failure::ours(
                anyhow::Error::new(error.without_url())
                    .context(format!("cannot reach the router at {}", self.file.addr)),
            )
            .next("`loop doctor` looks for the cause; `loop router` starts one")
        };
        let answer = request.send().await.map_err(unreachable)?;
        if answer.status() == reqwest::StatusCode::NO_CONTENT {
            return serde_json::from_value(Value::Null).map_err(Failure::ours);
        }
        if answer.status().is_success() {
            return answer.json().await.map_err(unreachable);
        }
        let status = answer.status();
        let problem: Value = answer.json().await.unwrap_or_default();
        let field = |name: &str| problem.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (title, detail, hint) = (field("title"), field("detail"), field("hint"));
        let text = match (title.as_str(), detail.as_str()) {
            ("", _) => format!("the router answered {status}"),
            (title, "") => title.to_owned(),
            (title, detail) => format!("{title}: {detail}"),
        };
        let failure =
            if status.is_server_error() { Failure::ours(anyhow::anyhow!(text)) } else { Failure::say(text) };
        Err(if hint.is_empty() { failure } else { failure.next(hint) })
    }
}
