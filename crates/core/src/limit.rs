//! Until when a usage limit lasts, read out of the words with which a CLI tells of it.
//!
//! The words come from a screen or a record and are written for people: `resets 3pm (Europe/Berlin)`, `try again in 2
//! hours 5 minutes`, `…|1764500000`. What is not understood, or would mean a wait of more than eight days, is `None`:
//! then nobody pretends to know, and the agent is looked at from time to time.

use std::sync::LazyLock;

use jiff::civil::{Date, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan, ZonedDateTime};
use regex::{Captures, Match, Regex};

/// The longest limit that a CLI has is a week.
const FARTHEST: SignedDuration = SignedDuration::from_hours(8 * 24);

/// Only so much of the words is read: a limit is told in a line or two.
const READ: usize = 2000;

/// Returns when the limit that `words` tell of is over; never a moment that is not after `now`.
///
/// A time without a zone in brackets is meant in the zone of `now`, and one without a date is the next such time.
pub fn until(words: &str, now: &ZonedDateTime) -> Option<Timestamp> {
    let words: String = words.chars().take(READ).collect();
    let found = seconds_of_unix(&words)
        .or_else(|| iso(&words, now))
        .or_else(|| a_while(&words, now))
        .or_else(|| a_time(&words, now))?;
    let wait = found.duration_since(now.timestamp());
    (wait.is_positive() && wait <= FARTHEST).then_some(found)
}

/// Compiles one of the expressions below; a test uses each of them.
fn regex(pattern: &str) -> Option<Regex> {
    Regex::new(pattern).ok()
}

/// `Claude AI usage limit reached|1764500000`.
fn seconds_of_unix(words: &str) -> Option<Timestamp> {
    static UNIX: LazyLock<Option<Regex>> = LazyLock::new(|| regex(r"\|\s*(\d{10})\b"));
    let found = UNIX.as_ref()?.captures(words)?;
    Timestamp::from_second(number(found.get(1))?).ok()
}

/// `2026-12-01T15:04:05Z`, with or without seconds and offset.
fn iso(words: &str, now: &ZonedDateTime) -> Option<Timestamp> {
    static ISO: LazyLock<Option<Regex>> = LazyLock::new(|| {
        regex(
            r"\b(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?) ?(Z\b|UTC\b|[+-]\d{2}:?\d{2}\b)?",
        )
    });
    let found = ISO.as_ref()?.captures(words)?;
    let date: Date = found[1].parse().ok()?;
    let time: Time = found[2].parse().ok()?;
    let zone = match found.get(3).map(|offset| offset.as_str()) {
        None => now.time_zone().clone(),
        Some("Z" | "UTC") => TimeZone::UTC,
        Some(offset) => {
            let digits: String = offset.chars().filter(char::is_ascii_digit).collect();
            let (hours, minutes) = digits.split_at_checked(2)?;
            let seconds = hours.parse::<i32>().ok()? * 3600 + minutes.parse::<i32>().ok()? * 60;
            let sign = if offset.starts_with('-') { -1 } else { 1 };
            TimeZone::fixed(jiff::tz::Offset::from_seconds(sign * seconds).ok()?)
        }
    };
    Some(date.to_datetime(time).to_zoned_datetime(zone).ok()?.timestamp())
}

/// `in 3 days 2 hours`, `after 90 s`, `retry-after: 120`.
fn a_while(words: &str, now: &ZonedDateTime) -> Option<Timestamp> {
    static HEADER: LazyLock<Option<Regex>> =
        LazyLock::new(|| regex(r"(?i)\bretry[-_ ]after(?:[-_](ms))?\W{1,4}(\d{1,9}) ?(ms|milliseconds)?"));
    static WHILE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        regex(
            r"(?ix)\b (?: in | after | for ) \s+ (?: about \s+ )?
              ( (?: (?: \d{1,6} (?: \.\d+ )? | an? | one ) \s* (?: days? | d | hours? | hrs? | h | minutes? | mins? | m
                  | seconds? | secs? | s ) \b (?: \s* (?: , | and )? \s* )? )+ )",
        )
    });
    static PART: LazyLock<Option<Regex>> =
        LazyLock::new(|| regex(r"(?i)\b(?:(\d{1,6}(?:\.\d+)?)\s*|(?:an?|one)\s+)([dhms])[a-z]*"));
    let seconds = if let Some(found) = WHILE.as_ref()?.captures(words) {
        let part = |part: Captures<'_>| {
            let count: f64 = number(part.get(1)).unwrap_or(1.0);
            let unit = match part[2].to_ascii_lowercase().as_str() {
                "d" => 86_400.0,
                "h" => 3600.0,
                "m" => 60.0,
                _ => 1.0,
            };
            count * unit
        };
        PART.as_ref()?.captures_iter(&found[1]).map(part).sum()
    } else {
        let found = HEADER.as_ref()?.captures(words)?;
        let count: f64 = found[2].parse().ok()?;
        if found.get(1).or(found.get(3)).is_some() { count / 1000.0 } else { count }
    };
    let wait = SignedDuration::try_from_secs_f64(seconds).ok()?;
    now.timestamp().checked_add(wait).ok()
}

/// `resets 3pm`, `resets Oct 5 at 9am (UTC)`, `at Nov 30th, 2026 3:05 PM`, `at 15:05`, `resets Mon 9:00 AM`.
fn a_time(words: &str, now: &ZonedDateTime) -> Option<Timestamp> {
    static TIME: LazyLock<Option<Regex>> = LazyLock::new(|| {
        regex(
            r"(?ix)\b (?: resets? | at | until | after | on | available ) \b
              (?: \s+ (?: resets? | at | until | on | again ) \b )* [\s:]*
              (?: (?: (?P<month> jan | feb | mar | apr | may | jun | jul | aug | sep | oct | nov | dec ) [a-z]* \.? \s+
                      (?P<day> \d{1,2} ) (?: st | nd | rd | th )? (?: ,? \s+ (?P<year> \d{4} ) \b )?
                    | (?P<weekday> mon | tue | wed | thu | fri | sat | sun ) [a-z]* \.? )
                  ,? \s+ (?: at \s+ )? )?
              (?P<hour> \d{1,2} ) (?: : (?P<minute> \d{2} ) (?: : \d{2} )? )? (?: \s* (?P<half> [ap] ) \.? m\b \.? )?
              (?: \s* \( (?P<zone> [a-z0-9_+/-]{1,40} ) \) | \s+ (?P<utc> utc | gmt ) \b )?",
        )
    });
    let found = TIME.as_ref()?.captures_iter(words).find(|found| {
        // A bare number may be anything.
        found.name("minute").is_some() || found.name("half").is_some()
    })?;
    let time = time_of_day(&found)?;
    let zone = match (found.name("zone"), found.name("utc")) {
        (Some(zone), _) => TimeZone::get(zone.as_str()).ok()?,
        (None, Some(_)) => TimeZone::UTC,
        (None, None) => now.time_zone().clone(),
    };
    let today = now.with_time_zone(zone.clone()).date();
    if let Some(month) = found.name("month") {
        let month = month_number(month.as_str())?;
        let day = number(found.name("day"))?;
        let years = match found.name("year") {
            Some(year) => vec![year.as_str().parse().ok()?],
            None => vec![today.year(), today.year().checked_add(1)?],
        };
        let dates = years.into_iter().filter_map(|year| Date::new(year, month, day).ok());
        return first_after(now, &zone, time, dates);
    }
    let days = (0..=7).filter_map(|days| today.checked_add(days.days()).ok());
    match found.name("weekday").and_then(|weekday| weekday_of(weekday.as_str())) {
        Some(weekday) => first_after(now, &zone, time, days.filter(|day| day.weekday() == weekday)),
        None => first_after(now, &zone, time, days),
    }
}

/// The first moment after `now` at which it is `time` on one of these days. Where clocks are put forward over that time,
/// it is as much later; where they are put back, it may come twice.
fn first_after(
    now: &ZonedDateTime,
    zone: &TimeZone,
    time: Time,
    days: impl Iterator<Item = Date>,
) -> Option<Timestamp> {
    let moments = days.flat_map(|day| {
        let moment = zone.to_ambiguous_timestamp(day.to_datetime(time));
        [moment.compatible().ok(), moment.later().ok()]
    });
    moments.flatten().find(|moment| *moment > now.timestamp())
}

fn time_of_day(found: &Captures<'_>) -> Option<Time> {
    let hour: i8 = number(found.name("hour"))?;
    let minute = if found.name("minute").is_some() { number(found.name("minute"))? } else { 0 };
    let hour = match found.name("half").map(|half| half.as_str()) {
        None => hour,
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some("a" | "A") => hour % 12,
        Some(_) => hour % 12 + 12,
    };
    Time::new(hour, minute, 0, 0).ok()
}

fn month_number(word: &str) -> Option<i8> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let place = MONTHS.iter().position(|month| word.eq_ignore_ascii_case(month))?;
    i8::try_from(place + 1).ok()
}

fn weekday_of(word: &str) -> Option<Weekday> {
    const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    let place = DAYS.iter().position(|day| word.eq_ignore_ascii_case(day))?;
    Weekday::from_monday_zero_offset(i8::try_from(place).ok()?).ok()
}

/// What a group found, as a number.
fn number<T: std::str::FromStr>(group: Option<Match<'_>>) -> Option<T> {
    group?.as_str().parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn check(now: &str, words: &str, expected: Option<&str>) {
        let now: ZonedDateTime = now.parse().unwrap();
        let expected = expected.map(|expected| expected.parse::<Timestamp>().unwrap());
        assert_eq!(until(words, &now), expected, "{words} at {now}");
    }

    #[test]
    fn words_of_the_clis_are_read() {
        // A Tuesday, 13:00 in Berlin.
        let now = "2026-12-01T13:00:00+01:00[Europe/Berlin]";
        for (words, expected) in [
            ("5-hour limit reached ∙ resets 3pm", Some("2026-12-01T14:00:00Z")),
            ("5-hour limit reached ∙ resets 11am", Some("2026-12-02T10:00:00Z")),
            ("You've hit your session limit · resets 3:31am (Europe/Berlin)", Some("2026-12-02T02:31:00Z")),
            ("resets at 3:15 PM (Europe/Berlin)", Some("2026-12-01T14:15:00Z")),
            ("resets at 3:15 p.m. (America/New_York)", Some("2026-12-01T20:15:00Z")),
            ("You've hit your weekly limit · resets Dec 5 at 9am (UTC)", Some("2026-12-05T09:00:00Z")),
            ("weekly limit reached · resets Dec 5, 9am", Some("2026-12-05T08:00:00Z")),
            ("resets Thu 9:00 AM", Some("2026-12-03T08:00:00Z")),
            ("resets Tuesday at 9:00 AM", Some("2026-12-08T08:00:00Z")),
            ("resets 12am", Some("2026-12-01T23:00:00Z")),
            ("resets 12pm", Some("2026-12-02T11:00:00Z")),
            (
                "API Error: Request rejected (429) · You have hit your limit · resets 3pm",
                Some("2026-12-01T14:00:00Z"),
            ),
            ("or try again at 2:11 AM.", Some("2026-12-02T01:11:00Z")),
            ("purchase more credits or try again at Dec 1st, 2026 11:58 PM.", Some("2026-12-01T22:58:00Z")),
            ("try again at 15:05", Some("2026-12-01T14:05:00Z")),
            ("try again at 15:05 UTC", Some("2026-12-01T15:05:00Z")),
            ("try again in 2 hours 5 minutes", Some("2026-12-01T14:05:00Z")),
            ("Try again in 3 days 2 hours 1 minute.", Some("2026-12-04T14:01:00Z")),
            ("try again in 3 days, 2 hours and 5 minutes", Some("2026-12-04T14:05:00Z")),
            ("You've hit your fast limit · resets in 1h 5m", Some("2026-12-01T13:05:00Z")),
            ("try again in an hour", Some("2026-12-01T13:00:00Z")),
            ("Please retry in 12.5s.", Some("2026-12-01T12:00:12.5Z")),
            ("retry-after 120s", Some("2026-12-01T12:02:00Z")),
            ("Retry-After: 120", Some("2026-12-01T12:02:00Z")),
            ("retry-after-ms: 1500", Some("2026-12-01T12:00:01.5Z")),
            ("Claude AI usage limit reached|1796140800", Some("2026-12-01T16:00:00Z")),
            ("quota resets 2026-12-01T15:04:05Z", Some("2026-12-01T15:04:05Z")),
            ("quota resets 2026-12-01 15:04", Some("2026-12-01T14:04:00Z")),
            ("quota resets 2026-12-01T15:04:05+05:30", None),
            ("quota resets 2026-12-01T18:04:05.25+05:30", Some("2026-12-01T12:34:05.25Z")),
            // Not understood, or not to be believed.
            ("5-hour limit reached", None),
            ("", None),
            ("resets soon", None),
            ("resets 15", None),
            ("resets 25:00", None),
            ("resets 13pm", None),
            ("resets 3pm (Mars/Olympus)", None),
            ("resets Dec 24 at 9am", None),
            ("resets Nov 30 at 9am", None),
            ("try again at Nov 30th, 2026 3:05 PM", None),
            ("try again in 9 days", None),
            ("try again in 0 seconds", None),
            ("limit reached|1764500000", None),
            ("已达到使用上限,下午三点重置", None),
        ] {
            check(now, words, expected);
        }
    }

    #[test]
    fn clocks_that_are_changed() {
        for (now, words, expected) in [
            // Forward over the time: it is as much later.
            ("2026-03-28T22:00:00+01:00[Europe/Berlin]", "resets 2:30am", "2026-03-29T01:30:00Z"),
            // Put back: the second one, where the first has passed.
            ("2026-10-25T02:15:00+02:00[Europe/Berlin]", "resets 2:30am", "2026-10-25T00:30:00Z"),
            ("2026-10-25T02:45:00+02:00[Europe/Berlin]", "resets 2:30am", "2026-10-25T01:30:00Z"),
            // Another day there than here.
            ("2026-12-01T23:30:00+00:00[UTC]", "resets 9am (Asia/Tokyo)", "2026-12-02T00:00:00Z"),
            ("2026-12-30T12:00:00+00:00[UTC]", "resets Jan 2 at 9am", "2027-01-02T09:00:00Z"),
        ] {
            check(now, words, Some(expected));
        }
    }

    #[test]
    fn a_limit_always_ends_later_and_within_eight_days() {
        use proptest::prelude::*;
        let piece = prop_oneof![
            Just("resets ".to_owned()),
            Just("try again in ".to_owned()),
            Just(" at ".to_owned()),
            Just("Dec ".to_owned()),
            Just("Mon ".to_owned()),
            Just(" (Europe/Berlin)".to_owned()),
            Just("retry-after ".to_owned()),
            Just("|".to_owned()),
            Just("hours ".to_owned()),
            Just("pm".to_owned()),
            Just(":".to_owned()),
            "[0-9]{1,12}",
            "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}",
            ".{0,6}",
        ];
        let words = proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat());
        let zones =
            prop_oneof![Just("UTC"), Just("Europe/Berlin"), Just("America/St_Johns"), Just("Asia/Tokyo")];
        proptest!(ProptestConfig::with_cases(512), |(words in words, second in 0_i64..4_000_000_000, zone in zones)| {
            let now = Timestamp::from_second(second).unwrap().in_tz(zone).unwrap();
            if let Some(until) = until(&words, &now) {
                prop_assert!(until > now.timestamp());
                prop_assert!(until.duration_since(now.timestamp()) <= FARTHEST);
            }
        });
    }
}
