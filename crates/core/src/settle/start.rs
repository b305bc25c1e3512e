//! Whether a turn began, and with our text.

use jiff::Timestamp;

use super::{Event, Sights};

/// Whether the agent's own side says that a turn began at `prompted_after` or later with the wake `text`: its hook, or
/// its records. A CLI may hand on the text as typed, only its arguments, or the skill that it stands for.
pub fn started(prompted_after: Timestamp, text: &str, sights: &Sights<'_>) -> bool {
    // Records hold whole milliseconds.
    let since = prompted_after.as_millisecond();
    let by_hook = sights.signal.is_some_and(|signal| {
        let says = match &signal.prompt {
            Some(prompt) => is_wake(prompt, text),
            None => signal.event == Event::Started,
        };
        says && signal.at.as_millisecond() >= since
    });
    let prompt = sights.records.and_then(|records| records.prompt.as_ref());
    by_hook || prompt.is_some_and(|prompt| prompt.at.as_millisecond() >= since && is_wake(&prompt.text, text))
}

/// Whether `prompt` is what became of the wake `text`: as typed, only its arguments, or the skill that it stands for.
pub fn is_wake(prompt: &str, text: &str) -> bool {
    let prompt: Vec<&str> = prompt.split_whitespace().collect();
    let text: Vec<&str> = text.split_whitespace().collect();
    if text.is_empty() || prompt.is_empty() {
        return false;
    }
    if prompt.windows(text.len()).any(|words| words == text) {
        return true;
    }
    // `/agent-loop CC` and `$agent-loop CC` are calls of a skill: the arguments alone, or its body, take their place.
    let Some(skill) = text[0].strip_prefix(['/', '$']) else { return false };
    let arguments = &text[1..];
    let is_other = |c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '.');
    let named = prompt.iter().any(|word| word.split(is_other).any(|part| part == skill));
    prompt == arguments || (named && prompt.ends_with(arguments))
}
