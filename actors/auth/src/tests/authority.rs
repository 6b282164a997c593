//! Every operation of the store is authorised: those for administrators by their authority, in the store; the
//! others by the credential that is presented. The lists here are compared with the sources.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::recorded::{STORE, functions};
use super::support::{House, SALES, STOCK, account, new_client, only, user};
use crate::Algorithm;
use crate::oauth::client::{ClientPolicy, NewClient};
use crate::records::{NewPat, NewUser};
use crate::secret::Digest;
use crate::store::Store;
use portico_core::error::{Kind, Result};
use portico_core::principal::Scope;

const LOCAL: &str = "local@example.com";
const ANN: &str = "ann@example.com";

/// Operations that are not authorised by an authority.
const OTHERWISE: [(&str, &str); 29] = [
    ("acting", "asks for the authority itself"),
    ("append_audit", "the trail itself"),
    ("approve", "by the session"),
    ("begin_session", "by the password"),
    ("begin_session_by_token", "by the token"),
    ("client", "what a client tells everybody of itself"),
    ("contents", "read by whoever judges"),
    ("create_own_pat", "by the session"),
    ("data_version", "a number"),
    ("end_session", "by the session"),
    ("ensure_key", "the first key, before there is anybody"),
    ("grants", "by the session"),
    ("judge_client", "by the client's secret"),
    ("knows_session", "by the session"),
    ("listen", "tells that something was changed"),
    ("note_uses", "a stamp"),
    ("notify_catalog_changed", "tells of a source"),
    ("password", "before a password is compared"),
    ("redeem", "by the code"),
    ("refresh", "by the refresh token"),
    ("register_client", "open to everybody, with a bound"),
    ("required", "by the session"),
    ("revision", "a number"),
    ("revoke_access_token", "by the client whose token it is"),
    ("revoke_own_consent", "by the session"),
    ("revoke_own_pat", "by the session"),
    ("revoke_refresh", "by the client's secret"),
    ("session", "by the session"),
    ("tokens_of", "by the session"),
];
/// The same for those that count, wait, or overwrite what was deleted.
const OF_THE_FILE: [&str; 3] = ["ineffective_grants", "wait_at_most", "wipe"];

/// One operation.
type Operation = Box<dyn Fn(&mut Store) -> Result<()>>;

/// Every operation for administrators, on an object beyond the rights to [`STOCK`].
fn operations(token: Uuid, grant: Uuid) -> Vec<(&'static str, Operation)> {
    macro_rules! each {
        ($($name:ident($($argument:expr),*)),* $(,)?) => {
            vec![$((stringify!($name), Box::new(move |store: &mut Store| store.$name($($argument),*).map(drop)) as Operation)),*]
        };
    }
    let beyond = || NewUser { rights: only(&[SALES], Scope::Read), ..user("new@example.com") };
    each![
        add_user(beyond()),
        add_user_with_token(&beyond(), NewPat::default()),
        change_user(NewUser { rights: only(&[STOCK], Scope::Read), ..user(ANN) }),
        disable_user(ANN),
        enable_user(ANN),
        remove_user(ANN),
        change_password(ANN, Some(&"correct horse battery".into())),
        set_password(ANN, None),
        sign_out_user(ANN, true),
        create_pat(ANN, NewPat::default()),
        revoke_pat(&token.to_string()),
        pats(Some(ANN)),
        create_service_account(account("new", &[SALES], Scope::Read)),
        change_service_account(account("theirs", &[STOCK], Scope::Read)),
        rotate_service_account("theirs"),
        disable_service_account("theirs"),
        enable_service_account("theirs"),
        remove_service_account("theirs"),
        add_client(&new_client("new")),
        remove_client("client"),
        clients(),
        consents(Some(ANN)),
        revoke_consent(grant),
        rotate_key(Algorithm::EdDsa),
        end_key(None, Algorithm::EdDsa),
        keys(),
        disable_subject("https://idp.example.org#eve"),
        enable_subject("https://idp.example.org#bob"),
        refused_subjects(),
        of_unknown_origin(),
        audit_after(0, 10),
    ]
}

/// Operations that list what is within the actor's rights, and are empty if there is nothing.
const LISTS: [&str; 2] = ["users", "service_accounts"];

#[test]
fn every_operation_of_the_store_is_judged() {
    let house = House::new();
    let mut store = house.store();
    store.ensure_key().unwrap();
    store.add_user(NewUser { rights: only(&[SALES], Scope::Write), ..user(ANN) }).unwrap();
    let (token, secret) = store.create_pat(ANN, NewPat::default()).unwrap();
    store.create_service_account(account("theirs", &[SALES], Scope::Read)).unwrap();
    store.add_client(&NewClient { confidential: true, ..new_client("client") }).unwrap();
    store.disable_subject("https://idp.example.org#bob").unwrap();
    store.add_user(NewUser { rights: only(&[STOCK], Scope::Admin), ..user(LOCAL) }).unwrap();
    let (_, local) = store.create_pat(LOCAL, NewPat::default()).unwrap();
    let digest = |secret: &secrecy::SecretString| Digest::new(secrecy::ExposeSecret::expose_secret(secret));
    let [of_local, of_ann] = [Digest::new("local"), Digest::new("ann")];
    store.begin_session_by_token(LOCAL, &digest(&local), &of_local).unwrap();
    store.begin_session_by_token(ANN, &digest(&secret), &of_ann).unwrap();
    let grant = Uuid::from_u128(9);
    let before = house.kept();

    let operations = operations(token.id, grant);
    let (nobody, recorded) = house.recorded_store();
    let mut nobody = nobody.of_nobody();
    for (name, operation) in &operations {
        assert_eq!(operation(&mut nobody).unwrap_err().kind, Kind::Forbidden, "{name} is open to everybody");
        assert_eq!(nobody.acting(&of_ann, |store| operation(store)).unwrap_err().kind, Kind::Forbidden, "{name}");
        let refused = nobody.acting(&of_local, |store| operation(store)).expect_err(name).kind;
        assert!(
            matches!(refused, Kind::Forbidden | Kind::NotFound),
            "{name} by who administers another part: {refused:?}"
        );
    }
    assert!(nobody.users().is_err() && nobody.service_accounts().is_err());
    nobody
        .acting(&of_local, |store| {
            assert_eq!(store.users()?.len(), 1);
            assert!(store.service_accounts()?.is_empty() && store.pats(None)?.iter().all(|token| token.email == LOCAL));
            Ok(())
        })
        .unwrap();
    assert!(recorded.take().is_empty() && house.kept() == before, "something was changed");
    assert_eq!(nobody.ineffective_grants(ClientPolicy::default()).unwrap(), 0);

    let judged = operations.iter().map(|(name, _)| *name).chain(LISTS);
    let listed: BTreeSet<_> = judged.chain(OTHERWISE.map(|(name, _)| name)).chain(OF_THE_FILE).collect();
    let texts =
        STORE.iter().copied().chain([include_str!("../store/open.rs"), include_str!("../store/tables/origins.rs")]);
    let written: BTreeSet<_> =
        texts.flat_map(|text| functions(text, &["    pub fn ", "    pub(crate) fn "], "self")).collect();
    let of_the_handle = ["of_nobody", "sealed_with", "recording", "recorded"];
    let written: BTreeSet<_> = written.into_iter().filter(|name| !of_the_handle.contains(name)).collect();
    assert_eq!(written, listed, "an operation is judged by nobody, or is none any more");
}
