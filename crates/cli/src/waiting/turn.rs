//! `loop wait NAME`: the other end of the `wait` transport.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use loop_core::Name;
use loop_core::decide::Decision;
use loop_core::plain::plain;
use loop_router::reading::Reading;
use loop_router::relay::headline;
use loop_store::{LoopRow, SessionRow};
use serde_json::{Value, json};

use crate::client::{Client, RouterLine};
use crate::commands::DONE;
use crate::commands::commit::nobody;
use crate::failure::{Done, Failure, LIMIT, NOTHING};
use crate::here::{Here, no_router};
use crate::output;
use crate::waiting::Patience;
use crate::world::World;

/// How long one question to the router may stand open.
const ASK: Duration = Duration::from_secs(20);

/// How often is looked whether the loop is over, and for a router that has gone.
const LOOK: Duration = Duration::from_secs(1);

/// A router that is started anew comes back within seconds; one that does not is gone.
const ROUTER_GONE: Duration = Duration::from_secs(120);

/// 0 it is this agent's turn, 3 the loop is over, 4 timed out, 1 it is no agent of this loop (any more).
pub(crate) async fn wait(world: &World, name: &str, patience: Patience) -> Done {
    let (client, here) = Here::with_client(world).await?;
    let row = here.known_row()?.clone();
    let name = agent(world, &here, name)?;
    let mut router = client.router.clone().ok_or_else(no_router)?;
    reached_here(&client, &row, &name).await?;
    let seat = Seat { world, client: &client, row: &row, name: &name, patience };
    seat.register(&router).await?;
    let mut held = None;
    let mut gone: Option<Instant> = None;
    let mut asked = false;
    loop {
        if let Some(end) = seat.over(&mut held).await? {
            return Ok(end);
        }
        // Who has no time at all asks once all the same.
        if patience.is_over() && asked {
            return Ok(seat.timed_out());
        }
        asked = true;
        match seat.ask(&router, &mut held).await? {
            Asked::Woken(text) => return Ok(seat.woken(&text)),
            Asked::Over(end) => return Ok(end),
            Asked::NotYet => gone = None,
            Asked::Unreachable(failure) => {
                let since = *gone.get_or_insert_with(|| {
                    output::note("the router cannot be reached; waiting until it is back.");
                    Instant::now()
                });
                if since.elapsed() >= ROUTER_GONE {
                    return Err(failure);
                }
                tokio::time::sleep(patience.pause(LOOK)).await;
                if let Some(found) = RouterLine::find(world).await? {
                    router = found;
                    seat.register(&router).await?;
                }
            }
        }
    }
}

/// The agent of this loop that is called `name`.
fn agent(world: &World, here: &Here, name: &str) -> Result<Name, Failure> {
    let (config, _) = here.config(world)?;
    let cast = config.cast();
    let Some((name, _)) = cast.find(name) else { return Err(nobody(&config, name)) };
    match config.agent(name) {
        Some(agent) => Ok(agent.name.clone()),
        None => Err(Failure::say(format!("{name} is no agent of this loop, and nobody calls {name} by it"))
            .next("`loop wait --passed` waits for the end of the loop")),
    }
}

/// An agent that is called elsewhere must not be moved here by a command that it ran itself: its window would never
/// be called again.
async fn reached_here(client: &Client, row: &LoopRow, name: &Name) -> Result<(), Failure> {
    match client.store.session(&row.id, name).await? {
        Some(session) if session.transport != "wait" => {
            Err(Failure::say(format!("{name} is reached by `{}` and is called there", session.transport))
                .next(format!(
                    "end the turn and wait to be called; `loop agents register {name} --transport wait` moves {name} here"
                )))
        }
        _ => Ok(()),
    }
}

/// What asking for a wake gave.
enum Asked {
    Woken(String),
    NotYet,
    Over(ExitCode),
    Unreachable(Failure),
}

/// One agent that waits.
struct Seat<'a> {
    world: &'a World,
    client: &'a Client,
    row: &'a LoopRow,
    name: &'a Name,
    patience: Patience,
}

impl Seat<'_> {
    async fn register(&self, router: &RouterLine) -> Result<(), Failure> {
        let session = SessionRow {
            loop_id: self.row.id.clone(),
            agent: self.name.clone(),
            transport: "wait".to_owned(),
            address: "null".to_owned(),
            conversation: None,
            pid: None,
            started_by_loop: false,
            registered_at: jiff::Timestamp::now(),
        };
        let known = self.client.store.session(&self.row.id, self.name).await?;
        match known {
            Some(known) if known.transport == session.transport => Ok(()),
            _ => router.post::<Value>("/api/sessions", &session).await.map(drop),
        }
    }

    /// Asks the router, and looks meanwhile whether the loop is over.
    ///
    /// The question is never given up because the time is: the router itself ends it, so that no wake is handed to
    /// somebody who has just gone.
    async fn ask(&self, router: &RouterLine, held: &mut Option<String>) -> Result<Asked, Failure> {
        let seconds = self.patience.pause(ASK).as_secs_f64().ceil().max(1.0);
        let path = format!(
            "/api/loops/{}/wait?agent={}&seconds={seconds}&waited={}",
            self.row.id,
            percent(self.name.as_str()),
            self.patience.began.elapsed().as_millis()
        );
        let asking = router.wait(&path);
        tokio::pin!(asking);
        loop {
            tokio::select! {
                answer = &mut asking => return match answer {
                    Ok(Some(text)) => Ok(Asked::Woken(text)),
                    Ok(None) => Ok(Asked::NotYet),
                    Err(failure) if failure.is_ours() => Ok(Asked::Unreachable(failure)),
                    // It may be over since the last look: then the router knows no such loop.
                    Err(failure) => self.over(held).await?.map(Asked::Over).ok_or(failure),
                },
                () = tokio::time::sleep(LOOK) => {
                    if let Some(end) = self.over(held).await? {
                        return Ok(Asked::Over(end));
                    }
                }
            }
        }
    }

    /// Whether there is nothing to wait for any more. A loop that is held may go on: that is said once.
    async fn over(&self, held: &mut Option<String>) -> Result<Option<ExitCode>, Failure> {
        let mut here = Here::open(self.world, Some(&self.client.store)).await?;
        if here.row.as_ref().is_none_or(|row| row.id != self.row.id) {
            return Ok(Some(self.nothing("the loop is over.")));
        }
        let observed = match here.read(self.world)? {
            Reading::Loop(observed) => observed,
            Reading::Idle { .. } => return Ok(Some(self.nothing("the loop is over."))),
            Reading::Unreadable { .. } | Reading::Underway(_) => return Ok(None),
        };
        if observed.config.agent(self.name).is_none() {
            return Err(Failure::say(format!("{} is no agent of this loop any more", self.name))
                .next("`loop agents` lists the agents"));
        }
        match &observed.decided.decision {
            Decision::Passed { .. } => {
                let is_planner = observed.config.planner.as_ref() == Some(self.name);
                if is_planner && !self.was_told(observed.status.turns.len()).await? {
                    return Ok(None);
                }
                Ok(Some(self.nothing("the loop has passed.")))
            }
            decision @ Decision::Held { .. } => {
                let (text, _) = headline(decision);
                if held.as_ref() != Some(&text) {
                    output::note(format!(
                        "{}; waiting until it goes on.",
                        plain(&text).trim_end_matches('.')
                    ));
                    *held = Some(text);
                }
                Ok(None)
            }
            Decision::Wake { .. } => {
                *held = None;
                Ok(None)
            }
        }
    }

    /// Whether this planner has heard of the end: it is called for that too.
    async fn was_told(&self, turns: usize) -> Result<bool, Failure> {
        let deliveries = self.client.store.deliveries(&self.row.id, 100).await?;
        Ok(deliveries.iter().any(|delivery| delivery.agent == *self.name && delivery.turn == turns))
    }

    fn woken(&self, text: &str) -> ExitCode {
        if self.patience.json {
            output::json(&json!({"agent": self.name, "text": text}));
        } else {
            output::line(text);
        }
        DONE
    }

    fn nothing(&self, why: &str) -> ExitCode {
        self.end(why, NOTHING)
    }

    fn timed_out(&self) -> ExitCode {
        self.end(&format!("timed out: it is not {}'s turn.", self.name), LIMIT)
    }

    fn end(&self, why: &str, code: u8) -> ExitCode {
        if self.patience.json {
            output::json(&json!({"agent": self.name, "text": null, "reason": why}));
        }
        output::note(why);
        ExitCode::from(code)
    }
}

/// A name as it may stand in a query: everything but letters and digits in `%XX`.
fn percent(name: &str) -> String {
    name.bytes()
        .map(
            |byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            },
        )
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_into_a_query() {
        assert_eq!(percent("a-小"), "a%2D%E5%B0%8F");
    }
}
