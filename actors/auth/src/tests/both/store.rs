//! Tests of the command line's operations on the store, and of all their errors.

use std::time::Duration;

use secrecy::ExposeSecret;
use serde_json::json;

use super::support::{House, SALES, STOCK, account, only, user};
use crate::records::{NewPat, NewUser};
use crate::store::Store;
use crate::{Algorithm, CLIENT_ID_PREFIX, CLIENT_SECRET_PREFIX, PAT_PREFIX};
use portico_core::error::{Error, Kind};
use portico_core::principal::{Rights, Scope};

/// Asserts the kind, a part of the message, and a part of the hint (`None`: no hint expected).
#[track_caller]
fn refused<T: std::fmt::Debug>(answer: Result<T, Error>, kind: Kind, message: &str, hint: Option<&str>) {
    let error = answer.unwrap_err();
    assert_eq!(error.kind, kind, "{error}");
    assert!(error.message.contains(message), "{error}");
    if let Some(hint) = hint {
        assert!(error.get_hint().unwrap().contains(hint), "{:?}", error.get_hint());
    }
}

fn named(name: &str) -> NewPat {
    NewPat { name: Some(name.to_owned()), ..NewPat::default() }
}

#[test]
fn users_are_unique_whatever_the_case() {
    let house = House::new();
    let mut store = house.store();
    let ann = store.add_user(user("Ann@Example.com")).unwrap();
    assert_eq!(
        (ann.email.as_str(), ann.rights.widest(), ann.created_at),
        ("Ann@Example.com", Scope::Write, house.now())
    );
    refused(store.add_user(user("ann@example.COM")), Kind::Invalid, "already a user", Some("remove that user"));
    store.add_user(NewUser { rights: Rights::ALL, ..user("bob@example.com") }).unwrap();
    let users = store.users().unwrap();
    assert_eq!(users.iter().map(|user| user.rights.widest()).collect::<Vec<_>>(), [Scope::Write, Scope::Admin]);
    refused(store.remove_user("anne@example.com"), Kind::NotFound, "no user", Some("Ann@Example.com"));
    refused(store.remove_user("zoe@elsewhere.org"), Kind::NotFound, "no user", Some("portico user list"));
    assert_eq!(store.remove_user("ANN@example.com").unwrap(), ann);
    assert_eq!(store.users().unwrap().len(), 1);
    store.add_user(user("ann@example.com")).unwrap();
}

#[test]
fn an_address_that_nobody_could_log_in_with_is_refused() {
    let mut store = House::new().store();
    let long = format!("{}@example.com", "a".repeat(250));
    for email in ["", "ann", "@example.com", "ann@", "a@b@c", "an n@example.com", "a:b@example.com", "a\n@b.c", &long] {
        refused(store.add_user(user(email)), Kind::Invalid, "e-mail address", None);
    }
    assert!(store.users().unwrap().is_empty());
}

#[test]
fn tokens_are_made_listed_and_revoked() {
    let house = House::new();
    let mut store = house.store();
    store.add_user(user("ann@example.com")).unwrap();
    store.add_user(user("bob@example.com")).unwrap();
    let end = house.now().after(Duration::from_hours(24));
    let new = NewPat { expires_at: Some(end), rights: only(&[SALES], Scope::Read), ..named("laptop") };
    let (laptop, secret) = store.create_pat("ANN@example.com", new).unwrap();
    assert!(secret.expose_secret().starts_with(PAT_PREFIX));
    assert_eq!((laptop.email.as_str(), laptop.name.as_str()), ("ann@example.com", "laptop"));
    let (unnamed, other) = store.create_pat("bob@example.com", NewPat::default()).unwrap();
    assert!(unnamed.name.starts_with("token-") && unnamed.expires_at.is_none(), "{unnamed:?}");
    assert_eq!(store.pats(None).unwrap(), [laptop.clone(), unnamed.clone()]);
    assert_eq!(store.pats(Some("bob@example.com")).unwrap(), std::slice::from_ref(&unnamed));

    house.pass(5);
    let revoked = store.revoke_pat("laptop").unwrap();
    assert_eq!((revoked.id, revoked.revoked_at), (laptop.id, Some(house.now())));
    house.pass(5);
    assert_eq!(store.revoke_pat(&laptop.id.to_string()).unwrap(), revoked, "twice changes nothing");
    store.create_pat("ann@example.com", named("laptop")).unwrap();
    assert_eq!(store.revoke_pat(other.expose_secret()).unwrap().id, unnamed.id);
    assert_eq!(store.pats(None).unwrap().len(), 3);
    store.remove_user("ann@example.com").unwrap();
    assert_eq!(store.pats(None).unwrap().len(), 1);
}

#[test]
fn tokens_that_cannot_be_are_refused() {
    let house = House::new();
    let mut store = house.store();
    store.add_user(NewUser { rights: only(&[SALES], Scope::Read), ..user("ann@example.com") }).unwrap();
    store.add_user(user("bob@example.com")).unwrap();
    let ann = "ann@example.com";
    let mut create = |email, new| store.create_pat(email, new);
    create(ann, named("laptop")).unwrap();
    refused(create("amy@example.com", named("x")), Kind::NotFound, "no user", Some(ann));
    refused(create(ann, named("laptop")), Kind::Invalid, "already has a token", Some("revoke"));
    for name in ["", " x", "a\tb", "ptc_pat_x", &"n".repeat(101)] {
        refused(create(ann, named(name)), Kind::Invalid, "the name of a token", None);
    }
    let ended = NewPat { expires_at: Some(house.now()), ..named("old") };
    refused(create(ann, ended), Kind::Invalid, "expired already", None);
    let wide = NewPat { rights: Rights::all(Scope::Write), ..named("wide") };
    refused(create(ann, wide), Kind::Invalid, "no more than the scope read", None);
    let far = NewPat { rights: only(&[SALES, STOCK], Scope::Admin), ..named("far") };
    refused(create(ann, far), Kind::Invalid, "does not reach", None);
    create("bob@example.com", named("laptop")).unwrap();
    refused(store.pats(Some("nobody@example.com")), Kind::NotFound, "no user", None);
    refused(store.revoke_pat("laptop"), Kind::Invalid, "several users", Some("of bob@example.com"));
    refused(store.revoke_pat("lapdog"), Kind::NotFound, "\"lapdog\"", Some("laptop"));
    refused(store.revoke_pat(&STOCK.to_string()), Kind::NotFound, "no token", Some("portico pat list"));
    let error = store.revoke_pat("ptc_pat_pasted").unwrap_err();
    assert!(!format!("{error:?}").contains("pasted"), "{error:?}");
}

#[test]
fn service_accounts_are_made_changed_and_removed() {
    let house = House::new();
    let mut store = house.store();
    let (nightly, secret) =
        store.create_service_account(account("nightly", &[SALES, STOCK, SALES], Scope::Read)).unwrap();
    assert!(nightly.client_id.starts_with(CLIENT_ID_PREFIX));
    assert!(secret.expose_secret().starts_with(CLIENT_SECRET_PREFIX));
    assert_eq!(nightly.rights, only(&[SALES, STOCK], Scope::Read));
    house.pass(5);
    let (rotated, newer) = store.rotate_service_account("nightly").unwrap();
    assert_ne!(secret.expose_secret(), newer.expose_secret());
    assert_eq!((rotated.client_id.as_str(), rotated.rotated_at), (nightly.client_id.as_str(), Some(house.now())));
    assert_eq!(store.disable_service_account(&nightly.client_id).unwrap().disabled_at, Some(house.now()));
    assert_eq!(store.enable_service_account("nightly").unwrap(), rotated);
    let changed = store.change_service_account(account("nightly", &[STOCK], Scope::Write)).unwrap();
    assert_eq!(changed.rights, only(&[STOCK], Scope::Write));
    assert_eq!(store.service_accounts().unwrap(), std::slice::from_ref(&changed));
    assert_eq!(store.remove_service_account(&nightly.client_id).unwrap(), changed);
    assert!(store.service_accounts().unwrap().is_empty());
}

#[test]
fn service_accounts_that_cannot_be_are_refused() {
    let mut store = House::new().store();
    store.create_service_account(account("nightly", &[SALES], Scope::Read)).unwrap();
    let mut create = |name: &str, connections: &[_]| {
        store.create_service_account(account(name, connections, Scope::Read)).map(|(account, _)| account)
    };
    refused(create("nightly", &[SALES]), Kind::Invalid, "already a service account", Some("rotate"));
    refused(create("empty", &[]), Kind::Invalid, "at least one connection", None);
    refused(create("ptc_ci_mine", &[SALES]), Kind::Invalid, "must not begin with ptc_", None);
    let unknown = [
        store.rotate_service_account("nightli").map(|(account, _)| account),
        store.disable_service_account("nightli"),
        store.enable_service_account("nightli"),
        store.remove_service_account("nightli"),
        store.change_service_account(account("nightli", &[SALES], Scope::Read)),
    ];
    for answer in unknown {
        refused(answer, Kind::NotFound, "no service account named \"nightli\"", Some("nightly"));
    }
    let error = store.remove_service_account("ptc_cs_pasted").unwrap_err();
    assert!(!format!("{error:?}").contains("pasted"), "{error:?}");
}

#[test]
fn a_rotated_key_keeps_no_private_part() {
    let house = House::new();
    let mut store = house.store();
    let first = store.ensure_key().unwrap();
    house.pass(5);
    let second = store.rotate_key(Algorithm::EdDsa).unwrap();
    assert_eq!((second.algorithm, second.retired_at), ("EdDSA", None));
    let keys = store.keys().unwrap();
    assert_eq!(keys.iter().map(|key| &key.kid).collect::<Vec<_>>(), [&second.kid, &first.kid]);
    assert_eq!(keys[1].retired_at, Some(house.now()));
    let private: Vec<_> = store.contents().unwrap().keys.into_iter().map(|key| key.private.is_some()).collect();
    assert_eq!(private, [true, false]);
}

#[test]
fn listings_are_camel_case_and_hold_no_secret() {
    let house = House::new();
    let mut store = house.store();
    let ann = store.add_user(NewUser { rights: only(&[SALES], Scope::Write), ..user("ann@example.com") }).unwrap();
    let time = house.now().to_string();
    assert_eq!(
        serde_json::to_value(&ann).unwrap(),
        json!({"email": "ann@example.com", "admin": false, "reach": [SALES], "scope": "write", "createdAt": time,
               "hasPassword": false, "disabledAt": null})
    );
    let (pat, _) = store.create_pat("ann@example.com", named("laptop")).unwrap();
    assert_eq!(pat.rights, ann.rights);
    assert_eq!(
        serde_json::to_value(&pat).unwrap(),
        json!({"id": pat.id, "email": "ann@example.com", "name": "laptop", "scope": "write", "reach": [SALES],
               "createdAt": time, "expiresAt": null, "revokedAt": null, "lastUsedAt": null,
               "parent": null, "parentKnown": true})
    );
    let (nightly, _) = store.create_service_account(account("nightly", &[SALES], Scope::Read)).unwrap();
    assert_eq!(
        serde_json::to_value(&nightly).unwrap(),
        json!({"clientId": nightly.client_id, "name": "nightly", "scope": "read", "connections": [SALES],
               "createdAt": time, "rotatedAt": null, "disabledAt": null,
               "secretOpens": {"scope": "read", "connections": [SALES]}, "secretParent": null, "secretEndsAt": null})
    );
    let key = store.ensure_key().unwrap();
    assert_eq!(
        serde_json::to_value(&key).unwrap(),
        json!({"kid": key.kid, "algorithm": "EdDSA", "createdAt": time, "retiredAt": null})
    );
}

#[test]
fn what_an_older_program_made_is_told_where_it_could_be_more_than_it_should() {
    let house = House::new();
    let mut store = house.store();
    store.add_user(user("ann@example.com")).unwrap();
    let (first, _) = store.create_pat("ann@example.com", NewPat::default()).unwrap();
    house.pass(5);
    store.add_user(NewUser { rights: only(&[SALES], Scope::Admin), ..user("local@example.com") }).unwrap();
    store.add_user(user("bob@example.com")).unwrap();
    store.create_service_account(account("within", &[SALES], Scope::Read)).unwrap();
    store.create_service_account(account("beyond", &[SALES, STOCK], Scope::Read)).unwrap();
    let (second, _) = store.create_pat("ann@example.com", NewPat::default()).unwrap();
    let told = |store: &Store| {
        let found = store.of_unknown_origin().unwrap();
        let mut told: Vec<String> = found.tokens.into_iter().map(|token| token.id.to_string()).collect();
        told.extend(found.users.into_iter().map(|user| user.email));
        told.extend(found.accounts.into_iter().map(|account| account.name));
        told
    };
    assert!(told(&store).is_empty());
    for table in ["users", "service_accounts"] {
        house.execute(&format!("UPDATE {table} SET judged = 0"));
    }
    house.execute("UPDATE personal_access_tokens SET parent_known = 0");
    let (bob, beyond) = ("bob@example.com".to_owned(), "beyond".to_owned());
    assert_eq!(told(&store), [second.id.to_string(), bob, beyond], "not {}, which was the first", first.id);
    store.revoke_pat(&second.id.to_string()).unwrap();
    store.rotate_service_account("beyond").unwrap();
    store.change_user(user("bob@example.com")).unwrap();
    assert!(told(&store).is_empty());
    // A secret that was there while a token of an administrator's was, which has ended since.
    let (token, _) = store.create_pat("local@example.com", NewPat::default()).unwrap();
    house.execute("UPDATE service_accounts SET secret_parent_known = 0 WHERE name = 'within'");
    let secrets = |store: &Store| store.of_unknown_origin().unwrap().secrets.len();
    assert_eq!(secrets(&store), 0);
    store.revoke_pat(&token.id.to_string()).unwrap();
    assert_eq!(secrets(&store), 1);
    house.pass(1);
    store.rotate_service_account("within").unwrap();
    assert_eq!(secrets(&store), 0);
}
