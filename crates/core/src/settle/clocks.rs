//! A machine that slept, looks that are far apart, and a clock that was set back.

use super::*;

#[test]
fn a_night_in_which_nobody_looked_is_no_quiet_window() {
    let idle = Seen::Idle;
    let mut settling = Settling::new(QUIET).woken(at(0.0));
    let mut look = |seconds| settling.see(at(seconds), &Sights { screen: Some(&idle), ..Sights::default() });
    // Between two tools it looks idle, and the machine is put to sleep.
    assert!(matches!(look(60.0), Verdict::Quiet { .. }));
    assert!(matches!(look(61.0), Verdict::Quiet { .. }));
    assert!(matches!(look(30_000.0), Verdict::Quiet { .. }), "it has only just woken");
    let settled = (30_001..30_020).find(|second| matches!(look(f64::from(*second)), Verdict::Settled { .. }));
    assert_eq!(settled, Some(30_009), "what was seen before and a few seconds of the night count");
}

#[test]
fn looks_that_are_far_apart_tell_the_same_in_the_end() {
    let idle = Seen::Idle;
    let mut settling = Settling::new(QUIET).woken(at(0.0));
    let settled = (0..20).find(|look| {
        let sights = Sights { screen: Some(&idle), ..Sights::default() };
        matches!(settling.see(at(f64::from(*look) * 60.0), &sights), Verdict::Settled { .. })
    });
    assert_eq!(settled, Some(3));
}

#[test]
fn a_clock_that_is_set_back_starts_the_window_anew() {
    let idle = Seen::Idle;
    for looked_before in [true, false] {
        let mut settling = Settling::new(QUIET).woken(at(7200.0));
        let mut look =
            |seconds| settling.see(at(seconds), &Sights { screen: Some(&idle), ..Sights::default() });
        if looked_before {
            assert!(matches!(look(7201.0), Verdict::Quiet { .. }));
        }
        let settled = (0..40).find(|second| matches!(look(f64::from(*second)), Verdict::Settled { .. }));
        assert_eq!(settled, Some(15));
    }
}
