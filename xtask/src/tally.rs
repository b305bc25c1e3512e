//! Counting what test programs say about themselves.

use std::fmt;

/// How many tests and checks came to which end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Ran and held.
    pub(crate) passed: usize,
    /// Ran and did not hold, or never came to an end.
    pub(crate) failed: usize,
    /// Did not run.
    pub(crate) skipped: usize,
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

/// Reads the output of `cargo test`, line by line, and counts.
///
/// libtest has no stable machine format, so its lines are read as a person reads them, with two precautions: a
/// result counts only when it accounts for every test that its suite announced, and not for one that the captured
/// output of a failing test quotes (a test may run itself once more elsewhere); and a suite that announces tests and never gives a result (it crashed) has failed.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    tally: Tally,
    failures: Vec<String>,
    skips: Vec<String>,
    /// The suite under way, and behind it those that the captured output of a failing test quotes.
    open: Vec<Suite>,
    /// The program that the newest `Running` line named.
    program: String,
    /// Whether no suite was announced since that line.
    fresh: bool,
}

#[derive(Debug)]
struct Suite {
    program: String,
    announced: usize,
}

impl Reader {
    /// Takes one line of either stream.
    pub(crate) fn line(&mut self, line: &str) {
        let trimmed = line.trim();
        if let Some(why) = line.strip_prefix("SKIPPED: ") {
            self.skips.push(why.trim().to_owned());
        } else if let Some(program) = trimmed.strip_prefix("Running ").or(trimmed.strip_prefix("Doc-tests "))
        {
            self.program = program.to_owned();
            self.fresh = true;
        } else if let Some(announced) = announced(line) {
            if self.fresh {
                self.close_crashed();
            }
            self.fresh = false;
            self.open.push(Suite { program: self.program.clone(), announced });
        } else if let Some(result) = result(line) {
            let complete =
                |suite: &Suite| suite.announced == result.tally.passed + result.tally.failed + result.ignored;
            if self.open.last().is_some_and(complete) {
                self.open.pop();
                if self.open.is_empty() {
                    self.tally += result.tally;
                }
            }
        } else if let Some(name) =
            line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"))
        {
            self.failures.push(name.to_owned());
        }
    }

    /// Ends the reading. `succeeded` is the exit status of `cargo test`: a failure that no suite accounts for (a
    /// program that could not start, a compile error) is one more failed test.
    pub(crate) fn finish(mut self, succeeded: bool) -> (Tally, Vec<String>, Vec<String>) {
        self.close_crashed();
        if !succeeded && self.tally.failed == 0 {
            self.tally.failed = 1;
            self.failures.push("cargo test ended with an error that no suite accounts for".to_owned());
        }
        // A test that finds a tool missing says so and returns; libtest can only call that passed.
        let moved = self.skips.len().min(self.tally.passed);
        self.tally.passed -= moved;
        self.tally.skipped += moved;
        (self.tally, self.failures, self.skips)
    }

    fn close_crashed(&mut self) {
        if let Some(suite) = self.open.drain(..).next() {
            self.tally.failed += 1;
            self.failures.push(format!("{} ended without a result", suite.program));
        }
    }
}

struct SuiteResult {
    tally: Tally,
    ignored: usize,
}

/// `running 12 tests`.
fn announced(line: &str) -> Option<usize> {
    let rest = line.strip_prefix("running ")?;
    let count = rest.strip_suffix(" tests").or(rest.strip_suffix(" test"))?;
    count.parse().ok()
}

/// `test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.01s`.
fn result(line: &str) -> Option<SuiteResult> {
    let rest = line.strip_prefix("test result: ")?;
    let counts = rest.strip_prefix("ok. ").or(rest.strip_prefix("FAILED. "))?;
    let count = |word: &str| {
        counts.split(';').find_map(|part| part.trim().strip_suffix(word)?.trim().parse::<usize>().ok())
    };
    let ignored = count("ignored")?;
    Some(SuiteResult {
        tally: Tally {
            passed: count("passed")? + count("measured").unwrap_or(0),
            failed: count("failed")?,
            skipped: ignored + count("filtered out").unwrap_or(0),
        },
        ignored,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(output: &str, succeeded: bool) -> (Tally, Vec<String>, Vec<String>) {
        let mut reader = Reader::default();
        output.lines().for_each(|line| reader.line(line));
        reader.finish(succeeded)
    }

    fn tally(passed: usize, failed: usize, skipped: usize) -> Tally {
        Tally { passed, failed, skipped }
    }

    #[test]
    fn a_suite_quoted_by_a_failing_test_is_not_counted() {
        let quoted = "     Running unittests (target/debug/deps/a)\n\
             running 2 tests\n\
             test a ... FAILED\n\
             running 1 test\n\
             test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 9 filtered out; finished in 0.01s\n\
             test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\
                  Running unittests (target/debug/deps/b)\n\
             running 1 test\n\
             test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n";
        assert_eq!(read(quoted, false).0, tally(2, 1, 0));
    }

    #[test]
    fn outputs_are_counted() {
        let cases: &[(&str, &str, bool, Tally, &[&str])] = &[
            ("nothing ran", "", true, tally(0, 0, 0), &[]),
            (
                "two suites and doctests",
                "     Running unittests src/lib.rs (target/debug/deps/loop_core-0a)\n\
                 running 2 tests\ntest a ... ok\ntest b ... ok\n\
                 test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\
                 running 1 test\ntest c ... ignored\n\
                 test result: ok. 0 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\
                 \u{20}  Doc-tests loop_core\nrunning 0 tests\n\
                 test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out; finished in 0.00s\n",
                true,
                tally(2, 0, 4),
                &[],
            ),
            (
                "a failure whose output quotes a result",
                "running 2 tests\ntest a ... FAILED\ntest b ... ok\n---- a stdout ----\n\
                 test result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\
                 test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n",
                false,
                tally(1, 1, 0),
                &["a"],
            ),
            (
                "a suite that crashed before another one",
                "     Running tests/main.rs (target/debug/deps/e2e-0b)\nrunning 3 tests\ntest a ... ok\n\
                 \u{20}  Running tests/b.rs (target/debug/deps/b-0c)\nrunning 1 test\ntest b ... ok\n\
                 test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n",
                false,
                tally(1, 1, 0),
                &["tests/main.rs (target/debug/deps/e2e-0b) ended without a result"],
            ),
            (
                "a compile error",
                "error[E0425]: cannot find value `x` in this scope\n",
                false,
                tally(0, 1, 0),
                &["cargo test ended with an error that no suite accounts for"],
            ),
            (
                "a test that says it was skipped",
                "running 2 tests\nSKIPPED: tmux is not installed\ntest a ... ok\ntest b ... ok\n\
                 test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n",
                true,
                tally(1, 0, 1),
                &[],
            ),
        ];
        for (what, output, succeeded, expected, failures) in cases {
            let (tally, failed, _) = read(output, *succeeded);
            assert_eq!(tally, *expected, "{what}");
            assert_eq!(failed, *failures, "{what}");
        }
    }

    #[test]
    fn the_last_line_is_the_contract() {
        assert_eq!(tally(12, 0, 3).to_string(), "12 passed, 0 failed, 3 skipped");
    }
}
