//! `loop wait NAME`: the other end of the `wait` transport.

use std::process::ExitCode;
use std::time::Duration;

use loop_core::decide::Decision;
use loop_router::reading::Reading;
use loop_store::SessionRow;

use crate::commands::DONE;
use crate::commands::commit::nobody;
use crate::failure::{Done, LIMIT, NOTHING};
use crate::here::{Here, no_router};
use crate::output;
use crate::waiting::Patience;
use crate::world::World;

/// 0 it is this agent's turn, 3 the loop is over, 4 timed out.
pub(crate) async fn wait(world: &World, name: &str, patience: Patience) -> Done {
    let (client, mut here) = Here::with_client(world).await?;
    let row = here.known_row()?.clone();
    let (config, _) = here.config(world)?;
    let Some((name, _)) = config.cast().find(name).map(|(name, role)| (name.clone(), role)) else {
        return Err(nobody(&config, name));
    };
    let router = client.router.as_ref().ok_or_else(no_router)?;
    let session = SessionRow {
        loop_id: row.id.clone(),
        agent: name.clone(),
        transport: "wait".to_owned(),
        address: "null".to_owned(),
        conversation: None,
        pid: None,
        started_by_loop: false,
        registered_at: jiff::Timestamp::now(),
    };
    client.put_session(&session).await?;
    loop {
        if let Reading::Loop(observed) = here.read(world)?
            && matches!(observed.decided.decision, Decision::Passed { .. })
        {
            output::note("the loop has passed.");
            return Ok(ExitCode::from(NOTHING));
        }
        if patience.is_over() {
            output::note(format!("timed out: it is not {name}'s turn."));
            return Ok(ExitCode::from(LIMIT));
        }
        let seconds = patience.pause(Duration::from_secs(20)).as_secs().max(1);
        let path = format!("/api/loops/{}/wait?agent={}&seconds={seconds}", row.id, percent(name.as_str()));
        if let Some(text) = router.wait(&path).await? {
            if patience.json {
                output::json(&serde_json::json!({"agent": name, "text": text}));
            } else {
                output::line(text);
            }
            return Ok(DONE);
        }
        here = Here::open(world, Some(&client.store)).await?;
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
