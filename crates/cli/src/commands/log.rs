//! `loop log`.

use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use loop_core::plain::plain;
use serde_json::json;

use crate::commands::DONE;
use crate::failure::Done;
use crate::here::Here;
use crate::output;
use crate::world::World;

/// Print every turn and delivery with times
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Follow
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let (client, here) = Here::with_client(world).await?;
    let row = here.known_row()?;
    if args.json {
        let events = client.store.events(&row.id, 0, usize::MAX).await?;
        let ledger = client.store.ledger(&row.id).await?;
        output::json(
            &json!({"loop": row.id, "events": events, "ledger": ledger, "deliveries": here.known.deliveries}),
        );
        return Ok(DONE);
    }
    let mut after = 0;
    let mut ledger_seen = 0;
    loop {
        let events = client.store.events(&row.id, after, 1000).await?;
        let ledger = client.store.ledger(&row.id).await?;
        let mut lines: Vec<(Timestamp, String)> = Vec::new();
        for event in &events {
            after = event.id;
            lines.push((event.at, format!("{:9} {}", event.kind, plain(&event.text))));
        }
        let deliveries = client.store.deliveries(&row.id, usize::MAX).await?;
        for entry in ledger.iter().skip(ledger_seen) {
            let agent = deliveries
                .iter()
                .find(|delivery| delivery.id == entry.delivery_id)
                .map_or("?", |delivery| delivery.agent.as_str());
            let reason =
                entry.reason.as_deref().map(|reason| format!(": {}", plain(reason))).unwrap_or_default();
            lines.push((entry.at, format!("{:9} {agent} {}{reason}", "ledger", entry.state.as_str())));
        }
        ledger_seen = ledger.len();
        lines.sort_by_key(|(at, _)| *at);
        for (at, line) in lines {
            let at = TimeZone::system().to_datetime(at).strftime("%m-%d %H:%M:%S");
            output::line(format!("{at}  {line}"));
        }
        if !args.follow {
            return Ok(DONE);
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}
