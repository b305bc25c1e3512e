//! `loop status`.

use std::time::Duration;

use loop_core::Delivery;
use loop_core::decide::{Decision, Hold, Rounds, rounds};
use loop_core::plain::plain;
use loop_core::report::Report;
use loop_router::reading::Reading;
use loop_router::relay::headline;
use loop_store::LoopRow;
use serde_json::{Value, json};

use crate::client::{Client, RouterLine};
use crate::commands::DONE;
use crate::failure::{Done, Failure};
use crate::here::Here;
use crate::output::{self, cut};
use crate::world::World;

/// Say whether you must do anything, then how the loop stands
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Every loop that is known
    #[arg(long)]
    pub(crate) all: bool,
    /// Follow it until the loop ends
    #[arg(long)]
    pub(crate) watch: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    if args.all {
        return all(world, &Client::open(world).await?, args.json).await;
    }
    let (client, _) = Here::with_client(world).await?;
    if args.watch {
        return watch(world, &client).await;
    }
    let view = View::of(world, &client).await?;
    if args.json {
        output::json(&view.json());
    } else {
        output::print(&view.text(world));
    }
    Ok(DONE)
}

/// Everything that `loop status` shows of one loop.
struct View {
    row: Option<LoopRow>,
    report: Report,
    decision: Option<Decision>,
    deliveries: Vec<Delivery>,
    rounds: Option<Rounds>,
    router: Option<std::net::SocketAddr>,
    why: Option<String>,
}

impl View {
    async fn of(world: &World, client: &Client) -> Result<Self, Failure> {
        let mut here = Here::open(world, Some(&client.store)).await?;
        let deliveries = here.known.deliveries.clone();
        let (report, decision, rounds, why) = match here.read(world)? {
            Reading::Loop(observed) => {
                let rounds = rounds(&observed.status, &observed.config, &observed.facts);
                (observed.report(), Some(observed.decided.decision), Some(rounds), None)
            }
            Reading::Idle { .. } => (Report::idle(), None, None, None),
            Reading::Unreadable { why, .. } => {
                (Report { state: "held", ..Report::idle() }, None, None, Some(why))
            }
            Reading::Underway(operation) => (
                Report { state: "held", ..Report::idle() },
                None,
                None,
                Some(format!("{operation} is under way")),
            ),
        };
        let router = client.router.as_ref().map(RouterLine::addr);
        Ok(Self { row: here.row, report, decision, deliveries, rounds, router, why })
    }

    fn json(&self) -> Value {
        let mut value = serde_json::to_value(&self.report).unwrap_or_default();
        value["loop"] = json!(self.row.as_ref().map(|row| &row.id));
        value["up"] = json!(self.row.as_ref().is_some_and(|row| row.up));
        value["router"] = json!(self.router);
        value["deliveries"] = json!(self.deliveries);
        value["you"] = json!(self.must_you_act());
        value["why"] = json!(self.why);
        value
    }

    /// What a person must do now, if anything.
    fn must_you_act(&self) -> Option<String> {
        if let Some(why) = &self.why {
            return Some(why.clone());
        }
        match self.decision.as_ref()? {
            Decision::Held { why: Hold::Verifying, .. } => None,
            Decision::Held { reason, next, .. } => Some(format!("{reason}; {next}")),
            Decision::Passed { .. } => Some("the loop has passed: `loop archive` puts it away".to_owned()),
            Decision::Wake { .. } => {
                let row = self.row.as_ref();
                if !row.is_some_and(|row| row.up) {
                    return Some("nobody is woken yet: `loop up` starts the agents".to_owned());
                }
                if self.router.is_none() {
                    return Some("the router is not running: `loop up` starts it".to_owned());
                }
                loop_router::for_a_person(&self.deliveries)
            }
        }
    }

    fn text(&self, world: &World) -> String {
        let width = world.width;
        let mut lines = vec![match self.must_you_act() {
            Some(act) => format!("You: {}", plain(&act)),
            None if self.report.state == "idle" => {
                "You: nothing. There is no loop here; `loop init` starts one.".to_owned()
            }
            None => "You: nothing to do.".to_owned(),
        }];
        match &self.decision {
            // What holds it stands in the first line.
            Some(Decision::Held { why, .. }) if *why != Hold::Verifying => {
                lines.push(format!("Loop: held ({why})"));
            }
            Some(decision) => lines.push(format!("Loop: {}", plain(&headline(decision).0))),
            None => {}
        }
        if let Some(row) = &self.row {
            let limit = self.rounds.as_ref().map(|rounds| round_words(rounds) + ", ").unwrap_or_default();
            let minutes = row.worked_ms / 60_000;
            lines.push(format!("      {} on {}, {limit}{minutes} min of work", row.slug, row.branch));
        }
        for turn in &self.report.turns {
            let to = turn.to.as_ref().map(|to| format!(" -> {to}")).unwrap_or_default();
            let verdict = turn.verdict.map(|verdict| format!(" [{verdict}]")).unwrap_or_default();
            let commit = turn.commit.as_deref().map_or("", |commit| &commit[..7.min(commit.len())]);
            lines.push(cut(
                &format!("{:>4}  {commit:7}  {}{to}: {}{verdict}", turn.n, turn.agent, plain(&turn.summary)),
                width,
            ));
        }
        if let Some(open) = self.deliveries.iter().rfind(|delivery| !delivery.state.is_final()) {
            let reason =
                open.reason.as_deref().map(|reason| format!(": {}", plain(reason))).unwrap_or_default();
            lines.push(cut(&format!("Wake: {} {}{reason}", open.agent, open.state.as_str()), width));
        }
        for diagnostic in &self.report.diagnostics {
            lines.push(cut(
                &format!(
                    "line {}: {}: {}",
                    diagnostic.line,
                    diagnostic.code.as_str(),
                    plain(&diagnostic.message)
                ),
                width,
            ));
        }
        lines.push(match self.router {
            Some(addr) => format!("Router: http://{addr}"),
            None => "Router: not running".to_owned(),
        });
        lines.join("\n") + "\n"
    }
}

/// `round 2 of 8`.
pub(crate) fn round_words(rounds: &Rounds) -> String {
    match rounds.of {
        Some(of) => format!("round {} of {of}", rounds.current()),
        None => format!("round {}", rounds.current()),
    }
}

async fn all(world: &World, client: &Client, json: bool) -> Done {
    let loops = client.store.loops(false).await?;
    if json {
        output::json(&json!({"loops": loops}));
        return Ok(DONE);
    }
    if loops.is_empty() {
        output::line("no loop is known here; `loop init` in a repository starts one.");
    }
    for row in loops {
        let mark = if row.up { "" } else { " (down)" };
        let line = format!("{:8} {}{mark}  {}  {}", row.state, row.slug, row.branch, row.worktree.display());
        output::line(cut(&line, world.width));
        if loop_router::folder_is_gone(&row) {
            output::line("         its folder is gone; `loop down --all` forgets it");
        }
    }
    Ok(DONE)
}

/// Prints the view whenever it changes, until the loop has passed or is archived.
async fn watch(world: &World, client: &Client) -> Done {
    let mut last = String::new();
    loop {
        let view = View::of(world, client).await?;
        let text = view.text(world);
        if text != last {
            if world.color {
                output::print("\x1b[2J\x1b[H");
            }
            output::print(&text);
            last = text;
        }
        if matches!(view.report.state, "passed" | "idle") {
            return Ok(DONE);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
