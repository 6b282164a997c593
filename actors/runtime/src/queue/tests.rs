//! Tests of which calls are admitted, wait, or are refused at once.

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use proptest::prelude::*;

use super::*;

const PATIENCE: Duration = Duration::from_secs(3600);

type Entering = LocalBoxFuture<'static, Result<Permit, Refused>>;

/// Begins to wait: the answer, if there is one at once.
fn enter(queue: &Arc<Queue>, caller: &'static str) -> Result<Result<Permit, Refused>, Entering> {
    let queue = Arc::clone(queue);
    let mut entering = async move { queue.acquire(caller, PATIENCE).await }.boxed_local();
    match (&mut entering).now_or_never() {
        Some(answer) => Ok(answer),
        None => Err(entering),
    }
}

fn waits(queue: &Arc<Queue>, caller: &'static str) -> Entering {
    match enter(queue, caller) {
        Err(entering) => entering,
        Ok(answer) => panic!("it is said at once: {answer:?}"),
    }
}

fn refused(queue: &Arc<Queue>, caller: &'static str) -> Refused {
    let Ok(answer) = enter(queue, caller) else { panic!("it has to wait") };
    answer.expect_err("every place is taken")
}

fn why(entering: &mut Entering) -> Option<Result<(), RefusalReason>> {
    entering.now_or_never().map(|answer| answer.map(drop).map_err(|refused| refused.why))
}

#[actix::test]
async fn one_who_asks_much_delays_another_by_one_turn() {
    let queue = Queue::new(1, None, 10);
    let held = queue.acquire("a", PATIENCE).await.unwrap();
    let mut greedy: Vec<Entering> = (0..5).map(|_| waits(&queue, "a")).collect();
    let mut modest = waits(&queue, "b");
    drop(held);
    let first = (&mut greedy[0]).now_or_never().expect("the first one's turn").unwrap();
    assert!((&mut modest).now_or_never().is_none());
    drop(first);
    let second = modest.now_or_never().expect("then the other caller's").unwrap();
    assert!(greedy[1..].iter_mut().all(|waiting| waiting.now_or_never().is_none()));
    assert_eq!(queue.load(), Load { permits: 1, running: 1, places: 10, waiting: 4, callers: 1 });
    drop(second);
    assert!((&mut greedy[1]).now_or_never().is_some());
}

#[actix::test]
async fn a_full_queue_makes_room_for_who_has_less_in_it() {
    let queue = Queue::new(1, None, 3);
    let _held = queue.acquire("a", PATIENCE).await.unwrap();
    let mut greedy: Vec<Entering> = (0..3).map(|_| waits(&queue, "a")).collect();
    assert_eq!(refused(&queue, "a"), Refused { why: RefusalReason::Full, retry_after: SOONEST });
    let _modest = waits(&queue, "b");
    assert_eq!(why(&mut greedy[2]), Some(Err(RefusalReason::Displaced)), "the newest gives way");
    assert!(greedy[..2].iter_mut().all(|waiting| why(waiting).is_none()));
    assert_eq!(refused(&queue, "b").why, RefusalReason::Full, "one place more would be more than its share");
}

#[actix::test]
async fn who_would_be_served_too_late_is_told_at_once_and_when_to_come_back() {
    let queue = Queue::new(2, Some(2), 100);
    for _ in 0..ENOUGH {
        queue.lock().learn(Duration::from_secs(10));
    }
    let _held = [queue.acquire("a", PATIENCE).await.unwrap(), queue.acquire("a", PATIENCE).await.unwrap()];
    let _waiting: Vec<Entering> = (0..4).map(|_| waits(&queue, "a")).collect();
    let late = queue.acquire("a", Duration::from_secs(20)).now_or_never().expect("at once").unwrap_err();
    assert_eq!(late, Refused { why: RefusalReason::TooLate, retry_after: Duration::from_secs(25) });
    assert!(queue.acquire("a", Duration::from_secs(30)).now_or_never().is_none(), "in time for the patient");
    assert!(
        queue.acquire("b", Duration::from_secs(20)).now_or_never().is_none(),
        "another caller's turn comes earlier"
    );
}

#[actix::test]
async fn whose_turn_does_not_come_is_told_so_and_a_turn_that_nobody_takes_is_passed_on() {
    let queue = Queue::new(1, None, 3);
    let held = queue.acquire("a", PATIENCE).await.unwrap();
    assert_eq!(queue.acquire("b", Duration::ZERO).await.unwrap_err().why, RefusalReason::TimedOut);
    let (granted, mut next) = (waits(&queue, "a"), waits(&queue, "a"));
    drop(held);
    // It was granted, but never polled.
    drop(granted);
    let last = (&mut next).now_or_never().expect("the turn is passed on").unwrap();
    drop(last);
    assert_eq!(queue.load(), Load { permits: 1, running: 0, places: 3, waiting: 0, callers: 0 });
}

#[actix::test]
async fn one_caller_leaves_room_for_another_however_much_it_asks() {
    let queue = Queue::new(4, None, 100);
    let mut held: Vec<Permit> = (0..3).map(|_| enter(&queue, "a").ok().unwrap().unwrap()).collect();
    let mut greedy: Vec<Entering> = (0..5).map(|_| waits(&queue, "a")).collect();
    assert_eq!(queue.load(), Load { permits: 4, running: 3, places: 100, waiting: 5, callers: 1 });
    let modest = enter(&queue, "b").ok().expect("a permit is kept free").unwrap();
    assert!((&mut greedy[0]).now_or_never().is_none());
    let mut waiting = waits(&queue, "c");
    drop(modest);
    let third = (&mut waiting).now_or_never().expect("it goes to who has less than a share").unwrap();
    drop(third);
    assert!((&mut greedy[0]).now_or_never().is_none(), "and stays free for others");
    held.pop();
    assert!((&mut greedy[0]).now_or_never().is_some_and(|permit| permit.is_ok()), "its own place is its own");
    let alone = Queue::new(1, None, 0);
    assert!(enter(&alone, "a").is_ok_and(|permit| permit.is_ok()), "a share is at least one");
}

proptest! {
    #[test]
    fn no_permit_is_lost_and_none_is_made(
        permits in 1_usize..4, share in 1_usize..4, most in 0_usize..6, steps in proptest::collection::vec((0_usize..3, 0_usize..12), 0..80),
    ) {
        // Waiting calls have a deadline, and so need a clock.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let _clock = runtime.enter();
        let queue = Queue::new(permits, Some(share), most);
        let share = share.min(permits);
        let (mut running, mut waiting): (Vec<Permit>, Vec<Entering>) = (Vec::new(), Vec::new());
        for (step, which) in steps {
            match step {
                0 => match enter(&queue, ["a", "b", "c"][which % 3]) {
                    Ok(answer) => running.extend(answer),
                    Err(entering) => waiting.push(entering),
                },
                1 if which < running.len() => drop(running.swap_remove(which)),
                2 if which < waiting.len() => drop(waiting.swap_remove(which)),
                _ => {}
            }
            // Every second time nothing is polled, so that granted permits are dropped.
            if which % 2 == 0 {
                for mut entering in std::mem::take(&mut waiting) {
                    match (&mut entering).now_or_never() {
                        Some(answer) => running.extend(answer),
                        None => waiting.push(entering),
                    }
                }
            }
            let load = queue.load();
            prop_assert!(load.running <= permits && load.waiting <= most);
            prop_assert!(load.running >= running.len(), "more run than have a permit");
            let state = queue.lock();
            prop_assert!(state.running.values().all(|running| (1..=share).contains(running)), "more than a share");
            prop_assert_eq!(state.running.values().sum::<usize>(), load.running);
            for caller in ["a", "b", "c"] {
                let waits = state.turns.count_of(&caller.into()) > 0;
                let idle = state.free > 0 && state.has_room(caller, share);
                prop_assert!(!(waits && idle), "{} waits while a permit is free for it", caller);
            }
        }
        drop((running, waiting));
        prop_assert_eq!(queue.load(), Load { permits, running: 0, places: most, waiting: 0, callers: 0 });
    }
}
