//! Why a wake waits, in words, and which of the reasons are a person's to end.

use loop_core::{DeliveryState, Name};
use loop_store::Delivery;
use loop_transport::Presence;

/// What a wake waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum For {
    /// A person's answer to what the agent asks.
    Answer,
    /// The end of a usage limit, of which a person was told.
    Limit,
    /// Anything else.
    Else,
}

/// What an agent that may not be spoken to now is doing, in words.
pub(crate) fn describe(agent: &Name, presence: &Presence) -> String {
    match presence {
        Presence::Gone(why) => format!("{agent} has no window ({why}); `loop up` opens it"),
        Presence::Shell(what) => {
            format!("{agent}'s window shows a shell ({what}); `loop up` starts the agent again")
        }
        Presence::Starting => format!("{agent} is starting"),
        Presence::Idle => format!("{agent} is idle"),
        Presence::Busy => format!("{agent} is busy"),
        Presence::Asks { says, press } => {
            // Profiles say it as the rest of a sentence (`asks for a permission`).
            let colon = if says.starts_with("asks ") { "" } else { "asks: " };
            let how =
                if press.is_empty() { String::new() } else { format!(" (press {press} in its window)") };
            format!("{agent} {colon}{says}{how}")
        }
        Presence::Draft(_) => format!("somebody's draft stands in {agent}'s window; submit or clear it"),
        Presence::Limited(until) => format!("{agent} has met a usage limit: {until}"),
        Presence::Unknown(what) => format!("nobody can tell what {agent} does: {what}"),
        Presence::Waiting | Presence::WaitingBehind => format!("{agent} waits for its turn"),
        Presence::Unreachable(why) => why.clone(),
    }
}

/// Whether a reason to wait is one that only a person can end.
pub fn needs_a_person(reason: &str) -> bool {
    [
        "`loop ",
        " asks: ",
        " asks whether ",
        " asks for ",
        " asks to ",
        "somebody's draft",
        "not approved",
        "nobody can tell",
        "cannot run `",
        "cannot start `",
    ]
    .iter()
    .any(|sign| reason.contains(sign))
}

/// What a person must do for one of these deliveries, newest last, to come to its end; `None`: nothing.
pub fn for_a_person(deliveries: &[Delivery]) -> Option<String> {
    let open = deliveries.iter().rfind(|delivery| {
        delivery.state == DeliveryState::Waiting
            || delivery.state.is_out() && delivery.state != DeliveryState::Unknown
    })?;
    open.reason.clone().filter(|reason| needs_a_person(reason))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use loop_transport::TransportError;

    use super::*;

    #[test]
    fn what_only_a_person_can_end_is_told_from_what_ends_by_itself() {
        let agent = Name::new("CC").unwrap();
        let text = String::from("x");
        let asks = Presence::Asks { says: text.clone(), press: String::new() };
        let person = [
            Presence::Gone(text.clone()),
            Presence::Shell(text.clone()),
            asks,
            Presence::Draft(text.clone()),
            Presence::Unknown(text.clone()),
        ];
        let missing = TransportError::ToolMissing {
            tool: "nosuchprogram".into(),
            why: "it was not found".into(),
            hint: "install it".into(),
        };
        assert!(needs_a_person(&missing.to_string()), "{missing}");
        assert!(person.iter().all(|presence| needs_a_person(&describe(&agent, presence))));
        // One that cannot be waited out holds the loop, which says so by itself.
        let limited = Presence::Limited(text);
        let itself = [Presence::Starting, Presence::Idle, Presence::Busy, Presence::Waiting, limited];
        assert!(!itself.iter().any(|presence| needs_a_person(&describe(&agent, presence))));
    }
}
