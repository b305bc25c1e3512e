//! `loop incidents`.

use jiff::tz::TimeZone;
use loop_core::plain::plain;
use loop_store::Incident;
use serde_json::json;

use crate::client::Client;
use crate::commands::DONE;
use crate::failure::Done;
use crate::output;
use crate::world::World;

/// Show what went wrong, in every loop, newest first
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// At most so many
    #[arg(short = 'n', long, default_value_t = 20)]
    pub(crate) number: usize,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command.
pub(crate) async fn run(world: &World, args: Args) -> Done {
    let client = Client::open(world).await?;
    let incidents = client.store.incidents(args.number).await?;
    if args.json {
        output::json(&json!({"incidents": incidents}));
        return Ok(DONE);
    }
    if incidents.is_empty() {
        output::line("nothing went wrong.");
        return Ok(DONE);
    }
    let loops = client.store.loops(true).await?;
    for incident in &incidents {
        let of = incident.loop_id.as_ref().and_then(|id| loops.iter().find(|row| row.id == *id));
        output::line(line(incident, of.map(|row| row.slug.as_str())));
    }
    Ok(DONE)
}

fn line(incident: &Incident, of: Option<&str>) -> String {
    let at = TimeZone::system().to_datetime(incident.at).strftime("%Y-%m-%d %H:%M:%S");
    let of = of.map(|slug| format!(" in {}", plain(slug))).unwrap_or_default();
    let detail =
        incident.detail.lines().map(|line| plain(line).into_owned()).collect::<Vec<_>>().join("\n    ");
    let severity = incident.severity.as_str();
    format!("{at}  {severity:6}  {}{of}\n    {detail}", plain(&incident.what))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use loop_store::Severity;

    use super::*;

    #[test]
    fn an_incident_is_a_line_with_its_details_below() {
        let at = Timestamp::UNIX_EPOCH;
        let incident = Incident::new(at, Severity::High, None, "delivery dead\u{1b}[2J", "no pane\n10 tries");
        let shown = line(&incident, Some("shop"));
        assert!(
            shown.ends_with("  high    delivery dead\\u{1b}[2J in shop\n    no pane\n    10 tries"),
            "{shown}"
        );
    }
}
