//! The weather of the soak test: when the proxy before the database fails, and so when calls may.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::proxy::ChaosProxy;

/// How long after the proxy was restored calls may still fail: the reconnect loop waits, and what
/// fell silent is found out.
const GRACE: Duration = Duration::from_secs(25);
/// How long a fault lasts.
const FAULT: Duration = Duration::from_secs(4);
/// From the beginning of one fault to that of the next.
const BETWEEN: Duration = Duration::from_secs(60);
/// How much later a source that is far away answers.
const AWAY: Duration = Duration::from_millis(50);

/// Whether the proxy fails, or did so lately.
#[derive(Default)]
pub(crate) struct Weather {
    bad: Cell<bool>,
    restored: Cell<Option<Instant>>,
    /// The ways in which it failed, and how often.
    told: RefCell<BTreeMap<&'static str, u64>>,
}

impl Weather {
    /// Whether a call that began at `started` and is over now may have met a fault.
    pub(crate) fn was_bad_since(&self, started: Instant) -> bool {
        self.bad.get() || self.restored.get().is_some_and(|restored| restored + GRACE > started)
    }

    /// The faults so far.
    pub(crate) fn faults(&self) -> String {
        let told = self.told.borrow();
        let words: Vec<String> = told.iter().map(|(way, count)| format!("{way} {count}")).collect();
        if words.is_empty() { "none".to_owned() } else { words.join(", ") }
    }
}

/// Breaks the proxy in one way after the other and restores it, until `until`. Gives it back whole.
pub(crate) async fn change(proxy: ChaosProxy, weather: Rc<Weather>, until: Instant) -> ChaosProxy {
    let mut pace = tokio::time::interval(BETWEEN);
    pace.tick().await;
    let ways = ["cut", "cut amid a result", "silence", "slowness", "distance"];
    // The first fault comes soon, so that short runs have one.
    tokio::time::sleep(BETWEEN / 4).await;
    for way in ways.iter().cycle() {
        // What comes too late to be got over would only hide what the end should show.
        if Instant::now() + FAULT + GRACE > until {
            break;
        }
        weather.bad.set(true);
        *weather.told.borrow_mut().entry(way).or_default() += 1;
        match *way {
            "cut" => proxy.break_up(),
            "cut amid a result" => proxy.break_after(50_000),
            "silence" => proxy.swallow(),
            "distance" => proxy.delay(AWAY),
            _ => proxy.slow_down(),
        }
        tokio::time::sleep(FAULT).await;
        proxy.restore();
        weather.restored.set(Some(Instant::now()));
        weather.bad.set(false);
        pace.tick().await;
    }
    tokio::time::sleep_until(until.into()).await;
    proxy
}
