//! Tests of supervision: an unavailable source is a state, a panic of an actor is a death, and neither affects
//! other connections.

// Everything here is a test: a failed unwrap fails it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod fake;
mod idle;
mod reload;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::ThreadId;
use std::time::Duration;

use actix::{Arbiter, System};
use fake::{House, Mood, ask};
use portico_actors::directory::Intensity;
use portico_actors::error::Kind;
use portico_actors::event::Event;
use tokio::sync::oneshot;

pub(crate) fn run<F: Future<Output = ()>>(test: F) {
    System::new().block_on(test);
}

/// Deaths are cured quickly, so that tests do not wait.
pub(crate) fn quick(deaths: usize) -> Intensity {
    Intensity { deaths, within: Duration::from_secs(60), backoff: Duration::from_millis(1) }
}

pub(crate) fn died(event: &Event) -> Option<(bool, bool)> {
    match event {
        Event::ConnectionDied { panicked, restart_in, .. } => Some((*panicked, restart_in.is_some())),
        _ => None,
    }
}

pub(crate) fn up(event: &Event) -> Option<String> {
    match event {
        Event::ConnectionUp { name, .. } => Some(name.to_string()),
        _ => None,
    }
}

fn down(event: &Event) -> Option<(String, Duration)> {
    match event {
        Event::ConnectionDown { name, retry_in, .. } => Some((name.to_string(), *retry_in)),
        _ => None,
    }
}

/// Why the catalogue could not be read of a connection that stays up.
fn unread(event: &Event) -> Option<String> {
    match event {
        Event::CatalogueUnread { cause, .. } => Some(cause.clone()),
        Event::ConnectionDown { .. } => panic!("{event:?}"),
        _ => None,
    }
}

/// Lets the others go on until `met` holds.
pub(crate) async fn until(met: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !met() {
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "it was waited for a minute");
        tokio::task::yield_now().await;
    }
}

#[test]
fn a_source_that_is_away_is_said_at_once_and_comes_up_by_itself() {
    run(async {
        let mut house = House::start(&[Mood::Away, Mood::Well], quick(5), 2, 2);
        let (name, retry_in) = house.event(down).await;
        assert_eq!(name, "c0");
        let error = house.ask(0).await.unwrap_err();
        assert_eq!(error.kind, Kind::Unavailable);
        assert!(error.get_retry_after().unwrap() <= retry_in, "the delay is the reconnect loop's own");
        assert_eq!(house.directory.get(house.ids[0]).unwrap().status(), "down");
        assert!(house.answers(1).await, "the other connection is not concerned");
        house.sources[0].set(Mood::Well, Mood::Well);
        while house.event(up).await != "c0" {}
        assert!(house.answers(0).await);
        assert!(house.directory.ready());
    });
}

#[test]
fn a_source_lost_during_a_call_is_looked_at_at_once() {
    run(async {
        let mut house = House::start(&[Mood::Well], quick(5), 2, 2);
        house.event(up).await;
        house.sources[0].set(Mood::Away, Mood::Away);
        assert_eq!(house.ask(0).await.unwrap_err().kind, Kind::Unavailable);
        house.event(down).await;
        house.sources[0].set(Mood::Well, Mood::Well);
        house.event(up).await;
        assert!(house.answers(0).await);
    });
}

#[test]
fn a_statement_that_changes_the_catalogue_has_the_profile_read_anew() {
    run(async {
        let mut house = House::start(&[Mood::Well], quick(5), 2, 2);
        house.event(up).await;
        house.product(0, "Fake 0").await;
        house.sources[0].version.store(1, Ordering::SeqCst);
        house.execute(0, "CREATE TABLE t (a int)").await;
        house.product(0, "Fake 1").await;
    });
}

#[test]
fn a_source_that_answers_with_an_error_is_not_away() {
    run(async {
        let mut house = House::start(&[Mood::Well], quick(5), 2, 2);
        house.event(up).await;
        house.sources[0].set(Mood::Locked, Mood::Well);
        house.execute(0, "CREATE TABLE t (a int)").await;
        assert_eq!(house.event(unread).await, "locked");
        assert!(house.answers(0).await, "what was known stays in force");
        // It is read by itself as soon as that succeeds.
        house.event(unread).await;
        house.sources[0].version.store(1, Ordering::SeqCst);
        house.sources[0].set(Mood::Well, Mood::Well);
        house.product(0, "Fake 1").await;
    });
}

#[test]
fn a_source_that_answers_calls_is_not_away() {
    run(async {
        let mut house = House::start(&[Mood::Well], quick(5), 2, 2);
        house.event(up).await;
        let source = Arc::clone(&house.sources[0]);
        source.held.store(true, Ordering::SeqCst);
        source.set(Mood::Away, Mood::Well);
        // It is looked at behind a statement that defines something; a call is answered meanwhile.
        house.execute(0, "CREATE TABLE t (a int)").await;
        until(|| source.asked.load(Ordering::SeqCst) == 2).await;
        source.held.store(false, Ordering::SeqCst);
        assert!(house.answers(0).await);
        source.opened.notify_one();
        assert_eq!(house.event(unread).await, "the test said so");
        assert!(house.answers(0).await, "it stays up");
        // It is asked again by itself. Where no call is answered meanwhile, the source is away.
        house.event(down).await;
    });
}

#[test]
fn the_profile_is_read_anew_at_the_connection_s_own_interval() {
    run(async {
        let interval = Duration::from_millis(1);
        let mut house = House::with_refresh(&[Mood::Well], quick(5), 2, 2, interval);
        house.event(up).await;
        house.sources[0].version.store(1, Ordering::SeqCst);
        house.product(0, "Fake 1").await;
    });
}

#[test]
fn a_panic_in_a_call_is_that_call_s_alone() {
    run(async {
        let mut house = House::start(&[Mood::Well], quick(5), 2, 2);
        house.event(up).await;
        house.sources[0].set(Mood::Well, Mood::Mad);
        let error = house.ask(0).await.unwrap_err();
        assert_eq!(error.kind, Kind::Internal);
        assert!(!error.message.contains("the test said so"), "the cause stays inside");
        house.sources[0].set(Mood::Well, Mood::Well);
        assert!(house.answers(0).await, "the same actor answers");
    });
}

/// Calls on `arbiter`'s thread, and returns that thread.
async fn ask_on(arbiter: &Arbiter, house: &House) -> (ThreadId, Result<(), Kind>) {
    let (directory, id) = (house.directory.clone(), house.ids[0]);
    let (tell, told) = oneshot::channel();
    arbiter.spawn(async move {
        let outcome = ask(directory, id).await.map(drop).map_err(|error| error.kind);
        let _ = tell.send((std::thread::current().id(), outcome));
    });
    told.await.expect("the thread lives")
}

#[test]
fn each_thread_s_calls_stay_on_it_and_all_threads_have_one_connection() {
    run(async {
        let mut house = House::start(&[Mood::Well], quick(5), 1, 1);
        house.event(up).await;
        let threads: Vec<Arbiter> = (0..3).map(|_| Arbiter::new()).collect();
        let mut asked = Vec::new();
        for arbiter in threads.iter().chain(&threads) {
            let (thread, outcome) = ask_on(arbiter, &house).await;
            assert_eq!(outcome, Ok(()));
            asked.push(thread);
        }
        assert_eq!(*house.sources[0].threads.lock().unwrap(), asked, "each plan is run where it was asked for");
        // A permit counts on all threads, and a drained service answers on none.
        let held = house.ask(0).await.unwrap();
        let waiting = tokio::task::spawn_local(ask(house.directory.clone(), house.ids[0]));
        until(|| house.directory.get(house.ids[0]).unwrap().load().waiting == 1).await;
        assert_eq!(ask_on(&threads[0], &house).await.1, Err(Kind::Busy));
        drop(held);
        drop(waiting.await.unwrap().unwrap());
        house.directory.drain(Duration::from_secs(5)).await;
        for arbiter in &threads {
            assert_eq!(ask_on(arbiter, &house).await.1, Err(Kind::Unavailable));
            arbiter.stop();
        }
    });
}

#[test]
fn a_panic_of_the_monitor_ends_the_connection_on_all_threads() {
    run(async {
        let mut house = House::with_refresh(&[Mood::Well], quick(5), 2, 2, Duration::from_millis(1));
        house.event(up).await;
        let thread = Arbiter::new();
        assert_eq!(ask_on(&thread, &house).await.1, Ok(()));
        house.sources[0].set(Mood::Mad, Mood::Well);
        assert_eq!(house.event(died).await, (true, true));
        house.sources[0].set(Mood::Well, Mood::Well);
        until_answered(&thread, &house).await;
        thread.stop();
    });
}

/// Calls until there is an answer; until then the only error is that the connection is unavailable.
async fn until_answered(arbiter: &Arbiter, house: &House) {
    let begun = std::time::Instant::now();
    loop {
        match ask_on(arbiter, house).await.1 {
            Ok(()) => return,
            Err(kind) => assert_eq!(kind, Kind::Unavailable),
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "no answer came within a minute");
    }
}

#[test]
fn an_actor_that_panics_is_replaced_and_nobody_else_notices() {
    run(async {
        let mut house = House::start(&[Mood::Mad, Mood::Well], quick(100), 2, 2);
        assert_eq!(house.event(died).await, (true, true));
        assert!(house.answers(1).await, "the other connection is not concerned");
        house.sources[0].set(Mood::Well, Mood::Well);
        while house.event(up).await != "c0" {}
        assert!(house.answers(0).await);
    });
}

#[test]
fn an_actor_that_dies_too_often_is_given_up() {
    run(async {
        let mut house = House::start(&[Mood::Mad], quick(3), 2, 2);
        assert_eq!(house.event(died).await, (true, true));
        assert_eq!(house.event(died).await, (true, true));
        assert_eq!(house.event(died).await, (true, false));
        // The snapshot is published right after the event.
        while house.directory.get(house.ids[0]).unwrap().status() != "failed" {
            tokio::task::yield_now().await;
        }
        let error = house.ask(0).await.unwrap_err();
        let delay = error.get_retry_after();
        assert_eq!((error.kind, delay), (Kind::Unavailable, Some(Duration::from_mins(1))), "it too says when to ask");
    });
}

#[test]
fn a_caller_who_leaves_cancels_the_call_at_the_source() {
    run(async {
        let mut house = House::start(&[Mood::Well], quick(5), 2, 2);
        house.event(up).await;
        house.sources[0].set(Mood::Well, Mood::Silent);
        let running = &house.sources[0].running;
        let call = tokio::task::spawn_local(ask(house.directory.clone(), house.ids[0]));
        while running.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        call.abort();
        while running.load(Ordering::SeqCst) != 0 {
            tokio::task::yield_now().await;
        }
    });
}

#[test]
fn permits_are_held_by_results_and_the_queue_is_bounded() {
    run(async {
        let mut house = House::start(&[Mood::Well], quick(5), 1, 1);
        house.event(up).await;
        let held = house.ask(0).await.unwrap();
        let waiting = tokio::task::spawn_local(ask(house.directory.clone(), house.ids[0]));
        // Of two more, one waits and the other is refused at once.
        let refused = tokio::task::spawn_local(ask(house.directory.clone(), house.ids[0]));
        let error = refused.await.unwrap().unwrap_err();
        assert_eq!((error.kind, error.get_retry_after()), (Kind::Busy, Some(Duration::from_secs(1))));
        assert!(!waiting.is_finished());
        drop(held);
        drop(waiting.await.unwrap().unwrap());
        assert!(house.answers(0).await);
    });
}

#[test]
fn a_drained_house_answers_no_more() {
    run(async {
        let mut house = House::start(&[Mood::Well], quick(5), 1, 1);
        house.event(up).await;
        house.directory.drain(Duration::from_secs(5)).await;
        assert_eq!(house.ask(0).await.unwrap_err().kind, Kind::Unavailable);
    });
}
