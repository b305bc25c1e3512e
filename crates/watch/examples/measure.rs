//! What watching costs: `cargo xtask bench watch` runs this and shows its lines.
//!
//! Each line is a name, a figure and a ratio, between tabs; `-` where there is no ratio. `measure LOOKS` says how often
//! each store is looked at.

use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use loop_core::profile::{Records, RecordsFormat, TimeUnit};
use loop_watch::{Place, Watcher};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode};
use sqlx::{ConnectOptions, Connection};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// How often the router looks at a woken agent, at the most.
const POLL: Duration = Duration::from_secs(3);

/// How often the watcher looks beside whom a writer is timed: far more often than in life.
const HURRIED: Duration = Duration::from_millis(20);

#[tokio::main]
async fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["beside", folder] => beside(Path::new(folder)).await,
        [looks] => measure(looks.parse()?).await,
        _ => Err("usage: measure LOOKS".into()),
    }
}

async fn measure(looks: u32) -> Outcome<()> {
    let dir = tempfile::tempdir()?;
    let folder = dir.path().canonicalize()?;
    let transcript = transcripts(&folder)?;
    rollouts(&folder)?;
    let mut writer = database(&folder).await?;
    let mut worst = Duration::ZERO;
    for (name, format, changes) in [
        ("a transcript of 40 MB, nothing new", RecordsFormat::Claude, false),
        ("the same, 8 KB new each time", RecordsFormat::Claude, true),
        ("300 rollouts, nothing new", RecordsFormat::Codex, false),
        ("a database of 20 MB, nothing new", RecordsFormat::OpenCode, false),
        ("the same, changed each time", RecordsFormat::OpenCode, true),
    ] {
        let mut watcher = watcher(&folder, format);
        watcher.look(None, Timestamp::now()).await;
        let mut cost = Duration::ZERO;
        for _ in 0..looks {
            if changes && format == RecordsFormat::Claude {
                fs::OpenOptions::new()
                    .append(true)
                    .open(&transcript)?
                    .write_all(LINE.repeat(32).as_bytes())?;
            } else if changes {
                write(&mut writer).await?;
            }
            let before = processor_time()?;
            watcher.look(None, Timestamp::now()).await;
            cost += processor_time()?.saturating_sub(before);
        }
        let each = cost / looks.max(1);
        worst = worst.max(each);
        println!("{name}\t{:.0} us\t-", each.as_secs_f64() * 1e6);
    }
    println!(
        "the dearest of these every 3 s, of one core\t{:.3} %\t-",
        100.0 * worst.as_secs_f64() / POLL.as_secs_f64()
    );
    let (mut alone, mut watched) = (Vec::new(), Vec::new());
    // Turn and turn about, so that a slow spell of the machine meets both.
    for _ in 0..6 {
        alone.extend(times(&mut writer, looks).await?);
        let beside = Beside::start(&folder)?;
        watched.extend(times(&mut writer, looks).await?);
        drop(beside);
    }
    for (name, part) in [("median", 0.5), ("99 of 100", 0.99)] {
        let (floor, ours) = (at(&mut alone, part), at(&mut watched, part));
        println!("a write, unwatched, {name} (floor)\t{:.3} ms\t-", floor * 1e3);
        println!("a write, looked at 50 times a second, {name}\t{:.3} ms\t{:.3}", ours * 1e3, ours / floor);
    }
    Ok(())
}

/// Looks at the database until it is killed.
async fn beside(folder: &Path) -> Outcome<()> {
    let mut watcher = watcher(folder, RecordsFormat::OpenCode);
    loop {
        watcher.look(None, Timestamp::now()).await;
        tokio::time::sleep(HURRIED).await;
    }
}

/// A process that watches; dropping it ends it.
struct Beside(Child);

impl Beside {
    fn start(folder: &Path) -> Outcome<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        let child = command.arg("beside").arg(folder).stdout(Stdio::null()).spawn()?;
        Ok(Self(child))
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn times(writer: &mut SqliteConnection, writes: u32) -> Outcome<Vec<f64>> {
    let mut times = Vec::new();
    for _ in 0..writes {
        let start = Instant::now();
        write(writer).await?;
        times.push(start.elapsed().as_secs_f64());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(times)
}

fn at(times: &mut [f64], part: f64) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get((times.len() as f64 * part) as usize).copied().unwrap_or(f64::NAN)
}

fn watcher(folder: &Path, format: RecordsFormat) -> Watcher {
    let records = Records {
        format,
        at: vec![format!("~/{}", format.as_str())],
        table: String::new(),
        id: String::new(),
        updated: String::new(),
        unit: TimeUnit::Ms,
        folder: None,
        only: [].into(),
        not: [].into(),
    };
    Watcher::new(
        &records,
        Place { home: folder.to_owned(), env: [].into(), folder: folder.to_owned(), since: None },
    )
}

const LINE: &str = "{\"type\":\"assistant\",\"timestamp\":\"2026-12-01T00:36:43.403Z\",\"isSidechain\":false,\"message\":{\"role\":\
                    \"assistant\",\"stop_reason\":\"tool_use\",\"content\":[{\"type\":\"tool_use\",\"name\":\"Bash\",\"input\":{\"command\":\
                    \"cargo test\"}}]},\"version\":\"2.1.197\",\"gitBranch\":\"main\"}\n";

fn transcripts(folder: &Path) -> Outcome<std::path::PathBuf> {
    let path = folder.to_string_lossy();
    let slug = path.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let place = folder.join("claude").join(slug);
    fs::create_dir_all(&place)?;
    let head = format!(
        "{{\"type\":\"user\",\"timestamp\":\"2026-12-01T00:36:43Z\",\"cwd\":\"{path}\",\"message\":{{\"content\":\"hi\"}}}}\n"
    );
    for number in 0..50 {
        fs::write(place.join(format!("old-{number}.jsonl")), &head)?;
    }
    let file = place.join("live.jsonl");
    fs::write(&file, head + &LINE.repeat(40_000_000 / LINE.len()))?;
    Ok(file)
}

fn rollouts(folder: &Path) -> Outcome<()> {
    for number in 0..300 {
        let day = folder.join(format!("codex/2026/11/{:02}", 1 + number % 30));
        fs::create_dir_all(&day)?;
        let thread = format!("01a22f08-4d07-7032-9fe4-{number:012}");
        let meta = format!(
            "{{\"type\":\"session_meta\",\"payload\":{{\"cwd\":\"{}\",\"source\":\"cli\"}}}}\n",
            folder.display()
        );
        let begun = "{\"type\":\"event_msg\",\"timestamp\":\"2026-12-01T00:36:43Z\",\"payload\":{\"type\":\"task_started\"}}\n";
        fs::write(day.join(format!("rollout-2026-11-01T00-00-00-{thread}.jsonl")), meta + begun)?;
    }
    Ok(())
}

/// A database as OpenCode keeps it, with 4,000 messages.
async fn database(folder: &Path) -> Outcome<SqliteConnection> {
    let options = SqliteConnectOptions::new()
        .filename(folder.join("opencode"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .busy_timeout(Duration::ZERO)
        .disable_statement_logging();
    let mut writer = SqliteConnection::connect_with(&options).await?;
    let folder = folder.to_string_lossy();
    for sql in [
        "create table session (id text primary key, parent_id text, directory text, time_updated integer)".to_owned(),
        "create table message (id text primary key, session_id text, time_created integer, time_updated integer, data text)".to_owned(),
        "create table part (id text primary key, message_id text, session_id text, data text)".to_owned(),
        "create index message_session on message (session_id, time_created, id)".to_owned(),
        "create index part_message on part (message_id, id)".to_owned(),
        "create index part_session on part (session_id)".to_owned(),
        format!("insert into session values ('s', null, '{folder}', 1)"),
        "with recursive n (i) as (select 1 union all select i + 1 from n where i < 4000) insert into message select \
         'm' || i, 's', i, i, json_object('role', iif(i % 2, 'user', 'assistant'), 'text', hex(zeroblob(2000))) from n"
            .to_owned(),
    ] {
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut writer).await?;
    }
    Ok(writer)
}

async fn write(writer: &mut SqliteConnection) -> Outcome<()> {
    let sql = "begin immediate; insert or replace into part values ('p', 'm4000', 's', json_object('type', 'text', 'text', \
               hex(randomblob(200)))); update session set time_updated = time_updated + 1; commit";
    sqlx::raw_sql(sql).execute(writer).await?;
    Ok(())
}

/// What this process has used of all processors, in threads that have ended too.
fn processor_time() -> Outcome<Duration> {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Ok(Duration::new(used.tv_sec.try_into()?, used.tv_nsec.try_into()?))
}
