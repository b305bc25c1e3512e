//! The terminal itself.

use std::io::Write;

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// The terminal in raw mode with bracketed paste; as before when dropped.
#[derive(Debug)]
pub struct Raw {
    before: Termios,
}

impl Raw {
    /// Puts the terminal into raw mode; `None` where stdin is none.
    pub fn enter() -> Option<Self> {
        let stdin = std::io::stdin();
        let before = tcgetattr(&stdin).ok()?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(&stdin, OptionalActions::Now, &raw).ok()?;
        print_now("\x1b[?2004h\x1b[2J\x1b[H");
        Some(Self { before })
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        print_now("\x1b[?2004l\x1b[?25h\r\n");
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.before);
    }
}

/// Writes to the terminal at once. A terminal that is gone is noticed when its input ends.
pub fn print_now(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// The terminal's rows and columns.
pub fn size() -> (usize, usize) {
    tcgetwinsize(std::io::stdout())
        .map_or((24, 80), |size| (usize::from(size.ws_row), usize::from(size.ws_col)))
}
