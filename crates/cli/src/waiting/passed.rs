//! `loop wait --passed`.

use std::process::ExitCode;
use std::time::Duration;

use loop_core::decide::{Decision, Hold};
use loop_core::plain::plain;
use loop_core::report::Report;
use loop_router::reading::Reading;
use loop_router::relay::headline;

use crate::failure::{DONE, Done, LIMIT, NOTHING, USERS};
use crate::here::Here;
use crate::output;
use crate::waiting::Patience;
use crate::world::World;

/// How often the loop is read.
const LOOK: Duration = Duration::from_millis(500);

/// 0 passed, 1 held or blocked, 3 there is no loop (any more), 4 timed out.
pub(crate) async fn wait(world: &World, patience: Patience) -> Done {
    let (client, mut here) = Here::with_client(world).await?;
    loop {
        let ended = match here.read(world)? {
            Reading::Loop(observed) => {
                let code = match &observed.decided.decision {
                    Decision::Held { why: Hold::Verifying, .. } | Decision::Wake { .. } => None,
                    Decision::Passed { .. } => Some(DONE),
                    Decision::Held { .. } => Some(USERS),
                };
                code.map(|code| (code, observed.report(), headline(&observed.decided.decision).0))
            }
            Reading::Idle { .. } => Some((NOTHING, Report::idle(), "there is no loop here".to_owned())),
            Reading::Unreadable { why, .. } => Some((USERS, Report { state: "held", ..Report::idle() }, why)),
            Reading::Underway(_) => None,
        };
        if let Some((code, report, text)) = ended {
            if patience.json {
                output::json(&report);
            } else {
                output::line(plain(&text));
            }
            return Ok(ExitCode::from(code));
        }
        if patience.is_over() {
            output::note("timed out: the loop is still running.");
            return Ok(ExitCode::from(LIMIT));
        }
        tokio::time::sleep(patience.pause(LOOK)).await;
        here = Here::open(world, Some(&client.store)).await?;
    }
}
