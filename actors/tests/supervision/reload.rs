//! Tests of new settings at run time: only the connections concerned are restarted, and running calls continue
//! under the old settings.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::StreamExt;
use portico_actors::directory::{ConnectionSpec, Start};
use portico_actors::error::Kind;
use tokio::task::spawn_local;

use crate::fake::{Fake, House, Mood, ask, connection};
use crate::{died, quick, run, until, up};

#[test]
fn a_changed_connection_answers_from_its_new_source_and_old_calls_end_on_the_old_one() {
    run(async {
        let mut house = House::start(&[Mood::Well, Mood::Well], quick(5), 2, 2);
        house.event(up).await;
        house.event(up).await;
        let (changed, other) = (Arc::clone(&house.sources[0]), Arc::clone(&house.sources[1]));
        let before = house.ask(0).await.unwrap();
        let fresh = Arc::new(Fake::default());
        fresh.version.store(7, Ordering::SeqCst);
        house.directory.reload(vec![connection(0, &fresh, 2, 2)], Vec::new(), || ()).await.unwrap();
        house.product(0, "Fake 7").await;
        let after = house.ask(0).await.unwrap();
        assert_eq!((changed.running.load(Ordering::SeqCst), fresh.running.load(Ordering::SeqCst)), (1, 1));
        assert!(!changed.closed.load(Ordering::SeqCst), "the old source was closed while a call ran there");
        assert_eq!(before.filter(|part| std::future::ready(part.is_ok())).count().await, 2, "the old call was cut");
        until(|| changed.closed.load(Ordering::SeqCst)).await;
        drop(after);
        assert!(!other.closed.load(Ordering::SeqCst) && !fresh.closed.load(Ordering::SeqCst));
        assert!(house.answers(0).await && house.answers(1).await);
    });
}

#[test]
fn the_old_actor_answers_until_the_first_attempt_of_the_new_one_has_ended() {
    run(async {
        let mut house = House::start(&[Mood::Well], quick(5), 2, 2);
        house.event(up).await;
        let fresh = Arc::new(Fake::default());
        fresh.held.store(true, Ordering::SeqCst);
        fresh.set(Mood::Away, Mood::Well);
        let directory = house.directory.clone();
        let (opened, id) = (Arc::clone(&fresh.opened), house.ids[0]);
        let added = Arc::new(Fake::default());
        let start = vec![connection(0, &fresh, 2, 2), connection(5, &added, 2, 2)];
        let (in_force, found) = (Rc::new(Cell::new(false)), connection(5, &added, 2, 2).id);
        let tell = Rc::clone(&in_force);
        let reload = spawn_local(async move { directory.reload(start, Vec::new(), || tell.set(true)).await });
        assert!(house.answers(0).await && house.directory.get(id).unwrap().status() == "up");
        assert!(!reload.is_finished() && !in_force.get());
        assert!(house.directory.get(found).is_none(), "a new one is found together with the changed ones");
        opened.notify_one();
        reload.await.unwrap().unwrap();
        assert!(in_force.get() && house.directory.get(found).is_some());
        assert_eq!(house.directory.get(id).unwrap().status(), "down", "the new settings are in force, well or not");
    });
}

/// Whether a connection is used or not, renamed, new or gone.
#[test]
fn nothing_of_a_reload_is_in_force_before_all_of_it_is() {
    run(async {
        let mut house = House::start(&[Mood::Well], quick(5), 2, 2);
        house.event(up).await;
        let (old, fresh, slow) = (Arc::<Fake>::default(), Arc::<Fake>::default(), Arc::<Fake>::default());
        let lazy = |source: &Arc<Fake>, name: &str| ConnectionSpec {
            start: Start::Lazy,
            name: name.into(),
            ..connection(5, source, 2, 2)
        };
        house.directory.reload(vec![lazy(&old, "idle")], Vec::new(), || ()).await.unwrap();
        slow.held.store(true, Ordering::SeqCst);
        let start = vec![lazy(&fresh, "renamed"), connection(6, &slow, 2, 2)];
        let (idle, added, removed) = (start[0].id, start[1].id, house.ids[0]);
        let directory = house.directory.clone();
        let reload = spawn_local(async move { directory.reload(start, vec![removed], || ()).await });
        until(|| slow.asked.load(Ordering::SeqCst) > 0).await;
        assert!(ask(house.directory.clone(), idle).await.is_ok() && house.answers(0).await);
        let asked = [&old, &fresh].map(|source| source.asked.load(Ordering::SeqCst) > 0);
        assert_eq!(asked, [true, false], "it was used with its former settings");
        assert!(house.directory.named("renamed").is_none() && house.directory.get(added).is_none());
        slow.opened.notify_one();
        reload.await.unwrap().unwrap();
        assert!(ask(house.directory.clone(), idle).await.is_ok() && fresh.asked.load(Ordering::SeqCst) > 0);
        assert!(house.directory.named("idle").is_none() && house.directory.named("renamed").is_some());
        assert!(house.directory.get(removed).is_none() && house.directory.get(added).is_some());
    });
}

#[test]
fn connections_come_and_go() {
    run(async {
        let mut house = House::start(&[Mood::Well], quick(5), 2, 2);
        house.event(up).await;
        let gone = Arc::clone(&house.sources[0]);
        let running = house.ask(0).await.unwrap();
        let fresh = Arc::new(Fake::default());
        house.directory.reload(vec![connection(5, &fresh, 1, 1)], vec![house.ids[0]], || ()).await.unwrap();
        let names: Vec<String> = house.directory.list().iter().map(|entry| entry.name.to_string()).collect();
        assert_eq!(names, ["c5"]);
        assert!(ask(house.directory.clone(), connection(5, &fresh, 1, 1).id).await.is_ok());
        assert!(!gone.closed.load(Ordering::SeqCst));
        drop(running);
        until(|| gone.closed.load(Ordering::SeqCst)).await;
    });
}

#[test]
fn who_found_a_connection_before_it_was_removed_is_told_so() {
    run(async {
        let mut house = House::start(&[Mood::Well], quick(5), 2, 2);
        house.event(up).await;
        let entry = house.directory.get(house.ids[0]).unwrap();
        house.directory.reload(Vec::new(), vec![house.ids[0]], || ()).await.unwrap();
        let error = crate::fake::ask_entry(&house.directory, &entry).await.unwrap_err();
        assert_eq!(error.kind, Kind::NotFound);
    });
}

#[test]
fn what_was_made_for_other_settings_is_not_asked_of_the_new_ones() {
    run(async {
        let mut house = House::start(&[Mood::Well], quick(5), 2, 2);
        house.event(up).await;
        let made_for = house.directory.get(house.ids[0]).unwrap();
        let ask = async || crate::fake::ask_entry(&house.directory, &made_for).await;
        assert!(ask().await.is_ok());
        let fresh = Arc::new(Fake::default());
        house.directory.reload(vec![connection(0, &fresh, 2, 2)], Vec::new(), || ()).await.unwrap();
        let refused = ask().await.unwrap_err();
        assert!(refused.kind == Kind::Unavailable && refused.message.contains("was changed"), "{refused:?}");
        assert!(house.answers(0).await);
    });
}

/// An administrator corrects an address while callers wait for the first attempt to connect there.
#[test]
fn what_waits_for_a_first_attempt_is_told_that_the_connection_was_changed() {
    run(async {
        let mut house = House::start(&[Mood::Well], quick(5), 2, 2);
        house.event(up).await;
        let slow = Arc::new(Fake::default());
        slow.held.store(true, Ordering::SeqCst);
        let lazy = ConnectionSpec { start: Start::Lazy, ..connection(5, &slow, 2, 2) };
        let id = lazy.id;
        house.directory.reload(vec![lazy], Vec::new(), || ()).await.unwrap();
        let waiting = spawn_local(ask(house.directory.clone(), id));
        until(|| slow.asked.load(Ordering::SeqCst) > 0).await;
        let fresh = Arc::new(Fake::default());
        house.directory.reload(vec![connection(5, &fresh, 2, 2)], Vec::new(), || ()).await.unwrap();
        let refused = waiting.await.unwrap().unwrap_err();
        assert!(refused.kind == Kind::Unavailable && refused.message.contains("was changed"), "{refused:?}");
        assert!(ask(house.directory.clone(), id).await.is_ok());
    });
}

#[test]
fn new_settings_whose_actor_dies_are_restarted_like_any_other() {
    run(async {
        let mut house = House::start(&[Mood::Well], quick(100), 2, 2);
        house.event(up).await;
        let fresh = Arc::new(Fake::default());
        fresh.set(Mood::Mad, Mood::Well);
        house.directory.reload(vec![connection(0, &fresh, 2, 2)], Vec::new(), || ()).await.unwrap();
        assert_eq!(house.event(died).await, (true, true));
        fresh.set(Mood::Well, Mood::Well);
        house.event(up).await;
        assert!(house.answers(0).await);
        assert_eq!(house.sources[0].running.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn what_was_replaced_and_still_runs_is_drained_with_the_rest() {
    run(async {
        let mut house = House::start(&[Mood::Well], quick(5), 2, 2);
        house.event(up).await;
        let old = Arc::clone(&house.sources[0]);
        let running = house.ask(0).await.unwrap();
        let fresh = Arc::new(Fake::default());
        house.directory.reload(vec![connection(0, &fresh, 2, 2)], Vec::new(), || ()).await.unwrap();
        house.directory.drain(std::time::Duration::from_secs(60)).await;
        assert!(old.closed.load(Ordering::SeqCst) && fresh.closed.load(Ordering::SeqCst));
        drop(running);
    });
}

#[test]
fn connections_are_found_by_the_names_that_they_have_now() {
    run(async {
        let mut house = House::start(&[Mood::Well, Mood::Well], quick(5), 2, 2);
        house.event(up).await;
        house.event(up).await;
        let named = |name: &str| house.directory.named(name).map(|entry| entry.id);
        assert_eq!((named("C0"), named("c1"), named("c2")), (Some(house.ids[0]), Some(house.ids[1]), None));
        // They exchange their names.
        let renamed = |index: usize, name: &str| ConnectionSpec {
            name: name.into(),
            ..connection(index, &house.sources[index], 2, 2)
        };
        house.directory.reload(vec![renamed(0, "c1"), renamed(1, "c0")], Vec::new(), || ()).await.unwrap();
        assert_eq!((named("c1"), named("C0")), (Some(house.ids[0]), Some(house.ids[1])));
        let listed: Vec<_> = house.directory.list().iter().map(|entry| (entry.id, entry.name.to_string())).collect();
        assert_eq!(listed, [(house.ids[1], "c0".to_owned()), (house.ids[0], "c1".to_owned())]);
    });
}
