//! Opening: what is made, what is refused, and that nothing refused is touched.

use std::fs;
use std::path::Path;

use loop_store::{Store, StoreError};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};

use crate::support::{Folder, at, name, new_loop, outcome};

/// A connection beside the store, as another program would have it.
async fn connect(file: &Path) -> SqliteConnection {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    SqliteConnectOptions::new().filename(file).create_if_missing(true).connect().await.unwrap()
}

async fn run(file: &Path, sql: &'static str) {
    let mut connection = connect(file).await;
    sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

/// Opens what must be refused, and sees that not a byte of it has changed.
async fn refused(folder: &Folder) -> StoreError {
    let before = fs::read(folder.file()).unwrap();
    let error = Store::open(&folder.url()).await.unwrap_err();
    assert_eq!(fs::read(folder.file()).unwrap(), before, "{error}");
    error
}

#[tokio::test]
async fn a_new_store_is_whole_and_empty_and_its_users_alone() {
    let folder = Folder::new();
    let store = folder.open().await;
    let report = store.check().await.unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
    assert_eq!((report.schema, report.newest_schema, report.loops), (2, 2, 0));
    assert_eq!(report.path, folder.file());

    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(folder.file().parent().unwrap()), 0o700);
        for file in fs::read_dir(folder.file().parent().unwrap()).unwrap() {
            let file = file.unwrap().path();
            assert_eq!(mode(&file), 0o600, "{}", file.display());
        }
    }
}

#[tokio::test]
async fn what_was_written_is_there_after_reopening() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    let recorded = store.record("L", &outcome(&["CC"], Some("Codex"), 1)).await.unwrap();
    let rows = store.loops(true).await.unwrap();
    store.close().await;

    let store = folder.open().await;
    assert_eq!(store.loops(true).await.unwrap(), rows);
    assert_eq!(store.open_deliveries(None).await.unwrap(), [recorded.delivery.unwrap()]);
}

#[tokio::test]
async fn a_store_is_read_while_another_handle_has_it_open() {
    let folder = Folder::new();
    let first = folder.open_with_loop().await;
    let second = folder.open().await;
    assert!(second.loop_row("L").await.unwrap().is_some());
    second.close().await;
    first.add_loop(&new_loop("M")).await.unwrap();
    assert_eq!(first.loops(false).await.unwrap().len(), 2);
}

#[tokio::test]
async fn many_who_make_a_store_at_once_get_the_same_one() {
    let folder = Folder::new();
    let tasks: Vec<_> = (0..12)
        .map(|number| {
            let url = folder.url();
            tokio::spawn(async move {
                let store = Store::open(&url).await.unwrap();
                store.add_loop(&new_loop(&format!("L{number}"))).await.unwrap();
                store.close().await;
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let report = folder.open().await.check().await.unwrap();
    assert_eq!((report.loops, report.problems.len()), (12, 0));
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_and_left_alone() {
    for length in [1, 16, 100, 511, 512, 1024, 4095, 4096, 10_000] {
        let folder = Folder::new();
        fs::create_dir_all(folder.file().parent().unwrap()).unwrap();
        let notes = "not a database, but somebody's notes\n".repeat(300);
        fs::write(folder.file(), &notes[..length]).unwrap();
        let error = refused(&folder).await;
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
        assert!(error.to_string().contains("turns and verdicts are in git"), "{error}");
    }
}

#[tokio::test]
async fn a_torn_store_is_refused_or_reported_and_never_overwritten() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    for number in 0..200 {
        store.event("L", at(number), "turn", &"long ".repeat(100)).await.unwrap();
    }
    store.close().await;
    let whole = fs::read(folder.file()).unwrap();
    fs::write(folder.file(), &whole[..whole.len() / 2]).unwrap();
    match Store::open(&folder.url()).await {
        Err(error) => assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}"),
        Ok(store) => match store.check().await {
            Err(error) => assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}"),
            Ok(report) => assert!(!report.problems.is_empty()),
        },
    }
    assert_eq!(fs::read(folder.file()).unwrap().len(), whole.len() / 2);
}

#[tokio::test]
async fn damage_in_the_middle_is_reported() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    for number in 0..200 {
        store.event("L", at(number), "turn", &"long ".repeat(100)).await.unwrap();
    }
    store.close().await;
    let mut bytes = fs::read(folder.file()).unwrap();
    let page = bytes.len() - 4 * 4096;
    bytes[page..page + 2048].fill(0xa5);
    fs::write(folder.file(), bytes).unwrap();
    match folder.open().await.check().await {
        Ok(report) => assert!(!report.problems.is_empty()),
        Err(error) => assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}"),
    }
}

#[tokio::test]
async fn a_newer_store_is_refused_and_left_alone() {
    let folder = Folder::new();
    folder.open_with_loop().await.close().await;
    run(&folder.file(), "PRAGMA user_version = 99").await;
    let error = refused(&folder).await;
    assert!(matches!(error, StoreError::Newer { found: 99, known: 2, .. }), "{error:?}");
}

#[tokio::test]
async fn another_programs_database_is_refused_and_left_alone() {
    for sql in ["CREATE TABLE notes (text)", "PRAGMA user_version = 1", "PRAGMA application_id = 7"] {
        let folder = Folder::new();
        run(&folder.file(), sql).await;
        let error = refused(&folder).await;
        assert!(matches!(error, StoreError::Corrupt { .. }), "{sql}: {error:?}");
        assert!(error.to_string().contains("another program's database"), "{sql}: {error}");
    }
}

#[tokio::test]
async fn a_store_of_ours_without_its_tables_is_refused() {
    let folder = Folder::new();
    run(&folder.file(), "PRAGMA application_id = 0x6c6f6f70; PRAGMA user_version = 1").await;
    let error = refused(&folder).await;
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
}

#[tokio::test]
async fn a_row_that_loop_never_writes_is_called_damage() {
    let folder = Folder::new();
    let store = folder.open_with_loop().await;
    run(&folder.file(), "UPDATE loops SET skipped = 'nonsense'").await;
    let error = store.loops(true).await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
    assert!(error.to_string().contains("skipped"), "{error}");
}

#[tokio::test]
async fn a_folder_in_the_place_of_the_file_is_refused() {
    let folder = Folder::new();
    fs::create_dir_all(folder.file()).unwrap();
    let error = Store::open(&folder.url()).await.unwrap_err();
    assert!(matches!(error, StoreError::Io { .. }), "{error:?}");
    fs::remove_dir(folder.file()).unwrap();
    fs::remove_dir(folder.file().parent().unwrap()).unwrap();
    fs::write(folder.file().parent().unwrap(), "a file in the place of the folder").unwrap();
    let error = Store::open(&folder.url()).await.unwrap_err();
    assert!(matches!(error, StoreError::Io { .. }), "{error:?}");
}

/// Whether permissions mean anything to this process: to root they do not.
#[cfg(unix)]
fn obeys_permissions(folder: &Folder) -> bool {
    let probe = folder.path().join("probe");
    fs::write(&probe, "").unwrap();
    set_mode(&probe, 0o400);
    fs::OpenOptions::new().write(true).open(&probe).is_err()
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn a_read_only_place_is_named_as_such() {
    let folder = Folder::new();
    if !obeys_permissions(&folder) {
        return;
    }
    folder.open_with_loop().await.close().await;
    let state = folder.file().parent().unwrap().to_owned();

    set_mode(&folder.file(), 0o400);
    let file = Store::open(&folder.url()).await.unwrap_err();
    set_mode(&folder.file(), 0o600);

    set_mode(&state, 0o500);
    let within = Store::open(&folder.url()).await.unwrap_err();
    let new = Store::open(&Store::url_of_file(&state.join("new.db"))).await.unwrap_err();
    let deeper = Store::open(&Store::url_of_file(&state.join("new/loop.db"))).await.unwrap_err();
    set_mode(&state, 0o700);

    for error in [file, within, new, deeper] {
        assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
    }
    assert!(folder.open().await.loop_row("L").await.unwrap().is_some());
}

/// How the tables and indexes of a store are declared.
async fn schema(folder: &Folder) -> Vec<String> {
    let query =
        "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY name";
    sqlx::query_scalar(query).fetch_all(&mut connect(&folder.file()).await).await.unwrap()
}

#[tokio::test]
async fn an_old_store_becomes_what_a_new_one_is() {
    let (old, new) = (Folder::new(), Folder::new());
    run(&old.file(), include_str!("fixtures/v1.sql")).await;
    old.open().await.close().await;
    new.open().await.close().await;
    assert_eq!(schema(&old).await, schema(&new).await);
}

#[tokio::test]
async fn the_store_of_the_first_release_still_opens() {
    let folder = Folder::new();
    run(&folder.file(), include_str!("fixtures/v1.sql")).await;
    let store = folder.open().await;

    let report = store.check().await.unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
    let loops = store.loops(true).await.unwrap();
    assert_eq!(loops.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["done", "L"]);
    let open = store.open_deliveries(Some("L")).await.unwrap();
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].agent, name("CC"));
    assert_eq!(store.turns("L").await.unwrap().len(), 2);
    assert_eq!(store.sessions(None).await.unwrap().len(), 1);
    assert_eq!(store.incidents(10).await.unwrap().len(), 1);
    assert_eq!(store.events("L", 0, 10).await.unwrap().len(), 2);
    assert_eq!(store.list_writes(None).await.unwrap().len(), 2);
    let recorded = store.record("L", &outcome(&["CC", "Codex"], Some("CC"), 100)).await.unwrap();
    assert_eq!(recorded.delivery.as_ref(), open.first());
}
