//! SQLite: one file, safe with several processes at once.
//!
//! One connection writes, so that the tasks of one process queue up fairly before SQLite's own lock, which is for
//! other processes. A few more read: in WAL mode they never wait for the writer.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use sqlx::pool::PoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Sqlite};

use crate::error::{StoreError, damaged, from_io};
use crate::migrate;
use crate::store::Store;

/// How long one process waits for another's lock.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a task waits for its turn at the connections of its own process.
const QUEUE: Duration = Duration::from_secs(30);
/// The shortest file that can be a SQLite database: one page of the smallest size.
const SHORTEST: u64 = 512;
/// How many connections read.
const READERS: u32 = 3;

/// Opens the store that `url` names; makes it, readable by its user only, where there is none.
pub(crate) async fn open(url: String) -> Result<Store, StoreError> {
    let path = path_of(&url)?;
    make_file(&path)?;

    // Nothing here may change the file before `migrate` knows that it is a store, and one of a known version.
    let options = SqliteConnectOptions::new()
        .filename(&path)
        .create_if_missing(false)
        .foreign_keys(true)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(PATIENCE)
        .disable_statement_logging();
    let pool = || {
        PoolOptions::<Sqlite>::new()
            .acquire_timeout(QUEUE)
            .idle_timeout(None)
            .max_lifetime(None)
            .test_before_acquire(false)
    };
    let writer = pool().max_connections(1).connect_lazy_with(options.clone());
    let reader = pool().max_connections(READERS).connect_lazy_with(options.pragma("query_only", "on"));
    let store = Store::new(url, path, writer, reader);

    let deadline = Instant::now() + PATIENCE;
    loop {
        match migrate::run(&store).await {
            // SQLite does not wait for a lock where two processes switch a new file to WAL, or where one closes
            // the file while another opens it.
            Err(fault) if fault.is_busy() && Instant::now() < deadline => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            done => {
                if done.is_err() {
                    store.close().await;
                }
                return store.settle("open the store", done).map(|()| store);
            }
        }
    }
}

/// The URL of the store in the file `path`, which must be absolute.
pub(crate) fn url_of(path: &Path) -> String {
    let mut url = String::from("sqlite://");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'%' | b'?' | b'#' => url.push_str(&format!("%{byte:02X}")),
            byte if byte.is_ascii_graphic() => url.push(char::from(*byte)),
            byte => url.push_str(&format!("%{byte:02X}")),
        }
    }
    url
}

/// The file that `url` names.
fn path_of(url: &str) -> Result<PathBuf, StoreError> {
    let refuse = |why: &str| StoreError::BadUrl { why: why.to_owned() };
    let rest = url.split_once(':').map_or(url, |(_, rest)| rest);
    let text = rest.strip_prefix("//").unwrap_or(rest);
    if text.contains(['?', '#']) {
        return Err(refuse("a sqlite URL takes no options; write `?` and `#` of a path as %3F and %23"));
    }
    let text =
        decode(text).ok_or_else(|| refuse("after each `%` two hex digits must follow, and all be UTF-8"))?;
    if text.contains('\0') {
        return Err(refuse("a path cannot hold a NUL"));
    }
    let path = PathBuf::from_str(&text).unwrap_or_default();
    if !path.is_absolute() {
        return Err(refuse("the path must be absolute: sqlite:///folder/loop.db"));
    }
    if text.ends_with('/') {
        return Err(refuse("it names a folder, not a file"));
    }
    Ok(path)
}

/// Takes the `%41` escapes out of `text`; `None` where one is broken.
fn decode(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_owned();
    for part in parts {
        let (digits, plain) = part.as_bytes().split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok().filter(|_| digits.iter().all(u8::is_ascii_hexdigit))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(plain);
    }
    String::from_utf8(bytes).ok()
}

/// Makes the folder (0700) and an empty file (0600) where they are missing.
fn make_file(path: &Path) -> Result<(), StoreError> {
    // Closing a file drops every lock that this process holds on it, SQLite's too. So a file that exists is never
    // opened here, and nobody in this process gets to SQLite while a new one is still open here.
    static MAKING: Mutex<()> = Mutex::new(());
    let _making = MAKING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());

    if let Some(folder) = path.parent() {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder).map_err(|source| from_io(folder, source))?;
    }
    match fs::metadata(path) {
        // SQLite takes a file that is too short for its header to be empty, and would write over it.
        Ok(found) if found.is_file() && (1..SHORTEST).contains(&found.len()) => {
            return Err(damaged(path));
        }
        Ok(found) if found.is_file() => return writable(path),
        Ok(_) => {
            let source = std::io::Error::other("it is not a regular file");
            return Err(StoreError::Io { path: path.to_owned(), source });
        }
        Err(_) => {}
    }
    let mut file = fs::OpenOptions::new();
    file.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut file, 0o600);
    match file.open(path) {
        Err(source) if source.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(source) => Err(from_io(path, source)),
        Ok(_) => Ok(()),
    }
}

/// Makes sure that the file, and files beside it, can be written to. SQLite would find out later, and leave a log
/// behind that nobody can write to either.
#[cfg(unix)]
fn writable(path: &Path) -> Result<(), StoreError> {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    let folder = path.parent().unwrap_or(path);
    for (place, access) in
        [(path, Access::READ_OK | Access::WRITE_OK), (folder, Access::WRITE_OK | Access::EXEC_OK)]
    {
        accessat(CWD, place, access, AtFlags::EACCESS).map_err(|errno| from_io(place, errno.into()))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn writable(_: &Path) -> Result<(), StoreError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_path_becomes_a_url_and_back() {
        for path in ["/tmp/loop.db", "/tmp/a b/50%/é?#.db", "/"] {
            let url = url_of(Path::new(path));
            assert!(url.is_ascii(), "{url}");
            if path != "/" {
                assert_eq!(path_of(&url).unwrap(), Path::new(path), "{url}");
            }
        }
        assert_eq!(path_of("sqlite:/tmp/loop.db").unwrap(), Path::new("/tmp/loop.db"));
    }

    #[test]
    fn a_url_that_names_no_file_is_refused() {
        for url in [
            "sqlite:",
            "sqlite://",
            "sqlite:loop.db",
            "sqlite::memory:",
            "sqlite:///tmp/",
            "sqlite:///tmp/loop.db?mode=ro",
            "sqlite:///tmp/%zz.db",
            "sqlite:///tmp/%+1.db",
            "sqlite:///tmp/%4",
            "sqlite:///tmp/%00.db",
            "sqlite:///tmp/%ff.db",
        ] {
            assert!(matches!(path_of(url), Err(StoreError::BadUrl { .. })), "{url}");
        }
    }
}
