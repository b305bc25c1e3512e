//! A router that answers one ring, as told.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use loop_core::rendezvous::RouterFile;

use crate::world::World;

pub(crate) const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// Stands for an answer that comes byte by byte and never ends.
const DRIP: &str = "drip";

pub(crate) struct FakeRouter {
    requests: Receiver<String>,
    /// Held as long as a router lives.
    lock: std::fs::File,
}

impl FakeRouter {
    /// Listens, and writes `answer` to whoever rings; `None`: never answers.
    pub(crate) fn start(world: &World, answer: Option<&str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let file = RouterFile {
            pid: std::process::id(),
            addr: listener.local_addr().unwrap(),
            version: "0".to_owned(),
            started_at: jiff::Timestamp::UNIX_EPOCH,
        };
        std::fs::write(router_file(world), serde_json::to_string(&file).unwrap()).unwrap();
        std::fs::write(key_file(world), format!("{KEY}\n")).unwrap();
        let lock = std::fs::File::create(router_file(world).with_extension("lock")).unwrap();
        lock.lock().unwrap();
        let (sender, requests) = channel();
        let answer = answer.map(str::to_owned);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut request = Vec::new();
                let mut piece = [0; 4096];
                // The body is one JSON object, and the last thing that comes.
                while !request.ends_with(b"}") {
                    let read = stream.read(&mut piece).unwrap();
                    request.extend_from_slice(&piece[..read]);
                }
                let _ = sender.send(String::from_utf8(request).unwrap());
                match &answer {
                    Some(answer) if answer == DRIP => {
                        // Until nobody listens any more.
                        while stream.write_all(b" ").is_ok() {
                            thread::sleep(Duration::from_millis(20));
                        }
                    }
                    Some(answer) => drop(stream.write_all(answer.as_bytes())),
                    None => thread::park(),
                }
            }
        });
        Self { requests, lock }
    }

    /// A router that answers 202 with this body.
    pub(crate) fn answering(world: &World, body: &str) -> Self {
        let answer = format!("HTTP/1.1 202 Accepted\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        Self::start(world, Some(&answer))
    }

    /// A router whose answer never ends.
    pub(crate) fn dripping(world: &World) -> Self {
        Self::start(world, Some(DRIP))
    }

    /// What goes on listening when the router was killed: its lock is gone.
    pub(crate) fn without_lock(self) -> Self {
        self.lock.unlock().unwrap();
        self
    }

    /// What was asked last.
    pub(crate) fn request(&self) -> String {
        self.requests.recv_timeout(Duration::from_secs(20)).unwrap()
    }

    /// Whether nobody rang.
    pub(crate) fn is_unrung(&self) -> bool {
        self.requests.try_recv().is_err()
    }
}

pub(crate) fn router_file(world: &World) -> PathBuf {
    world.home.join("router.json")
}

pub(crate) fn key_file(world: &World) -> PathBuf {
    world.home.join("key")
}
