//! Two spellings of a name are one name, also where a store is from before that was so.

use super::support::{House, SALES, account, ask, basic, user};
use crate::oauth::client::NewClient;
use crate::records::NewPat;
use portico_core::error::Kind;
use portico_core::principal::Scope;

/// Spellings of one address.
const SPELLINGS: [&str; 5] = [
    "jos\u{e9}@example.org",
    "jose\u{301}@example.org",
    "JOS\u{c9}@Example.ORG",
    "jos\u{200b}\u{e9}@example.org",
    "\u{202e}jos\u{e9}@example.org",
];

#[test]
fn an_address_is_taken_in_every_spelling() {
    let mut store = House::new().store();
    store.add_user(user(SPELLINGS[0])).unwrap();
    for spelling in SPELLINGS {
        assert_eq!(store.add_user(user(spelling)).unwrap_err().kind, Kind::Invalid, "{spelling:?}");
        assert_eq!(store.disable_user(spelling).unwrap().email, SPELLINGS[0], "{spelling:?}");
    }
    store.remove_user(SPELLINGS[0]).unwrap();
    for hidden in &SPELLINGS[3..] {
        let error = store.add_user(user(hidden)).unwrap_err();
        assert!(error.message.contains("invisible characters"), "{error}");
    }
}

#[test]
fn names_are_taken_in_every_spelling_and_hide_nothing() {
    let mut store = House::new().store();
    let client = |name: &str| NewClient {
        name: name.to_owned(),
        redirect_uris: vec!["https://app.example.org/back".to_owned()],
        confidential: false,
    };
    let named = |name: &str| NewPat { name: Some(name.to_owned()), ..NewPat::default() };
    store.add_user(user("ann@example.org")).unwrap();
    let (made, _) = store.create_service_account(account("Nightly R\u{e9}port", &[SALES], Scope::Read)).unwrap();
    store.create_pat("ann@example.org", named("Nightly R\u{e9}port")).unwrap();
    store.add_client(&client("Nightly R\u{e9}port")).unwrap();
    for spelling in ["nightly r\u{e9}port", "NIGHTLY RE\u{301}PORT", "Nightly\u{a0}R\u{e9}port", "Nightly  R\u{e9}port"]
    {
        let taken = [
            store.create_service_account(account(spelling, &[SALES], Scope::Read)).map(drop),
            store.create_pat("ann@example.org", named(spelling)).map(drop),
            store.add_client(&client(spelling)).map(drop),
        ];
        for answer in taken {
            assert!(answer.unwrap_err().message.contains("already"), "{spelling:?}");
        }
        assert_eq!(store.disable_service_account(spelling).unwrap().client_id, made.client_id, "{spelling:?}");
    }
    for hidden in ["a\u{200b}b", "a\u{202e}b", "a\u{ad}b", "a\u{2028}b", "\u{feff}a", "a\u{3164}"] {
        let refused = [
            store.create_service_account(account(hidden, &[SALES], Scope::Read)).map(drop),
            store.create_pat("ann@example.org", named(hidden)).map(drop),
            store.add_client(&client(hidden)).map(drop),
        ];
        for answer in refused {
            assert!(answer.unwrap_err().message.contains("invisible characters"), "{hidden:?}");
        }
    }
    store.revoke_pat("NIGHTLY R\u{c9}PORT").unwrap();
    store.remove_client("nightly r\u{e9}port").unwrap();
}

/// Puts a store back to the format before addresses were compared in any spelling.
fn make_older(house: &House, keys: &[(&str, &str)]) {
    let version = match house.place().file() {
        Some(_) => "PRAGMA user_version = 6",
        None => "UPDATE store_format SET version = 6",
    };
    let keys = keys.iter().map(|(email, key)| format!("UPDATE users SET email_key = '{key}' WHERE email = '{email}';"));
    let later = ["secret_parent", "secret_parent_known", "secret_scope", "secret_reach", "named"];
    let later = later.map(|column| format!("ALTER TABLE service_accounts DROP COLUMN {column};")).concat();
    house.execute(&format!("{later}{}{version}", keys.collect::<String>()));
}

#[actix::test]
async fn keys_of_an_older_store_are_computed_anew_and_who_collides_is_set_apart() {
    let house = House::new();
    let mut store = house.store();
    let (first, other) = ("Jos\u{e9}@example.org", "other@example.org");
    store.add_user(user(first)).unwrap();
    let (_, of_first) = store.create_pat(first, NewPat::default()).unwrap();
    house.pass(1);
    store.add_user(user(other)).unwrap();
    let (_, of_other) = store.create_pat(other, NewPat::default()).unwrap();
    let twin = "jose\u{301}@example.org";
    drop(store);
    house.execute(&format!("UPDATE users SET email = '{twin}' WHERE email = '{other}'"));
    make_older(&house, &[(first, "jos\u{e9}@example.org"), (twin, twin)]);

    let mut store = house.store();
    let users = store.users().unwrap();
    assert_eq!(users.len(), 2, "nothing is lost: {users:?}");
    let disabled = |email: &str| users.iter().find(|user| user.email == email).unwrap().disabled_at.is_some();
    assert!(!disabled(first) && disabled(twin), "{users:?}");
    let actor = house.actor().await;
    assert!(ask(&actor, basic(twin, &of_first)).await.is_ok(), "it is the first one's name");
    assert!(ask(&actor, basic(twin, &of_other)).await.is_err());
    assert!(ask(&actor, portico_core::principal::Credential::Bearer(of_other.clone())).await.is_err());
    let error = store.enable_user(twin).unwrap_err();
    assert!(error.message.contains("another spelling") && error.get_hint().is_some(), "{error}");
    // Each is found in its own spelling.
    assert_eq!(store.disable_user(twin).unwrap().email, twin);
    assert_eq!(store.remove_user(first).unwrap().email, first);
    assert_eq!(store.enable_user(twin).unwrap().disabled_at, None);
    assert!(ask(&actor, basic("JOS\u{c9}@example.org", &of_other)).await.is_ok(), "now it is this one's");
}
