//! Tests that content which the store's file cannot provide any more stays in force, and that every change of it is
//! noticed.

use std::fs;

use rusqlite::Connection;

use super::support::{House, ask, basic, user};
use crate::Algorithm;
use crate::records::NewPat;
use crate::store::NewRecord;
use crate::sync::FileWatch;
use portico_core::error::Kind;

const ANN: &str = "ann@example.com";

#[actix::test]
async fn while_the_store_is_away_memory_answers_and_one_event_tells() {
    let house = House::new();
    let mut store = house.store();
    store.add_user(user(ANN)).unwrap();
    let (_, token) = store.create_pat(ANN, NewPat::default()).unwrap();
    let actor = house.actor().await;
    let hidden = house.path().with_extension("hidden");
    for outage in 1..=2 {
        fs::rename(house.path(), &hidden).unwrap();
        for _ in 0..3 {
            assert!(ask(&actor, basic(ANN, &token)).await.is_ok());
        }
        assert_eq!(house.outages().len(), outage);
        let unknown = ask(&actor, basic(ANN, &"ptc_pat_of_nobody".into())).await.unwrap_err();
        assert_eq!(unknown.kind, Kind::Unavailable, "it may be new");
        assert!(unknown.get_retry_after().is_some());
        assert!(!house.path().exists(), "nothing was made in its place");
        fs::rename(&hidden, house.path()).unwrap();
        assert!(ask(&actor, basic(ANN, &token)).await.is_ok());
        assert_eq!((house.outages().len(), house.resumptions()), (outage, outage));
    }
    let (record, other) = store.create_pat(ANN, NewPat::default()).unwrap();
    assert!(ask(&actor, basic(ANN, &other)).await.is_ok());
    store.revoke_pat(&record.id.to_string()).unwrap();
    assert!(ask(&actor, basic(ANN, &other)).await.is_err());
}

#[actix::test]
async fn a_restored_backup_is_in_force_at_once() {
    let house = House::new();
    let mut store = house.store();
    store.add_user(user(ANN)).unwrap();
    let (_, token) = store.create_pat(ANN, NewPat::default()).unwrap();
    let actor = house.actor().await;
    assert!(ask(&actor, basic(ANN, &token)).await.is_ok());
    let backup = House::new();
    drop(store);
    let mut other = backup.store();
    other.add_user(user("bob@example.com")).unwrap();
    let (_, bobs) = other.create_pat("bob@example.com", NewPat::default()).unwrap();
    drop(other);
    for name in ["portico.db-wal", "portico.db-shm"] {
        let _ = fs::remove_file(house.path().with_file_name(name));
    }
    fs::rename(backup.path(), house.path()).unwrap();
    assert!(ask(&actor, basic("bob@example.com", &bobs)).await.is_ok());
    assert!(ask(&actor, basic(ANN, &token)).await.is_err());
    assert!(house.outages().is_empty(), "{:?}", house.outages());
}

#[actix::test]
async fn a_store_that_a_newer_program_took_over_is_not_misread() {
    let house = House::new();
    let mut store = house.store();
    store.add_user(user(ANN)).unwrap();
    let (_, token) = store.create_pat(ANN, NewPat::default()).unwrap();
    let actor = house.actor().await;
    let raw = Connection::open(house.path()).unwrap();
    let known: i64 = raw.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    raw.pragma_update(None, "user_version", 99).unwrap();
    raw.execute_batch("DELETE FROM users").unwrap();
    assert!(ask(&actor, basic(ANN, &token)).await.is_ok());
    let outages = house.outages();
    assert!(matches!(outages.as_slice(), [cause] if cause.contains("newer portico")), "{outages:?}");
    raw.pragma_update(None, "user_version", known).unwrap();
    assert!(ask(&actor, basic(ANN, &token)).await.is_err());
}

#[test]
fn records_of_the_audit_trail_are_no_change_and_everything_else_is() {
    let house = House::new();
    let mut store = house.store();
    let mut watch = FileWatch::open(house.path(), house.clock(), None, true).unwrap();
    assert!(watch.changed().unwrap().is_some(), "nothing was read yet");
    let record = NewRecord { time: "t".to_owned(), record: "{}".to_owned() };
    store.append_audit(&[record.clone(), record], 1).unwrap();
    assert_eq!(store.audit_after(0, 9).unwrap(), [(2, "{}".to_owned())]);
    assert!(watch.changed().unwrap().is_none());
    store.add_user(user(ANN)).unwrap();
    assert!(watch.changed().unwrap().is_some());
    let (token, _) = store.create_pat(ANN, NewPat::default()).unwrap();
    assert!(watch.changed().unwrap().is_some());
    store.revoke_pat(&token.id.to_string()).unwrap();
    assert!(watch.changed().unwrap().is_some());
    store.rotate_key(Algorithm::EdDsa).unwrap();
    assert!(watch.changed().unwrap().is_some());
    store.remove_user(ANN).unwrap();
    assert!(watch.changed().unwrap().is_some());
    assert!(watch.changed().unwrap().is_none());
    // A table that is made later is counted from the next opening on.
    let raw = Connection::open(house.path()).unwrap();
    raw.execute_batch("CREATE TABLE later (a)").unwrap();
    drop(house.store());
    raw.execute_batch("INSERT INTO later VALUES (1)").unwrap();
    assert!(watch.changed().unwrap().is_some());
}
