//! `/api/…`: what is known, for programs and for the commands of `loop` while the router runs.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use jiff::Timestamp;
use loop_core::{DeliveryState, Name};
use loop_store::{Delivery, LedgerLine, LoopRow, NewLoop, SessionRow, StoreError, TurnRecord};
use serde::Deserialize;
use serde_json::{Value, json};

use super::problem::Problem;
use crate::desk::Desk;
use crate::facts::INTERRUPTED;
use crate::relay::{Notice, Relayed};
use crate::steer::{Steer, SteerError, steer};

type Desks = State<Arc<Desk>>;
type Answered<T> = Result<Json<T>, Problem>;

fn ours(error: impl std::error::Error) -> Problem {
    Problem::ours(&error)
}

async fn row(desk: &Desk, id: &str) -> Result<LoopRow, Problem> {
    desk.store.loop_row(id).await.map_err(ours)?.ok_or_else(|| {
        Problem::new(StatusCode::NOT_FOUND, "unknown-loop", "no loop of this id is known here")
            .hint("GET /api/loops lists them")
    })
}

#[derive(Deserialize)]
pub(crate) struct WithEnded {
    #[serde(default)]
    ended: bool,
}

pub(crate) async fn loops(State(desk): Desks, Query(query): Query<WithEnded>) -> Answered<Vec<LoopRow>> {
    desk.store.loops(query.ended).await.map(Json).map_err(ours)
}

pub(crate) async fn one_loop(State(desk): Desks, Path(id): Path<String>) -> Answered<LoopRow> {
    row(&desk, &id).await.map(Json)
}

/// Makes a loop known (`loop init`, `loop up`); the same one twice changes nothing.
pub(crate) async fn add_loop(State(desk): Desks, Json(new): Json<NewLoop>) -> Answered<LoopRow> {
    let row = desk.store.add_loop(&new).await.map_err(ours)?;
    desk.loops_changed.notify_one();
    desk.ring(&row.id, "start");
    Ok(Json(row))
}

/// The report of `loop status --json`, as the router sees the loop now.
pub(crate) async fn status(State(desk): Desks, Path(id): Path<String>) -> Answered<Value> {
    let row = row(&desk, &id).await?;
    let notice = Notice { loop_id: row.id.clone(), from: "person" };
    match desk.relay(&notice).await.map_err(ours)? {
        Relayed::Read { observed, .. } => serde_json::to_value(observed.report()).map(Json).map_err(ours),
        Relayed::Nothing(why) => Ok(Json(json!({
            "state": row.state, "turns": [], "decision": null, "diagnostics": [], "why": why,
        }))),
    }
}

pub(crate) async fn turns(State(desk): Desks, Path(id): Path<String>) -> Answered<Vec<TurnRecord>> {
    let row = row(&desk, &id).await?;
    desk.store.turns(&row.id).await.map(Json).map_err(ours)
}

pub(crate) async fn deliveries(State(desk): Desks, Path(id): Path<String>) -> Answered<Vec<Delivery>> {
    let row = row(&desk, &id).await?;
    desk.store.deliveries(&row.id, 1000).await.map(Json).map_err(ours)
}

pub(crate) async fn ledger(State(desk): Desks, Path(id): Path<String>) -> Answered<Vec<LedgerLine>> {
    let row = row(&desk, &id).await?;
    desk.store.ledger(&row.id).await.map(Json).map_err(ours)
}

#[derive(Deserialize)]
pub(crate) struct After {
    #[serde(default)]
    after: i64,
}

pub(crate) async fn log(
    State(desk): Desks,
    Path(id): Path<String>,
    Query(query): Query<After>,
) -> Answered<Vec<loop_store::Event>> {
    let row = row(&desk, &id).await?;
    desk.store.events(&row.id, query.after, 1000).await.map(Json).map_err(ours)
}

pub(crate) async fn sessions(State(desk): Desks) -> Answered<Vec<SessionRow>> {
    desk.store.sessions(None).await.map(Json).map_err(ours)
}

/// Registers how an agent is reached; a later one replaces it.
pub(crate) async fn put_session(State(desk): Desks, Json(session): Json<SessionRow>) -> Answered<Value> {
    let row = row(&desk, &session.loop_id).await?;
    if !desk.transports.contains_key(&session.transport) {
        let mut known: Vec<&str> = desk.transports.keys().map(String::as_str).collect();
        known.sort_unstable();
        return Err(Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "unknown-transport",
            "no transport of this name is known here",
        )
        .hint(format!("known: {}", known.join(", "))));
    }
    desk.store.put_session(&session).await.map_err(ours)?;
    desk.say(Some(&row.id), "session", &format!("{} is reached by {}", session.agent, session.transport))
        .await
        .map_err(ours)?;
    desk.bell.notify_waiters();
    Ok(Json(json!({"status": "ok"})))
}

pub(crate) async fn forget_session(
    State(desk): Desks,
    Path((loop_id, agent)): Path<(String, String)>,
) -> Answered<Value> {
    let agent = name(&agent)?;
    let forgotten = desk.store.forget_session(&loop_id, &agent).await.map_err(ours)?;
    Ok(Json(json!({"status": "ok", "forgotten": forgotten})))
}

fn name(text: &str) -> Result<Name, Problem> {
    Name::new(text).map_err(|error| {
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-name", error.to_string())
            .hint("a name is a letter, then letters, digits, `_`, `-` and `.`, at most 32 in all")
    })
}

/// `POST /api/loops/{id}/{command}`: the steering commands; the body holds the command's own fields.
pub(crate) async fn steering(
    State(desk): Desks,
    Path((id, command)): Path<(String, String)>,
    body: Bytes,
) -> Answered<LoopRow> {
    let row = row(&desk, &id).await?;
    let bad = |detail: String| {
        Problem::new(StatusCode::BAD_REQUEST, "bad-body", format!("`{command}` cannot be read"))
            .detail(detail)
            .hint("send a JSON object with the command's fields, or nothing")
    };
    let mut fields = match body.as_ref() {
        [] => serde_json::Map::new(),
        body => serde_json::from_slice(body).map_err(|error| bad(error.to_string()))?,
    };
    if !fields.contains_key("after_turn") && matches!(command.as_str(), "accept" | "resume") {
        let newest = desk.store.turns(&row.id).await.map_err(ours)?.len();
        fields.insert("after_turn".to_owned(), json!(newest));
    }
    fields.insert("do".to_owned(), json!(command));
    if !COMMANDS.contains(&command.as_str()) {
        let title = "there is no steering command of this name";
        return Err(Problem::new(StatusCode::NOT_FOUND, "unknown-command", title)
            .hint(format!("there are {}", COMMANDS.join(", "))));
    }
    let command: Steer = serde_json::from_value(Value::Object(fields))
        .map_err(|error| bad(error.to_string()).hint("the detail says which field is missing or wrong"))?;
    let steered = desk.steer(&row, &command).await?;
    Ok(Json(steered))
}

/// The steering commands.
const COMMANDS: [&str; 8] = ["accept", "pause", "resume", "skip", "stop", "up", "down", "trust"];

impl Desk {
    /// Does what a person asks: in the store, then to the agents.
    async fn steer(&self, row: &LoopRow, command: &Steer) -> Result<LoopRow, Problem> {
        // Not while a decision is being made from how things were before.
        let seat = self.seats.take(&row.id).await;
        // Whose turn is under way: `down` ends their deliveries, and they are interrupted all the same.
        let at_work = self.store.open_deliveries(Some(&row.id)).await.unwrap_or_default();
        let steered = steer(&self.store, &row.id, command, &self.options.kinds, Timestamp::now()).await;
        drop(seat);
        let steered = steered.map_err(|error| match error {
            SteerError::Store(error) => Problem::ours(&error),
            SteerError::UnknownLoop(_) => {
                Problem::new(StatusCode::NOT_FOUND, "unknown-loop", error.to_string())
                    .hint("GET /api/loops lists them")
            }
            SteerError::Name(_) | SteerError::Config(_) | SteerError::Figure(_) => {
                let hint = match error {
                    SteerError::Config(_) => "mend loop.yaml, then `loop trust` again",
                    SteerError::Name(_) => "`loop agents` lists the names",
                    _ => "for example `loop resume --rounds 4`",
                };
                Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "refused", error.to_string()).hint(hint)
            }
        })?;
        if matches!(command, Steer::Stop { .. } | Steer::Down) {
            self.interrupt_all(&steered, at_work).await;
        }
        if let Ok(Some(event)) = self.store.last_events(&row.id, 1).await.map(|mut events| events.pop()) {
            self.announce(Some(&row.id), event.at, &event.kind, &event.text);
        }
        self.ring(&row.id, "person");
        self.bell.notify_waiters();
        Ok(steered)
    }

    /// Writes down that an agent was interrupted, unless its delivery has ended already.
    async fn interrupted(&self, delivery: &Delivery) -> Result<bool, StoreError> {
        match self.store.delivery(&delivery.id).await? {
            Some(now) if !now.state.is_final() => {
                self.move_on(&delivery.id, DeliveryState::Unanswered, Some(INTERRUPTED)).await
            }
            _ => Ok(false),
        }
    }

    /// Interrupts every agent of the loop that works now.
    async fn interrupt_all(&self, row: &LoopRow, at_work: Vec<Delivery>) {
        let Ok(config) = self.config_of(row) else { return };
        for delivery in at_work.iter().filter(|delivery| delivery.state.is_out()) {
            let Ok(Ok(reached)) = self.reach(row, &config, &delivery.agent).await else { continue };
            let interrupted = reached.transport.interrupt(&reached.session);
            let done = match tokio::time::timeout(self.options.send_limit, interrupted).await {
                Ok(Ok(())) => self.interrupted(delivery).await,
                Ok(Err(error)) => {
                    let text = format!("{} could not be interrupted: {error}", delivery.agent);
                    self.say(Some(&row.id), "steer", &text).await.map(|()| false)
                }
                Err(_) => {
                    let text = format!("{} did not stop in time", delivery.agent);
                    self.say(Some(&row.id), "steer", &text).await.map(|()| false)
                }
            };
            if let Err(error) = done {
                tracing::error!(delivery = delivery.id, %error, "the ledger cannot be written");
            }
        }
    }
}

/// Ends the record of a loop (`loop archive`).
pub(crate) async fn end_loop(State(desk): Desks, Path(id): Path<String>) -> Answered<Value> {
    let row = row(&desk, &id).await?;
    desk.store.end_loop(&row.id, Timestamp::now()).await.map_err(ours)?;
    desk.seats.close(&row.id).await;
    desk.loops_changed.notify_one();
    Ok(Json(json!({"status": "ok"})))
}

#[derive(Deserialize)]
pub(crate) struct WaitQuery {
    agent: String,
    #[serde(default = "half_a_minute")]
    seconds: u64,
    /// For how many milliseconds the same waiter has waited already, question after question.
    #[serde(default)]
    waited: u64,
}

fn half_a_minute() -> u64 {
    30
}

/// Blocks until the agent is woken (the `wait` transport), for at most a minute; 204 when it was not.
pub(crate) async fn wait(
    State(desk): Desks,
    Path(id): Path<String>,
    Query(query): Query<WaitQuery>,
) -> Result<axum::response::Response, Problem> {
    use axum::response::IntoResponse;
    let row = row(&desk, &id).await?;
    let agent = name(&query.agent)?;
    desk.ring(&row.id, "wait");
    let deadline = Duration::from_secs(query.seconds.clamp(1, 60));
    tokio::select! {
        text = desk.wait_room.wait(&row.id, &agent, Duration::from_millis(query.waited)) => Ok(Json(json!({"text": text})).into_response()),
        () = tokio::time::sleep(deadline) => Ok(StatusCode::NO_CONTENT.into_response()),
        () = desk.stop.cancelled() => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

/// The last lines of an agent's window or output.
pub(crate) async fn capture(
    State(desk): Desks,
    Path((id, agent)): Path<(String, String)>,
) -> Answered<Value> {
    let row = row(&desk, &id).await?;
    let agent = name(&agent)?;
    let refused = |why: String| {
        Problem::new(StatusCode::CONFLICT, "not-reached", why).hint("`loop up` opens what is missing")
    };
    let config = desk.config_of(&row).map_err(refused)?;
    let reached = desk.reach(&row, &config, &agent).await.map_err(ours)?.map_err(refused)?;
    let presence = reached.transport.probe(&reached.session).await;
    let text = reached.transport.capture(&reached.session).await.unwrap_or_default();
    let presence_json = json!(presence.as_ref().ok());
    let state = match presence {
        Ok(presence) => crate::reasons::describe(&agent, &presence),
        Err(error) => error.to_string(),
    };
    Ok(Json(json!({
        "agent": agent, "transport": reached.session.kind, "state": state, "presence": presence_json, "text": text,
    })))
}

/// Stops the router, gracefully.
pub(crate) async fn stop(State(desk): Desks) -> Answered<Value> {
    desk.stop.cancel();
    Ok(Json(json!({"status": "stopping"})))
}
