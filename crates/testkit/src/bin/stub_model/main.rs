//! `loop-stub-model`: takes the model's place behind a real agent CLI, on loopback, by a script.
//!
//! It speaks Anthropic's Messages, OpenAI's Responses and chat completions, and Google's generateContent, with and
//! without events. Its address goes to stdout and, with `--address FILE`, into a file; every request goes to the
//! log. It ends by itself: after `--minutes` (10), or with the request that is one more than `--requests` (2000).

mod chat;
mod conversation;
mod gemini;
mod http;
mod messages;
mod responses;

use std::fs;
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use loop_testkit::stub_model::{ModelLine, ModelScript};
use serde_json::{Value, json};

use crate::conversation::answer;
use crate::http::{Connection, Request, Response};

/// Most connections at a time.
const CONNECTIONS: usize = 64;

/// What stands on the command line.
struct Arguments {
    script: PathBuf,
    log: PathBuf,
    address: Option<PathBuf>,
    minutes: u64,
    requests: usize,
}

fn main() -> ExitCode {
    match parse(std::env::args().skip(1)).and_then(serve) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("loop-stub-model: {message}");
            ExitCode::from(2)
        }
    }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let (mut script, mut log, mut address) = (None, None, None);
    let (mut minutes, mut requests) = (10, 2000);
    while let Some(option) = words.next() {
        let value = words.next().ok_or_else(|| format!("{option} needs a value"))?;
        let number = || value.parse::<u32>().map_err(|_| format!("{option} needs a number, not {value}"));
        match option.as_str() {
            "--script" => script = Some(PathBuf::from(value)),
            "--log" => log = Some(PathBuf::from(value)),
            "--address" => address = Some(PathBuf::from(value)),
            "--minutes" => minutes = u64::from(number()?),
            "--requests" => requests = number()? as usize,
            other => return Err(format!("unknown option {other}")),
        }
    }
    Ok(Arguments {
        script: script.ok_or("--script FILE is missing")?,
        log: log.ok_or("--log FILE is missing")?,
        address,
        minutes,
        requests,
    })
}

/// Answers until the time is over.
fn serve(arguments: Arguments) -> Result<(), String> {
    let said = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
    let log = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&arguments.log)
        .map_err(|error| said(&arguments.log.display().to_string(), &error))?;
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| said("cannot listen", &error))?;
    let address = listener.local_addr().map_err(|error| said("cannot listen", &error))?;
    let url = format!("http://{address}");
    if let Some(file) = &arguments.address {
        publish(file, &url).map_err(|error| said(&file.display().to_string(), &error))?;
    }
    println!("{url}");
    let model = Arc::new(Model {
        script: arguments.script,
        log: Mutex::new(log),
        left: AtomicUsize::new(arguments.requests),
        number: AtomicUsize::new(0),
        connections: AtomicUsize::new(0),
    });
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let model = Arc::clone(&model);
            if model.connections.fetch_add(1, Ordering::SeqCst) >= CONNECTIONS {
                model.connections.fetch_sub(1, Ordering::SeqCst);
                continue;
            }
            std::thread::spawn(move || {
                // A client that breaks off has its reasons, and the log shows what it asked.
                let _ = model.converse(stream);
                model.connections.fetch_sub(1, Ordering::SeqCst);
            });
        }
    });
    std::thread::sleep(Duration::from_secs(arguments.minutes * 60));
    Ok(())
}

/// Writes the address so that nobody reads half of it.
fn publish(file: &Path, url: &str) -> io::Result<()> {
    let half = file.with_extension("part");
    fs::write(&half, url)?;
    fs::rename(half, file)
}

/// The model.
struct Model {
    script: PathBuf,
    log: Mutex<fs::File>,
    left: AtomicUsize,
    number: AtomicUsize,
    connections: AtomicUsize,
}

impl Model {
    fn converse(&self, stream: TcpStream) -> io::Result<()> {
        let mut connection = Connection::new(stream)?;
        while let Some(request) = connection.read()? {
            let more = self.left.try_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
            if more.is_err() {
                eprintln!("loop-stub-model: more requests than it was allowed; it ends");
                std::process::exit(3);
            }
            let response = self.respond(&request);
            connection.write(&response, request.method != "HEAD")?;
        }
        Ok(())
    }

    fn respond(&self, request: &Request) -> Response {
        let at_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let at_ms = u64::try_from(at_ms).unwrap_or(u64::MAX);
        let body: Value = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
        type Read = fn(&Value) -> conversation::Conversation;
        type Say = fn(&conversation::Answer, &str, bool, usize) -> Response;
        let dialect: Option<(Read, Say)> = match (request.method.as_str(), request.path.as_str()) {
            ("POST", "/v1/messages") => Some((messages::read, messages::say)),
            ("POST", "/v1/responses") => Some((responses::read, responses::say)),
            ("POST", "/v1/chat/completions") => Some((chat::read, chat::speaker(&body))),
            ("POST", path) => gemini::reader(path).map(|read| -> (Read, Say) { (read, gemini::say) }),
            _ => None,
        };
        let Some((read, say)) = dialect else {
            self.write(&ModelLine {
                at_ms,
                event: "other".to_owned(),
                name: None,
                call: 0,
                expanded: false,
                text: format!("{} {}", request.method, request.path),
            });
            return match request.path.as_str() {
                "/v1/messages/count_tokens" => Response::json(200, &json!({"input_tokens": 100})),
                "/v1/models" => Response::json(200, &json!({"object": "list", "data": [], "models": []})),
                "/" => Response::json(200, &json!({})),
                _ => Response::json(
                    404,
                    &json!({"type": "error", "error": {
                        "type": "not_found_error", "message": "the stub model does not know this path",
                    }}),
                ),
            };
        };
        // Read each time, so that a test can change it on the way.
        let script = fs::read_to_string(&self.script).map_err(|error| error.to_string());
        let script: ModelScript =
            match script.and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string())) {
                Ok(script) => script,
                Err(error) => {
                    eprintln!("loop-stub-model: {}: {error}", self.script.display());
                    std::process::exit(2);
                }
            };
        let conversation = read(&body);
        let (answer, line) = answer(&script, &conversation, at_ms);
        self.write(&line);
        std::thread::sleep(Duration::from_millis(script.think_ms));
        let number = self.number.fetch_add(1, Ordering::SeqCst);
        let model = body["model"].as_str().unwrap_or("stub-model");
        say(&answer, model, conversation.stream, number)
    }

    fn write(&self, line: &ModelLine) {
        let Ok(text) = serde_json::to_string(line) else { return };
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        // Without a log the test fails on what is missing there.
        let _ = writeln!(log, "{text}");
    }
}
