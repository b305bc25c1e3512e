//! Waiting for a condition.

use std::future::Future;
use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_millis(20);

/// Calls `look` until it answers `Ok`, and returns that answer.
///
/// # Panics
/// Panics after `timeout` with the last `Err`, which should say what was seen instead.
#[track_caller]
pub fn eventually<T>(what: &str, timeout: Duration, mut look: impl FnMut() -> Result<T, String>) -> T {
    let deadline = Instant::now() + timeout;
    loop {
        match look() {
            Ok(answer) => return answer,
            Err(seen) if Instant::now() >= deadline => panic!("{}", too_late(what, timeout, &seen)),
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

/// Does the same where looking is asynchronous.
///
/// # Panics
/// Panics after `timeout` with the last `Err`.
pub async fn eventually_async<T, F>(what: &str, timeout: Duration, mut look: impl FnMut() -> F) -> T
where
    F: Future<Output = Result<T, String>>,
{
    let deadline = Instant::now() + timeout;
    loop {
        match look().await {
            Ok(answer) => return answer,
            Err(seen) if Instant::now() >= deadline => panic!("{}", too_late(what, timeout, &seen)),
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

fn too_late(what: &str, timeout: Duration, seen: &str) -> String {
    format!("waited {timeout:?} for {what}; last seen: {seen}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_the_first_ok() {
        let mut looks = 0;
        let answer = eventually("the third look", Duration::from_secs(5), || {
            looks += 1;
            if looks == 3 { Ok(looks) } else { Err(format!("look {looks}")) }
        });
        assert_eq!(answer, 3);
    }

    #[test]
    #[should_panic(expected = "for a miracle; last seen: rain")]
    fn says_what_it_last_saw() {
        eventually("a miracle", Duration::from_millis(1), || Err::<(), _>("rain".to_owned()));
    }
}
