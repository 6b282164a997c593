//! A store behind a network that delivers little, or nothing: a state that is told, and no queue.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use portico_actors::source::postgres::Address;

use crate::oauth::replicas::{database, replica};
use crate::support::app::callers;
use crate::support::proxy::ChaosProxy;

/// More than are taken of one address.
const STRANGERS: usize = 100;
/// No call of a known caller waits for a store: less than the store is waited for, and far more than a call takes.
const AT_ONCE: Duration = Duration::from_secs(5);
/// How long anybody waits for the store, and for a session with it, and what a busy machine may add.
const LONGEST: Duration = Duration::from_secs(15 + 15);

#[actix_web::test]
async fn a_slow_store_keeps_nobody_away_who_is_known_and_strangers_are_answered() {
    let url = database().await;
    let known = callers(Address::from(url.as_str()));
    let proxy = ChaosProxy::start(&url, true).await;
    let app = replica(&proxy.url(&url), &known).await;
    app.ready().await;
    assert_eq!(app.listing(&known.0).await.status(), 200);
    for is_silent in [false, true] {
        if is_silent {
            proxy.swallow();
        } else {
            proxy.slow_down();
        }
        let stranger = |number: usize| {
            let token = format!("ptc_rt_{number}");
            let form = [
                ("grant_type", "refresh_token"),
                ("client_id", "https://client.example/id"),
                ("refresh_token", &token),
            ];
            let request = app.http.post(format!("{}/oauth/token", app.url)).form(&form);
            async move {
                let begun = Instant::now();
                (request.send().await.unwrap(), begun.elapsed())
            }
        };
        let mut strangers: FuturesUnordered<_> = (0..STRANGERS).map(stranger).collect();
        let mut turned_away = 0;
        while let Some((answer, took)) = strangers.next().await {
            assert!(took < LONGEST, "{took:?}");
            match answer.status().as_u16() {
                400 => assert!(!is_silent, "nobody can tell"),
                429 | 503 => {
                    turned_away += 1;
                    assert!(answer.headers().contains_key("retry-after"), "{answer:?}");
                }
                other => panic!("{other}"),
            }
            let begun = Instant::now();
            assert_eq!(app.listing(&known.0).await.status(), 200);
            assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
        }
        assert!(turned_away > 0);
        proxy.restore();
        app.ready().await;
    }
}
