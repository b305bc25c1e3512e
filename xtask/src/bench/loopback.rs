//! The router at work: start, memory at rest, and requests against the floor of a loopback round trip.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};

use super::lab::Lab;
use super::{Row, median, timed};

const REQUESTS: usize = 300;
const CLIENTS: usize = 8;

/// Measures one router with no loop.
pub(super) fn run(lab: &Lab) -> Result<Vec<Row>> {
    let began = Instant::now();
    let router = Router::start(lab)?;
    let mut start = [began.elapsed()];
    let echo = echo_server()?;

    let mut floor_times = Vec::new();
    let mut health_times = Vec::new();
    for _ in 0..REQUESTS {
        floor_times.push(request(echo)?);
        health_times.push(request(router.address)?);
    }
    let floor = median(&mut floor_times);
    let floor_rate = per_second(echo)?;
    let rate = per_second(router.address)?;
    Ok(vec![
        timed("start to the first answer", &mut start, None),
        Row { what: "memory at rest".to_owned(), figure: router.memory()?, ratio: None },
        timed("round trip, new connection, no work (floor)", &mut floor_times, None),
        timed("GET /health, new connection", &mut health_times, Some(floor)),
        Row {
            what: format!("{CLIENTS} clients, no work (floor)"),
            figure: format!("{floor_rate:.0} /s"),
            ratio: None,
        },
        Row {
            what: format!("{CLIENTS} clients, GET /health"),
            figure: format!("{rate:.0} /s"),
            ratio: Some(rate / floor_rate),
        },
    ])
}

/// Requests per second that several clients get out of a server, each request on a new connection.
fn per_second(address: SocketAddr) -> Result<f64> {
    let start = Instant::now();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| thread::spawn(move || (0..REQUESTS).try_for_each(|_| request(address).map(drop))))
        .collect();
    for client in clients {
        client.join().map_err(|_| anyhow!("a client panicked"))??;
    }
    Ok((CLIENTS * REQUESTS) as f64 / start.elapsed().as_secs_f64())
}

/// A running router; dropping it ends it.
pub(super) struct Router {
    child: Child,
    address: SocketAddr,
}

impl Router {
    /// Starts one on a free port and waits until it answers.
    pub(super) fn start(lab: &Lab) -> Result<Self> {
        let home = lab.folder("home")?;
        let record = home.join(".local/state/agent-loop/router.json");
        let _ = std::fs::remove_file(&record);
        let child = lab
            .subject(&home)
            .arg("router")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", lab.program().display()))?;
        let mut router = Self { child, address: SocketAddr::from(([127, 0, 0, 1], 0)) };
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(address) = recorded_address(&record) {
                router.address = address;
                if request(address).is_ok() {
                    return Ok(router);
                }
            }
            if let Some(status) = router.child.try_wait()? {
                bail!("the router ended at once: {status}");
            }
            if Instant::now() > deadline {
                bail!("the router did not answer within 20 s");
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Its resident memory, as Linux counts it.
    fn memory(&self) -> Result<String> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let Ok(status) = status else { return Ok("unknown".to_owned()) };
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        Ok(kilobytes
            .map_or("unknown".to_owned(), |kilobytes| format!("{:.1} MiB", kilobytes as f64 / 1024.0)))
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The address that the router recorded for others to find it.
fn recorded_address(record: &std::path::Path) -> Option<SocketAddr> {
    let text = std::fs::read_to_string(record).ok()?;
    let record: serde_json::Value = serde_json::from_str(&text).ok()?;
    record["addr"].as_str()?.parse().ok()
}

/// One GET on a connection of its own, to the last byte of the answer.
fn request(address: SocketAddr) -> Result<Duration> {
    let start = Instant::now();
    let mut stream = TcpStream::connect(address)?;
    // In one write: the floor's server answers the first bytes that it reads.
    let request = format!("GET /health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    if !answer.starts_with("HTTP/1.1 200") {
        bail!("{address} answered {:?}", answer.lines().next().unwrap_or_default());
    }
    Ok(start.elapsed())
}

/// A server that answers every request with the same bytes: what a round trip costs on this machine at least.
fn echo_server() -> Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 1024];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
        }
    });
    Ok(address)
}
