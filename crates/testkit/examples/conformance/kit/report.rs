//! The table.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::judge::{Broken, Verdict};

/// How many broken promises are told in full.
const TOLD: usize = 12;

/// Everything that was counted.
pub(crate) struct Report {
    rows: Vec<(String, Row)>,
    violations: Vec<String>,
    /// The claim that is told in full, and the cases.
    tell: Option<String>,
    told: Vec<String>,
    took: Duration,
    /// What this program with its tmux clients, and the tmux server, took of the processor.
    processor: [Duration; 2],
}

#[derive(Default)]
struct Row {
    claims: BTreeMap<String, usize>,
    broken: BTreeMap<Broken, usize>,
    crossed: Vec<u64>,
    arrived: Vec<Duration>,
}

impl Report {
    pub(crate) fn new(personas: &[String], tell: Option<String>) -> Self {
        Self {
            rows: personas.iter().map(|persona| (persona.clone(), Row::default())).collect(),
            violations: Vec::new(),
            tell,
            told: Vec::new(),
            took: Duration::ZERO,
            processor: [Duration::ZERO; 2],
        }
    }

    pub(crate) fn add(&mut self, persona: &str, verdict: Verdict) {
        let Some((_, row)) = self.rows.iter_mut().find(|(name, _)| name == persona) else { return };
        if self.tell.as_ref() == Some(&verdict.claim) {
            self.told.push(verdict.story.clone());
        }
        if verdict.claim == "arrived" {
            row.arrived.push(verdict.took);
        }
        *row.claims.entry(verdict.claim).or_default() += 1;
        for broken in &verdict.broken {
            *row.broken.entry(*broken).or_default() += 1;
        }
        row.crossed.extend(verdict.crossed);
        if !verdict.broken.is_empty() {
            self.violations.push(verdict.story);
        }
    }

    /// A window was lost, and with it the case that was played there.
    pub(crate) fn lost(&mut self, persona: &str, why: &str) {
        self.violations.push(format!("a window of {persona} was lost: {why}"));
    }

    pub(crate) fn took(&mut self, took: Duration, server: &str) {
        self.took = took;
        self.processor = [processor("self", true), processor(server, false)];
    }

    /// What was promised and not kept, each as its whole story.
    pub(crate) fn violations(&self) -> &[String] {
        &self.violations
    }

    /// How many wakes arrived, of how many.
    pub(crate) fn arrived(&self) -> (usize, usize) {
        let arrived = self.rows.iter().map(|(_, row)| row.arrived.len()).sum();
        (arrived, self.rows.iter().map(|(_, row)| row.wakes()).sum())
    }
}

impl Row {
    fn wakes(&self) -> usize {
        self.claims.values().sum()
    }

    fn claimed(&self, claim: &str) -> usize {
        self.claims.get(claim).copied().unwrap_or(0)
    }

    fn refused(&self) -> String {
        let reasons = self
            .claims
            .iter()
            .filter_map(|(claim, count)| Some(format!("{} {count}", claim.strip_prefix("refused: ")?)));
        reasons.collect::<Vec<_>>().join(", ")
    }

    /// The time below which this share of the arrived wakes took.
    fn time(&self, share: f64) -> String {
        let mut times: Vec<f64> = self.arrived.iter().map(Duration::as_secs_f64).collect();
        times.sort_by(f64::total_cmp);
        let last = times.len().saturating_sub(1);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in a list")]
        let at = (last as f64 * share).round() as usize;
        times.get(at).map_or_else(|| "-".to_owned(), |time| format!("{time:.2} s"))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for story in self.told.iter().chain(self.violations.iter().take(TOLD)) {
            writeln!(formatter, "\n{story}")?;
        }
        let heads =
            ["persona", "wakes", "arrived", "failed", "unknown", "false", "double", "dialog", "foreign"];
        write!(formatter, "\n{:<12}", heads[0])?;
        heads[1..].iter().try_for_each(|head| write!(formatter, "{head:>8}"))?;
        for head in ["denied", "unsolved", "held", "crossed", "longest", "median", "p95"] {
            write!(formatter, "{head:>9}")?;
        }
        writeln!(formatter, "  refused")?;
        for (persona, row) in &self.rows {
            let broken = |kind| row.broken.get(&kind).copied().unwrap_or(0);
            write!(formatter, "{persona:<12}")?;
            for count in [
                row.wakes(),
                row.claimed("arrived"),
                row.claimed("failed"),
                row.claimed("unknown"),
                broken(Broken::FalseSubmitted),
                broken(Broken::Double),
                broken(Broken::Dialog),
                broken(Broken::Foreign),
            ] {
                write!(formatter, "{count:>8}")?;
            }
            let kept = [Broken::Denied, Broken::Unresolved, Broken::Held].map(broken);
            for count in kept.into_iter().chain([row.crossed.len()]) {
                write!(formatter, "{count:>9}")?;
            }
            let longest = row.crossed.iter().max();
            let longest = longest.map_or_else(|| "-".to_owned(), |micros| format!("{} ms", micros / 1000));
            writeln!(formatter, "{longest:>9}{:>9}{:>9}  {}", row.time(0.5), row.time(0.95), row.refused())?;
        }
        let (arrived, wakes) = self.arrived();
        let each = |time: Duration| time.as_secs_f64() * 1000.0 / wakes.max(1) as f64;
        writeln!(
            formatter,
            "{arrived} of {wakes} arrived in {:.0} s; processor for each: {:.0} ms here and in tmux clients, {:.0} ms \
             in the tmux server; promises broken: {}",
            self.took.as_secs_f64(),
            each(self.processor[0]),
            each(self.processor[1]),
            self.violations.len()
        )
    }
}

/// What a process has taken of the processor, with its ended children or without; nothing where nobody can tell.
fn processor(process: &str, children: bool) -> Duration {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", process.trim())).unwrap_or_default();
    // The name in brackets may hold blanks.
    let fields = text.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().collect::<Vec<_>>());
    let ticks = |from: usize, to: usize| {
        let fields = fields.iter().flatten().skip(from).take(to - from);
        fields.filter_map(|field| field.parse::<u64>().ok()).sum::<u64>()
    };
    // User and system time of its own, then of its children, in hundredths of a second.
    Duration::from_millis(10 * ticks(11, if children { 15 } else { 13 }))
}
