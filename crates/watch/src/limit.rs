//! Whether an error of the model's provider is a usage limit.

/// Phrases of providers and CLIs for a limit that ends by itself, in lower case. Looked for in error messages only,
/// never in what an agent writes.
const PHRASES: &[&str] = &[
    "usage limit",
    "rate limit",
    "rate_limit",
    "limit reached",
    "hit your limit",
    "reached your limit",
    "quota exceeded",
    "exceeded your current quota",
    "resource_exhausted",
    "resource has been exhausted",
    "insufficient_quota",
    "too many requests",
    "status 429",
    "error: 429",
    "(429)",
];

/// Whether the error `message` tells of a usage limit.
pub(crate) fn is_limit(message: &str) -> bool {
    let end = message.char_indices().nth(4000).map_or(message.len(), |(end, _)| end);
    let message = message[..end].to_lowercase();
    // `You've hit your session limit`, `5-hour limit reached`.
    let hit = message.contains("hit your") && message.contains("limit");
    hit || PHRASES.iter().any(|phrase| message.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_told_from_other_errors() {
        for limit in [
            "You've hit your session limit · resets 3pm (UTC)",
            "Claude AI usage limit reached|1749924000",
            "5-hour limit reached ∙ resets 3pm",
            "You've hit your usage limit. Upgrade to Pro or try again at 8:15 PM.",
            "API Error: Request rejected (429) · rate limited",
            "[API Error: You exceeded your current quota, please check your plan]",
            "{\"error\":{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\"}}",
        ] {
            assert!(is_limit(limit), "{limit}");
        }
        for other in [
            "API Error: 500 internal server error",
            "prompt is too long: limit is 200000 tokens",
            "",
            "overloaded",
        ] {
            assert!(!is_limit(other), "{other}");
        }
    }
}
