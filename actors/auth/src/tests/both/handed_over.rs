//! Tests of what administrators make for others: it ends with the token in whose session it was made, and has no
//! more rights than those who have seen its secret.

use std::time::Duration;

use secrecy::SecretString;

use super::desk::Desk;
use super::support::{SALES, STOCK, account, ask, basic, bearer, exchange, only, user};
use crate::AccessToken;
use crate::records::{NewPat, NewUser, ServiceAccount};
use portico_core::principal::{Rights, Scope};

const ROOT: &str = "root@example.com";
const LOCAL: &str = "local@example.com";
const BOB: &str = "bob@example.com";

/// Everything an administrator made in a session that began with a token.
struct Made {
    first: SecretString,
    session: SecretString,
    own: SecretString,
    new: (ServiceAccount, SecretString),
    rotated: (ServiceAccount, SecretString),
    access: AccessToken,
}

async fn administrator(pat: NewPat) -> Desk {
    let root = NewUser { rights: Rights::ALL, ..user(ROOT) };
    Desk::with(root, pat).await
}

impl Desk {
    async fn makes(&self) -> Made {
        self.house.store().create_service_account(account("old", &[SALES], Scope::Read)).unwrap();
        let (_, first) = self.people.add_user(&self.session, user(BOB), NewPat::default()).await.unwrap();
        let session = self.people.sign_in(BOB.to_owned(), first.clone(), None).await.unwrap().0;
        let (_, own) = self.people.create_token(&session, NewPat::default()).await.unwrap();
        let new = account("new", &[SALES], Scope::Read);
        let new = self.people.create_account(&self.session, new).await.unwrap();
        let rotated = self.people.rotate_account(&self.session, "old".to_owned()).await.unwrap();
        let access = exchange(&self.auth.address(), &new.0, &new.1, None, None).await.unwrap();
        Made { first, session, own, new, rotated, access }
    }

    /// Returns which of it is in force.
    async fn stands_of(&self, made: &Made) -> [bool; 6] {
        let actor = self.auth.address();
        [
            ask(&actor, basic(BOB, &made.first)).await.is_ok(),
            self.people.session(&made.session, None).await.unwrap().is_some(),
            ask(&actor, basic(BOB, &made.own)).await.is_ok(),
            exchange(&actor, &made.new.0, &made.new.1, None, None).await.is_ok(),
            exchange(&actor, &made.rotated.0, &made.rotated.1, None, None).await.is_ok(),
            bearer(&actor, &made.access).await.is_ok(),
        ]
    }
}

#[actix::test]
async fn what_an_administrator_makes_in_a_tokens_session_ends_with_the_token() {
    for way in ["revoked", "expired", "removed", "disabled"] {
        let ends = Duration::from_secs(1_000);
        let clock = super::support::House::new().now();
        let desk = administrator(NewPat { expires_at: Some(clock.after(ends)), ..NewPat::default() }).await;
        let token = desk.house.store().pats(Some(ROOT)).unwrap().remove(0);
        let made = desk.makes().await;
        assert_eq!(desk.stands_of(&made).await, [true; 6], "{way}");
        let first = desk.house.store().pats(Some(BOB)).unwrap().remove(0);
        assert_eq!((first.parent, first.expires_at), (Some(token.id), token.expires_at));
        for account in desk.house.store().service_accounts().unwrap() {
            assert_eq!((account.secret_parent, account.secret_ends_at), (Some(token.id), token.expires_at), "{way}");
        }
        let mut store = desk.house.store();
        match way {
            "revoked" => drop(store.revoke_pat(&token.id.to_string()).unwrap()),
            "expired" => desk.house.pass_beyond(ends.as_secs()),
            "removed" => drop(store.remove_user(ROOT).unwrap()),
            _ => drop(store.disable_user(ROOT).unwrap()),
        }
        assert_eq!(desk.stands_of(&made).await, [false; 6], "{way}");
        assert!(desk.people.sign_in(BOB.to_owned(), made.first.clone(), None).await.is_err(), "{way}");
        if way == "disabled" {
            store.enable_user(ROOT).unwrap();
            assert_eq!(desk.stands_of(&made).await, [true, false, true, true, true, true]);
            continue;
        }
        let gone = store.service_accounts().unwrap();
        assert!(gone.iter().all(|account| account.secret_ends_at <= Some(desk.house.now())), "{way}: {gone:?}");
        // The account exists, and a secret made by somebody else is valid; what came of the former one stays
        // revoked.
        let (new, secret) = store.rotate_service_account("new").unwrap();
        assert_eq!((new.secret_parent, new.secret_ends_at), (None, None));
        let actor = desk.auth.address();
        let access = exchange(&actor, &new, &secret, None, None).await.unwrap();
        assert!(bearer(&actor, &access).await.is_ok(), "{way}: in the same second as well");
        assert_eq!(desk.stands_of(&made).await, [false; 6], "{way}");
    }
}

#[actix::test]
async fn a_widened_account_is_not_opened_wider_by_a_secret_that_somebody_who_reaches_less_has_seen() {
    let local = NewUser { rights: only(&[SALES], Scope::Admin), ..user(LOCAL) };
    let desk = Desk::with(local, NewPat::default()).await;
    let mut store = desk.house.store();
    let actor = desk.auth.address();
    store.create_service_account(account("theirs", &[SALES], Scope::Read)).unwrap();
    let made = desk.people.create_account(&desk.session, account("made", &[SALES], Scope::Read)).await.unwrap();
    let rotated = desk.people.rotate_account(&desk.session, "theirs".to_owned()).await.unwrap();
    for (account_made, secret) in [made, rotated] {
        let name = account_made.name.clone();
        let before = exchange(&actor, &account_made, &secret, None, None).await.unwrap();
        let wider = store.change_service_account(account(&name, &[SALES, STOCK], Scope::Write)).unwrap();
        // The secret has all rights that its administrator has.
        assert_eq!(wider.secret_opens, only(&[SALES], Scope::Write), "{name}");
        let after = exchange(&actor, &wider, &secret, None, None).await.unwrap();
        assert_eq!(bearer(&actor, &after).await.unwrap().rights, only(&[SALES], Scope::Write), "{name}");
        assert_eq!(bearer(&actor, &before).await.unwrap().rights, only(&[SALES], Scope::Read), "{name}");
        assert!(desk.people.rotate_account(&desk.session, name.clone()).await.is_err(), "it is beyond them now");
        let (whole, secret) = store.rotate_service_account(&name).unwrap();
        let whole = exchange(&actor, &whole, &secret, None, None).await.unwrap();
        assert_eq!(bearer(&actor, &whole).await.unwrap().rights, wider.rights, "{name}");
    }
    // The first token of a user does not grow either, whatever was requested for it.
    for (email, asked) in [("a@example.com", Rights::ALL), ("b@example.com", Rights::all(Scope::Write))] {
        let new = NewUser { rights: only(&[SALES], Scope::Write), ..user(email) };
        let first = NewPat { rights: asked, ..NewPat::default() };
        let (_, first) = desk.people.add_user(&desk.session, new, first).await.unwrap();
        store.change_user(NewUser { rights: Rights::ALL, ..user(email) }).unwrap();
        assert_eq!(ask(&actor, basic(email, &first)).await.unwrap().rights, only(&[SALES], Scope::Write), "{email}");
    }
}

#[actix::test]
async fn a_name_that_an_administrator_of_some_connections_chose_is_no_claim() {
    let local = NewUser { rights: only(&[SALES], Scope::Admin), ..user(LOCAL) };
    let desk = Desk::with(local, NewPat::default()).await;
    let actor = desk.auth.address();
    let new = account("reporting", &[SALES], Scope::Read);
    let (made, secret) = desk.people.create_account(&desk.session, new).await.unwrap();
    let access = exchange(&actor, &made, &secret, None, None).await.unwrap();
    let by = bearer(&actor, &access).await.unwrap();
    assert_eq!((by.claims.verified("client_id"), by.account()), (Some(made.client_id.as_str()), None));
    // An administrator who extends the account knows its name.
    let mut store = desk.house.store();
    store.change_service_account(account("reporting", &[SALES, STOCK], Scope::Read)).unwrap();
    let by = bearer(&actor, &access).await.unwrap();
    assert_eq!(by.account(), Some("reporting"));
    let (other, secret) = store.create_service_account(account("nightly", &[SALES], Scope::Read)).unwrap();
    let access = exchange(&actor, &other, &secret, None, None).await.unwrap();
    assert_eq!(bearer(&actor, &access).await.unwrap().account(), Some("nightly"));
}

#[actix::test]
async fn a_user_and_the_first_token_are_made_together_or_not_at_all() {
    let desk = administrator(NewPat::default()).await;
    let beyond = NewPat { rights: only(&[STOCK], Scope::Read), ..NewPat::default() };
    let new = || NewUser { rights: only(&[SALES], Scope::Write), ..user(BOB) };
    assert!(desk.people.add_user(&desk.session, new(), beyond).await.is_err());
    assert_eq!(desk.house.store().users().unwrap().len(), 1);
    assert!(desk.people.add_user(&desk.session, new(), NewPat::default()).await.is_ok());
    for spelling in [BOB, "Bob@EXAMPLE.com"] {
        let again = NewUser { email: spelling.to_owned(), ..new() };
        let refused = desk.people.add_user(&desk.session, again, NewPat::default()).await.unwrap_err();
        assert!(refused.message.contains("there is already a user"), "{refused}");
    }
}

#[actix::test]
async fn what_opens_nothing_is_shown_to_nobody_who_administers_a_part() {
    let desk = Desk::open().await;
    let mut store = desk.house.store();
    drop(desk.redeem(desk.code().await).await.unwrap());
    store.add_user(NewUser { rights: only(&[STOCK], Scope::Admin), ..user(LOCAL) }).unwrap();
    store.create_pat("ann@example.com", NewPat { rights: only(&[SALES], Scope::Read), ..NewPat::default() }).unwrap();
    // Nothing is left of the consent, of the token, and of the person.
    store.change_user(NewUser { rights: only(&[], Scope::Write), ..user("ann@example.com") }).unwrap();
    let (_, secret) = store.create_pat(LOCAL, NewPat::default()).unwrap();
    let session = desk.people.sign_in(LOCAL.to_owned(), secret, None).await.unwrap().0;
    assert_eq!((store.consents(None).unwrap().len(), store.users().unwrap().len()), (1, 2), "the operator sees all");
    assert!(desk.people.consents(&session).await.unwrap().is_empty());
    let seen: Vec<_> =
        desk.people.directory(&session).await.unwrap().users.into_iter().map(|user| user.email).collect();
    assert_eq!(seen, [LOCAL]);
    let nothing = NewUser { rights: only(&[], Scope::Read), ..user(BOB) };
    assert!(desk.people.add_user(&session, nothing, NewPat::default()).await.is_err());
}
