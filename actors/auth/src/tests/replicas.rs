//! Tests of a store that several processes share: created by all of them at once, changed by one and in force for
//! the others; what can be used once can be used only once.

use std::time::Duration;

use secrecy::ExposeSecret;

use super::postgres::TestPostgres;
use super::support::{
    AnyHouse, OnPostgres, SALES, account, approval, ask_at_once, basic, bearer, exchange, look_at_older_rows,
    new_client, older_rows, only, process, redemption, refreshing, session, user,
};
use crate::recording::AuditContext;
use crate::records::{NewPat, NewUser};
use crate::store::{NewRecord, Store, StoreLocation};
use crate::{Algorithm, Authenticate, Revoke};
use portico_core::error::Kind;
use portico_core::principal::{Credential, Endpoint, Scope};
use portico_sources::postgres::Address;
use portico_sources::postgres::blocking::Value;

type House = AnyHouse<OnPostgres>;

const ANN: &str = "ann@example.com";

/// Waits until the actor has noticed a change by itself.
macro_rules! eventually {
    ($met:expr) => {{
        let mut pace = super::support::pace();
        while !$met {
            pace.tick().await;
        }
    }};
}

#[test]
fn many_may_open_a_fresh_store_at_once() {
    let house = House::new();
    let (place, clock) = (house.place(), house.clock());
    std::thread::scope(|scope| {
        let openers: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| Store::open_with(&place, clock.clone()).and_then(|mut store| store.ensure_key())))
            .collect();
        let kids: Vec<_> = openers.into_iter().map(|opener| opener.join().unwrap().unwrap().kid).collect();
        assert!(kids.iter().all(|kid| *kid == kids[0]), "{kids:?}");
    });
    assert_eq!(house.store().keys().unwrap().len(), 1);
}

/// The migrations of an older version, up to the fourth format.
const OLDER: [&str; 4] = [
    include_str!("../store/migrations/postgres/0001_identities.sql"),
    include_str!("../store/migrations/postgres/0002_tokens.sql"),
    include_str!("../store/migrations/postgres/0003_people.sql"),
    include_str!("../store/migrations/postgres/0004_audit.sql"),
];

#[test]
fn an_older_programs_store_is_brought_up_to_date_with_its_triggers_replaced() {
    let (house, fresh) = (House::new(), House::new());
    drop(fresh.store());
    let triggers = |house: &House| {
        // Without the schema's own name.
        let sql = "SELECT string_agg(replace(pg_get_triggerdef(t.oid), n.nspname || '.', ''), '; ' ORDER BY c.relname, t.tgname)
                   FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
                   WHERE n.nspname = current_schema() AND NOT t.tgisinternal";
        let Ok(answer) = session(&house.place()).query(sql, Vec::new()) else { panic!("no triggers") };
        let [Value::Text(all)] = answer.rows[0].as_slice() else { panic!("{answer:?}") };
        all.clone()
    };
    let made = triggers(&fresh);
    assert!(made.contains("OLD TABLE AS former") && !made.contains("sessions"), "{made}");
    let raw = session(&house.place());
    let Ok(path) = raw.query("SELECT current_setting('search_path')", Vec::new()) else { panic!("no path") };
    let [Value::Text(schema)] = path.rows[0].as_slice() else { panic!("{path:?}") };
    raw.batch(&format!("CREATE SCHEMA {schema}")).unwrap();
    for step in OLDER {
        raw.batch(step).unwrap();
    }
    raw.batch(
        "INSERT INTO store_format VALUES (1, 4);
         CREATE TRIGGER counted_update AFTER UPDATE ON grants REFERENCING NEW TABLE AS changed
             FOR EACH STATEMENT EXECUTE FUNCTION count_change();
         CREATE TRIGGER counted_insert AFTER INSERT ON sessions REFERENCING NEW TABLE AS changed
             FOR EACH STATEMENT EXECUTE FUNCTION count_change()",
    )
    .unwrap();
    raw.batch(&older_rows("decode(repeat('00', 32), 'hex')")).unwrap();
    drop(raw);
    look_at_older_rows(&mut house.store());
    assert_eq!(triggers(&house), made);
}

#[test]
fn a_newer_programs_store_and_another_programs_schema_are_refused() {
    let house = House::new();
    let missing = Store::open_existing(&house.place(), None, house.clock()).unwrap_err();
    assert_eq!(missing.kind, Kind::NotFound);
    assert!(missing.get_hint().unwrap().contains("portico user add"), "{missing:?}");
    drop(house.store());
    house.execute("UPDATE store_format SET version = 99");
    let newer = Store::open(house.place()).unwrap_err();
    assert_eq!(newer.kind, Kind::Invalid);
    assert!(newer.message.contains("newer portico: it has format 99, and this program knows 8"), "{newer}");

    let other = House::new();
    let raw = session(&other.place());
    let Ok(path) = raw.query("SELECT current_setting('search_path')", Vec::new()) else { panic!("no path") };
    let [Value::Text(schema)] = path.rows[0].as_slice() else { panic!("{path:?}") };
    raw.batch(&format!("CREATE SCHEMA {schema}; CREATE TABLE {schema}.orders (id bigint)")).unwrap();
    let foreign = Store::open(other.place()).unwrap_err();
    assert_eq!(foreign.kind, Kind::Invalid);
    assert!(foreign.message.contains("holds something else"), "{foreign}");
}

#[test]
fn a_user_without_rights_is_told_what_is_missing_and_one_with_a_schema_has_enough() {
    let house = House::new();
    let StoreLocation::Postgres(address) = house.place() else { panic!("no database") };
    let database = address.url.expose_secret().split_once('?').unwrap().0.rsplit('/').next().unwrap().to_owned();
    let admin = session(&house.place());
    admin.batch("DROP ROLE IF EXISTS keeper; CREATE ROLE keeper LOGIN PASSWORD 'hunter2'").unwrap();
    let url = TestPostgres::shared().url_as("keeper:hunter2", &database);
    let place = StoreLocation::from(Address::from(url));
    let refused = Store::open(&place).unwrap_err();
    assert_eq!(refused.kind, Kind::Unavailable);
    assert!(refused.get_hint().unwrap().contains("CREATE SCHEMA portico AUTHORIZATION"), "{refused:?}");
    assert!(refused.cause().unwrap().contains("permission denied"), "{refused:?}");
    admin.batch("CREATE SCHEMA portico AUTHORIZATION keeper").unwrap();
    let mut store = Store::open(&place).unwrap();
    store.add_user(user(ANN)).unwrap();
    assert!(!format!("{place:?} {place} {store:?}").contains("hunter2"));
    // No server at the address: the error contains no password either.
    let nobody = StoreLocation::from(Address::from("postgres://keeper:hunter2@127.0.0.1:1/x"));
    let away = Store::open(&nobody).unwrap_err();
    assert_eq!((away.kind, away.get_retry_after()), (Kind::Unavailable, Some(Duration::from_secs(1))));
    assert!(!format!("{away:?}").contains("hunter2"), "{away:?}");
}

#[actix::test]
async fn what_one_process_changes_is_in_force_for_another() {
    let house = House::new();
    let mut store = house.store();
    let actor = house.actor().await;
    store.add_user(user(ANN)).unwrap();
    let (record, token) = store.create_pat(ANN, NewPat::default()).unwrap();
    let (nightly, secret) = store.create_service_account(account("nightly", &[SALES], Scope::Write)).unwrap();
    // New credentials are known at once: a refusal would be wrong.
    assert_eq!(ask_at_once(&actor, basic(ANN, &token)).await.unwrap().scope(), Scope::Write);
    let access = exchange(&actor, &nightly, &secret, None, None).await.unwrap();
    let shown = || Credential::Bearer(access.token.clone());

    store.change_user(NewUser { rights: only(&[SALES], Scope::Read), ..user(ANN) }).unwrap();
    eventually!(ask_at_once(&actor, basic(ANN, &token)).await.unwrap().scope() == Scope::Read);
    store.revoke_pat(&record.id.to_string()).unwrap();
    eventually!(ask_at_once(&actor, basic(ANN, &token)).await.is_err());
    store.disable_service_account("nightly").unwrap();
    eventually!(ask_at_once(&actor, shown()).await.is_err());
    store.enable_service_account("nightly").unwrap();
    house.pass(1);
    let access = exchange(&actor, &nightly, &secret, None, None).await.unwrap();
    assert!(ask_at_once(&actor, shown()).await.is_err(), "enabling revives nothing");
    let shown = || Credential::Bearer(access.token.clone());
    assert!(ask_at_once(&actor, shown()).await.is_ok());
    let key = store.rotate_key(Algorithm::EdDsa).unwrap();
    eventually!(actor.send(crate::Jwks).await.unwrap().unwrap()["keys"][0]["kid"] == key.kid.as_str());
    assert!(ask_at_once(&actor, shown()).await.is_ok(), "the key before it verifies");
    assert!(house.outages().is_empty(), "{:?}", house.outages());
}

#[actix::test]
async fn a_change_is_noticed_also_when_no_word_of_it_comes() {
    let house = House::new();
    let mut store = house.store();
    store.add_user(user(ANN)).unwrap();
    let (record, token) = store.create_pat(ANN, NewPat::default()).unwrap();
    let (second, other) = store.create_pat(ANN, NewPat::default()).unwrap();
    let actor = house.actor().await;
    assert!(ask_at_once(&actor, basic(ANN, &token)).await.is_ok());
    // Without notifications the count still works.
    house.execute(
        "CREATE OR REPLACE FUNCTION count_change() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN UPDATE revision SET number = number + 1; RETURN NULL; END $$",
    );
    store.revoke_pat(&record.id.to_string()).unwrap();
    eventually!(ask_at_once(&actor, basic(ANN, &token)).await.is_err());
    assert!(house.outages().is_empty(), "{:?}", house.outages());

    // The session that listens is ended, together with all others of this store's.
    drop(store);
    house.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE application_name = current_setting('application_name') AND pid <> pg_backend_pid()",
    );
    house.store().revoke_pat(&second.id.to_string()).unwrap();
    eventually!(ask_at_once(&actor, basic(ANN, &other)).await.is_err());
}

#[actix::test]
async fn a_token_that_one_process_revoked_stays_refused_there_and_elsewhere() {
    let house = House::new();
    let (nightly, secret) = house.store().create_service_account(account("nightly", &[SALES], Scope::Read)).unwrap();
    let (here, there) = (house.actor().await, house.actor().await);
    let token = exchange(&here, &nightly, &secret, None, None).await.unwrap();
    assert!(bearer(&there, &token).await.is_ok());
    let client = super::support::proof(&nightly.client_id, &secret);
    here.send(Revoke { client, token: token.token.clone(), audit_context: AuditContext::default() })
        .await
        .unwrap()
        .unwrap();
    let shown = || Credential::Bearer(token.token.clone());
    assert!(ask_at_once(&here, shown()).await.is_err(), "at once where it was revoked");
    eventually!(ask_at_once(&there, shown()).await.is_err());
    house.store().add_user(user(ANN)).unwrap();
    assert!(bearer(&here, &token).await.is_err(), "whatever is read afterwards");
}

#[actix::test]
async fn a_code_and_a_refresh_token_are_good_once_in_all_processes() {
    let house = House::new();
    let mut store = house.store();
    store.add_user(user(ANN)).unwrap();
    let (_, pat) = store.create_pat(ANN, NewPat::default()).unwrap();
    let client = store.add_client(&new_client("client")).unwrap().0.client_id;
    let mut replicas = Vec::new();
    for _ in 0..3 {
        replicas.push(process(house.settings()).await);
    }
    let session = replicas[0].0.sign_in(ANN.to_owned(), pat, None).await.unwrap().0;
    let approval = approval(&client, only(&[SALES], Scope::Write));
    for _ in 0..5 {
        let code = replicas[0].0.approve(&session, approval.clone()).await.unwrap();
        let redeemed = replicas.iter().map(|(people, _)| people.redeem(redemption(&client, &code)));
        let redeemed = futures_util::future::join_all(redeemed).await;
        assert_eq!(redeemed.iter().filter(|answer| answer.is_ok()).count(), 1, "{redeemed:?}");

        let code = replicas[1].0.approve(&session, approval.clone()).await.unwrap();
        let issued = replicas[1].0.redeem(redemption(&client, &code)).await.unwrap();
        // A token of one replica is good at the next one at once.
        let shown = Credential::Bearer(issued.access.token.clone());
        let asked = Authenticate { credential: shown, endpoint: Endpoint::Api, from: None };
        assert_eq!(replicas[2].1.authenticate(asked).await.unwrap().subject, ANN);
        let refreshed = replicas.iter().map(|(people, _)| people.refresh(refreshing(&client, &issued.refresh)));
        let refreshed = futures_util::future::join_all(refreshed).await;
        assert_eq!(refreshed.iter().filter(|answer| answer.is_ok()).count(), 1, "{refreshed:?}");
    }
}

#[test]
fn records_of_the_trail_are_appended_in_order_and_are_no_change() {
    let house = House::new();
    let mut store = house.store();
    let before = store.revision().unwrap();
    let records: Vec<_> =
        (0..150).map(|n| NewRecord { time: "t".to_owned(), record: format!("{{\"n\":{n}}}") }).collect();
    store.append_audit(&records, 100).unwrap();
    let kept = house.store().audit_after(0, 1_000).unwrap();
    assert_eq!((kept.len(), kept[0].1.as_str(), kept[99].1.as_str()), (100, "{\"n\":50}", "{\"n\":149}"));
    assert_eq!(store.revision().unwrap(), before);
    store.add_user(user(ANN)).unwrap();
    assert_ne!(store.revision().unwrap(), before);
    let after = store.revision().unwrap();
    house.execute("DELETE FROM users WHERE email = 'nobody'");
    assert_eq!(store.revision().unwrap(), after, "nothing was changed");
    house.execute("TRUNCATE users CASCADE");
    assert_ne!(store.revision().unwrap(), after);
}
