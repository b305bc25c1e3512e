//! Being found: one router per state folder, its port, and `router.json`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use loop_core::rendezvous::RouterFile;
use tokio::net::TcpListener;

use crate::StartError;
use crate::options::Options;

/// How many ports above the wanted one are tried.
const PORTS_TRIED: u16 = 50;

/// The place of the one router of a state folder, held by a file lock that ends with the process.
pub(crate) struct Claim {
    _lock: File,
    place: Place,
}

/// Where a router can be found, as long as it can.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    lock: PathBuf,
    /// Device and inode of the lock that is held: another file of the same name is another router's.
    identity: (u64, u64),
    file: PathBuf,
}

impl Place {
    /// Whether somebody who looks for a router in the state folder still finds this one.
    pub(crate) fn is_found(&self) -> bool {
        fs::metadata(&self.lock).is_ok_and(|lock| (lock.dev(), lock.ino()) == self.identity)
            && fs::read(&self.file)
                .ok()
                .and_then(|text| serde_json::from_slice::<RouterFile>(&text).ok())
                .is_some_and(|router| router.pid == std::process::id())
    }

    /// The state folder, for words.
    pub(crate) fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(&self.file)
    }
}

impl Claim {
    /// Takes the place.
    pub(crate) fn take(state_dir: &Path) -> Result<Self, StartError> {
        let state = |path: &Path| {
            let path = path.to_owned();
            move |source| StartError::State { path, source }
        };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(state_dir).map_err(state(state_dir))?;
        let path = state_dir.join("router.lock");
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(state(&path))?;
        let file = state_dir.join("router.json");
        match patiently(&lock) {
            Ok(()) => {
                let held = lock.metadata().map_err(state(&path))?;
                let place = Place { identity: (held.dev(), held.ino()), lock: path, file };
                Ok(Self { _lock: lock, place })
            }
            Err(fs::TryLockError::Error(source)) => Err(StartError::State { path, source }),
            Err(fs::TryLockError::WouldBlock) => {
                let known =
                    fs::read(&file).ok().and_then(|text| serde_json::from_slice::<RouterFile>(&text).ok());
                Err(match known {
                    Some(router) => StartError::Running { pid: router.pid, addr: router.addr },
                    None => {
                        StartError::State { path, source: io::Error::other("another router is starting") }
                    }
                })
            }
        }
    }

    /// Where this router is found.
    pub(crate) fn place(&self) -> Place {
        self.place.clone()
    }

    /// Writes `router.json`, whole or not at all.
    pub(crate) fn announce(&self, addr: SocketAddr, options: &Options) -> Result<(), StartError> {
        let router = RouterFile {
            pid: std::process::id(),
            addr,
            version: options.version.clone(),
            started_at: Timestamp::now(),
        };
        let draft = self.place.file.with_extension("json.new");
        let write = || -> io::Result<()> {
            let mut file =
                OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&draft)?;
            file.write_all(serde_json::to_string(&router)?.as_bytes())?;
            file.sync_all()?;
            fs::rename(&draft, &self.place.file)
        };
        write().map_err(|source| StartError::State { path: self.place.file.clone(), source })
    }
}

/// Tries for half a second: whoever only asks whether a router lives holds the lock for a moment.
fn patiently(lock: &File) -> Result<(), fs::TryLockError> {
    for _ in 0..25 {
        match lock.try_lock() {
            Err(fs::TryLockError::WouldBlock) => std::thread::sleep(std::time::Duration::from_millis(20)),
            tried => return tried,
        }
    }
    lock.try_lock()
}

impl Drop for Claim {
    fn drop(&mut self) {
        // What stands there may be the next router's already.
        if self.place.is_found() {
            // Best effort: a stale file is recognised by the lock that nobody holds.
            let _ = fs::remove_file(&self.place.file);
        }
    }
}

/// The sockets of a router.
pub(crate) struct Listeners {
    pub(crate) first: SocketAddr,
    pub(crate) all: Vec<TcpListener>,
}

/// Listens on the wanted address, or on the next free port where it may move; on `[::1]` as well when the wanted
/// address is `127.0.0.1` and that is there.
pub(crate) async fn listen(options: &Options) -> Result<Listeners, StartError> {
    let wanted = options.listen;
    let last = if options.port_may_move { PORTS_TRIED } else { 0 };
    let mut refused = None;
    for step in 0..=last {
        let Some(port) = wanted.port().checked_add(step) else { break };
        let addr = SocketAddr::new(wanted.ip(), port);
        match TcpListener::bind(addr).await {
            Ok(listener) => {
                let first = listener.local_addr().unwrap_or(addr);
                let mut all = vec![listener];
                if matches!(first.ip(), IpAddr::V4(ip) if ip.is_loopback()) {
                    let second = SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), first.port());
                    match TcpListener::bind(second).await {
                        Ok(listener) => all.push(listener),
                        // Who asks `localhost` must not reach somebody else there.
                        Err(error)
                            if error.kind() == io::ErrorKind::AddrInUse && step < last && port != 0 =>
                        {
                            refused.get_or_insert(error);
                            continue;
                        }
                        // A machine without IPv6.
                        Err(_) => {}
                    }
                }
                return Ok(Listeners { first, all });
            }
            Err(source) => {
                refused.get_or_insert(source);
                if wanted.port() == 0 {
                    break;
                }
            }
        }
    }
    let source = refused.unwrap_or_else(|| io::Error::other("no port is free"));
    Err(StartError::Listen { addr: wanted, source })
}
