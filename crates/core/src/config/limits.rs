//! `limits:` and times: numbers that must make sense, or `off`.

use super::Limits;
use super::error::ConfigError;
use super::tree::{Node, Source, Value};

const KEYS: [&str; 5] = ["rounds", "hours", "turn_minutes", "tokens", "no_progress"];

/// Reads the limits; what is not named keeps its default, and `off` for all of them switches them all off.
pub(super) fn read(source: &Source<'_>, node: &Node) -> Result<Limits, ConfigError> {
    let mut limits = Limits::default();
    if node.is_null() {
        return Ok(limits);
    }
    if node.is_off() {
        return Ok(Limits { rounds: None, hours: None, turn_minutes: None, tokens: None, no_progress: None });
    }
    let entries = source.map(node, "limits")?;
    source.only(entries, &KEYS, "limits")?;
    for (key, node) in entries {
        let what = key.text.as_str();
        match what {
            "rounds" => limits.rounds = count(source, node, what, u64::from(u32::MAX))?.map(|n| n as u32),
            "hours" => limits.hours = amount(source, node, what)?,
            "turn_minutes" => limits.turn_minutes = amount(source, node, what)?,
            "tokens" => limits.tokens = count(source, node, what, 1 << 53)?,
            _ => limits.no_progress = count(source, node, what, u64::from(u32::MAX))?.map(|n| n as u32),
        }
    }
    Ok(limits)
}

/// A whole number from 1 to `most`, or off.
fn count(source: &Source<'_>, node: &Node, what: &str, most: u64) -> Result<Option<u64>, ConfigError> {
    let Some(value) = amount(source, node, what)? else { return Ok(None) };
    if value.fract() != 0.0 || value > most as f64 {
        return Err(source.error(node.place, format!("`{what}` must be a whole number, at most {most}")));
    }
    Ok(Some(value as u64))
}

/// A number above 0, or off.
fn amount(source: &Source<'_>, node: &Node, what: &str) -> Result<Option<f64>, ConfigError> {
    if node.is_off() {
        return Ok(None);
    }
    let refuse = |message: String| {
        Err(source.error(node.place, message).hint(format!("give a number above 0, or `off`: `{what}: 8`")))
    };
    match &node.value {
        Value::Number { value, .. } if value.is_finite() && *value > 0.0 => Ok(Some(*value)),
        Value::Number { written, .. } => refuse(format!("`{what}` cannot be {written}")),
        Value::Text(text) => refuse(format!("`{what}` must be a number, not `{text}`")),
        other => refuse(format!("`{what}` must be a number, not {}", other.name())),
    }
}

/// The longest time that `handover_grace` may be: a day.
const MAX_SECONDS: f64 = 86_400.0;

/// A time in seconds: a number, or a text like `30s` or `2m`.
pub(super) fn seconds(source: &Source<'_>, node: &Node, what: &str) -> Result<u64, ConfigError> {
    let found = match &node.value {
        Value::Number { value, .. } => Some(*value),
        Value::Text(text) => {
            let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
            let (number, unit) = text.split_at(unit_at);
            let factor = match unit.trim() {
                "" | "s" | "sec" | "seconds" => Some(1.0),
                "m" | "min" | "minutes" => Some(60.0),
                "h" | "hours" => Some(3600.0),
                "ms" => Some(0.001),
                _ => None,
            };
            factor.and_then(|factor| Some(number.parse::<f64>().ok()? * factor))
        }
        _ => None,
    };
    match found {
        Some(value) if (0.0..=MAX_SECONDS).contains(&value) => Ok(value.ceil() as u64),
        _ => Err(source
            .error(node.place, format!("`{what}` must be a time of at most a day"))
            .hint(format!("give seconds, or a text like `30s` or `2m`: `{what}: 30s`"))),
    }
}
