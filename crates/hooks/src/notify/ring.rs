//! One request to the router, by hand, with a deadline.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use loop_core::rendezvous::{Answer, RING_PATH, Ring, RouterFile};
use serde::Serialize;

/// What came of a ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Rung {
    /// The router's answer.
    Answered(Answer),
    /// No router runs.
    NoRouter,
    /// The system did not let us reach it, as in a sandbox.
    Barred(String),
    /// It did not answer in time.
    Late,
    /// There is no key to show.
    NoKey { path: PathBuf, why: String },
    /// It refused the key.
    WrongKey { path: PathBuf },
    /// It refused the ring.
    Refused { code: u16, words: String },
    /// What answers there is no router.
    Stranger { addr: SocketAddr },
}

/// The longest answer that is read.
const MAX_ANSWER: usize = 64 * 1024;
/// The longest `router.json` or key.
const MAX_FILE: u64 = 4096;

/// Rings, and waits for the answer until `until`.
pub(super) fn ring(router_file: &Path, key_file: &Path, message: &Ring, until: Instant) -> Rung {
    match ask(router_file, key_file, RING_PATH, message, until) {
        Ok((addr, answer)) => understand(&answer, addr, key_file),
        Err(rung) => *rung,
    }
}

/// Posts a message to the running router, and returns its whole answer with where it came from.
///
/// # Errors
/// Fails with what came instead of an answer.
pub(crate) fn ask(
    router_file: &Path,
    key_file: &Path,
    path: &str,
    message: &impl Serialize,
    until: Instant,
) -> Result<(SocketAddr, Vec<u8>), Box<Rung>> {
    let router = router_address(router_file).filter(|_| router_lives(router_file));
    let addr = router.ok_or(Rung::NoRouter)?;
    let no_key = |why| Box::new(Rung::NoKey { path: key_file.to_owned(), why });
    let key = read_key(key_file).map_err(no_key)?;
    match post(addr, &key, path, message, until) {
        Ok(answer) => Ok((addr, answer)),
        Err(error) => Err(Box::new(match error.kind() {
            ErrorKind::ConnectionRefused => Rung::NoRouter,
            ErrorKind::TimedOut | ErrorKind::WouldBlock => Rung::Late,
            ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe => {
                Rung::Stranger { addr }
            }
            _ => Rung::Barred(error.to_string()),
        })),
    }
}

/// Whether the router that wrote `router.json` still runs: it holds `router.lock` beside it as long as it lives.
///
/// What a router that was killed left behind names a port that anybody may have taken since; the key is not shown
/// to them.
pub fn router_lives(router_file: &Path) -> bool {
    match File::open(router_file.with_extension("lock")) {
        Ok(lock) => match lock.try_lock_shared() {
            Err(TryLockError::WouldBlock) => true,
            // A file system without locks cannot tell.
            Err(TryLockError::Error(_)) => true,
            Ok(()) => false,
        },
        Err(error) => error.kind() != ErrorKind::NotFound,
    }
}

fn router_address(router_file: &Path) -> Option<SocketAddr> {
    let text = read_small(router_file).ok()?;
    let router: RouterFile = serde_json::from_str(&text).ok()?;
    let mut addr = router.addr;
    // It listens everywhere; here is where we are.
    match addr.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => addr.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => addr.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    Some(addr)
}

/// Reads the key; the error says what is wrong and never what the file holds.
fn read_key(key_file: &Path) -> Result<String, String> {
    let text = read_small(key_file).map_err(|error| error.to_string())?;
    let key = text.trim();
    if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err("it holds no key".to_owned());
    }
    Ok(key.to_owned())
}

fn read_small(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MAX_FILE).read_to_string(&mut text)?;
    Ok(text)
}

fn post(
    addr: SocketAddr,
    key: &str,
    path: &str,
    message: &impl Serialize,
    until: Instant,
) -> io::Result<Vec<u8>> {
    let body = serde_json::to_vec(message).map_err(io::Error::other)?;
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect_timeout(&addr, left(until)?)?;
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(left(until)?))?;
    stream.write_all(&[head.as_bytes(), &body].concat())?;
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    loop {
        stream.set_read_timeout(Some(left(until)?))?;
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => answer.extend_from_slice(&piece[..read]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if is_whole(&answer) || answer.len() > MAX_ANSWER {
            break;
        }
    }
    if answer.is_empty() {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(answer)
}

/// How long may still be waited.
fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Whether the answer is there up to its last byte, so that nobody waits for the connection's end.
fn is_whole(answer: &[u8]) -> bool {
    let Some((head, body)) = split(answer) else { return false };
    let lengths = head.lines().filter_map(|line| line.split_once(':'));
    let mut lengths = lengths.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    lengths
        .next()
        .and_then(|(_, value)| value.trim().parse().ok())
        .is_some_and(|length: usize| body.len() >= length)
}

fn split(answer: &[u8]) -> Option<(&str, &[u8])> {
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&answer[..end]).ok()?;
    Some((head, &answer[end + 4..]))
}

fn understand(answer: &[u8], addr: SocketAddr, key_file: &Path) -> Rung {
    let stranger = Rung::Stranger { addr };
    let Some((head, body)) = split(answer) else { return stranger };
    let mut status_line = head.lines().next().unwrap_or_default().split(' ');
    let http = status_line.next().is_some_and(|version| version.starts_with("HTTP/1."));
    let Some(code) = status_line.next().and_then(|code| code.parse::<u16>().ok()).filter(|_| http) else {
        return stranger;
    };
    match code {
        200..=299 => match serde_json::from_slice::<Answer>(body) {
            Ok(answer) if answer.status == "ok" => Rung::Answered(answer),
            _ => stranger,
        },
        401 | 403 => Rung::WrongKey { path: key_file.to_owned() },
        _ => Rung::Refused { code, words: problem(body) },
    }
}

/// What a problem document says, the particular before the general.
fn problem(body: &[u8]) -> String {
    let value: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let text = |name: &str| value.get(name).and_then(serde_json::Value::as_str);
    text("detail").or_else(|| text("title")).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn understood(answer: &str) -> Rung {
        understand(answer.as_bytes(), "127.0.0.1:1".parse().unwrap(), Path::new("/key"))
    }

    #[test]
    fn answers_are_told_apart() {
        let ok = "HTTP/1.1 202 Accepted\r\ncontent-length: 2\r\n\r\n{\"status\":\"ok\",\"target\":\"Codex\",\"turn\":3}";
        let Rung::Answered(answer) = understood(ok) else { panic!() };
        assert_eq!((answer.target.as_deref(), answer.turn), (Some("Codex"), Some(3)));
        assert!(matches!(understood("HTTP/1.1 401 No\r\n\r\n"), Rung::WrongKey { .. }));
        let refused =
            understood("HTTP/1.1 404 No\r\n\r\n{\"title\":\"no loop\",\"detail\":\"no loop in /x\"}");
        assert_eq!(refused, Rung::Refused { code: 404, words: "no loop in /x".to_owned() });
        for garbage in [
            "",
            "220 mail.example.org ESMTP",
            "HTTP/1.1 200 OK\r\n\r\n<html>",
            "HTTP/1.1 x\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\n{\"status\":\"starting\"}",
        ] {
            assert!(matches!(understood(garbage), Rung::Stranger { .. }), "{garbage:?}");
        }
    }

    #[test]
    fn an_answer_is_whole_when_its_length_is_there() {
        let head = "HTTP/1.1 202 Accepted\r\nContent-Length: 3\r\n\r\n";
        for (answer, whole) in [
            ("HTTP/1.1", false),
            (head, false),
            (&(head.to_owned() + "ab"), false),
            (&(head.to_owned() + "abc"), true),
            ("HTTP/1.1 200 OK\r\n\r\nabc", false),
        ] {
            assert_eq!(is_whole(answer.as_bytes()), whole, "{answer:?}");
        }
    }
}
