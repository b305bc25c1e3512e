//! Times as they are written on the command line.

use std::time::Duration;

use jiff::Timestamp;

use crate::failure::{COMMAND_LINE, Failure};

/// Reads `90`, `30s`, `30m`, `2h`.
pub(crate) fn duration(text: &str) -> Result<Duration, Failure> {
    seconds(text).ok_or_else(|| {
        Failure::say(format!("`{text}` is no time")).code(COMMAND_LINE).next("write 30s, 30m or 2h")
    })
}

/// Reads a moment: `2026-11-30T10:00:00Z`, `10m` (so long ago), `now`.
pub(crate) fn moment(text: &str, now: Timestamp) -> Result<Timestamp, Failure> {
    let text = text.trim();
    let read = match seconds(text) {
        _ if text == "now" => Some(now),
        Some(span) => now.checked_sub(span).ok(),
        None => text.parse::<Timestamp>().ok(),
    };
    read.ok_or_else(|| {
        Failure::say(format!("`{text}` is no moment"))
            .code(COMMAND_LINE)
            .next("write 2026-11-30T10:00:00Z, 10m (ten minutes ago) or now")
    })
}

fn seconds(text: &str) -> Option<Duration> {
    let (figure, factor) = match text.trim().strip_suffix(['s', 'm', 'h']) {
        Some(figure) if text.trim().ends_with('m') => (figure, 60.0),
        Some(figure) if text.trim().ends_with('h') => (figure, 3600.0),
        Some(figure) => (figure, 1.0),
        None => (text.trim(), 1.0),
    };
    let seconds = figure.parse::<f64>().ok().map(|figure| figure * factor);
    seconds
        .filter(|seconds| seconds.is_finite() && *seconds >= 0.0 && *seconds < 1e9)
        .map(Duration::from_secs_f64)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn times_are_read() {
        for (text, seconds) in [("90", 90.0), ("30s", 30.0), ("1.5m", 90.0), ("2h", 7200.0)] {
            assert_eq!(duration(text).unwrap(), Duration::from_secs_f64(seconds), "{text}");
        }
        for bad in ["", "m", "-1s", "1e99h", "soon"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn moments_are_read() {
        let now: Timestamp = "2026-11-30T10:00:00.5Z".parse().unwrap();
        for (text, moment_of) in [
            ("now", "2026-11-30T10:00:00.5Z"),
            ("10m", "2026-11-30T09:50:00.5Z"),
            (" 90 ", "2026-11-30T09:58:30.5Z"),
            ("2026-11-30T10:00:00Z", "2026-11-30T10:00:00Z"),
            ("2026-11-30T11:00:00+01:00", "2026-11-30T10:00:00Z"),
        ] {
            assert_eq!(moment(text, now).unwrap(), moment_of.parse().unwrap(), "{text}");
        }
        for bad in ["", "yesterday", "2026-11-30", "-5m", "10d"] {
            assert!(moment(bad, now).is_err(), "{bad}");
        }
    }
}
