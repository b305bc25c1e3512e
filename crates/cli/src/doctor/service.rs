//! The key, the store, the router, and the way to a person.

use std::path::PathBuf;
use std::time::Duration;

use loop_core::rendezvous::RouterFile;
use loop_router::Key;
use loop_router::key::KeyError;
use loop_store::{LoopRow, Store, Write, WriteKind};

use super::{Check, Report};
use crate::client::RouterLine;
use crate::telling;
use crate::world::World;

const DEADLINE: Duration = Duration::from_secs(10);

/// The key file: there, a key, and nobody else's to read.
pub(super) fn key(world: &World, report: &mut Report) {
    let file = world.key_file();
    let shown = file.display().to_string();
    report.add(match Key::read_or_make(&file) {
        Ok(_) => Check::ok("key", format!("{shown}, readable by you alone")),
        Err(error @ KeyError::Open { .. }) => {
            Check::not_ok("key", error.to_string(), format!("chmod 600 {shown}"))
        }
        Err(error @ KeyError::NoKey { .. }) => Check::not_ok("key", error.to_string(), format!("rm {shown}")),
        Err(error @ KeyError::Io { .. }) => {
            let why = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
            Check::not_ok("key", format!("{error}{why}"), "the state folder must be yours to write").ours()
        }
    });
}

/// The store: whole, and a write that is taken back at once.
pub(super) async fn store(world: &World, report: &mut Report) -> Option<Store> {
    let next = "`loop store where` says where it is; a copy of the file, then moving it away, starts afresh";
    let store = match tokio::time::timeout(DEADLINE, Store::open(&world.store_url())).await {
        Ok(Ok(store)) => store,
        Ok(Err(error)) => {
            let failure = crate::failure::Failure::from(error);
            report.add(Check::not_ok("store", failure.words(), next).ours());
            return None;
        }
        Err(_) => {
            report.add(
                Check::not_ok("store", format!("it does not open within {} s", DEADLINE.as_secs()), next)
                    .ours(),
            );
            return None;
        }
    };
    let whole = tokio::time::timeout(Duration::from_secs(60), store.check()).await;
    report.add(match whole {
        Ok(Ok(found)) if found.problems.is_empty() => match write_and_take_back(&store).await {
            Ok(()) => Check::ok(
                "store",
                format!(
                    "{}, whole and writable, {} {}, schema {}",
                    found.path.display(),
                    found.loops,
                    if found.loops == 1 { "loop" } else { "loops" },
                    found.schema
                ),
            ),
            Err(why) => Check::not_ok("store", format!("it cannot be written to: {why}"), next).ours(),
        },
        Ok(Ok(found)) => {
            Check::not_ok("store", format!("damaged: {}", found.problems.join("; ")), next).ours()
        }
        Ok(Err(error)) => Check::not_ok("store", error.to_string(), next).ours(),
        Err(_) => Check::unproven(
            "store",
            "it is too large to be read in a minute",
            "`loop store check` takes its time",
        ),
    });
    Some(store)
}

async fn write_and_take_back(store: &Store) -> Result<(), String> {
    let probe = Write {
        at: jiff::Timestamp::now(),
        repo: None,
        path: PathBuf::from("loop doctor"),
        kind: WriteKind::Linked,
        before: None,
        added: None,
        after_hash: None,
    };
    let tried = async {
        let id = store.add_write(&probe).await?;
        store.remove_write(id).await
    };
    match tokio::time::timeout(DEADLINE, tried).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no answer within {} s", DEADLINE.as_secs())),
    }
}

/// The router: answers with the key, and with nothing else.
pub(super) async fn router(world: &World, store: Option<&Store>, report: &mut Report) -> Option<RouterLine> {
    let recorded = std::fs::read_to_string(world.router_file()).ok();
    let recorded = recorded.and_then(|text| serde_json::from_str::<RouterFile>(&text).ok());
    let line = match RouterLine::find(world).await {
        Ok(Some(line)) => line,
        Ok(None) => {
            let says = match recorded {
                Some(file) => format!("the one on record ({}, pid {}) does not answer", file.addr, file.pid),
                None => "it is not running".to_owned(),
            };
            let loops = match store {
                Some(store) => store.loops(false).await.unwrap_or_default(),
                None => Vec::new(),
            };
            report.add(match loops.iter().filter(|row| row.up).count() {
                0 => Check::unproven("router", says, "`loop up` starts it"),
                up => Check::not_ok(
                    "router",
                    format!("{says}, so nobody is woken in the {up} loops that are up"),
                    "`loop up` in one of them starts it",
                ),
            });
            return None;
        }
        Err(failure) => {
            report.add(Check::unproven("router", failure.words(), "mend that, then again"));
            return None;
        }
    };
    report.add(answers(&line).await);
    Some(line)
}

async fn answers(line: &RouterLine) -> Check {
    let addr = line.addr();
    let loops = match tokio::time::timeout(DEADLINE, line.get::<Vec<LoopRow>>("/api/loops")).await {
        Ok(Ok(loops)) => loops.len(),
        Ok(Err(failure)) => return Check::not_ok("router", failure.words(), RESTART).ours(),
        Err(_) => {
            let says = format!("{addr} does not answer within {} s", DEADLINE.as_secs());
            return Check::not_ok("router", says, RESTART).ours();
        }
    };
    for (what, request) in [
        ("without a key", line.stranger("/api/loops", None)),
        ("with a wrong key", line.stranger("/api/loops", Some(&"0".repeat(64)))),
    ] {
        match request.timeout(DEADLINE).send().await {
            Ok(answer) if answer.status() == reqwest::StatusCode::UNAUTHORIZED => {}
            Ok(answer) => {
                let says = format!("{addr} answers {} {what}", answer.status());
                return Check::not_ok("router", says, "stop it: `loop router --stop`, and report this")
                    .ours();
            }
            Err(error) => {
                return Check::not_ok("router", format!("{addr}: {}", error.without_url()), RESTART).ours();
            }
        }
    }
    let version = env!("CARGO_PKG_VERSION");
    if line.file.version != version {
        let says = format!("http://{addr} is of version {}, and this is {version}", line.file.version);
        return Check::not_ok("router", says, RESTART);
    }
    let word = if loops == 1 { "loop" } else { "loops" };
    Check::ok("router", format!("http://{addr} answers with the key and refuses others; {loops} {word}"))
}

const RESTART: &str = "`loop router --stop`, then `loop up`; its log is router.log in the state folder";

/// Whether a person would be told: what each channel needs is there. Nothing is sent.
pub(super) async fn tell(world: &World, report: &mut Report) {
    if world.tell.is_empty() {
        let says = "nobody is told when a loop is held or has passed";
        return report.add(Check::unproven("tell", says, telling::how(world)));
    }
    for configured in world.tell.configured() {
        let check = format!("tell: {}", configured.name);
        report.add(match configured.ready().await {
            Ok(()) => Check::ok(check, format!("{} (`loop tell --test` tries it)", configured.place())),
            Err(error) => Check::not_ok(check, error.to_string(), error.next()),
        });
    }
    for (file, mode) in telling::open_to_others(world) {
        let says = format!("{} holds secrets and can be read by others (mode {mode:o})", file.display());
        report.add(Check::not_ok("tell", says, format!("chmod 600 {}", file.display())));
    }
}
