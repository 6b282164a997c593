//! The table of sessions, with what finds in it the session that was not used for longest without a
//! walk through all of them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use super::session::Session;

/// Sessions in use that one search passes over at most; then one of them goes.
const LOOKS: usize = 256;

/// Sessions by id.
#[derive(Debug, Default)]
pub(super) struct Table {
    sessions: HashMap<String, Arc<Session>>,
    /// The ids of each subject's.
    by_subject: HashMap<String, HashSet<String>>,
    /// Ids by their last use as it was when it was looked at last; the truth may be later. A number tells
    /// those of one moment apart.
    by_use: BTreeMap<(Instant, u64), String>,
    number: u64,
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.sessions.len()
    }

    pub(super) fn get(&self, id: &str) -> Option<&Arc<Session>> {
        self.sessions.get(id)
    }

    /// How many of the subject's there are.
    pub(super) fn count_of(&self, subject: &str) -> usize {
        self.by_subject.get(subject).map_or(0, HashSet::len)
    }

    pub(super) fn insert(&mut self, session: Arc<Session>) {
        let id = session.id().to_owned();
        self.by_subject.entry(session.owner().subject.clone()).or_default().insert(id.clone());
        self.note_use(session.used_at(), id.clone());
        self.sessions.insert(id, session);
    }

    /// Removes the session and ends it; whether there was one.
    pub(super) fn remove(&mut self, id: &str) -> bool {
        let Some(session) = self.sessions.remove(id) else { return false };
        let subject = &session.owner().subject;
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
    pub(super) fn evict_of(&mut self, subject: &str) {
        let own = self.by_subject.get(subject).into_iter().flatten().filter_map(|id| self.sessions.get(id));
        if let Some(id) = own.max_by_key(|session| session.idle_for()).map(|session| session.id().to_owned()) {
            self.remove(&id);
        }
    }

    /// Removes the session that was not used for longest; one in use only if very many are.
    pub(super) fn evict(&mut self) {
        let mut looks = 0;
        // Each entry is no later than the truth: the first that tells it is the oldest of all.
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
    use std::sync::atomic::AtomicUsize;

    use portico_actors::principal::Scope;
    use serde_json::Value;

    use super::super::owner::Owner;
    use super::*;

    fn add(table: &mut Table, subject: &str) -> Arc<Session> {
        let owner = Owner::of(subject, 1, Scope::Read);
        let session = Arc::new(Session::new(owner, "2025-11-25", Value::Null, Arc::<AtomicUsize>::default()));
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
            assert!(table.get(session.id()).is_none(), "{expected} should have gone");
            assert_eq!(table.len(), 19 - (expected - 3));
        }
        table.evict();
        assert!(table.get(sessions[2].id()).is_none(), "the one that was used meanwhile goes before those in use");
        drop(running);
        table.evict();
        assert!(table.get(sessions[0].id()).is_none() && table.len() == 1);
        table.evict();
        assert_eq!((table.len(), table.by_subject.len()), (0, 0), "one in use goes if all are");
    }

    #[test]
    fn what_is_known_of_a_session_goes_with_it() {
        let mut table = Table::default();
        for _ in 0..10 * LOOKS {
            let session = add(&mut table, "a");
            assert!(table.remove(session.id()) && !table.remove(session.id()));
        }
        assert!(table.by_use.len() <= LOOKS + 1 && table.by_subject.is_empty());
        (0..3).for_each(|_| drop(add(&mut table, "a")));
        table.evict_of("b");
        assert_eq!(table.count_of("a"), 3);
        table.evict_of("a");
        assert_eq!((table.count_of("a"), table.len()), (2, 2));
    }
}
