//! Tests of idle connections: they wait for their first use, and release everything after their last.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join_all;
use portico_actors::directory::{ConnectionSpec, Start};
use portico_actors::error::Kind;
use portico_actors::event::Event;

use crate::fake::{Fake, House, Mood, ask, connection};
use crate::{quick, run, until, up};

/// So short that it has always passed.
const AT_ONCE: Option<Duration> = Some(Duration::from_millis(1));

fn lazy(idle_timeout: Option<Duration>) -> impl Fn(ConnectionSpec) -> ConnectionSpec {
    move |connection| ConnectionSpec { start: Start::Lazy, idle_timeout, ..connection }
}

fn idle(event: &Event) -> Option<String> {
    match event {
        Event::ConnectionIdle { name, .. } => Some(name.to_string()),
        _ => None,
    }
}

fn opens(fake: &Fake) -> usize {
    fake.opens.load(Ordering::SeqCst)
}

#[test]
fn a_lazy_connection_waits_for_its_first_use_and_is_ready_meanwhile() {
    run(async {
        let house = House::with(&[Mood::Well, Mood::Well], quick(5), lazy(None));
        assert!(house.directory.ready(), "nobody waits for what waits for its first use");
        house.directory.settled().await;
        let status = |index: usize| house.directory.get(house.ids[index]).unwrap().status();
        assert_eq!((status(0), status(1)), ("idle", "idle"));
        // However many come first, it is started once.
        let calls = join_all((0..2).map(|_| house.ask(0))).await;
        assert!(calls.iter().all(Result::is_ok));
        assert_eq!((opens(&house.sources[0]), opens(&house.sources[1])), (1, 0));
        assert_eq!((status(0), status(1)), ("up", "idle"), "the other connection is not concerned");
        assert!(house.directory.get(house.ids[1]).unwrap().profile().is_none());
    });
}

#[test]
fn a_first_use_of_a_source_that_is_away_is_told_when_to_come_back() {
    run(async {
        let house = House::with(&[Mood::Away], quick(5), lazy(None));
        for _ in 0..2 {
            let error = house.ask(0).await.unwrap_err();
            assert!(error.kind == Kind::Unavailable && error.get_retry_after().is_some(), "{error:?}");
        }
        assert_eq!(house.directory.get(house.ids[0]).unwrap().status(), "down");
        assert_eq!(opens(&house.sources[0]), 1, "the second found it started");
    });
}

#[test]
fn what_nobody_uses_lets_go_and_the_next_use_brings_it_back() {
    run(async {
        let mut house = House::with(&[Mood::Well], quick(5), lazy(AT_ONCE));
        let source = Arc::clone(&house.sources[0]);
        for time in 1..4 {
            assert!(house.answers(0).await);
            assert_eq!(house.event(up).await, "c0");
            assert_eq!(house.event(idle).await, "c0");
            until(|| source.closed.load(Ordering::SeqCst)).await;
            assert_eq!(house.directory.get(house.ids[0]).unwrap().status(), "idle");
            assert_eq!(opens(&source), time, "each time a source of its own");
            source.closed.store(false, Ordering::SeqCst);
        }
        assert!(house.directory.ready());
    });
}

#[test]
fn an_eager_connection_becomes_idle_only_when_told_to() {
    run(async {
        let eager = |connection: ConnectionSpec| ConnectionSpec { idle_timeout: AT_ONCE, ..connection };
        let mut house = House::with(&[Mood::Well], quick(5), eager);
        assert_eq!(house.event(up).await, "c0");
        assert_eq!(house.event(idle).await, "c0");
        assert!(house.answers(0).await, "the next call brings it back");
    });
}

#[test]
fn who_reads_or_listens_keeps_it_up() {
    run(async {
        let mut house = House::with(&[Mood::Well, Mood::Well], quick(5), lazy(AT_ONCE));
        let source = Arc::clone(&house.sources[0]);
        let results = house.ask(0).await.unwrap();
        let entry = house.directory.get(house.ids[0]).unwrap();
        let (held, in_use) = house.directory.lease(&entry).await.unwrap();
        assert!(held.profile().is_some(), "its first attempt has ended");
        drop(results);
        // The time of the other one shows how much time has passed.
        for _ in 0..20 {
            assert!(house.answers(0).await && house.answers(1).await);
            assert_eq!(house.event(idle).await, "c1");
        }
        assert_eq!((opens(&source), source.closed.load(Ordering::SeqCst)), (1, false));
        drop(in_use);
        assert_eq!(house.event(idle).await, "c0");
    });
}

#[test]
fn calls_that_meet_the_moment_of_letting_go_are_answered() {
    run(async {
        let house = House::with(&[Mood::Well], quick(5), lazy(AT_ONCE));
        for pause in 0..60 {
            assert!(house.answers(0).await, "after {pause} steps");
            for _ in 0..pause * 40 {
                tokio::task::yield_now().await;
            }
        }
    });
}

#[test]
fn a_reload_leaves_alone_what_waits_and_restarts_what_is_used() {
    run(async {
        let house = House::with(&[Mood::Well, Mood::Well, Mood::Well], quick(5), lazy(None));
        assert!(house.answers(0).await);
        let fresh: Vec<Arc<Fake>> = (0..2).map(|_| Arc::default()).collect();
        let changed = (0..2).map(|index| lazy(None)(connection(index, &fresh[index], 2, 2))).collect();
        house.directory.reload(changed, vec![house.ids[2]], || ()).await.unwrap();
        let status = |index: usize| house.directory.get(house.ids[index]).map(|entry| entry.status());
        assert_eq!((status(0), status(1), status(2)), (Some("up"), Some("idle"), None));
        assert_eq!((opens(&fresh[0]), opens(&fresh[1])), (1, 0));
        assert!(house.answers(1).await);
        assert_eq!((opens(&fresh[1]), opens(&house.sources[1])), (1, 0), "the new settings are in force");
        let eager = connection(2, &house.sources[2], 2, 2);
        house.directory.reload(vec![eager], Vec::new(), || ()).await.unwrap();
        assert_eq!(status(2), Some("up"));
    });
}

#[test]
fn a_drained_house_starts_nobody() {
    run(async {
        let house = House::with(&[Mood::Well], quick(5), lazy(None));
        house.directory.drain(Duration::from_secs(5)).await;
        let error = ask(house.directory.clone(), house.ids[0]).await.unwrap_err();
        assert_eq!((error.kind, opens(&house.sources[0])), (Kind::Unavailable, 0));
    });
}

#[test]
fn a_source_that_cannot_be_made_is_tried_again_with_each_attempt() {
    run(async {
        let fresh = Arc::new(Fake::default());
        let (known, again) = (connection(0, &fresh, 2, 2), Arc::clone(&fresh));
        let open = move || {
            if again.held.load(Ordering::SeqCst) {
                return Err(portico_actors::error::Error::invalid("sslrootcert: the file cannot be read"));
            }
            (known.open)()
        };
        let mut house = House::with(&[], quick(5), |connection| connection);
        fresh.held.store(true, Ordering::SeqCst);
        let broken = ConnectionSpec { open: Arc::new(open), ..connection(0, &fresh, 2, 2) };
        let id = broken.id;
        house.directory.reload(vec![broken], Vec::new(), || ()).await.unwrap();
        let error = ask(house.directory.clone(), id).await.unwrap_err();
        assert!(error.kind == Kind::Unavailable && !error.message.contains("sslrootcert"), "{error:?}");
        fresh.held.store(false, Ordering::SeqCst);
        house.event(up).await;
        assert!(ask(house.directory.clone(), id).await.is_ok());
    });
}
