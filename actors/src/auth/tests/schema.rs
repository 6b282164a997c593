//! The store's file: made, reopened, refused.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rusqlite::Connection;
use tempfile::TempDir;

use super::support::{House, user};
use crate::auth::store::Store;
use crate::error::Kind;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_fresh_store_is_for_its_owner_alone() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("state/deeper/portico.db");
    let mut store = Store::open(&path).unwrap();
    store.ensure_key().unwrap();
    assert_eq!(mode(&directory.path().join("state")), 0o700);
    assert_eq!(mode(&directory.path().join("state/deeper")), 0o700);
    for file in fs::read_dir(directory.path().join("state/deeper")).unwrap() {
        let file = file.unwrap().path();
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
    let raw = Connection::open(&path).unwrap();
    let pragma = |name| raw.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(pragma("user_version"), 6);
    assert_eq!(raw.pragma_query_value(None, "journal_mode", |row| row.get::<_, String>(0)).unwrap(), "wal");
}

#[test]
fn a_reopened_store_holds_what_it_held() {
    let house = House::new();
    let added = house.store().add_user(user("ann@example.com")).unwrap();
    let key = house.store().ensure_key().unwrap();
    assert_eq!(house.store().users().unwrap(), [added]);
    assert_eq!(house.store().ensure_key().unwrap(), key);
    assert_eq!(house.store().keys().unwrap(), [key]);
}

#[test]
fn many_may_open_a_fresh_store_at_once() {
    let house = House::new();
    let (path, clock) = (house.path(), house.clock());
    std::thread::scope(|scope| {
        let openers: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| Store::open_with(&path, clock.clone()).and_then(|mut store| store.ensure_key())))
            .collect();
        let kids: Vec<_> = openers.into_iter().map(|opener| opener.join().unwrap().unwrap().kid).collect();
        assert!(kids.iter().all(|kid| *kid == kids[0]), "{kids:?}");
    });
}

#[test]
fn the_triggers_of_an_older_program_are_replaced() {
    let house = House::new();
    drop(house.store());
    let raw = Connection::open(house.path()).unwrap();
    let triggers = || -> Vec<(String, String)> {
        let mut statement =
            raw.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY 1").unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    };
    let made = triggers();
    assert!(made.iter().any(|(name, _)| name == "counted_insert_users"), "{made:?}");
    assert!(!made.iter().any(|(name, _)| name.ends_with("_sessions")), "{made:?}");
    raw.execute_batch(
        "PRAGMA user_version = 4; DROP TRIGGER counted_update_grants; DROP TRIGGER counted_update_personal_access_tokens;
         ALTER TABLE personal_access_tokens DROP COLUMN parent_known;
         ALTER TABLE users DROP COLUMN judged; ALTER TABLE service_accounts DROP COLUMN judged;
         CREATE TRIGGER counted_update_grants AFTER UPDATE ON grants BEGIN UPDATE revision SET number = number + 1; END;
         CREATE TRIGGER counted_insert_sessions AFTER INSERT ON sessions
         BEGIN UPDATE revision SET number = number + 1; END;",
    )
    .unwrap();
    assert_ne!(triggers(), made);
    drop(house.store());
    assert_eq!(triggers(), made);
}

#[test]
fn a_newer_programs_store_is_refused_with_the_remedy() {
    let house = House::new();
    drop(house.store());
    Connection::open(house.path()).unwrap().pragma_update(None, "user_version", 7).unwrap();
    let error = Store::open(house.path()).unwrap_err();
    assert_eq!(error.kind, Kind::Invalid);
    assert!(error.message.contains("newer portico: it has format 7, and this program knows 6"), "{error}");
    assert!(error.get_hint().is_some());
}

#[test]
fn another_programs_file_is_left_alone() {
    let directory = TempDir::new().unwrap();
    let database = directory.path().join("sales.db");
    let raw = Connection::open(&database).unwrap();
    raw.execute_batch("CREATE TABLE orders (id INTEGER)").unwrap();
    let versioned = directory.path().join("versioned.db");
    let other = Connection::open(&versioned).unwrap();
    other.execute_batch("CREATE TABLE orders (id INTEGER); PRAGMA user_version = 1").unwrap();
    let text = directory.path().join("notes.txt");
    fs::write(&text, "not a database at all, but long enough to have a header of its own: ".repeat(10)).unwrap();
    for path in [&database, &versioned, &text] {
        let before = fs::read(path).unwrap();
        let error = Store::open(path).unwrap_err();
        assert_eq!(error.kind, Kind::Invalid, "{}: {error:?}", path.display());
        assert!(error.message.contains("holds something else"), "{error}");
        assert_eq!(fs::read(path).unwrap(), before, "{}", path.display());
    }
}

#[test]
fn what_cannot_be_opened_is_told_without_its_path() {
    let directory = TempDir::new().unwrap();
    let blocked = directory.path().join("file");
    fs::write(&blocked, "").unwrap();
    let error = Store::open(blocked.join("portico.db")).unwrap_err();
    assert_eq!(error.kind, Kind::Unavailable);
    assert!(error.get_hint().is_some());
    assert!(!error.message.contains("portico.db"), "{error}");
    assert!(error.cause().unwrap().contains("portico.db"), "{error:?}");
}
