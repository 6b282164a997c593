//! A store in a temporary directory, a clock that is set by hand, and an actor on them.

use std::any::Any;
use std::fs;
use std::marker::PhantomData;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant, UNIX_EPOCH};

use actix::Addr;
use secrecy::SecretString;
use tempfile::TempDir;
use uuid::Uuid;

use super::postgres::TestPostgres;
use crate::accounts::Accounts;
use crate::clock::{CLOCK_SKEW, Clock, Timestamp};
use crate::oauth::authorization::{Approval, AuthorizationCodeRequest, ClientCredential, RefreshTokenRequest};
use crate::oauth::client::NewClient;
use crate::recording::{AuditContext, AuditRecorder, StoreRecords};
use crate::records::{NewServiceAccount, NewUser, ServiceAccount};
use crate::store::{Change, Store, StoreLocation};
use crate::sync::lookup::SyncStore;
use crate::verify::request::VerifyCredential;
use crate::{
    AccessToken, Auth, AuthActor, AuthSettings, Authenticate, ClientAuthentication, GrantError, TokenRequest,
    TrustedIssuer,
};
use portico_core::error::Result;
use portico_core::event::Event;
use portico_core::principal::{Credential, Endpoint, Principal, Rights, Scope};
use portico_sources::postgres::Address;
use portico_sources::postgres::blocking::{Session, Value};

pub(super) const ISSUER: &str = "http://localhost:8787";
pub(super) const SALES: Uuid = Uuid::from_u128(0x6f0b_1a52_8d0e_4c57_9d1b_6a7f_3f0c_2b11);
pub(super) const STOCK: Uuid = Uuid::from_u128(0x7a0b_1a52_8d0e_4c57_9d1b_6a7f_3f0c_2b22);

const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const REDIRECT: &str = "https://client.example/cb";

/// The location of a store, and direct access to it for tests.
pub(super) trait Kind {
    fn place(directory: &Path) -> StoreLocation;

    /// Runs statements in another session.
    fn execute(place: &StoreLocation, sql: &str);

    /// Everything that is kept.
    fn kept(place: &StoreLocation) -> Vec<u8>;

    /// How many rows a table has.
    fn count(place: &StoreLocation, table: &str) -> i64;

    /// Locks out all other writers.
    fn lock(place: &StoreLocation) -> Box<dyn Any>;
}

/// A SQLite file.
pub(super) struct OnFile;

impl Kind for OnFile {
    fn place(directory: &Path) -> StoreLocation {
        StoreLocation::File(directory.join("portico.db"))
    }

    fn execute(place: &StoreLocation, sql: &str) {
        rusqlite::Connection::open(place.file().unwrap()).unwrap().execute_batch(sql).unwrap();
    }

    fn kept(place: &StoreLocation) -> Vec<u8> {
        let path = place.file().unwrap().display();
        ["", "-wal"].iter().flat_map(|suffix| fs::read(format!("{path}{suffix}")).unwrap_or_default()).collect()
    }

    fn count(place: &StoreLocation, table: &str) -> i64 {
        let raw = rusqlite::Connection::open(place.file().unwrap()).unwrap();
        raw.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    }

    fn lock(place: &StoreLocation) -> Box<dyn Any> {
        let raw = rusqlite::Connection::open(place.file().unwrap()).unwrap();
        raw.execute_batch("BEGIN EXCLUSIVE").unwrap();
        Box::new(raw)
    }
}

/// A schema of its own in the tests' PostgreSQL.
pub(super) struct OnPostgres;

impl Kind for OnPostgres {
    fn place(_: &Path) -> StoreLocation {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        StoreLocation::from(Address::from(format!(
            "{}?search_path=store_{number}&application_name=store_{number}",
            database()
        )))
    }

    fn execute(place: &StoreLocation, sql: &str) {
        session(place).batch(sql).unwrap();
    }

    fn kept(place: &StoreLocation) -> Vec<u8> {
        let tables = "SELECT string_agg(table_to_xml(c.oid::regclass, true, false, '')::text, '') AS kept
                      FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'";
        format!("{:?}", session(place).query(tables, Vec::new()).unwrap()).into_bytes()
    }

    fn count(place: &StoreLocation, table: &str) -> i64 {
        let Ok(answer) = session(place).query(&format!("SELECT count(*) FROM {table}"), Vec::new()) else {
            panic!("{table} cannot be counted")
        };
        let [Value::Integer(count)] = answer.rows[0].as_slice() else { panic!("{answer:?}") };
        *count
    }

    fn lock(place: &StoreLocation) -> Box<dyn Any> {
        let raw = session(place);
        raw.batch("BEGIN; SELECT number FROM revision FOR UPDATE").unwrap();
        Box::new(raw)
    }
}

/// A session beside the store's own, with the same search path.
pub(super) fn session(place: &StoreLocation) -> Session {
    let StoreLocation::Postgres(address) = place else { panic!("{place} is no database") };
    let patience = Duration::from_secs(30);
    Session::open(address, patience, patience).unwrap()
}

/// The database of this run.
fn database() -> &'static str {
    static DATABASE: OnceLock<String> = OnceLock::new();
    DATABASE.get_or_init(|| {
        // A test may have a runtime already, which must not be blocked on.
        let made = std::thread::spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(TestPostgres::shared().database("stores"))
        });
        made.join().unwrap()
    })
}

/// A store that is a file.
pub(super) type House = AnyHouse<OnFile>;

pub(super) struct AnyHouse<K> {
    place: StoreLocation,
    kind: PhantomData<K>,
    _directory: TempDir,
    seconds: Arc<AtomicU64>,
    outages: Arc<Mutex<Vec<String>>>,
    resumptions: Arc<AtomicUsize>,
}

impl House {
    pub(super) fn path(&self) -> PathBuf {
        self.place.file().unwrap().to_owned()
    }
}

impl<K: Kind> AnyHouse<K> {
    pub(super) fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let (place, seconds) = (K::place(directory.path()), Arc::new(AtomicU64::new(1_800_000_000)));
        Self {
            place,
            kind: PhantomData,
            _directory: directory,
            seconds,
            outages: Arc::default(),
            resumptions: Arc::default(),
        }
    }

    pub(super) fn place(&self) -> StoreLocation {
        self.place.clone()
    }

    /// Runs statements behind the store's back.
    pub(super) fn execute(&self, sql: &str) {
        K::execute(&self.place, sql);
    }

    /// Locks out all other writers, until the guard is dropped.
    pub(super) fn lock(&self) -> Box<dyn Any> {
        K::lock(&self.place)
    }

    /// How many rows a table of the store has.
    pub(super) fn count(&self, table: &str) -> i64 {
        K::count(&self.place, table)
    }

    /// Everything that is kept.
    pub(super) fn kept(&self) -> Vec<u8> {
        K::kept(&self.place)
    }

    pub(super) fn clock(&self) -> Clock {
        let seconds = Arc::clone(&self.seconds);
        Clock::new(move || UNIX_EPOCH + Duration::from_secs(seconds.load(Ordering::SeqCst)))
    }

    /// A clock that is ahead of it by so many seconds.
    pub(super) fn clock_ahead(&self, by: &Arc<AtomicI64>) -> Clock {
        let (seconds, by) = (Arc::clone(&self.seconds), Arc::clone(by));
        let now = move || seconds.load(Ordering::SeqCst).checked_add_signed(by.load(Ordering::SeqCst)).unwrap();
        Clock::new(move || UNIX_EPOCH + Duration::from_secs(now()))
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock().now().time()
    }

    pub(super) fn pass(&self, seconds: u64) {
        self.seconds.fetch_add(seconds, Ordering::SeqCst);
    }

    /// Advances the clock until what ended after `seconds` has ended by every clock.
    pub(super) fn pass_beyond(&self, seconds: u64) {
        self.pass(seconds + CLOCK_SKEW.as_secs());
    }

    /// A handle as another process would have one.
    pub(super) fn store(&self) -> Store {
        Store::open_with(&self.place, self.clock()).unwrap()
    }

    /// Returns a store, and what it records.
    pub(super) fn recorded_store(&self) -> (Store, Kept) {
        let kept = Kept::default();
        (self.store().recording(Arc::new(kept.clone()), AuditContext::default()), kept)
    }

    pub(super) async fn actor(&self) -> Addr<AuthActor> {
        AuthActor::start(self.settings()).await.unwrap()
    }

    /// The same with trusted issuers.
    pub(super) async fn trusting(&self, issuers: Vec<TrustedIssuer>) -> Addr<AuthActor> {
        AuthActor::start(AuthSettings { issuers, ..self.settings() }).await.unwrap()
    }

    pub(super) fn settings(&self) -> AuthSettings {
        let (outages, resumptions) = (Arc::clone(&self.outages), Arc::clone(&self.resumptions));
        let observer = Arc::new(move |event: &Event| {
            if matches!(event, Event::StoreResumed) {
                resumptions.fetch_add(1, Ordering::SeqCst);
            }
            if let Event::StoreFailed { cause } | Event::IssuerFailed { cause, .. } = event {
                outages.lock().unwrap().push(cause.clone());
            }
        });
        AuthSettings { clock: self.clock(), ..AuthSettings::new(&self.place, ISSUER, observer) }
    }

    /// Waits until the observer has heard so often.
    pub(super) async fn until_told(&self, times: usize) {
        let mut pace = pace();
        while self.outages.lock().unwrap().len() < times {
            pace.tick().await;
        }
    }

    /// How often the observer heard that the store can be read again.
    pub(super) fn resumptions(&self) -> usize {
        self.resumptions.load(Ordering::SeqCst)
    }

    /// Returns the observed outages of the store and of issuers.
    pub(super) fn outages(&self) -> Vec<String> {
        self.outages.lock().unwrap().clone()
    }
}

/// The content of a store of the fourth format: a token and a person's grant to a client, each once in force and
/// once revoked. Digests are the 32 bytes of `digest`.
pub(super) fn older_rows(digest: &str) -> String {
    format!(
        "INSERT INTO users (id, email, email_key, admin, scope, created_at)
             VALUES (1, 'ann@example.com', 'ann@example.com', 0, 'write', 1700000000);
         INSERT INTO personal_access_tokens (id, user_id, name, digest, created_at)
             VALUES ('{token}', 1, 'old', {digest}, 1700000000);
         INSERT INTO grants (id, user_id, client_id, client_name, scope, connections, created_at, expires_at, used_at,
                             revoked_at)
             VALUES ('{grant}', 1, 'https://c.example.org/c', 'c', 'read', '[]', 1700000000, 4000000000, 1700000000, NULL),
                    ('{ended}', 1, 'https://c.example.org/c', 'c', 'read', '[]', 1700000000, 4000000000, 1700000000, 1);
         INSERT INTO refresh_tokens (digest, grant_id, expires_at) VALUES ({digest}, '{grant}', 4000000000);
         INSERT INTO service_accounts (client_id, name, digest, scope, connections, created_at)
             VALUES ('ptc_ci_old', 'nightly', {digest}, 'read', '[\"{SALES}\"]', 1700000000)",
        token = Uuid::from_u128(1),
        grant = Uuid::from_u128(2),
        ended = Uuid::from_u128(3),
    )
}

/// Checks what has become of them.
pub(super) fn look_at_older_rows(store: &mut Store) {
    let token = store.pats(None).unwrap().remove(0);
    assert_eq!((token.name.as_str(), token.parent, token.parent_known), ("old", None, false));
    let consents = store.consents(Some("ann@example.com")).unwrap();
    assert_eq!(consents.iter().map(|consent| consent.id).collect::<Vec<_>>(), [Uuid::from_u128(2)]);
    assert_eq!(consents[0].client_kind, Some(crate::oauth::client::ClientKind::Document));
    // It is unknown who has seen the secret: it does not grow with the account.
    let wider = store.change_service_account(account("nightly", &[SALES, STOCK], Scope::Write)).unwrap();
    assert_eq!((wider.secret_opens, wider.secret_parent), (only(&[SALES], Scope::Read), None));
    let (rotated, _) = store.rotate_service_account("nightly").unwrap();
    assert_eq!(rotated.secret_opens, rotated.rights);
}

/// Paces a loop that waits, and fails if it takes too long.
pub(super) struct Pace {
    interval: tokio::time::Interval,
    until: Instant,
    place: &'static Location<'static>,
}

#[track_caller]
pub(super) fn pace() -> Pace {
    let interval = tokio::time::interval(Duration::from_millis(5));
    Pace { interval, until: Instant::now() + Duration::from_secs(60), place: Location::caller() }
}

impl Pace {
    pub(super) async fn tick(&mut self) {
        assert!(Instant::now() < self.until, "{}: waited for a minute", self.place);
        self.interval.tick().await;
    }
}

/// Keeps what is recorded.
#[derive(Clone, Default)]
pub(super) struct Kept(pub(super) Arc<Mutex<Vec<(Change, AuditContext)>>>);

impl Kept {
    pub(super) fn take(&self) -> Vec<Change> {
        std::mem::take(&mut *self.0.lock().unwrap()).into_iter().map(|(change, _)| change).collect()
    }
}

impl AuditRecorder for Kept {
    fn record(&self, changes: &[Change], audit_context: &AuditContext) -> Result<StoreRecords> {
        self.0.lock().unwrap().extend(changes.iter().map(|change| (change.clone(), audit_context.clone())));
        Ok(StoreRecords::default())
    }

    fn unconfirmed(&self, changes: &[Change], _: &AuditContext) {
        panic!("{changes:?} were not made");
    }
}

pub(super) fn user(email: &str) -> NewUser {
    NewUser { email: email.to_owned(), rights: Rights::all(Scope::Write) }
}

pub(super) fn account(name: &str, connections: &[Uuid], scope: Scope) -> NewServiceAccount {
    NewServiceAccount { name: name.to_owned(), rights: only(connections, scope) }
}

pub(super) fn only(connections: &[Uuid], scope: Scope) -> Rights {
    Rights::only(connections.iter().copied(), scope)
}

pub(super) fn new_client(name: &str) -> NewClient {
    NewClient { name: name.to_owned(), redirect_uris: vec![REDIRECT.to_owned()], confidential: false }
}

pub(super) fn approval(client: &str, rights: Rights) -> Approval {
    Approval {
        client_id: client.to_owned(),
        client_name: "client".to_owned(),
        redirect_uri: REDIRECT.to_owned(),
        challenge: CHALLENGE.to_owned(),
        rights,
        resource: None,
    }
}

/// A client without a secret.
pub(super) fn public(client: &str) -> ClientCredential {
    ClientCredential { from: None, client_id: client.to_owned(), secret: None }
}

pub(super) fn redemption(client: &str, code: &SecretString) -> AuthorizationCodeRequest {
    let (redirect_uri, verifier) = (REDIRECT.to_owned(), VERIFIER.into());
    AuthorizationCodeRequest { client: public(client), code: code.clone(), redirect_uri, verifier, resource: None }
}

pub(super) fn refreshing(client: &str, token: &SecretString) -> RefreshTokenRequest {
    RefreshTokenRequest { client: public(client), token: token.clone(), scope: None, resource: None }
}

/// Starts a process on the store: its operations for people, and its authentication.
pub(super) async fn process(settings: AuthSettings) -> (Accounts, Auth) {
    let auth = Auth::start(settings.clone()).await.unwrap();
    (Accounts::start(&settings, auth.clone()).await.unwrap(), auth)
}

pub(super) fn basic(email: &str, token: &SecretString) -> Credential {
    Credential::Basic { email: email.to_owned(), token: token.clone() }
}

pub(super) fn proof(client_id: &str, secret: &SecretString) -> ClientAuthentication {
    ClientAuthentication { client_id: client_id.to_owned(), client_secret: secret.clone(), from: None }
}

/// Returns the actor's answer once it has seen what was written before: for a database, a moment may pass.
pub(super) async fn ask(actor: &Addr<AuthActor>, credential: Credential) -> Result<Arc<Principal>> {
    actor.send(SyncStore).await.unwrap();
    ask_at_once(actor, credential).await
}

/// Returns the actor's current answer.
pub(super) async fn ask_at_once(actor: &Addr<AuthActor>, credential: Credential) -> Result<Arc<Principal>> {
    actor.send(VerifyCredential::from(Authenticate { credential, endpoint: Endpoint::Api, from: None })).await.unwrap()
}

pub(super) async fn bearer(actor: &Addr<AuthActor>, token: &AccessToken) -> Result<Arc<Principal>> {
    ask(actor, Credential::Bearer(token.token.clone())).await
}

pub(super) async fn exchange(
    actor: &Addr<AuthActor>,
    account: &ServiceAccount,
    secret: &SecretString,
    scope: Option<&str>,
    resource: Option<&str>,
) -> Result<AccessToken, GrantError> {
    actor.send(SyncStore).await.unwrap();
    let request = TokenRequest {
        client: proof(&account.client_id, secret),
        scope: scope.map(str::to_owned),
        resource: resource.map(str::to_owned),
    };
    actor.send(request).await.unwrap()
}
