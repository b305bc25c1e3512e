//! Bytes from the terminal into keys.

/// What a person or program pressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// A bracketed paste.
    Paste(String),
    /// Carriage return or line feed outside a paste.
    Enter,
    /// Tab.
    Tab,
    /// Deletes the last character.
    Backspace,
    /// Ctrl-U: empties the composer.
    Clear,
    /// Escape alone.
    Escape,
    /// Ctrl-C.
    Interrupt,
    /// No key: the terminal answers [`ASK`], so it has taken in all that was written before it.
    Answer,
}

/// Asks the terminal whether it is well; a terminal that takes bytes in their order answers behind what it drew.
pub const ASK: &str = "\x1b[5n";
const ANSWER: &[u8] = b"\x1b[0n";

const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// Collects bytes until they make keys.
#[derive(Debug, Default)]
pub struct Keys {
    pending: Vec<u8>,
}

impl Keys {
    /// Takes what one read gave and returns the keys that are complete. A lone Escape at the end of a read is the
    /// Escape key: terminals send a sequence in one piece.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.pending.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while let Some((key, used)) = first(&self.pending) {
            keys.extend(key);
            self.pending.drain(..used);
        }
        keys
    }
}

/// The first key and its length; `None` while it is incomplete. Unknown sequences are no key.
fn first(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    let byte = *bytes.first()?;
    match byte {
        b'\x1b' if bytes.starts_with(PASTE_BEGINS) => {
            let body = bytes.get(PASTE_BEGINS.len()..)?;
            let end = body.windows(PASTE_ENDS.len()).position(|window| window == PASTE_ENDS)?;
            let text = String::from_utf8_lossy(body.get(..end)?).replace('\r', "\n");
            Some((Some(Key::Paste(text)), PASTE_BEGINS.len() + end + PASTE_ENDS.len()))
        }
        b'\x1b' if bytes.len() > 1 && PASTE_BEGINS.starts_with(bytes) => None,
        b'\x1b' if bytes.starts_with(ANSWER) => Some((Some(Key::Answer), ANSWER.len())),
        b'\x1b' if bytes.get(1) == Some(&b'[') => {
            let end = bytes.iter().skip(2).position(|byte| (0x40..=0x7e).contains(byte))?;
            Some((None, end + 3))
        }
        b'\x1b' => Some((Some(Key::Escape), 1)),
        b'\r' | b'\n' => Some((Some(Key::Enter), 1)),
        b'\t' => Some((Some(Key::Tab), 1)),
        0x7f | 0x08 => Some((Some(Key::Backspace), 1)),
        0x15 => Some((Some(Key::Clear), 1)),
        0x03 => Some((Some(Key::Interrupt), 1)),
        byte if byte < 0x20 => Some((None, 1)),
        _ => {
            let length = match byte {
                0x00..0x80 => 1,
                0x80..0xe0 => 2,
                0xe0..0xf0 => 3,
                _ => 4,
            };
            let piece = bytes.get(..length)?;
            Some((
                std::str::from_utf8(piece).ok().and_then(|text| text.chars().next()).map(Key::Char),
                length,
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(reads: &[&[u8]], expected: &[Key]) {
        let mut keys = Keys::default();
        let seen: Vec<Key> = reads.iter().flat_map(|read| keys.feed(read)).collect();
        assert_eq!(seen, expected, "{reads:?}");
    }

    #[test]
    fn bytes_make_keys() {
        check(&[b"a\r\t"], &[Key::Char('a'), Key::Enter, Key::Tab]);
        check(&["小".as_bytes()], &[Key::Char('小')]);
        check(&[&"小".as_bytes()[..2], &"小".as_bytes()[2..]], &[Key::Char('小')]);
        check(&[b"\x1b[200~a\rb\x1b[201~\r"], &[Key::Paste("a\nb".into()), Key::Enter]);
        check(&[b"\x1b[200~ab", b"c\x1b[20", b"1~"], &[Key::Paste("abc".into())]);
        check(&[b"\x1b"], &[Key::Escape]);
        check(&[b"\x1b[A\x15"], &[Key::Clear]);
        check(&[b"\r\x1b[0n", b"\x1b[0", b"nx"], &[Key::Enter, Key::Answer, Key::Answer, Key::Char('x')]);
    }
}
