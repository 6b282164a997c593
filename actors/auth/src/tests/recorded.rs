//! Tests that every change of rights is recorded, whatever the request: the lists here are compared with the
//! sources, so that a new operation must be added to one of them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use secrecy::ExposeSecret;
use serde_json::json;
use tokio::sync::Notify;
use uuid::Uuid;

use super::support::{
    House, Kept, SALES, STOCK, account, approval, new_client, only, pace, process, public, redemption, refreshing, user,
};
use crate::accounts::AdminAction as Asked;
use crate::oauth::authorization::{Approval, NextRefresh};
use crate::recording::{AuditContext, AuditRecorder, Recording, StoreRecords};
use crate::records::{NewPat, NewUser};
use crate::secret::Digest;
use crate::store::{Change, Store};
use crate::{Algorithm, AuthSettings};
use portico_core::error::{Error, Kind, Result};
use portico_core::principal::{Rights, Scope};

const ANN: &str = "ann@example.com";

/// The store's files, as they are.
pub(super) const STORE: [&str; 12] = [
    include_str!("../store/tables/service_accounts.rs"),
    include_str!("../store/tables/clients.rs"),
    include_str!("../store/tables/consents.rs"),
    include_str!("../store/contents.rs"),
    include_str!("../store/tables/grants.rs"),
    include_str!("../store/tables/keys.rs"),
    include_str!("../store/tables/revoked.rs"),
    include_str!("../store/tables/sessions.rs"),
    include_str!("../store/tables/subjects.rs"),
    include_str!("../store/tables/tokens.rs"),
    include_str!("../store/tables/trail.rs"),
    include_str!("../store/tables/users.rs"),
];

/// Operations that write to the store without changing rights, with the reason.
const OF_NO_CONCERN: [(&str, &str); 7] = [
    ("append_audit", "the trail itself"),
    ("ensure_key", "the first key, before there is anybody"),
    ("note_uses", "a stamp"),
    ("session", "a stamp"),
    ("begin_session", "a sign-in has its own record, and opens no more than its credential"),
    ("begin_session_by_token", "the same"),
    ("end_session", "a sign-out has its own record"),
];

/// The names of functions that begin with `start` in `text`.
pub(super) fn functions<'t>(text: &'t str, starts: &[&str], has: &str) -> BTreeSet<&'t str> {
    let code = text.split("#[cfg(test)]").next().unwrap();
    let at = |start: &str| code.match_indices(start).map(|(at, found)| at + found.len()).collect::<Vec<_>>();
    let name = |at: usize| {
        let (name, rest) = code[at..].split_once('(')?;
        let arguments = rest.split(") ->").next()?;
        arguments.contains(has).then(|| name.split('<').next().unwrap())
    };
    starts.iter().flat_map(|start| at(start)).filter_map(name).collect()
}

fn of_sales(client: &str) -> Approval {
    approval(client, only(&[SALES], Scope::Read))
}

/// One operation, once.
type Attempt<'a> = &'a dyn Fn(&mut Store) -> Result<()>;

/// Runs every operation that changes something; `before` may try each, and must undo what it does.
fn each(
    store: &mut Store,
    mut before: impl FnMut(&'static str, &mut Store, Attempt<'_>),
    mut made: impl FnMut(&'static str, &str),
) {
    macro_rules! run {
        ($name:ident($($argument:expr),*), $action:expr) => {{
            before(stringify!($name), store, &|store| store.$name($($argument),*).map(drop));
            let done = store.$name($($argument),*).unwrap();
            made(stringify!($name), $action);
            done
        }};
    }
    run!(add_user(user(ANN)), "user add");
    run!(add_user_with_token(&user("eve@example.com"), NewPat::default()), "user add, pat create");
    run!(change_user(NewUser { rights: Rights::all(Scope::Read), ..user(ANN) }), "user change");
    run!(change_user(user(ANN)), "user change");
    run!(disable_user(ANN), "user disable");
    run!(enable_user(ANN), "user enable");
    run!(change_password(ANN, Some(&"correct horse battery".into())), "user password");
    run!(change_password(ANN, Some(&"another horse battery".into())), "user password");
    run!(set_password(ANN, None), "user password");
    let (token, secret) = run!(create_pat(ANN, NewPat::default()), "pat create");
    run!(create_service_account(account("a", &[SALES], Scope::Read)), "service-account create");
    run!(change_service_account(account("a", &[STOCK], Scope::Write)), "service-account change");
    run!(rotate_service_account("a"), "service-account rotate");
    run!(disable_service_account("a"), "service-account disable");
    run!(enable_service_account("a"), "service-account enable");
    run!(remove_service_account("a"), "service-account remove");
    let (client, _) = run!(add_client(&new_client("client")), "client add");
    run!(register_client(&new_client("dynamic")), "client register");
    run!(rotate_key(Algorithm::EdDsa), "key rotate");
    run!(end_key(None, Algorithm::EdDsa), "key end");
    let ends = token.created_at.after(std::time::Duration::from_secs(60));
    run!(revoke_access_token(Uuid::from_u128(7), "ptc_ci_x", ends), "access-token revoke");

    let session = Digest::new("session");
    store.begin_session_by_token(ANN, &Digest::new(secret.expose_secret()), &session).unwrap();
    let id = &client.client_id;
    // A code that is used a second time ends everything derived from it.
    let own = run!(create_own_pat(&session, NewPat::default()), "pat create").0;
    run!(revoke_own_pat(&session, own.id), "pat revoke");
    run!(approve(&session, &of_sales(id), &Digest::new("code")), "grant create");
    let asked = redemption(id, &"code".into());
    let [first, next, last] = [None, None, None].map(|none| NextRefresh::mint(none).unwrap());
    store.redeem(&asked, &first, Ok).unwrap().unwrap();
    assert!(run!(redeem(&asked, &next, Ok), "grant revoke").is_err());
    // So does a refresh token.
    run!(approve(&session, &of_sales(id), &Digest::new("code 2")), "grant create");
    store.redeem(&redemption(id, &"code 2".into()), &first, Ok).unwrap().unwrap();
    let second = NextRefresh::mint(Some(&first.secret)).unwrap();
    store.refresh(&refreshing(id, &first.secret), &second, Ok).unwrap().unwrap();
    assert!(run!(refresh(&refreshing(id, &first.secret), &next, Ok), "grant revoke").is_err());
    run!(approve(&session, &of_sales(id), &Digest::new("code 3")), "grant create");
    store.redeem(&redemption(id, &"code 3".into()), &next, Ok).unwrap().unwrap();
    run!(revoke_refresh(&public(id), &next.secret), "grant revoke").unwrap();
    run!(approve(&session, &of_sales(id), &Digest::new("code 4")), "grant create");
    store.redeem(&redemption(id, &"code 4".into()), &last, Ok).unwrap().unwrap();
    let grant = store.grants(&session).unwrap().remove(0);
    run!(revoke_own_consent(&session, grant.id), "grant revoke");
    run!(approve(&session, &of_sales(id), &Digest::new("code 5")), "grant create");
    store.redeem(&redemption(id, &"code 5".into()), &last, Ok).unwrap().unwrap();
    let grant = store.consents(None).unwrap().remove(0);
    run!(revoke_consent(grant.id), "grant revoke");
    run!(create_own_pat(&session, NewPat::default()), "pat create");
    run!(sign_out_user(ANN, false), "user sign-out");
    run!(disable_subject("https://idp.example.org#bob"), "user disable");
    run!(enable_subject("https://idp.example.org#bob"), "user enable");

    run!(remove_client("client"), "client remove");
    let mut own = store.pats(Some(ANN)).unwrap().into_iter();
    let own = own.find(|own| own.parent.is_some() && own.revoked_at.is_none()).unwrap();
    run!(revoke_pat(&own.id.to_string()), "pat revoke");
    run!(revoke_pat(&token.id.to_string()), "pat revoke");
    run!(remove_user(ANN), "user remove");
}

fn every_operation_that_writes() -> BTreeSet<&'static str> {
    STORE.iter().flat_map(|text| functions(text, &["pub fn ", "pub(crate) fn "], "&mut self")).collect()
}

/// Adds the operations without a change of rights.
fn of_concern(seen: BTreeSet<&'static str>) -> BTreeSet<&'static str> {
    seen.into_iter().chain(OF_NO_CONCERN.map(|(name, _)| name)).collect()
}

#[test]
fn every_operation_of_the_store_that_changes_something_leaves_its_change() {
    let house = House::new();
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    let (mut store, kept) = house.recorded_store();
    each(
        &mut store,
        |_, _, _| (),
        |name, action| {
            let changes = kept.take();
            let actions: Vec<_> = changes.iter().map(|change| change.action).collect();
            assert_eq!(actions.join(", "), action, "{name}");
            seen.insert(name);
            all.extend(changes);
        },
    );
    assert_eq!(every_operation_that_writes(), of_concern(seen), "an operation is on no list, or is none any more");
    let find = |action: &str| all.iter().filter(|change| change.action == action).collect::<Vec<_>>();
    let change = find("user change")[0];
    assert_eq!(change.object["email"], ANN);
    assert_eq!((&change.before, &change.after), (&Some(json!({"scope": "write"})), &Some(json!({"scope": "read"}))));
    let passwords = find("user password");
    assert_eq!(passwords[0].after, Some(json!({"hasPassword": true, "password": "***"})));
    assert_eq!(passwords[1].after, Some(json!({"password": "***"})), "another password is a change too");
    assert_eq!(passwords[2].before, Some(json!({"hasPassword": true})));
    assert_eq!(find("service-account rotate")[0].after.as_ref().unwrap()["clientSecret"], "***");
    let moved = find("service-account change")[0];
    assert_eq!(
        moved.before,
        Some(
            json!({"scope": "read", "connections": [SALES], "secretOpens": {"scope": "read", "connections": [SALES]}})
        )
    );
    assert_eq!((find("user add")[0].before.is_none(), &find("user remove")[0].object["email"]), (true, &json!(ANN)));
    assert_eq!(find("grant revoke").len(), 5);
    assert!(find("grant revoke").iter().all(|change| change.object["email"] == ANN));
    let text = format!("{all:?}");
    assert!(!text.contains("ptc_pat_") && !text.contains("ptc_cs_") && !text.contains("argon2"), "{text}");
}

/// Operations for people that change no rights.
const READING: [&str; 12] = [
    "start",
    "alive",
    "sign_in",
    "session",
    "sign_out",
    "client",
    "tokens",
    "grants",
    "consents",
    "ineffective_grants",
    "directory",
    "issue",
];

#[actix::test]
async fn every_change_that_people_make_is_recorded_with_who_and_from_where() {
    let house = House::new();
    let kept = Kept::default();
    let recording = Recording::by(Arc::new(kept.clone()));
    let (people, _) = process(AuthSettings { recording, ..house.settings() }).await;
    let admin = NewUser { rights: Rights::ALL, ..user("root@example.com") };
    house.store().add_user(admin).unwrap();
    let (_, token) = house.store().create_pat("root@example.com", NewPat::default()).unwrap();
    let session = people.sign_in("root@example.com".to_owned(), token, None).await.unwrap().0;
    assert!(kept.0.lock().unwrap().is_empty());

    let audit_context = AuditContext {
        principal: Some("root@example.com".to_owned()),
        address: "192.0.2.1".parse().ok(),
        path: "/somewhere".to_owned(),
        ..AuditContext::default()
    };
    let people = people.at(audit_context);
    let mut seen = BTreeSet::new();
    macro_rules! run {
        ($name:ident($($argument:expr),*), $actions:expr) => {{
            let done = people.$name($($argument),*).await;
            let recorded = std::mem::take(&mut *kept.0.lock().unwrap());
            let actions: Vec<_> = recorded.iter().map(|(change, _)| change.action).collect();
            let expected: &[&str] = &$actions;
            assert_eq!(actions, expected, stringify!($name));
            for (_, audit_context) in recorded {
                assert_eq!((audit_context.principal.as_deref(), audit_context.path.as_str()), (Some("root@example.com"), "/somewhere"));
                assert!(audit_context.address.is_some());
            }
            seen.insert(stringify!($name));
            done
        }};
    }
    let (made, _) = run!(create_token(&session, NewPat::default()), ["pat create"]).unwrap();
    run!(revoke_token(&session, made.id), ["pat revoke"]).unwrap();
    let (client, _) = run!(register(new_client("dynamic"), None), ["client register"]).unwrap();
    let id = client.client_id.as_str();
    let code = run!(approve(&session, of_sales(id)), ["grant create"]).unwrap();
    let first = run!(redeem(redemption(id, &code)), []).unwrap();
    let next = run!(refresh(refreshing(id, &first.refresh)), []).unwrap();
    run!(revoke(public(id), next.refresh), ["grant revoke"]).unwrap();
    let code = people.approve(&session, of_sales(id)).await.unwrap();
    kept.0.lock().unwrap().clear();
    run!(redeem(redemption(id, &code)), []).unwrap();
    run!(redeem(redemption(id, &code)), ["grant revoke"]).unwrap_err();
    let code = people.approve(&session, of_sales(id)).await.unwrap();
    let issued = people.redeem(redemption(id, &code)).await.unwrap();
    let grant = people.grants(&session).await.unwrap().remove(0);
    kept.0.lock().unwrap().clear();
    run!(revoke_own_consent(&session, grant.id), ["grant revoke"]).unwrap();
    drop(issued);
    let code = people.approve(&session, of_sales(id)).await.unwrap();
    drop(people.redeem(redemption(id, &code)).await.unwrap());
    let consent = people.consents(&session).await.unwrap().remove(0);
    kept.0.lock().unwrap().clear();
    run!(revoke_consent(&session, consent.id), ["grant revoke"]).unwrap();
    let (nightly, _) =
        run!(create_account(&session, account("nightly", &[SALES], Scope::Read)), ["service-account create"]).unwrap();
    run!(rotate_account(&session, nightly.client_id.clone()), ["service-account rotate"]).unwrap();
    run!(add_user(&session, user(ANN), NewPat::default()), ["user add", "pat create"]).unwrap();
    let beyond = NewPat { rights: only(&[STOCK], Scope::Read), ..NewPat::default() };
    run!(add_user(&session, NewUser { rights: only(&[SALES], Scope::Write), ..user("bob@example.com") }, beyond), [])
        .unwrap_err();
    let account = || nightly.client_id.clone();
    for (asked, action) in [
        (Asked::DisableAccount(account()), "service-account disable"),
        (Asked::EnableAccount(account()), "service-account enable"),
        (Asked::RemoveAccount(account()), "service-account remove"),
        (Asked::DisableUser(ANN.to_owned()), "user disable"),
        (Asked::EnableUser(ANN.to_owned()), "user enable"),
        (Asked::RemoveUser(ANN.to_owned()), "user remove"),
    ] {
        run!(change(&session, asked), [action]).unwrap();
    }
    run!(change(&session, Asked::RemoveUser("nobody@example.com".to_owned())), []).unwrap_err();
    let listed: BTreeSet<_> = seen.iter().copied().chain(READING).collect();
    let texts = [
        include_str!("../accounts/service.rs"),
        include_str!("../accounts/administration.rs"),
        include_str!("../accounts/sign_in.rs"),
    ];
    let written: BTreeSet<_> = texts.iter().flat_map(|text| functions(text, &["pub async fn "], "&self")).collect();
    let unknown: Vec<_> = written.difference(&listed).collect();
    assert!(unknown.is_empty(), "{unknown:?} is on no list");
}

/// Takes its time.
struct Slow {
    begun: Arc<Notify>,
    goes_on: Arc<(Mutex<bool>, Condvar)>,
    kept: Kept,
}

impl AuditRecorder for Slow {
    fn record(&self, changes: &[Change], audit_context: &AuditContext) -> Result<StoreRecords> {
        self.begun.notify_one();
        let (goes_on, told) = &*self.goes_on;
        let waited = told.wait_timeout_while(goes_on.lock().unwrap(), Duration::from_secs(60), |goes_on| !*goes_on);
        assert!(!waited.unwrap().1.timed_out());
        self.kept.record(changes, audit_context)
    }

    fn unconfirmed(&self, changes: &[Change], audit_context: &AuditContext) {
        self.kept.unconfirmed(changes, audit_context);
    }
}

#[actix::test]
async fn a_change_that_nobody_waits_for_any_more_is_recorded_all_the_same() {
    let house = House::new();
    let (begun, kept) = (Arc::<Notify>::default(), Kept::default());
    let goes_on = Arc::<(Mutex<bool>, Condvar)>::default();
    let slow = Slow { begun: Arc::clone(&begun), goes_on: Arc::clone(&goes_on), kept: kept.clone() };
    let recording = Recording::by(Arc::new(slow));
    let (people, _) = process(AuthSettings { recording, ..house.settings() }).await;
    let leaving = actix::spawn(async move { people.register(new_client("gone"), None).await.map(drop) });
    tokio::time::timeout(Duration::from_secs(60), begun.notified()).await.expect("nothing was changed");
    assert!(!leaving.is_finished(), "it was answered before it was recorded");
    assert_eq!(house.count("clients"), 0, "it was made before it was recorded");
    leaving.abort();
    *goes_on.0.lock().unwrap() = true;
    goes_on.1.notify_one();
    let mut pace = pace();
    while house.count("clients") == 0 {
        pace.tick().await;
    }
    assert_eq!(kept.take()[0].action, "client register");
}

/// Records nothing while it is full, and keeps what was not confirmed.
#[derive(Clone, Default)]
struct Full {
    is_full: Arc<AtomicBool>,
    unconfirmed: Kept,
}

impl AuditRecorder for Full {
    fn record(&self, _: &[Change], _: &AuditContext) -> Result<StoreRecords> {
        let refusal = Error::new(Kind::Unavailable, "full").because("the disc is full");
        if self.is_full.load(Ordering::SeqCst) { Err(refusal) } else { Ok(StoreRecords::default()) }
    }

    fn unconfirmed(&self, changes: &[Change], audit_context: &AuditContext) {
        self.unconfirmed.record(changes, audit_context).unwrap();
    }
}

#[test]
fn no_operation_changes_anything_that_cannot_be_recorded() {
    let house = House::new();
    let full = Full::default();
    let mut store = house.store().recording(Arc::new(full.clone()), AuditContext::default());
    let mut seen = BTreeSet::new();
    let before = |name, store: &mut Store, attempt: Attempt<'_>| {
        full.is_full.store(true, Ordering::SeqCst);
        let kept = house.kept();
        let refused = attempt(store).err().map(|error| error.message);
        assert_eq!(refused, Some("full".to_owned()), "{name}");
        assert!(house.kept() == kept, "{name} has changed something");
        full.is_full.store(false, Ordering::SeqCst);
        seen.insert(name);
    };
    each(&mut store, before, |_, _| ());
    assert!(full.unconfirmed.take().is_empty());
    assert_eq!(every_operation_that_writes(), of_concern(seen));
}

#[test]
fn a_change_that_the_store_does_not_confirm_is_told_behind_its_record() {
    let house = House::new();
    let full = Full::default();
    let mut store = house.store().recording(Arc::new(full.clone()), AuditContext::default());
    // A statement that fails at COMMIT.
    house.execute(
        "CREATE TABLE trap (id INTEGER REFERENCES users (id) DEFERRABLE INITIALLY DEFERRED);
         CREATE TRIGGER springs AFTER INSERT ON users BEGIN INSERT INTO trap VALUES (-1); END",
    );
    assert_eq!(store.add_user(user(ANN)).unwrap_err().kind, Kind::Unavailable);
    let told: Vec<_> = full.unconfirmed.take().into_iter().map(|change| change.action).collect();
    assert_eq!((told, house.count("users")), (vec!["user add"], 0));
}
