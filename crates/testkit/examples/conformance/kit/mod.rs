//! Many windows, one sender, and the truth.
//!
//! Each lane is a window with a fake agent and gets one case after another ([`case`]): a script for the fake, and
//! what a person does to the window meanwhile. The real transport wakes the agent ([`lane`]); what it claims is
//! compared with the fake's log ([`judge`]) and counted ([`report`]).

mod case;
mod judge;
pub(crate) mod lane;
mod report;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use loop_testkit::Sandbox;
use loop_testkit::tui::Chance;
use loop_transport::tmux::Server;

use lane::Lane;
pub(crate) use report::Report;

/// The fakes, as `loop-fake-tui --list` shows them.
pub(crate) const PERSONAS: [&str; 7] =
    ["claude-code", "codex", "opencode", "gemini", "qwen", "hermes", "generic"];

/// What is to be run.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// The program `loop-fake-tui`.
    pub(crate) fake: PathBuf,
    pub(crate) personas: Vec<String>,
    /// Wakes for each persona.
    pub(crate) wakes: usize,
    /// Windows for each persona.
    pub(crate) lanes: usize,
    pub(crate) seed: u64,
    /// No case begins after so long; the table tells how many were played.
    pub(crate) minutes: Option<u64>,
    /// One case alone, by its own seed.
    pub(crate) case: Option<u64>,
    /// Tell every case of this claim in full (`unknown`, `refused: draft`).
    pub(crate) tell: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Self {
            fake: PathBuf::new(),
            personas: PERSONAS.map(str::to_owned).into(),
            wakes: 1000,
            lanes: 4,
            seed: clock.as_secs(),
            minutes: None,
            case: None,
            tell: None,
        }
    }
}

/// Runs it all on a tmux server of its own.
pub(crate) async fn run(options: &Options) -> Report {
    let sandbox = Sandbox::new();
    let server = Server {
        env: Some(sandbox.env_text()),
        config: Some("/dev/null".into()),
        ..Server::at(sandbox.tmux_socket())
    };
    let began = Instant::now();
    let until = options.minutes.map(|minutes| began + Duration::from_secs(minutes * 60));
    let mut tasks = Vec::new();
    for persona in &options.personas {
        let seeds = Arc::new(seeds(options, persona));
        let next = Arc::new(AtomicUsize::new(0));
        for number in 0..options.lanes.min(seeds.len()) {
            let lane = Lane::open(&sandbox, &server, &options.fake, persona, number).await;
            let (seeds, next) = (Arc::clone(&seeds), Arc::clone(&next));
            let verdicts = Arc::new(Mutex::new(Vec::new()));
            let task = tokio::spawn(play(lane, seeds, next, until, Arc::clone(&verdicts)));
            tasks.push((persona.clone(), verdicts, task));
        }
    }
    let mut report = Report::new(&options.personas, options.tell.clone());
    for (persona, verdicts, task) in tasks {
        // A lane that panics has lost its window: that is a failure of the kit, and said as such.
        if let Err(error) = task.await {
            report.lost(&persona, &error.to_string());
        }
        let verdicts = std::mem::take(&mut *verdicts.lock().unwrap_or_else(PoisonError::into_inner));
        verdicts.into_iter().for_each(|verdict| report.add(&persona, verdict));
    }
    report.took(began.elapsed(), &sandbox.tmux(&["display-message", "-p", "#{pid}"]));
    report
}

async fn play(
    mut lane: Lane,
    seeds: Arc<Vec<u64>>,
    next: Arc<AtomicUsize>,
    until: Option<Instant>,
    verdicts: Arc<Mutex<Vec<judge::Verdict>>>,
) {
    while let Some(seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)) {
        if until.is_some_and(|until| Instant::now() >= until) {
            break;
        }
        let verdict = lane.play(*seed).await;
        verdicts.lock().unwrap_or_else(PoisonError::into_inner).push(verdict);
    }
}

/// The cases' own seeds, each enough to play its case again.
fn seeds(options: &Options, persona: &str) -> Vec<u64> {
    if let Some(seed) = options.case {
        return vec![seed];
    }
    let mix =
        persona.bytes().fold(options.seed, |mix, byte| mix.wrapping_mul(31).wrapping_add(u64::from(byte)));
    let mut chance = Chance::new(mix);
    // Short enough to be typed again.
    (0..options.wakes).map(|_| chance.draw() >> 24).collect()
}
