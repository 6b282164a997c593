//! Tests of cascading ends, and that nothing grows without bound.

use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;

use super::desk::Desk;
use super::support::{SALES, ask, basic, bearer, pace, redemption, refreshing, user};
use crate::Reconfigure;
use crate::oauth::authorization::{Approval, IssuedTokens, NextRefresh};
use crate::oauth::client::{ClientKind, ClientPolicy, DynamicRegistration, NewClient};
use crate::records::{NewPat, PersonalAccessToken};
use crate::secret::Digest;
use crate::store::Store;
use portico_core::error::Kind;
use portico_core::principal::{Credential, Endpoint, Principal, Rights, Scope};

const ANN: &str = "ann@example.com";
const DOCUMENT: &str = "https://client.example/id";

/// Everything derived from one sign-in.
struct Line {
    session: SecretString,
    token: SecretString,
    record: PersonalAccessToken,
    issued: IssuedTokens,
}

impl Desk {
    /// Signs in with `with`, makes a token and gives a client access.
    async fn line(&self, with: &SecretString) -> Line {
        let session = self.people.sign_in(ANN.to_owned(), with.clone(), None).await.unwrap().0;
        let (record, token) = self.people.create_token(&session, NewPat::default()).await.unwrap();
        let code = self.people.approve(&session, self.approval(Scope::Write, &[SALES])).await.unwrap();
        Line { session, token, record, issued: self.redeem(code).await.unwrap() }
    }

    async fn admits(&self, token: &SecretString) -> bool {
        ask(&self.auth.address(), basic(ANN, token)).await.is_ok()
    }

    async fn opens(&self, issued: &IssuedTokens) -> bool {
        bearer(&self.auth.address(), &issued.access).await.is_ok()
    }

    async fn is_in(&self, session: &SecretString) -> bool {
        self.people.session(session, None).await.unwrap().is_some()
    }

    /// Whether session, token and grant of a line are there.
    async fn stands(&self, line: &Line) -> [bool; 3] {
        [self.is_in(&line.session).await, self.admits(&line.token).await, self.opens(&line.issued).await]
    }
}

#[actix::test]
async fn what_was_made_out_of_a_token_ends_with_it_however_far_away() {
    let desk = Desk::open().await;
    let (_, other) = desk.house.store().create_pat(ANN, NewPat::default()).unwrap();
    let child = desk.line(&desk.token).await;
    let grandchild = desk.line(&child.token).await;
    let beside = desk.line(&other).await;
    let root = desk.house.store().pats(Some(ANN)).unwrap().remove(0);
    assert_eq!((child.record.parent, grandchild.record.parent), (Some(root.id), Some(child.record.id)));
    for line in [&child, &grandchild, &beside] {
        assert_eq!(desk.stands(line).await, [true; 3]);
    }
    let (mut store, kept) = desk.house.recorded_store();
    store.revoke_pat(&root.id.to_string()).unwrap();
    let mut recorded: Vec<_> = kept.take().into_iter().map(|change| change.action).collect();
    assert_eq!(recorded.remove(0), "pat revoke");
    recorded.sort_unstable();
    assert_eq!(recorded, ["grant revoke", "grant revoke", "pat revoke", "pat revoke"]);
    for line in [&child, &grandchild] {
        assert_eq!(desk.stands(line).await, [false; 3]);
        assert_eq!(desk.refresh(&line.issued.refresh).await.unwrap_err().code, "invalid_grant");
    }
    assert_eq!(desk.stands(&beside).await, [true; 3]);
    assert!(!desk.is_in(&desk.session).await);
    store.revoke_pat(&root.id.to_string()).unwrap();
    assert!(kept.take().is_empty(), "twice changes nothing");
}

#[actix::test]
async fn who_only_reads_the_store_refuses_what_came_of_a_revoked_or_expired_token() {
    let desk = Desk::open().await;
    let child = desk.line(&desk.token).await;
    let grandchild = desk.line(&child.token).await;
    let root = desk.house.store().pats(Some(ANN)).unwrap().remove(0).id;
    // As if nothing but the token itself had been written.
    let change =
        |what: &str| desk.house.execute(&format!("UPDATE personal_access_tokens SET {what} WHERE id = '{root}'"));
    let now = desk.house.now().seconds();
    change(&format!("expires_at = {}", now + 60));
    for line in [&child, &grandchild] {
        assert!(desk.admits(&line.token).await && desk.opens(&line.issued).await);
    }
    desk.house.pass_beyond(60);
    for line in [&child, &grandchild] {
        assert!(!desk.admits(&line.token).await && !desk.opens(&line.issued).await);
    }
    change("expires_at = NULL");
    assert!(desk.admits(&grandchild.token).await && desk.opens(&grandchild.issued).await);
    change(&format!("revoked_at = {now}"));
    for line in [&child, &grandchild] {
        assert!(!desk.admits(&line.token).await && !desk.opens(&line.issued).await);
    }
    // So long ago that it is not read any more.
    change("revoked_at = 1");
    assert!(!desk.admits(&grandchild.token).await && !desk.opens(&grandchild.issued).await);
}

#[actix::test]
async fn what_is_made_in_a_session_ends_no_later_than_its_token() {
    let desk = Desk::open().await;
    let ends = desk.house.now().after(Duration::from_secs(600));
    let short = NewPat { expires_at: Some(ends), ..NewPat::default() };
    let (_, short) = desk.house.store().create_pat(ANN, short).unwrap();
    let child = desk.line(&short).await;
    let grandchild = desk.line(&child.token).await;
    let later = NewPat { expires_at: Some(ends.after(Duration::from_secs(1))), ..NewPat::default() };
    let (asked, _) = desk.people.create_token(&grandchild.session, later).await.unwrap();
    for record in [&child.record, &grandchild.record, &asked] {
        assert_eq!(record.expires_at, Some(ends));
    }
    desk.house.pass_beyond(600);
    for line in [&child, &grandchild] {
        assert_eq!(desk.stands(line).await, [false; 3]);
    }
}

#[actix::test]
async fn a_new_password_disabling_and_a_sign_out_end_everything_but_tokens_for_good() {
    let ways: [(&str, fn(&mut Store)); 4] = [
        ("password", |store| drop(store.change_password(ANN, Some(&"correct horse battery".into())).unwrap())),
        ("no password", |store| drop(store.change_password(ANN, None).unwrap())),
        ("disable", |store| {
            store.disable_user(ANN).unwrap();
            store.enable_user(ANN).unwrap();
        }),
        ("sign-out", |store| {
            let ended = store.sign_out_user("ANN@example.com", false).unwrap();
            assert_eq!((ended.sessions, ended.grants, ended.tokens), (3, 2, 0));
        }),
    ];
    for (way, end) in ways {
        let desk = Desk::open().await;
        let line = desk.line(&desk.token).await;
        let other = desk.line(&desk.token).await;
        let pending = desk.people.approve(&line.session, desk.approval(Scope::Read, &[SALES])).await.unwrap();
        if way == "sign-out" {
            drop(desk.redeem(pending.clone()).await.unwrap());
            let grant = desk.people.grants(&line.session).await.unwrap().remove(0).id;
            desk.people.revoke_own_consent(&line.session, grant).await.unwrap();
        }
        end(&mut desk.house.store());
        for line in [&line, &other] {
            assert_eq!(desk.stands(line).await, [false, true, false], "{way}");
            assert_eq!(desk.refresh(&line.issued.refresh).await.unwrap_err().code, "invalid_grant", "{way}");
        }
        assert_eq!(desk.redeem(pending).await.unwrap_err().code, "invalid_grant", "{way}");
        for table in ["sessions", "grants", "authorization_codes", "refresh_tokens"] {
            assert_eq!(desk.house.count(table), 0, "{way}: {table}");
        }
    }
    let desk = Desk::open().await;
    let line = desk.line(&desk.token).await;
    let ended = desk.house.store().sign_out_user(ANN, true).unwrap();
    assert_eq!((ended.sessions, ended.grants, ended.tokens), (2, 1, 2));
    assert_eq!(desk.stands(&line).await, [false; 3]);
    assert!(!desk.admits(&desk.token).await);
    assert_eq!(desk.house.store().sign_out_user("bob@example.com", false).unwrap_err().kind, Kind::NotFound);
}

#[actix::test]
async fn an_account_that_is_enabled_again_has_none_of_its_tokens_back() {
    use super::support::{account, exchange};
    let desk = Desk::open().await;
    let mut store = desk.house.store();
    let (nightly, secret) = store.create_service_account(account("nightly", &[SALES], Scope::Read)).unwrap();
    let actor = desk.auth.address();
    let token = exchange(&actor, &nightly, &secret, None, None).await.unwrap();
    store.disable_service_account("nightly").unwrap();
    store.enable_service_account("nightly").unwrap();
    assert!(bearer(&actor, &token).await.is_err(), "in the same second as well");
    desk.house.pass(1);
    let newer = exchange(&actor, &nightly, &secret, None, None).await.unwrap();
    assert!(bearer(&actor, &newer).await.is_ok());
}

/// A client of each kind with a grant.
async fn clients(desk: &Desk) -> Vec<(ClientKind, String, IssuedTokens)> {
    let register = async |uri: &str| {
        let redirect_uris = vec![uri.to_owned()];
        let new = NewClient { name: "itself".to_owned(), redirect_uris, confidential: false };
        desk.people.register(new, None).await.unwrap().0.client_id
    };
    let dynamic = register("https://client.example/cb").await;
    let known = register("cursor://anysphere.cursor-mcp/oauth/callback").await;
    let mut given = Vec::new();
    for (kind, client) in [
        (ClientKind::Registered, desk.client.clone()),
        (ClientKind::Dynamic, dynamic),
        (ClientKind::Known, known),
        (ClientKind::Document, DOCUMENT.to_owned()),
    ] {
        let approval = Approval { client_id: client.clone(), ..desk.approval(Scope::Read, &[SALES]) };
        let code = desk.people.approve(&desk.session, approval).await.unwrap();
        let issued = desk.redeem_as(&client, code).await.unwrap();
        given.push((kind, client, issued));
    }
    given
}

#[actix::test]
async fn a_client_of_any_kind_can_be_removed_with_what_it_was_given() {
    let desk = Desk::open().await;
    let given = clients(&desk).await;
    let (mut store, kept) = desk.house.recorded_store();
    for (kind, client, issued) in &given {
        assert!(desk.opens(issued).await);
        assert!(store.clients().unwrap().iter().any(|it| it.client_id == *client && it.kind == *kind), "{kind:?}");
        assert_eq!(store.remove_client(client).unwrap().kind, *kind);
        let recorded: Vec<_> = kept.take().into_iter().map(|change| change.action).collect();
        assert_eq!(recorded, ["client remove", "grant revoke"], "{kind:?}");
        assert!(!desk.opens(issued).await, "{kind:?}");
        assert!(desk.refresh_as(client, &issued.refresh).await.is_err(), "{kind:?}");
        assert_eq!(store.remove_client(client).unwrap_err().kind, Kind::NotFound);
    }
    assert!(store.clients().unwrap().is_empty());
}

#[actix::test]
async fn what_clients_hold_that_are_not_admitted_any_more_opens_nothing() {
    let desk = Desk::open().await;
    let given = clients(&desk).await;
    let consents = desk.house.store().consents(Some(ANN)).unwrap();
    for admission in [
        ClientPolicy { documents: false, dynamic: DynamicRegistration::Everybody },
        ClientPolicy { documents: true, dynamic: DynamicRegistration::Known },
        ClientPolicy { documents: true, dynamic: DynamicRegistration::Nobody },
        ClientPolicy { documents: false, dynamic: DynamicRegistration::Nobody },
    ] {
        let settings = desk.house.settings();
        let change = Reconfigure {
            token_lifetime: settings.token_lifetime,
            connections: Arc::clone(&settings.connections),
            reaches: Vec::new(),
            admission,
        };
        desk.auth.reconfigure(change).await;
        for (kind, client, issued) in &given {
            let admitted = admission.takes(Some(*kind));
            assert_eq!(desk.opens(issued).await, admitted, "{kind:?} {admission:?}");
            assert_eq!(consents.iter().filter(|it| it.client_kind == Some(*kind)).count(), 1);
            if *kind == ClientKind::Document {
                continue;
            }
            assert_eq!(desk.people.client(client.clone()).await.unwrap().is_some(), admitted, "{kind:?}");
        }
        let shut = given.iter().filter(|(kind, ..)| !admission.takes(Some(*kind))).count();
        assert_eq!(desk.people.ineffective_grants().await.unwrap(), shut);
        for (kind, client, issued) in given.iter().filter(|(kind, ..)| !admission.takes(Some(*kind))) {
            let refused = desk.refresh_as(client, &issued.refresh).await.unwrap_err();
            assert_eq!(refused.code, "unauthorized_client", "{kind:?}");
        }
    }
}

#[actix::test]
async fn a_refresh_token_of_an_older_program_goes_on_and_is_known_when_it_comes_again() {
    let desk = Desk::open().await;
    let code = desk.code().await;
    let mut store = desk.house.store();
    let old = NextRefresh { secret: "ptc_rt_old".into(), digest: Digest::new("ptc_rt_old"), line: Digest::new("") };
    store.redeem(&redemption(&desk.client, &code), &old, Ok).unwrap().unwrap();
    desk.house.execute("UPDATE grants SET line = NULL");
    let issued = desk.refresh(&old.secret).await.unwrap();
    let issued = desk.refresh(&issued.refresh).await.unwrap();
    assert_eq!(desk.house.count("refresh_tokens"), 2);
    assert!(desk.opens(&issued).await);
    let next = NextRefresh::mint(Some(&old.secret)).unwrap();
    let asked = refreshing(&desk.client, &old.secret);
    assert!(store.refresh(&asked, &next, Ok).unwrap().is_err());
    assert!(!desk.opens(&issued).await, "it came a second time");
}

#[actix::test]
async fn thousands_of_refreshes_sign_ins_and_consents_leave_no_more_than_a_bound() {
    let desk = Desk::open().await;
    let mut store = desk.house.store();
    let first = desk.redeem(desk.code().await).await.unwrap();
    let mut token = first.refresh.clone();
    for _ in 0..1_000 {
        let next = NextRefresh::mint(Some(&token)).unwrap();
        store.refresh(&refreshing(&desk.client, &token), &next, Ok).unwrap().unwrap();
        token = next.secret;
    }
    assert_eq!(desk.house.count("refresh_tokens"), 1);
    let pat = Digest::new(secrecy::ExposeSecret::expose_secret(&desk.token));
    for number in 0..200 {
        desk.house.pass(u64::from(number % 100 == 0));
        store.begin_session_by_token(ANN, &pat, &Digest::new(&format!("session {number}"))).unwrap();
    }
    assert_eq!(desk.house.count("sessions"), 50);
    assert!(!desk.is_in(&desk.session).await, "the oldest one has ended");
    let session = Digest::new("session 199");
    assert!(store.required(&session).is_ok());
    for number in 0..200 {
        store
            .approve(&session, &desk.approval(Scope::Read, &[SALES]), &Digest::new(&format!("code {number}")))
            .unwrap();
    }
    assert_eq!((desk.house.count("grants"), desk.house.count("authorization_codes")), (100, 100));
    // As if another 2,000 applications had been allowed something: each by itself would wait for the disk.
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
                INSERT INTO grants (id, user_id, client_id, client_name, scope, connections, created_at, expires_at)
                SELECT '00000000-0000-0000-0000-00000000' || (1000 + i), u.id, 'https://client.example/' || i, 'many',
                       'read', '[]', @now, @now + 1000 FROM n, users u";
    desk.house.execute(&many.replace("@now", &desk.house.now().seconds().to_string()));
    store.approve(&session, &desk.approval(Scope::Read, &[SALES]), &Digest::new("one more")).unwrap();
    assert_eq!(desk.house.count("grants"), 1_000);
    desk.house.pass_beyond(61);
    store.approve(&session, &desk.approval(Scope::Read, &[SALES]), &Digest::new("the last")).unwrap();
    assert_eq!(desk.house.count("authorization_codes"), 1, "codes that nobody came for are gone");
    // The first one of a line is known as long as the grant is there.
    let desk = Desk::open().await;
    let first = desk.redeem(desk.code().await).await.unwrap();
    let second = desk.refresh(&first.refresh).await.unwrap();
    desk.house.pass(20 * 86_400);
    let third = desk.refresh(&second.refresh).await.unwrap();
    assert!(desk.refresh(&first.refresh).await.is_err());
    assert!(!desk.opens(&third).await, "it was used a second time, long ago as that is");
}

#[actix::test]
async fn what_people_have_allowed_is_listed_and_taken_back() {
    let desk = Desk::open().await;
    let mut store = desk.house.store();
    store.add_user(user("bob@example.com")).unwrap();
    let issued = desk.redeem(desk.code().await).await.unwrap();
    drop(desk.code().await);
    let all = store.consents(None).unwrap();
    assert_eq!((all.len(), all[0].email.as_str(), all[0].client_name.as_str()), (1, ANN, "client"));
    assert_eq!(store.consents(Some(ANN)).unwrap(), all);
    assert!(store.consents(Some("bob@example.com")).unwrap().is_empty());
    assert_eq!(store.consents(Some("eve@example.com")).unwrap_err().kind, Kind::NotFound);
    store.revoke_consent(all[0].id).unwrap();
    assert!(!desk.opens(&issued).await);
    assert_eq!(store.revoke_consent(all[0].id).unwrap_err().kind, Kind::NotFound);
}

/// Returns the principal of that credential, under which something runs.
async fn running(desk: &Desk, credential: Credential) -> Arc<Principal> {
    ask(&desk.auth.address(), credential).await.unwrap()
}

#[actix::test]
async fn what_goes_on_under_a_credential_ends_with_it_though_nobody_asks() {
    type End = fn(&Desk, &mut Store);
    let ways: [(&str, End); 6] = [
        ("revoked", |_, store| drop(store.revoke_pat(&store.pats(None).unwrap()[0].id.to_string()).unwrap())),
        ("disabled", |_, store| drop(store.disable_user(ANN).unwrap())),
        ("removed", |_, store| drop(store.remove_user(ANN).unwrap())),
        ("narrowed", |_, store| {
            drop(store.change_user(crate::records::NewUser { rights: Rights::all(Scope::Read), ..user(ANN) }).unwrap());
        }),
        ("client", |desk, store| drop(store.remove_client(&desk.client).unwrap())),
        ("consent", |_, store| store.revoke_consent(store.consents(None).unwrap()[0].id).unwrap()),
    ];
    for (way, end) in ways {
        let desk = Desk::open().await;
        let (_, other) = desk.house.store().create_pat(ANN, NewPat::default()).unwrap();
        let issued = desk.redeem(desk.code().await).await.unwrap();
        let by_token = running(&desk, basic(ANN, &desk.token)).await;
        let by_other = running(&desk, Credential::Bearer(other)).await;
        let by_grant = running(&desk, Credential::Bearer(issued.access.token.clone())).await;
        // A change that has no effect on them ends nothing, nor does one that adds rights.
        desk.house.store().add_user(user("bob@example.com")).unwrap();
        let wider = crate::records::NewUser { rights: Rights::ALL, ..user(ANN) };
        desk.house.store().change_user(wider).unwrap();
        desk.auth.sync().await;
        let asked = ask(&desk.auth.address(), basic(ANN, &desk.token)).await.unwrap();
        assert_eq!(asked.scope(), Scope::Admin);
        assert!(![&by_token, &by_other, &by_grant].iter().any(|by| by.validity.is_lost()), "{way}");
        end(&desk, &mut desk.house.store());
        let lost = match way {
            "client" | "consent" => [false, false, true],
            "revoked" => [true, false, true],
            _ => [true; 3],
        };
        let mut pace = pace();
        while [&by_token, &by_other, &by_grant].map(|by| by.validity.is_lost()) != lost {
            pace.tick().await;
        }
        drop(by_grant);
    }
}

#[actix::test]
async fn what_was_begun_goes_on_when_the_time_of_its_token_is_over_and_ends_when_it_is_revoked() {
    let desk = Desk::open().await;
    let issued = desk.redeem(desk.code().await).await.unwrap();
    let by = running(&desk, Credential::Bearer(issued.access.token.clone())).await;
    desk.house.pass(7_200);
    desk.house.store().add_user(user("bob@example.com")).unwrap();
    assert!(!desk.opens(&issued).await, "its time is over");
    assert!(!by.validity.is_lost());
    desk.house.store().sign_out_user(ANN, false).unwrap();
    let mut pace = pace();
    while !by.validity.is_lost() {
        pace.tick().await;
    }
    assert_eq!(by.subject, ANN);
    let credential = Credential::Bearer(issued.access.token.clone());
    let asked = crate::Authenticate { credential, endpoint: Endpoint::Api, from: None };
    assert!(desk.auth.authenticate(asked).await.is_err());
}
