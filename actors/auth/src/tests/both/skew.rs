//! Tests that what one process has made is valid at another one with a skewed clock, to its end and no longer than
//! `clock_skew` after it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use secrecy::SecretString;

use super::desk::Desk;
use super::support::{SALES, basic, process, public, redemption, refreshing};
use crate::accounts::Accounts;
use crate::accounts::session::{SESSION_IDLE, SESSION_LIFETIME};
use crate::clock::CLOCK_SKEW;
use crate::oauth::authorization::{CODE_LIFETIME, GRANT_LIFETIME, REFRESH_LIFETIME};
use crate::records::NewPat;
use crate::throttle::Rate;
use crate::{Auth, AuthLimits, AuthSettings, Authenticate, TOKEN_LIFETIME};
use portico_core::principal::{Credential, Endpoint, Scope};

const ANN: &str = "ann@example.com";
const HOUR: Duration = Duration::from_hours(1);

/// Another process on the same store.
struct Neighbour {
    people: Accounts,
    auth: Auth,
    /// By how many seconds its clock is ahead.
    ahead: Arc<AtomicI64>,
}

impl Neighbour {
    async fn start(desk: &Desk) -> Self {
        let ahead = Arc::<AtomicI64>::default();
        let often = Rate::per_minute(1_000_000);
        let limits = AuthLimits { failures_per_name: often, failures_per_address: often, ..AuthLimits::default() };
        let clock = desk.house.clock_ahead(&ahead);
        let (people, auth) = process(AuthSettings { limits, clock, ..desk.house.settings() }).await;
        Self { people, auth, ahead }
    }

    async fn lets_in(&self, credential: Credential) -> bool {
        self.auth.sync().await;
        self.auth.authenticate(Authenticate { credential, endpoint: Endpoint::Api, from: None }).await.is_ok()
    }

    async fn opens(&self, desk: &Desk, made: Made) -> bool {
        match made {
            Made::Code(code) => self.people.redeem(redemption(&desk.client, &code)).await.is_ok(),
            Made::Refresh(token) => self.people.refresh(refreshing(&desk.client, &token)).await.is_ok(),
            Made::Access(token) => self.lets_in(Credential::Bearer(token)).await,
            Made::Session(secret) => self.people.session(&secret, None).await.unwrap().is_some(),
            Made::Token(token) => self.lets_in(basic(ANN, &token)).await,
            Made::SignIn(token) => self.people.sign_in(ANN.to_owned(), token, None).await.is_ok(),
        }
    }
}

/// What was made, and how it is presented.
enum Made {
    Code(SecretString),
    Refresh(SecretString),
    Access(SecretString),
    Session(SecretString),
    Token(SecretString),
    SignIn(SecretString),
}

/// What can expire.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Code,
    RefreshToken,
    Grant,
    AccessToken,
    AccessTokenOfGrant,
    IdleSession,
    OldSession,
    SessionOfToken,
    Token,
    SignIn,
}

const KINDS: [Kind; 10] = [
    Kind::Code,
    Kind::RefreshToken,
    Kind::Grant,
    Kind::AccessToken,
    Kind::AccessTokenOfGrant,
    Kind::IdleSession,
    Kind::OldSession,
    Kind::SessionOfToken,
    Kind::Token,
    Kind::SignIn,
];

async fn session(desk: &Desk) -> SecretString {
    desk.people.sign_in(ANN.to_owned(), desk.token.clone(), None).await.unwrap().0
}

async fn code(desk: &Desk) -> SecretString {
    desk.people.approve(&session(desk).await, desk.approval(Scope::Write, &[SALES])).await.unwrap()
}

/// A token that ends within the hour.
fn token(desk: &Desk) -> SecretString {
    let expires_at = Some(desk.house.now().after(HOUR));
    desk.house.store().create_pat(ANN, NewPat { expires_at, ..NewPat::default() }).unwrap().1
}

/// Makes a grant that ends so long after its last refresh. Returns the tokens issued then.
async fn old_grant(desk: &Desk, before: Duration) -> crate::oauth::authorization::IssuedTokens {
    let mut issued = desk.redeem(code(desk).await).await.unwrap();
    let (mut left, step) = (GRANT_LIFETIME.as_secs() - before.as_secs(), REFRESH_LIFETIME.as_secs() - 1);
    while left > 0 {
        let pass = step.min(left);
        desk.house.pass(pass);
        left -= pass;
        issued = desk.refresh(&issued.refresh).await.unwrap();
    }
    issued
}

/// Makes one. Returns how long it is valid from then on.
async fn make(kind: Kind, desk: &Desk) -> (Made, Duration) {
    match kind {
        Kind::Code => (Made::Code(code(desk).await), CODE_LIFETIME),
        Kind::RefreshToken => (Made::Refresh(desk.redeem(code(desk).await).await.unwrap().refresh), REFRESH_LIFETIME),
        Kind::Grant => (Made::Refresh(old_grant(desk, HOUR).await.refresh), HOUR),
        Kind::AccessToken => (Made::Access(desk.redeem(code(desk).await).await.unwrap().access.token), TOKEN_LIFETIME),
        Kind::AccessTokenOfGrant => {
            let left = TOKEN_LIFETIME / 2;
            (Made::Access(old_grant(desk, left).await.access.token), left)
        }
        Kind::IdleSession => (Made::Session(session(desk).await), SESSION_IDLE),
        Kind::OldSession => {
            let (session, mut left) = (session(desk).await, SESSION_LIFETIME);
            while left > HOUR {
                desk.house.pass(HOUR.as_secs());
                left -= HOUR;
                assert!(desk.people.session(&session, None).await.unwrap().is_some());
            }
            (Made::Session(session), left)
        }
        Kind::SessionOfToken => {
            let session = desk.people.sign_in(ANN.to_owned(), token(desk), None).await.unwrap().0;
            (Made::Session(session), HOUR)
        }
        Kind::Token => (Made::Token(token(desk)), HOUR),
        Kind::SignIn => (Made::SignIn(token(desk)), HOUR),
    }
}

#[actix::test]
async fn what_one_process_made_is_good_at_another_one_up_to_its_end_by_either_clock() {
    let desk = Desk::open().await;
    let neighbour = Neighbour::start(&desk).await;
    let skew = i64::try_from(CLOCK_SKEW.as_secs()).unwrap();
    for kind in KINDS {
        for ahead in [-2 * skew, -skew, 0, skew, skew + 1, 2 * skew] {
            for behind_its_end in [-1, 0, skew - 1, skew, 2 * skew] {
                neighbour.ahead.store(ahead, Ordering::SeqCst);
                let (made, lasts) = make(kind, &desk).await;
                desk.house.pass(lasts.as_secs().checked_add_signed(behind_its_end).unwrap());
                let is_good = neighbour.opens(&desk, made).await;
                let case = format!("{kind:?}, a clock {ahead} s ahead, {behind_its_end} s behind its end");
                assert_eq!(is_good, behind_its_end + ahead < skew, "{case}");
                assert!(is_good || behind_its_end >= 0 || ahead > skew, "{case}: the clocks are no further apart");
            }
        }
    }
}

#[actix::test]
async fn a_clock_that_is_ahead_or_behind_lets_nothing_in_twice_nor_after_it_was_taken_back() {
    let desk = Desk::open().await;
    let neighbour = Neighbour::start(&desk).await;
    for ahead in [-30, 0, 30] {
        neighbour.ahead.store(ahead, Ordering::SeqCst);
        // A used code is used for all processes, as long as any of them would accept it.
        let code_of_ann = code(&desk).await;
        let first = desk.redeem(code_of_ann.clone()).await.unwrap();
        desk.house.pass(CODE_LIFETIME.as_secs() - 1);
        assert!(!neighbour.opens(&desk, Made::Code(code_of_ann)).await, "{ahead}");
        assert!(desk.refresh(&first.refresh).await.is_err(), "{ahead}: the second use ends what came of the first");
        // So is a refresh token.
        let first = desk.redeem(code(&desk).await).await.unwrap();
        let second = desk.refresh(&first.refresh).await.unwrap();
        desk.house.pass(REFRESH_LIFETIME.as_secs() - 1);
        assert!(!neighbour.opens(&desk, Made::Refresh(first.refresh)).await, "{ahead}");
        assert!(desk.refresh(&second.refresh).await.is_err(), "{ahead}");
        // A revocation holds for the slowest clock, even after another process has cleaned up.
        let issued = desk.redeem(code(&desk).await).await.unwrap();
        let revoked = issued.access.token.clone();
        desk.people.revoke(public(&desk.client), revoked.clone()).await.unwrap();
        desk.house.pass((TOKEN_LIFETIME + CLOCK_SKEW).as_secs() - 1);
        let other = desk.refresh(&issued.refresh).await.unwrap().access.token;
        neighbour.auth.sync().await;
        neighbour.people.revoke(public(&desk.client), other).await.unwrap();
        desk.auth.sync().await;
        let asked = Authenticate { credential: Credential::Bearer(revoked), endpoint: Endpoint::Api, from: None };
        assert!(desk.auth.authenticate(asked).await.is_err(), "{ahead}");
    }
}

#[actix::test]
async fn a_clock_that_is_ahead_tidies_away_nothing_that_is_good() {
    let desk = Desk::open().await;
    let neighbour = Neighbour::start(&desk).await;
    neighbour.ahead.store(30, Ordering::SeqCst);
    let (own, code) = (session(&desk).await, code(&desk).await);
    desk.house.pass(CODE_LIFETIME.as_secs() - 1);
    let theirs = neighbour.people.sign_in(ANN.to_owned(), desk.token.clone(), None).await.unwrap().0;
    neighbour.people.approve(&theirs, desk.approval(Scope::Write, &[SALES])).await.unwrap();
    assert!(desk.redeem(code).await.is_ok(), "another one's consent has ended it");
    desk.house.pass(SESSION_IDLE.as_secs() - CODE_LIFETIME.as_secs());
    neighbour.people.sign_in(ANN.to_owned(), desk.token.clone(), None).await.unwrap();
    assert!(desk.people.session(&own, None).await.unwrap().is_some(), "another one's sign-in has ended it");
}
