//! Tests of a locked store: it is reported, and makes no queue. Known callers continue, and strangers beyond a
//! limit are refused at once.

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::task::JoinHandle;

use super::desk::Desk;
use super::support::{basic, new_client, pace};
use crate::Authenticate;
use crate::records::NewPat;
use portico_core::error::Kind;
use portico_core::principal::{Credential, Endpoint};

const ANN: &str = "ann@example.com";
const STRANGERS: u32 = 200;
/// Far less than any caller waits for the store.
const AT_ONCE: Duration = Duration::from_secs(1);

fn at(number: u32) -> IpAddr {
    Ipv4Addr::from(number).into()
}

#[actix::test]
async fn a_locked_store_keeps_nobody_away_who_is_known_and_turns_strangers_away_at_once() {
    let desk = Desk::open().await;
    let (_, fresh) = desk.house.store().create_pat(ANN, NewPat::default()).unwrap();
    desk.auth.sync().await;
    let judged = async |credential: Credential| {
        let begun = Instant::now();
        let asked = Authenticate { credential, endpoint: Endpoint::Api, from: None };
        (desk.auth.authenticate(asked).await, begun.elapsed())
    };
    judged(basic(ANN, &desk.token)).await.0.unwrap();
    let lock = desk.house.lock();
    let strangers: Vec<_> = (0..STRANGERS)
        .map(|number| {
            let (people, from) = (desk.people.clone(), Some(at(number)));
            actix::spawn(async move {
                let begun = Instant::now();
                (people.register(new_client("stranger"), from).await.map(drop), begun.elapsed())
            })
        })
        .collect();
    let mut pace = pace();
    // Also one that is shown for the first time: memory answers.
    let (by, took) = judged(basic(ANN, &fresh)).await;
    assert!(by.is_ok() && took < AT_ONCE, "{by:?} {took:?}");
    while !strangers.iter().all(JoinHandle::is_finished) {
        let (by, took) = judged(basic(ANN, &desk.token)).await;
        assert!(by.is_ok() && took < AT_ONCE, "{by:?} {took:?}");
        pace.tick().await;
    }
    let mut turned_away = 0;
    for answer in join_all(strangers).await {
        let (answer, took) = answer.unwrap();
        let refusal = answer.unwrap_err();
        assert!(refusal.get_retry_after().is_some() && took < Duration::from_secs(10), "{refusal:?} {took:?}");
        if refusal.kind == Kind::Busy {
            turned_away += 1;
            assert!(took < AT_ONCE, "it was waited for {took:?} to say that there is no room");
        } else {
            assert_eq!(refusal.kind, Kind::Unavailable);
        }
    }
    assert!(turned_away >= 100, "{turned_away}");
    drop(lock);
    let mut others = STRANGERS..;
    while desk.people.register(new_client("stranger"), others.next().map(at)).await.is_err() {
        pace.tick().await;
    }
}
