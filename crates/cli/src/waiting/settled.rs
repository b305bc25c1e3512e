//! `loop wait --settled NAME`: until an agent has really finished its turn.
//!
//! Whoever is woken by the end of a process is woken by this. It looks for itself and needs no router, so it tells
//! the same whether it was started before, during or after the work.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use loop_core::config::Agent;
use loop_core::plain::plain;
use loop_core::settle::{Settling, Verdict};
use loop_core::{Config, DeliveryState};
use loop_router::tell::teller;
use loop_router::transport_session;
use loop_router::witness::{self, Sighting};
use loop_store::{Delivery, LoopRow, SessionRow};
use loop_transport::{Presence, kinds};
use serde::Serialize;

use crate::client::Client;
use crate::commands::DONE;
use crate::commands::commit::nobody;
use crate::failure::{Done, Failure, LIMIT, NOTHING, USERS};
use crate::here::Here;
use crate::output;
use crate::waiting::Patience;
use crate::world::World;

/// How often an agent at work is looked at.
const POLL: Duration = Duration::from_secs(3);
/// How often one is that seems to have finished: two looks must agree.
const CLOSER: Duration = Duration::from_millis(800);
/// How long a look may take.
const LOOK: Duration = Duration::from_secs(15);
/// How long an agent must be gone.
const GONE: Duration = Duration::from_secs(2);

/// What a program reads.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    agent: &'a str,
    state: &'a str,
    conversation: Option<&'a str>,
    says: Option<&'a str>,
}

/// 0 it has settled, 4 timed out, 1 it is gone or asks for a person, 3 it is gone and so is the loop.
pub(crate) async fn wait(world: &World, name: &str, quiet: Option<Duration>, patience: Patience) -> Done {
    let (client, here) = Here::with_client(world).await?;
    let row = here.known_row()?.clone();
    let (config, _) = here.config(world)?;
    let Some(agent) = config.agents.iter().find(|agent| agent.name.matches(name)) else {
        return Err(nobody(&config, name));
    };
    let quiet = match quiet {
        Some(quiet) => quiet,
        None => world.router_options()?.quiet,
    };
    let quiet = SignedDuration::try_from(quiet).unwrap_or(SignedDuration::MAX);
    let mut post = Post { world, client: &client, row: &row, config: &config, agent, quiet, patience };
    post.stand().await
}

/// One agent that is watched.
struct Post<'a> {
    world: &'a World,
    client: &'a Client,
    row: &'a LoopRow,
    config: &'a Config,
    agent: &'a Agent,
    quiet: SignedDuration,
    patience: Patience,
}

impl Post<'_> {
    async fn stand(&mut self) -> Done {
        let mut options = kinds::Options::new(self.world.state_dir.join("locks"));
        options.tmux = self.world.tmux();
        options.teller = teller(&self.world.tell, &self.client.store);
        let mut watcher = None;
        let mut watched: Option<SessionRow> = None;
        let mut settling: Option<(Option<String>, Settling)> = None;
        let mut gone_since: Option<Instant> = None;
        loop {
            let now = Timestamp::now();
            let wake = self.wake().await?;
            let store = &self.client.store;
            let session = store.session(&self.row.id, &self.agent.name).await?;
            let mut verdict = match &session {
                None => Verdict::Gone("it is not started; `loop up` starts it".to_owned()),
                Some(found) => {
                    let Some(transport) = kinds::open(&found.transport, &options) else {
                        return Err(Failure::say(format!(
                            "no transport `{}` is known here",
                            found.transport
                        )));
                    };
                    let available = self.world.agent_env();
                    let state = &self.world.state_dir;
                    let reached =
                        transport_session(self.row, self.config, self.agent, found, &available, state);
                    if watched.as_ref() != Some(found) {
                        watcher = witness::watcher(&reached);
                        watched = Some(found.clone());
                    }
                    let witnessed = store.witnessed(&self.row.id, &self.agent.name).await?;
                    let look = witness::look(transport.as_ref(), &reached, watcher.as_mut(), &witnessed, now);
                    match tokio::time::timeout(LOOK, look).await {
                        Ok(Ok(seen)) => {
                            self.refuse_blind(&seen)?;
                            let id = wake.as_ref().map(|wake| wake.id.clone());
                            if settling.as_ref().is_none_or(|(of, _)| *of != id) {
                                let still = transport.still_since(&reached).await.ok().flatten();
                                settling = Some((id, self.settling(wake.as_ref(), still)));
                            }
                            match &mut settling {
                                Some((_, settling)) => settling.see(now, &seen.sights()),
                                None => Verdict::Unknown(String::new()),
                            }
                        }
                        Ok(Err(error)) => Verdict::Unknown(error.to_string()),
                        Err(_) => Verdict::Unknown(format!("a look took over {} s", LOOK.as_secs())),
                    }
                }
            };
            // Its turn is still to come: an agent that rests before it has not finished it.
            if let Some(wake) = &wake
                && wake.state.is_untyped()
                && matches!(verdict, Verdict::Settled { .. } | Verdict::Quiet { .. } | Verdict::Unknown(_))
            {
                verdict = Verdict::Working("its wake is on the way".to_owned());
            }
            match &verdict {
                Verdict::Settled { conversation } => {
                    let known = session.and_then(|session| session.conversation);
                    return Ok(self.settled(conversation.clone().or(known).as_deref()));
                }
                Verdict::Asks { says, press } => {
                    let how = if press.is_empty() {
                        String::new()
                    } else {
                        format!(" (press {press} in its window)")
                    };
                    return Ok(self.ended("asks", &format!("{says}{how}")));
                }
                Verdict::Gone(why) => {
                    let since = *gone_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= GONE {
                        if self.loop_is_over().await? {
                            return Ok(self.over());
                        }
                        return Ok(self.ended("gone", why));
                    }
                }
                _ => gone_since = None,
            }
            if self.patience.is_over() {
                return Ok(self.timed_out(&verdict));
            }
            let pause = match verdict {
                Verdict::Working(_) | Verdict::Limited(_) => POLL,
                _ => CLOSER,
            };
            tokio::time::sleep(self.patience.pause(pause)).await;
        }
    }

    /// The agent's wake that is under way, if there is one.
    async fn wake(&self) -> Result<Option<Delivery>, Failure> {
        let open = self.client.store.open_deliveries(Some(&self.row.id)).await?;
        Ok(open.into_iter().rfind(|delivery| delivery.agent == self.agent.name))
    }

    /// Whether its loop has ended: then nobody takes it for lost that it is gone.
    async fn loop_is_over(&self) -> Result<bool, Failure> {
        let row = self.client.store.loop_row(&self.row.id).await?;
        Ok(row.is_none_or(|row| row.ended_at.is_some()))
    }

    fn over(&self) -> ExitCode {
        let why = "the loop is over";
        if self.patience.json {
            self.json("over", None, Some(why));
        }
        output::note(format!("{why}."));
        ExitCode::from(NOTHING)
    }

    fn settling(&self, wake: Option<&Delivery>, still: Option<Timestamp>) -> Settling {
        let settling = Settling::new(self.quiet);
        let out = wake.filter(|wake| wake.state.is_out() && wake.state != DeliveryState::Unknown);
        match (out.and_then(|wake| wake.typed_at.or(wake.submitted_at)), still) {
            (Some(woken), _) => settling.woken(woken),
            (None, Some(still)) => settling.still_since(still),
            (None, None) => settling,
        }
    }

    /// Nothing would ever tell.
    fn refuse_blind(&self, seen: &Sighting) -> Result<(), Failure> {
        let tells = seen.can_settle() || seen.records.is_some() || seen.presence != Presence::Idle;
        if tells {
            return Ok(());
        }
        Err(Failure::say(format!("nobody can tell when {} has finished: it has no window and no records", self.agent.name))
            .next("say where its CLI keeps its records: `records:` under the agent (`loop help loop-yaml`); or wait for a file: `loop wait --file F`"))
    }

    fn settled(&self, conversation: Option<&str>) -> ExitCode {
        if self.patience.json {
            self.json("settled", conversation, None);
        } else {
            let id = conversation.unwrap_or("unknown");
            output::line(format!("{} session {} has settled!", self.agent.name, plain(id)));
        }
        DONE
    }

    fn ended(&self, state: &str, why: &str) -> ExitCode {
        if self.patience.json {
            self.json(state, None, Some(why));
        } else {
            let word = if state == "gone" { "is gone" } else { "asks for a person" };
            output::line(format!("{} {word}: {}", self.agent.name, plain(why)));
        }
        ExitCode::from(USERS)
    }

    fn timed_out(&self, verdict: &Verdict) -> ExitCode {
        let (state, how) = match verdict {
            Verdict::Working(why) => ("works", format!("works: {why}")),
            Verdict::Limited(words) => ("limited", format!("has met a usage limit: {words}")),
            Verdict::Quiet { .. } => ("quiet", "has been still for a moment only".to_owned()),
            Verdict::Unknown(why) => ("unknown", format!("cannot be told: {why}")),
            _ => ("unknown", "is not there".to_owned()),
        };
        if self.patience.json {
            self.json(state, None, Some(&how));
        }
        output::note(format!("timed out: {} {}.", self.agent.name, plain(how.trim_end_matches('.'))));
        ExitCode::from(LIMIT)
    }

    fn json(&self, state: &str, conversation: Option<&str>, says: Option<&str>) {
        output::json(&Answer { agent: self.agent.name.as_str(), state, conversation, says });
    }
}
