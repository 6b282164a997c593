//! Every session: begun, found and ended, within bounds.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use super::owner::Owner;
use super::session::Session;
use super::table::Table;
use crate::mcp::lock::lock;

/// How many sessions there may be, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct SessionLimits {
    /// A session that is not used for so long is over.
    pub idle: Duration,
    /// Sessions of one principal at one time.
    pub per_principal: usize,
    /// Sessions of all of them.
    pub total: usize,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self { idle: Duration::from_hours(1), per_principal: 64, total: 20_000 }
    }
}

/// Every session.
#[derive(Debug, Default)]
pub struct Sessions {
    bounds: SessionLimits,
    table: Mutex<Table>,
    kept: Arc<AtomicUsize>,
}

impl Sessions {
    /// A table within these bounds.
    pub fn new(bounds: SessionLimits) -> Self {
        Self { bounds, ..Self::default() }
    }

    /// Begins a session. Where there are too many, the one that was not used for longest goes:
    /// one of the same principal at his own bound, else any.
    pub fn begin(&self, owner: Owner, version: &'static str, capabilities: Value) -> Arc<Session> {
        let session = Arc::new(Session::new(owner, version, capabilities, Arc::clone(&self.kept)));
        let mut table = lock(&self.table);
        let subject = &session.owner().subject;
        if table.count_of(subject) >= self.bounds.per_principal {
            table.evict_of(subject);
        } else if table.len() >= self.bounds.total {
            table.evict();
        }
        table.insert(Arc::clone(&session));
        session
    }

    /// The session with this id, if it is `owner`'s and not over. Looking it up uses it.
    pub fn find(&self, id: &str, owner: &Owner) -> Option<Arc<Session>> {
        let mut table = lock(&self.table);
        let session = Arc::clone(table.get(id).filter(|session| session.owner().admits(owner))?);
        if session.idle_for() >= self.bounds.idle {
            table.remove(id);
            return None;
        }
        session.touch();
        Some(session)
    }

    /// Ends the session with this id, if it is `owner`'s: its streams end, and what runs in it is
    /// cancelled.
    pub fn end(&self, id: &str, owner: &Owner) -> bool {
        self.find(id, owner).is_some() && lock(&self.table).remove(id)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        lock(&self.table).len()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use futures_util::FutureExt;
    use portico_actors::principal::Scope;
    use uuid::Uuid;

    use super::super::session::{KEPT_BYTES, RECORDINGS};
    use super::*;

    fn owner(subject: &str) -> Owner {
        Owner::of(subject, 1, Scope::Write)
    }

    #[test]
    fn a_session_opens_for_its_holder_alone() {
        let sessions = Sessions::default();
        let session = sessions.begin(owner("a"), "2025-11-25", Value::Null);
        assert!(session.id().len() >= 32 && session.id().bytes().all(|byte| (0x21..=0x7e).contains(&byte)));
        assert!(sessions.find(session.id(), &owner("a")).is_some());
        assert!(sessions.find(session.id(), &owner("b")).is_none());
        let elsewhere = Owner { connection: Uuid::from_u128(2), ..owner("a") };
        assert!(sessions.find(session.id(), &elsewhere).is_none() && !sessions.end(session.id(), &elsewhere));
        let narrower = Owner { scope: Scope::Read, ..owner("a") };
        assert!(sessions.find(session.id(), &narrower).is_none(), "what the wider one was told is not theirs");
        assert!(sessions.end(session.id(), &owner("a")) && !sessions.end(session.id(), &owner("a")));
        assert!(session.over().now_or_never().is_some(), "an ended session is over");
    }

    #[test]
    fn what_is_idle_for_too_long_is_over_unless_it_is_in_use() {
        let sessions = Sessions::new(SessionLimits { idle: Duration::ZERO, ..SessionLimits::default() });
        let session = sessions.begin(owner("a"), "2025-11-25", Value::Null);
        assert!(sessions.find(session.id(), &owner("a")).is_none());
        assert_eq!(sessions.count(), 0);
        let sessions = Sessions::new(SessionLimits { per_principal: 2, total: 3, ..SessionLimits::default() });
        let first = sessions.begin(owner("a"), "2025-11-25", Value::Null);
        let running = first.run("1");
        let second = sessions.begin(owner("a"), "2025-11-25", Value::Null);
        let third = sessions.begin(owner("a"), "2025-11-25", Value::Null);
        assert!(sessions.find(first.id(), &owner("a")).is_some(), "a session that is in use was evicted");
        assert!(sessions.find(second.id(), &owner("a")).is_none() && second.over().now_or_never().is_some());
        let _listening = third.listen();
        drop(running);
        sessions.begin(owner("b"), "2025-11-25", Value::Null);
        sessions.begin(owner("c"), "2025-11-25", Value::Null);
        assert_eq!(sessions.count(), 3, "the bound of all sessions is kept");
        assert!(sessions.find(third.id(), &owner("a")).is_some());
    }

    #[test]
    fn only_the_request_that_is_named_is_cancelled() {
        let session = Sessions::default().begin(owner("a"), "2025-11-25", Value::Null);
        let (one, two) = (session.run("1"), session.run("\"a\""));
        session.cancel("\"1\"");
        session.cancel("\"\\u0061\"");
        assert!(one.cancelled().now_or_never().is_none() && two.cancelled().now_or_never().is_some());
        let again = session.run("1");
        drop(one);
        session.cancel("1");
        assert!(again.cancelled().now_or_never().is_some(), "the later one of two equal ids was lost");
    }

    #[test]
    fn the_newest_listening_stream_is_the_one() {
        let session = Sessions::default().begin(owner("a"), "2025-11-25", Value::Null);
        let first = session.listen();
        assert!(first.over().now_or_never().is_none());
        let second = session.listen();
        assert!(first.over().now_or_never().is_some() && second.over().now_or_never().is_none());
    }

    #[test]
    fn answers_are_kept_within_bounds() {
        let sessions = Sessions::default();
        let session = sessions.begin(owner("a"), "2025-11-25", Value::Null);
        let recordings: Vec<_> = (0..=RECORDINGS).map(|_| session.record(owner("a"))).collect();
        assert!(session.recording(recordings[0].stream(), &owner("a")).is_none());
        let last = &recordings[RECORDINGS];
        last.push(vec![b'x'; KEPT_BYTES - 1]);
        assert!(session.keep(last) && !session.keep(&recordings[0]));
        recordings[1].push("xx");
        assert!(!session.keep(&recordings[1]), "the bound of all sessions was passed");
        assert!(session.recording(recordings[1].stream(), &owner("a")).is_none());
        session.forget(last);
        recordings[2].push("xx");
        assert!(session.keep(&recordings[2]));
        drop((sessions.table, session));
        assert_eq!(sessions.kept.load(Ordering::Relaxed), 0, "bytes of a session that is gone were counted");
    }
}
