//! The store's file: made, reopened, refused.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::LazyLock;

use rusqlite::Connection;
use secrecy::ExposeSecret;
use tempfile::TempDir;

use super::support::{House, look_at_older_rows, older_rows, user};
use crate::keys::key::NewKey;
use crate::store::Store;
use crate::{Algorithm, StoreKey};
use portico_core::error::Kind;

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
    assert_eq!(pragma("user_version"), 8);
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

/// The migrations of an older version, up to the fourth format.
const OLDER: [&str; 4] = [
    include_str!("../store/migrations/sqlite/0001_identities.sql"),
    include_str!("../store/migrations/sqlite/0002_tokens.sql"),
    include_str!("../store/migrations/sqlite/0003_people.sql"),
    include_str!("../store/migrations/sqlite/0004_audit.sql"),
];

#[test]
fn an_older_programs_store_is_brought_up_to_date_with_its_triggers_replaced() {
    let (house, fresh) = (House::new(), House::new());
    drop(fresh.store());
    let triggers = |house: &House| -> Vec<(String, String)> {
        let raw = Connection::open(house.path()).unwrap();
        let mut statement =
            raw.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY 1").unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    };
    let made = triggers(&fresh);
    assert!(made.iter().any(|(name, _)| name == "counted_insert_users"), "{made:?}");
    assert!(!made.iter().any(|(name, _)| name.ends_with("_sessions")), "{made:?}");
    let raw = Connection::open(house.path()).unwrap();
    for step in OLDER {
        raw.execute_batch(step).unwrap();
    }
    raw.execute_batch(
        "PRAGMA application_id = 0x506f7274; PRAGMA user_version = 4;
         CREATE TRIGGER counted_update_grants AFTER UPDATE ON grants WHEN OLD.revoked_at IS NOT NEW.revoked_at
         BEGIN UPDATE revision SET number = number + 1; END;
         CREATE TRIGGER counted_insert_sessions AFTER INSERT ON sessions
         BEGIN UPDATE revision SET number = number + 1; END;",
    )
    .unwrap();
    raw.execute_batch(&older_rows("zeroblob(32)")).unwrap();
    drop(raw);
    look_at_older_rows(&mut house.store());
    assert_eq!(triggers(&house), made);
}

#[test]
fn a_newer_programs_store_is_refused_with_the_remedy() {
    let house = House::new();
    drop(house.store());
    Connection::open(house.path()).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = Store::open(house.path()).unwrap_err();
    assert_eq!(error.kind, Kind::Invalid);
    assert!(error.message.contains("newer portico: it has format 99, and this program knows 8"), "{error}");
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

#[test]
fn nothing_of_a_private_key_is_left_in_any_file_once_it_was_replaced() {
    for algorithm in [Algorithm::EdDsa, Algorithm::Es256, Algorithm::Rs256] {
        let house = House::new();
        let mut store = house.store();
        store.ensure_key().unwrap();
        // Another handle: without it the last one to close would empty the log.
        let other = house.store();
        assert_eq!(other.users().unwrap(), []);
        let mut privates = Vec::new();
        for round in 0..4 {
            let row = "SELECT private_key FROM signing_keys WHERE retired_at IS NULL";
            let raw = Connection::open(house.path()).unwrap();
            privates.push(raw.query_row(row, [], |row| row.get::<_, Vec<u8>>(0)).unwrap());
            drop(raw);
            assert!(holds(&house, &privates[round]), "the key that signs is there");
            if round == 2 {
                let key = StoreKey::parse(&"ab".repeat(32)).unwrap();
                // Encrypted from now on.
                store = store.sealed_with(Some(key));
                store.ensure_key().unwrap();
                assert!(!holds(&house, &privates[round]), "{algorithm:?}: what was not encrypted is left");
            }
            if round % 2 == 0 {
                store.rotate_key(algorithm).unwrap();
            } else {
                store.end_key(None, algorithm).unwrap();
            }
            for private in &privates {
                assert!(!holds(&house, private), "{algorithm:?}, round {round}");
            }
            // Without the key that it is encrypted with, or with another one, nothing replaces it.
            let others = [None, Some(StoreKey::parse(&"cd".repeat(32)).unwrap())];
            for other in others.into_iter().filter(|_| round >= 2) {
                let mut stranger = house.store().sealed_with(other);
                assert_eq!(stranger.rotate_key(algorithm).unwrap_err().kind, Kind::Invalid);
                assert_eq!(stranger.end_key(None, algorithm).unwrap_err().kind, Kind::Invalid);
            }
        }
    }
}

/// Returns true if a file of the store contains a part of these bytes that is not a part of every key of its kind.
fn holds(house: &House, octets: &[u8]) -> bool {
    static OTHERS: LazyLock<[Vec<u8>; 3]> = LazyLock::new(|| {
        [Algorithm::EdDsa, Algorithm::Es256, Algorithm::Rs256]
            .map(|algorithm| NewKey::generate_for(algorithm).unwrap().private.expose_secret().to_vec())
    });
    let usual = |part: &[u8]| OTHERS.iter().any(|key| key.windows(part.len()).any(|window| window == part));
    // Long enough that none is only the frame of an RSA key, which differs by a length and occurs in other keys
    // too.
    let parts: Vec<&[u8]> = octets.chunks_exact(16).filter(|part| !usual(part)).collect();
    let files = fs::read_dir(house.path().parent().unwrap()).unwrap();
    let files = files.map(|entry| fs::read(entry.unwrap().path()).unwrap());
    files.into_iter().any(|file| parts.iter().any(|part| memchr::memmem::find(&file, part).is_some()))
}
