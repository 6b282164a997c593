//! All sessions: starts, finds and ends them, within limits. The least recently used one is found without a scan of
//! all.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portico_actors::mutex::lock;
use portico_actors::shares::Shares;
use serde_json::Value;

use super::owner::Owner;
use super::session::Session;

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
    kept: Shares<()>,
}

impl Sessions {
    /// A table within these bounds.
    pub fn new(bounds: SessionLimits) -> Self {
        Self { bounds, ..Self::default() }
    }

    /// Starts a session. If there are too many, the least recently used one ends: one of the same principal at the
    /// principal's own limit, else any.
    pub fn begin(&self, owner: Owner, version: &'static str, capabilities: Value) -> Arc<Session> {
        let session = Arc::new(Session::new(owner, version, capabilities, self.kept.clone()));
        let mut table = lock(&self.table);
        let subject = &session.owner.subject;
        if table.count_of(subject) >= self.bounds.per_principal {
            table.evict_of(subject);
        } else if table.sessions.len() >= self.bounds.total {
            table.evict();
        }
        table.insert(Arc::clone(&session));
        session
    }

    /// The session with this id, if it is `owner`'s and not over. Looking it up uses it.
    pub fn find(&self, id: &str, owner: &Owner) -> Option<Arc<Session>> {
        let mut table = lock(&self.table);
        let session = Arc::clone(table.sessions.get(id).filter(|session| session.owner.admits(owner))?);
        if session.idle_for() >= self.bounds.idle {
            table.remove(id);
            return None;
        }
        session.touch();
        Some(session)
    }

    /// Ends the session with this id, if it is `owner`'s: its streams end, and running requests are cancelled.
    /// Returns true if it was ended.
    pub fn end(&self, id: &str, owner: &Owner) -> bool {
        self.find(id, owner).is_some() && lock(&self.table).remove(id)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        lock(&self.table).sessions.len()
    }
}

/// The maximal number of sessions in use that one search skips; then one of them ends.
const LOOKS: usize = 256;

/// Sessions by id.
#[derive(Debug, Default)]
struct Table {
    sessions: HashMap<String, Arc<Session>>,
    /// The ids of each subject's.
    by_subject: HashMap<String, HashSet<String>>,
    /// Ids by their last known use; the actual one may be later. A number distinguishes uses at the same moment.
    by_use: BTreeMap<(Instant, u64), String>,
    number: u64,
}

impl Table {
    /// How many of the subject's there are.
    fn count_of(&self, subject: &str) -> usize {
        self.by_subject.get(subject).map_or(0, HashSet::len)
    }

    fn insert(&mut self, session: Arc<Session>) {
        let id = session.id.clone();
        self.by_subject.entry(session.owner.subject.clone()).or_default().insert(id.clone());
        self.note_use(session.used_at(), id.clone());
        self.sessions.insert(id, session);
    }

    /// Removes the session and ends it; whether there was one.
    fn remove(&mut self, id: &str) -> bool {
        let Some(session) = self.sessions.remove(id) else { return false };
        let subject = &session.owner.subject;
        if let Some(own) = self.by_subject.get_mut(subject) {
            own.remove(id);
            if own.is_empty() {
                self.by_subject.remove(subject);
            }
        }
        // Its entry by use is dropped when it is met, or with the others that are of no use.
        if self.by_use.len() > 2 * self.sessions.len() + LOOKS {
            let sessions = &self.sessions;
            self.by_use.retain(|_, id| sessions.contains_key(id));
        }
        session.finish();
        true
    }

    /// Removes the subject's session that was not used for longest; one in use only if all are.
    fn evict_of(&mut self, subject: &str) {
        let own = self.by_subject.get(subject).into_iter().flatten().filter_map(|id| self.sessions.get(id));
        if let Some(id) = own.max_by_key(|session| session.idle_for()).map(|session| session.id.clone()) {
            self.remove(&id);
        }
    }

    /// Removes the session that was not used for longest; one in use only if very many are.
    fn evict(&mut self) {
        let mut looks = 0;
        // Each entry is at most as late as the actual use: the first up-to-date one is the oldest of all.
        while let Some(((noted, _), id)) = self.by_use.pop_first() {
            let Some(session) = self.sessions.get(&id) else { continue };
            let (in_use, used) = (session.is_in_use(), session.used_at());
            looks += usize::from(in_use);
            if looks < LOOKS.min(self.sessions.len()) && (in_use || used > noted) {
                self.note_use(if in_use { Instant::now() } else { used }, id);
                continue;
            }
            self.remove(&id);
            return;
        }
    }

    fn note_use(&mut self, used: Instant, id: String) {
        self.number += 1;
        self.by_use.insert((used, self.number), id);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use portico_actors::principal::Scope;

    use super::super::session::{KEPT_BYTES, RECORDINGS};
    use super::*;

    fn owner(subject: &str) -> Owner {
        Owner::new(subject, 1, Scope::Write)
    }

    #[test]
    fn a_session_opens_for_its_holder_alone() {
        let sessions = Sessions::default();
        let session = sessions.begin(owner("a"), "2025-11-25", Value::Null);
        assert!(session.id.len() >= 32 && session.id.bytes().all(|byte| (0x21..=0x7e).contains(&byte)));
        assert!(sessions.find(&session.id, &owner("a")).is_some());
        assert!(sessions.find(&session.id, &owner("b")).is_none());
        let elsewhere = Owner::new("a", 2, Scope::Write);
        assert!(sessions.find(&session.id, &elsewhere).is_none() && !sessions.end(&session.id, &elsewhere));
        let narrower = Owner::new("a", 1, Scope::Read);
        assert!(sessions.find(&session.id, &narrower).is_none(), "what the wider one was told is not theirs");
        assert!(sessions.end(&session.id, &owner("a")) && !sessions.end(&session.id, &owner("a")));
        assert!(session.over().now_or_never().is_some(), "an ended session is over");
    }

    #[test]
    fn what_is_idle_for_too_long_is_over_unless_it_is_in_use() {
        let sessions = Sessions::new(SessionLimits { idle: Duration::ZERO, ..SessionLimits::default() });
        let session = sessions.begin(owner("a"), "2025-11-25", Value::Null);
        assert!(sessions.find(&session.id, &owner("a")).is_none());
        assert_eq!(sessions.count(), 0);
        let sessions = Sessions::new(SessionLimits { per_principal: 2, total: 3, ..SessionLimits::default() });
        let first = sessions.begin(owner("a"), "2025-11-25", Value::Null);
        let running = first.run("1");
        let second = sessions.begin(owner("a"), "2025-11-25", Value::Null);
        let third = sessions.begin(owner("a"), "2025-11-25", Value::Null);
        assert!(sessions.find(&first.id, &owner("a")).is_some(), "a session that is in use was evicted");
        assert!(sessions.find(&second.id, &owner("a")).is_none() && second.over().now_or_never().is_some());
        let _listening = third.listen();
        drop(running);
        sessions.begin(owner("b"), "2025-11-25", Value::Null);
        sessions.begin(owner("c"), "2025-11-25", Value::Null);
        assert_eq!(sessions.count(), 3, "the bound of all sessions is kept");
        assert!(sessions.find(&third.id, &owner("a")).is_some());
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

    #[actix::test]
    async fn the_newest_listening_stream_is_sent_messages_and_the_others_stay() {
        let session = Sessions::default().begin(owner("a"), "2025-11-25", Value::Null);
        let first = session.listen();
        let mut waiting = Box::pin(first.announced());
        assert!((&mut waiting).now_or_never().is_none());
        let second = session.listen();
        let mut newest = Box::pin(second.announced());
        assert!((&mut newest).now_or_never().is_none());
        session.announce("a".into());
        assert!((&mut waiting).now_or_never().is_none() && first.over().now_or_never().is_none());
        assert_eq!((&mut newest).now_or_never().unwrap(), "a");
        session.announce("b".into());
        drop(newest);
        drop(second);
        assert_eq!(waiting.now_or_never().unwrap(), "b", "the one before is the newest again");
        let others: Vec<_> = (0..16).map(|_| session.listen()).collect();
        assert!(first.over().now_or_never().is_some() && others[0].over().now_or_never().is_none());
    }

    #[test]
    fn answers_are_kept_within_bounds() {
        let sessions = Sessions::default();
        let session = sessions.begin(owner("a"), "2025-11-25", Value::Null);
        let mut recordings = vec![session.record(owner("a")), session.record(owner("a"))];
        recordings[1].end();
        recordings.extend((2..=RECORDINGS + 1).map(|_| session.record(owner("a"))));
        let is_kept = |at: usize| session.recording(recordings[at].stream, &owner("a")).unwrap().is_some();
        assert!(is_kept(0) && !is_kept(1), "one that has ended makes room, and none that runs");
        session.forget(&recordings.remove(0));
        recordings.remove(0);
        recordings.insert(0, session.record(owner("a")));
        session.forget(&recordings[0]);
        let last = &recordings[RECORDINGS];
        last.push(vec![b'x'; KEPT_BYTES - 1]);
        assert!(session.retain(last) && !session.retain(&recordings[0]));
        recordings[1].push("xx");
        assert!(!session.retain(&recordings[1]), "the bound of all sessions was passed");
        assert!(session.recording(recordings[1].stream, &owner("a")).unwrap().is_none());
        session.forget(last);
        recordings[2].push("xx");
        assert!(session.retain(&recordings[2]));
        drop((sessions.table, session));
        assert_eq!(sessions.kept.taken(), 0, "bytes of a session that is gone were counted");
    }

    #[actix::test]
    async fn an_answer_reaches_the_one_who_asked_and_nobody_else() {
        let session = Sessions::default().begin(owner("a"), "2025-11-25", Value::Null);
        let ((_, one), (id, two)) = (session.ask(), session.ask());
        session.answered("3", Ok(Value::Null));
        session.answered(&id, Ok(Value::from(2)));
        assert_eq!(two.await, Ok(Ok(Value::from(2))));
        drop(one);
        let (_, left) = session.ask();
        assert_eq!(session.waiting(), 1, "what nobody waits for was kept");
        session.finish();
        assert!(left.await.is_err());
    }

    fn add(table: &mut Table, subject: &str) -> Arc<Session> {
        let owner = Owner::new(subject, 1, Scope::Read);
        let session = Arc::new(Session::new(owner, "2025-11-25", Value::Null, Shares::default()));
        table.insert(Arc::clone(&session));
        session
    }

    #[test]
    fn the_one_that_was_not_used_for_longest_goes_first() {
        let mut table = Table::default();
        let sessions: Vec<_> = (0..20).map(|number| add(&mut table, &format!("s{}", number % 7))).collect();
        let (running, _listening) = (sessions[0].run("1"), sessions[1].listen());
        sessions[2].touch();
        for (expected, session) in sessions.iter().enumerate().skip(3) {
            table.evict();
            assert!(!table.sessions.contains_key(&session.id), "{expected} should have gone");
            assert_eq!(table.sessions.len(), 19 - (expected - 3));
        }
        table.evict();
        assert!(
            !table.sessions.contains_key(&sessions[2].id),
            "the one that was used meanwhile goes before those in use"
        );
        drop(running);
        table.evict();
        assert!(!table.sessions.contains_key(&sessions[0].id) && table.sessions.len() == 1);
        table.evict();
        assert_eq!((table.sessions.len(), table.by_subject.len()), (0, 0), "one in use goes if all are");
    }

    #[test]
    fn what_is_known_of_a_session_goes_with_it() {
        let mut table = Table::default();
        for _ in 0..10 * LOOKS {
            let session = add(&mut table, "a");
            assert!(table.remove(&session.id) && !table.remove(&session.id));
        }
        assert!(table.by_use.len() <= LOOKS + 1 && table.by_subject.is_empty());
        (0..3).for_each(|_| drop(add(&mut table, "a")));
        table.evict_of("b");
        assert_eq!(table.count_of("a"), 3);
        table.evict_of("a");
        assert_eq!((table.count_of("a"), table.sessions.len()), (2, 2));
    }
}
