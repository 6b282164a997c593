//! Sessions, codes and grants end when they should, by a clock that is set by hand.

use secrecy::{ExposeSecret, SecretString};

use super::desk::Desk;
use super::support::{House, SALES, STOCK, ask, bearer, new_client, only, user};
use crate::accounts::session::{MOST_SESSIONS, SESSION_IDLE, SESSION_LIFETIME};
use crate::oauth::authorization::{Approval, CODE_LIFETIME, GRANT_LIFETIME, REFRESH_LIFETIME};
use crate::oauth::client::NewClient;
use crate::records::{NewPat, NewUser};
use portico_core::error::Kind;
use portico_core::principal::{Credential, Rights, Scope};

#[actix::test]
async fn a_code_is_good_for_a_minute() {
    let desk = Desk::open().await;
    let (one, two) = (desk.code().await, desk.code().await);
    desk.house.pass(CODE_LIFETIME.as_secs() - 1);
    assert!(desk.redeem(one).await.is_ok());
    desk.house.pass_beyond(1);
    assert_eq!(desk.redeem(two).await.unwrap_err().code, "invalid_grant");
}

#[actix::test]
async fn a_session_ends_unused_and_after_half_a_day_in_any_case() {
    let desk = Desk::open().await;
    let alive = async || desk.people.session(&desk.session, None).await.unwrap().is_some();
    let step = SESSION_IDLE.as_secs() - 1;
    for _ in 0..SESSION_LIFETIME.as_secs() / step {
        desk.house.pass(step);
        assert!(alive().await, "it was used in between");
    }
    desk.house.pass_beyond(step);
    assert!(!alive().await, "it is too old");
    let desk = Desk::open().await;
    desk.house.pass_beyond(SESSION_IDLE.as_secs());
    assert!(desk.people.session(&desk.session, None).await.unwrap().is_none(), "it was not used");
    let refused = desk.people.approve(&desk.session, desk.approval(Scope::Read, &[SALES])).await.unwrap_err();
    assert_eq!(refused.kind, Kind::Unauthenticated);
}

#[actix::test]
async fn a_person_has_a_bounded_number_of_sessions_and_the_newest_stay() {
    let desk = Desk::open().await;
    let in_force = async |session: &SecretString| desk.people.session(session, None).await.unwrap().is_some();
    let mut sessions = vec![desk.session.clone()];
    for _ in 1..MOST_SESSIONS {
        desk.house.pass(1);
        sessions.push(desk.people.sign_in("ann@example.com".to_owned(), desk.token.clone(), None).await.unwrap().0);
    }
    // A look at one would be a use of it.
    desk.house.pass(1);
    sessions.push(desk.people.sign_in("ann@example.com".to_owned(), desk.token.clone(), None).await.unwrap().0);
    assert!(!in_force(&sessions[0]).await, "the oldest makes room");
    assert!(in_force(&sessions[1]).await && in_force(&sessions[sessions.len() - 1]).await);
}

#[actix::test]
async fn a_grant_is_renewed_until_its_end_and_a_refresh_token_unused_ends_before() {
    let desk = Desk::open().await;
    let mut issued = desk.redeem(desk.code().await).await.unwrap();
    let step = REFRESH_LIFETIME.as_secs() - 1;
    let mut lived = 0;
    while lived + step < GRANT_LIFETIME.as_secs() {
        desk.house.pass(step);
        lived += step;
        issued = desk.refresh(&issued.refresh).await.unwrap();
        assert_eq!(bearer(&desk.auth.address(), &issued.access).await.unwrap().subject, "ann@example.com");
    }
    desk.house.pass_beyond(GRANT_LIFETIME.as_secs() - lived);
    assert_eq!(desk.refresh(&issued.refresh).await.unwrap_err().code, "invalid_grant");
    assert!(bearer(&desk.auth.address(), &issued.access).await.is_err(), "the access token ends with the grant");
    let desk = Desk::open().await;
    let issued = desk.redeem(desk.code().await).await.unwrap();
    desk.house.pass_beyond(REFRESH_LIFETIME.as_secs());
    assert_eq!(desk.refresh(&issued.refresh).await.unwrap_err().code, "invalid_grant");
}

#[actix::test]
async fn nothing_is_approved_that_the_session_does_not_have() {
    let new = NewUser { rights: only(&[SALES], Scope::Write), ..user("ann@example.com") };
    let desk = Desk::with(new, NewPat::default()).await;
    for (scope, connections, kind) in [
        (Scope::Admin, &[SALES][..], Kind::Forbidden),
        (Scope::Read, &[SALES, STOCK], Kind::Forbidden),
        (Scope::Read, &[], Kind::Invalid),
    ] {
        let refused = desk.people.approve(&desk.session, desk.approval(scope, connections)).await.unwrap_err();
        assert_eq!(refused.kind, kind, "{scope:?} {connections:?}");
    }
    // What the user loses later, the client loses too.
    let issued = desk.redeem(desk.code().await).await.unwrap();
    assert!(bearer(&desk.auth.address(), &issued.access).await.unwrap().may(Scope::Write));
    let change = NewUser { rights: Rights::all(Scope::Read), ..user("ann@example.com") };
    desk.house.store().change_user(change).unwrap();
    let principal = bearer(&desk.auth.address(), &issued.access).await.unwrap();
    assert_eq!(principal.rights, only(&[SALES], Scope::Read));
}

#[actix::test]
async fn what_a_token_began_ends_with_it() {
    let desk = Desk::open().await;
    let pat = desk.house.store().pats(None).unwrap().remove(0);
    let issued = desk.redeem(desk.code().await).await.unwrap();
    desk.house.store().revoke_pat(&pat.id.to_string()).unwrap();
    assert!(desk.people.session(&desk.session, None).await.unwrap().is_none());
    assert!(bearer(&desk.auth.address(), &issued.access).await.is_err());
    assert_eq!(desk.refresh(&issued.refresh).await.unwrap_err().code, "invalid_grant");
    let ends =
        NewPat { expires_at: Some(House::new().now().after(std::time::Duration::from_secs(600))), ..NewPat::default() };
    let desk = Desk::with(user("ann@example.com"), ends).await;
    let issued = desk.redeem(desk.code().await).await.unwrap();
    desk.house.pass_beyond(600);
    assert!(bearer(&desk.auth.address(), &issued.access).await.is_err());
    assert!(desk.people.session(&desk.session, None).await.unwrap().is_none());
}

#[actix::test]
async fn the_last_use_of_a_token_is_told_and_secrets_are_kept_as_digests_alone() {
    let desk = Desk::open().await;
    desk.house.pass(100);
    let credential = Credential::Basic { email: "ann@example.com".to_owned(), token: desk.token.clone() };
    ask(&desk.auth.address(), credential).await.unwrap();
    let used = desk.people.tokens(&desk.session).await.unwrap().remove(0).last_used_at;
    assert_eq!(used, Some(desk.house.now()));
    let code = desk.code().await;
    let issued = desk.redeem(code.clone()).await.unwrap();
    desk.house.store().change_password("ann@example.com", Some(&"correct horse battery".into())).unwrap();
    let kept = desk.house.kept();
    let holds = |secret: &str| kept.windows(secret.len()).any(|window| window == secret.as_bytes());
    assert!(holds("ann@example.com"), "the file was not read");
    for secret in [&code, &desk.session, &desk.token, &issued.refresh, &issued.access.token] {
        assert!(!holds(secret.expose_secret()), "a secret is in the file");
    }
    assert!(!holds("correct horse battery"));
    let shown = format!("{issued:?} {:?}", desk.people);
    assert!(!shown.contains(issued.refresh.expose_secret()), "{shown}");
}

#[actix::test]
async fn clients_that_register_themselves_are_bounded_and_forgotten() {
    let desk = Desk::open().await;
    let (unused, _) = desk.people.register(new_client("same name"), None).await.unwrap();
    let (used, _) = desk.people.register(new_client("same name"), None).await.unwrap();
    let approval = Approval { client_id: used.client_id.clone(), ..desk.approval(Scope::Read, &[SALES]) };
    desk.people.approve(&desk.session, approval).await.unwrap();
    desk.house.pass_beyond(86_400);
    desk.people.register(new_client("another"), None).await.unwrap();
    assert!(desk.people.client(unused.client_id).await.unwrap().is_none());
    assert!(desk.people.client(used.client_id.clone()).await.unwrap().is_some());
    // As if another 998 had done so: each by itself would wait for the disk.
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 998)
                INSERT INTO clients (client_id, kind, name, redirect_uris, created_at)
                SELECT 'ptc_app_' || i, 'dynamic', 'many', '[]', @now + i FROM n";
    desk.house.execute(&many.replace("@now", &desk.house.now().seconds().to_string()));
    let dynamic = || desk.house.store().clients().unwrap().iter().filter(|it| it.kind.as_str() == "dynamic").count();
    assert_eq!(dynamic(), 1_000);
    desk.house.pass(2_000);
    let another = desk.house.store().clients().unwrap().into_iter().find(|it| it.name == "another").unwrap();
    let (newest, _) = desk.people.register(new_client("one too many"), None).await.unwrap();
    assert_eq!(dynamic(), 1_000);
    assert!(desk.people.client(another.client_id).await.unwrap().is_none(), "the oldest unused one makes room");
    desk.people.register(new_client("one more"), None).await.unwrap();
    assert!(desk.people.client("ptc_app_1".to_owned()).await.unwrap().is_none());
    for kept in [used.client_id.clone(), newest.client_id, "ptc_app_998".to_owned()] {
        assert!(desk.people.client(kept).await.unwrap().is_some());
    }
    // Clients in use are not removed for strangers.
    desk.house.execute("UPDATE clients SET used_at = created_at");
    let refused = desk.people.register(new_client("nobody is unused"), None).await.unwrap_err();
    assert_eq!(refused.kind, Kind::Busy);
    assert!(refused.get_retry_after().is_some());
}

#[actix::test]
async fn clients_register_themselves_from_one_address_at_a_rate() {
    let desk = Desk::open().await;
    let (here, far) = ("192.0.2.1".parse().ok(), "192.0.2.2".parse().ok());
    for _ in 0..10 {
        desk.people.register(new_client("client"), here).await.unwrap();
    }
    let refused = desk.people.register(new_client("client"), here).await.unwrap_err();
    assert_eq!(refused.get_quota().map(|quota| quota.policy), Some("registrations"));
    assert!(desk.people.register(new_client("client"), far).await.is_ok());
}

#[actix::test]
async fn signing_in_and_being_used_are_no_change_of_who_may_call() {
    let mut desk = Desk::open().await;
    let password = SecretString::from("correct horse battery");
    desk.house.store().change_password("ann@example.com", Some(&password)).unwrap();
    // That has ended every session.
    desk.session = desk.people.sign_in("ann@example.com".to_owned(), desk.token.clone(), None).await.unwrap().0;
    let code = desk.code().await;
    let mut known = desk.house.store().revision().unwrap();
    let mut issued = desk.redeem(code).await.unwrap();
    let mut moved = |what: &str, expected: bool| {
        let now = desk.house.store().revision().unwrap();
        assert_eq!(now != known, expected, "{what}");
        known = now;
    };
    moved("the first use of a grant", true);
    for step in 0..2 {
        desk.house.pass(100);
        let by_token = desk.people.sign_in("ann@example.com".to_owned(), desk.token.clone(), None).await.unwrap().0;
        let by_password = desk.people.sign_in("ann@example.com".to_owned(), password.clone(), None).await.unwrap().0;
        moved("a sign-in", false);
        assert!(desk.people.session(&by_token, None).await.unwrap().is_some());
        desk.house.pass(100);
        assert!(desk.people.session(&by_token, None).await.unwrap().is_some());
        moved("the stamp of a session", false);
        let credential = Credential::Basic { email: "ann@example.com".to_owned(), token: desk.token.clone() };
        ask(&desk.auth.address(), credential).await.unwrap();
        let used = desk.people.tokens(&desk.session).await.unwrap().pop().unwrap().last_used_at;
        assert_eq!(used, Some(desk.house.now()));
        moved("the stamp of a token", false);
        issued = desk.refresh(&issued.refresh).await.unwrap();
        moved("the next use of a grant", false);
        desk.people.sign_out(&by_password, false).await.unwrap();
        moved("a sign-out", false);
        let new = NewClient { confidential: true, ..new_client(&format!("client {step}")) };
        desk.people.register(new, None).await.unwrap();
        moved("a client that registers itself", false);
        desk.house.store().create_pat("ann@example.com", NewPat::default()).unwrap();
        moved("a new token", true);
    }
    let grant = desk.people.grants(&desk.session).await.unwrap().remove(0);
    desk.people.revoke_own_consent(&desk.session, grant.id).await.unwrap();
    moved("a grant that is revoked", true);
    desk.house.store().revoke_pat(&desk.house.store().pats(None).unwrap()[0].id.to_string()).unwrap();
    moved("a token that is revoked", true);
}
