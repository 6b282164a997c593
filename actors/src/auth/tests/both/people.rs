//! Sessions, codes and grants end when they should, by a clock that is set by hand.

use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use super::support::{House, ISSUER, SALES, STOCK, ask, bearer, only, user};
use crate::auth::people::People;
use crate::auth::people::authorization::{
    Approval, CODE_LIFETIME, ClientCredential, GRANT_LIFETIME, Issued, REFRESH_LIFETIME, Redemption, Refresh,
};
use crate::auth::people::client::NewClient;
use crate::auth::people::session::{SESSION_IDLE, SESSION_LIFETIME};
use crate::auth::records::{NewPat, NewUser};
use crate::auth::{Auth, AuthSettings, GrantError};
use crate::error::Kind;
use crate::principal::{Credential, Reach, Scope};

const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const REDIRECT: &str = "https://client.example/cb";

/// A service with one user, signed in with a token of theirs, and one public client.
struct Desk {
    house: House,
    people: People,
    auth: Auth,
    token: SecretString,
    session: SecretString,
    client: String,
}

impl Desk {
    async fn open() -> Self {
        Self::with(user("ann@example.com"), NewPat::default()).await
    }

    async fn with(new: NewUser, pat: NewPat) -> Self {
        let house = House::new();
        let email = house.store().add_user(new).unwrap().email;
        let (_, token) = house.store().create_pat(&email, pat).unwrap();
        let redirect_uris = vec![REDIRECT.to_owned()];
        let new = NewClient { name: "client".to_owned(), redirect_uris, confidential: false };
        let client = house.store().add_client(&new).unwrap().0.client_id;
        let observer = std::sync::Arc::new(|_: &crate::event::Event| {});
        let settings = AuthSettings { clock: house.clock(), ..AuthSettings::new(house.place(), ISSUER, observer) };
        let auth = Auth::start(settings.clone()).await.unwrap();
        let people = People::start(&settings, auth.clone()).await.unwrap();
        let session = people.sign_in(email, token.clone()).await.unwrap();
        Self { house, people, auth, token, session, client }
    }

    fn approval(&self, scope: Scope, connections: &[Uuid]) -> Approval {
        Approval {
            client_id: self.client.clone(),
            client_name: "client".to_owned(),
            redirect_uri: REDIRECT.to_owned(),
            challenge: CHALLENGE.to_owned(),
            scope,
            connections: connections.to_vec(),
            resource: None,
        }
    }

    async fn code(&self) -> SecretString {
        self.people.approve(&self.session, self.approval(Scope::Write, &[SALES])).await.unwrap()
    }

    async fn redeem(&self, code: SecretString) -> Result<Issued, GrantError> {
        let client = ClientCredential { from: None, client_id: self.client.clone(), secret: None };
        let (redirect_uri, verifier) = (REDIRECT.to_owned(), VERIFIER.into());
        self.people.redeem(Redemption { client, code, redirect_uri, verifier, resource: None }).await
    }

    async fn refresh(&self, token: &SecretString) -> Result<Issued, GrantError> {
        let client = ClientCredential { from: None, client_id: self.client.clone(), secret: None };
        self.people.refresh(Refresh { client, token: token.clone(), scope: None, resource: None }).await
    }
}

#[actix::test]
async fn a_code_is_good_for_a_minute() {
    let desk = Desk::open().await;
    let (one, two) = (desk.code().await, desk.code().await);
    desk.house.pass(CODE_LIFETIME.as_secs() - 1);
    assert!(desk.redeem(one).await.is_ok());
    desk.house.pass(1);
    assert_eq!(desk.redeem(two).await.unwrap_err().code, "invalid_grant");
}

#[actix::test]
async fn a_session_ends_unused_and_after_half_a_day_in_any_case() {
    let desk = Desk::open().await;
    let alive = async || desk.people.session(&desk.session).await.unwrap().is_some();
    let step = SESSION_IDLE.as_secs() - 1;
    for _ in 0..SESSION_LIFETIME.as_secs() / step {
        desk.house.pass(step);
        assert!(alive().await, "it was used in between");
    }
    desk.house.pass(step);
    assert!(!alive().await, "it is too old");
    let desk = Desk::open().await;
    desk.house.pass(SESSION_IDLE.as_secs());
    assert!(desk.people.session(&desk.session).await.unwrap().is_none(), "it was not used");
    let refused = desk.people.approve(&desk.session, desk.approval(Scope::Read, &[SALES])).await.unwrap_err();
    assert_eq!(refused.kind, Kind::Unauthenticated);
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
    desk.house.pass(GRANT_LIFETIME.as_secs() - lived);
    assert_eq!(desk.refresh(&issued.refresh).await.unwrap_err().code, "invalid_grant");
    assert!(bearer(&desk.auth.address(), &issued.access).await.is_err(), "the access token ends with the grant");
    let desk = Desk::open().await;
    let issued = desk.redeem(desk.code().await).await.unwrap();
    desk.house.pass(REFRESH_LIFETIME.as_secs());
    assert_eq!(desk.refresh(&issued.refresh).await.unwrap_err().code, "invalid_grant");
}

#[actix::test]
async fn nothing_is_approved_that_the_session_does_not_have() {
    let new = NewUser { reach: only(&[SALES]), ..user("ann@example.com") };
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
    let change = NewUser { reach: Reach::All, scope: Scope::Read, ..user("ann@example.com") };
    desk.house.store().change_user(change).unwrap();
    let principal = bearer(&desk.auth.address(), &issued.access).await.unwrap();
    assert_eq!((principal.scope, &principal.reach), (Scope::Read, &only(&[SALES])));
}

#[actix::test]
async fn what_a_token_began_ends_with_it() {
    let desk = Desk::open().await;
    let pat = desk.house.store().pats(None).unwrap().remove(0);
    let issued = desk.redeem(desk.code().await).await.unwrap();
    desk.house.store().revoke_pat(&pat.id.to_string()).unwrap();
    assert!(desk.people.session(&desk.session).await.unwrap().is_none());
    assert!(bearer(&desk.auth.address(), &issued.access).await.is_err());
    assert_eq!(desk.refresh(&issued.refresh).await.unwrap_err().code, "invalid_grant");
    let ends =
        NewPat { expires_at: Some(House::new().now().after(std::time::Duration::from_secs(600))), ..NewPat::default() };
    let desk = Desk::with(user("ann@example.com"), ends).await;
    let issued = desk.redeem(desk.code().await).await.unwrap();
    desk.house.pass(600);
    assert!(bearer(&desk.auth.address(), &issued.access).await.is_err());
    assert!(desk.people.session(&desk.session).await.unwrap().is_none());
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
    let new = |name: &str| {
        let redirect_uris = vec![REDIRECT.to_owned()];
        NewClient { name: name.to_owned(), redirect_uris, confidential: false }
    };
    let (unused, _) = desk.people.register(new("same name")).await.unwrap();
    let (used, _) = desk.people.register(new("same name")).await.unwrap();
    let approval = Approval { client_id: used.client_id.clone(), ..desk.approval(Scope::Read, &[SALES]) };
    desk.people.approve(&desk.session, approval).await.unwrap();
    desk.house.pass(86_400);
    desk.people.register(new("another")).await.unwrap();
    assert!(desk.people.client(unused.client_id).await.unwrap().is_none());
    assert!(desk.people.client(used.client_id.clone()).await.unwrap().is_some());
    // As if another 998 had done so: each by itself would wait for the disk.
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 998)
                INSERT INTO clients (client_id, kind, name, redirect_uris, created_at)
                SELECT 'ptc_app_' || i, 'dynamic', 'many', '[]', @now FROM n";
    desk.house.execute(&many.replace("@now", &desk.house.now().seconds().to_string()));
    let refused = desk.people.register(new("one too many")).await.unwrap_err();
    assert_eq!(refused.kind, Kind::Busy);
    assert!(refused.get_retry_after().is_some());
    desk.house.pass(3_600);
    desk.people.register(new("after an hour")).await.unwrap();
    assert!(desk.people.client(used.client_id).await.unwrap().is_some());
}
